/// Activation recompute: which calls and kernels belong to a checkpointed region that runs again in the
/// backward pass.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <tracelens/analyze/timeline.hpp>
#include <tracelens/core/table.hpp>
#include <tracelens/model/call_tree.hpp>

namespace tracelens {

/// A Python frame that starts a recomputed region: its name contains both texts.
struct RecomputeRoot {
    std::string_view file;
    std::string_view function;
};

inline constexpr std::array recompute_roots = {
    RecomputeRoot{"torch/utils/checkpoint.py", "recompute_fn"},
};

struct RecomputeMarks {
    std::vector<bool> marked;  ///< by node
    std::size_t regions = 0;   ///< frames that start one
    std::size_t nodes = 0;     ///< marked nodes
};

/// Marks every node below a recompute root, GPU work included (spec 01, section 15.2). Needs a tree with
/// Python frames; without any, nothing is marked. O(nodes).
inline RecomputeMarks mark_recompute(const CallTree& tree) {
    RecomputeMarks result;
    result.marked.assign(tree.node_count(), false);
    const auto is_root = [&](NodeId node) {
        if (tree.kind(node) != EventKind::python_function) return false;
        const std::string_view name = tree.name_text(node);
        return std::any_of(recompute_roots.begin(), recompute_roots.end(), [&](const RecomputeRoot& root) {
            return name.find(root.file) != std::string_view::npos &&
                   name.find(root.function) != std::string_view::npos;
        });
    };
    tree.for_each_preorder([&](NodeId node) {
        const NodeId above = tree.parent(node);
        const bool root = is_root(node);
        if (root) ++result.regions;
        if (!root && (above == no_node || !result.marked[above])) return;
        result.marked[node] = true;
        ++result.nodes;
    });
    return result;
}

/// How long the GPU is busy with marked work, in ticks.
inline Ticks recompute_busy_ticks(const Trace& trace, std::span<const EventId> events,
                                  const RecomputeMarks& marks) {
    IntervalSet marked;
    for (const EventId event : events) {
        if (marks.marked[event]) marked.push_back({trace.start[event], trace.end[event]});
    }
    return measure(merge(marked));
}

/// The timeline table of work without and with the mark, one block each, with the column `is_recompute`. A
/// block without events is left out; shares are of the block's own total, as in the reference (spec 02,
/// section 18). O(n).
inline Table recompute_timeline_table(const Trace& trace, std::span<const EventId> events,
                                      std::span<const GpuClass> classes, const RecomputeMarks& marks,
                                      std::optional<double> micro_idle_us = std::nullopt) {
    Table table;
    table.add_column("type", ColumnType::text);
    table.add_column("time ms", ColumnType::real);
    table.add_column("percent", ColumnType::real);
    table.add_column("is_recompute", ColumnType::boolean);
    for (const bool recompute : {false, true}) {
        std::vector<EventId> part;
        for (const EventId event : events) {
            if (marks.marked[event] == recompute) part.push_back(event);
        }
        const std::optional<GpuTimeline> timeline = gpu_timeline(trace, part, classes, micro_idle_us);
        if (!timeline) continue;
        const Table block = timeline_table(trace, *timeline);
        for (std::size_t row = 0; row < block.row_count(); ++row) {
            table.append_row({block.cell(0, row), block.cell(1, row), block.cell(2, row), recompute});
        }
    }
    return table;
}

}  // namespace tracelens
