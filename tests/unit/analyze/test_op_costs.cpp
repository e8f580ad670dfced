// What the ops of a trace cost, and which op has which model (spec 03, sections 3.4, 3.7.4 and 3.15).

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "unit/analyze/perf_support.hpp"

using namespace tracelens;
using fixture::bf16;
using fixture::both_rules;
using fixture::dispatch_shapes;
using fixture::mm_shapes;
using fixture::PerfTrace;
using fixture::PerfTraceOptions;
using fixture::TraceFixture;
using fixture::us;

namespace {

/// Names of section 3.4.1 that have one category, backward category and sheet; separated by spaces.
struct ModelledNames {
    std::string_view category;
    std::string_view backward_category;
    std::string_view sheet;
    std::string_view names;
};

constexpr ModelledNames core_models[] = {
    {"GEMM", "", "GEMM",
     "aten::mm aten::addmm aten::_scaled_mm trtllm::cublas_scaled_mm "
     "bitsandbytes::int8_linear_matmul aten::bmm aten::baddbmm tex_ts::te_gemm_ts "
     "vllm::gemm_with_dynamic_quant _Linear_yfwd_mm _LinearBackward_xgrad_mm "
     "_LinearBackward_wgrad_mm _LayerNormLinear_yfwd_mm _LayerNormLinearBackward_xgrad_mm "
     "_LayerNormLinearBackward_wgrad_mm primus_turbo_cpp_extension::hipblaslt_gemm_fp8 "
     "primus_turbo::hipblaslt_gemm_fp8 primus_turbo_cpp_extension::hipblaslt_gemm_fp4 "
     "primus_turbo::hipblaslt_gemm_fp4 aiter::gemm_a4w4 aiter::_gemm_a4w4_asm"},
    {"SDPA_fwd", "SDPA_bwd", "SDPA",
     "FlashAttnFunc flash_attn::_flash_attn_forward flash_attn::_flash_attn_varlen_forward "
     "aten::_scaled_dot_product_cudnn_attention aten::_scaled_dot_product_efficient_attention "
     "aten::_scaled_dot_product_flash_attention aiter::_flash_attn_forward "
     "aiter::wrapper_fmha_v3_fwd aiter::mha_fwd aiter::fmha_v3_fwd flash_attn_3::fwd "
     "EvoformerAttention"},
    {"SDPA_bwd", "SDPA_bwd", "SDPA",
     "flash_attn::_flash_attn_backward flash_attn::_flash_attn_varlen_backward "
     "aiter::_flash_attn_backward aiter::wrapper_fmha_v3_bwd aiter::mha_bwd"},
    {"CONV_fwd", "CONV_bwd", "CONV", "aten::convolution ConvBias_ ConvBiasReLU_"},
    {"CONV_bwd", "CONV_bwd", "CONV", "aten::convolution_backward ConvBias_Backward ConvBiasReLU_Backward"},
    {"elementwise", "", "BinaryElementwise",
     "LigerSiLUMulFunction aten::div aten::div_ aten::mul aten::mul_ aten::add aten::add_ "
     "aten::sigmoid_backward aten::threshold_backward"},
    {"GroupedGEMM_fwd", "GroupedGEMM_bwd", "GroupedGEMM",
     "primus_turbo::grouped_gemm primus_turbo::grouped_gemm_impl "
     "primus_turbo_cpp_extension::grouped_gemm primus_turbo_cpp_extension::ck_grouped_gemm "
     "primus_turbo::grouped_gemm_variable_k primus_turbo::grouped_gemm_variable_k_impl "
     "primus_turbo_cpp_extension::grouped_gemm_variable_k "
     "primus_turbo_cpp_extension::ck_grouped_gemm_variable_k"},
    {"MoE_comm_fwd", "MoE_comm_bwd", "MoE_comm", "MoEDispatch MoECombine"},
    {"SSM_fwd", "", "SSM", "DaoAILab::_causal_conv1d_fwd_cpp"},
    {"RoPE_fwd", "", "RoPE", "FusedRoPEFunc"},
    {"CrossEntropy_fwd", "", "CrossEntropy", "CrossEntropyFunction"},
    {"SSM_fwd", "SSM_bwd", "SSM", "MambaSplitConv1dScanCombinedFn"},
    {"elementwise", "", "UnaryElementwise",
     "primus_turbo_cpp_extension::quantize_fp8_tensorwise primus_turbo::quantize_fp8_tensorwise "
     "primus_turbo_cpp_extension::quantize_mxfp4_dual primus_turbo::quantize_mxfp4_dual "
     "primus::quantize_mxfp4_dual aten::copy aten::copy_ aten::clamp_min aten::clamp_min_ "
     "aten::clamp_max aten::clamp_max_ aten::sigmoid aten::rsqrt aten::silu aten::neg aten::pow "
     "aten::replication_pad1d aten::replication_pad2d aten::replication_pad3d "
     "aten::upsample_nearest1d aten::upsample_nearest2d aten::upsample_nearest3d"},
    {"NORM_fwd", "NORM_bwd", "Normalization",
     "aten::batch_norm aten::native_batch_norm aten::miopen_batch_norm aten::cudnn_batch_norm "
     "aten::layer_norm aten::native_layer_norm aten::miopen_layer_norm aten::cudnn_layer_norm "
     "aten::group_norm aten::native_group_norm aten::miopen_group_norm aten::cudnn_group_norm "
     "aiter::_groupnorm_run aten::instance_norm aten::native_instance_norm "
     "aten::miopen_instance_norm aten::cudnn_instance_norm aten::_fused_rms_norm "
     "primus::fused_ln_modulate"},
    {"NORM_bwd", "NORM_bwd", "Normalization",
     "aten::batch_norm_backward aten::native_batch_norm_backward aten::miopen_batch_norm_backward "
     "aten::cudnn_batch_norm_backward aten::layer_norm_backward aten::native_layer_norm_backward "
     "aten::miopen_layer_norm_backward aten::cudnn_layer_norm_backward aten::group_norm_backward "
     "aten::native_group_norm_backward aten::miopen_group_norm_backward "
     "aten::cudnn_group_norm_backward aten::instance_norm_backward "
     "aten::native_instance_norm_backward aten::miopen_instance_norm_backward "
     "aten::cudnn_instance_norm_backward aten::rms_norm_backward aten::native_rms_norm_backward "
     "aten::miopen_rms_norm_backward aten::cudnn_rms_norm_backward aten::_fused_rms_norm_backward "
     "primus::fused_ln_modulate_backward"},
    {"reduce", "", "Reduce",
     "aten::sum aten::mean aten::max aten::min aten::norm aten::linalg_norm aten::std aten::var "
     "aten::logsumexp aten::cumsum aten::cumprod aten::amin aten::amax"},
};

std::vector<std::string_view> words(std::string_view text) {
    std::vector<std::string_view> result;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        result.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return result;
}

/// How often a model was asked for a cost.
struct Calls {
    int forward = 0;
    int backward = 0;
};

/// A registry with `my::op`, whose cost is one operation.
ModelRegistry counting(const std::shared_ptr<Calls>& calls, const std::string& name = "my::op") {
    ModelRegistry registry;
    const auto model = [calls](const OpArguments&, Pass pass, CostRules) {
        ++(pass == Pass::forward ? calls->forward : calls->backward);
        Cost cost;
        cost.flops = pass == Pass::forward ? 1 : 2;
        return cost;
    };
    registry.add(name, {model, "mine_fwd", "mine_bwd", "mine", false});
    return registry;
}

void named(TraceFixture& file, std::string_view name, std::int64_t at, std::string_view dims) {
    bf16(file, dims, 1).op(name, us(at), us(at + 1));
}

/// A fused convolution on an image of 4 x 4 with a filter of `filter`.
TraceFixture& fused_conv(TraceFixture& file, std::string_view name, std::int64_t sequence, std::int64_t at,
                         const std::string& filter) {
    bf16(file, "[[1,1,4,4]," + filter + ",[1]]", 3, R"(["","","","1","0"])");
    file.with_sequence_number(sequence);
    return file.op(name, us(at), us(at + 1));
}

TraceFixture& fused_back(TraceFixture& file, std::string_view name, std::int64_t sequence, std::int64_t at) {
    if (sequence != no_number) file.with_sequence_number(sequence);
    return file.op(name, us(at), us(at + 1));
}

}  // namespace

