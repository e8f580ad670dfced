// Runs every analysis on a trace and holds the results against what they promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tracelens/analyze/kernel_tables.hpp>
#include <tracelens/analyze/kernels.hpp>
#include <tracelens/analyze/launch_statistics.hpp>
#include <tracelens/analyze/launchers.hpp>
#include <tracelens/analyze/op_tables.hpp>
#include <tracelens/analyze/overlap.hpp>
#include <tracelens/analyze/quality.hpp>
#include <tracelens/analyze/recompute.hpp>
#include <tracelens/analyze/timeline.hpp>
#include <tracelens/classify/gpu_class.hpp>
#include <tracelens/model/properties.hpp>
#include <tracelens/write/csv.hpp>
#include <tracelens/write/json.hpp>

#include "ensure.hpp"
#include "trace_checks.hpp"

namespace fuzz {

using namespace tracelens;

/// One of the two ways in which the driver combines the rules: its own, or the reference's.
struct RuleSet {
    LinkRule link;
    ClassRules classes;
    OverrunRule overrun;
};

inline constexpr RuleSet rule_sets[] = {
    {LinkRule::correlation, ClassRules::full, OverrunRule::clip},
    {LinkRule::reference_flows, ClassRules::reference, OverrunRule::drop},
};

/// Writes a table in every form. What comes out has at least a line a row: cells may contain line ends.
inline void check_table(const Table& table) {
    for (const NestedForm form : {NestedForm::json, NestedForm::python}) {
        std::size_t lines = 0;
        for (const char c : to_csv(table, form)) lines += c == '\n' ? 1 : 0;
        ensure(lines > table.row_count(), "a CSV has a header and a line a row");
    }
    for (std::size_t column = 0; column < table.column_count(); ++column)
        ensure(table.column(column).missing.size() == table.row_count(), "columns are of one length");
}

inline void check_classes(const Trace& trace, const std::vector<GpuClass>& classes) {
    ensure(classes.size() == trace.size(), "every event has a class");
    for (EventId event = 0; event < trace.size(); ++event)
        ensure((classes[event] != GpuClass::none) == is_gpu_work(trace.kind[event]),
               "GPU work has a class, and nothing else");
}

inline void check_timeline(const Trace& trace, std::span<const EventId> events,
                           const std::vector<GpuClass>& classes) {
    const std::optional<GpuTimeline> whole = gpu_timeline(trace, events, classes, 5.0);
    ensure(whole.has_value() == !events.empty(), "a timeline needs events");
    if (!whole) return;
    ensure(whole->events == events.size(), "a timeline counts its events");
    ensure(whole->window.end - whole->window.start == whole->total, "the total is the window");
    ensure(whole->busy + whole->idle == whole->total && whole->idle >= 0, "busy and idle are the total");
    ensure(whole->computation + whole->exposed_comm + whole->exposed_memcpy == whole->busy,
           "what the GPU is busy with adds up");
    ensure(*whole->micro_idle + *whole->macro_idle == whole->idle, "idle time is micro or macro");
    ensure(whole->exposed_comm <= whole->total_comm && whole->exposed_memcpy <= whole->total_memcpy,
           "exposed time is part of the whole");
    check_table(timeline_table(trace, *whole));
    std::uint64_t counted = 0;
    for (const DeviceTimeline& device : gpu_timeline_by_device(trace, events, classes, 5.0))
        counted += device.timeline.events;
    ensure(counted == events.size(), "every event is on one device");
    Ticks last = whole->total;
    for (const IdleGap& gap : longest_gaps(trace, events, 10)) {
        const Ticks length = gap.when.end - gap.when.start;
        ensure(length > 0 && length <= last, "gaps are listed longest first");
        last = length;
    }
    std::uint64_t in_totals = 0;
    const std::vector<KernelTotals> totals = kernel_totals(trace, events, classes);
    for (const KernelTotals& each : totals) {
        ensure(each.min <= each.max && each.max <= each.total, "least, largest and total are in order");
        in_totals += each.count;
    }
    ensure(in_totals == events.size(), "every event is in one total");
    check_table(kernel_table(trace, totals));
}

inline void check_quality(const Trace& trace, const Links& links, const Quality& quality) {
    const auto is_share = [](double value) { return value >= 0 && value <= 1; };
    ensure(is_share(quality.graph_share) && is_share(quality.unlinked_share), "shares are from 0 to 1");
    ensure(quality.linked_gpu_events <= quality.gpu_events && quality.kernels <= quality.gpu_events,
           "parts are not more than the whole");
    ensure(quality.linked_gpu_events == links.size(), "linked events are counted");
    ensure(quality.excluded.empty() == quality.corrupt.empty(), "excluded events are the corrupt ones");
    ensure(quality.excluded.empty() || quality.excluded.size() == trace.size(), "one flag an event");
    for (const EventId event : quality.corrupt)
        ensure(event < trace.size() && quality.excluded[event], "corrupt events are excluded");
    JsonWriter json;
    write_diagnostics(json, quality.diagnostics);
    const std::string text = json.take();
    JsonScanner scanner(text);
    std::string_view whole;
    ensure(scanner.value(whole) == JsonScanner::Outcome::ok && scanner.flaws() == 0,
           "diagnostics are written as JSON without a flaw");
}

inline void check_launchers(const CallTree& tree, const Launchers& launchers) {
    const Trace& trace = tree.trace();
    std::uint32_t next = 0;
    Ticks last_start = 0;
    for (std::uint32_t row = 0; row < launchers.rows.size(); ++row) {
        const Launcher& each = launchers.rows[row];
        ensure(each.node < tree.node_count() && launchers.row_of_node[each.node] == row,
               "launchers are found by node");
        ensure(each.kernels_begin == next && each.kernels_end > each.kernels_begin,
               "every launcher has kernels of its own");
        ensure(!each.category.empty(), "every launcher has a category");
        ensure(trace.start[each.node] >= last_start, "launchers are sorted by start");
        ensure(each.direct_time >= 0, "time is not negative");
        // Calls that were dropped from the tree have nothing below them.
        if (!tree.was_dropped(each.node))
            ensure(each.subtree_time >= each.direct_time, "own kernels are below their launcher");
        for (const EventId kernel : launchers.kernels_of(each))
            ensure(is_gpu_work(trace.kind[kernel]), "only GPU work is charged");
        next = each.kernels_end;
        last_start = trace.start[each.node];
    }
    ensure(next == launchers.kernels.size(), "every charged kernel has a launcher");
}

inline void check_op_tables(const CallTree& tree, const Links& links, const Launchers& launchers,
                            const RuleSet& rules) {
    if (launchers.rows.empty()) return;
    const Trace& trace = tree.trace();
    const RecomputeMarks marks = mark_recompute(tree);
    const std::vector<EventId> events = timeline_events(trace, links, true);
    OpTableOptions options;
    options.rules = rules.classes;
    check_table(ops_summary_by_category(tree, launchers, options));
    check_table(ops_summary(tree, launchers, options));
    options.first_occurrence = options.group_by_num_kernels = true;
    options.recompute = &marks.marked;
    check_table(ops_unique_args(tree, launchers, options));
    OverlapOptions beside;
    beside.rules = rules.classes;
    beside.parts = &marks.marked;
    check_table(ops_unique_args_overlap(tree, launchers, find_overlaps(tree, events, beside), options));
}

inline void check_kernel_tables(const CallTree& tree, const Links& links, const Launchers& launchers,
                                const Quality& quality, const RuleSet& rules) {
    const Trace& trace = tree.trace();
    KernelTableOptions options;
    options.rules = rules.classes;
    options.total_time_us = 1000;
    options.excluded = quality.excluded;
    check_table(kernel_summary(tree, links, launchers, options));
    check_table(kernel_summary_by_category(tree, links, launchers, options));
    check_table(launch_statistics(trace, links, timeline_events(trace, links, true, quality.excluded)));
    ShortKernelOptions shorter;
    shorter.bins = 7;
    check_table(short_kernel_histogram(trace, options, shorter));
    shorter.top_k = 3;
    check_table(short_kernels_summary(tree, links, options, shorter));
}

/// Links and trees by all rules, and everything that the driver does with a trace by the rules that it uses
/// with such timestamps.
inline void analyse(const Trace& trace) {
    recorded_device_names(trace);
    for (const RuleSet& rules : rule_sets) {
        const Links links = link_launches(trace, rules.link);
        check_links(trace, links, rules.link);
        for (const OverrunRule overrun : {OverrunRule::clip, OverrunRule::drop}) {
            const CallTreeOptions options{true, overrun};
            check_tree(CallTree(trace, links, options), options);
        }
    }
    const RuleSet& rules = rule_sets[trace.timestamps == Timestamps::reference ? 1 : 0];
    const Links links = link_launches(trace, rules.link);
    const std::vector<GpuClass> classes = classify_gpu_events(trace, rules.classes);
    check_classes(trace, classes);
    const CallTree tree(trace, links, {true, rules.overrun});
    const Quality quality = assess_quality(trace, links, tree, classes);
    check_quality(trace, links, quality);
    for (const bool unlinked : {false, true})
        check_timeline(trace, timeline_events(trace, links, unlinked, quality.excluded), classes);
    LauncherOptions charging;
    charging.rules = rules.classes;
    charging.excluded = quality.excluded;
    const Launchers launchers = find_launchers(tree, links, charging);
    check_launchers(tree, launchers);
    check_op_tables(tree, links, launchers, rules);
    check_kernel_tables(tree, links, launchers, quality, rules);
}

}  // namespace fuzz
