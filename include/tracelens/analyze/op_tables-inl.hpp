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
                    if (trace_.text(arg.key) == shape_args[i] && trace_.text(arg.value) != "null")
                        value = std::uint64_t{to_index(arg.value)} + 1;
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

inline Cell shape_cell(const CallTree& tree, NodeId node, std::string_view key) {
    const Trace& trace = tree.trace();
    const std::optional<std::string_view> value =
        find_arg(trace.signatures, trace.strings, tree.args(node), key);
    return value && *value != "null" ? Cell{*value} : Cell{};
}

/// The number of a node in the tables: its place in the file, or its own id for overlay nodes.
inline std::int64_t node_uid(const CallTree& tree, NodeId node) noexcept {
    return tree.is_overlay(node) ? node : tree.trace().file_index[node];
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
            direct_ticks = saturated_sum(direct_ticks, launchers.rows[row].direct_time);
            subtree_ticks = saturated_sum(subtree_ticks, launchers.rows[row].subtree_time);
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

namespace detail {

/// Makes the unique-args tables: groups launchers by op, place and shapes, and writes a row a group.
class UniqueArgsTable {
  public:
    UniqueArgsTable(const CallTree& tree, const Launchers& launchers, const Overlaps* overlaps,
                    const OpTableOptions& options)
        : tree_(tree),
          trace_(tree.trace()),
          launchers_(launchers),
          overlaps_(overlaps),
          options_(options),
          rule_(options.rules == ClassRules::reference ? DetailRule::positional : DetailRule::by_sequence),
          names_(trace_) {
        if (overlaps == nullptr) return;
        for (const Launcher& each : launchers.rows) {
            beside_.push_back(launcher_overlap(trace_, launchers.kernels_of(each), *overlaps));
        }
    }

    Table make() {
        add_columns();
        for (std::uint32_t row = 0; row < launchers_.rows.size(); ++row)
            earliest_ = std::min(earliest_, start_us(row));
        const Grouping grouping = group();
        for (std::size_t each = 0; each < grouping.group_count(); ++each) add_row(grouping.members(each));
        const std::array order = {SortKey{"total_direct_kernel_time_sum", true}, SortKey{"ex_UID", false}};
        table_.stable_sort(order);
        add_percentages(table_, "total_direct_kernel_time_sum");
        return std::move(table_);
    }

  private:
    using Statistic = double (*)(std::span<const double>);
    struct NamedStatistic {
        const char* name;
        Statistic function;
    };
    static constexpr std::array<NamedStatistic, 6> statistics = {{
        {"mean", [](std::span<const double> values) { return mean(values); }},
        {"median", [](std::span<const double> values) { return median(values); }},
        {"std", [](std::span<const double> values) { return standard_deviation(values, Ddof::sample); }},
        {"min",
         [](std::span<const double> values) { return *std::min_element(values.begin(), values.end()); }},
        {"max",
         [](std::span<const double> values) { return *std::max_element(values.begin(), values.end()); }},
        {"sum", [](std::span<const double> values) { return compensated_sum(values); }},
    }};
    static constexpr std::size_t overlap_statistics = 5;  // all but the sum

    double start_us(std::uint32_t row) const { return trace_.to_us(tree_.start(launchers_.rows[row].node)); }

    void add_columns() {
        table_.add_column("name", ColumnType::text);
        if (overlaps_ != nullptr) table_.add_column("overlapping_kernel_names", ColumnType::nested);
        for (const char* column : {"op category", "process_name", "process_label", "thread_name"}) {
            table_.add_column(column, ColumnType::text);
        }
        for (const std::string_view column : shape_args) table_.add_column(column, ColumnType::nested_tuple);
        if (options_.group_by_num_kernels) table_.add_column("num_kernels", ColumnType::integer);
        if (options_.recompute != nullptr) table_.add_column("is_recompute", ColumnType::boolean);
        table_.add_column("operation_count", ColumnType::integer);
        if (options_.first_occurrence) table_.add_column("first_occurrence_time", ColumnType::real);
        for (const NamedStatistic& each : statistics) {
            table_.add_column(std::string("total_direct_kernel_time_") + each.name, ColumnType::real);
            table_.add_column(std::string("total_subtree_kernel_time_") + each.name, ColumnType::real);
        }
        table_.add_column("ex_UID", ColumnType::integer);
        table_.add_column("kernel_details_summary", ColumnType::nested);
        table_.add_column("trunc_kernel_details", ColumnType::nested);
        if (overlaps_ == nullptr) return;
        table_.add_column("overlapping_kernels_details_summary", ColumnType::nested);
        table_.add_column("trunc_overlapping_kernels_details", ColumnType::nested);
        for (std::size_t i = 0; i < overlap_statistics; ++i) {
            table_.add_column(std::string("overlap_pct_") + statistics[i].name, ColumnType::real);
        }
    }

    /// Groups launchers whose keys are equal as text, in order of first appearance.
    Grouping group() {
        StringPool texts;
        const auto id = [&](std::string_view text) { return to_index(texts.intern(text)); };
        KeyGrouper process_keys;
        KeyGrouper place_keys;
        std::vector<std::uint32_t> place_of_track(trace_.tracks.size());
        for (std::uint32_t i = 0; i < place_of_track.size(); ++i) {
            const TrackId track{i};
            const std::uint32_t process =
                process_keys.group_of(id(names_.process_name(track)), id(names_.process_label(track)));
            place_of_track[i] = place_keys.group_of(process, id(names_.thread_name(track)));
        }
        ShapeKeys shapes(trace_);
        KeyGrouper ops;
        KeyGrouper places;
        KeyGrouper uses;
        KeyGrouper groups;
        std::vector<std::uint32_t> group_of_row;
        for (std::uint32_t row = 0; row < launchers_.rows.size(); ++row) {
            const Launcher& each = launchers_.rows[row];
            const std::uint32_t op = ops.group_of(to_index(tree_.name(each.node)), id(each.category));
            const std::uint32_t place = places.group_of(op, place_of_track[to_index(tree_.track(each.node))]);
            const std::uint32_t use = uses.group_of(place, shapes.key(tree_.args(each.node)));
            const std::uint64_t kernels =
                options_.group_by_num_kernels ? each.kernels_end - each.kernels_begin : 0;
            const std::uint64_t recompute = is_recompute(options_, each.node) ? 1 : 0;
            const std::uint64_t beside =
                overlaps_ == nullptr ? 0 : std::uint64_t{id(overlap_names(row))} << 32;
            group_of_row.push_back(groups.group_of(use, beside | kernels << 1 | recompute));
        }
        return Grouping::from(std::move(group_of_row), groups.size());
    }

    /// The names of what runs beside a launcher as a JSON list; empty for nothing.
    std::string overlap_names(std::uint32_t row) const {
        if (beside_[row].entries.empty()) return {};
        std::string list = "[";
        for (const OverlapEntry& entry : beside_[row].entries) {
            if (list.size() > 1) list += ',';
            append_json_string(list, trace_.text(entry.name));
        }
        return list + "]";
    }

    void add_row(std::span<const std::uint32_t> members) {
        const std::uint32_t first_row = members.front();
        const Launcher& first = launchers_.rows[first_row];
        const TrackId track = tree_.track(first.node);
        std::vector<Cell> cells = {tree_.name_text(first.node)};
        const std::string beside_names = overlaps_ == nullptr ? std::string() : overlap_names(first_row);
        if (overlaps_ != nullptr) cells.push_back(text_or_missing(beside_names));
        cells.insert(cells.end(), {first.category, names_.process_name(track), names_.process_label(track),
                                   names_.thread_name(track)});
        for (const std::string_view key : shape_args) cells.push_back(shape_cell(tree_, first.node, key));
        if (options_.group_by_num_kernels)
            cells.emplace_back(static_cast<std::int64_t>(first.kernels_end - first.kernels_begin));
        if (options_.recompute != nullptr) cells.emplace_back(is_recompute(options_, first.node));
        cells.emplace_back(static_cast<std::int64_t>(members.size()));
        if (options_.first_occurrence) {
            double start = std::numeric_limits<double>::infinity();
            for (const std::uint32_t row : members) start = std::min(start, start_us(row));
            cells.emplace_back(start - earliest_);
        }
        std::vector<double> direct;
        std::vector<double> subtree;
        std::vector<std::vector<KernelEntry>> launches;
        for (const std::uint32_t row : members) {
            direct.push_back(trace_.to_us(launchers_.rows[row].direct_time));
            subtree.push_back(trace_.to_us(launchers_.rows[row].subtree_time));
            launches.push_back(kernel_entries(trace_, launchers_.kernels_of(launchers_.rows[row]), rule_));
        }
        for (const NamedStatistic& each : statistics) {
            cells.emplace_back(each.function(direct));
            cells.emplace_back(each.function(subtree));
        }
        cells.emplace_back(node_uid(tree_, first.node));
        const KernelDetails details = kernel_details(trace_, launches, rule_);
        const std::string full = to_json(trace_, details);
        const std::string brief = to_short_json(trace_, details);
        cells.emplace_back(std::string_view(full));
        cells.push_back(text_or_missing(brief));
        if (overlaps_ == nullptr) {
            table_.append_row(cells);
            return;
        }
        const KernelDetails beside = overlap_details(members);
        const std::string beside_full = to_json(trace_, beside);
        const std::string beside_brief = to_short_json(trace_, beside);
        cells.emplace_back(std::string_view(beside_full));
        cells.push_back(text_or_missing(beside_brief));
        std::vector<double> shares;
        for (const std::uint32_t row : members) {
            if (beside_[row].share) shares.push_back(*beside_[row].share);
        }
        for (std::size_t i = 0; i < overlap_statistics; ++i) {
            cells.push_back(shares.empty() ? Cell{} : Cell{statistics[i].function(shares)});
        }
        table_.append_row(cells);
    }

    KernelDetails overlap_details(std::span<const std::uint32_t> members) const {
        std::vector<std::vector<KernelEntry>> lists;
        for (const std::uint32_t row : members) {
            lists.emplace_back();
            for (const OverlapEntry& entry : beside_[row].entries)
                lists.back().push_back({entry.name, entry.stream, entry.us, entry.share, no_event});
        }
        return kernel_details(trace_, lists, rule_);
    }

    static Cell text_or_missing(const std::string& text) {
        return text.empty() ? Cell{} : Cell{std::string_view(text)};
    }

    const CallTree& tree_;
    const Trace& trace_;
    const Launchers& launchers_;
    const Overlaps* overlaps_;
    const OpTableOptions& options_;
    DetailRule rule_;
    TrackNames names_;
    std::vector<LauncherOverlap> beside_;  // by launcher; only with overlaps
    double earliest_ = std::numeric_limits<double>::infinity();
    Table table_;
};

}  // namespace detail

inline Table ops_unique_args(const CallTree& tree, const Launchers& launchers,
                             const OpTableOptions& options) {
    return detail::UniqueArgsTable(tree, launchers, nullptr, options).make();
}

inline Table ops_unique_args_overlap(const CallTree& tree, const Launchers& launchers,
                                     const Overlaps& overlaps, const OpTableOptions& options) {
    return detail::UniqueArgsTable(tree, launchers, &overlaps, options).make();
}

}  // namespace tracelens
