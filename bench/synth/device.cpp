#include "device.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tracelens::synth {
namespace {

constexpr DeviceFacts mi300x{
    "AMD Instinct MI300X", 206141652992, 9, 4, 64, 304, 65536, 2, {0, 4}, 6, 1307e3, 5300, 48, 310, 5200};
constexpr DeviceFacts h100{
    "NVIDIA H100 80GB HBM3", 85018279936, 9, 0, 32, 132, 49152, 0, {7, 27}, 1, 989e3, 3350, 52, 360, 2400};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

std::string number(std::int64_t value) {
    return std::to_string(value);
}

/// Tile extents that the library would pick; small problems get small tiles.
std::int64_t tile_for(std::int64_t extent, std::int64_t other) {
    if (extent <= 16) return 16;
    if (extent <= 64) return 32;
    if (extent <= 512 || other <= 64) return 64;
    return extent <= 2048 ? 128 : 256;
}

std::string tensile_name(std::int64_t tile_m, std::int64_t tile_n, std::int64_t tile_k, GemmLayout layout) {
    constexpr std::array operand_order{"Cijk_Alik_Bljk", "Cijk_Ailk_Bljk", "Cijk_Ailk_Bjlk"};
    const std::string waves_m = number(std::max<std::int64_t>(tile_m / 32, 1));
    const std::string waves_n = number(std::max<std::int64_t>(tile_n / 32, 1));
    return std::string(operand_order[static_cast<std::size_t>(layout)]) +
           "_BBS_BH_Bias_HA_S_SAV_UserArgs_MT" + number(tile_m) + 'x' + number(tile_n) + 'x' +
           number(tile_k) +
           "_MI16x16x1_SN_LDSB1_AFC1_AFEM1_AFEM1_ASEM1_CLR1_CADS0_DTVA0_DTVB0_EPS0_FDSI0_GRPM1_" +
           "GRVWA8_GRVWB8_GSUAMB_GLS0_ISA942_IU1_K1_LBSPPA512_LBSPPB256_LBSPPM0_LPA16_LPB16_LPM0_LRVW8_"
           "LWPMn1_MIAV0_MIWT" +
           waves_m + '_' + waves_n +
           "_MO40_NTn1_NTA0_NTB0_NTC0_NTD0_NTM0_NEPBS16_NLCA1_NLCB1_ONLL1_PGR2_PLR1_PKA1_SIA3_SS1_SPO0_SRVW0_"
           "SSO0_SVW" +
           waves_m + "_SK0_SKXCCM0_TLDS1_ULSGRO0_USL1_UIOFGRO0_USFGROn1_VSn1_VWA" + waves_m + "_VWB" +
           waves_n + "_WSGRA0_WSGRB0_WS64_WG64_4_1";
}

std::string nvidia_gemm_name(std::int64_t tile_m, std::int64_t tile_n, GemmLayout layout) {
    constexpr std::array suffix{"TNT", "NNT", "NTT"};
    constexpr std::array order{"tn_n", "nn_n", "nt_n"};
    const auto which = static_cast<std::size_t>(layout);
    const std::string tile = number(tile_m) + 'x' + number(tile_n);
    if (tile_n <= 32) {
        const std::string base =
            "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_" + tile + "_128x2_tn_align8";
        return "void cutlass::Kernel2<" + base + ">(" + base + "::Params)";
    }
    if (tile_n <= 64)
        return "sm90_xmma_gemm_bf16bf16_bf16f32_f32_" + std::string(order[which]) + "_tilesize" + tile +
               "x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas";
    return "nvjet_tst_" + tile + "_64x4_2x1_v_bz_coopA_" + suffix[which];
}

/// What collective kernels are called in different libraries and versions.
constexpr std::array collective_variants{
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
    "rcclGenericKernel<1, false>(ncclDevComm*, channelMasks, ncclWork*)",
    "mscclKernel_Sum_half_LL_false",
    "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
    "void cross_device_reduce_1stage<bf16, 8>(RankData*, RankSignals, bf16*, int, int)"};

}  // namespace

Device::Device(const Options& options)
    : vendor_(options.vendor),
      facts_(options.vendor == Vendor::amd ? mi300x : h100),
      has_legacy_copies_(has(options, Defect::rocm_legacy_copies)),
      has_collective_variants_(has(options, Defect::collective_names)) {}

