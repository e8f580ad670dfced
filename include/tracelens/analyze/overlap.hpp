/// Which pieces of GPU work run at the same time, and how much of a launcher's time that covers.
/// (Spec 01, section 14; spec 02, section 17.)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include <tracelens/analyze/launchers.hpp>
#include <tracelens/core/decimal.hpp>
#include <tracelens/core/interval.hpp>
#include <tracelens/core/statistics.hpp>
#include <tracelens/core/table.hpp>
#include <tracelens/model/call_tree.hpp>

namespace tracelens {

struct OverlapOptions {
    /// `full`: work of one op never overlaps itself, and streams of different devices are different streams.
    /// `reference`: by stream number alone, as the reference's reports do.
    ClassRules rules = ClassRules::full;
    double least_us = 1.0;  ///< shorter common times do not count
    const std::vector<bool>* parts =
        nullptr;  ///< by node: with reference rules, overlap is sought within each part only
};

/// For each GPU event the events that overlap it, in file order.
class Overlaps {
  public:
    std::span<const EventId> of(EventId event) const noexcept {
        const auto at = std::lower_bound(events_.begin(), events_.end(), event);
        if (at == events_.end() || *at != event) return {};
        const auto index = static_cast<std::size_t>(at - events_.begin());
        return {others_.data() + starts_[index], starts_[index + 1] - starts_[index]};
    }

    std::size_t pair_count() const noexcept { return others_.size() / 2; }

    static Overlaps from(const Trace& trace, std::vector<std::pair<EventId, EventId>> pairs) {
        Overlaps result;
        std::sort(pairs.begin(), pairs.end(), [&](const auto& a, const auto& b) {
            if (a.first != b.first) return a.first < b.first;
            return trace.file_index[a.second] < trace.file_index[b.second];
        });
        for (const auto& [event, other] : pairs) {
            if (result.events_.empty() || result.events_.back() != event) {
                result.events_.push_back(event);
                result.starts_.push_back(static_cast<std::uint32_t>(result.others_.size()));
            }
            result.others_.push_back(other);
        }
        result.starts_.push_back(static_cast<std::uint32_t>(result.others_.size()));
        return result;
    }

  private:
    std::vector<EventId> events_;
    std::vector<std::uint32_t> starts_;
    std::vector<EventId> others_;
};

namespace detail {

/// The events in flight at a moment, by stream. Events are indices below `count`.
class InFlight {
  public:
    InFlight(std::size_t count, std::size_t streams)
        : stream_(count), place_(count), members_(streams), busy_place_(streams) {}

    void add(std::uint32_t event, std::uint32_t stream, Ticks end) {
        stream_[event] = stream;
        std::vector<std::uint32_t>& members = members_[stream];
        if (members.empty()) {
            busy_place_[stream] = static_cast<std::uint32_t>(busy_.size());
            busy_.push_back(stream);
        }
        place_[event] = static_cast<std::uint32_t>(members.size());
        members.push_back(event);
        by_end_.push(std::pair{end, event});
    }

    /// Forgets the events that end before `time`. O(log n) an event.
    void advance_to(Ticks time) {
        while (!by_end_.empty() && by_end_.top().first < time) {
            remove(by_end_.top().second);
            by_end_.pop();
        }
    }

    /// Calls `use(event)` for every event on another stream.
    template <class Use>
    void for_other_streams(std::uint32_t stream, const Use& use) const {
        for (const std::uint32_t other : busy_) {
            if (other == stream) continue;
            for (const std::uint32_t event : members_[other]) use(event);
        }
    }

  private:
    void remove(std::uint32_t event) {
        const std::uint32_t stream = stream_[event];
        std::vector<std::uint32_t>& members = members_[stream];
        take_out(members, place_, place_[event]);
        if (members.empty()) take_out(busy_, busy_place_, busy_place_[stream]);
    }

    /// Removes the value at `at`; the last one takes its place.
    static void take_out(std::vector<std::uint32_t>& values, std::vector<std::uint32_t>& places,
                         std::uint32_t at) {
        values[at] = values.back();
        places[values[at]] = at;
        values.pop_back();
    }

