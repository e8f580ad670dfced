/// Totals of GPU work by kernel name.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include <tracelens/classify/gpu_class.hpp>
#include <tracelens/core/interval.hpp>
#include <tracelens/core/table.hpp>
#include <tracelens/model/results.hpp>
#include <tracelens/model/trace.hpp>

namespace tracelens {

/// Totals of the given GPU events by (name, class), longest total first; ties by first appearance. O(n + k
/// log k).
inline std::vector<KernelTotals> kernel_totals(const Trace& trace, std::span<const EventId> events,
                                               std::span<const GpuClass> classes) {
    KeyGrouper groups;
    std::vector<KernelTotals> totals;
    for (const EventId event : events) {
        const std::uint32_t group =
            groups.group_of(to_index(trace.name[event]), static_cast<std::uint64_t>(classes[event]));
        if (group == totals.size()) {
            totals.emplace_back();
            totals.back().name = trace.name[event];
            totals.back().gpu_class = classes[event];
        }
        KernelTotals& entry = totals[group];
        const Ticks length = trace.duration(event);
        ++entry.count;
        entry.total = saturated_sum(entry.total, length);
        entry.min = std::min(entry.min, length);
        entry.max = std::max(entry.max, length);
    }
    std::stable_sort(totals.begin(), totals.end(),
                     [](const KernelTotals& a, const KernelTotals& b) { return a.total > b.total; });
    return totals;
}

/// Totals as a table: `Kernel name`, `Class`, `Count`, `Total (us)`, `Mean (us)`, `Min (us)`, `Max (us)`,
/// `Percent (%)` and `Cumulative (%)` of all durations.
inline Table kernel_table(const Trace& trace, std::span<const KernelTotals> totals) {
    Table table;
    table.add_column("Kernel name", ColumnType::text);
    table.add_column("Class", ColumnType::text);
    table.add_column("Count", ColumnType::integer);
    table.add_column("Total (us)", ColumnType::real);
    table.add_column("Mean (us)", ColumnType::real);
    table.add_column("Min (us)", ColumnType::real);
    table.add_column("Max (us)", ColumnType::real);
    table.add_column("Percent (%)", ColumnType::real);
    table.add_column("Cumulative (%)", ColumnType::real);
    Ticks sum = 0;
    for (const KernelTotals& each : totals) sum = saturated_sum(sum, each.total);
    Ticks running = 0;
    const auto percent = [&](Ticks part) {
        return sum == 0 ? Cell{} : Cell{100 * static_cast<double>(part) / static_cast<double>(sum)};
    };
    for (const KernelTotals& each : totals) {
        running = saturated_sum(running, each.total);
        const double total_us = trace.to_us(each.total);
        table.append_row({trace.text(each.name), std::string_view(to_string(each.gpu_class)),
                          static_cast<std::int64_t>(each.count), total_us,
                          total_us / static_cast<double>(each.count), trace.to_us(each.min),
                          trace.to_us(each.max), percent(each.total), percent(running)});
    }
    return table;
}

}  // namespace tracelens
