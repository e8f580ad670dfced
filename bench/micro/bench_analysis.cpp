// What follows reading: links, call tree, timeline, kernel totals, quality.
#include <string>

#include <benchmark/benchmark.h>

#include <tracelens/analyze/kernels.hpp>
#include <tracelens/analyze/quality.hpp>
#include <tracelens/analyze/timeline.hpp>
#include <tracelens/classify/gpu_class.hpp>
#include <tracelens/read/kineto.hpp>

#include "synth/synth.hpp"

namespace {

using namespace tracelens;

const Trace& generated() {
    static const Trace trace = [] {
        synth::Options options;
        options.target_bytes = 100'000'000;
        options.style = synth::JsonStyle::compact;
        options.collectives = true;
        std::string text;
        synth::generate(options, [&](std::string_view piece) { text += piece; });
        return *try_read_kineto(memory_source(text), "generated");
    }();
    return trace;
}

void count_events(benchmark::State& state) {
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(generated().size()));
}

void link(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(link_launches(generated()).size());
    count_events(state);
}
BENCHMARK(link)->Unit(benchmark::kMillisecond);

void tree(benchmark::State& state) {
    const Links links = link_launches(generated());
    CallTreeOptions options;
    options.python_frames = state.range(0) != 0;
    for (auto _ : state) benchmark::DoNotOptimize(CallTree(generated(), links, options).roots().size());
    count_events(state);
}
BENCHMARK(tree)->ArgName("frames")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void timeline(benchmark::State& state) {
    const std::vector<GpuClass> classes = classify_gpu_events(generated());
    const std::vector<EventId> events = timeline_events(generated(), link_launches(generated()), true);
    for (auto _ : state) benchmark::DoNotOptimize(gpu_timeline(generated(), events, classes)->busy);
    count_events(state);
}
BENCHMARK(timeline)->Unit(benchmark::kMillisecond);

void kernels(benchmark::State& state) {
    const std::vector<GpuClass> classes = classify_gpu_events(generated());
    const std::vector<EventId> events = timeline_events(generated(), link_launches(generated()), true);
    for (auto _ : state) benchmark::DoNotOptimize(kernel_totals(generated(), events, classes).size());
    count_events(state);
}
BENCHMARK(kernels)->Unit(benchmark::kMillisecond);

void quality(benchmark::State& state) {
    const Links links = link_launches(generated());
    const std::vector<GpuClass> classes = classify_gpu_events(generated());
    const CallTree calls(generated(), links);
    for (auto _ : state) benchmark::DoNotOptimize(assess_quality(generated(), links, calls, classes).outcome);
    count_events(state);
}
BENCHMARK(quality)->Unit(benchmark::kMillisecond);

}  // namespace
