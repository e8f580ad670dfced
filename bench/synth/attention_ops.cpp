// The ops of ModelOps around attention, embeddings, the loss, and copies between host and device.
#include <utility>

#include "model_ops.hpp"

namespace tracelens::synth {

Tensor ModelOps::rotary(const Tensor& x, const Tensor& cosine, const Tensor& sine) {
    const std::int64_t half = x.dims.back() / 2;
    Tensor rotated = contiguous(x.dims);
    const Tensor direct = mul(x, cosine);
    {
        auto frame = builder.frame("project/model/rotary.py(44): rotate_half");
        const int last = static_cast<int>(x.dims.size()) - 1;
        const Tensor first_half = slice(x, last, 0, half);
        const Tensor second_half = slice(x, last, half, 2 * half);
        {
            const Tensor negated = contiguous(second_half.dims);
            elementwise(
                "aten::neg", {arg(second_half)}, negated, functors::neg, 2, "NegBackward0",
                [this, negated] { elementwise("aten::neg", {arg(negated)}, negated, functors::neg, 2); });
        }
        auto function = builder.function(builtin_method("cat", "type"));
        auto op = differentiable(
            "aten::cat", {tensor_list({second_half, first_half}), scalar("-1")}, rotated, "CatBackward0",
            [this, rotated, half] {
                for (const std::int64_t begin : {std::int64_t{0}, half}) {
                    auto narrow =
                        plain("aten::narrow", {arg(rotated), scalar("-1"), scalar(std::to_string(begin)),
                                               scalar(std::to_string(half))});
                    leaf("aten::slice", {arg(rotated), scalar("-1"), scalar(std::to_string(begin)),
                                         scalar(std::to_string(begin + half)), scalar("1")});
                }
            });
        produce(
            rotated,
            device.plain("void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous "
                         "namespace)::OpaqueType<2u>, unsigned int, "
                         "4, 64, 64>(at::native::(anonymous namespace)::OpaqueType<2u>*, "
                         "at::native::(anonymous namespace)::CatArrInputTensorMetadata<"
                         "at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 64, 64>, "
                         "at::native::(anonymous namespace)::TensorSizeStride<"
                         "unsigned int, 4u>, int, unsigned int)",
                         elements(rotated) / 2048, 512, 2 * bytes(rotated)));
    }
    const Tensor turned = mul(rotated, sine);
    return add(direct, turned);
}

Tensor ModelOps::attention(const Tensor& q, const Tensor& k, const Tensor& v) {
    const std::int64_t batch = q.dims[0];
    const std::int64_t heads = q.dims[1];
    const std::int64_t queries = q.dims[2];
    const std::int64_t keys = k.dims[2];
    const std::int64_t head_dim = q.dims[3];
    const Tensor out = transposed(contiguous({batch, queries, heads, head_dim}), 1, 2);
    const Tensor statistics = contiguous({batch, heads, queries}, Dtype::f32);
    const std::string is_causal = queries > 1 ? "True" : "False";
    builder.leaf("torch/backends/cuda/__init__.py(301): flash_sdp_enabled");
    auto function = builder.function(builtin_function("scaled_dot_product_attention"));
    auto sdpa = composite("aten::scaled_dot_product_attention",
                          {arg(q), arg(k), arg(v), none(), scalar("0."), scalar(is_causal),
                           scalar("0.088388347648318447"), scalar("True")});
    auto flash = differentiable(
        "aten::_scaled_dot_product_flash_attention",
        {arg(q), arg(k), arg(v), scalar("0."), scalar(is_causal), scalar("False"),
         scalar("0.088388347648318447")},
        out, "ScaledDotProductFlashAttentionBackward0", [=, this] {
            const Args args{arg(out),
                            arg(q),
                            arg(k),
                            arg(v),
                            arg(out),
                            arg(statistics),
                            none(),
                            none(),
                            scalar(std::to_string(queries)),
                            scalar(std::to_string(keys)),
                            scalar("0."),
                            scalar(is_causal),
                            arg(contiguous({}, Dtype::i64)),
                            arg(contiguous({}, Dtype::i64)),
                            scalar("0.088388347648318447")};
            auto back = plain("aten::_scaled_dot_product_flash_attention_backward", args);
            for (const Tensor& each : {q, k, v}) transpose(each, 1, 2);
            auto inner = plain("aten::_flash_attention_backward", args);
            for (const Tensor& each : {q, k, v}) empty(contiguous(each.dims));
            builder.call(Api::query_capture);
            if (options.copies)
                builder.launch(Api::fill, device.fill(4 * batch * heads * queries * head_dim));
            for (int part = 0; part < 3; ++part)
                builder.launch(Api::launch_attention,
                               device.attention(true, part, batch * heads, queries, keys, head_dim));
        });
    const Tensor by_token = transpose(q, 1, 2);
    const Tensor keys_by_token = transpose(k, 1, 2);
    const Tensor values_by_token = transpose(v, 1, 2);
    {
        auto forward = plain(
            "aten::_flash_attention_forward",
            {arg(by_token), arg(keys_by_token), arg(values_by_token), none(), none(),
             scalar(std::to_string(queries)), scalar(std::to_string(keys)), scalar("0."), scalar(is_causal),
             scalar("False"), scalar("0.088388347648318447"), none(), none(), none(), none()});
        {
            auto like = plain("aten::empty_like", {arg(by_token), none(), none(), none(), none(), none()});
            empty_strided(contiguous(by_token.dims));
        }
        empty(statistics);
        builder.call(Api::query_capture);
        empty(contiguous({2}, Dtype::i64));
        produce(out, device.attention(false, 0, batch * heads, queries, keys, head_dim),
                Api::launch_attention);
        empty(contiguous({0}));
    }
    leaf("aten::detach", {arg(out)});
    return out;
}

Tensor ModelOps::embedding(const Tensor& ids, std::int64_t vocabulary, std::int64_t hidden) {
    const Tensor weight = contiguous({vocabulary, hidden});
    const Tensor out = contiguous({ids.dims[0], ids.dims[1], hidden});
    parameter(weight);
    auto module = builder.module("Embedding", "torch/nn/modules/sparse.py(190): forward");
    auto frame = builder.frame("torch/nn/functional.py(2437): embedding");
    auto function = builder.function(builtin_method("embedding", "type"));
    auto op = differentiable(
        "aten::embedding", {arg(weight), arg(ids), scalar("-1"), scalar("False"), scalar("False")}, out,
        "EmbeddingBackward0", [this, ids, out, weight] {
            const Args args{arg(out), arg(ids), scalar(std::to_string(weight.dims[0])), scalar("-1"),
                            scalar("False")};
            auto back = plain("aten::embedding_backward", args);
            auto dense = plain("aten::embedding_dense_backward", args);
            zero(weight);
            produce(weight,
                    device.plain("void at::native::(anonymous namespace)::compute_grad_weight<c10::BFloat16, "
                                 "long>(long const*, c10::BFloat16 "
                                 "const*, long*, long, long, long const*, long const*, float*, long)",
                                 elements(ids), 64, 3 * bytes(out)));
        });
    leaf("aten::reshape", {arg(ids), scalar_list("[-1]")});
    auto select =
        plain("aten::index_select", {arg(weight), scalar("0"), arg(contiguous({elements(ids)}, Dtype::i64))});
    leaf("aten::resize_", {arg(out), scalar_list(out.dims), none()});
    produce(out, device.plain("void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, "
                              "long, unsigned int, 2, 2, -2, true>("
                              "at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, "
                              "at::cuda::detail::TensorInfo<c10::BFloat16 const, unsigned int>, "
                              "at::cuda::detail::TensorInfo<long const, unsigned int>, int, int, unsigned "
                              "int, unsigned int, long)",
                              elements(out) / 512, 512, 2 * bytes(out)));
    return out;
}

Tensor ModelOps::patch_embedding(std::int64_t batch, std::int64_t side, std::int64_t channels) {
    constexpr std::int64_t patch = 14;
    const std::int64_t patches = side / patch;
    const Tensor image = contiguous({batch, 3, side, side});
    const Tensor weight = contiguous({channels, 3, patch, patch});
    const Tensor bias = contiguous({channels});
    const Tensor out = contiguous({batch, channels, patches, patches});
    const std::int64_t flops = 2 * elements(out) * 3 * patch * patch;
    const std::string patch_list = to_text({patch, patch});
    parameter(bias);
    parameter(weight);
    auto module = builder.module("Conv2d", "torch/nn/modules/conv.py(553): forward");
    builder.leaves("torch/nn/modules/module.py(1915): __getattr__", 2);
    auto frame = builder.frame("torch/nn/modules/conv.py(536): _conv_forward");
    auto function = builder.function(builtin_method("conv2d", "type"));
    const Args shape{scalar_list(patch_list), scalar_list("[0, 0]"), scalar_list("[1, 1]")};
    auto conv2d = composite("aten::conv2d",
                            {arg(image), arg(weight), arg(bias), shape[0], shape[1], shape[2], scalar("1")});
    const Args args{arg(image),      arg(weight),           arg(bias),  shape[0], shape[1], shape[2],
                    scalar("False"), scalar_list("[0, 0]"), scalar("1")};
    auto convolution = differentiable("aten::convolution", args, out, "ConvolutionBackward0", [=, this] {
        auto back =
            plain("aten::convolution_backward",
                  {arg(out), arg(image), arg(weight), scalar_list(bias.dims), shape[0], shape[1], shape[2],
                   scalar("False"), scalar_list("[0, 0]"), scalar("1"), scalar_list("[False, True, True]")});
        for (int i = 0; i < 2; ++i) builder.call(Api::query_properties);
        produce(weight, device.convolution(flops, 256, 2), Api::launch_gemm);
        produce(bias, device.reduction(
                          "at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float> >",
                          channels, bytes(out)));
    });
    Args inner_args = args;
    for (const char* flag : {"False", "False", "True", "True"}) inner_args.push_back(scalar(flag));
    auto inner = plain("aten::_convolution", std::move(inner_args));
    auto library = plain(device.is_amd() ? "aten::miopen_convolution" : "aten::cudnn_convolution",
                         {arg(image), arg(weight), shape[1], shape[0], shape[2], scalar("1"), scalar("False"),
                          scalar("False")});
    leaf("aten::resize_", {arg(out), scalar_list(out.dims), none()});
    for (int i = 0; i < 2; ++i) builder.call(Api::query_properties);
    produce(out, device.convolution(flops, 256, 0), Api::launch_gemm);
    return out;
}

Tensor ModelOps::cross_entropy(const Tensor& logits, const Tensor& labels) {
    const std::int64_t rows = logits.dims[0];
    const Tensor wide = to(logits, Dtype::f32);
    const Tensor loss = contiguous({}, Dtype::f32);
    auto frame = builder.frame("torch/nn/functional.py(3441): cross_entropy");
    auto function = builder.function(builtin_function("cross_entropy_loss"));
    auto op = composite("aten::cross_entropy_loss",
                        {arg(wide), arg(labels), none(), scalar("1"), scalar("-100"), scalar("0.")});
    {
        auto outer = composite("aten::log_softmax", {arg(wide), scalar("1"), none()});
        auto inner = differentiable(
            "aten::_log_softmax", {arg(wide), scalar("1"), scalar("False")}, wide, "LogSoftmaxBackward0",
            [this, wide] {
                auto back = plain("aten::_log_softmax_backward_data",
                                  {arg(wide), arg(wide), scalar("1"), scalar("6")});
                produce(wide,
                        device.plain("void at::native::(anonymous namespace)::cunn_SoftMaxBackward<4, float, "
                                     "float, float, at::native::(anonymous namespace)::"
                                     "LogSoftMaxBackwardEpilogue>(float*, float const*, float const*, long)",
                                     wide.dims[0], 1024, 3 * bytes(wide)));
            });
        produce(wide, device.plain("void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, "
                                   "float, float, at::native::(anonymous namespace)::"
                                   "LogSoftMaxForwardEpilogue>(float*, float const*, int)",
                                   rows, 1024, 2 * bytes(wide)));
    }
    auto outer =
        composite("aten::nll_loss_nd", {arg(wide), arg(labels), none(), scalar("1"), scalar("-100")});
    auto middle = composite("aten::nll_loss", {arg(wide), arg(labels), none(), scalar("1"), scalar("-100")});
    auto inner = differentiable(
        "aten::nll_loss_forward", {arg(wide), arg(labels), none(), scalar("1"), scalar("-100")}, loss,
        "NllLossBackward0", [this, wide, labels, loss] {
            auto back = plain("aten::nll_loss_backward", {arg(loss), arg(wide), arg(labels), none(),
                                                          scalar("1"), scalar("-100"), arg(loss)});
            zero(wide);
            produce(
                wide,
                device.plain(
                    "void at::native::(anonymous namespace)::nll_loss_backward_reduce_cuda_kernel_2d<float, "
                    "long>(float*, float const*, "
                    "long const*, float const*, float const*, bool, int, int, long, long)",
                    1, 32, bytes(labels)));
        });
    produce(loss, device.plain(
                      "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, "
                      "float, long>(float*, float*, float const*, "
                      "long const*, float const*, bool, long, long, long, long)",
                      1, 32, bytes(labels)));
    return loss;
}

Tensor ModelOps::copy_to(const Tensor& x, std::string_view kind, bool is_blocking) {
    Tensor out = contiguous(x.dims, x.dtype);
    auto frame = builder.function(builtin_method("to"));
    auto op = plain("aten::to", {arg(x), scalar("4"), scalar("0"), scalar("cuda:0"), none(),
                                 scalar(is_blocking ? "False" : "True"), scalar("False"), none()});
    auto copy = plain("aten::_to_copy",
                      {arg(x), scalar("4"), scalar("0"), scalar("cuda:0"), none(), scalar("False"), none()});
    empty_strided(out);
    auto copy_op = plain("aten::copy_", {arg(out), arg(x), scalar(is_blocking ? "False" : "True")});
    if (!options.copies) return out;
    const WorkInfo work = device.copy(kind, bytes(out), !is_blocking);
    if (!is_blocking) {
        builder.launch(Api::copy, work);
    } else if (device.is_amd()) {
        builder.launch(Api::copy_blocking, work, Action::Effect::wait_for_work);
    } else {
        builder.launch(Api::copy, work);
        builder.call(Api::synchronize_stream, Action::Effect::wait_for_device);
    }
    return out;
}

void ModelOps::item(const Tensor& x) {
    auto frame = builder.function(builtin_method("item"));
    auto op = plain("aten::item", {arg(x)});
    auto inner = plain("aten::_local_scalar_dense", {arg(x)});
    if (!options.copies) {
        builder.call(Api::synchronize_stream, Action::Effect::wait_for_device);
    } else if (device.is_amd()) {
        builder.launch(Api::copy_blocking, device.copy("DtoH", size_of(x.dtype), true),
                       Action::Effect::wait_for_work);
    } else {
        builder.launch(Api::copy, device.copy("DtoH", size_of(x.dtype), true));
        builder.call(Api::synchronize_stream, Action::Effect::wait_for_device);
    }
}

void ModelOps::zero(const Tensor& x) {
    auto op = plain("aten::zero_", {arg(x)});
    if (options.copies) {
        builder.launch(Api::fill, device.fill(bytes(x)));
        return;
    }
    auto inner = plain("aten::fill_", {arg(x), scalar("0")});
    builder.launch(Api::launch, device.elementwise(functors::fill, 1, elements(x), bytes(x)));
}

}  // namespace tracelens::synth
