/// Which backward node computes the gradient of which forward op.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/core/table.hpp>
#include <tracelens/model/links.hpp>
#include <tracelens/model/trace.hpp>

namespace tracelens {

enum class BackwardRule : std::uint8_t {
    flows,      ///< by the recorded `fwdbwd` flows; by sequence numbers where a backward node has none
    reference,  ///< by sequence numbers alone (spec 01, section 11)
};

/// Links between forward ops and the autograd wrappers that run their backward, both ways.
class BackwardLinks {
  public:
    /// The forward op of a backward wrapper, or `no_event`.
    EventId forward_of(EventId backward) const noexcept {
        const auto at =
            std::lower_bound(by_backward_.begin(), by_backward_.end(), std::pair{backward, EventId{0}});
        return at == by_backward_.end() || at->first != backward ? no_event : at->second;
    }

    /// The backward wrappers of a forward op, ascending.
    std::span<const std::pair<EventId, EventId>> backwards_of(EventId forward) const noexcept {
        const auto first =
            std::lower_bound(by_forward_.begin(), by_forward_.end(), std::pair{forward, EventId{0}});
        auto last = first;
        while (last != by_forward_.end() && last->first == forward) ++last;
        return {first, last};
    }

    std::size_t size() const noexcept { return by_backward_.size(); }

    /// `pairs` are (backward, forward); one forward op a backward wrapper.
    static BackwardLinks from(std::vector<std::pair<EventId, EventId>> pairs) {
        BackwardLinks links;
        for (const auto& [backward, forward] : pairs) links.by_forward_.emplace_back(forward, backward);
        links.by_backward_ = std::move(pairs);
        std::sort(links.by_backward_.begin(), links.by_backward_.end());
        std::sort(links.by_forward_.begin(), links.by_forward_.end());
        return links;
    }

  private:
    std::vector<std::pair<EventId, EventId>> by_backward_;
    std::vector<std::pair<EventId, EventId>> by_forward_;
};

namespace detail {

/// Names of the events that wrap a backward node.
inline constexpr std::string_view backward_wrapper = "autograd::engine::evaluate_function:";

inline bool is_backward_wrapper(const Trace& trace, EventId event) noexcept {
    return trace.name_of(event).substr(0, backward_wrapper.size()) == backward_wrapper;
}

/// Of all events with one sequence number (and, `within_ranks`, of one rank): the first wrapper in the file,
/// and the latest other event on another thread.
inline std::vector<std::pair<EventId, EventId>> backward_by_sequence(const Trace& trace, bool within_ranks) {
    const std::vector<std::uint32_t> lanes = lanes_of_tracks(trace.tracks);
    std::vector<EventId> events;
    for (EventId event = 0; event < trace.size(); ++event) {
        const bool op = field_family(trace.kind[event]) == FieldFamily::op;
        if (op && trace.op_fields(event).sequence_number != no_number) events.push_back(event);
    }
    const auto key_of = [&](EventId event) {
        return std::pair{within_ranks ? trace.track_of(event).rank : no_number,
                         trace.op_fields(event).sequence_number};
    };
    std::sort(events.begin(), events.end(), [&](EventId a, EventId b) {
        const auto x = key_of(a);
        const auto y = key_of(b);
        return x != y ? x < y : trace.file_index[a] < trace.file_index[b];
    });
    std::vector<std::pair<EventId, EventId>> pairs;
    for (std::size_t begin = 0; begin < events.size();) {
        std::size_t end = begin;
        while (end < events.size() && key_of(events[end]) == key_of(events[begin])) ++end;
        const std::span<const EventId> group(events.data() + begin, end - begin);
        begin = end;
        const auto wrapper = std::find_if(group.begin(), group.end(),
                                          [&](EventId event) { return is_backward_wrapper(trace, event); });
        if (wrapper == group.end()) continue;
        EventId forward = no_event;
        for (const EventId event : group) {
            if (lanes[to_index(trace.track[event])] == lanes[to_index(trace.track[*wrapper])]) continue;
            if (forward == no_event || trace.start[event] > trace.start[forward]) forward = event;
        }
        if (forward != no_event) pairs.emplace_back(*wrapper, forward);
    }
    return pairs;
}

/// The innermost op on a lane that contains a moment, among ops sorted by (lane, start).
class EnclosingOps {
  public:
    /// `ranks`: lanes of different ranks are different.
    EnclosingOps(const Trace& trace, bool ranks)
        : trace_(trace), lanes_(lanes_of_tracks(trace.tracks, ranks)) {
        for (EventId event = 0; event < trace.size(); ++event) {
            if (trace.kind[event] == EventKind::cpu_op) ops_.push_back(event);
        }
        std::stable_sort(ops_.begin(), ops_.end(), [&](EventId a, EventId b) { return lane(a) < lane(b); });
        outer_.resize(ops_.size(), none);
        std::vector<std::uint32_t> open;
        for (std::uint32_t i = 0; i < ops_.size(); ++i) {
            if (i > 0 && lane(ops_[i]) != lane(ops_[i - 1])) open.clear();
            while (!open.empty() && trace.end[ops_[open.back()]] <= trace.start[ops_[i]]) open.pop_back();
            if (!open.empty()) outer_[i] = open.back();
            open.push_back(i);
        }
    }

