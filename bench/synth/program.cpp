#include "program.hpp"

#include <algorithm>
#include <utility>

#include "frames.hpp"

namespace tracelens::synth {
namespace {

// Typical host times with the profiler and its python tracer on, in ns.
constexpr std::int32_t frame_entry = 260;
constexpr std::int32_t leaf_entry = 210;
constexpr std::int32_t leaf_inside = 120;
constexpr std::int32_t op_entry = 950;
constexpr std::int32_t close_cost = 380;
constexpr std::int32_t call_entry = 700;
constexpr std::int32_t memory_entry = 240;
constexpr std::int32_t graph_node_launch = 600;

constexpr std::int32_t call_duration(Api api) {
    switch (api) {
        case Api::query_properties:
        case Api::query_capture:
        case Api::set_attribute: return 280;
        case Api::record_event:
        case Api::wait_event: return 1100;
        case Api::copy_blocking: return 14000;
        case Api::launch_attention: return 5600;
        case Api::launch_collective: return 9800;
        default: return 4300;
    }
}

}  // namespace

Action& ProgramBuilder::add(Action::Kind kind, Index what, std::int32_t before_ns) {
    Action& action = program_.actions.emplace_back();
    action.kind = kind;
    action.what = what;
    action.before_ns = before_ns + std::exchange(pending_ns_, 0);
    return action;
}

void ProgramBuilder::close(int levels) {
    for (; levels > 0; --levels) {
        add(Action::Kind::close, no_index, close_cost);
        (lane().open.back() ? lane().frames : lane().ops) -= 1;
        lane().open.pop_back();
    }
}

ProgramBuilder::Scope ProgramBuilder::frame(std::string_view name, std::int64_t module_id) {
    if (lane().frames >= depth_limit_) return {};
    add(Action::Kind::open_frame, catalogue_.frame(name, module_id), frame_entry);
    lane().open.push_back(true);
    ++lane().frames;
    return {this, 1};
}

ProgramBuilder::Scope ProgramBuilder::module(std::string_view class_name, std::string_view forward) {
    if (lane().frames + 3 > depth_limit_) return {};
    auto count = std::find_if(module_counts_.begin(), module_counts_.end(),
                              [&](const auto& c) { return c.first == class_name; });
    if (count == module_counts_.end()) count = module_counts_.insert(count, {std::string(class_name), 0});
    const int instance = count->second++;
    // Module ids number all instances of all classes, so two classes never share one.
    const auto class_id = static_cast<std::int64_t>(count - module_counts_.begin());
    for (const auto& [name, module_id] :
         {std::pair{"nn.Module: " + std::string(class_name) + '_' + std::to_string(instance),
                    class_id + instance * 40LL},
          std::pair{std::string("torch/nn/modules/module.py(1743): _call_impl"), -1LL}}) {
        add(Action::Kind::open_frame, catalogue_.frame(name, module_id), frame_entry);
        lane().open.push_back(true);
        ++lane().frames;
    }
    leaf("<built-in method _get_tracing_state of PyCapsule object at 0x7f4e9134ab50>");
    add(Action::Kind::open_frame, catalogue_.frame(forward), frame_entry);
    lane().open.push_back(true);
    ++lane().frames;
    return {this, 3};
}

void ProgramBuilder::leaf(std::string_view name) {
    if (lane().frames >= depth_limit_) return;
    add(Action::Kind::leaf_frame, catalogue_.frame(name), leaf_entry).inside_ns = leaf_inside;
}

void ProgramBuilder::leaves(std::string_view name, int count) {
    for (int i = 0; i < count; ++i) leaf(name);
}

void ProgramBuilder::chatter(std::size_t site, int count) {
    const auto& pool = chatter_pool();
    std::size_t place = site * 31 % pool.size();
    const auto next = [&]() -> const std::string& {
        --count;
        const std::string& name = pool[place];
        place = (place + 1) % pool.size();
        return name;
    };
    // Every third frame has children, as short python functions do.
    while (count > 0) {
        leaf(next());
        if (count < 2) continue;
        auto caller = frame(next());
        leaf(next());
    }
}

ProgramBuilder::Scope ProgramBuilder::function(std::string_view name) {
    {
        auto mode = frame("torch/utils/_device.py(100): __torch_function__");
        leaf("<built-in method get of mappingproxy object at 0x7f2e4b7d11a0>");
    }
    {
        auto handler = frame("torch/overrides.py(1670): handle_torch_function");
        leaf("torch/overrides.py(1592): _get_overloaded_args");
        {
            auto helper = frame("contextlib.py(299): helper");
            leaf("contextlib.py(104): __init__");
        }
        {
            auto enter = frame("contextlib.py(132): __enter__");
            leaf("<built-in function next>");
            auto pop = frame("torch/overrides.py(2074): _pop_mode_temporarily");
            leaf("torch/overrides.py(2069): _pop_mode");
        }
        auto exit = frame("contextlib.py(141): __exit__");
        leaf("torch/overrides.py(2065): _push_mode");
    }
    return frame(name);
}

ProgramBuilder::Scope ProgramBuilder::op(const OpInfo& info, std::int32_t sequence) {
    add(Action::Kind::open_op, catalogue_.op(info), op_entry).sequence = sequence;
    lane().open.push_back(false);
    ++lane().ops;
    return {this, 1};
}

void ProgramBuilder::call(Api api, Action::Effect effect, std::uint8_t waiting_stream) {
    const Index what = catalogue_.call({api, no_index, lane().ops > 0});
    Action& action = add(Action::Kind::call, what, call_entry / 2);
    action.inside_ns = call_duration(api);
    action.effect = effect;
    action.lane = waiting_stream;
}

void ProgramBuilder::launch(Api api, const WorkInfo& work, Action::Effect effect) {
    const Index what = catalogue_.call({api, catalogue_.work(work), lane().ops > 0});
    Action& action = add(Action::Kind::call, what, call_entry);
    action.inside_ns = call_duration(api);
    action.effect = effect;
}

void ProgramBuilder::launch_graph(const std::vector<Index>& works) {
    const Index what = catalogue_.call({Api::launch_graph, no_index, false});
    add(Action::Kind::call, what, call_entry).inside_ns =
        call_duration(Api::launch_graph) + graph_node_launch * static_cast<std::int32_t>(works.size());
    for (const Index work : works) add(Action::Kind::graph_node, work, 0);
}

void ProgramBuilder::blocked(Api api, std::uint8_t sync, std::int32_t share) {
    const Index what = catalogue_.call({api, no_index, lane().ops > 0});
    Action& action = add(Action::Kind::blocked_call, what, call_entry);
    action.lane = sync;
    action.inside_ns = share;
}

void ProgramBuilder::thread(std::uint8_t lane) {
    add(Action::Kind::switch_thread, no_index, 9000).lane = lane;
    lane_ = lane;
}

std::int64_t ProgramBuilder::allocate(std::int64_t bytes) {
    // The caching allocator hands out multiples of 512 bytes.
    const std::int64_t rounded = (std::max<std::int64_t>(bytes, 1) + 511) / 512 * 512;
    Action& action = add(Action::Kind::memory, no_index, memory_entry);
    action.bytes = rounded;
    action.address = next_address_;
    blocks_.push_back({rounded, next_address_});
    next_address_ += rounded;
    return static_cast<std::int64_t>(blocks_.size()) - 1;
}

void ProgramBuilder::release(std::int64_t handle) {
    Block& block = blocks_[static_cast<std::size_t>(handle)];
    if (block.bytes == 0) return;
    Action& action = add(Action::Kind::memory, no_index, memory_entry);
    action.bytes = -block.bytes;
    action.address = block.address;
    block.bytes = 0;
}

Program ProgramBuilder::take() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) release(static_cast<std::int64_t>(i));
    return std::move(program_);
}

}  // namespace tracelens::synth
