/// Bodies of analyze/category_sheets.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include <tracelens/analyze/category_sheets.hpp>
#include <tracelens/analyze/op_tables.hpp>
#include <tracelens/classify/op_table.hpp>
#include <tracelens/model/track_names.hpp>
#include <tracelens/perf/param_text.hpp>

namespace tracelens {

namespace detail {

/// Categories whose ops have no sheet for gradients: backward ops with models of their own are among the
/// rest.
inline constexpr std::array<std::string_view, 4> one_sheet_categories = {
    "GEMM", "UnaryElementwise", "BinaryElementwise", "Normalization"};

/// Ops that the reference moves to the sheet of gradients.
inline constexpr std::array<std::string_view, 4> reference_backward_ops = {
    "flash_attn::_flash_attn_varlen_backward", "aten::convolution_backward", "ConvBias_Backward",
    "ConvBiasReLU_Backward"};

/// Forward ops whose gradients are ops with models of their own.
inline constexpr std::array<std::string_view, 5> own_backward_ops = {
    "aten::convolution", "aten::miopen_convolution", "aten::cudnn_convolution", "ConvBias_", "ConvBiasReLU_"};

/// Forward ops that no gradient is priced for.
inline constexpr std::string_view no_gradient_op = "vllm::unified_attention_with_output";

template <std::size_t n>
constexpr bool contains(const std::array<std::string_view, n>& words, std::string_view word) noexcept {
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// One use of an op, on its way to a row.
struct SheetUse {
    NodeId node = no_node;
    const Cost* cost = nullptr;  ///< nothing when it has none
    std::vector<Param> params;
    double kernel_us = 0;
    std::vector<EventId> kernels;  ///< by start
    RowOverlap overlap;            ///< only with overlaps
};

/// Makes one table of uses.
class CategoryTable {
  public:
    CategoryTable(const PerfInputs& inputs, const CategorySheetOptions& options)
        : in_(inputs),
          options_(options),
          trace_(inputs.tree.trace()),
          names_(trace_),
          reference_(inputs.rules == ClassRules::reference) {}

    Table make(std::span<const SheetUse> uses) {
        if (uses.empty()) return {};
        find_params(uses);
        add_columns();
        std::vector<std::vector<KernelEntry>> kernels;
        std::vector<std::vector<KernelEntry>> beside;
        for (const SheetUse& use : uses) {
            add_row(use);
            kernels.push_back(kernel_entries(trace_, use.kernels, detail_rule(in_.rules)));
            beside.push_back(use.overlap.beside);
        }
        return summarise(kernels, beside);
    }

  private:
    /// How the values of a parameter are written, which depends on all values of its column.
    struct ParamColumn {
        std::string_view name;
        std::string title;
        bool any_integer = false;
        bool any_huge = false;  ///< whole numbers that doubles do not tell apart
        bool any_real = false;
        bool any_boolean = false;
        bool any_other = false;
        bool any_none = false;
        std::size_t present = 0;

        bool is_numeric() const noexcept { return (any_integer || any_real) && !any_boolean && !any_other; }
        ColumnType clean_type() const noexcept {
            if (is_numeric()) return any_real || any_huge ? ColumnType::real : ColumnType::integer;
            if (any_boolean && !any_integer && !any_real && !any_other) return ColumnType::boolean;
            return any_other ? ColumnType::nested : ColumnType::text;
        }
    };

    void find_params(std::span<const SheetUse> uses) {
        for (const SheetUse& use : uses) {
            for (const Param& param : use.params) {
                auto column = std::find_if(params_.begin(), params_.end(),
                                           [&](const ParamColumn& each) { return each.name == param.name; });
                if (column == params_.end()) {
                    column = params_.insert(params_.end(), ParamColumn{});
                    column->name = param.name;
                    column->title = "param: " + std::string(param.name);
                }
                using Kind = ParamValue::Kind;
                const Kind kind = param.value.kind;
                ++column->present;
                column->any_integer = column->any_integer || kind == Kind::integer;
                constexpr double exact = 9007199254740992.0;  // 2^53
                column->any_huge = column->any_huge || !(std::fabs(param.value.number) <= exact);
                column->any_real = column->any_real || kind == Kind::real;
                column->any_boolean = column->any_boolean || kind == Kind::boolean;
                column->any_none = column->any_none || kind == Kind::none;
                column->any_other = column->any_other || (kind != Kind::integer && kind != Kind::real &&
                                                          kind != Kind::boolean && kind != Kind::none);
            }
        }
        use_count_ = uses.size();
    }

    /// The cell of a parameter as the reference writes it (spec 02, section 11.4).
    std::string reference_text(const ParamColumn& column, const ParamValue* value) const {
        using Kind = ParamValue::Kind;
        const bool missing_somewhere = column.present < use_count_;
        const bool none = value == nullptr || value->kind == Kind::none;
        std::string text;
        if (column.is_numeric()) {
            if (none) return "nan";
            if (column.any_real || column.any_none || missing_somewhere)
                append_double(text, value->number);
            else
                append_whole(text, value->number);
            return text;
        }
        if (value == nullptr) return "nan";
        if (none) {
            const bool only_none =
                !column.any_integer && !column.any_real && !column.any_boolean && !column.any_other;
            return only_none && missing_somewhere ? "nan" : "None";
        }
        if (value->kind == Kind::text) return value->text;
        append_python(text, *value);
        return text;
    }

    /// The cell with its own type; `scratch` holds its text.
    static Cell clean_cell(const ParamColumn& column, const ParamValue* value, std::string& scratch) {
        using Kind = ParamValue::Kind;
        if (value == nullptr || value->kind == Kind::none) return {};
        switch (column.clean_type()) {
            case ColumnType::integer: return static_cast<std::int64_t>(value->number);
            case ColumnType::real: return value->number;
            case ColumnType::boolean: return value->boolean;
            default: append_json(scratch, *value); return std::string_view(scratch);
        }
    }

    void add_columns() {
        rows_.add_column("name", ColumnType::text);
        if (in_.overlaps != nullptr) {
            rows_.add_column(overlap_names_key, ColumnType::nested);
            rows_.add_column(overlap_share_column, ColumnType::real);
        }
        for (const ParamColumn& param : params_)
            rows_.add_column(param.title, reference_ ? ColumnType::text : param.clean_type());
        if (options_.group_by_num_kernels)
            rows_.add_column("num_kernels", reference_ ? ColumnType::text : ColumnType::integer);
        if (in_.recompute != nullptr) rows_.add_column("is_recompute", ColumnType::boolean);
        for (const char* column : {"process_name", "process_label", "thread_name"})
            rows_.add_column(column, ColumnType::text);
        for (const std::string_view column : shape_args) rows_.add_column(column, ColumnType::nested);
        rows_.add_column("UID", ColumnType::integer);
        for (const MetricColumn& column : metric_columns) rows_.add_column(column.name, column.type);
    }

    void add_row(const SheetUse& use) {
        std::vector<std::string> texts(params_.size());
        std::vector<Cell> cells = {in_.tree.name_text(use.node)};
        if (in_.overlaps != nullptr) {
            const RowOverlap& overlap = use.overlap;
            cells.push_back(overlap.names.empty() ? Cell{} : Cell{std::string_view(overlap.names)});
            cells.push_back(overlap.share ? Cell{*overlap.share} : Cell{});
        }
        for (std::size_t i = 0; i < params_.size(); ++i) {
            const auto param = std::find_if(use.params.begin(), use.params.end(),
                                            [&](const Param& each) { return each.name == params_[i].name; });
            const ParamValue* const value = param == use.params.end() ? nullptr : &param->value;
            if (reference_) {
                texts[i] = reference_text(params_[i], value);
                cells.emplace_back(std::string_view(texts[i]));
            } else {
                cells.push_back(clean_cell(params_[i], value, texts[i]));
            }
        }
        const std::string count = std::to_string(use.kernels.size());
        if (options_.group_by_num_kernels)
            cells.push_back(reference_ ? Cell{std::string_view(count)}
                                       : Cell{static_cast<std::int64_t>(use.kernels.size())});
        if (in_.recompute != nullptr) cells.emplace_back(bool{(*in_.recompute)[use.node]});
        const TrackId track = in_.tree.track(use.node);
        cells.insert(cells.end(),
                     {names_.process_name(track), names_.process_label(track), names_.thread_name(track)});
        for (const std::string_view column : shape_args)
            cells.push_back(shape_cell(in_.tree, use.node, column));
        cells.emplace_back(node_uid(in_.tree, use.node));
        const OpMetrics metrics = op_metrics(use.cost, use.kernel_us, in_.platform, in_.costs.rules());
        const std::array metric_cells = metrics.cells();
        cells.insert(cells.end(), metric_cells.begin(), metric_cells.end());
        rows_.append_row(cells);
    }

    Table summarise(std::span<const std::vector<KernelEntry>> kernels,
                    std::span<const std::vector<KernelEntry>> beside) {
        std::vector<std::string_view> keys = {"name"};
        if (in_.overlaps != nullptr) keys.push_back(overlap_names_key);
        for (const ParamColumn& param : params_) keys.push_back(param.title);
        if (options_.group_by_num_kernels) keys.push_back("num_kernels");
        if (in_.recompute != nullptr) keys.push_back("is_recompute");
        const Grouping grouping = rows_.group_by(keys);
        Table table = rows_.aggregate(grouping, keys, present_aggregates(rows_, rates));
        add_kernel_cells(table, trace_, details_of_groups(trace_, grouping, kernels, in_.rules),
                         "kernel_details__summarize_kernel_stats", "trunc_kernel_details");
        if (in_.overlaps != nullptr) {
            add_kernel_cells(table, trace_, details_of_groups(trace_, grouping, beside, in_.rules),
                             "overlapping_kernels_details__summarize_kernel_stats",
                             "trunc_overlapping_kernels_details");
            add_overlap_shares(table, rows_, grouping);
        }
        table.append_columns(rows_.aggregate(grouping, {}, arguments_and_times));
        if (in_.overlaps != nullptr) {
            sort_with_overlap(table, keys, "Kernel Time (\xc2\xb5s)_sum", "UID_first");
            return table;
        }
        const std::array order = {SortKey{"Kernel Time (\xc2\xb5s)_sum", true}, SortKey{"UID_first", false}};
        table.stable_sort(order);
        return table;
    }

    static constexpr std::string_view overlap_names_key = "overlapping_kernel_names_first";

    static constexpr std::array rates = {
        AggregateColumn{"GFLOPS", Aggregate::first, "GFLOPS_first"},
        AggregateColumn{"Data Moved (MB)", Aggregate::first, "Data Moved (MB)_first"},
        AggregateColumn{"FLOPS/Byte", Aggregate::first, "FLOPS/Byte_first"},
        AggregateColumn{"TB/s", Aggregate::mean, "TB/s_mean"},
        AggregateColumn{"TB/s", Aggregate::median, "TB/s_median"},
        AggregateColumn{"TB/s", Aggregate::std_sample, "TB/s_std"},
        AggregateColumn{"TB/s", Aggregate::min, "TB/s_min"},
        AggregateColumn{"TB/s", Aggregate::max, "TB/s_max"},
        AggregateColumn{"TFLOPS/s", Aggregate::mean, "TFLOPS/s_mean"},
        AggregateColumn{"TFLOPS/s", Aggregate::median, "TFLOPS/s_median"},
        AggregateColumn{"TFLOPS/s", Aggregate::std_sample, "TFLOPS/s_std"},
        AggregateColumn{"TFLOPS/s", Aggregate::min, "TFLOPS/s_min"},
        AggregateColumn{"TFLOPS/s", Aggregate::max, "TFLOPS/s_max"},
        AggregateColumn{"process_name", Aggregate::first, "process_name_first"},
        AggregateColumn{"process_label", Aggregate::first, "process_label_first"},
        AggregateColumn{"thread_name", Aggregate::first, "thread_name_first"},
        AggregateColumn{"Compute Spec", Aggregate::first, "Compute Spec"},
        AggregateColumn{"Roofline Time (\xc2\xb5s)", Aggregate::first, "Roofline Time (\xc2\xb5s)_first"},
        AggregateColumn{"Roofline Bound", Aggregate::first, "Roofline Bound_first"},
        AggregateColumn{"Pct Roofline", Aggregate::mean, "Pct Roofline_mean"},
        AggregateColumn{"Pct Roofline", Aggregate::median, "Pct Roofline_median"},
        AggregateColumn{"Pct Roofline", Aggregate::std_sample, "Pct Roofline_std"},
        AggregateColumn{"Pct Roofline", Aggregate::min, "Pct Roofline_min"},
        AggregateColumn{"Pct Roofline", Aggregate::max, "Pct Roofline_max"},
    };
    static constexpr std::array arguments_and_times = {
        AggregateColumn{"Input Dims", Aggregate::first, "Input Dims_first"},
        AggregateColumn{"Input type", Aggregate::first, "Input type_first"},
        AggregateColumn{"Input Strides", Aggregate::first, "Input Strides_first"},
        AggregateColumn{"Concrete Inputs", Aggregate::first, "Concrete Inputs_first"},
        AggregateColumn{kernel_time_column, Aggregate::mean, "Kernel Time (\xc2\xb5s)_mean"},
        AggregateColumn{kernel_time_column, Aggregate::median, "Kernel Time (\xc2\xb5s)_median"},
        AggregateColumn{kernel_time_column, Aggregate::std_sample, "Kernel Time (\xc2\xb5s)_std"},
        AggregateColumn{kernel_time_column, Aggregate::min, "Kernel Time (\xc2\xb5s)_min"},
        AggregateColumn{kernel_time_column, Aggregate::max, "Kernel Time (\xc2\xb5s)_max"},
        AggregateColumn{kernel_time_column, Aggregate::sum, "Kernel Time (\xc2\xb5s)_sum"},
        AggregateColumn{"", Aggregate::count, "name_count"},
        AggregateColumn{"UID", Aggregate::first, "UID_first"},
    };

    const PerfInputs& in_;
    const CategorySheetOptions& options_;
    const Trace& trace_;
    TrackNames names_;
    bool reference_;
    std::size_t use_count_ = 0;
    std::vector<ParamColumn> params_;
    Table rows_;
};

/// Sorts all priced ops of a trace into sheets.
class CategorySheets {
  public:
    CategorySheets(const PerfInputs& inputs, const CategorySheetOptions& options)
        : in_(inputs),
          options_(options),
          trace_(inputs.tree.trace()),
          reference_(inputs.rules == ClassRules::reference) {}

    std::vector<CategorySheet> make() {
        collect_nodes();
        for (std::size_t sheet = 0; sheet < names_.size(); ++sheet) add_sheets(sheet);
        return std::move(sheets_);
    }

  private:
    /// The uses of each sheet's ops, in file order.
    void collect_nodes() {
        for (const OpCategoryRow& row : modelled_ops) sheet_index(row.sheet);
        std::vector<EventId> in_file(trace_.size());
        std::iota(in_file.begin(), in_file.end(), EventId{0});
        std::sort(in_file.begin(), in_file.end(),
                  [&](EventId a, EventId b) { return trace_.file_index[a] < trace_.file_index[b]; });
        for (const EventId event : in_file) {
            if (!reference_ && trace_.kind[event] != EventKind::cpu_op) continue;
            const RegisteredModel* const model = in_.costs.model_of(event);
            if (model != nullptr && !model->sheet.empty()) nodes_[sheet_index(model->sheet)].push_back(event);
        }
    }

    std::size_t sheet_index(std::string_view name) {
        const auto known = std::find(names_.begin(), names_.end(), name);
        if (known != names_.end()) return static_cast<std::size_t>(known - names_.begin());
        names_.emplace_back(name);
        nodes_.emplace_back();
        return names_.size() - 1;
    }

    void add_sheets(std::size_t sheet) {
        const std::string& name = names_[sheet];
        if (contains(one_sheet_categories, name)) {
            add(name, name, table_of(uses_of(sheet, Pass::forward, {})));
            return;
        }
        std::vector<SheetUse> forward = uses_of(sheet, Pass::forward, {});
        // Whole rows move, so the parameters of both kinds shape one table before they part.
        Table all = table_of(forward);
        std::vector<std::uint32_t> stay;
        std::vector<std::uint32_t> move;
        for (std::uint32_t row = 0; row < all.row_count(); ++row)
            (is_backward(std::get<std::string_view>(all.cell(0, row))) ? move : stay).push_back(row);
        Table backward = table_of(uses_of(sheet, Pass::backward, no_gradient_op));
        backward.append_rows(all.with_rows(move));
        all.take_rows(stay);
        drop_own_backwards(backward);
        add(name + "_fwd", name, std::move(all));
        add(name + "_bwd", name, std::move(backward));
    }

    void add(const std::string& name, const std::string& category, Table table) {
        if (table.row_count() != 0) sheets_.push_back({name, category, std::move(table)});
    }

    bool is_backward(std::string_view op) const {
        if (reference_) return contains(reference_backward_ops, op);
        const RegisteredModel* const model = in_.costs.registry().find(op);
        constexpr std::string_view ending = "_bwd";
        return model != nullptr && model->category.size() > ending.size() &&
               model->category.compare(model->category.size() - ending.size(), ending.size(), ending) == 0;
    }

    void drop_own_backwards(Table& table) const {
        std::vector<std::uint32_t> kept;
        for (std::uint32_t row = 0; row < table.row_count(); ++row) {
            if (!contains(own_backward_ops, std::get<std::string_view>(table.cell(0, row))))
                kept.push_back(row);
        }
        if (kept.size() != table.row_count()) table.take_rows(kept);
    }

    Table table_of(const std::vector<SheetUse>& uses) const {
        return CategoryTable(in_, options_).make(uses);
    }

    std::vector<SheetUse> uses_of(std::size_t sheet, Pass pass, std::string_view without) {
        std::vector<SheetUse> uses;
        for (const NodeId node : nodes_[sheet]) {
            if (!without.empty() && in_.tree.name_text(node) == without) continue;
            if (pass == Pass::backward && in_.backward.backwards_of(node).empty()) continue;
            const Cost& cost = in_.costs.cost(node, pass);
            if (pass == Pass::backward && !reference_ && gradient_has_own_model(node)) continue;
            SheetUse use;
            use.node = node;
            if (pass == Pass::backward) {
                use.kernels = backward_gpu_events(in_.tree, in_.backward, node);
            } else {
                const std::span<const EventId> below = in_.tree.gpu_events(node);
                use.kernels.assign(below.begin(), below.end());
                std::sort(use.kernels.begin(), use.kernels.end());
            }
            const bool kept_without_cost = !reference_ && pass == Pass::forward;
            const bool priced =
                cost.ok() && complete_params(use.params, cost, in_.costs.model_of(node), trace_, use.kernels,
                                             in_.platform, in_.rules, in_.costs.rules());
            if (!priced && !kept_without_cost) continue;
            if (priced) use.cost = &cost;
            use.kernel_us = trace_.to_us(busy_ticks(trace_, use.kernels, in_.excluded));
            // Only launchers know what runs beside their own kernels.
            const std::uint32_t row = in_.launchers.row_of_node[node];
            if (in_.overlaps != nullptr && row != Launchers::no_row)
                use.overlap =
                    row_overlap(trace_, in_.launchers.kernels_of(in_.launchers.rows[row]), *in_.overlaps);
            uses.push_back(std::move(use));
        }
        return uses;
    }

    /// Whether an op with a model of its own launches below a linked backward node: it has a row itself.
    bool gradient_has_own_model(NodeId forward) {
        std::vector<NodeId> pending;
        for (const auto& [op, backward] : in_.backward.backwards_of(forward)) pending.push_back(backward);
        while (!pending.empty()) {
            const NodeId node = pending.back();
            pending.pop_back();
            const NodeId first = in_.tree.first_child(node);
            for (NodeId child = first; child != no_node; child = in_.tree.next_sibling(child)) {
                if (in_.tree.kind(child) != EventKind::cpu_op || !in_.tree.on_gpu_path(child)) continue;
                if (in_.costs.is_modelled(child)) return true;
                pending.push_back(child);
            }
        }
        return false;
    }

    const PerfInputs& in_;
    const CategorySheetOptions& options_;
    const Trace& trace_;
    bool reference_;
    std::vector<std::string> names_;
    std::vector<std::vector<NodeId>> nodes_;
    std::vector<CategorySheet> sheets_;
};

}  // namespace detail

inline std::vector<CategorySheet> category_sheets(const PerfInputs& inputs,
                                                  const CategorySheetOptions& options) {
    return detail::CategorySheets(inputs, options).make();
}

}  // namespace tracelens
