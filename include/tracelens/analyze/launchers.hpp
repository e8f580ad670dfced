/// Launchers: the host calls that GPU work is charged to, and how much of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <tracelens/classify/gpu_class.hpp>
#include <tracelens/classify/op_category.hpp>
#include <tracelens/core/interval.hpp>
#include <tracelens/model/call_tree.hpp>
#include <tracelens/model/trace.hpp>

namespace tracelens {

struct LauncherOptions {
    ClassRules rules = ClassRules::full;
    bool include_collectives = false;  ///< charge collective kernels, too
    std::vector<bool> excluded;        ///< by event: GPU events to leave out; may be empty
};

struct Launcher {
    NodeId node = no_node;
    std::string_view category;
    std::uint32_t kernels_begin = 0;  ///< its own kernels: a range of `Launchers::kernels`
    std::uint32_t kernels_end = 0;
    Ticks direct_time = 0;   ///< union of its own kernels
    Ticks subtree_time = 0;  ///< union of all GPU events below it, collectives included
};

struct Launchers {
    std::vector<Launcher> rows;    ///< by start; ties by their first kernel in the file
    std::vector<EventId> kernels;  ///< of each launcher, by start
    std::vector<std::uint32_t> row_of_node;

    static constexpr std::uint32_t no_row = 0xffffffffU;

    std::span<const EventId> kernels_of(const Launcher& launcher) const noexcept {
        return {kernels.data() + launcher.kernels_begin, launcher.kernels_end - launcher.kernels_begin};
    }