TEST_CASE("all core names have a model, its categories and its sheet") {
    const ModelRegistry registry;
    std::size_t count = 0;
    for (const ModelledNames& row : core_models) {
        for (const std::string_view name : words(row.names)) {
            CAPTURE(name);
            ++count;
            const RegisteredModel* const model = registry.find(name);
            REQUIRE(model != nullptr);
            CHECK(model->cost);
            CHECK(model->category == row.category);
            CHECK(model->backward_category == row.backward_category);
            CHECK(model->sheet == row.sheet);
            CHECK(model->layout_from_kernels == (row.category == "GEMM"));
        }
    }
    CHECK(count == 143);
    CHECK(registry.size() >= count);
}

TEST_CASE("names without a model") {
    const ModelRegistry registry;
    for (const std::string_view name :
         {"", "aten::MM", "aten::mm_", " aten::mm", "FlashAttnFuncBackward", "TokenPermuteMaskMap",
          "primus_turbo::gemm_fp4_impl", "triton_poi_fused_add_0", "aten::miopen_convolution"})
        CHECK(registry.find(name) == nullptr);
}

TEST_CASE("names of one model") {
    using Function = Cost (*)(const OpArguments&, Pass, CostRules);
    const auto same_model = [registry = ModelRegistry()](std::string_view a, std::string_view b) {
        const Function* const first = registry.find(a)->cost.target<Function>();
        const Function* const second = registry.find(b)->cost.target<Function>();
        REQUIRE((first != nullptr && second != nullptr));
        return *first == *second;
    };
    CHECK(same_model("primus_turbo_cpp_extension::ck_grouped_gemm", "primus_turbo::grouped_gemm"));
    CHECK(same_model("primus_turbo_cpp_extension::ck_grouped_gemm_variable_k",
                     "primus_turbo::grouped_gemm_variable_k"));
    CHECK_FALSE(same_model("primus_turbo::grouped_gemm_variable_k", "primus_turbo::grouped_gemm"));
    CHECK(same_model("aiter::_gemm_a4w4_asm", "aiter::gemm_a4w4"));
    CHECK_FALSE(same_model("aten::mm", "aten::addmm"));
}

