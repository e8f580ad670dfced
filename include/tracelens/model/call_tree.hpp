/// `CallTree`: which host call ran inside which, per thread, and which GPU work hangs below a call. Arrays
/// over node ids; no node objects, no recursion. Node ids are event ids; overlay nodes (pseudo ops, merged
/// capture ops) have ids beyond the trace's, so the trace itself never changes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/core/interval.hpp>
#include <tracelens/model/links.hpp>
#include <tracelens/model/trace.hpp>

namespace tracelens {

/// A node of one tree: an EventId, or `trace.size()` + the index of an overlay node.
using NodeId = std::uint32_t;
inline constexpr NodeId no_node = 0xffffffffU;

/// What happens to an event that outlives the frame it starts in.
enum class OverrunRule : std::uint8_t {
    clip,  ///< it is attached to the innermost frame that contains its start, and marked as clipped
    drop,  ///< as the reference does (spec 01, section 6): popped once under 1 us of overlap, else left out
};

struct CallTreeOptions {
    bool python_frames = false;  ///< whether Python frames are nodes
    OverrunRule overrun = OverrunRule::clip;
};

/// A node that stands for no event of the trace.
struct OverlayNode {
    StringId name = StringId::empty;
    EventKind kind = EventKind::cpu_op;
    Ticks start = no_number;  ///< `no_number` when it has no time of its own
    Ticks end = no_number;
    ArgsId args = ArgsId::empty;
};

class CallTree {
  public:
    CallTree(const Trace& trace, const Links& links, const CallTreeOptions& options = {})
        : trace_(&trace),
          parent_(trace.size(), no_node),
          first_child_(trace.size(), no_node),
          last_child_(trace.size(), no_node),
          next_sibling_(trace.size(), no_node),
          flags_(trace.size(), 0) {
        nest_host_events(options);
        attach_gpu_events(links);
        refresh();
    }

    const Trace& trace() const noexcept { return *trace_; }

    /// Nodes of the trace and overlay nodes; not all of them need to be in the tree.
    std::size_t node_count() const noexcept { return parent_.size(); }

    /// Whether the node took part: host events that were considered (dropped ones too) and attached GPU
    /// events.
    bool contains(NodeId node) const noexcept { return (flags_[node] & in_tree) != 0; }
    bool was_dropped(NodeId node) const noexcept { return (flags_[node] & dropped) != 0; }
    bool was_clipped(NodeId node) const noexcept { return (flags_[node] & clipped) != 0; }

    NodeId parent(NodeId node) const noexcept { return parent_[node]; }
    NodeId first_child(NodeId node) const noexcept { return first_child_[node]; }
    NodeId next_sibling(NodeId node) const noexcept { return next_sibling_[node]; }

    /// Outermost ops of each thread, by start. They may have Python frames above them.
    std::span<const NodeId> cpu_roots() const noexcept { return cpu_roots_; }
    /// Nodes of the tree without a parent, by start; dropped ones are not among them.
    std::span<const NodeId> roots() const noexcept { return roots_; }
    std::size_t dropped_count() const noexcept { return dropped_count_; }
    std::size_t clipped_count() const noexcept { return clipped_count_; }

    /// The GPU events in the subtree of a node (itself, if it is one), in preorder. O(1).
    std::span<const EventId> gpu_events(NodeId node) const noexcept {
        return {gpu_order_.data() + gpu_begin_[node], gpu_end_[node] - gpu_begin_[node]};
    }

    /// The GPU events of the whole tree, in preorder; those of a node are a part of it.
    std::span<const EventId> gpu_events() const noexcept { return gpu_order_; }

    /// Whether GPU work hangs below the node: what `prune_nongpu_paths` keeps. O(1).
    bool on_gpu_path(NodeId node) const noexcept { return gpu_end_[node] != gpu_begin_[node]; }

    /// Total recorded length of the GPU events in the subtree, in ticks; overlaps count twice. O(1).
    Ticks gpu_ticks(NodeId node) const noexcept {
        return gpu_prefix_[gpu_end_[node]] - gpu_prefix_[gpu_begin_[node]];
    }

    StringId name(NodeId node) const noexcept {
        return is_overlay(node) ? overlay(node).name : trace_->name[node];
    }
    EventKind kind(NodeId node) const noexcept {
        return is_overlay(node) ? overlay(node).kind : trace_->kind[node];
    }
    ArgsId args(NodeId node) const noexcept {
        return is_overlay(node) ? overlay(node).args : trace_->args[node];
    }

    /// Where the node runs; an overlay node runs where its parent does.
    TrackId track(NodeId node) const noexcept {
        while (is_overlay(node) && parent_[node] != no_node) node = parent_[node];
        return is_overlay(node) ? TrackId{} : trace_->track[node];
    }

    /// When the node starts; an overlay node without a time of its own starts with its parent.
    Ticks start(NodeId node) const noexcept {
        const auto timeless = [this](NodeId at) { return is_overlay(at) && overlay(at).start == no_number; };
        while (timeless(node) && parent_[node] != no_node) node = parent_[node];
        return is_overlay(node) ? overlay(node).start : trace_->start[node];
    }

