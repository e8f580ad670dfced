// No step is worse than O(n log n) on realistic traces. How that is shown: growth_check.hpp.
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/analyze/category_sheets.hpp>
#include <tracelens/analyze/collectives.hpp>
#include <tracelens/analyze/kernel_tables.hpp>
#include <tracelens/analyze/kernels.hpp>
#include <tracelens/analyze/launch_statistics.hpp>
#include <tracelens/analyze/launchers.hpp>
#include <tracelens/analyze/op_tables.hpp>
#include <tracelens/analyze/overlap.hpp>
#include <tracelens/analyze/quality.hpp>
#include <tracelens/analyze/recompute.hpp>
#include <tracelens/analyze/timeline.hpp>
#include <tracelens/analyze/unified_perf.hpp>
#include <tracelens/analyze/work_units.hpp>
#include <tracelens/model/backward_links.hpp>
#include <tracelens/perf/registry.hpp>
#include <tracelens/read/kineto.hpp>
#include <tracelens/write/csv.hpp>

#include "growth/growth_check.hpp"
#include "synth/synth.hpp"

using namespace tracelens;
using growth::Run;

namespace {

std::string generate(std::uint64_t bytes) {
    synth::Options options;
    options.target_bytes = bytes;
    options.style = synth::JsonStyle::compact;
    options.layers = 2;
    options.collectives = true;
    std::string text;
    synth::generate(options, [&](std::string_view piece) { text += piece; });
    return text;
}

Run run(const std::string& text) {
    Run run;
    ReadOptions reading;
    reading.threads = 1;
    Trace trace;
    run.count("read", [&] { trace = *try_read_kineto(memory_source(text), "generated", reading); });
    run.size = static_cast<double>(trace.size());
    const std::string with_flaws = [&] {
        std::string damaged =
            text;  // a control character a few kilobytes: the tolerant parser takes all windows
        for (std::size_t at = damaged.find("\"name\":\"", 4096); at != std::string::npos;
             at = damaged.find("\"name\":\"", at + 4096)) {
            damaged[at + 8] = '\x01';
        }
        return damaged;
    }();
    run.count("read tolerantly", [&] {
        const Trace flawed = *try_read_kineto(memory_source(with_flaws), "generated", reading);
        CHECK(flawed.size() == trace.size());
    });
    Links links;
    run.count("link", [&] { links = link_launches(trace); });
    run.count("link as the reference", [&] { link_launches(trace, LinkRule::reference_flows); });
    std::vector<GpuClass> classes;
    run.count("classify", [&] { classes = classify_gpu_events(trace); });
    CallTreeOptions with_frames;
    with_frames.python_frames = true;
    std::unique_ptr<CallTree> tree;
    run.count("tree", [&] { tree = std::make_unique<CallTree>(trace, links, with_frames); });
    run.count("quality", [&] { assess_quality(trace, links, *tree, classes); });
    std::vector<EventId> events;
    run.count("timeline", [&] {
        events = timeline_events(trace, links, true);
        gpu_timeline(trace, events, classes);
        gpu_timeline_by_device(trace, events, classes);
        longest_gaps(trace, events, 10);
    });
    run.count("kernel totals", [&] { kernel_totals(trace, events, classes); });
    RecomputeMarks marks;
    run.count("recompute", [&] { marks = mark_recompute(*tree); });
    Launchers launchers;
    run.count("launchers", [&] { launchers = find_launchers(*tree, links); });
    OpTableOptions tables;
    tables.recompute = &marks.marked;
    tables.first_occurrence = true;
    run.count("ops_summary", [&] { ops_summary(*tree, launchers, tables); });
    run.count("ops_summary_by_category", [&] { ops_summary_by_category(*tree, launchers, tables); });
    Table unique;
    run.count("ops_unique_args", [&] { unique = ops_unique_args(*tree, launchers, tables); });
    run.count("overlap", [&] {
        const Overlaps overlaps = find_overlaps(*tree, events);
        ops_unique_args_overlap(*tree, launchers, overlaps, tables);
    });
    const ModelRegistry registry;
    OpCosts costs(*tree, registry, CostRules::full);
    BackwardLinks backward;
    run.count("backward links", [&] { backward = link_backward(trace); });
    std::vector<WorkUnit> units;
    run.count("work units", [&] {
        units = find_work_units(*tree, backward, costs, {ClassRules::full, true});
    });
    PerfInputs perf{*tree, links, backward, launchers, costs};
    perf.call_stacks = perf.python_frames = true;
    run.count("unified_perf_summary", [&] { unified_perf_summary(perf, units); });
    run.count("category sheets", [&] { category_sheets(perf); });
    run.count("coll_analysis", [&] { collective_summary(trace); });
    KernelTableOptions kernels;
    kernels.total_time_us = 1;
    run.count("kernel_summary", [&] { kernel_summary(*tree, links, launchers, kernels); });
    run.count("short kernels", [&] {
        short_kernel_histogram(trace, kernels, {});
        short_kernels_summary(*tree, links, kernels, {});
    });
    run.count("launch statistics", [&] { launch_statistics(trace, links, events); });
    run.count("csv", [&] { to_csv(unique); });
    return run;
}

}  // namespace

TEST_CASE("operations grow no faster than n log n") {
    constexpr std::uint64_t smallest = 2'000'000;
    std::vector<Run> runs;
    for (const std::uint64_t factor : {1U, 4U, 16U}) runs.push_back(run(generate(smallest * factor)));
    growth::check(runs);
    CHECK(static_cast<double>(runs[0].steps[0].operations) > runs[0].size);  // the counter counts
}