    /// The innermost op there for which `wanted(op)` holds, or `no_event`. O(log n + depth).
    template <class Wanted>
    EventId at(TrackId track, Ticks time, Wanted wanted_op) const {
        const std::pair key{lanes_[to_index(track)], time};
        const auto after =
            std::upper_bound(ops_.begin(), ops_.end(), key, [&](const auto& wanted, EventId event) {
                return wanted < std::pair{lane(event), trace_.start[event]};
            });
        if (after == ops_.begin()) return no_event;
        for (auto i = static_cast<std::uint32_t>(after - ops_.begin() - 1); i != none; i = outer_[i]) {
            const bool contains = lane(ops_[i]) == key.first && trace_.end[ops_[i]] >= time;
            if (contains && wanted_op(ops_[i])) return ops_[i];
        }
        return no_event;
    }

  private:
    static constexpr std::uint32_t none = 0xffffffffU;
    std::uint32_t lane(EventId event) const { return lanes_[to_index(trace_.track[event])]; }

    const Trace& trace_;
    std::vector<std::uint32_t> lanes_;
    std::vector<EventId> ops_;
    std::vector<std::uint32_t> outer_;  // index of the enclosing op, by index in ops_
};

inline std::vector<std::pair<EventId, EventId>> backward_by_flows(const Trace& trace) {
    using Key = std::pair<std::int64_t, std::int64_t>;
    const auto key_of = [&](const Flow& flow) { return Key{trace.tracks[flow.track].rank, flow.id}; };
    std::vector<std::pair<Key, const Flow*>> starts;
    for (const Flow& flow : trace.flows) {
        if (flow.phase == 's' && trace.text(flow.category) == "fwdbwd")
            starts.emplace_back(key_of(flow), &flow);
    }
    if (starts.empty()) return {};
    std::stable_sort(starts.begin(), starts.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const bool ranks = starts.back().first.first != no_number;  // unknown ranks sort first
    const EnclosingOps ops(trace, ranks);
    std::vector<std::pair<EventId, EventId>> pairs;
    for (const Flow& flow : trace.flows) {
        if (flow.phase != 'f' || trace.text(flow.category) != "fwdbwd") continue;
        const auto start =
            std::lower_bound(starts.begin(), starts.end(), key_of(flow),
                             [](const auto& each, const Key& key) { return each.first < key; });
        if (start == starts.end() || start->first != key_of(flow)) continue;
        const EventId forward =
            ops.at(start->second->track, start->second->time, [](EventId) { return true; });
        const EventId backward =
            ops.at(flow.track, flow.time, [&](EventId op) { return is_backward_wrapper(trace, op); });
        if (forward != no_event && backward != no_event) pairs.emplace_back(backward, forward);
    }
    return pairs;
}

}  // namespace detail

/// Finds the forward op of every backward wrapper. O(n log n).
inline BackwardLinks link_backward(const Trace& trace, BackwardRule rule = BackwardRule::flows) {
    std::vector<std::pair<EventId, EventId>> pairs =
        detail::backward_by_sequence(trace, rule == BackwardRule::flows);
    if (rule == BackwardRule::flows) {
        std::vector<std::pair<EventId, EventId>> recorded = detail::backward_by_flows(trace);
        std::sort(recorded.begin(), recorded.end());
        recorded.erase(std::unique(recorded.begin(), recorded.end(),
                                   [](const auto& a, const auto& b) { return a.first == b.first; }),
                       recorded.end());
        const std::size_t recorded_count = recorded.size();
        for (const auto& pair : pairs) {
            const auto end = recorded.begin() + static_cast<std::ptrdiff_t>(recorded_count);
            const auto known = std::lower_bound(recorded.begin(), end, std::pair{pair.first, EventId{0}});
            if (known == end || known->first != pair.first) recorded.push_back(pair);
        }
        pairs = std::move(recorded);
    }
    return BackwardLinks::from(std::move(pairs));
}

}  // namespace tracelens
