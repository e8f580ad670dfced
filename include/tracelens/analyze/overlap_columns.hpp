/// What runs beside the ops of a performance table, as a key and columns of its summary. (Spec 02,
/// section 17.3.)
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/analyze/kernel_details.hpp>
#include <tracelens/analyze/launchers.hpp>
#include <tracelens/analyze/overlap.hpp>
#include <tracelens/core/json_text.hpp>
#include <tracelens/core/table.hpp>

namespace tracelens {

inline constexpr std::string_view overlap_names_column = "overlapping_kernel_names";
inline constexpr std::string_view overlap_share_column = "overlap_pct";

/// What runs beside the kernels of one row.
struct RowOverlap {
    std::string names;                ///< JSON list; empty for nothing
    std::vector<KernelEntry> beside;  ///< one entry a name
    std::optional<double> share;      ///< part of the row's time with anything beside it
};

inline RowOverlap row_overlap(const Trace& trace, std::span<const EventId> kernels,
                              const Overlaps& overlaps) {
    const LauncherOverlap found = launcher_overlap(trace, kernels, overlaps);
    RowOverlap result;
    result.share = found.share;
    for (const OverlapEntry& entry : found.entries) {
        result.names += result.names.empty() ? '[' : ',';
        append_json_string(result.names, trace.text(entry.name));
        result.beside.push_back({entry.name, entry.stream, entry.us, entry.share, no_event});
    }
    if (!result.names.empty()) result.names += ']';
    return result;
}

namespace detail {

/// Statistics of the share over the rows of a group, to 2 decimals; the deviation of a single row is 0.
inline void add_overlap_shares(Table& table, const Table& rows, const Grouping& grouping) {
    constexpr std::array wanted = {
        AggregateColumn{overlap_share_column, Aggregate::mean, "overlap_pct_mean"},
        AggregateColumn{overlap_share_column, Aggregate::median, "overlap_pct_median"},
        AggregateColumn{overlap_share_column, Aggregate::std_sample, "overlap_pct_std"},
        AggregateColumn{overlap_share_column, Aggregate::min, "overlap_pct_min"},
        AggregateColumn{overlap_share_column, Aggregate::max, "overlap_pct_max"},
    };
    const Table shares = rows.aggregate(grouping, {}, wanted);
    for (std::size_t column = 0; column < wanted.size(); ++column) {
        std::vector<Cell> cells;
        for (std::size_t row = 0; row < shares.row_count(); ++row) {
            const double value = shares.number(column, row);
            const bool single = std::isnan(value) && !std::isnan(shares.number(0, row));
            if (single)
                cells.emplace_back(0.0);
            else
                cells.push_back(std::isnan(value) ? Cell{} : Cell{std::nearbyint(value * 100) / 100});
        }
        table.add_filled_column(wanted[column].name, ColumnType::real, cells);
    }
}

/// Sorts rows so that those which differ in nothing but what runs beside them stand together: the groups by
/// their time and first row, within them by keys, time and first row.
inline void sort_with_overlap(Table& table, std::span<const std::string_view> keys, std::string_view time,
                              std::string_view uid) {
    std::vector<std::string_view> others;
    for (const std::string_view key : keys) {
        if (key.substr(0, overlap_names_column.size()) != overlap_names_column) others.push_back(key);
    }
    const Grouping whole = table.group_by(others);
    const std::size_t time_column = *table.find_column(time);
    const std::size_t uid_column = *table.find_column(uid);
    std::vector<double> group_time(whole.group_count(), 0);
    std::vector<double> group_uid(whole.group_count(), 0);
    for (std::size_t group = 0; group < whole.group_count(); ++group) {
        group_uid[group] = table.number(uid_column, whole.members(group).front());
        for (const std::uint32_t row : whole.members(group)) {
            group_time[group] += table.number(time_column, row);
            group_uid[group] = std::min(group_uid[group], table.number(uid_column, row));
        }
    }
    std::vector<std::vector<std::string>> texts(table.row_count());
    for (const std::string_view key : others) {
        const std::size_t column = *table.find_column(key);
        for (std::size_t row = 0; row < texts.size(); ++row) {
            const Cell cell = table.cell(column, row);
            const auto* text = std::get_if<std::string_view>(&cell);
            const auto* flag = std::get_if<bool>(&cell);
            texts[row].emplace_back(text != nullptr   ? *text
                                    : flag != nullptr ? (*flag ? "True" : "False")
                                                      : "None");
        }
    }
    std::vector<std::uint32_t> order(table.row_count());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        const std::uint32_t x = whole.group_of_row[a];
        const std::uint32_t y = whole.group_of_row[b];
        if (group_time[x] != group_time[y]) return group_time[x] > group_time[y];
        if (group_uid[x] != group_uid[y]) return group_uid[x] < group_uid[y];
        if (texts[a] != texts[b]) return texts[a] < texts[b];
        const double a_time = table.number(time_column, a);
        const double b_time = table.number(time_column, b);
        if (a_time != b_time) return a_time > b_time;
        return table.number(uid_column, a) < table.number(uid_column, b);
    });
    table.take_rows(order);
}

}  // namespace detail

}  // namespace tracelens
