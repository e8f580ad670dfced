/// How long GPU work waits between its launch and its start.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include <tracelens/core/statistics.hpp>
#include <tracelens/core/table.hpp>
#include <tracelens/model/links.hpp>
#include <tracelens/model/trace.hpp>

namespace tracelens {

/// One row a device and stream with linked work, by (rank, device, stream): `rank`, `device`, `stream`,
/// `launches`, the time from the start of the launching call to the start of the work in us (`delay_us_mean`,
/// `_median`, `_p95`, `_max`), and `queued_percent`, the share of work that started after its call had ended.
/// O(n log n).
inline Table launch_statistics(const Trace& trace, const Links& links, std::span<const EventId> events) {
    struct Stream {
        const Track* track;
        std::vector<double> delays;
        std::size_t queued = 0;
    };
    std::vector<Stream> streams;
    KeyGrouper keys;
    for (const EventId event : events) {
        const EventId call = links.launch_of(event);
        if (call == no_event) continue;
        const std::uint32_t group = keys.group_of(to_index(trace.track[event]));
        if (group == streams.size()) streams.push_back({&trace.track_of(event), {}, 0});
        streams[group].delays.push_back(trace.to_us(trace.start[event] - trace.start[call]));
        if (trace.start[event] >= trace.end[call]) ++streams[group].queued;
    }
    std::sort(streams.begin(), streams.end(), [](const Stream& a, const Stream& b) {
        const auto key = [](const Stream& each) {
            return std::tuple(each.track->rank, each.track->device, each.track->stream);
        };
        return key(a) < key(b);
    });
    Table table;
    for (const char* column : {"rank", "device", "stream", "launches"})
        table.add_column(column, ColumnType::integer);
    for (const char* column :
         {"delay_us_mean", "delay_us_median", "delay_us_p95", "delay_us_max", "queued_percent"}) {
        table.add_column(column, ColumnType::real);
    }
    const auto number = [](std::int64_t value) { return value == no_number ? Cell{} : Cell{value}; };
    for (Stream& each : streams) {
        std::sort(each.delays.begin(), each.delays.end());
        const auto count = static_cast<double>(each.delays.size());
        table.append_row({number(each.track->rank), number(each.track->device), number(each.track->stream),
                          static_cast<std::int64_t>(each.delays.size()), mean(each.delays),
                          quantile_sorted(each.delays, 0.5), quantile_sorted(each.delays, 0.95),
                          each.delays.back(), 100 * static_cast<double>(each.queued) / count});
    }
    return table;
}

}  // namespace tracelens
