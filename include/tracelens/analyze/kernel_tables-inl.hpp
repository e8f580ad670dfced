/// Bodies of analyze/kernel_tables.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include <tracelens/analyze/kernel_tables.hpp>
#include <tracelens/analyze/op_tables.hpp>
#include <tracelens/core/ascii.hpp>

namespace tracelens {

namespace detail {

/// Kernels that the tables are about, in file order, as the reference goes through them.
inline std::vector<EventId> table_kernels(const Trace& trace, const KernelTableOptions& options) {
    std::vector<EventId> kernels;
    for (EventId event = 0; event < trace.size(); ++event) {
        if (trace.kind[event] != EventKind::kernel) continue;
        if (!options.excluded.empty() && options.excluded[event]) continue;
        kernels.push_back(event);
    }
    std::sort(kernels.begin(), kernels.end(),
              [&](EventId a, EventId b) { return trace.file_index[a] < trace.file_index[b]; });
    return kernels;
}

/// The op above a kernel, or `no_node`. The reference does not skip `execute` here.
inline NodeId op_of_kernel(const CallTree& tree, const Links& links, EventId kernel, ClassRules rules) {
    const EventId call = links.launch_of(kernel);
    if (call == no_event) return no_node;
    NodeId op = tree.kind(call) == EventKind::cpu_op && rules == ClassRules::full ? NodeId{call}
                                                                                  : tree.enclosing_op(call);
    while (rules == ClassRules::full && op != no_node && tree.name_text(op) == "execute")
        op = tree.enclosing_op(op);
    return op;
}

}  // namespace detail

namespace detail {

/// One row a kernel: op category, op, name, stream, and its length in us.
inline Table kernel_rows(const CallTree& tree, const Links& links, const Launchers& launchers,
                         const KernelTableOptions& options, bool& any_op) {
    const Trace& trace = tree.trace();
    OpCategorizer categorize(trace, options.rules);
    Table rows;
    rows.add_column("Parent op category", ColumnType::text);
    rows.add_column("Parent cpu_op", ColumnType::text);
    rows.add_column("Kernel name", ColumnType::text);
    rows.add_column("Kernel stream", ColumnType::integer);
    rows.add_column("us", ColumnType::real);
    for (const EventId kernel : table_kernels(trace, options)) {
        const EventId call = links.launch_of(kernel);
        const NodeId op = op_of_kernel(tree, links, kernel, options.rules);
        Cell category;
        Cell owner;
        if (op != no_node) {
            any_op = true;
            category = categorize(tree.name(op), launchers.first_kernel_name(trace, op));
            owner = tree.name_text(op);
        } else if (call != no_event) {
            const std::string_view name = trace.name_of(call);
            const bool graph =
                contains_ignoring_case(name, "cudagraph") || contains_ignoring_case(name, "graphlaunch");
            category = std::string_view(graph ? "graph" : "runtime");
            owner = name;
        }
        const Track& track = trace.track_of(kernel);
        const bool reference = options.rules == ClassRules::reference;
        const std::int64_t stream = reference ? track.recorded_stream() : track.stream;
        rows.append_row({category, owner, trace.name_of(kernel), stream == no_number ? Cell{} : Cell{stream},
                         trace.recorded_us(kernel)});
    }
    return rows;
}

/// Groups kernel rows by `keys` and adds sums, means, extremes and shares, by time.
inline Table kernel_groups(const Table& rows, std::span<const std::string_view> keys,
                           const KernelTableOptions& options) {
    constexpr std::array aggregates = {
        AggregateColumn{"us", Aggregate::sum, "Kernel duration (\xc2\xb5s)_sum"},
        AggregateColumn{"us", Aggregate::count, "Kernel duration (\xc2\xb5s)_count"},
        AggregateColumn{"us", Aggregate::mean, "Kernel duration (\xc2\xb5s)_mean"},
        AggregateColumn{"us", Aggregate::min, "Kernel duration (\xc2\xb5s)_min"},
        AggregateColumn{"us", Aggregate::max, "Kernel duration (\xc2\xb5s)_max"},
    };
    Table table = rows.aggregate(rows.group_by(keys), keys, aggregates);
    sort_summary(table, keys, aggregates.front().name, options.rules);
    const std::size_t length = *rows.find_column("us");
    double all_us = 0;
    for (std::size_t row = 0; row < rows.row_count(); ++row) all_us += rows.number(length, row);
    const std::size_t time = *table.find_column(aggregates.front().name);
    std::vector<Cell> of_kernels;
    std::vector<Cell> of_total;
    for (std::size_t row = 0; row < table.row_count(); ++row) {
        const double us = table.number(time, row);
        of_kernels.push_back(all_us == 0 ? Cell{} : Cell{100 * us / all_us});
        of_total.push_back(options.total_time_us == 0 ? Cell{} : Cell{100 * us / options.total_time_us});
    }
    table.add_filled_column("Percent of kernels time (%)", ColumnType::real, of_kernels);
    table.add_filled_column("Percent of total time (%)", ColumnType::real, of_total);
    return table;
}

}  // namespace detail

inline Table kernel_summary(const CallTree& tree, const Links& links, const Launchers& launchers,
                            const KernelTableOptions& options) {
    bool any_op = false;
    const Table rows = detail::kernel_rows(tree, links, launchers, options, any_op);
    std::vector<std::string_view> keys = {"Parent op category", "Parent cpu_op", "Kernel name",
                                          "Kernel stream"};
    if (!any_op) keys.erase(keys.begin() + 1);
    return detail::kernel_groups(rows, keys, options);
}

inline Table kernel_summary_by_category(const CallTree& tree, const Links& links, const Launchers& launchers,
                                        const KernelTableOptions& options) {
    bool any_op = false;
    const Table rows = detail::kernel_rows(tree, links, launchers, options, any_op);
    constexpr std::array<std::string_view, 1> keys = {"Parent op category"};
    return detail::kernel_groups(rows, keys, options);
}

inline Table short_kernel_histogram(const Trace& trace, const KernelTableOptions& options,
                                    const ShortKernelOptions& wanted) {
    Table table;
    table.add_column("bin_start", ColumnType::real);
    table.add_column("bin_end", ColumnType::real);
    table.add_column("count", ColumnType::integer);
    std::vector<double> durations;
    for (const EventId kernel : detail::table_kernels(trace, options)) {
        const double us = trace.recorded_us(kernel);
        if (us < wanted.threshold_us) durations.push_back(us);
    }
    if (durations.empty() || wanted.bins == 0) return table;
    const auto [low, high] = std::minmax_element(durations.begin(), durations.end());
    double first = *low;
    double last = *high;
    if (first == last) {
        first -= 0.5;
        last += 0.5;
    }
    std::vector<double> edges(wanted.bins + 1);
    const double step = (last - first) / static_cast<double>(wanted.bins);
    for (std::size_t i = 0; i < wanted.bins; ++i) edges[i] = first + static_cast<double>(i) * step;
    edges.back() = last;
    std::vector<std::int64_t> counts(wanted.bins, 0);
    for (const double us : durations) {
        const auto above =
            static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), us) - edges.begin());
        ++counts[std::min(above - 1, wanted.bins - 1)];
    }
    for (std::size_t i = 0; i < wanted.bins; ++i) table.append_row({edges[i], edges[i + 1], counts[i]});
    return table;
}

