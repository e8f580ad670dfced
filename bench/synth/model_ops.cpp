#include "model_ops.hpp"

#include <utility>

namespace tracelens::synth {

// --- building blocks ---

ModelOps::Scope ModelOps::plain(std::string_view name, Args args) {
    return builder.op({.name = std::string(name), .args = std::move(args), .collective = {}});
}

ModelOps::Scope ModelOps::composite(std::string_view name, Args args) {
    if (!is_recording_) return plain(name, std::move(args));
    const OpInfo info{.name = std::string(name),
                      .args = std::move(args),
                      .sequence = SequenceUse::forward,
                      .collective = {}};
    return builder.op(info, builder.peek_sequence());
}

ModelOps::Scope ModelOps::differentiable(std::string_view name, Args args, const Tensor& output,
                                         std::string_view node, Body body) {
    if (!is_recording_ || node.empty()) return plain(name, std::move(args));
    const std::int32_t sequence = builder.next_sequence();
    tape_.push_back({std::string(node), output, sequence, std::move(body), {}});
    const OpInfo info{.name = std::string(name),
                      .args = std::move(args),
                      .sequence = SequenceUse::forward_flow,
                      .collective = {}};
    return builder.op(info, sequence);
}

void ModelOps::produce(const Tensor& output, const WorkInfo& work, Api api) {
    const std::int64_t handle = builder.allocate(bytes(output));
    if (is_recording_ && !tape_.empty()) {
        tape_.back().saved.push_back(handle);
        pack_hooks();
    } else {
        temporaries_.push_back(handle);
    }
    if (api == Api::launch_gemm) {
        // The libraries ask about the device before choosing a kernel.
        if (device.is_amd()) {
            for (int i = 0; i < 3; ++i) builder.call(Api::query_properties);
        } else {
            builder.call(Api::query_properties);
            builder.call(Api::set_attribute);
        }
        builder.pause(device.is_amd() ? 6000 : 3000);
    }
    builder.launch(api, work);
}

void ModelOps::empty(const Tensor& tensor) {
    auto op =
        plain("aten::empty", {scalar_list(tensor.dims), scalar(tensor.dtype == Dtype::bf16 ? "15" : "6"),
                              none(), scalar("cuda:0"), scalar("False"), none()});
    temporaries_.push_back(builder.allocate(bytes(tensor)));
}

void ModelOps::empty_strided(const Tensor& tensor) {
    auto op = plain("aten::empty_strided",
                    {scalar_list(tensor.dims), scalar_list(tensor.strides),
                     scalar(tensor.dtype == Dtype::bf16 ? "15" : "6"), none(), scalar("cuda:0"), none()});
    temporaries_.push_back(builder.allocate(bytes(tensor)));
}

void ModelOps::elementwise(std::string_view name, Args args, const Tensor& out, std::string_view functor,
                           int operands, std::string_view node, Body body) {
    auto op = differentiable(name, std::move(args), out, node, std::move(body));
    produce(out, device.elementwise(functor, operands, elements(out), bytes(out) * operands));
}

void ModelOps::mm(const Tensor& a, const Tensor& b, const Tensor& out, GemmLayout layout,
                  std::string_view node, Body body) {
    auto op = differentiable("aten::mm", {arg(a), arg(b)}, out, node, std::move(body));
    const WorkInfo work = device.gemm(a.dims[0], b.dims[1], a.dims[1], layout);
    // cuBLAS clears its split-k semaphores before weight gradients.
    if (!device.is_amd() && options.copies && layout == GemmLayout::weight_gradient)
        builder.launch(Api::fill, device.fill(4));
    produce(out, work, Api::launch_gemm);
}

// --- tensor functions ---

Tensor ModelOps::view(const Tensor& x, Dims dims) {
    Tensor out = contiguous(std::move(dims), x.dtype);
    auto op =
        differentiable("aten::view", {arg(x), scalar_list(out.dims)}, out, "ViewBackward0", [this, x, out] {
            auto reshape_op = plain("aten::reshape", {arg(out), scalar_list(x.dims)});
            leaf("aten::view", {arg(out), scalar_list(x.dims)});
        });
    return out;
}

Tensor ModelOps::reshape(const Tensor& x, Dims dims) {
    auto op = composite("aten::reshape", {arg(x), scalar_list(dims)});
    return view(x, std::move(dims));
}

Tensor ModelOps::transpose(const Tensor& x, int a, int b) {
    const Args args{arg(x), scalar(std::to_string(a)), scalar(std::to_string(b))};
    Tensor out = transposed(x, static_cast<std::size_t>(a), static_cast<std::size_t>(b));
    auto op = differentiable("aten::transpose", args, out, "TransposeBackward0", [this, out, a, b] {
        auto back =
            plain("aten::transpose", {arg(out), scalar(std::to_string(a)), scalar(std::to_string(b))});
        leaf("aten::as_strided", {arg(out), scalar_list(out.dims), scalar_list(out.strides), none()});
    });
    leaf("aten::as_strided", {arg(x), scalar_list(out.dims), scalar_list(out.strides), none()});
    return out;
}

Tensor ModelOps::slice(const Tensor& x, int dim, std::int64_t begin, std::int64_t end) {
    Tensor out = x;
    out.dims[static_cast<std::size_t>(dim)] = end - begin;
    const Args args{arg(x), scalar(std::to_string(dim)), scalar(std::to_string(begin)),
                    scalar(std::to_string(end)), scalar("1")};
    auto op = differentiable("aten::slice", args, out, "SliceBackward0", [this, x, out] {
        auto back = plain("aten::slice_backward", {arg(out), scalar_list(x.dims), scalar("3"), scalar("0"),
                                                   scalar("64"), scalar("1")});
        {
            auto zeros =
                plain("aten::zeros", {scalar_list(x.dims), scalar("15"), none(), scalar("cuda:0"), none()});
            zero(contiguous(x.dims, x.dtype));
        }
        elementwise("aten::copy_", {arg(out), arg(out), scalar("False")}, out, functors::copy_bfloat16, 2);
    });
    leaf("aten::as_strided",
         {arg(x), scalar_list(out.dims), scalar_list(out.strides), scalar(std::to_string(begin))});
    return out;
}

Tensor ModelOps::add(const Tensor& a, const Tensor& b) {
    Tensor out = contiguous(a.dims, a.dtype);
    elementwise("aten::add", {arg(a), arg(b), scalar("1")}, out, functors::add, 3, "AddBackward0");
    return out;
}

Tensor ModelOps::mul(const Tensor& a, const Tensor& b) {
    Tensor out = contiguous(elements(a) >= elements(b) ? a.dims : b.dims, a.dtype);
    auto op = differentiable("aten::mul", {arg(a), arg(b)}, out, "MulBackward0", [this, a, b, out] {
        elementwise("aten::mul", {arg(out), arg(b)}, contiguous(out.dims), functors::mul, 3);
        elementwise("aten::mul", {arg(out), arg(a)}, contiguous(out.dims), functors::mul, 3);
    });
    const bool is_broadcast = elements(a) != elements(b);
    produce(out, is_broadcast ? device.strided(functors::mul, elements(out), 3 * bytes(out))
                              : device.elementwise(functors::mul, 3, elements(out), 3 * bytes(out)));
    return out;
}

Tensor ModelOps::silu(const Tensor& x) {
    Tensor out = contiguous(x.dims, x.dtype);
    elementwise("aten::silu", {arg(x)}, out, functors::silu, 2, "SiluBackward0", [this, x, out] {
        elementwise("aten::silu_backward", {arg(out), arg(x)}, out, functors::silu_backward, 3);
    });
    return out;
}

Tensor ModelOps::to(const Tensor& x, Dtype dtype) {
    Tensor out = contiguous(x.dims, dtype);
    const std::string code = dtype == Dtype::bf16 ? "15" : "6";
    const auto cast = [this](const Tensor& from, const Tensor& into) {
        empty_strided(into);
        auto copy = plain("aten::copy_", {arg(into), arg(from), scalar("False")});
        const auto functor = into.dtype == Dtype::f32 ? functors::to_float : functors::to_bfloat16;
        builder.launch(Api::launch,
                       device.elementwise(functor, 2, elements(into), bytes(from) + bytes(into)));
    };
    auto op = composite("aten::to", {arg(x), scalar(code), scalar("False"), scalar("False"), none()});
    auto copy = differentiable(
        "aten::_to_copy", {arg(x), scalar(code), none(), none(), none(), scalar("False"), none()}, out,
        "ToCopyBackward0", [this, cast, x, out, code] {
            auto back = plain("aten::to", {arg(out), scalar(code), scalar("False"), scalar("False"), none()});
            auto inner = plain("aten::_to_copy",
                               {arg(out), scalar(code), none(), none(), none(), scalar("False"), none()});
            cast(out, contiguous(x.dims, x.dtype));
        });
    cast(x, out);
    return out;
}

Tensor ModelOps::clone(const Tensor& x) {
    Tensor out = contiguous(x.dims, x.dtype);
    auto op = composite("aten::contiguous", {arg(x), scalar("0")});
    auto clone_op = differentiable("aten::clone", {arg(x), scalar("0")}, out, "CloneBackward0");
    {
        auto like = plain("aten::empty_like",
                          {arg(x), scalar("15"), none(), scalar("cuda:0"), scalar("False"), scalar("0")});
        empty(out);
    }
    auto copy = plain("aten::copy_", {arg(out), arg(x), scalar("False")});
    builder.launch(Api::launch, device.strided(functors::copy_bfloat16, elements(out), 2 * bytes(out)));
    return out;
}

Tensor ModelOps::matmul_linear(const Tensor& x, const Tensor& weight) {
    const std::int64_t features = x.dims.back();
    const std::int64_t rows = elements(x) / features;
    const std::int64_t columns = weight.dims[0];
    parameter(weight);
    auto op = composite("aten::linear", {arg(x), arg(weight), none()});
    const Tensor turned = transposed(weight, 0, 1);
    {
        auto t = differentiable("aten::t", {arg(weight)}, turned, "TBackward0", [this, turned] {
            auto back = plain("aten::t", {arg(turned)});
            auto inner = plain("aten::transpose", {arg(turned), scalar("0"), scalar("1")});
            leaf("aten::as_strided",
                 {arg(turned), scalar_list(turned.dims), scalar_list(turned.strides), none()});
        });
        auto inner = plain("aten::transpose", {arg(weight), scalar("0"), scalar("1")});
        leaf("aten::as_strided",
             {arg(weight), scalar_list(turned.dims), scalar_list(turned.strides), none()});
    }
    auto matmul = composite("aten::matmul", {arg(x), arg(turned)});
    const Tensor flat = reshape(x, {rows, features});
    const Tensor product = contiguous({rows, columns});
    mm(flat, turned, product, GemmLayout::forward, "MmBackward0", [this, flat, turned, product] {
        {
            auto t = plain("aten::t", {arg(flat)});
            auto inner = plain("aten::transpose", {arg(flat), scalar("0"), scalar("1")});
            leaf("aten::as_strided", {arg(flat), none(), none(), none()});
        }
        mm(transposed(product, 0, 1), flat, contiguous({product.dims[1], flat.dims[1]}),
           GemmLayout::weight_gradient, {}, {});
        mm(product, transposed(turned, 0, 1), flat, GemmLayout::input_gradient, {}, {});
    });
    Dims dims = x.dims;
    dims.back() = columns;
    Tensor out = contiguous(std::move(dims));
    auto final_view =
        differentiable("aten::_unsafe_view", {arg(product), scalar_list(out.dims)}, out,
                       "UnsafeViewBackward0", [this, out, product] {
                           auto back = plain("aten::reshape", {arg(out), scalar_list(product.dims)});
                           leaf("aten::view", {arg(out), scalar_list(product.dims)});
                       });
    return out;
}

Tensor ModelOps::rms_norm(const Tensor& x) {
    const auto call = [this](std::string_view method) { return builder.function(builtin_method(method)); };
    const Tensor weight = contiguous({x.dims.back()});
    Dims row_dims = x.dims;
    row_dims.back() = 1;
    const Tensor wide = contiguous(x.dims, Dtype::f32);
    const Tensor row = contiguous(row_dims, Dtype::f32);
    parameter(weight);
    {
        auto frame = call("to");
        to(x, Dtype::f32);
    }
    {
        auto frame = call("pow");
        leaf("aten::result_type", {arg(wide), scalar("2")});
        leaf("aten::to", {arg(wide), scalar("6"), scalar("False"), scalar("False"), none()});
        elementwise("aten::pow", {arg(wide), scalar("2")}, wide, functors::square, 2, "PowBackward0",
                    [this, wide] {
                        elementwise("aten::pow", {arg(wide), scalar("1")}, wide, functors::square, 2);
                        elementwise("aten::mul", {arg(wide), scalar("2")}, wide, functors::mul_float, 2);
                        elementwise("aten::mul", {arg(wide), arg(wide)}, wide, functors::mul_float, 3);
                    });
    }
    {
        auto frame = call("mean");
        auto op = differentiable(
            "aten::mean", {arg(wide), scalar_list("[-1]"), scalar("True"), none()}, row, "MeanBackward1",
            [this, wide, row] {
                auto expand = plain("aten::expand", {arg(row), scalar_list(wide.dims), scalar("False")});
                elementwise("aten::div", {arg(wide), scalar(std::to_string(wide.dims.back()))}, wide,
                            functors::div_true, 2);
            });
        produce(row, device.reduction("at::native::MeanOps<float, float, float, float>", elements(row),
                                      bytes(wide)));
    }
    elementwise("aten::add", {arg(row), scalar("9.9999999999999995e-07"), scalar("1")}, row,
                functors::add_scalar, 2, "AddBackward0");
    {
        auto frame = call("rsqrt");
        elementwise("aten::rsqrt", {arg(row)}, row, functors::rsqrt, 2, "RsqrtBackward0", [this, row] {
            elementwise("aten::pow", {arg(row), scalar("3")}, row, functors::square, 2);
            elementwise("aten::mul", {arg(row), arg(row)}, row, functors::mul_float, 3);
        });
    }
    {
        auto op = differentiable("aten::mul", {arg(wide), arg(row)}, wide, "MulBackward0", [this, wide, row] {
            elementwise("aten::mul", {arg(wide), arg(row)}, wide, functors::mul_float, 3);
            auto sum = plain("aten::sum", {arg(wide), scalar_list("[-1]"), scalar("True"), none()});
            produce(row,
                    device.reduction(
                        "at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float> >",
                        elements(row), bytes(wide)));
        });
        produce(wide, device.strided(functors::mul_float, elements(wide), 2 * bytes(wide)));
    }
    {
        auto frame = call("to");
        to(wide, Dtype::bf16);
    }
    return mul(weight, x);
}

Tensor ModelOps::layer_norm(const Tensor& x) {
    const Tensor weight = contiguous({x.dims.back()});
    const Tensor out = contiguous(x.dims);
    const std::int64_t rows = elements(x) / x.dims.back();
    const Args args{arg(x), scalar_list(weight.dims), arg(weight), arg(weight),
                    scalar("1.0000000000000001e-05")};
    parameter(weight);
    parameter(weight);
    auto op = composite("aten::layer_norm", args);
    auto native = differentiable(
        "aten::native_layer_norm", args, out, "NativeLayerNormBackward0", [this, x, out, weight, rows] {
            auto back = plain("aten::native_layer_norm_backward",
                              {arg(out), arg(x), scalar_list(weight.dims),
                               arg(contiguous({rows, 1}, Dtype::f32)), arg(contiguous({rows, 1}, Dtype::f32)),
                               arg(weight), arg(weight), scalar_list("[True, True, True]")});
            produce(out, device.plain("void at::native::(anonymous "
                                      "namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, "
                                      "float>(c10::BFloat16 const*, "
                                      "c10::BFloat16 const*, float const*, float const*, c10::BFloat16 "
                                      "const*, c10::BFloat16*, int)",
                                      rows, 512, 4 * bytes(out)));
            produce(weight,
                    device.plain(
                        "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel<c10::BFloat16, "
                        "float>(long, long, c10::BFloat16 const*, "
                        "c10::BFloat16 const*, float const*, float const*, c10::BFloat16*, c10::BFloat16*)",
                        x.dims.back() / 32, 512, 3 * bytes(out)));
        });
    empty(contiguous({rows, 1}, Dtype::f32));
    empty(contiguous({rows, 1}, Dtype::f32));
    produce(out, device.plain(
                     "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, "
                     "float>(int, float, c10::BFloat16 const*, "
                     "c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)",
                     rows, 128, 2 * bytes(out)));
    return out;
}

// --- modules ---

Tensor ModelOps::linear(const Tensor& x, std::int64_t out_features) {
    auto module = builder.module("Linear", "torch/nn/modules/linear.py(124): forward");
    builder.leaves("torch/nn/modules/module.py(1915): __getattr__", 2);
    auto frame = builder.function(builtin_function("linear"));
    return matmul_linear(x, contiguous({out_features, x.dims.back()}));
}

Tensor ModelOps::norm(const Tensor& x, bool is_rms) {
    if (is_rms) {
        auto module = builder.module("RMSNorm", "project/model/norms.py(31): forward");
        return rms_norm(x);
    }
    auto module = builder.module("LayerNorm", "torch/nn/modules/normalization.py(216): forward");
    builder.leaves("torch/nn/modules/module.py(1915): __getattr__", 2);
    auto frame = builder.frame("torch/nn/functional.py(2889): layer_norm");
    builder.leaf("<built-in function _has_torch_function_variadic>");
    auto function = builder.function(builtin_method("layer_norm", "type"));
    return layer_norm(x);
}

Tensor ModelOps::activation(const Tensor& x) {
    auto module = builder.module("SiLU", "torch/nn/modules/activation.py(431): forward");
    auto frame = builder.frame("torch/nn/functional.py(2358): silu");
    builder.leaf("<built-in function _has_torch_function_unary>");
    auto function = builder.function("<built-in function silu>");
    return silu(x);
}

}  // namespace tracelens::synth
