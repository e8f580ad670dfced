/// Takes the GPU work of a trace apart into units that do not overlap: ops with a cost model, backward ops
/// that are priced through their forward op, innermost launching ops, and single kernels that belong to none
/// of these. (Spec 02, sections 12.1 and 12.2.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/analyze/op_costs.hpp>
#include <tracelens/classify/gpu_class.hpp>
#include <tracelens/core/table.hpp>
#include <tracelens/model/backward_links.hpp>
#include <tracelens/model/call_tree.hpp>
#include <tracelens/model/links.hpp>

namespace tracelens {

/// One unit of work.
struct WorkUnit {
    NodeId node = no_node;      ///< the op; of a leftover kernel, the op or call that it belongs to
    EventId kernel = no_event;  ///< the one kernel of a leftover unit
    NodeId forward = no_node;   ///< of a backward op without a model: the forward op that prices it
    bool has_model = false;     ///< it is priced, by its own model or by that of `forward`

    bool is_leftover() const noexcept { return kernel != no_event; }
};

struct WorkUnitOptions {
    ClassRules rules = ClassRules::full;
    bool python_frames = false;  ///< the tree holds Python frames
};

namespace detail {

class WorkUnitFinder {
  public:
    WorkUnitFinder(const CallTree& tree, const BackwardLinks& backward, OpCosts& costs,
                   const WorkUnitOptions& options)
        : tree_(tree),
          trace_(tree.trace()),
          backward_(backward),
          costs_(costs),
          options_(options),
          reference_(options.rules == ClassRules::reference) {}

    std::vector<WorkUnit> find() {
        find_deeper_models();
        visited_.assign(tree_.node_count(), false);
        if (options_.python_frames) {
            std::vector<NodeId> frames;
            for (const NodeId root : tree_.roots()) {
                if (tree_.kind(root) == EventKind::python_function && tree_.on_gpu_path(root))
                    frames.push_back(root);
            }
            std::sort(frames.begin(), frames.end(),
                      [&](NodeId a, NodeId b) { return trace_.file_index[a] < trace_.file_index[b]; });
            for (const NodeId frame : frames) visit(frame);
        }
        for (const NodeId root : tree_.cpu_roots()) visit(root);
        add_leftovers();
        return std::move(units_);
    }

  private:
    bool is_op(NodeId node) const noexcept { return tree_.kind(node) == EventKind::cpu_op; }
    bool launches(NodeId node) const noexcept { return tree_.on_gpu_path(node); }

    /// For every node whether a modelled op that launches lies below it, through ops and Python frames alone.
    void find_deeper_models() {
        std::vector<NodeId> preorder;
        tree_.for_each_preorder([&](NodeId node) { preorder.push_back(node); });
        deeper_model_.assign(tree_.node_count(), false);
        for (auto at = preorder.rbegin(); at != preorder.rend(); ++at) {
            for (NodeId child = tree_.first_child(*at); child != no_node; child = tree_.next_sibling(child)) {
                const bool op = is_op(child);
                if (!op && tree_.kind(child) != EventKind::python_function) continue;
                const bool itself = op && launches(child) && costs_.is_modelled(child);
                if (itself || deeper_model_[child]) deeper_model_[*at] = true;
            }
        }
    }

    /// Visits a subtree, children in order.
    void visit(NodeId root) {
        std::vector<NodeId> pending = {root};
        while (!pending.empty()) {
            const NodeId node = pending.back();
            pending.pop_back();
            if (visited_[node]) continue;
            visited_[node] = true;
            if (!options_.python_frames && !is_op(node)) continue;
            if (!launches(node) || collect(node)) continue;
            const std::size_t begin = pending.size();
            for (NodeId child = tree_.first_child(node); child != no_node; child = tree_.next_sibling(child))
                pending.push_back(child);
            std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(begin), pending.end());
        }
    }

    /// Makes a unit of a node that launches, if it is one. True when its children are not to be visited.
    bool collect(NodeId node) {
        // The reference goes by the name alone: a Python frame of a modelled name is a unit to it.
        if ((is_op(node) || reference_) && costs_.is_modelled(node)) {
            units_.push_back({node, no_event, no_node, true});
            return true;
        }
        if (const NodeId forward = priced_forward(node); forward != no_node) {
            if (deeper_model_[node]) return false;
            units_.push_back({node, no_event, forward, true});
            return true;
        }
        if (deeper_model_[node] || !is_leaf(node)) return false;
        // The other work of an op that launches a collective surfaces kernel by kernel.
        const std::span<const EventId> events = tree_.gpu_events(node);
        const bool communicates = std::any_of(events.begin(), events.end(), [&](EventId event) {
            return is_communication_name(trace_.name_of(event), options_.rules);
        });
        if (!communicates) units_.push_back({node, no_event, no_node, false});
        return true;
    }