    /// The name of an op's first own kernel, or `StringId::empty`.
    StringId first_kernel_name(const Trace& trace, NodeId node) const noexcept {
        const std::uint32_t row = row_of_node[node];
        return row == no_row ? StringId::empty : trace.name[kernels[rows[row].kernels_begin]];
    }
};

/// The union of GPU events in any order, in ticks; those in `excluded` (by event; null or empty: none) do not
/// count.
inline Ticks busy_ticks(const Trace& trace, std::span<const EventId> events,
                        const std::vector<bool>* excluded = nullptr) {
    const bool all = excluded == nullptr || excluded->empty();
    IntervalSet intervals;
    intervals.reserve(events.size());
    for (const EventId event : events) {
        if (all || !(*excluded)[event]) intervals.push_back({trace.start[event], trace.end[event]});
    }
    return measure(merge(intervals));
}

namespace detail {

/// The op that a call's GPU work is charged to: the innermost op above it that is not the plumbing op
/// `execute`, else the call itself. The reference stops at any other event, such as an enclosing runtime
/// call.
inline NodeId launcher_of_call(const CallTree& tree, NodeId call, ClassRules rules) noexcept {
    if (rules == ClassRules::full && tree.kind(call) == EventKind::cpu_op) return call;
    for (NodeId at = tree.parent(call); at != no_node; at = tree.parent(at)) {
        const EventKind kind = tree.kind(at);
        if (kind == EventKind::cpu_op) {
            if (tree.name_text(at) != "execute") return at;
        } else if (kind != EventKind::python_function && rules == ClassRules::reference) {
            return call;
        }
    }
    return call;
}

/// Fills in `subtree_time`. Small subtrees are measured one by one; of large ones, which may lie in each
/// other to any depth, all at once.
inline void measure_subtrees(const CallTree& tree, const std::vector<bool>& excluded, Launchers& launchers) {
    constexpr std::size_t small = 64;
    const Trace& trace = tree.trace();
    const std::span<const EventId> gpu_events = tree.gpu_events();
    const auto interval = [&](EventId event) {
        const bool counts = excluded.empty() || !excluded[event];
        return Interval{trace.start[event], counts ? trace.end[event] : trace.start[event]};
    };
    IntervalSet below;
    std::vector<IndexRange> ranges;
    std::vector<Launcher*> large;
    for (Launcher& launcher : launchers.rows) {
        const std::span<const EventId> events = tree.gpu_events(launcher.node);
        if (events.size() == launchers.kernels_of(launcher).size()) {
            launcher.subtree_time = launcher.direct_time;
        } else if (events.size() <= small) {
            below.clear();
            for (const EventId event : events) below.push_back(interval(event));
            launcher.subtree_time = measure(merge(below));
        } else {
            const auto begin = static_cast<std::uint32_t>(events.data() - gpu_events.data());
            ranges.push_back({begin, begin + static_cast<std::uint32_t>(events.size())});
            large.push_back(&launcher);
        }
    }
    if (large.empty()) return;
    below.clear();
    for (const EventId event : gpu_events) below.push_back(interval(event));
    const std::vector<Ticks> lengths = measure_ranges(below, ranges);
    for (std::size_t i = 0; i < large.size(); ++i) large[i]->subtree_time = lengths[i];
}

}  // namespace detail

/// Charges every linked GPU event to its launcher (spec 02, section 8.1). O(n log n).
inline Launchers find_launchers(const CallTree& tree, const Links& links,
                                const LauncherOptions& options = {}) {
    const Trace& trace = tree.trace();
    Launchers result;
    result.row_of_node.assign(tree.node_count(), Launchers::no_row);
    std::vector<std::uint8_t> is_collective(trace.strings.size(), 2);  // 2: not looked at yet

    struct Charge {
        std::uint32_t row;
        EventId kernel;
    };
    std::vector<Charge> charges;
    std::vector<std::uint32_t> first_in_file;
    for (EventId event = 0; event < trace.size(); ++event) {
        const EventId call = links.launch_of(event);
        if (!is_gpu_work(trace.kind[event]) || call == no_event) continue;
        if (!options.excluded.empty() && options.excluded[event]) continue;
        std::uint8_t& known = is_collective[to_index(trace.name[event])];
        if (known == 2) known = is_communication_name(trace.name_of(event), options.rules) ? 1 : 0;
        if (known == 1 && !options.include_collectives) continue;
        const NodeId node = detail::launcher_of_call(tree, call, options.rules);
        std::uint32_t& row = result.row_of_node[node];
        if (row == Launchers::no_row) {
            row = static_cast<std::uint32_t>(result.rows.size());
            result.rows.push_back({});
            result.rows.back().node = node;
            first_in_file.push_back(std::numeric_limits<std::uint32_t>::max());
        }
        first_in_file[row] = std::min(first_in_file[row], trace.file_index[event]);
        charges.push_back({row, event});
    }

    std::vector<std::uint32_t> order(result.rows.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        const Ticks a_start = tree.start(result.rows[a].node);
        const Ticks b_start = tree.start(result.rows[b].node);
        return a_start != b_start ? a_start < b_start : first_in_file[a] < first_in_file[b];
    });
    std::vector<Launcher> sorted;
    std::vector<std::uint32_t> new_row(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        sorted.push_back(result.rows[order[i]]);
        new_row[order[i]] = i;
        result.row_of_node[sorted.back().node] = i;
    }
    result.rows = std::move(sorted);

    for (Charge& charge : charges) {
        charge.row = new_row[charge.row];
        ++result.rows[charge.row].kernels_end;
    }
    std::uint32_t begin = 0;
    for (Launcher& launcher : result.rows) {
        const std::uint32_t count = launcher.kernels_end;
        launcher.kernels_begin = launcher.kernels_end = begin;
        begin += count;
    }
    result.kernels.resize(begin);
    for (const Charge& charge : charges)
        result.kernels[result.rows[charge.row].kernels_end++] = charge.kernel;

    OpCategorizer category(trace, options.rules);
    for (Launcher& launcher : result.rows) {
        const std::span<const EventId> own = result.kernels_of(launcher);
        launcher.category = category(tree.name(launcher.node), trace.name[own.front()]);
        launcher.direct_time = busy_ticks(trace, own);
    }
    detail::measure_subtrees(tree, options.excluded, result);
    return result;
}

}  // namespace tracelens
