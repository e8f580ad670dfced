// The autograd and collective side of ModelOps: saved tensors, the backward pass, gradient buckets.
#include <array>
#include <utility>

#include "model_ops.hpp"

namespace tracelens::synth {
namespace {

constexpr std::int64_t bucket_size = 12'500'000;  // gradient elements that one all-reduce carries
constexpr int hooks_per_op = 2;                   // tensors that an op saves for its backward

}  // namespace

void ModelOps::parameter(const Tensor& weight) {
    if (!is_recording_) return;
    parameters_.push_back(weight);
    tape_.push_back(
        {"torch::autograd::AccumulateGrad", weight, -1, [this, weight] { accumulate(weight); }, {}});
}

void ModelOps::accumulate(const Tensor& weight) {
    {
        auto detach = plain("aten::detach", {arg(weight)});
        leaf("detach", {arg(weight)});
    }
    if (!options.collectives) return;
    {
        auto scale = plain("torch::distributed::reducer::mul_out", {arg(weight)});
        elementwise("aten::mul", {arg(weight), scalar("0.125"), arg(weight)}, weight, functors::mul_scalar,
                    2);
    }
    bucket_elements_ += elements(weight);
    if (bucket_elements_ < bucket_size) return;
    const Tensor bucket = contiguous({std::exchange(bucket_elements_, 0)});
    collective("allreduce_", "allreduce", bucket, bucket);
}

// The model runs under saved-tensor hooks (as activation checkpointing and offloading do): python frames
// inside ops.

void ModelOps::pack_hooks() {
    static constexpr std::array frames{"torch/utils/checkpoint.py(774): __init__",
                                       "<built-in method append of list object at 0x7f0e871077c0>",
                                       "torch/utils/_contextlib.py(154): __new__",
                                       "<built-in method __new__ of type object at 0x55c0fa92c340>",
                                       "torch/autograd/grad_mode.py(75): __init__",
                                       "torch/_jit_internal.py(103): is_scripting",
                                       "torch/autograd/grad_mode.py(80): __enter__",
                                       "<built-in function is_grad_enabled>",
                                       "torch/autograd/grad_mode.py(184): __init__",
                                       "<built-in function _set_grad_enabled>",
                                       "torch/utils/checkpoint.py(1033): _default_meta_extractor",
                                       "torch/autograd/grad_mode.py(84): __exit__"};
    for (int i = 0; i < hooks_per_op; ++i) {
        auto hook = builder.frame("torch/utils/checkpoint.py(1101): pack_hook");
        for (const char* name : frames) builder.leaf(name);
    }
}

void ModelOps::unpack_hooks() {
    static constexpr std::array frames{"<built-in function _current_graph_task_id>",
                                       "torch/utils/checkpoint.py(596): _internal_assert",
                                       "weakref.py(454): __contains__",
                                       "torch/utils/checkpoint.py(596): _internal_assert",
                                       "weakref.py(414): __getitem__",
                                       "weakref.py(369): remove"};
    for (int i = 0; i < hooks_per_op; ++i) {
        auto hook = builder.frame("torch/utils/checkpoint.py(1111): unpack_hook");
        for (const char* name : frames) builder.leaf(name);
    }
}

void ModelOps::backward() {
    const bool was_recording = std::exchange(is_recording_, false);
    for (auto node = tape_.rbegin(); node != tape_.rend(); ++node) {
        const bool has_sequence = node->sequence >= 0;
        auto outer = builder.op({.name = "autograd::engine::evaluate_function: " + node->name,
                                 .args = {},
                                 .has_shapes = false,
                                 .sequence = has_sequence ? SequenceUse::backward : SequenceUse::none,
                                 .collective = {}},
                                node->sequence);
        {
            auto inner =
                builder.op({.name = node->name,
                            .args = {arg(node->gradient)},
                            .sequence = has_sequence ? SequenceUse::backward_flow : SequenceUse::none,
                            .collective = {}},
                           node->sequence);
            if (has_sequence && !node->saved.empty()) {
                unpack_hooks();
            }
            if (node->body) node->body();
        }
        for (const std::int64_t handle : node->saved) builder.release(handle);
        drop_temporaries();
    }
    if (options.collectives && bucket_elements_ > 0) {
        const Tensor bucket = contiguous({std::exchange(bucket_elements_, 0)});
        collective("allreduce_", "allreduce", bucket, bucket);
    }
    tape_.clear();
    is_recording_ = was_recording;
}

void ModelOps::collective(std::string_view op, std::string_view name, const Tensor& input,
                          const Tensor& output) {
    const Collective what{std::string(name), input.dtype, elements(input), elements(output)};
    const bool is_reduce = name == "allreduce";
    auto outer =
        plain("c10d::" + std::string(op), {is_reduce ? tensor_list({input}) : arg(output),
                                           is_reduce ? none() : arg(input), none(), none(), scalar("-1")});
    const Args args{tensor_list({input}),
                    none(),
                    none(),
                    scalar("0"),
                    none(),
                    scalar_list("[]"),
                    scalar_list("[]"),
                    scalar("0"),
                    scalar("1"),
                    scalar(std::to_string(options.world_size))};
    auto record_op = builder.op({.name = "record_param_comms", .args = args, .collective = what});
    auto annotation = builder.op({.name = is_reduce ? "nccl:all_reduce" : "nccl:_all_gather_base",
                                  .args = {arg(input)},
                                  .is_annotation = true,
                                  .collective = {}});
    builder.call(Api::record_event);
    builder.call(Api::wait_event, Action::Effect::streams_join, collective_stream);
    builder.call(Api::query_capture);
    builder.launch(Api::launch_collective, device.collective(what, options.world_size, collective_count_++));
    builder.call(Api::record_event);
}

void ModelOps::wait_for_collectives() {
    builder.call(Api::wait_event, Action::Effect::streams_join, compute_stream);
}

void ModelOps::drop_temporaries(std::size_t keep) {
    const std::size_t drop = temporaries_.size() > keep ? temporaries_.size() - keep : 0;
    for (std::size_t i = 0; i < drop; ++i) builder.release(temporaries_[i]);
    temporaries_.erase(temporaries_.begin(), temporaries_.begin() + static_cast<std::ptrdiff_t>(drop));
}

}  // namespace tracelens::synth
