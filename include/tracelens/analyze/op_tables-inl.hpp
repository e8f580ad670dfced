/// Bodies of analyze/op_tables.hpp.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <string>

#include <tracelens/analyze/op_tables.hpp>
#include <tracelens/model/track_names.hpp>

namespace tracelens {

namespace detail {

/// The arguments that tell one use of an op from another.
inline constexpr std::array<std::string_view, 4> shape_args = {"Input Dims", "Input type", "Input Strides",
                                                               "Concrete Inputs"};

/// The shape arguments of signatures, numbered by equal values.
class ShapeKeys {
  public:
    explicit ShapeKeys(const Trace& trace)
        : trace_(trace), key_of_signature_(trace.signatures.size(), unknown) {}

    std::uint32_t key(ArgsId signature) {
        std::uint32_t& known = key_of_signature_[to_index(signature)];
        if (known == unknown) {
            std::uint32_t key = 0;
            for (std::size_t i = 0; i < shape_args.size(); ++i) {
                std::uint64_t value = 0;
                for (const Arg& arg : trace_.signatures[signature]) {
                    if (trace_.text(arg.key) == shape_args[i]) value = std::uint64_t{to_index(arg.value)} + 1;
                }
                key = groups_[i].group_of(key, value);
            }
            known = key;
        }
        return known;
    }