ApiFacts Device::api(Api api) const {
    // AMD: memsets, queries and synchronisation start no flow; NVIDIA: only what the device sees starts one.
    static constexpr std::array<ApiFacts, static_cast<std::size_t>(Api::count)> hip{{
        {"hipLaunchKernel", 107, false, true},
        {"hipExtModuleLaunchKernel", 65, false, true},
        {"hipModuleLaunchKernel", 169, false, true},
        {"hipExtLaunchKernel", 62, false, true},
        {"hipMemcpyAsync", 134, false, true},
        {"hipMemcpyWithStream", 153, false, true},
        {"hipMemsetAsync", 159, false, false},
        {"hipDeviceSynchronize", 48, false, false},
        {"hipStreamSynchronize", 199, false, false},
        {"hipStreamWaitEvent", 200, false, false},
        {"hipEventRecord", 59, false, false},
        {"hipGetDevicePropertiesR0600", 370, false, false},
        {"hipStreamIsCapturing", 290, false, false},
        {"hipPointerGetAttribute", 264, false, false},
        {"hipGraphLaunch", 215, false, false},
    }};
    static constexpr std::array<ApiFacts, static_cast<std::size_t>(Api::count)> cuda{{
        {"cudaLaunchKernel", 211, false, true},
        {"cudaLaunchKernelExC", 430, false, true},
        {"cudaLaunchKernel", 211, false, true},
        {"cuLaunchKernelEx", 652, true, true},
        {"cudaMemcpyAsync", 41, false, true},
        {"cudaMemcpyAsync", 41, false, true},
        {"cudaMemsetAsync", 51, false, true},
        {"cudaDeviceSynchronize", 165, false, true},
        {"cudaStreamSynchronize", 131, false, true},
        {"cudaStreamWaitEvent", 147, false, true},
        {"cudaEventRecord", 135, false, false},
        {"cudaFuncGetAttributes", 15, false, false},
        {"cudaStreamIsCapturing", 317, false, false},
        {"cudaFuncSetAttribute", 273, false, false},
        {"cudaGraphLaunch", 311, false, false},
    }};
    return (is_amd() ? hip : cuda)[static_cast<std::size_t>(api)];
}

double Device::moving(std::int64_t bytes) const {
    return static_cast<double>(bytes) / (facts_.bytes_per_ns * 0.72);
}

WorkInfo Device::kernel(std::string name, std::int64_t blocks, std::int64_t threads, double ns) const {
    WorkInfo work;
    work.name = std::move(name);
    work.grid = {std::clamp<std::int64_t>(blocks, 1, 1 << 20), 1, 1};
    work.block = {threads, 1, 1};
    work.registers = 16 + static_cast<std::int64_t>(work.name.size() % 7) * 8;
    work.mean_ns = std::max<std::int64_t>(std::llround(ns), is_amd() ? 2400 : 1700);
    return work;
}

WorkInfo Device::gemm(std::int64_t m, std::int64_t n, std::int64_t k, GemmLayout layout) const {
    // Libraries are column-major: a row-major (m, n) output has n as its first extent.
    const std::int64_t tile_m = tile_for(n, m);
    const std::int64_t tile_n = tile_for(m, n);
    const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    const double efficiency = tile_m * tile_n >= 128 * 128 ? (is_amd() ? 0.46 : 0.63) : 0.22;
    const double compute = flops / (facts_.flops_per_ns * efficiency);
    const double ns = std::max(compute, moving(2 * (m * k + k * n + m * n))) + 2600;
    WorkInfo work =
        kernel(is_amd() ? tensile_name(tile_m, tile_n, 64, layout) : nvidia_gemm_name(tile_m, tile_n, layout),
               ceil_div(n, tile_m) * ceil_div(m, tile_n) * (is_amd() ? 256 : 1), is_amd() ? 256 : 384, ns);
    work.registers = 168;
    work.shared_memory = is_amd() ? 0 : 213040;
    return work;
}

WorkInfo Device::elementwise(std::string_view functor, int operands, std::int64_t count,
                             std::int64_t moved_bytes) const {
    const std::string type(functor);
    const std::string array = "std::array<char*, " + number(operands) + "ul>";
    const std::int64_t width = is_amd() ? 8 : 4;
    std::string name = "void at::native::vectorized_elementwise_kernel<" + number(width) + ", " + type +
                       ", " + array + " >(int, " + type + ", " + array + ")";
    const std::int64_t threads = is_amd() ? 256 : 128;
    return kernel(std::move(name), ceil_div(count, threads * width), threads, moving(moved_bytes) + 1500);
}