    using EndOfEvent = std::pair<Ticks, std::uint32_t>;
    std::priority_queue<EndOfEvent, std::vector<EndOfEvent>, std::greater<>> by_end_;
    std::vector<std::uint32_t> stream_;                // by event
    std::vector<std::uint32_t> place_;                 // by event: among the members of its stream
    std::vector<std::vector<std::uint32_t>> members_;  // by stream
    std::vector<std::uint32_t> busy_;                  // streams with members
    std::vector<std::uint32_t> busy_place_;            // by stream: among the busy ones
};

}  // namespace detail

/// Finds all overlapping pairs among GPU events (ascending ids). O(n log n + pairs of different streams).
inline Overlaps find_overlaps(const CallTree& tree, std::span<const EventId> events,
                              const OverlapOptions& options = {}) {
    const Trace& trace = tree.trace();
    const Ticks least = std::max<Ticks>(
        1, static_cast<Ticks>(std::ceil(options.least_us * static_cast<double>(trace.ticks_per_us))));
    const bool reference = options.rules == ClassRules::reference;
    const auto same_op = [&](EventId a, EventId b) {
        const NodeId op = tree.enclosing_op(a);
        return op != no_node && op == tree.enclosing_op(b);
    };
    const auto same_part = [&](EventId a, EventId b) {
        return !reference || options.parts == nullptr || (*options.parts)[a] == (*options.parts)[b];
    };

    KeyGrouper places;
    KeyGrouper streams;
    std::vector<std::uint32_t> stream_of_track(trace.tracks.size());
    for (std::uint32_t i = 0; i < stream_of_track.size(); ++i) {
        const Track& track = trace.tracks[TrackId{i}];
        const std::uint32_t place = reference ? 0
                                              : places.group_of(static_cast<std::uint64_t>(track.device),
                                                                static_cast<std::uint64_t>(track.rank));
        stream_of_track[i] = streams.group_of(static_cast<std::uint64_t>(track.stream), place);
    }

    // Events whose stream is not known are each on a stream of their own.
    std::vector<std::uint32_t> stream_of(events.size());
    auto stream_count = static_cast<std::uint32_t>(streams.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
        const Track& track = trace.track_of(events[i]);
        const bool known = (reference ? track.recorded_stream() : track.stream) != no_number;
        stream_of[i] = known ? stream_of_track[to_index(trace.track[events[i]])] : stream_count++;
    }

    std::vector<std::pair<EventId, EventId>> pairs;
    detail::InFlight in_flight(events.size(), stream_count);
    for (std::uint32_t i = 0; i < events.size(); ++i) {
        const EventId event = events[i];
        if (trace.duration(event) < least) continue;
        // What ends sooner has too little in common with this event, and with all that start later.
        in_flight.advance_to(trace.start[event] + least);
        in_flight.for_other_streams(stream_of[i], [&](std::uint32_t j) {
            const EventId other = events[j];
            if (!same_part(event, other) || (!reference && same_op(event, other))) return;
            pairs.emplace_back(event, other);
            pairs.emplace_back(other, event);
        });
        in_flight.add(i, stream_of[i], trace.end[event]);
    }
    return Overlaps::from(trace, std::move(pairs));
}

/// Work of one name that runs beside a launcher's kernels.
struct OverlapEntry {
    StringId name = StringId::empty;
    double us = 0;                    ///< mean recorded length, to 2 decimals
    std::int64_t stream = no_number;  ///< of the first one
    double share = 0;                 ///< mean part of the launcher's time that one covers, to 2 decimals
};

struct LauncherOverlap {
    std::vector<OverlapEntry> entries;  ///< by name, in order of first sight
    std::optional<double>
        share;  ///< part of the launcher's time with anything beside it, to 2 decimals; may exceed 1
};

/// `value` to 2 decimals, rounded as its exact decimal expansion says.
inline double round_to_cents(double value) {
    return parse_double(fixed_decimals(value, 2)).value_or(value);
}

/// What runs beside a launcher's own kernels. O(k log k) in kernels and overlapping events.
inline LauncherOverlap launcher_overlap(const Trace& trace, std::span<const EventId> kernels,
                                        const Overlaps& overlaps) {
    LauncherOverlap result;
    const double own = trace.to_us(busy_ticks(trace, kernels));
    struct Beside {
        std::vector<double> us;
        std::vector<double> shares;
    };
    std::vector<Beside> beside;
    KeyGrouper names;
    Ticks covered = 0;
    for (const EventId kernel : kernels) {
        IntervalSet common;
        for (const EventId other : overlaps.of(kernel)) {
            const Interval both{std::max(trace.start[kernel], trace.start[other]),
                                std::min(trace.end[kernel], trace.end[other])};
            common.push_back(both);
            const std::uint32_t entry = names.group_of(to_index(trace.name[other]));
            if (entry == beside.size()) {
                beside.emplace_back();
                result.entries.push_back({trace.name[other], 0, trace.track_of(other).stream, 0});
            }
            beside[entry].us.push_back(trace.recorded_us(other));
            beside[entry].shares.push_back(
                own == 0 ? 0 : round_to_cents(trace.to_us(both.end - both.start) / own));
        }
        covered = saturated_sum(covered, measure(merge(common)));
    }
    if (beside.empty()) return result;
    for (std::size_t i = 0; i < beside.size(); ++i) {
        result.entries[i].us = round_to_cents(mean(beside[i].us));
        result.entries[i].share = round_to_cents(mean(beside[i].shares));
    }
    result.share = own == 0 ? 0 : round_to_cents(trace.to_us(covered) / own);
    return result;
}

}  // namespace tracelens
