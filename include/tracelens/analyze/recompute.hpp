/// Activation recompute: which calls and kernels belong to a checkpointed region that runs again in the
/// backward pass.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

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

}  // namespace tracelens
