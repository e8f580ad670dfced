// What the tests of the trace generator share.
#pragma once

#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <tracelens/core/file.hpp>
#include <tracelens/model/links.hpp>
#include <tracelens/model/trace.hpp>
#include <tracelens/read/kineto.hpp>

#include "synth/synth.hpp"

namespace tracelens::synth_test {

inline std::string generated(const synth::Options& options, synth::Summary* summary = nullptr) {
    std::string text;
    const synth::Summary made = synth::generate(options, [&](std::string_view piece) { text += piece; });
    if (summary != nullptr) *summary = made;
    return text;
}

inline Trace read(std::string_view text) {
    Result<Trace> result = try_read_kineto(memory_source(text), "test.json");
    if (!result) FAIL(result.failure().message());
    return *std::move(result);
}

inline synth::Options small(synth::Vendor vendor, synth::WorkloadKind workload) {
    synth::Options options;
    options.vendor = vendor;
    options.workload = workload;
    options.style = synth::JsonStyle::compact;
    options.layers = 2;
    options.steps = 3;
    return options;
}

/// Calls `use` with small traces of both vendors and workloads.
template <class Use>
void for_each_kind(const Use& use) {
    for (const synth::Vendor vendor : {synth::Vendor::amd, synth::Vendor::nvidia}) {
        for (const synth::WorkloadKind workload :
             {synth::WorkloadKind::training, synth::WorkloadKind::inference}) {
            CAPTURE(vendor == synth::Vendor::amd ? "amd" : "nvidia");
            CAPTURE(workload == synth::WorkloadKind::training ? "training" : "inference");
            use(small(vendor, workload));
        }
    }
}

inline bool is_collective(const Trace& trace, EventId event) {
    return is_gpu_work(trace.kind[event]) && trace.arg(event, "Collective name").has_value();
}

}  // namespace tracelens::synth_test
