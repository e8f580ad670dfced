// The reader and its parts on generated text in memory.
#include <map>
#include <string>
#include <utility>

#include <benchmark/benchmark.h>

#include <tracelens/read/kineto.hpp>
#include <tracelens/read/window_cutter.hpp>

#include "synth/synth.hpp"

namespace {

using namespace tracelens;

const std::string& generated(bool compact) {
    static std::map<bool, std::string> texts;
    std::string& text = texts[compact];
    if (text.empty()) {
        synth::Options options;
        options.target_bytes = 40'000'000;
        options.style = compact ? synth::JsonStyle::compact : synth::JsonStyle::pretty;
        options.collectives = true;
        synth::generate(options, [&](std::string_view piece) { text += piece; });
        text.append(64, ' ');
    }
    return text;
}

void read(benchmark::State& state) {
    const std::string& text = generated(state.range(0) != 0);
    ReadOptions options;
    options.threads = static_cast<unsigned>(state.range(1));
    options.timestamps = state.range(2) != 0 ? Timestamps::reference : Timestamps::exact;
    for (auto _ : state) {
        const Result<Trace> trace = try_read_kineto(memory_source(text), "generated", options);
        benchmark::DoNotOptimize(trace->size());
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(read)
    ->ArgNames({"compact", "threads", "reference"})
    ->Args({0, 1, 0})
    ->Args({1, 1, 0})
    ->Args({0, 2, 0})
    ->Args({1, 2, 0})
    ->Args({0, 1, 1})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// The cutter alone: from the start of the event array over the whole text.
void cut(benchmark::State& state, MaskFunction masks) {
    const std::string& text = generated(state.range(0) != 0);
    const std::size_t begin = text.find("\"traceEvents\"");
    const std::string_view events = std::string_view(text).substr(text.find('[', begin) + 1);
    for (auto _ : state)
        benchmark::DoNotOptimize(find_cut(events.substr(0, events.size() - 64), true, masks).end);
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(events.size()));
}
void cut_best(benchmark::State& state) {
    cut(state, structural_masks);
}
void cut_scalar(benchmark::State& state) {
    cut(state, structural_masks_scalar);
}
BENCHMARK(cut_best)->ArgName("compact")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(cut_scalar)->ArgName("compact")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
