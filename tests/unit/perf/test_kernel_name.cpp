// What kernel names say (spec 03, section 3.5).

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/classify/kernel_name.hpp>

using namespace tracelens;

namespace {

constexpr std::array both_rules = {ClassRules::reference, ClassRules::full};

std::string letter(const std::optional<bool>& flag) {
    if (!flag) return "?";
    return *flag ? "T" : "N";
}

/// `TN 64x16x64`: layout and tile of a matrix product; empty for other names.
std::string layout(const KernelName& name) {
    if (!name.is_gemm) return "";
    std::string text = letter(name.transpose_a) + letter(name.transpose_b);
    if (name.tile)
        text += " " + std::to_string(name.tile->m) + "x" + std::to_string(name.tile->n) + "x" +
                std::to_string(name.tile->k);
    return text;
}

std::string layout(std::string_view name, ClassRules rules = ClassRules::full) {
    return layout(parse_kernel_name(name, rules));
}

KernelLibrary library(std::string_view name) {
    return parse_kernel_name(name).library;
}

constexpr std::string_view xmma =
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x64x32_warpgroupsize1x1x1_execute_segment_k_off_"
    "kernel__5x_cublas";
constexpr std::string_view cutlass =
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_32x6_tn_align8>("
    "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_32x6_tn_align8::Params)";

}  // namespace

TEST_CASE("Tensile names, by the spec's table") {
    for (const ClassRules rules : both_rules) {
        CHECK(layout("Custom_Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT64x16x64_MI16x16x1_SN_LDSB0",
                     rules) == "TN 64x16x64");
        CHECK(layout("Cijk_Ailk_Bjlk_MT32x32x32", rules) == "NT 32x32x32");
        CHECK(layout("Cijk_Ailk_Bljk_only", rules) == "NN");
        CHECK(layout("Cijk_Ailk_Bljk", rules) == "N?");
        CHECK(layout("Cabc_Axyz_Bljk_foo", rules) == "?N");
        CHECK(parse_kernel_name("Cijk_Ailk_Bljk_only", rules).library == KernelLibrary::tensile);
    }
}

TEST_CASE("what is nearly a Tensile name is none") {
    for (const std::string_view name :
         {"", "C", "Cijk", "Cijk_Ailk", "cijk_Ailk_Bljk_x", "Cijk_Aijk", "CIJK_Ailk_Bljk", "Cij_Ailk_Bljk",
          "Cijk_Ailk_Blj", "Cijk__Ailk_Bljk", "Cijk_Ailk_Bljk\nsecond line", "a\nCijk_Ailk_Bljk"}) {
        for (const ClassRules rules : both_rules) {
            CAPTURE(name);
            CHECK_FALSE(parse_kernel_name(name, rules).is_gemm);
        }
    }
    CHECK(layout("Cijk_Ailk_Bljk_x\n") == "NN");
    CHECK(layout("CCijk_Ailk_Bljk_x") == "NN");
}

TEST_CASE("the plain layout wins over the transposed one") {
    CHECK(layout("Cijk_Alik_Bjlk_x_Ailk_Bljk_y") == "NN");
}

TEST_CASE("tiles of Tensile names") {
    CHECK(layout("Cijk_Ailk_Bljk_MT1x2MT4x5x6x7") == "NN 4x5x6");
    CHECK(layout("Cijk_Ailk_Bljk_MT64xx64_MTx") == "NN");
    CHECK(layout("Cijk_Ailk_Bljk_MT64x64") == "NN");
    CHECK(layout("Cijk_Ailk_Bljk_MT1x1x99999999999999999999") == "NN");
    CHECK(layout("Cijk_Ailk_Bljk_MT") == "NN");
}

TEST_CASE("nvjet names, by the spec's table") {
    for (const ClassRules rules : both_rules) {
        const KernelName name = parse_kernel_name("nvjet_tst_192x8_64x8_4x1_v_bz_TNT", rules);
        CHECK(name.library == KernelLibrary::cublas);
        CHECK(name.transpose_a == true);
        CHECK(name.transpose_b == false);
        CHECK(layout("nvjet_tst_32x64x32_TN", rules) == "TN");
        CHECK(layout("nvjet_tst_tst_TN", rules) == "TN");
    }
}

TEST_CASE("nvjet tiles are read under the full rules") {
    CHECK(layout("nvjet_tst_192x8_64x8_4x1_v_bz_TNT", ClassRules::reference) == "TN");
    CHECK(layout("nvjet_tst_192x8_64x8_4x1_v_bz_TNT") == "TN 192x8x64");
    CHECK(layout("nvjet_sm100_tst_144x128_64x6_2x1_v_bz_bias_TNN") == "TN 144x128x64");
    CHECK(layout("nvjet_tst_192x8_v_64x8_NTN") == "NT");
}

TEST_CASE("malformed nvjet names") {
    for (const std::string_view name : {"nvjet_x_T", "nvjet_x_", "nvjet_"}) {
        CAPTURE(name);
        CHECK(parse_kernel_name(name, ClassRules::reference).is_malformed);
        CHECK_FALSE(parse_kernel_name(name, ClassRules::reference).is_gemm);
        CHECK_FALSE(parse_kernel_name(name).is_malformed);
        CHECK_FALSE(parse_kernel_name(name).is_gemm);
        CHECK(library(name) == KernelLibrary::cublas);
    }
    CHECK(layout("nvjet", ClassRules::reference) == "NN");
    CHECK(layout("nvjet") == "");
    CHECK(layout("nvjet_tst_kernel", ClassRules::reference) == "NN");
    CHECK(layout("nvjet_tst_kernel") == "");
}

TEST_CASE("nvjet counts at the start of a name only, and after Tensile") {
    CHECK_FALSE(parse_kernel_name("my_nvjet_x_TN").is_gemm);
    CHECK(layout("nvjet_Cijk_Alik_Bjlk_x_NN") == "TT");
}

TEST_CASE("cuBLAS xmma names") {
    CHECK(layout(xmma) == "TN 128x64x32");
    CHECK(layout("sm80_xmma_gemm_f32f32_f32_nt_t_tilesize32x32x8_stage3") == "NT 32x32x8");
    CHECK(library(xmma) == KernelLibrary::cublas_xmma);
    CHECK(library("sm80_xmma_gemm_something") == KernelLibrary::cublas_xmma);
    CHECK_FALSE(parse_kernel_name("sm80_xmma_gemm_something").is_gemm);
    CHECK_FALSE(parse_kernel_name("sm80_xmma_gemm_tilesize32x32x8_tn").is_gemm);
    CHECK_FALSE(parse_kernel_name("sm80_xmma_gemm_tn_n_tilesize32x32").is_gemm);
    CHECK_FALSE(parse_kernel_name("sm_xmma_gemm_tn_n_tilesize32x32x8").is_gemm);
    CHECK_FALSE(parse_kernel_name("80_xmma_gemm_tn_n_tilesize32x32x8").is_gemm);
    CHECK_FALSE(parse_kernel_name("sm80_xmma_fprop_tn_n_tilesize32x32x8").is_gemm);
}

TEST_CASE("CUTLASS names") {
    CHECK(layout(cutlass) == "TN 128x64x32");
    CHECK(library(cutlass) == KernelLibrary::cutlass);
    CHECK(layout("cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_64x1_nn_align8") == "NN 16x16x64");
    CHECK(layout("cutlass_80_simt_sgemm_128x32_8x5_tt_align1") == "TT 128x32x8");
    CHECK(library("cutlass_80_simt_sgemm_128x32_8x5_xx_align1") == KernelLibrary::cutlass);
    CHECK_FALSE(parse_kernel_name("cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1").is_gemm);
    CHECK_FALSE(parse_kernel_name("cutlass_tensorop_s16816fprop_256x64_32x4_nhwc_align8").is_gemm);
}

TEST_CASE("the reference knows Tensile and nvjet only") {
    for (const std::string_view name :
         {xmma, cutlass, std::string_view("void at::native::elementwise_kernel<4>"),
          std::string_view("triton_poi_fused_add_0"), std::string_view("unrelated_kernel")}) {
        CAPTURE(name);
        CHECK(parse_kernel_name(name, ClassRules::reference) == KernelName{});
    }
    CHECK(parse_kernel_name("unrelated_kernel") == KernelName{});
}

TEST_CASE("kernels that split K") {
    for (const std::string_view name :
         {"Cijk_Ailk_Bljk_MT64x64x32_SK3_SKFTR0", "Cijk_Ailk_Bljk_MT64x64x32_GSU2_GSUAMB",
          "Cijk_Ailk_Bljk_StreamK_MT64x64x32", "nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT",
          "cutlass_80_tensorop_gemm_splitk_128x64_32x6_tn_align8"}) {
        CAPTURE(name);
        CHECK(parse_kernel_name(name).is_gemm);
        CHECK(parse_kernel_name(name).splits_k);
    }
    for (const std::string_view name :
         {"Cijk_Ailk_Bljk_MT64x64x32_SK0_SKFTR0_SKXCCM0_GSU1_GSUAMBSK", "nvjet_tst_64x8_64x16_4x1_v_bz_TNT",
          "Cijk_Ailk_Bljk_MT64x64x32_SK_GSU"}) {
        CAPTURE(name);
        CHECK_FALSE(parse_kernel_name(name).splits_k);
    }
    CHECK_FALSE(parse_kernel_name(xmma).splits_k);
}

TEST_CASE("every prefix and word of the tables can be reached") {
    for (const LibraryPrefix& row : kernel_library_prefixes) {
        CAPTURE(row.prefix);
        CHECK(kernel_library(row.prefix) == row.library);
        CHECK(kernel_library("void " + std::string(row.prefix) + "<float>") == row.library);
    }
    for (const LibraryWord& row : kernel_library_words) {
        CAPTURE(row.word);
        CHECK(kernel_library("my_" + std::string(row.word) + "_kernel") == row.library);
    }
}

TEST_CASE("libraries of names that profilers record") {
    struct Row {
        std::string_view name;
        KernelLibrary library;
    };
    constexpr std::array rows = {
        Row{"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, "
            "false, "
            "false, cutlass::bfloat16_t>>",
            KernelLibrary::flash_attention},
        Row{"void cutlass::device_kernel<flash::FlashAttnFwdSm90<x>>", KernelLibrary::flash_attention},
        Row{"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16b", KernelLibrary::aiter},
        Row{"_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefill", KernelLibrary::composable_kernel},
        Row{"_ZN2ck16tensor_operation6device12_GLOBAL__N_1", KernelLibrary::composable_kernel},
        Row{"ck_moe_stage1_kernel<BF16, 128, 128>", KernelLibrary::composable_kernel},
        Row{"igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x128x32", KernelLibrary::miopen},
        Row{"MIOpenBatchNormFwdTrainSpatial", KernelLibrary::miopen},
        Row{"void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_256x64_32x4_nhwc>",
            KernelLibrary::cutlass},
        Row{"void cublasLt::splitKreduce_kernel<32, 16>", KernelLibrary::cublas},
        Row{"void at_cuda_detail::cub::DeviceScanKernel<at::native::x>", KernelLibrary::cub},
        Row{"void rocprim::ROCPRIM_400200_NS::detail::trampoline_kernel<x>", KernelLibrary::cub},
        Row{"void at::native::radix_sort<at_cuda_detail::cub::x>", KernelLibrary::pytorch},
        Row{"triton_poi_fused__to_copy_div_20", KernelLibrary::triton},
        Row{"create_flashinfer_kv_indices_triton", KernelLibrary::triton},
        Row{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", KernelLibrary::nccl},
        Row{"rcclGenericKernel", KernelLibrary::nccl},
        Row{"void paged_attention_ll4mi_QKV_mfma16_kernel<ck_tile::ComposedAttention<0u>>",
            KernelLibrary::none},
        Row{"sage_quant_kernel", KernelLibrary::none},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK(library(row.name) == row.library);
    }
}

TEST_CASE("libraries have names") {
    CHECK(to_string(KernelLibrary::none) == "");
    for (const LibraryPrefix& row : kernel_library_prefixes) CHECK(to_string(row.library) != "");
    for (const LibraryWord& row : kernel_library_words) CHECK(to_string(row.library) != "");
    CHECK(to_string(KernelLibrary::tensile) == "Tensile");
    CHECK(to_string(KernelLibrary::cublas_xmma) == "cuBLAS xmma");
}

TEST_CASE("the first name that tells a layout is taken") {
    const std::vector<std::string_view> names = {"memset_kernel", "Cijk_Ailk_Bjlk_MT1x2x3", "nvjet_x_TN"};
    for (const ClassRules rules : both_rules) CHECK(layout(first_gemm_name(names, rules)) == "NT 1x2x3");
    CHECK(first_gemm_name({}) == KernelName{});
    const std::vector<std::string_view> none = {"memset_kernel", "void at::native::x"};
    CHECK(first_gemm_name(none) == KernelName{});
}

TEST_CASE("a malformed name stops the reference, unless a good one comes first") {
    const std::vector<std::string_view> bad_first = {"nvjet_x_T", "nvjet_x_TN"};
    CHECK(first_gemm_name(bad_first, ClassRules::reference).is_malformed);
    CHECK(layout(first_gemm_name(bad_first)) == "TN");
    const std::vector<std::string_view> good_first = {"nvjet_x_TN", "nvjet_x_T"};
    CHECK(layout(first_gemm_name(good_first, ClassRules::reference)) == "TN");
}

TEST_CASE("any beginning of a name can be parsed") {
    for (const std::string_view name : {xmma, cutlass, std::string_view("nvjet_tst_192x8_64x8_4x1_v_bz_TNT"),
                                        std::string_view("Custom_Cijk_Alik_Bljk_BBS_MT64x16x64_SK3_GSU2")}) {
        for (std::size_t size = 0; size <= name.size(); ++size) {
            for (const ClassRules rules : both_rules) {
                const KernelName parsed = parse_kernel_name(name.substr(0, size), rules);
                CHECK_FALSE((parsed.is_gemm && parsed.is_malformed));
            }
        }
    }
}

TEST_CASE("names are parsed at compile time") {
    static_assert(parse_kernel_name("Cijk_Alik_Bljk_MT64x16x32").tile == KernelTile{64, 16, 32});
    static_assert(parse_kernel_name(xmma).is_gemm && parse_kernel_name(cutlass).is_gemm);
    static_assert(kernel_library("void at::native::x") == KernelLibrary::pytorch);
}