    std::string_view name_text(NodeId node) const noexcept { return trace_->strings[name(node)]; }

    /// The nearest op above a node, or `no_node`. O(depth).
    NodeId enclosing_op(NodeId node) const noexcept {
        for (NodeId at = parent(node); at != no_node; at = parent(at)) {
            if (kind(at) == EventKind::cpu_op) return at;
        }
        return no_node;
    }

    /// Visits every node below the roots, parents first, children in their order.
    template <class Visit>
    void for_each_preorder(Visit visit) const {
        walk_preorder(roots_, visit);
    }

    // --- overlay nodes; call `refresh` after a batch of changes ---

    bool is_overlay(NodeId node) const noexcept { return node >= trace_->size(); }
    const OverlayNode& overlay(NodeId node) const noexcept { return overlays_[node - trace_->size()]; }

    /// A new node without parent and children.
    NodeId add_overlay(const OverlayNode& node) {
        const auto id = static_cast<NodeId>(parent_.size());
        overlays_.push_back(node);
        parent_.push_back(no_node);
        first_child_.push_back(no_node);
        last_child_.push_back(no_node);
        next_sibling_.push_back(no_node);
        flags_.push_back(in_tree);
        return id;
    }

    /// Puts `node` behind the last child of `parent`. `set_parent` false leaves the way up as it is: the
    /// reference's pseudo ops are seen from above and not from below (spec 01, section 18).
    void append_child(NodeId parent_node, NodeId node, bool set_parent = true) {
        next_sibling_[node] = no_node;
        if (first_child_[parent_node] == no_node)
            first_child_[parent_node] = node;
        else
            next_sibling_[last_child_[parent_node]] = node;
        last_child_[parent_node] = node;
        if (set_parent) parent_[node] = parent_node;
    }

    /// Takes `node` out of the children of `parent`; its own way up stays until it is given another.
    /// O(children before it).
    void remove_child(NodeId parent_node, NodeId node) {
        NodeId before = no_node;
        for (NodeId at = first_child_[parent_node]; at != no_node; before = at, at = next_sibling_[at]) {
            if (at != node) continue;
            (before == no_node ? first_child_[parent_node] : next_sibling_[before]) = next_sibling_[node];
            if (last_child_[parent_node] == node) last_child_[parent_node] = before;
            next_sibling_[node] = no_node;
            return;
        }
    }

    /// Puts `wrapper` where `node` is among its parent's children, with `node` as its child. Precondition:
    /// `node` has a parent. O(children before it).
    void insert_above(NodeId node, NodeId wrapper) {
        const NodeId above = parent_[node];
        NodeId before = no_node;
        for (NodeId at = first_child_[above]; at != node; at = next_sibling_[at]) before = at;
        (before == no_node ? first_child_[above] : next_sibling_[before]) = wrapper;
        next_sibling_[wrapper] = next_sibling_[node];
        if (last_child_[above] == node) last_child_[above] = wrapper;
        parent_[wrapper] = above;
        append_child(wrapper, node);
    }

    /// Gives all children of `parent` to `wrapper`, which becomes the only child.
    void wrap_children(NodeId parent_node, NodeId wrapper) {
        first_child_[wrapper] = first_child_[parent_node];
        last_child_[wrapper] = last_child_[parent_node];
        for (NodeId at = first_child_[wrapper]; at != no_node; at = next_sibling_[at]) parent_[at] = wrapper;
        first_child_[parent_node] = last_child_[parent_node] = no_node;
        append_child(parent_node, wrapper);
    }

    /// Recomputes roots and subtree aggregates from parents and children. O(nodes).
    void refresh() {
        collect_roots();
        aggregate();
    }

  private:
    enum Flag : std::uint8_t { in_tree = 1, dropped = 2, clipped = 4 };

    struct OpenFrame {
        NodeId node;
        Ticks end;
    };

    bool is_host_call(EventId event, const CallTreeOptions& options) const noexcept {
        const EventKind kind = trace_->kind[event];
        return kind == EventKind::cpu_op || is_runtime_call(kind) ||
               (options.python_frames && kind == EventKind::python_function);
    }

    void nest_host_events(const CallTreeOptions& options) {
        // The reference knows no ranks: merged ranks with equal thread numbers are one thread to it.
        const bool ranks = options.overrun == OverrunRule::clip;
        const std::vector<std::uint32_t> lanes = lanes_of_tracks(trace_->tracks, ranks);
        std::vector<std::vector<OpenFrame>> open(trace_->tracks.size());
        const Ticks microsecond = trace_->ticks_per_us;
        for (EventId event = 0; event < trace_->size(); ++event) {
            if (!is_host_call(event, options)) continue;
            flags_[event] |= in_tree;
            std::vector<OpenFrame>& stack = open[lanes[to_index(trace_->track[event])]];
            const Ticks start = trace_->start[event];
            const Ticks end = trace_->end[event];
            while (!stack.empty() && start >= stack.back().end) stack.pop_back();
            if (!stack.empty() && end > stack.back().end &&
                !make_room(stack, event, microsecond, options.overrun))
                continue;
            if (!stack.empty()) append_child(stack.back().node, event);
            stack.push_back({event, (flags_[event] & clipped) != 0 ? std::min(end, stack.back().end) : end});
        }
    }

