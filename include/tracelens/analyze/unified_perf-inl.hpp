/// Bodies of analyze/unified_perf.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <tracelens/analyze/call_stack.hpp>
#include <tracelens/analyze/kernel_details.hpp>
#include <tracelens/analyze/op_tables.hpp>
#include <tracelens/analyze/unified_perf.hpp>
#include <tracelens/classify/op_category.hpp>
#include <tracelens/core/python_literal.hpp>
#include <tracelens/model/track_names.hpp>
#include <tracelens/perf/param_text.hpp>

namespace tracelens {

namespace detail {

constexpr DetailRule detail_rule(ClassRules rules) noexcept {
    return rules == ClassRules::reference ? DetailRule::positional : DetailRule::by_sequence;
}

/// GPU events below a node in the order of their launches in the file.
inline std::vector<EventId> gpu_events_by_launch(const CallTree& tree, const Links& links, NodeId node) {
    const Trace& trace = tree.trace();
    const std::span<const EventId> below = tree.gpu_events(node);
    std::vector<EventId> events(below.begin(), below.end());
    const auto key = [&](EventId event) {
        const EventId call = links.launch_of(event);
        return std::pair{call == no_event ? no_event : trace.file_index[call], trace.file_index[event]};
    };
    std::sort(events.begin(), events.end(), [&](EventId a, EventId b) { return key(a) < key(b); });
    return events;
}

/// Keys of the summary, after which it groups.
inline constexpr std::array<std::string_view, 9> unified_keys = {
    "name",       "op category", "process_name",  "process_label",  "thread_name",
    "Input Dims", "Input type",  "Input Strides", "Concrete Inputs"};

class UnifiedPerfTable {
  public:
    UnifiedPerfTable(const PerfInputs& inputs, std::span<const WorkUnit> units)
        : in_(inputs),
          trace_(inputs.tree.trace()),
          units_(units),
          names_(trace_),
          categorize_(trace_, inputs.rules),
          reference_(inputs.rules == ClassRules::reference) {}

    /// Builds the rows; `kernels` and `beside` then hold the lists of each.
    Table make() {
        add_columns();
        for (const WorkUnit& unit : units_) add_row(unit);
        return std::move(table_);
    }

    std::vector<std::vector<KernelEntry>> kernels;
    std::vector<std::vector<KernelEntry>> beside;  ///< what overlaps each row's kernels

  private:
    void add_columns() {
        for (std::size_t i = 0; i < unified_keys.size(); ++i)
            table_.add_column(unified_keys[i], i < 5 ? ColumnType::text : ColumnType::nested_tuple);
        if (in_.recompute != nullptr) table_.add_column("is_recompute", ColumnType::boolean);
        table_.add_column("UID", ColumnType::integer);
        table_.add_column("duration_us", ColumnType::real);
        table_.add_column("has_perf_model", ColumnType::boolean);
        for (const MetricColumn& column : metric_columns) table_.add_column(column.name, column.type);
        table_.add_column("perf_params", reference_ ? ColumnType::text : ColumnType::nested);
        if (in_.overlaps == nullptr) return;
        table_.add_column(overlap_names_column, ColumnType::nested);
        table_.add_column(overlap_share_column, ColumnType::real);
    }

    void add_row(const WorkUnit& unit) {
        const std::vector<EventId> events = unit.is_leftover()
                                                ? std::vector<EventId>{unit.kernel}
                                                : gpu_events_by_launch(in_.tree, in_.links, unit.node);
        const Cost* cost = cost_of(unit);
        if (cost != nullptr && cost->status == CostStatus::unsupported && reference_) return;
        std::vector<Param> params;
        const bool priced =
            cost != nullptr && cost->ok() &&
            complete_params(params, *cost, in_.costs.model_of(unit.node), trace_,
                            in_.tree.gpu_events(unit.node), in_.platform, in_.rules, in_.costs.rules());

        const std::string name = name_of(unit);
        const std::string category = category_of(unit, name);
        const TrackId track = in_.tree.track(unit.node);
        std::vector<Cell> cells = {std::string_view(name), std::string_view(category),
                                   names_.process_name(track), names_.process_label(track),
                                   names_.thread_name(track)};
        for (std::size_t i = 5; i < unified_keys.size(); ++i)
            cells.push_back(shape_cell(in_.tree, unit.node, unified_keys[i]));
        if (in_.recompute != nullptr) cells.emplace_back(bool{(*in_.recompute)[unit.node]});
        cells.push_back(uid_of(unit));
        cells.push_back(duration_of(unit));
        cells.emplace_back(unit.has_model);

        const bool through_forward = priced && unit.forward != no_node;
        const std::vector<EventId> timed =
            through_forward ? backward_gpu_events(in_.tree, in_.backward, unit.forward) : events;
        const OpMetrics metrics =
            op_metrics(priced ? cost : nullptr, trace_.to_us(busy_ticks(trace_, timed, in_.excluded)),
                       in_.platform, in_.costs.rules());
        const std::array metric_cells = metrics.cells();
        cells.insert(cells.end(), metric_cells.begin(), metric_cells.end());
        std::string params_text;
        if (priced) params_text = reference_ ? params_python(params) : params_json(params);
        cells.push_back(params_text.empty() ? Cell{} : Cell{std::string_view(params_text)});
        RowOverlap overlap;
        if (in_.overlaps != nullptr) {
            overlap = row_overlap(trace_, kernels_for_overlap(unit, events), *in_.overlaps);
            cells.push_back(overlap.names.empty() ? Cell{} : Cell{std::string_view(overlap.names)});
            cells.push_back(overlap.share ? Cell{*overlap.share} : Cell{});
        }
        beside.push_back(std::move(overlap.beside));
        table_.append_row(cells);
        kernels.push_back(kernel_entries(trace_, events, detail_rule(in_.rules)));
        // The reference knows no stack of kernels that it found outside of its units.
        if (unit.is_leftover() && reference_) kernels.back().front().event = no_event;
    }

