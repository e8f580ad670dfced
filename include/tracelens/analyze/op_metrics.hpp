/// How fast an op ran against what it costs: rates, intensity and the share of the roofline, as columns of a
/// table. (Spec 03, section 3.2; spec 02, section 10.)
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tracelens/analyze/launchers.hpp>
#include <tracelens/classify/kernel_name.hpp>
#include <tracelens/core/table.hpp>
#include <tracelens/model/backward_links.hpp>
#include <tracelens/model/call_tree.hpp>
#include <tracelens/perf/cost.hpp>
#include <tracelens/perf/gemm.hpp>
#include <tracelens/perf/platform.hpp>
#include <tracelens/perf/registry.hpp>
#include <tracelens/perf/roofline.hpp>

namespace tracelens {

struct MetricColumn {
    std::string_view name;
    ColumnType type;
};

inline constexpr std::string_view kernel_time_column = "Kernel Time (\xc2\xb5s)";

/// Columns of one execution of an op. Times are in us, `MB` is 2^20 bytes, `TB/s` 10^12 bytes a second.
inline constexpr std::array metric_columns = {
    MetricColumn{"GFLOPS", ColumnType::real},
    MetricColumn{kernel_time_column, ColumnType::real},
    MetricColumn{"TFLOPS/s", ColumnType::real},
    MetricColumn{"Data Moved (MB)", ColumnType::real},
    MetricColumn{"FLOPS/Byte", ColumnType::real},
    MetricColumn{"TB/s", ColumnType::real},
    MetricColumn{"Compute Spec", ColumnType::text},
    MetricColumn{"Roofline Time (\xc2\xb5s)", ColumnType::real},
    MetricColumn{"Roofline Bound", ColumnType::text},
    MetricColumn{"Pct Roofline", ColumnType::real},
};

/// The metrics of one execution: a cost, and how long the GPU was busy with it.
struct OpMetrics {
    double kernel_us = 0;
    const Cost* cost = nullptr;  ///< nothing: only the time is known
    std::optional<Roofline> roofline;
    std::string compute_spec;  ///< of the cost

    /// One cell a column of `metric_columns`. Views into this object.
    std::array<Cell, metric_columns.size()> cells() const {
        std::array<Cell, metric_columns.size()> row{};
        row[1] = kernel_us;
        if (cost == nullptr) return row;
        const double gflops = cost->flops / 1e9;
        const bool counted = gflops == gflops;  // operations that cannot be counted are NaN
        if (counted) row[0] = gflops;
        if (counted && kernel_us > 0) row[2] = gflops / 1e3 / (kernel_us / 1e6);
        if (cost->bytes) {
            row[3] = *cost->bytes / (1024.0 * 1024.0);
            if (counted && *cost->bytes > 0) row[4] = gflops * 1e9 / *cost->bytes;
            if (kernel_us > 0) row[5] = *cost->bytes / 1e12 / (kernel_us / 1e6);
        }
        row[6] = std::string_view(compute_spec);
        if (roofline) {
            row[7] = roofline->time_us;
            row[8] = to_string(roofline->bound);
            if (const std::optional<double> percent = roofline->percent(kernel_us)) row[9] = *percent;
        }
        return row;
    }
};

/// The metrics of work that took `kernel_us`; `cost` and `platform` may be null.
inline OpMetrics op_metrics(const Cost* cost, double kernel_us, const Platform* platform, CostRules rules) {
    OpMetrics metrics;
    metrics.kernel_us = kernel_us;
    metrics.cost = cost;
    if (cost == nullptr) return metrics;
    metrics.compute_spec = cost->compute_spec();
    if (platform != nullptr) metrics.roofline = roofline_of(*cost, *platform, rules);
    return metrics;
}

/// The GPU events of the backward ops that are linked to a forward op or to one below it, ascending.
inline std::vector<EventId> backward_gpu_events(const CallTree& tree, const BackwardLinks& links,
                                                NodeId forward) {
    std::vector<EventId> events;
    std::vector<NodeId> pending = {forward};
    while (!pending.empty()) {
        const NodeId node = pending.back();
        pending.pop_back();
        if (!tree.is_overlay(node)) {
            for (const auto& [op, backward] : links.backwards_of(node)) {
                const std::span<const EventId> below = tree.gpu_events(backward);
                events.insert(events.end(), below.begin(), below.end());
            }
        }
        for (NodeId child = tree.first_child(node); child != no_node; child = tree.next_sibling(child))
            pending.push_back(child);
    }
    std::sort(events.begin(), events.end());
    events.erase(std::unique(events.begin(), events.end()), events.end());
    return events;
}

/// What the kernels of a matrix product (in any order) tell of the layout of its operands: the first by start
/// that tells anything.
inline KernelName operand_layout(const Trace& trace, std::span<const EventId> kernels, ClassRules rules) {
    std::vector<EventId> by_start(kernels.begin(), kernels.end());
    std::sort(by_start.begin(), by_start.end());
    std::vector<std::string_view> names;
    for (const EventId kernel : by_start) names.push_back(trace.name_of(kernel));
    return first_gemm_name(names, rules);
}

/// What comes of a cost once the kernels are known: the parameter `transpose` of matrix products is added.
/// False when the reference fails on the name of a kernel or on a zero in the platform file.
inline bool complete_params(std::vector<Param>& params, const Cost& cost, const RegisteredModel* model,
                            const Trace& trace, std::span<const EventId> kernels, const Platform* platform,
                            ClassRules rules, CostRules cost_rules) {
    params = cost.params;
    if (platform != nullptr && roofline_fails(cost, *platform, cost_rules)) return false;
    if (model == nullptr || !model->layout_from_kernels) return true;
    const KernelName layout = operand_layout(trace, kernels, rules);
    if (layout.is_gemm) params.push_back({"transpose", to_transpose_param(layout)});
    return !layout.is_malformed;
}

}  // namespace tracelens
