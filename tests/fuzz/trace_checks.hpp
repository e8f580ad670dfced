// What must be true of every trace, its links and its call tree, whatever bytes they were read from.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tracelens/model/call_tree.hpp>
#include <tracelens/model/links.hpp>
#include <tracelens/model/trace.hpp>

#include "ensure.hpp"

namespace fuzz {

using namespace tracelens;

inline void check_columns(const Trace& trace) {
    const std::size_t rows = trace.size();
    ensure(trace.end.size() == rows && trace.name.size() == rows && trace.category.size() == rows &&
               trace.kind.size() == rows && trace.track.size() == rows && trace.args.size() == rows &&
               trace.fields.size() == rows && trace.file_index.size() == rows,
           "all columns of a trace have one cell an event");
    const bool reference = trace.timestamps == Timestamps::reference;
    ensure(trace.duration_us.size() == (reference ? rows : 0),
           "recorded durations are kept with reference timestamps, and only then");
    ensure(trace.ticks_per_us > 0, "a tick has a length");
    std::vector<bool> taken(trace.file_events, false);
    for (EventId event = 0; event < rows; ++event) {
        ensure(trace.start[event] >= 0, "time starts at the first complete event");
        ensure(trace.end[event] >= trace.start[event], "no event ends before it starts");
        if (event > 0) {
            ensure(trace.start[event - 1] <= trace.start[event], "rows are sorted by start");
            ensure(trace.start[event - 1] != trace.start[event] ||
                       trace.file_index[event - 1] < trace.file_index[event],
                   "rows with equal starts keep the file's order");
        }
        ensure(trace.file_index[event] < trace.file_events, "file_index is a position in the file");
        ensure(!taken[trace.file_index[event]], "no two events have one position in the file");
        taken[trace.file_index[event]] = true;
        ensure(to_index(trace.name[event]) < trace.strings.size() &&
                   to_index(trace.category[event]) < trace.strings.size() &&
                   to_index(trace.track[event]) < trace.tracks.size() &&
                   to_index(trace.args[event]) < trace.signatures.size(),
               "ids of an event are ids of its trace");
        switch (field_family(trace.kind[event])) {
            case FieldFamily::op: ensure(trace.fields[event] < trace.ops.size(), "op fields exist"); break;
            case FieldFamily::frame:
                ensure(trace.fields[event] < trace.frames.size(), "frame fields exist");
                break;
            case FieldFamily::launch:
                ensure(trace.fields[event] < trace.launches.size(), "launch fields exist");
                break;
            case FieldFamily::none: break;
        }
        if (reference)
            ensure(std::isfinite(trace.duration_us[event]) && trace.duration_us[event] >= 0,
                   "recorded durations are finite and not negative");
    }
    if (rows != 0) ensure(trace.start.front() == 0, "tick 0 is the start of the first complete event");
}

/// One side table: in file order, with ids of the trace.
template <class Row>
void check_side_table(const Trace& trace, const std::vector<Row>& table) {
    for (std::size_t i = 0; i < table.size(); ++i) {
        ensure(table[i].file_index < trace.file_events, "file_index of a side table is a position");
        if (i > 0)
            ensure(table[i - 1].file_index < table[i].file_index, "side tables are in the file's order");
        ensure(to_index(table[i].track) < trace.tracks.size(), "side tables have tracks of their trace");
        if constexpr (requires { table[i].name; })
            ensure(to_index(table[i].name) < trace.strings.size(), "side tables have names of their trace");
        if constexpr (requires { table[i].category; })
            ensure(to_index(table[i].category) < trace.strings.size(), "and categories of their trace");
        if constexpr (requires { table[i].args; })
            ensure(to_index(table[i].args) < trace.signatures.size(), "and signatures of their trace");
    }
}

inline void check_trace(const Trace& trace) {
    check_columns(trace);
    check_side_table(trace, trace.flows);
    check_side_table(trace, trace.instants);
    check_side_table(trace, trace.memory_events);
    check_side_table(trace, trace.counters);
    check_side_table(trace, trace.async_events);
    check_side_table(trace, trace.samples);
    check_side_table(trace, trace.object_events);
    check_side_table(trace, trace.metadata);
    std::uint64_t kept = 0;
    std::uint64_t complete = 0;
    for (const auto& [phase, count] : trace.phase_counts) {
        kept += count;
        if (phase == 'X' || phase == 'B') complete += count;
    }
    ensure(kept <= trace.file_events, "no more events are kept than the file has");
    ensure(complete == trace.size(), "every row is an X or a B event");
    for (std::uint32_t id = 0; id < trace.signatures.size(); ++id) {
        for (const Arg& arg : trace.signatures[ArgsId{id}]) {
            ensure(to_index(arg.key) < trace.strings.size() && to_index(arg.value) < trace.strings.size(),
                   "arguments are strings of their trace");
        }
    }
    for (const Diagnostic& entry : trace.diagnostics.entries())
        ensure(!entry.code.empty() && !entry.area.empty(), "diagnostics have a code and an area");
}

inline void check_links(const Trace& trace, const Links& links, LinkRule rule) {
    std::size_t linked = 0;
    for (EventId event = 0; event < trace.size(); ++event) {
        const EventId call = links.launch_of(event);
        if (call == no_event) continue;
        ++linked;
        ensure(is_gpu_work(trace.kind[event]), "only GPU work is launched");
        ensure(call < trace.size(), "a launch is an event");
        const bool op = rule == LinkRule::correlation && trace.kind[call] == EventKind::cpu_op;
        ensure(is_runtime_call(trace.kind[call]) || op, "runtime calls and ops launch GPU work");
        bool found = false;
        for (const EventId other : links.launched_by(call)) found = found || other == event;
        ensure(found, "a call lists what it launched");
    }
    std::size_t listed = 0;
    EventId last = no_event;
    for (const EventId call : links.calls()) {
        ensure(last == no_event || last < call, "calls are ascending");
        ensure(!links.launched_by(call).empty(), "a listed call launched something");
        for (const EventId event : links.launched_by(call))
            ensure(links.launch_of(event) == call, "launched events know their call");
        listed += links.launched_by(call).size();
        last = call;
    }
    ensure(linked == links.size() && listed == links.size(), "links agree in both directions");
}

inline void check_tree(const CallTree& tree, const CallTreeOptions& options) {
    const Trace& trace = tree.trace();
    ensure(tree.node_count() == trace.size(), "a fresh tree has no overlay nodes");
    std::size_t dropped = 0;
    std::size_t clipped = 0;
    std::vector<std::uint32_t> visits(tree.node_count(), 0);
    std::size_t visited = 0;
    tree.for_each_preorder([&](NodeId node) {
        ensure(visited++ < tree.node_count(), "the tree has no cycles");
        ++visits[node];
        const NodeId above = tree.parent(node);
        if (above != no_node) ensure(visits[above] == 1, "parents come before children");
    });
    for (NodeId node = 0; node < tree.node_count(); ++node) {
        if (tree.was_dropped(node)) ++dropped;
        if (tree.was_clipped(node)) ++clipped;
        ensure(visits[node] <= 1, "a node is visited once");
        if (visits[node] != 0) ensure(tree.contains(node) && !tree.was_dropped(node), "visited nodes count");
        std::size_t gpu_below = 0;
        for (const EventId event : tree.gpu_events(node)) {
            ensure(is_gpu_work(trace.kind[event]), "GPU events of a subtree are GPU work");
            ++gpu_below;
        }
        ensure(gpu_below <= trace.size(), "a subtree has no more GPU events than the trace");
        ensure(tree.gpu_ticks(node) >= 0, "the GPU time of a subtree is not negative");
        if (tree.was_dropped(node)) ensure(tree.parent(node) == no_node, "dropped nodes have no parent");
        for (NodeId child = tree.first_child(node); child != no_node; child = tree.next_sibling(child)) {
            ensure(tree.parent(child) == node, "children know their parent");
            if (is_gpu_work(trace.kind[child])) continue;
            ensure(trace.start[child] >= trace.start[node], "calls start within their caller");
            // The reference closes one frame at most, and then does not look at the next one.
            if (options.overrun == OverrunRule::clip && !tree.was_clipped(child))
                ensure(trace.end[child] <= trace.end[node], "calls end within their caller");
        }
    }
    ensure(dropped == tree.dropped_count(), "dropped calls are counted");
    ensure(clipped == tree.clipped_count(), "clipped calls are counted");
    ensure(options.overrun == OverrunRule::drop ? clipped == 0 : dropped == 0,
           "a rule clips or drops, not both");
    for (const NodeId root : tree.cpu_roots())
        ensure(tree.kind(root) == EventKind::cpu_op && tree.enclosing_op(root) == no_node,
               "roots of a thread are its outermost ops");
}

}  // namespace fuzz
