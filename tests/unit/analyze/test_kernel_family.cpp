// Kernel families by name.

#include <cctype>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <tracelens/classify/kernel_family.hpp>

using namespace tracelens;

namespace {

std::string_view family(std::string_view name) {
    return kernel_family(name, GpuClass::computation);
}

}  // namespace

TEST_CASE("classes other than computation are families of their own, whatever the name") {
    CHECK(kernel_family("ncclDevKernel_AllReduce", GpuClass::communication) == "Communication");
    CHECK(kernel_family("gemm", GpuClass::communication) == "Communication");
    CHECK(kernel_family("gemm", GpuClass::memcpy) == "Memory copy");
    CHECK(kernel_family("gemm", GpuClass::memset) == "Memory fill");
}

TEST_CASE("every row of the table can be reached, in any case of letters") {
    for (const KernelFamily& row : kernel_families) {
        CAPTURE(row.word);
        CHECK(family(row.word) == row.label);
        std::string upper(row.word);
        for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        CHECK(family("void " + upper + "<float>") == row.label);
    }
}

TEST_CASE("names that profilers record") {
    struct Row {
        std::string_view name, label;
    };
    for (const Row& row : {
             Row{"Cijk_Alik_Bljk_BBS_BH_Bias_MT128x128x64_MI16x16x1_SN_K1", "GEMM"},
             Row{"nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", "GEMM"},
             Row{"ampere_sgemm_128x64_tn", "GEMM"},
             Row{"sm90_gemm_bf16bf16_f32_tn_128x128x64_warpspecialized_bias", "GEMM"},
             Row{"void cublasLt::splitKreduce_kernel<32, 16, int>", "GEMM"},
             Row{"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>", "Attention"},
             Row{"fmha_fwd_hd128_bf16_causal.kd", "Attention"},
             Row{"void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, float>", "Softmax"},
             Row{"triton_per_fused__softmax_0", "Softmax"},
             Row{"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float>",
                 "Normalization"},
             Row{"void vllm::rms_norm_kernel<c10::BFloat16>", "Normalization"},
             Row{"MIOpenBatchNormFwdInferSpatialEst", "Normalization"},
             Row{"triton_red_fused_add_mean_mul_pow_rsqrt_1", "Reduction"},
             Row{"triton_poi_fused_mul_silu_2", "Elementwise"},
             Row{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", "Reduction"},
             Row{"void at::native::vectorized_elementwise_kernel<4, at::native::gelu_tanh_bf16>",
                 "Elementwise"},
             Row{"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor>",
                 "Optimizer"},
             Row{"sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32", "Convolution"},
             Row{"igemm_fwd_gtcx3_nhwc_bf16", "Convolution"},
             Row{"void at::native::indexSelectLargeIndex<float, long>", "Gather and scatter"},
             Row{"void at::native::(anonymous namespace)::CatArrayBatchedCopy<float>", "Layout and copy"},
             Row{"void at::native::sbtopk::gatherTopK<float>", "Sort and select"},
             Row{"fused_moe_kernel", "MoE"},
             Row{"void vllm::rotary_embedding_kernel<c10::BFloat16>", "Rotary embedding"},
             Row{"my_own_kernel", "Other"},
             Row{"", "Other"},
         }) {
        CAPTURE(row.name);
        CHECK(family(row.name) == row.label);
    }
}

TEST_CASE("families are known at compile time") {
    static_assert(kernel_family("gemm", GpuClass::computation) == "GEMM");
    static_assert(kernel_family("x", GpuClass::memset) == "Memory fill");
    CHECK(true);
}