    /// The forward op through which a node is priced: it is the only launching op of a backward node whose
    /// forward op has a model with a backward cost. `no_node` for none.
    NodeId priced_forward(NodeId node) {
        constexpr int climb = 5;
        NodeId wrapper = node;
        EventId forward = no_event;
        for (int i = 0; i < climb; ++i) {
            wrapper = tree_.parent(wrapper);
            if (wrapper == no_node) return no_node;
            if (tree_.is_overlay(wrapper)) continue;
            forward = backward_.forward_of(wrapper);
            if (reference_ && forward != no_event && trace_.file_index[forward] == 0) forward = no_event;
            if (forward != no_event) break;
        }
        if (forward == no_event || !costs_.is_modelled(forward)) return no_node;
        if (launching_ops_below(wrapper) != 1) return no_node;
        const RegisteredModel* const model = costs_.model_of(forward);
        if (model == nullptr || model->backward_category.empty()) return no_node;
        return costs_.cost(forward, Pass::backward).ok() ? NodeId{forward} : no_node;
    }

    /// How many ops below a backward wrapper launch and bear the name of its node (any name when it has
    /// none).
    std::size_t launching_ops_below(NodeId wrapper) {
        const std::uint32_t known = wrapper_keys_.group_of(wrapper);
        if (known < launching_ops_.size()) return launching_ops_[known];
        const std::string_view name = tree_.name_text(wrapper);
        const std::size_t colon = name.find(": ");
        const bool any_name = colon == std::string_view::npos;
        const std::string_view wanted = any_name ? std::string_view{} : name.substr(colon + 2);
        std::size_t count = 0;
        std::vector<NodeId> pending = {wrapper};
        while (!pending.empty()) {
            const NodeId node = pending.back();
            pending.pop_back();
            for (NodeId child = tree_.first_child(node); child != no_node;
                 child = tree_.next_sibling(child)) {
                if (!is_op(child)) continue;
                if (launches(child) && (any_name || tree_.name_text(child) == wanted)) ++count;
                pending.push_back(child);
            }
        }
        launching_ops_.push_back(count);
        return count;
    }

    /// Whether an op launches without an op in between.
    bool is_leaf(NodeId node) {
        constexpr int deepest = 10;
        if (!is_op(node)) return false;
        std::vector<std::pair<NodeId, int>> pending = {{node, 0}};
        while (!pending.empty()) {
            const auto [at, depth] = pending.back();
            pending.pop_back();
            for (NodeId child = tree_.first_child(at); child != no_node; child = tree_.next_sibling(child)) {
                const EventKind kind = tree_.kind(child);
                if (is_gpu_work(kind)) return true;
                const bool enter = kind == EventKind::runtime || kind == EventKind::python_function ||
                                   (!reference_ && kind == EventKind::driver);
                if (enter && launches(child) && depth + 1 < deepest) pending.emplace_back(child, depth + 1);
            }
        }
        return false;
    }

    /// GPU events that no unit holds, collectives aside: one unit each, those without an op first, by the
    /// call they belong to.
    void add_leftovers() {
        std::vector<bool> held(trace_.size(), false);
        for (const WorkUnit& unit : units_) {
            for (const EventId event : tree_.gpu_events(unit.node)) held[event] = true;
        }
        std::vector<EventId> left;
        for (EventId event = 0; event < trace_.size(); ++event) {
            if (is_gpu_work(trace_.kind[event]) && !held[event] && tree_.contains(event) &&
                !is_communication_name(trace_.name_of(event), options_.rules))
                left.push_back(event);
        }
        std::sort(left.begin(), left.end(),
                  [&](EventId a, EventId b) { return trace_.file_index[a] < trace_.file_index[b]; });
        KeyGrouper calls;
        std::vector<std::vector<WorkUnit>> orphans;
        std::vector<WorkUnit> below_ops;
        for (const EventId event : left) {
            const NodeId op = tree_.enclosing_op(event);
            const NodeId call = tree_.parent(event);
            if (op != no_node) {
                below_ops.push_back({op, event, no_node, false});
            } else if (call != no_node) {
                const std::uint32_t group = calls.group_of(call);
                if (group == orphans.size()) orphans.emplace_back();
                orphans[group].push_back({call, event, no_node, false});
            }
        }
        for (const std::vector<WorkUnit>& group : orphans)
            units_.insert(units_.end(), group.begin(), group.end());
        units_.insert(units_.end(), below_ops.begin(), below_ops.end());
    }

    const CallTree& tree_;
    const Trace& trace_;
    const BackwardLinks& backward_;
    OpCosts& costs_;
    WorkUnitOptions options_;
    bool reference_;
    std::vector<bool> deeper_model_;
    std::vector<bool> visited_;
    KeyGrouper wrapper_keys_;
    std::vector<std::size_t> launching_ops_;
    std::vector<WorkUnit> units_;
};

}  // namespace detail

/// The units of work of a trace: ops in the order of the tree, then single kernels. O(nodes log nodes).
inline std::vector<WorkUnit> find_work_units(const CallTree& tree, const BackwardLinks& backward,
                                             OpCosts& costs, const WorkUnitOptions& options = {}) {
    return detail::WorkUnitFinder(tree, backward, costs, options).find();
}

}  // namespace tracelens
