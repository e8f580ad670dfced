// Serving with a key-value cache: each request is one prefill step and several decode steps.
#include <array>
#include <memory>

#include "decoder.hpp"
#include "workload.hpp"

namespace tracelens::synth {
namespace {

struct Request {
    std::int64_t batch = 1;
    std::int64_t prompt = 1;
};

constexpr std::array<Request, 3> requests{{{4, 512}, {8, 384}, {2, 1024}}};
constexpr std::size_t steps_per_request = 6;

class Inference final : public Workload {
  public:
    Inference(const Options& options, Catalogue& catalogue, const Device& device)
        : options_(options), catalogue_(catalogue), device_(device) {}

    [[nodiscard]] std::size_t period() const override { return requests.size() * steps_per_request; }

    Program plan(std::size_t phase) override {
        const Request request = requests[phase / steps_per_request];
        const auto generated = static_cast<std::int64_t>(phase % steps_per_request);
        const bool is_prefill = generated == 0;
        const std::int64_t past = is_prefill ? 0 : request.prompt + generated - 1;
        const std::int64_t tokens = is_prefill ? request.prompt : 1;

        const int limit = options_.python_depth - static_cast<int>(entry_depth(options_));
        ProgramBuilder builder(catalogue_, options_.python_depth > 0 ? limit : 0);
        ModelOps ops(builder, device_, options_);
        {
            auto step = builder.op({.name = "ProfilerStep#",
                                    .args = {},
                                    .has_shapes = false,
                                    .is_annotation = true,
                                    .is_numbered = true,
                                    .collective = {}});
            schedule(ops, is_prefill);
            Tensor x = contiguous({request.batch, tokens}, Dtype::i64);
            ops.copy_to(x, "HtoD", is_prefill);
            x = forward(ops, x, past);
            sample(ops, x);
        }
        ops.drop_temporaries();
        return builder.take();
    }

  private:
    void schedule(ModelOps& ops, bool is_prefill) {
        ProgramBuilder& b = ops.builder;
        auto frame = b.frame("project/engine/scheduler.py(143): schedule");
        b.chatter(is_prefill ? 2000 : 2040, is_prefill ? 60 : 36);
        b.pause(is_prefill ? 120000 : 25000);
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