  private:
    static constexpr std::uint32_t unknown = 0xffffffffU;
    const Trace& trace_;
    std::vector<std::uint32_t> key_of_signature_;
    std::array<KeyGrouper, shape_args.size()> groups_;
};

inline ArgsId args_of(const CallTree& tree, NodeId node) noexcept {
    return tree.is_overlay(node) ? tree.overlay(node).args : tree.trace().args[node];
}

inline Cell shape_cell(const CallTree& tree, NodeId node, std::string_view key) {
    const Trace& trace = tree.trace();
    const std::optional<std::string_view> value =
        find_arg(trace.signatures, trace.strings, args_of(tree, node), key);
    return value ? Cell{*value} : Cell{};
}

inline bool is_recompute(const OpTableOptions& options, NodeId node) {
    return options.recompute != nullptr && (*options.recompute)[node];
}

/// The launchers as a table of plain numbers, one row a launcher, for grouping.
inline Table launcher_rows(const CallTree& tree, const Launchers& launchers, const OpTableOptions& options) {
    Table rows;
    rows.add_column("name", ColumnType::text);
    rows.add_column("op category", ColumnType::text);
    rows.add_column("is_recompute", ColumnType::boolean);
    rows.add_column("direct", ColumnType::real);
    rows.add_column("subtree", ColumnType::real);
    for (const Launcher& each : launchers.rows) {
        rows.append_row({tree.name_text(each.node), each.category, is_recompute(options, each.node),
                         tree.trace().to_us(each.direct_time), tree.trace().to_us(each.subtree_time)});
    }
    return rows;
}

/// Keys of a summary: `name`, and the recompute mark where it is asked for.
inline std::vector<std::string_view> summary_keys(std::string_view name, const OpTableOptions& options) {
    std::vector<std::string_view> keys = {name};
    if (options.recompute != nullptr) keys.push_back("is_recompute");
    return keys;
}

inline std::vector<SortKey> ascending(std::span<const std::string_view> names) {
    std::vector<SortKey> keys;
    for (const std::string_view name : names) keys.push_back({name, false});
    return keys;
}

/// Sorts a summary: by its keys, then by `time`, longest first.
inline void sort_summary(Table& table, std::span<const std::string_view> keys, std::string_view time,
                         ClassRules rules) {
    table.stable_sort(ascending(keys));
    if (rules == ClassRules::reference) {
        table.reference_sort_descending(time);
    } else {
        const std::array<SortKey, 1> by_time = {SortKey{time, true}};
        table.stable_sort(by_time);
    }
}

}  // namespace detail

inline void add_percentages(Table& table, std::string_view time_column) {
    const std::optional<std::size_t> time = table.find_column(time_column);
    if (!time) return;
    double total = 0;
    for (std::size_t row = 0; row < table.row_count(); ++row) total += table.number(*time, row);
    double running = 0;
    std::vector<Cell> percent;
    std::vector<Cell> cumulative;
    for (std::size_t row = 0; row < table.row_count(); ++row) {
        const double share = 100 * table.number(*time, row) / total;
        running += share;
        percent.emplace_back(share);
        cumulative.emplace_back(running);
    }
    table.add_filled_column("Percentage (%)", ColumnType::real, percent);
    table.add_filled_column("Cumulative Percentage (%)", ColumnType::real, cumulative);
}

inline Table ops_summary_by_category(const CallTree& tree, const Launchers& launchers,
                                     const OpTableOptions& options) {
    const Table rows = detail::launcher_rows(tree, launchers, options);
    constexpr std::array aggregates = {
        AggregateColumn{"", Aggregate::count, "Count"},
        AggregateColumn{"direct", Aggregate::sum, "total_direct_kernel_time_ms"}};
    const std::vector<std::string_view> keys = detail::summary_keys("op category", options);
    Table table = rows.aggregate(rows.group_by(keys), keys, aggregates);
    detail::sort_summary(table, keys, "total_direct_kernel_time_ms", options.rules);
    table.scale_column("total_direct_kernel_time_ms", 1e-3);
    add_percentages(table, "total_direct_kernel_time_ms");
    return table;
}

inline Table ops_summary(const CallTree& tree, const Launchers& launchers, const OpTableOptions& options) {
    const Table rows = detail::launcher_rows(tree, launchers, options);
    const std::vector<std::string_view> keys = detail::summary_keys("name", options);
    const Grouping grouping = rows.group_by(keys);

    Table table;
    table.add_column("name", ColumnType::text);
    if (options.recompute != nullptr) table.add_column("is_recompute", ColumnType::boolean);
    for (const char* column : {"total_direct_kernel_time_sum", "total_subtree_kernel_time_sum",
                               "total_direct_kernel_time_ms", "total_subtree_kernel_time_ms"}) {
        table.add_column(column, ColumnType::real);
    }
    table.add_column("Count", ColumnType::integer);
    table.add_column("Categories", ColumnType::nested);
    for (std::size_t group = 0; group < grouping.group_count(); ++group) {
        Ticks direct_ticks = 0;
        Ticks subtree_ticks = 0;
        std::set<std::string_view> categories;
        for (const std::uint32_t row : grouping.members(group)) {
            direct_ticks += launchers.rows[row].direct_time;
            subtree_ticks += launchers.rows[row].subtree_time;
            categories.insert(launchers.rows[row].category);
        }
        std::string list = "[";
        for (const std::string_view category : categories) {
            if (list.size() > 1) list += ',';
            append_json_string(list, category);
        }
        list += ']';
        const double direct = tree.trace().to_us(direct_ticks);
        const double subtree = tree.trace().to_us(subtree_ticks);
        const NodeId first = launchers.rows[grouping.members(group).front()].node;
        std::vector<Cell> cells = {tree.name_text(first)};
        if (options.recompute != nullptr) cells.emplace_back(detail::is_recompute(options, first));
        cells.insert(cells.end(),
                     {direct, subtree, direct / 1000, subtree / 1000,
                      static_cast<std::int64_t>(grouping.members(group).size()), std::string_view(list)});
        table.append_row(cells);
    }
    detail::sort_summary(table, keys, "total_direct_kernel_time_sum", options.rules);
    add_percentages(table, "total_direct_kernel_time_ms");
    return table;
}

inline Table ops_unique_args(const CallTree& tree, const Launchers& launchers,
                             const OpTableOptions& options) {
    const Trace& trace = tree.trace();
    const TrackNames names(trace);

    // Tracks with equal names are one value of the key.
    KeyGrouper text_ids;
    StringPool track_texts;
    std::vector<std::uint32_t> track_key(trace.tracks.size());
    KeyGrouper track_keys;
    for (std::uint32_t i = 0; i < track_key.size(); ++i) {
        const TrackId track{i};
        const std::uint32_t process =
            track_keys.group_of(to_index(track_texts.intern(names.process_name(track))),
                                to_index(track_texts.intern(names.process_label(track))));
        track_key[i] = text_ids.group_of(process, to_index(track_texts.intern(names.thread_name(track))));
    }
    detail::ShapeKeys shapes(trace);
    StringPool categories;
    KeyGrouper by_op;
    KeyGrouper by_place;
    KeyGrouper groups;
    std::vector<std::uint32_t> group_of_row;
    for (const Launcher& each : launchers.rows) {
        const std::uint32_t op =
            by_op.group_of(to_index(tree.name(each.node)), to_index(categories.intern(each.category)));
        const TrackId track = tree.track(each.node);
        const std::uint32_t place = by_place.group_of(op, track_key[to_index(track)]);
        const std::uint64_t kernels =
            options.group_by_num_kernels ? each.kernels_end - each.kernels_begin : 0;
        const std::uint64_t extra = kernels << 1 | (detail::is_recompute(options, each.node) ? 1U : 0U);
        const std::uint64_t shape = shapes.key(detail::args_of(tree, each.node));
        group_of_row.push_back(groups.group_of(place, shape << 32 ^ extra));
    }
    const Grouping grouping = Grouping::from(std::move(group_of_row), groups.size());

    Table table;
    for (const char* column : {"name", "op category", "process_name", "process_label", "thread_name"}) {
        table.add_column(column, ColumnType::text);
    }
    for (const std::string_view column : detail::shape_args)
        table.add_column(column, ColumnType::nested_tuple);
    if (options.group_by_num_kernels) table.add_column("num_kernels", ColumnType::integer);
    if (options.recompute != nullptr) table.add_column("is_recompute", ColumnType::boolean);
    table.add_column("operation_count", ColumnType::integer);
    if (options.first_occurrence) table.add_column("first_occurrence_time", ColumnType::real);
    for (const char* metric : {"mean", "median", "std", "min", "max", "sum"}) {
        for (const char* time : {"total_direct_kernel_time_", "total_subtree_kernel_time_"}) {
            table.add_column(std::string(time) + metric, ColumnType::real);
        }
    }
    table.add_column("ex_UID", ColumnType::integer);
    table.add_column("kernel_details_summary", ColumnType::nested);
    table.add_column("trunc_kernel_details", ColumnType::nested);

    const auto start_of = [&](std::uint32_t row) {
        return trace.to_us(trace.start[launchers.rows[row].node]);
    };
    double earliest = std::numeric_limits<double>::infinity();
    for (std::uint32_t row = 0; row < launchers.rows.size(); ++row)
        earliest = std::min(earliest, start_of(row));

    std::vector<Cell> cells;
    for (std::size_t group = 0; group < grouping.group_count(); ++group) {
        const std::span<const std::uint32_t> members = grouping.members(group);
        const Launcher& first = launchers.rows[members.front()];
        const TrackId track = tree.track(first.node);
        cells = {tree.name_text(first.node), first.category, names.process_name(track),
                 names.process_label(track), names.thread_name(track)};
        for (const std::string_view key : detail::shape_args)
            cells.push_back(detail::shape_cell(tree, first.node, key));
        if (options.group_by_num_kernels)
            cells.emplace_back(static_cast<std::int64_t>(first.kernels_end - first.kernels_begin));
        if (options.recompute != nullptr) cells.emplace_back(detail::is_recompute(options, first.node));
        cells.emplace_back(static_cast<std::int64_t>(members.size()));
        if (options.first_occurrence) {
            double start = std::numeric_limits<double>::infinity();
            for (const std::uint32_t row : members) start = std::min(start, start_of(row));
            cells.emplace_back(start - earliest);
        }
        std::vector<double> direct;
        std::vector<double> subtree;
        std::vector<std::span<const EventId>> launches;
        for (const std::uint32_t row : members) {
            direct.push_back(trace.to_us(launchers.rows[row].direct_time));
            subtree.push_back(trace.to_us(launchers.rows[row].subtree_time));
            launches.push_back(launchers.kernels_of(launchers.rows[row]));
        }
        using Metric = double (*)(std::span<const double>);
        constexpr std::array<Metric, 6> metrics = {
            [](std::span<const double> values) { return mean(values); },
            [](std::span<const double> values) { return median(values); },
            [](std::span<const double> values) { return standard_deviation(values, Ddof::sample); },
            [](std::span<const double> values) { return *std::min_element(values.begin(), values.end()); },
            [](std::span<const double> values) { return *std::max_element(values.begin(), values.end()); },
            [](std::span<const double> values) { return sum(values); },
        };
        for (const Metric metric : metrics) {
            cells.emplace_back(metric(direct));
            cells.emplace_back(metric(subtree));
        }
        const NodeId example = first.node;
        cells.emplace_back(tree.is_overlay(example) ? std::int64_t{example}
                                                    : std::int64_t{trace.file_index[example]});
        const KernelDetails details = kernel_details(
            trace, launches,
            options.rules == ClassRules::reference ? DetailRule::positional : DetailRule::by_sequence);
        const std::string full = to_json(trace, details);
        const std::string brief = to_short_json(trace, details);
        cells.emplace_back(std::string_view(full));
        cells.push_back(brief.empty() ? Cell{} : Cell{std::string_view(brief)});
        table.append_row(cells);
    }
    const std::array<SortKey, 2> order = {SortKey{"total_direct_kernel_time_sum", true},
                                          SortKey{"ex_UID", false}};
    table.stable_sort(order);
    add_percentages(table, "total_direct_kernel_time_sum");
    return table;
}

}  // namespace tracelens