    /// An op's own kernels where it has any, else all below it.
    std::span<const EventId> kernels_for_overlap(const WorkUnit& unit,
                                                 std::span<const EventId> events) const {
        const std::uint32_t row = in_.launchers.row_of_node[unit.node];
        if (row == Launchers::no_row) return events;
        return in_.launchers.kernels_of(in_.launchers.rows[row]);
    }

    const Cost* cost_of(const WorkUnit& unit) {
        if (!unit.has_model) return nullptr;
        return unit.forward != no_node ? &in_.costs.cost(unit.forward, Pass::backward)
                                       : &in_.costs.cost(unit.node);
    }

    std::string name_of(const WorkUnit& unit) const {
        std::string name(in_.tree.name_text(unit.node));
        if (!unit.is_leftover()) return name;
        name += "->";
        name += trace_.name_of(unit.kernel);
        name += " (Synthetic Op)";
        return name;
    }

    std::string category_of(const WorkUnit& unit, const std::string& name) {
        if (unit.forward != no_node) return in_.costs.model_of(unit.forward)->backward_category;
        const StringId first = in_.launchers.first_kernel_name(trace_, unit.node);
        if (unit.is_leftover()) {
            const std::string_view known = op_category_by_name(name, in_.rules);
            return std::string(known.empty() ? op_category_by_kernel(trace_.text(first)) : known);
        }
        if (const RegisteredModel* const model = in_.costs.model_of(unit.node);
            model != nullptr && model->is_added)
            return model->category;
        return std::string(categorize_(in_.tree.name(unit.node), first));
    }

    /// Leftover units have numbers behind those of all events.
    Cell uid_of(const WorkUnit& unit) {
        if (unit.is_leftover()) return static_cast<std::int64_t>(trace_.file_events + leftovers_++);
        return node_uid(in_.tree, unit.node);
    }

    /// How long the op took on the host. The reference gives every leftover kernel the whole time of its
    /// call.
    Cell duration_of(const WorkUnit& unit) const {
        if (unit.is_leftover() && !reference_) return {};
        if (!in_.tree.is_overlay(unit.node)) return trace_.recorded_us(unit.node);
        const OverlayNode& node = in_.tree.overlay(unit.node);
        if (node.start == no_number || node.end == no_number) return {};
        return trace_.to_us(node.end - node.start);
    }