WorkInfo Device::strided(std::string_view functor, std::int64_t count, std::int64_t moved_bytes) const {
    const std::string type(functor);
    const std::string impl =
        "at::native::gpu_kernel_impl_nocast<" + type + " >(at::TensorIteratorBase&, " + type + " const&)";
    const std::string lambda = is_amd() ? "::{lambda(int, bool)#1}" : "::{lambda(int)#1}";
    const std::string head = is_amd() ? "void at::native::elementwise_kernel_manual_unroll<128, 8, "
                                      : "void at::native::elementwise_kernel<128, 4, ";
    const std::int64_t per_block = is_amd() ? 1024 : 512;
    return kernel(head + impl + lambda + ">(int, " + impl + lambda + ")", ceil_div(count, per_block), 128,
                  1.6 * moving(moved_bytes) + 1800);
}

WorkInfo Device::reduction(std::string_view op, std::int64_t rows, std::int64_t moved_bytes) const {
    const std::string type = "at::native::ReduceOp<float, " + std::string(op) + ", unsigned int, float, 4" +
                             (is_amd() ? ", 4" : "") + ">";
    WorkInfo work = kernel("void at::native::reduce_kernel<512, 1, " + type + " >(" + type + ")",
                           ceil_div(rows, 16), 512, 1.3 * moving(moved_bytes) + 3000);
    work.block = {32, 16, 1};
    work.shared_memory = 16;
    return work;
}

WorkInfo Device::plain(std::string_view name, std::int64_t blocks, std::int64_t threads,
                       std::int64_t moved_bytes) const {
    return kernel(std::string(name), blocks, threads, moving(moved_bytes) + 2000);
}

WorkInfo Device::attention(bool is_backward, int part, std::int64_t batch_heads, std::int64_t queries,
                           std::int64_t keys, std::int64_t head_dim) const {
    static constexpr std::string_view traits =
        "pytorch_flash::Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t, "
        "pytorch_flash::Flash_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t> >, false, true, false, "
        "false, false, true, false";
    static constexpr std::string_view traits_backward =
        "pytorch_flash::Flash_bwd_kernel_traits<128, 64, 128, 8, 2, 4, 2, false, false, cutlass::bfloat16_t, "
        "pytorch_flash::Flash_kernel_traits<128, 64, 128, 8, cutlass::bfloat16_t> >, false, true, false, "
        "false, true, false";
    std::string name;
    if (is_amd()) {
        name = !is_backward ? "attn_fwd"
               : part == 0  ? "bwd_preprocess"
               : part == 1  ? "bwd_kernel_dk_dv"
                            : "bwd_kernel_dq";
    } else if (!is_backward) {
        name = "void pytorch_flash::flash_fwd_kernel<" + std::string(traits) +
               ">(pytorch_flash::Flash_fwd_params)";
    } else {
        constexpr std::array stages{"flash_bwd_dot_do_o_kernel<true, ",
                                    "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<",
                                    "flash_bwd_convert_dq_kernel<"};
        name = "void pytorch_flash::" + std::string(stages[static_cast<std::size_t>(part)]) +
               std::string(traits_backward) + ">(pytorch_flash::Flash_bwd_params)";
    }
    // Causal masking halves the work; the backward's main kernel does two and a half times the forward's.
    double flops = 2.0 * static_cast<double>(batch_heads * queries) * static_cast<double>(keys) *
                   static_cast<double>(head_dim);
    if (is_backward) flops *= part == 1 ? 2.5 : is_amd() && part == 2 ? 1.2 : 0.02;
    const double ns =
        std::max(flops / (facts_.flops_per_ns * 0.32), moving(4 * batch_heads * keys * head_dim)) + 3500;
    WorkInfo work = kernel(std::move(name), ceil_div(queries, 128), 256, ns);
    work.grid[1] = batch_heads;
    work.registers = 254;
    work.shared_memory = is_amd() ? 16384 : 81920;
    return work;
}