inline Table short_kernels_summary(const CallTree& tree, const Links& links,
                                   const KernelTableOptions& options, const ShortKernelOptions& wanted) {
    const Trace& trace = tree.trace();
    Table rows;
    rows.add_column("Parent cpu_op", ColumnType::text);
    rows.add_column("Input dims", ColumnType::nested_tuple);
    rows.add_column("Input strides", ColumnType::nested_tuple);
    rows.add_column("Concrete Inputs", ColumnType::nested_tuple);
    rows.add_column("Kernel name", ColumnType::text);
    rows.add_column("us", ColumnType::real);
    bool any_op = false;
    std::vector<std::uint32_t> whole;  // rows without a missing key
    for (const EventId kernel : detail::table_kernels(trace, options)) {
        const NodeId op = detail::op_of_kernel(tree, links, kernel, options.rules);
        any_op = any_op || op != no_node;
        const double us = trace.recorded_us(kernel);
        if (us >= wanted.threshold_us) continue;
        std::array<Cell, 4> keys;
        if (op != no_node) {
            keys = {tree.name_text(op), detail::shape_cell(tree, op, "Input Dims"),
                    detail::shape_cell(tree, op, "Input Strides"),
                    detail::shape_cell(tree, op, "Concrete Inputs")};
        }
        const bool missing =
            std::any_of(keys.begin(), keys.end(), [](const Cell& cell) { return cell.index() == 0; });
        if (!missing) whole.push_back(static_cast<std::uint32_t>(rows.row_count()));
        rows.append_row({keys[0], keys[1], keys[2], keys[3], trace.name_of(kernel), us});
    }
    if (rows.row_count() == 0) return {};
    std::vector<std::string_view> keys = {"Kernel name"};
    if (any_op) {
        keys = {"Parent cpu_op", "Input dims", "Input strides", "Concrete Inputs", "Kernel name"};
        if (options.rules == ClassRules::reference) rows.take_rows(whole);
    }
    constexpr std::array aggregates = {
        AggregateColumn{"us", Aggregate::sum, "Short Kernel duration (\xc2\xb5s) sum"},
        AggregateColumn{"us", Aggregate::count, "Short Kernel count"},
        AggregateColumn{"us", Aggregate::mean, "Short Kernel duration (\xc2\xb5s) mean"},
    };
    Table table = rows.aggregate(rows.group_by(keys), keys, aggregates);
    const std::size_t time = *table.find_column(aggregates.front().name);
    std::vector<Cell> percent;
    for (std::size_t row = 0; row < table.row_count(); ++row) {
        const double us = table.number(time, row);
        percent.push_back(options.total_time_us == 0 ? Cell{} : Cell{100 * us / options.total_time_us});
    }
    const std::string_view share = "Short Kernel duration (\xc2\xb5s) percent of total time";
    table.add_filled_column(share, ColumnType::real, percent);
    const std::array order = {SortKey{aggregates[0].name, true}, SortKey{aggregates[1].name, false},
                              SortKey{aggregates[2].name, false}, SortKey{share, false}};
    table.stable_sort(order);
    if (wanted.top_k && table.row_count() > *wanted.top_k) table.top_k(order, *wanted.top_k);
    return table;
}

}  // namespace tracelens