    const PerfInputs& in_;
    const Trace& trace_;
    std::span<const WorkUnit> units_;
    TrackNames names_;
    OpCategorizer categorize_;
    bool reference_;
    std::uint64_t leftovers_ = 0;
    Table table_;
};

/// Columns of the summary behind the keys, in order.
inline constexpr std::array unified_aggregates = {
    AggregateColumn{"UID", Aggregate::first, "ex_UID"},
    AggregateColumn{"", Aggregate::count, "operation_count"},
    AggregateColumn{"duration_us", Aggregate::sum, "total_duration_us"},
    AggregateColumn{"duration_us", Aggregate::mean, "mean_duration_us"},
    AggregateColumn{"duration_us", Aggregate::std_sample, "std_duration_us"},
    AggregateColumn{"GFLOPS", Aggregate::first, "GFLOPS"},
    AggregateColumn{"Data Moved (MB)", Aggregate::first, "Data Moved (MB)"},
    AggregateColumn{"FLOPS/Byte", Aggregate::first, "FLOPS/Byte"},
    AggregateColumn{"Compute Spec", Aggregate::first, "Compute Spec"},
    AggregateColumn{"Roofline Bound", Aggregate::first, "Roofline Bound"},
    AggregateColumn{"TB/s", Aggregate::mean, "TB/s_mean"},
    AggregateColumn{"TB/s", Aggregate::std_sample, "TB/s_std"},
    AggregateColumn{"TFLOPS/s", Aggregate::mean, "TFLOPS/s_mean"},
    AggregateColumn{"TFLOPS/s", Aggregate::std_sample, "TFLOPS/s_std"},
    AggregateColumn{"Kernel Time (\xc2\xb5s)", Aggregate::mean, "Kernel Time (\xc2\xb5s)_mean"},
    AggregateColumn{"Kernel Time (\xc2\xb5s)", Aggregate::std_sample, "Kernel Time (\xc2\xb5s)_std"},
    AggregateColumn{"Kernel Time (\xc2\xb5s)", Aggregate::sum, "Kernel Time (\xc2\xb5s)_sum"},
    AggregateColumn{"duration_us", Aggregate::median, "duration_us_median"},
    AggregateColumn{"duration_us", Aggregate::min, "duration_us_min"},
    AggregateColumn{"duration_us", Aggregate::max, "duration_us_max"},
    AggregateColumn{"TB/s", Aggregate::median, "TB/s_median"},
    AggregateColumn{"TB/s", Aggregate::min, "TB/s_min"},
    AggregateColumn{"TB/s", Aggregate::max, "TB/s_max"},
    AggregateColumn{"TFLOPS/s", Aggregate::median, "TFLOPS/s_median"},
    AggregateColumn{"TFLOPS/s", Aggregate::min, "TFLOPS/s_min"},
    AggregateColumn{"TFLOPS/s", Aggregate::max, "TFLOPS/s_max"},
    AggregateColumn{"Roofline Time (\xc2\xb5s)", Aggregate::first, "Roofline Time (\xc2\xb5s)_first"},
    AggregateColumn{"Pct Roofline", Aggregate::mean, "Pct Roofline_mean"},
    AggregateColumn{"Pct Roofline", Aggregate::median, "Pct Roofline_median"},
    AggregateColumn{"Pct Roofline", Aggregate::std_sample, "Pct Roofline_std"},
    AggregateColumn{"Pct Roofline", Aggregate::min, "Pct Roofline_min"},
    AggregateColumn{"Pct Roofline", Aggregate::max, "Pct Roofline_max"},
    AggregateColumn{"Kernel Time (\xc2\xb5s)", Aggregate::median, "Kernel Time (\xc2\xb5s)_median"},
    AggregateColumn{"Kernel Time (\xc2\xb5s)", Aggregate::min, "Kernel Time (\xc2\xb5s)_min"},
    AggregateColumn{"Kernel Time (\xc2\xb5s)", Aggregate::max, "Kernel Time (\xc2\xb5s)_max"},
};

/// The aggregates that a table has sources for: metrics when any row is priced, rooflines when any row has
/// one.
inline std::vector<AggregateColumn> present_aggregates(const Table& rows,
                                                       std::span<const AggregateColumn> wanted) {
    const bool any_priced = rows.has_values("GFLOPS");
    std::vector<AggregateColumn> present;
    for (const AggregateColumn& each : wanted) {
        const bool roofline = each.source.find("Roofline") != std::string_view::npos;
        const bool metric =
            std::any_of(metric_columns.begin(), metric_columns.end(),
                        [&](const MetricColumn& column) { return column.name == each.source; });
        const bool time = each.source == kernel_time_column;
        if (roofline ? rows.has_values(each.source) : (!metric || time || any_priced))
            present.push_back(each);
    }
    return present;
}

/// What the launches of each group have in common.
inline std::vector<KernelDetails> details_of_groups(const Trace& trace, const Grouping& grouping,
                                                    std::span<const std::vector<KernelEntry>> kernels,
                                                    ClassRules rules) {
    std::vector<KernelDetails> details;
    for (std::size_t group = 0; group < grouping.group_count(); ++group) {
        std::vector<std::vector<KernelEntry>> lists;
        for (const std::uint32_t row : grouping.members(group)) lists.push_back(kernels[row]);
        details.push_back(kernel_details(trace, lists, detail_rule(rules)));
    }
    return details;
}

/// Adds a column of texts; an empty one is missing.
inline void add_text_column(Table& table, std::string_view name, ColumnType type,
                            std::span<const std::string> texts) {
    std::vector<Cell> cells;
    for (const std::string& text : texts)
        cells.push_back(text.empty() ? Cell{} : Cell{std::string_view(text)});
    table.add_filled_column(name, type, cells);
}

/// Adds the kernel statistics of each group, in full and short.
inline void add_kernel_cells(Table& table, const Trace& trace, std::span<const KernelDetails> details,
                             std::string_view full_name, std::string_view short_name,
                             const ExtraMembers& extra = {}) {
    std::vector<std::string> full;
    std::vector<std::string> brief;
    for (const KernelDetails& each : details) {
        full.push_back(to_json(trace, each, extra));
        brief.push_back(to_short_json(trace, each));
    }
    add_text_column(table, full_name, ColumnType::nested, full);
    add_text_column(table, short_name, ColumnType::nested, brief);
}

/// Adds where the kernels of each group were launched from: `entry_point` and `call_stack_full`.
inline void add_call_stacks(Table& table, const CallTree& tree, std::span<const KernelDetails> details,
                            ClassRules rules) {
    constexpr std::string_view not_found = "Not found";
    const bool reference = rules == ClassRules::reference;
    std::vector<std::string> entries;
    std::vector<std::string> stacks;
    for (std::size_t row = 0; row < details.size(); ++row) {
        std::vector<CallStack> chains;
        for (const KernelDetail& position : details[row].positions) {
            const EventId event = position.model.event;
            chains.push_back(event == no_event ? CallStack{} : call_stack(tree, tree.parent(event)));
            chains.back().emplace_back(tree.trace().text(position.model.name));
        }
        const CallStackTree merged = merge_call_stacks(chains);
        const std::string_view op = std::get<std::string_view>(table.cell(0, row));
        entries.push_back(
            entry_point(merged, op).value_or(reference ? std::string(not_found) : std::string()));
        const std::string json = to_json(merged);
        if (!reference) {
            stacks.push_back(json);
            continue;
        }
        stacks.emplace_back(json.empty() ? not_found : std::string_view{});
        if (!json.empty()) append_python_literal(stacks.back(), json, false);
    }
    add_text_column(table, "entry_point", ColumnType::text, entries);
    add_text_column(table, "call_stack_full", reference ? ColumnType::text : ColumnType::nested, stacks);
}

}  // namespace detail

inline Table unified_perf_table(const PerfInputs& inputs, std::span<const WorkUnit> units) {
    return detail::UnifiedPerfTable(inputs, units).make();
}

inline Table unified_perf_summary(const PerfInputs& inputs, std::span<const WorkUnit> units) {
    detail::UnifiedPerfTable maker(inputs, units);
    const Table rows = maker.make();
    if (rows.row_count() == 0) return {};
    std::vector<std::string_view> keys(detail::unified_keys.begin(), detail::unified_keys.end());
    if (inputs.overlaps != nullptr) keys.insert(keys.begin() + 1, overlap_names_column);
    if (inputs.recompute != nullptr) keys.push_back("is_recompute");
    const Grouping grouping = rows.group_by(keys);
    const std::vector<AggregateColumn> aggregates =
        detail::present_aggregates(rows, detail::unified_aggregates);
    Table table = rows.aggregate(grouping, keys, aggregates);
    const std::vector<KernelDetails> details =
        detail::details_of_groups(inputs.tree.trace(), grouping, maker.kernels, inputs.rules);
    // The reference takes the stacks out again only where it shows them in a column of their own.
    const bool stacks_remain = inputs.rules == ClassRules::reference && inputs.python_frames &&
                               (!inputs.call_stacks || inputs.overlaps != nullptr);
    const ExtraMembers stack_member = [&](const KernelEntry& kernel) {
        if (kernel.event == no_event) return std::string();
        const CallStackTree stack{call_stack(inputs.tree, inputs.tree.parent(kernel.event)), {}};
        const std::string json = to_json(stack);
        return ",\"call_stack\":" + (json.empty() ? "[]" : json);
    };
    detail::add_kernel_cells(table, inputs.tree.trace(), details, "kernel_details_summary",
                             "trunc_kernel_details", stacks_remain ? stack_member : ExtraMembers{});
    if (inputs.overlaps != nullptr) {
        detail::add_kernel_cells(
            table, inputs.tree.trace(),
            detail::details_of_groups(inputs.tree.trace(), grouping, maker.beside, inputs.rules),
            "overlapping_kernels_details_summary", "trunc_overlapping_kernels_details");
        detail::add_overlap_shares(table, rows, grouping);
    }
    constexpr std::array last = {AggregateColumn{"perf_params", Aggregate::first, "perf_params"},
                                 AggregateColumn{"has_perf_model", Aggregate::first, "has_perf_model"}};
    table.append_columns(rows.aggregate(grouping, {}, last));
    if (inputs.call_stacks && inputs.overlaps == nullptr)
        detail::add_call_stacks(table, inputs.tree, details, inputs.rules);
    if (inputs.overlaps != nullptr) {
        detail::sort_with_overlap(table, keys, "Kernel Time (\xc2\xb5s)_sum", "ex_UID");
    } else {
        const std::array order = {SortKey{"Kernel Time (\xc2\xb5s)_sum", true}, SortKey{"ex_UID", false}};
        table.stable_sort(order);
    }
    add_percentages(table, "Kernel Time (\xc2\xb5s)_sum");
    return table;
}

}  // namespace tracelens
