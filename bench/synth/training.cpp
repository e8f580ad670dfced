// Training of a small multimodal decoder: input, forward, backward on the autograd thread, clipping,
// optimizer.
#include <array>
#include <memory>

#include "decoder.hpp"
#include "workload.hpp"

namespace tracelens::synth {
namespace {

constexpr std::array<std::int64_t, 4> sequence_lengths{1024, 768, 896, 512};
constexpr std::int64_t batch_size = 2;
constexpr std::size_t tensors_per_launch = 30;  // what fits the argument block of a multi-tensor kernel

class Training final : public Workload {
  public:
    Training(const Options& options, Catalogue& catalogue, const Device& device)
        : options_(options), catalogue_(catalogue), device_(device) {}

    [[nodiscard]] std::size_t period() const override { return sequence_lengths.size(); }

    Program plan(std::size_t phase) override {
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
            const Tensor ids = load_batch(ops, sequence_lengths[phase]);
            const Tensor loss = forward(ops, ids);
            run_backward(ops);
            clip_gradients(ops);
            update(ops);
            ops.item(loss);
            log_step(ops);
        }
        ops.drop_temporaries();
        return builder.take();
    }

  private:
    Tensor load_batch(ModelOps& ops, std::int64_t length) {
        ProgramBuilder& b = ops.builder;
        const Tensor ids = contiguous({batch_size, length}, Dtype::i64);
        {
            auto iterate = b.frame("torch/utils/data/dataloader.py(701): __next__");
            auto loading = b.op({.name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                                 .args = {},
                                 .has_shapes = false,
                                 .is_annotation = true,
                                 .collective = {}});
            auto fetch = b.frame("torch/utils/data/dataloader.py(757): _next_data");
            for (std::size_t sample = 0; sample < 4; ++sample) {
                auto item = b.frame("project/data/batching.py(88): __getitem__");
                b.chatter(500 + sample, 14);
                b.pause(30000);
                ops.leaf("aten::lift_fresh", {arg(contiguous({length}, Dtype::i64))});
            }
            auto collate = b.frame("torch/utils/data/_utils/collate.py(155): collate");
            auto stack =
                ops.plain("aten::stack",
                          {tensor_list({contiguous({length}, Dtype::i64), contiguous({length}, Dtype::i64)}),
                           scalar("0")});
            b.pause(60000);
        }
        auto frame = b.frame("project/engine/state.py(140): move_batch");
        ops.copy_to(contiguous({batch_size, 3, 448, 448}, Dtype::f32), "HtoD", true);
        ops.copy_to(ids, "HtoD", false);
        ops.copy_to(ids, "HtoD", false);
        return ids;
    }

    Tensor forward(ModelOps& ops, const Tensor& ids) {
        ProgramBuilder& b = ops.builder;
        ops.record(true);
        auto wrapper = options_.collectives ? b.module("DistributedDataParallel",
                                                       "torch/nn/parallel/distributed.py(1637): forward")
                                            : ProgramBuilder::Scope{};
        auto model = b.module("MultimodalDecoder", "project/model/decoder.py(240): forward");
        b.chatter(900, 30);
        ops.patch_embedding(batch_size, 448, 1024);
        Tensor x = ops.embedding(ids, vocabulary_size, hidden_size);
        for (int layer = 0; layer < options_.layers; ++layer) x = decoder_layer(ops, x, layer, false, {});
        x = ops.norm(x, false);
        const Tensor logits = ops.linear(x, vocabulary_size);
        const Tensor flat = ops.view(logits, {logits.dims[0] * logits.dims[1], vocabulary_size});
        const Tensor loss = ops.cross_entropy(flat, contiguous({flat.dims[0]}, Dtype::i64));
        ops.record(false);
        return loss;
    }

    void run_backward(ModelOps& ops) {
        ProgramBuilder& b = ops.builder;
        auto tensor_frame = b.frame("torch/_tensor.py(614): backward");
        auto graph_frame = b.frame("torch/autograd/__init__.py(354): backward");
        auto engine_frame = b.frame("torch/autograd/graph.py(815): _engine_run_backward");
        auto engine = b.frame(builtin_method("run_backward", "torch._C._EngineBase"));
        b.thread(autograd_thread);
        ops.backward();
        if (options_.collectives) ops.wait_for_collectives();
        b.thread(main_thread);
    }

    void clip_gradients(ModelOps& ops) {
        ProgramBuilder& b = ops.builder;
        auto frame = b.frame("torch/nn/utils/clip_grad.py(166): clip_grad_norm_");
        per_parameter(ops, 2, 12);
        auto function = b.function(builtin_method("_foreach_norm", "type"));
        const Tensor norm = contiguous({}, Dtype::f32);
        {
            auto op = ops.plain("aten::_foreach_norm", {tensor_list(ops.parameters()), scalar("2"), none()});
            launch_multi_tensor(
                ops, "LpNormFunctor<c10::BFloat16, (at::native::NormType)1, c10::BFloat16, 1, 1, 0>", 1);
        }
        // Reading the norm makes the host wait for the whole backward; the optimizer then starts with an idle
        // device.
        ops.item(norm);
    }