    /// An event outlives the innermost open frame. Returns false when it is left out of the tree.
    bool make_room(std::vector<OpenFrame>& stack, EventId event, Ticks microsecond, OverrunRule rule) {
        const Ticks start = trace_->start[event];
        const Ticks end = trace_->end[event];
        if (rule == OverrunRule::drop) {
            if (stack.back().end - start < microsecond && stack.size() >= 2) {
                stack.pop_back();
                return true;
            }
            flags_[event] |= dropped;
            ++dropped_count_;
            return false;
        }
        while (!stack.empty() && end > stack.back().end && stack.back().end - start < microsecond)
            stack.pop_back();
        if (!stack.empty() && end > stack.back().end) {
            flags_[event] |= clipped;
            ++clipped_count_;
        }
        return true;
    }

    /// Adds GPU events as last children of their launches, launches in file order (spec 01, section 7).
    void attach_gpu_events(const Links& links) {
        std::vector<EventId> calls(links.calls().begin(), links.calls().end());
        std::sort(calls.begin(), calls.end(),
                  [&](EventId a, EventId b) { return trace_->file_index[a] < trace_->file_index[b]; });
        for (const EventId call : calls) {
            for (const EventId gpu : links.launched_by(call)) {
                flags_[gpu] |= in_tree;
                append_child(call, gpu);
            }
        }
    }

    template <class Visit>
    void walk_preorder(const std::vector<NodeId>& from, Visit& visit) const {
        std::vector<NodeId> pending(from.rbegin(), from.rend());
        std::vector<NodeId> children;
        while (!pending.empty()) {
            const NodeId node = pending.back();
            pending.pop_back();
            visit(node);
            children.clear();
            for (NodeId at = first_child_[node]; at != no_node; at = next_sibling_[at])
                children.push_back(at);
            pending.insert(pending.end(), children.rbegin(), children.rend());
        }
    }

    void collect_roots() {
        roots_.clear();
        cpu_roots_.clear();
        unrooted_.clear();
        std::vector<bool> is_child(node_count(), false);
        for (NodeId node = 0; node < node_count(); ++node) {
            for (NodeId at = first_child_[node]; at != no_node; at = next_sibling_[at]) is_child[at] = true;
        }
        for (NodeId node = 0; node < node_count(); ++node) {
            if (!contains(node) || is_child[node]) continue;
            parent_[node] = no_node;  // taken out of its parent's children
            (was_dropped(node) ? unrooted_ : roots_).push_back(node);
        }
        // An op is a root of its thread when no op is above it.
        std::vector<bool> under_op(node_count(), false);
        for_each_preorder([&](NodeId node) {
            const NodeId above = parent_[node];
            under_op[node] = above != no_node && (under_op[above] || kind(above) == EventKind::cpu_op);
            if (kind(node) == EventKind::cpu_op && !under_op[node]) cpu_roots_.push_back(node);
        });
        std::sort(cpu_roots_.begin(), cpu_roots_.end());
    }

    void aggregate() {
        gpu_order_.clear();
        gpu_prefix_.assign(1, 0);
        gpu_begin_.assign(node_count(), 0);
        gpu_end_.assign(node_count(), 0);
        std::vector<NodeId> preorder;
        const auto enter = [&](NodeId node) {
            gpu_begin_[node] = gpu_end_[node] = static_cast<std::uint32_t>(gpu_order_.size());
            preorder.push_back(node);
            if (is_overlay(node) || !is_gpu_work(trace_->kind[node])) return;
            gpu_order_.push_back(node);
            gpu_prefix_.push_back(saturated_sum(gpu_prefix_.back(), trace_->duration(node)));
            gpu_end_[node] = static_cast<std::uint32_t>(gpu_order_.size());
        };
        walk_preorder(roots_, enter);
        walk_preorder(unrooted_, enter);  // dropped calls still own their GPU work
        // Children end before their parent does, and stand behind it in preorder.
        for (auto node = preorder.rbegin(); node != preorder.rend(); ++node) {
            for (NodeId child = first_child_[*node]; child != no_node; child = next_sibling_[child]) {
                gpu_end_[*node] = std::max(gpu_end_[*node], gpu_end_[child]);
            }
        }
    }

    const Trace* trace_;
    std::vector<NodeId> parent_;
    std::vector<NodeId> first_child_;
    std::vector<NodeId> last_child_;
    std::vector<NodeId> next_sibling_;
    std::vector<std::uint8_t> flags_;
    std::vector<OverlayNode> overlays_;
    std::vector<NodeId> roots_;
    std::vector<NodeId> unrooted_;  // dropped nodes
    std::vector<NodeId> cpu_roots_;
    std::vector<std::uint32_t> gpu_begin_;
    std::vector<std::uint32_t> gpu_end_;
    std::vector<EventId> gpu_order_;
    std::vector<Ticks> gpu_prefix_;
    std::size_t dropped_count_ = 0;
    std::size_t clipped_count_ = 0;
};

}  // namespace tracelens
