/// Kernel families by name: a coarse label that needs nothing but the kernel's name, for traces and tables
/// where the op behind a kernel is not known.
#pragma once

#include <array>
#include <string_view>

#include <tracelens/core/ascii.hpp>
#include <tracelens/model/results.hpp>

namespace tracelens {

struct KernelFamily {
    std::string_view word;  ///< found anywhere in the name, without regard to case
    std::string_view label;
};

/// First match wins: specific words stand before general ones.
inline constexpr std::array kernel_families = {
    KernelFamily{"fmha", "Attention"},
    KernelFamily{"flash", "Attention"},
    KernelFamily{"attention", "Attention"},
    KernelFamily{"attn", "Attention"},
    KernelFamily{"mla_", "Attention"},
    KernelFamily{"softmax", "Softmax"},
    KernelFamily{"batch_norm", "Normalization"},
    KernelFamily{"batchnorm", "Normalization"},
    KernelFamily{"layer_norm", "Normalization"},
    KernelFamily{"layernorm", "Normalization"},
    KernelFamily{"group_norm", "Normalization"},
    KernelFamily{"groupnorm", "Normalization"},
    KernelFamily{"rms_norm", "Normalization"},
    KernelFamily{"rmsnorm", "Normalization"},
    KernelFamily{"multi_tensor_apply", "Optimizer"},
    KernelFamily{"adam", "Optimizer"},
    KernelFamily{"moe", "MoE"},
    KernelFamily{"expert", "MoE"},
    KernelFamily{"im2col", "Convolution"},
    KernelFamily{"winograd", "Convolution"},
    KernelFamily{"igemm", "Convolution"},
    KernelFamily{"implicit_gemm", "Convolution"},
    KernelFamily{"fprop", "Convolution"},
    KernelFamily{"dgrad", "Convolution"},
    KernelFamily{"wgrad", "Convolution"},
    KernelFamily{"conv2d", "Convolution"},
    KernelFamily{"conv3d", "Convolution"},
    KernelFamily{"conv_", "Convolution"},
    KernelFamily{"_conv", "Convolution"},
    KernelFamily{"cijk_", "GEMM"},
    KernelFamily{"gemm", "GEMM"},
    KernelFamily{"nvjet", "GEMM"},
    KernelFamily{"cublas", "GEMM"},
    KernelFamily{"splitk", "GEMM"},
    KernelFamily{"matmul", "GEMM"},
    KernelFamily{"bmm_", "GEMM"},
    KernelFamily{"gemv", "GEMM"},
    KernelFamily{"triton_red_", "Reduction"},
    KernelFamily{"triton_per_", "Reduction"},
    KernelFamily{"triton_poi_", "Elementwise"},
    KernelFamily{"rope", "Rotary embedding"},
    KernelFamily{"rotary", "Rotary embedding"},
    KernelFamily{"reduce", "Reduction"},
    KernelFamily{"topk", "Sort and select"},
    KernelFamily{"sort", "Sort and select"},
    KernelFamily{"embedding", "Gather and scatter"},
    KernelFamily{"gather", "Gather and scatter"},
    KernelFamily{"scatter", "Gather and scatter"},
    KernelFamily{"index", "Gather and scatter"},
    KernelFamily{"transpose", "Layout and copy"},
    KernelFamily{"catarray", "Layout and copy"},
    KernelFamily{"copy", "Layout and copy"},
    KernelFamily{"pool", "Pooling"},
    KernelFamily{"elementwise", "Elementwise"},
    KernelFamily{"silu", "Elementwise"},
    KernelFamily{"gelu", "Elementwise"},
    KernelFamily{"fill", "Elementwise"},
};

/// The family of a kernel; classes other than computation are families of their own.
constexpr std::string_view kernel_family(std::string_view name, GpuClass gpu_class) noexcept {
    switch (gpu_class) {
        case GpuClass::communication: return "Communication";
        case GpuClass::memcpy: return "Memory copy";
        case GpuClass::memset: return "Memory fill";
        default: break;
    }
    for (const KernelFamily& family : kernel_families) {
        if (detail::contains_ignoring_case(name, family.word)) return family.label;
    }
    return "Other";
}

}  // namespace tracelens