TEST_CASE("a registry's own models, and replaced ones, are its alone") {
    ModelRegistry registry = counting(std::make_shared<Calls>());
    const std::size_t size = registry.size();
    registry.add("aten::mm", {registry.find("my::op")->cost, "other", "", "sheet", false});
    CHECK(registry.size() == size);
    CHECK(registry.find("aten::mm")->category == "other");
    CHECK(registry.find("my::op")->category == "mine_fwd");
    CHECK(ModelRegistry().find("my::op") == nullptr);
    CHECK(ModelRegistry().find("aten::mm")->category == "GEMM");

    TraceFixture file;
    mm_shapes(file).op("aten::mm", 0, us(1));
    PerfTrace trace(std::move(file), {.registry = registry});
    CHECK(trace.costs.cost(trace.node("aten::mm")).flops == 1);
}

TEST_CASE("each distinct use of an op is priced once a pass") {
    const auto calls = std::make_shared<Calls>();
    TraceFixture file;
    for (const int at : {0, 10, 20}) named(file, "my::op", at, "[[1]]");
    named(file, "my::op", 30, "[[2]]");
    PerfTrace trace(std::move(file), {.registry = counting(calls)});
    for (EventId op = 0; op < trace.trace.size(); ++op) {
        CHECK(trace.costs.is_modelled(op));
        CHECK(trace.costs.cost(op).flops == 1);
    }
    CHECK(calls->forward == 2);
    CHECK(calls->backward == 0);
    for (EventId op = 0; op < trace.trace.size(); ++op)
        CHECK(trace.costs.cost(op, Pass::backward).flops == 2);
    CHECK(calls->forward == 2);
    CHECK(calls->backward == 2);
    CHECK(trace.costs.use_count() == 2);
}

TEST_CASE("ops of equal arguments but other names are other uses") {
    TraceFixture file;
    mm_shapes(file).op("aten::mm", 0, us(1));
    bf16(file, "[[64,32],[32,16]]", 2).op("aten::bmm", us(2), us(3));
    PerfTrace trace(std::move(file));
    CHECK(trace.costs.cost(trace.node("aten::mm")).flops == 65536);
    CHECK_FALSE(trace.costs.cost(trace.node("aten::bmm")).ok());
    CHECK(trace.costs.use_count() == 2);
}

TEST_CASE("a cost stays where it is") {
    TraceFixture file;
    for (int i = 0; i < 100; ++i) {
        const std::string dims = "[[" + std::to_string(i + 1) + ",32],[32,16]]";
        bf16(file, dims, 2).op("aten::mm", us(2 * i), us(2 * i + 1));
    }
    PerfTrace trace(std::move(file));
    const Cost& first = trace.costs.cost(0);
    for (EventId op = 0; op < 100; ++op) CHECK(trace.costs.cost(op).flops == 2.0 * (op + 1) * 32 * 16);
    CHECK(&first == &trace.costs.cost(0));
    CHECK(first.flops == 2.0 * 32 * 16);
}

TEST_CASE("models are asked by the rules of the costs") {
    ModelRegistry registry;
    const auto model = [](const OpArguments&, Pass, CostRules rules) {
        Cost cost;
        cost.flops = rules == CostRules::reference ? 1 : 2;
        return cost;
    };
    registry.add("my::op", {model, "", "", "", false});
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        file.op("my::op", 0, us(1));
        PerfTrace trace(std::move(file), {.rules = rules, .registry = registry});
        CHECK(trace.costs.rules() == trace.cost_rules());
        CHECK(trace.costs.cost(0).flops == (rules == ClassRules::reference ? 1 : 2));
    }
}