WorkInfo Device::convolution(std::int64_t flops, std::int64_t blocks, int pass) const {
    constexpr std::array igemm{
        "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt256x128x32_wt32x32x8_ws1x1_wr2x2_ta1x8x4x1_1x4x1x64_tb1x8x2x1_"
        "1x4x1x64",
        "igemm_bwd_gtcx3_nhwc_bf16_bx0_ex1_bt256x128x32_wt32x32x8_ws1x1_wr2x2_ta1x8x4x1_1x4x1x64_tb1x8x2x1_"
        "1x4x1x64",
        "igemm_wrw_gtcx3_nhwc_bf16_bx0_ex1_bt128x128x32_wt32x32x8_ws1x1_wr2x2_ta1x8x1x2_1x4x1x64_tb1x8x1x2_"
        "1x4x1x64_gkgs"};
    constexpr std::array xmma{
        "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_"
        "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
        "sm90_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_"
        "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
        "sm90_xmma_wgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_"
        "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn"};
    const auto which = static_cast<std::size_t>(pass);
    return kernel(is_amd() ? igemm[which] : xmma[which], blocks, 256,
                  static_cast<double>(flops) / (facts_.flops_per_ns * 0.2) + 5000);
}

WorkInfo Device::multi_tensor(std::string_view functor, int lists, std::int64_t count) const {
    const std::string metadata =
        "at::native::(anonymous namespace)::TensorListMetadata<" + number(lists) + ">";
    const std::string type = "at::native::(anonymous namespace)::" + std::string(functor);
    return kernel("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<" + metadata + ", " +
                      type + ">(" + metadata + ", " + type + ")",
                  std::clamp<std::int64_t>(ceil_div(count, 65536), 1, 320), 512,
                  moving(4 * count * (lists + 1)) + 2500);
}

WorkInfo Device::collective(const Collective& what, int world_size, std::size_t variant) const {
    std::string name = "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)";
    if (!is_amd()) {
        const bool is_reduce = what.name == "allreduce";
        name = is_reduce ? "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
                         : "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
    }
    if (has_collective_variants_) name = collective_variants[variant % collective_variants.size()];
    const auto volume =
        static_cast<double>(std::max(what.in_elements, what.out_elements) * size_of(what.dtype));
    const double rounds = (what.name == "allreduce" ? 2.0 : 1.0) * (world_size - 1) / world_size;
    WorkInfo work = kernel(std::move(name), is_amd() ? 64 : 24, is_amd() ? 256 : 512,
                           volume * rounds / facts_.collective_bytes_per_ns + 14000);
    work.registers = 96;
    work.shared_memory = is_amd() ? 0 : 103808;
    work.stream = collective_stream;
    work.collective = what;
    return work;
}

WorkInfo Device::copy(std::string_view kind, std::int64_t count, bool is_pinned) const {
    const std::string_view host = is_amd() ? "Host" : is_pinned ? "Pinned" : "Pageable";
    WorkInfo work;
    work.kind = WorkKind::memcpy;
    const std::string source(kind.front() == 'H' ? host : "Device");
    const std::string target(kind.back() == 'H' ? host : "Device");
    work.name = "Memcpy " + std::string(kind) + " (" + source + " -> " + target + ')';
    if (has_legacy_copies_) {
        work.is_legacy = true;
        work.name = kind == "HtoD"   ? "MEMORY_COPY_HOST_TO_DEVICE"
                    : kind == "DtoH" ? "MEMORY_COPY_DEVICE_TO_HOST"
                                     : "__amd_rocclr_copyBuffer";
    }
    work.copy_kind = kind;
    work.bytes = count;
    const double rate = kind == "DtoD" ? facts_.bytes_per_ns * 0.3
                        : is_pinned    ? facts_.link_bytes_per_ns
                                       : facts_.link_bytes_per_ns * 0.3;
    work.mean_ns = 1900 + std::llround(static_cast<double>(count) / rate);
    return work;
}

WorkInfo Device::fill(std::int64_t count) const {
    WorkInfo work;
    work.kind = WorkKind::memset;
    work.name = has_legacy_copies_ ? "__amd_rocclr_fillBufferAligned" : "Memset (Device)";
    work.is_legacy = has_legacy_copies_;
    work.bytes = count;
    work.mean_ns =
        (is_amd() ? 3900 : 850) + std::llround(static_cast<double>(count) / (facts_.bytes_per_ns * 0.5));
    return work;
}

}  // namespace tracelens::synth
