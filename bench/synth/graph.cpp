#include "graph.hpp"

#include <algorithm>

namespace tracelens::synth {
namespace {

Index work_of(const Action& action, const Catalogue& catalogue) {
    if (action.kind == Action::Kind::graph_node) return action.what;
    return action.kind == Action::Kind::call ? catalogue.calls()[action.what].work : no_index;
}

bool opens(const Action& action) {
    return action.kind == Action::Kind::open_frame || action.kind == Action::Kind::open_op;
}

}  // namespace

std::vector<Index> device_work(const Program& program, const Catalogue& catalogue) {
    std::vector<Index> works;
    for (const Action& action : program.actions)
        if (const Index work = work_of(action, catalogue); work != no_index) works.push_back(work);
    return works;
}

Program collapsed(const Program& program, Catalogue& catalogue) {
    const auto launches_kernel = [&](const Action& action) {
        const Index work = work_of(action, catalogue);
        return work != no_index && catalogue.works()[work].kind == WorkKind::kernel;
    };
    const auto first = std::find_if(program.actions.begin(), program.actions.end(), launches_kernel);

    Program result;
    std::ptrdiff_t depth = 0;
    for (auto action = program.actions.begin(); action != first; ++action) {
        // Without the ops that follow, nothing would free what is allocated here.
        if (action->kind == Action::Kind::memory) continue;
        depth += opens(*action) ? 1 : action->kind == Action::Kind::close ? -1 : 0;
        result.actions.push_back(*action);
        result.sequences = std::max(result.sequences, action->sequence + 1);
    }
    // The step's annotation stays open around the replay.
    Action close;
    for (; depth > 1; --depth) result.actions.push_back(close);

    Program rest;
    rest.actions.assign(first, program.actions.end());
    constexpr int enough_frames = 8;
    ProgramBuilder builder(catalogue, enough_frames);
    {
        auto runner = builder.frame("project/engine/graph_runner.py(188): replay_step");
        auto replay = builder.frame("torch/cuda/graphs.py(139): replay");
        builder.launch_graph(device_work(rest, catalogue));
        builder.call(Api::synchronize_stream, Action::Effect::wait_for_device);
    }
    for (const Action& action : builder.take().actions) result.actions.push_back(action);
    for (; depth > 0; --depth) result.actions.push_back(close);
    return result;
}

}  // namespace tracelens::synth