    void update(ModelOps& ops) {
        struct Stage {
            std::string_view op;
            std::string_view functor;
            int lists;
        };
        static constexpr std::array stages{
            Stage{"aten::_foreach_mul_",
                  "BinaryOpScalarFunctor<c10::BFloat16, 1, 1, 0>, std::multiplies<float>, float", 1},
            Stage{"aten::_foreach_lerp_",
                  "TernaryOpScalarFunctor<c10::BFloat16, 2, 2, 0>, LerpFunctor<float>, float", 2},
            Stage{"aten::_foreach_mul_",
                  "BinaryOpScalarFunctor<c10::BFloat16, 1, 1, 0>, std::multiplies<float>, float", 1},
            Stage{"aten::_foreach_addcmul_",
                  "PointwiseOpScalarFunctor<c10::BFloat16, 3, 3, 0>, std::multiplies<float>, float", 3},
            Stage{"aten::_foreach_sqrt", "UnaryOpFunctor<c10::BFloat16, 2, 1, 1>, at::native::Sqrt<float>",
                  2},
            Stage{"aten::_foreach_div_",
                  "BinaryOpScalarListFunctor<c10::BFloat16, 1, 1, 0>, std::divides<float>", 1},
            Stage{"aten::_foreach_add_",
                  "BinaryOpScalarFunctor<c10::BFloat16, 1, 1, 0>, std::plus<float>, float", 1},
            Stage{"aten::_foreach_addcdiv_",
                  "PointwiseOpScalarListFunctor<c10::BFloat16, 3, 3, 0>, std::divides<float>", 3}};
        ProgramBuilder& b = ops.builder;
        auto wrapper = b.frame("torch/optim/optimizer.py(473): wrapper");
        b.chatter(1300, 8);
        auto annotation = b.op({.name = "Optimizer.step#AdamW.step",
                                .args = {},
                                .has_shapes = false,
                                .is_annotation = true,
                                .collective = {}});
        auto use_grad = b.frame("torch/optim/optimizer.py(72): _use_grad");
        auto step = b.frame("torch/optim/adamw.py(214): step");
        {
            auto init = b.frame("torch/optim/adamw.py(116): _init_group");
            per_parameter(ops, 6, 18);
        }
        auto adamw = b.frame("torch/optim/adamw.py(541): _multi_tensor_adamw");
        {
            auto group = b.frame("torch/optim/optimizer.py(539): _group_tensors_by_device_and_dtype");
            per_parameter(ops, 2, 8);
        }
        for (const Stage& stage : stages) {
            auto function = b.function(builtin_method(stage.op.substr(6), "type"));
            Args args;
            for (int i = 0; i < stage.lists; ++i) args.push_back(tensor_list(ops.parameters()));
            args.push_back(scalar("0.99990000000000001"));
            auto op = ops.plain(stage.op, std::move(args));
            launch_multi_tensor(ops, stage.functor, stage.lists);
        }
        zero_gradients(ops);
    }

    void zero_gradients(ModelOps& ops) {
        auto frame = ops.builder.frame("torch/optim/optimizer.py(955): zero_grad");
        per_parameter(ops, 1, 4);
    }

    void log_step(ModelOps& ops) {
        ProgramBuilder& b = ops.builder;
        {
            auto scheduler = b.frame("torch/optim/lr_scheduler.py(182): step");
            b.chatter(1600, 12);
        }
        auto metrics = b.frame("project/engine/metrics.py(61): log_step");
        b.chatter(1700, 40);
        b.pause(40000);
    }

    /// Frames of a python loop over the parameters.
    void per_parameter(ModelOps& ops, int appends, int others) {
        for (std::size_t i = 0; i < ops.parameters().size(); ++i) {
            ops.builder.leaves("<built-in method append of list object at 0x7f0e871077c0>", appends);
            ops.builder.chatter(1000 + i % 12, others);
        }
    }

    void launch_multi_tensor(ModelOps& ops, std::string_view functor, int lists) {
        std::int64_t count = 0;
        std::size_t tensors = 0;
        const auto& parameters = ops.parameters();
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            count += elements(parameters[i]);
            if (++tensors < tensors_per_launch && i + 1 < parameters.size()) continue;
            ops.builder.launch(Api::launch, device_.multi_tensor(functor, lists, count));
            ops.builder.pause(9000);  // packing of the argument block
            count = 0;
            tensors = 0;
        }
    }

    const Options& options_;
    Catalogue& catalogue_;
    const Device& device_;
};

}  // namespace

std::unique_ptr<Workload> make_training(const Options& options, Catalogue& catalogue, const Device& device) {
    return std::make_unique<Training>(options, catalogue, device);
}

}  // namespace tracelens::synth
