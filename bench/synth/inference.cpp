// Serving with a key-value cache and continuous batching: a request group is a prefill step and several
// decode steps, one of which takes in the prompts of new requests.
#include <array>
#include <memory>

#include "decoder.hpp"
#include "graph.hpp"
#include "serving_names.hpp"
#include "workload.hpp"

namespace tracelens::synth {
namespace {

struct Group {
    std::int64_t requests = 1;
    std::int64_t prompt = 1;
};

constexpr std::array<Group, 3> groups{{{4, 512}, {8, 384}, {2, 1024}}};
constexpr std::size_t steps_per_group = 6;
constexpr std::size_t mixed_step = 3;  // of a group, counted from 0
constexpr Group newcomers{2, 128};

Batch batch_of(std::size_t phase) {
    const Group group = groups[phase / steps_per_group];
    const std::size_t step = phase % steps_per_group;
    if (step == 0) return {group.requests, group.prompt, 0, 0};
    Batch batch{0, 0, group.requests, group.prompt + static_cast<std::int64_t>(step) - 1};
    if (step == mixed_step) {
        batch.context = newcomers.requests;
        batch.prompt = newcomers.prompt;
    }
    return batch;
}

class Inference final : public Workload {
  public:
    Inference(const Options& options, Catalogue& catalogue, const Device& device)
        : options_(options), catalogue_(catalogue), device_(device) {}

    [[nodiscard]] std::size_t period() const override { return groups.size() * steps_per_group; }

    Program plan(std::size_t phase) override {
        const Batch batch = batch_of(phase);
        const bool is_decode = batch.context == 0;
        // Only a pure prefill or decode batch is rectangular; a mixed one is a single row of tokens.
        const bool is_mixed = batch.context > 0 && batch.generation > 0;
        const Dims shape = is_mixed    ? Dims{1, batch.tokens()}
                           : is_decode ? Dims{batch.generation, 1}
                                       : Dims{batch.context, batch.prompt};
        const std::int64_t past = is_decode ? batch.past : 0;

        ProgramBuilder builder = make_builder();
        ModelOps ops(builder, device_, options_);
        {
            auto step = builder.op({.name = "ProfilerStep#",
                                    .args = {},
                                    .has_shapes = false,
                                    .is_annotation = true,
                                    .is_numbered = true,
                                    .collective = {}});
            schedule(ops, !is_decode);
            auto execute = builder.op({.name = annotation_name(options_.serving_names, batch),
                                       .args = {},
                                       .has_shapes = false,
                                       .is_annotation = true,
                                       .collective = {}});
            Tensor x = contiguous(shape, Dtype::i64);
            ops.copy_to(x, "HtoD", !is_decode);
            x = options_.graphs && is_decode ? replay(ops, x, past) : forward(ops, x, past);
            sample(ops, x);
        }
        ops.drop_temporaries();
        return builder.take();
    }

  private:
    ProgramBuilder make_builder() {
        const int limit = options_.python_depth - static_cast<int>(entry_depth(options_));
        return {catalogue_, options_.python_depth > 0 ? limit : 0};
    }

    void schedule(ModelOps& ops, bool is_prefill) {
        ProgramBuilder& b = ops.builder;
        auto frame = b.frame("project/engine/scheduler.py(143): schedule");
        b.chatter(is_prefill ? 2000 : 2040, is_prefill ? 60 : 36);
        b.pause(is_prefill ? 120000 : 25000);
    }

    /// What forward() launches, from a graph that was captured before the trace began.
    Tensor replay(ModelOps& ops, const Tensor& ids, std::int64_t past) {
        ProgramBuilder capture = make_builder();
        ModelOps captured(capture, device_, options_);
        Tensor logits = forward(captured, ids, past);
        captured.drop_temporaries();
        ProgramBuilder& b = ops.builder;
        auto runner = b.frame("project/engine/graph_runner.py(188): replay_step");
        b.chatter(2400, 10);
        auto graph = b.frame("torch/cuda/graphs.py(139): replay");
        auto replay = b.frame(builtin_method("replay", "torch._C._CUDAGraph"));
        b.launch_graph(device_work(capture.take(), catalogue_));
        return logits;
    }

    Tensor forward(ModelOps& ops, const Tensor& ids, std::int64_t past) {
        ProgramBuilder& b = ops.builder;
        auto model = b.module("DecoderForCausalLM", "project/model/decoder.py(310): forward");
        b.chatter(2100, 20);
        Tensor x = ops.embedding(ids, vocabulary_size, hidden_size);
        for (int layer = 0; layer < options_.layers; ++layer) {
            x = decoder_layer(ops, x, layer, true, {past});
            ops.drop_temporaries(1);
        }
        if (options_.collectives) ops.wait_for_collectives();
        x = ops.norm(x, false);
        if (x.dims[1] > 1) x = ops.slice(x, 1, x.dims[1] - 1, x.dims[1]);
        const Tensor logits = ops.linear(x, vocabulary_size);
        if (options_.collectives) {
            Tensor gathered = logits;
            gathered.dims.back() *= options_.world_size;
            ops.collective("_allgather_base_", "_allgather_base", logits, gathered);
            ops.wait_for_collectives();
        }
        return logits;
    }

    void sample(ModelOps& ops, const Tensor& logits) {
        ProgramBuilder& b = ops.builder;
        auto frame = b.frame("project/engine/sampler.py(77): sample");
        b.chatter(2200, 12);
        const Tensor token = contiguous({logits.dims[0]}, Dtype::i64);
        {
            auto function = b.function(builtin_method("argmax", "type"));
            auto op = ops.plain("aten::argmax", {arg(logits), scalar("-1"), scalar("False")});
            ops.produce(token,
                        device_.reduction("at::native::ArgMaxOps<float>", logits.dims[0], bytes(logits)));
        }
        {
            auto function = b.function(builtin_method("eq"));
            auto op = ops.plain("aten::eq", {arg(token), scalar("2")});
            ops.produce(contiguous(token.dims, Dtype::boolean),
                        device_.elementwise("at::native::AUnaryFunctor<long, long, bool, "
                                            "at::native::(anonymous namespace)::CompareEqFunctor<long> >",
                                            2, elements(token), 2 * bytes(token)));
        }
        ops.copy_to(token, "DtoH", true);
        auto stop = b.frame("project/engine/scheduler.py(288): update_requests");
        b.chatter(2300, 16);
        b.pause(18000);
    }

    const Options& options_;
    Catalogue& catalogue_;
    const Device& device_;
};

}  // namespace

std::unique_ptr<Workload> make_inference(const Options& options, Catalogue& catalogue, const Device& device) {
    return std::make_unique<Inference>(options, catalogue, device);
}

}  // namespace tracelens::synth
