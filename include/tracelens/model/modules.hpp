/// nn.Module frames in a call tree: names, nesting, parents and children. Needs a tree with Python frames.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include <tracelens/core/ascii.hpp>
#include <tracelens/model/call_tree.hpp>

namespace tracelens {

inline constexpr std::string_view module_prefix = "nn.Module:";

/// Whether a node is the call of an nn.Module.
inline bool is_module_frame(const CallTree& tree, NodeId node) noexcept {
    return tree.kind(node) == EventKind::python_function &&
           tree.name_text(node).substr(0, module_prefix.size()) == module_prefix;
}

/// The name without its instance number: `nn.Module: Linear_3` gives `nn.Module: Linear`.
constexpr std::string_view without_instance_number(std::string_view name) noexcept {
    std::size_t end = name.size();
    while (end > 0 && detail::is_digit(name[end - 1])) --end;
    return end < name.size() && end > 0 && name[end - 1] == '_' ? name.substr(0, end - 1) : name;
}

/// The nearest module above a node, or `no_node`. O(depth).
inline NodeId module_above(const CallTree& tree, NodeId node) noexcept {
    for (NodeId at = tree.parent(node); at != no_node; at = tree.parent(at)) {
        if (is_module_frame(tree, at)) return at;
    }
    return no_node;
}

/// Labels of the modules around a node, outermost first, its own not among them. O(depth).
inline std::vector<std::string_view> module_stack(const CallTree& tree, NodeId node) {
    std::vector<std::string_view> labels;
    for (NodeId at = module_above(tree, node); at != no_node; at = module_above(tree, at)) {
        labels.push_back(without_instance_number(tree.name_text(at)));
    }
    std::reverse(labels.begin(), labels.end());
    return labels;
}

/// The modules directly below a node: depth first, in call order, not descending into modules. O(subtree).
inline std::vector<NodeId> modules_below(const CallTree& tree, NodeId node) {
    std::vector<NodeId> found;
    std::vector<NodeId> pending;
    const auto push_children = [&](NodeId parent) {
        const std::size_t begin = pending.size();
        for (NodeId child = tree.first_child(parent); child != no_node; child = tree.next_sibling(child)) {
            pending.push_back(child);
        }
        std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(begin), pending.end());
    };
    push_children(node);
    while (!pending.empty()) {
        const NodeId at = pending.back();
        pending.pop_back();
        if (is_module_frame(tree, at))
            found.push_back(at);
        else
            push_children(at);
    }
    return found;
}

}  // namespace tracelens
