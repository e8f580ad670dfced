/// Which pieces of GPU work run at the same time, and how much of a launcher's time that covers.
/// (Spec 01, section 14; spec 02, section 17.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
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

/// Finds all overlapping pairs among GPU events (ascending ids). O(n log n + pairs in flight).
inline Overlaps find_overlaps(const CallTree& tree, const Links& links, std::span<const EventId> events,
                              const OverlapOptions& options = {}) {
    const Trace& trace = tree.trace();
    const Ticks least = static_cast<Ticks>(options.least_us * static_cast<double>(trace.ticks_per_us));
    const bool reference = options.rules == ClassRules::reference;
    const auto same_stream = [&](EventId a, EventId b) {
        const Track& x = trace.track_of(a);
        const Track& y = trace.track_of(b);
        return x.stream == y.stream && (reference || (x.device == y.device && x.rank == y.rank));
    };
    const auto op_of = [&](EventId event) {
        const EventId call = links.launch_of(event);
        return call == no_event ? no_node : tree.enclosing_op(call);
    };
    const auto same_op = [&](EventId a, EventId b) {
        const NodeId op = op_of(a);
        return op != no_node && op == op_of(b);
    };
    const auto same_part = [&](EventId a, EventId b) {
        return !reference || options.parts == nullptr || (*options.parts)[a] == (*options.parts)[b];
    };
    std::vector<std::pair<EventId, EventId>> pairs;
    std::vector<EventId> active;
    for (const EventId event : events) {
        if (trace.duration(event) <= 0) continue;
        std::erase_if(active, [&](EventId other) { return trace.end[other] <= trace.start[event]; });
        for (const EventId other : active) {
            const Ticks common = std::min(trace.end[event], trace.end[other]) - trace.start[event];
            if (common < least || same_stream(event, other) || !same_part(event, other)) continue;
            if (!reference && same_op(event, other)) continue;
            pairs.emplace_back(event, other);
            pairs.emplace_back(other, event);
        }
        active.push_back(event);
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
        covered += measure(merge(common));
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