TEST_CASE("unknown ops have no model") {
    TraceFixture file;
    mm_shapes(file).op("my::op", 0, us(1)).launched("k", us(200), us(210));
    PerfTrace trace(std::move(file));
    for (const std::string_view name : {"my::op", "cudaLaunchKernel", "k"}) {
        CHECK(trace.costs.model_of(trace.node(name)) == nullptr);
        CHECK_FALSE(trace.costs.is_modelled(trace.node(name)));
    }
    CHECK(trace.costs.use_count() == 0);
}

TEST_CASE("compiled Triton kernels are priced by their arguments") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        bf16(file, "[[8,4096,2048],[2048],[8,4096,2048]]", 3, R"(["","","","32768","2048"])");
        file.op("triton_red_fused_add_mean_mul_pow_rsqrt_0", 0, us(1));
        bf16(file, "[[64]]", 1, R"([""])").op("triton_per_fused_add_1", us(2), us(3));
        file.op("triton_poi_fused_add_2", us(4), us(5));
        bf16(file, "[[64]]", 1, R"(["","64"])").op("triton_tem_fused_mm_3", us(6), us(7));
        PerfTrace trace(std::move(file), rules);
        const NodeId priced = trace.node("triton_red_fused_add_mean_mul_pow_rsqrt_0");
        CHECK(trace.costs.is_modelled(priced));
        CHECK(trace.costs.model_of(priced) == nullptr);
        CHECK(trace.costs.cost(priced).flops == 469762048);
        CHECK(trace.costs.cost(priced).bytes == 268439552);
        CHECK(trace.costs.cost(priced, Pass::backward).status == CostStatus::unsupported);
        for (const std::string_view name :
             {"triton_per_fused_add_1", "triton_poi_fused_add_2", "triton_tem_fused_mm_3"})
            CHECK_FALSE(trace.costs.is_modelled(trace.node(name)));
    }
}

// --- fused convolutions, whose backward ops record no shapes ---

TEST_CASE("a fused backward op finds its forward op by sequence number, whichever comes first") {
    for (const ClassRules rules : both_rules) {
        for (const std::string kind : {"ConvBias_", "ConvBiasReLU_"}) {
            TraceFixture file;
            fused_back(file, kind + "Backward", 5, 0);
            fused_conv(file, kind, 5, 10, "[1,1,3,3]");
            fused_conv(file, "aten::convolution", 6, 20, "[1,1,2,2]");
            PerfTrace trace(std::move(file), rules);
            const Cost& cost = trace.costs.cost(trace.node(kind + "Backward"));
            const Cost& of_forward = trace.costs.cost(trace.node(kind), Pass::backward);
            CHECK(cost.ok());
            CHECK(cost.flops > 0);
            CHECK(cost.flops == of_forward.flops);
            CHECK(cost.bytes == of_forward.bytes);
            CHECK(cost.params == of_forward.params);
            if (rules == ClassRules::reference) CHECK(cost.bytes == 121);
        }
    }
}

TEST_CASE("fused backward ops of other sequence numbers are other uses") {
    TraceFixture file;
    fused_conv(file, "ConvBias_", 5, 0, "[1,1,3,3]");
    fused_conv(file, "ConvBias_", 6, 10, "[1,1,2,2]");
    fused_back(file, "ConvBias_Backward", 6, 20);
    fused_back(file, "ConvBias_Backward", 5, 30);
    PerfTrace trace(std::move(file));
    for (const auto& [backward, forward] : {std::pair{2U, 1U}, std::pair{3U, 0U}})
        CHECK(trace.costs.cost(backward).flops == trace.costs.cost(forward, Pass::backward).flops);
    CHECK(trace.costs.cost(2).flops != trace.costs.cost(3).flops);
}

TEST_CASE("a fused backward op without its forward op: no row in the reference, no figures otherwise") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        fused_conv(file, "ConvBiasReLU_", 5, 0, "[1,1,3,3]");  // another kind
        fused_conv(file, "ConvBias_", 6, 10, "[1,1,3,3]");     // another number
        fused_back(file, "ConvBias_Backward", 5, 20);
        fused_back(file, "ConvBiasReLU_Backward", no_number, 30);  // no number
        PerfTrace trace(std::move(file), rules);
        for (const std::string_view name : {"ConvBias_Backward", "ConvBiasReLU_Backward"}) {
            const NodeId node = trace.node(name);
            CHECK(trace.costs.is_modelled(node));
            const Cost& cost = trace.costs.cost(node);
            CHECK(cost.ok() == (rules == ClassRules::full));
            if (!cost.ok()) continue;
            CHECK(std::isnan(cost.flops));
            CHECK_FALSE(cost.bytes.has_value());
        }
    }
}
