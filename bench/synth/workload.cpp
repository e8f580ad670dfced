#include "workload.hpp"

#include <algorithm>

namespace tracelens::synth {

std::size_t entry_depth(const Options& options) {
    // The deepest path inside a step: model, layer, attention and linear modules of three frames each, and a
    // function.
    constexpr int inner_depth = 17;
    if (options.python_depth <= 0) return 0;
    return static_cast<std::size_t>(
        std::max(options.python_depth - inner_depth, std::min(options.python_depth, 3)));
}

std::unique_ptr<Workload> make_workload(const Options& options, Catalogue& catalogue, const Device& device) {
    switch (options.workload) {
        case WorkloadKind::training: return make_training(options, catalogue, device);
        case WorkloadKind::inference: return make_inference(options, catalogue, device);
    }
    return nullptr;
}

Program plan_epilogue(const Options& options, Catalogue& catalogue) {
    ProgramBuilder builder(catalogue, options.python_depth - static_cast<int>(entry_depth(options)));
    {
        auto exit = builder.frame("torch/profiler/profiler.py(745): __exit__");
        auto stop = builder.frame("torch/profiler/profiler.py(758): stop");
        auto synchronize = builder.frame("torch/cuda/__init__.py(985): synchronize");
        builder.call(Api::synchronize_device, Action::Effect::wait_for_device);
    }
    return builder.take();
}

Program plan_idle_gap(Catalogue& catalogue) {
    ProgramBuilder builder(catalogue, 0);
    builder.call(Api::synchronize_device, Action::Effect::wait_for_device);
    builder.blocked(Api::synchronize_stream, 0, 120);
    builder.blocked(Api::wait_event, 1, 80);
    builder.blocked(Api::synchronize_device, 2, 200);
    return builder.take();
}

}  // namespace tracelens::synth
