/// The GPU timeline: how much of a window the GPU computes, waits for communication or copies, or idles.
/// (Definitions: spec 01, section 13.)
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include <tracelens/core/interval.hpp>
#include <tracelens/core/table.hpp>
#include <tracelens/model/links.hpp>
#include <tracelens/model/results.hpp>
#include <tracelens/model/trace.hpp>

namespace tracelens {

struct TimelineOptions {
    bool include_unlinked = false;  ///< count GPU events without a launch, too
    std::optional<double>
        micro_idle_us;  ///< split idle time at this gap length, in microseconds; 0 is a threshold
};

/// The timeline of the given GPU events (ascending ids), by their classes. Nothing for no events. O(n).
inline std::optional<GpuTimeline> gpu_timeline(const Trace& trace, std::span<const EventId> events,
                                               std::span<const GpuClass> classes,
                                               std::optional<double> micro_idle_us = std::nullopt) {
    if (events.empty()) return std::nullopt;
    IntervalSet computation;
    IntervalSet communication;
    IntervalSet memcpy;
    IntervalSet all;
    for (const EventId event : events) {
        const Interval when{trace.start[event], trace.end[event]};
        append_merged(all, when);
        switch (classes[event]) {
            case GpuClass::communication: append_merged(communication, when); break;
            case GpuClass::memcpy: append_merged(memcpy, when); break;
            default: append_merged(computation, when); break;
        }
    }
    GpuTimeline result;
    result.events = events.size();
    result.window = {all.front().start, all.back().end};
    result.computation = measure(computation);
    result.exposed_comm = measure(subtract(communication, computation));
    result.exposed_memcpy = measure(subtract(subtract(memcpy, computation), communication));
    result.busy = measure(all);
    result.total = result.window.end - result.window.start;
    result.idle = result.total - result.busy;
    result.total_comm = measure(communication);
    result.total_memcpy = measure(memcpy);
    if (micro_idle_us) {
        result.micro_idle = result.macro_idle = 0;
        for (const Interval& gap : gaps(all)) {
            const Ticks length = gap.end - gap.start;
            (trace.to_us(length) < *micro_idle_us ? *result.micro_idle : *result.macro_idle) += length;
        }
    }
    return result;
}

/// GPU events by the options, ascending; `excluded[e]` events are left out (corrupt durations). O(n).
inline std::vector<EventId> timeline_events(const Trace& trace, const Links& links, bool include_unlinked,
                                            const std::vector<bool>& excluded = {}) {
    std::vector<EventId> events;
    for (EventId event = 0; event < trace.size(); ++event) {
        if (!is_gpu_work(trace.kind[event])) continue;
        if (!include_unlinked && links.launch_of(event) == no_event) continue;
        if (!excluded.empty() && excluded[event]) continue;
        events.push_back(event);
    }
    return events;
}

/// The timeline of each device alone, by (rank, device) ascending. O(n log devices).
inline std::vector<DeviceTimeline> gpu_timeline_by_device(
    const Trace& trace, std::span<const EventId> events, std::span<const GpuClass> classes,
    std::optional<double> micro_idle_us = std::nullopt) {
    KeyGrouper devices;
    std::vector<std::vector<EventId>> members;
    std::vector<DeviceTimeline> result;
    for (const EventId event : events) {
        const Track& track = trace.track_of(event);
        const std::uint32_t group = devices.group_of(static_cast<std::uint64_t>(track.device),
                                                     static_cast<std::uint64_t>(track.rank));
        if (group == members.size()) {
            members.emplace_back();
            result.push_back({track.device, track.rank, {}});
        }
        members[group].push_back(event);
    }
    for (std::size_t i = 0; i < members.size(); ++i) {
        result[i].timeline = *gpu_timeline(trace, members[i], classes, micro_idle_us);
    }
    std::sort(result.begin(), result.end(), [](const DeviceTimeline& a, const DeviceTimeline& b) {
        return a.rank != b.rank ? a.rank < b.rank : a.device < b.device;
    });
    return result;
}

/// The longest idle gaps of the given GPU events (ascending ids), longest first, at most `most`. O(n log n).
inline std::vector<IdleGap> longest_gaps(const Trace& trace, std::span<const EventId> events,
                                         std::size_t most) {
    std::vector<IdleGap> found;
    EventId last = no_event;
    for (const EventId event : events) {
        if (last != no_event && trace.start[event] > trace.end[last]) {
            found.push_back({{trace.end[last], trace.start[event]}, last, event});
        }
        if (last == no_event || trace.end[event] > trace.end[last]) last = event;
    }
    std::stable_sort(found.begin(), found.end(), [](const IdleGap& a, const IdleGap& b) {
        return a.when.end - a.when.start > b.when.end - b.when.start;
    });
    if (found.size() > most) found.resize(most);
    return found;
}

/// The timeline as the table `gpu_timeline`: columns `type`, `time ms`, `percent` (of the total), rows as in
/// spec 01, section 13.5. A total of zero gives missing percents.
inline Table timeline_table(const Trace& trace, const GpuTimeline& timeline) {
    Table table;
    table.add_column("type", ColumnType::text);
    table.add_column("time ms", ColumnType::real);
    table.add_column("percent", ColumnType::real);
    const double total_us = trace.to_us(timeline.total);
    const auto row = [&](std::string_view type, Ticks ticks) {
        const double us = trace.to_us(ticks);
        table.append_row({type, us / 1e3, timeline.total == 0 ? Cell{} : Cell{us / total_us * 100}});
    };
    row("computation_time", timeline.computation);
    row("exposed_comm_time", timeline.exposed_comm);
    row("exposed_memcpy_time", timeline.exposed_memcpy);
    row("busy_time", timeline.busy);
    if (timeline.micro_idle) {
        row("micro_idle_time", *timeline.micro_idle);
        row("macro_idle_time", *timeline.macro_idle);
    } else {
        row("idle_time", timeline.idle);
    }
    row("total_time", timeline.total);
    row("total_comm_time", timeline.total_comm);
    row("total_memcpy_time", timeline.total_memcpy);
    return table;
}

}  // namespace tracelens
