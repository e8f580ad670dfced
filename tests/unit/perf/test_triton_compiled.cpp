#include <tracelens/perf/triton_compiled.hpp>

// Compiled Triton kernels: names cut into ops, and costs from recorded arguments (spec 03, sections 3.15 and
// 3.20 rows 69 and 70; spec 02, section 6.5).
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "cost_support.hpp"

using namespace tracelens;
using namespace tracelens::cost_test;

namespace {

constexpr std::array both_rules = {CostRules::reference, CostRules::full};

/// Names joined by blanks.
std::string joined(const std::vector<std::string_view>& names) {
    std::string text;
    for (const std::string_view name : names) text += (text.empty() ? "" : " ") + std::string(name);
    return text;
}

std::string cut(std::string_view kernel, UnknownParts unknown = UnknownParts::reject,
                const FusedOpNames& names = {}) {
    return joined(fused_ops(kernel, unknown, names));
}

/// Types `type` for `tensors` operands, then two scalars.
std::string types_then_scalars(std::string_view type, std::size_t tensors) {
    std::string text = types(type, tensors);
    text.pop_back();
    return text + R"(,"Scalar","Scalar"])";
}

const std::string rms_name = "triton_red_fused_add_mean_mul_pow_rsqrt_0";
const std::string rms_dims = "[[8,4096,2048],[2048],[8,4096,2048],[],[]]";
const std::string rms_values = R"(["","","","32768","2048"])";
const std::string rms_types = types_then_scalars("c10::BFloat16", 3);

OpText rms_norm() {
    return {rms_dims, rms_types, rms_values, "", rms_name};
}

/// A pointwise kernel over two tensors of four elements.
Cost pointwise(std::string_view type_text, CostRules rules,
               std::string_view name = "triton_poi_fused_add_0") {
    return cost_of(triton_compiled, {"[[4],[4],[]]", type_text, R"(["","","4"])", "", name}, rules);
}

}  // namespace

TEST_CASE("The known ops are sorted, distinct and without namespaces") {
    CHECK(known_ops.size() == 960);
    CHECK(std::is_sorted(known_ops.begin(), known_ops.end()));
    CHECK(std::adjacent_find(known_ops.begin(), known_ops.end()) == known_ops.end());
    CHECK(known_ops.front() == "_adaptive_avg_pool2d");
    CHECK(known_ops.back() == "zeta");
    const FusedOpNames names;
    CHECK(names.contains("_flash_attention_forward"));
    CHECK(names.contains("add_"));
    CHECK_FALSE(names.contains("aten::mm"));
    CHECK_FALSE(names.contains(""));
    CHECK(names.longest() == 52);
}

TEST_CASE("Names of compiled kernels begin in one of three ways") {
    CHECK(is_compiled_triton_name("triton_poi_fused_add_0"));
    CHECK(is_compiled_triton_name("triton_red_"));
    CHECK(is_compiled_triton_name("triton_per_token_quant_fp8"));
    CHECK_FALSE(is_compiled_triton_name("triton_tem_fused_mm_1"));
    CHECK_FALSE(is_compiled_triton_name("Triton_poi_fused_add_0"));
    CHECK_FALSE(is_compiled_triton_name(""));
}

TEST_CASE("Fused ops of a compiled kernel's name") {
    CHECK(cut("triton_red_fused_add_mean_mul_pow_rsqrt_0") == "add mean mul pow rsqrt");
    CHECK(cut("triton_poi_fused__unsafe_view_mul_silu_2") == "_unsafe_view mul silu");
    CHECK(cut("triton_poi_fused_all_to_all_single_add_1") == "all_to_all_single add");
    CHECK(cut("triton_poi_fused_native_layer_norm_backward_2") == "native_layer_norm_backward");
    CHECK(cut("triton_per_fused_add_12") == "add");
    CHECK(cut("triton_poi_fused_add__to_copy_0") == "add _to_copy");
    CHECK(cut("triton_poi_fused_copy__add_0") == "copy_ add");
}

TEST_CASE("Names of another form hold no fused ops") {
    for (const std::string_view name :
         {"triton_poi_fused_0", "triton_poi_fused__0", "triton_tem_fused_mm_1", "some_other_kernel", "",
          "triton_poi_fused_add", "triton_poi_fused_add0", "triton_poi_fused_add_0x", "triton_poi_fused_",
          "triton_poi_", "triton_poi_add_0", "xtriton_poi_fused_add_0", "triton_per_token_quant_fp8"}) {
        CHECK(cut(name) == "");
        CHECK(cut(name, UnknownParts::skip) == "");
    }
}

TEST_CASE("One unknown part costs the reference the whole name, and only itself in full") {
    const std::string_view name = "triton_red_fused__to_copy_add_addmm_as_strided_fmha_v3_fwd_mean_24";
    CHECK(cut(name) == "");
    CHECK(cut(name, UnknownParts::skip) == "_to_copy add addmm as_strided mean");
    CHECK(cut("triton_poi_fused_zorp_1", UnknownParts::skip) == "");
    CHECK(cut("triton_poi_fused____1", UnknownParts::skip) == "");
}

TEST_CASE("A program's own names count as ops") {
    const std::array<std::string_view, 1> vendor = {"fmha_v3_fwd"};
    FusedOpNames names;
    names.more = vendor;
    CHECK(cut("triton_red_fused__to_copy_add_addmm_as_strided_fmha_v3_fwd_mean_24", UnknownParts::reject,
              names) == "_to_copy add addmm as_strided fmha_v3_fwd mean");
}

TEST_CASE("The longest op from the end wins") {
    const std::array<std::string_view, 4> known = {"a", "a_b", "b", "b_c"};
    FusedOpNames names;
    names.known = known;
    CHECK(cut("triton_poi_fused_a_b_0", UnknownParts::reject, names) == "a_b");
    CHECK(cut("triton_poi_fused_a_b_c_0", UnknownParts::reject, names) == "a b_c");
    CHECK(cut("triton_poi_fused_b_b_a_0", UnknownParts::reject, names) == "b b a");
    CHECK(cut("triton_poi_fused_c_0", UnknownParts::reject, names) == "");
}

TEST_CASE("Both ways to cut agree wherever no part is unknown") {
    for (std::size_t i = 0; i + 7 < known_ops.size(); ++i) {
        const std::string name = "triton_poi_fused_" + std::string(known_ops[i]) + "_" +
                                 std::string(known_ops[(i * 7) % known_ops.size()]) + "_3";
        CHECK(cut(name) != "");
        CHECK(cut(name) == cut(name, UnknownParts::skip));
    }
}

TEST_CASE("Very long names are cut in one pass") {
    std::string name = "triton_poi_fused";
    for (int i = 0; i < 20000; ++i) name += "_add__";
    name += "_0";
    CHECK(fused_ops(name, UnknownParts::skip).size() == 20000);
    CHECK(fused_ops("triton_poi_fused_" + std::string(100000, 'x') + "_0", UnknownParts::skip).empty());
}

TEST_CASE("RMS norm from a trace, as the reference prices it") {
    const Cost cost = cost_of(triton_compiled, rms_norm());
    check_cost(cost, 469762048, 268439552);
    CHECK(cost.flops == 7.0 * 32768 * 2048);
    CHECK(params(cost) ==
          "fused_ops=aten.add, aten.mean, aten.mul, aten.pow, aten.rsqrt xnumel=32768 rnumel=2048");
    CHECK(cost.compute_spec() == "vector_bfloat16");
}

TEST_CASE("RMS norm from a trace in full has a proper precision") {
    const Cost cost = cost_of(triton_compiled, rms_norm(), CostRules::full);
    check_cost(cost, 469762048, 268439552);
    CHECK(cost.compute_spec() == "vector_bf16");
}

TEST_CASE("A pointwise kernel counts a result on top in the reference only") {
    const std::string three = R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","Scalar"])";
    const OpText text{"[[8,4096,2048],[8,4096,2048],[32768,2048],[]]", three, R"(["","","","67108864"])", "",
                      "triton_poi_fused__unsafe_view_add_3"};
    const Cost reference = cost_of(triton_compiled, text);
    check_cost(reference, 67108864, 536870912);
    CHECK(params(reference) == "fused_ops=aten._unsafe_view, aten.add xnumel=67108864 rnumel=1");
    check_cost(cost_of(triton_compiled, text, CostRules::full), 67108864, 402653184);
}

TEST_CASE("Other rows of the golden table") {
    const std::string silu_types = R"(["c10::BFloat16","c10::BFloat16","Scalar"])";
    check_cost(
        cost_of(triton_compiled, {"[[8,4096,8192],[32768,8192],[]]", silu_types, R"(["","","268435456"])", "",
                                  "triton_poi_fused__unsafe_view_mul_silu_2"}),
        1342177280, 1536.0 * 1024 * 1024);
    const std::string norm_types = types_then_scalars("c10::BFloat16", 4);
    check_cost(cost_of(triton_compiled, {"[[8,4096,2048],[32768,2048],[2048],[8,4096,2048],[],[]]",
                                         norm_types, R"(["","","","","32768","2048"])", "",
                                         "triton_red_fused__unsafe_view_add_mean_mul_pow_rsqrt_1"}),
               469762048, 384.00390625 * 1024 * 1024);
}

TEST_CASE("The names that PyTorch writes count no bytes in the reference") {
    const std::string floats = R"(["float","float","Scalar"])";
    check_cost(pointwise(floats, CostRules::reference), 4, 0);
    CHECK(pointwise(floats, CostRules::reference).compute_spec() == "");
    check_cost(pointwise(floats, CostRules::full), 4, 32);
    CHECK(pointwise(floats, CostRules::full).compute_spec() == "vector_fp32");
}

TEST_CASE("The names that the reference expects count in both") {
    struct Row {
        std::string_view type;
        double bytes;
        std::string_view reference_precision;
        std::string_view precision;
    };
    for (const Row& row : {Row{"c10::BFloat16", 2, "bfloat16", "bf16"}, Row{"c10::Half", 2, "half", "fp16"},
                           Row{"c10::Float", 4, "float", "fp32"}, Row{"c10::Double", 8, "double", "fp64"},
                           Row{"c10::Byte", 1, "byte", ""}, Row{"c10::Char", 1, "char", ""},
                           Row{"c10::Int", 4, "int", ""}, Row{"c10::Long", 8, "long", ""}}) {
        CAPTURE(row.type);
        const std::string type_text = types(row.type, 2);
        const Cost reference = pointwise(type_text, CostRules::reference);
        check_cost(reference, 4, 3 * 4 * row.bytes);
        CHECK(reference.precision == row.reference_precision);
        const Cost full = pointwise(type_text, CostRules::full);
        check_cost(full, 4, 2 * 4 * row.bytes);
        CHECK(full.precision == row.precision);
    }
}

TEST_CASE("A type that is not known leaves the bytes unknown in full") {
    const std::string mixed = R"(["c10::Posit","c10::Half"])";
    check_cost(pointwise(mixed, CostRules::reference), 4, 8);
    const Cost full = pointwise(mixed, CostRules::full);
    CHECK(full.ok());
    CHECK_FALSE(full.bytes.has_value());
    CHECK(full.precision == "fp16");
}

TEST_CASE("Indices before the data do not decide the precision in full") {
    const std::string mixed = R"(["long int","c10::BFloat16"])";
    CHECK(pointwise(mixed, CostRules::full).precision == "bf16");
    CHECK(pointwise(R"(["c10::Long","c10::BFloat16"])", CostRules::reference).precision == "long");
}

TEST_CASE("An unknown op in the name takes the work away in the reference only") {
    const std::string_view name = "triton_poi_fused_add_fmha_v3_fwd_silu_0";
    const std::string halves = types("c10::Half", 2);
    const Cost reference = pointwise(halves, CostRules::reference, name);
    check_cost(reference, 0, 24);
    CHECK(param(reference, "fused_ops") == "");
    const Cost full = pointwise(halves, CostRules::full, name);
    check_cost(full, 20, 16);
    CHECK(param(full, "fused_ops") == "aten.add, aten.silu");
}

TEST_CASE("A program's own names reach the model") {
    const std::array<std::string_view, 1> vendor = {"fmha_v3_fwd"};
    FusedOpNames names;
    names.more = vendor;
    const std::string halves = types("c10::Half", 2);
    const OpArguments args =
        arguments({"[[4],[4]]", halves, R"(["","","4"])", "", "triton_poi_fused_add_fmha_v3_fwd_0"});
    const Cost cost = triton_compiled(args, Pass::forward, CostRules::reference, names);
    check_cost(cost, 4, 24);
    CHECK(param(cost, "fused_ops") == "aten.add, aten.fmha_v3_fwd");
}

TEST_CASE("Without any known names single counted words remain") {
    FusedOpNames none;
    none.known = {};
    for (const CostRules rules : both_rules) {
        CHECK(joined(triton_fused_ops("triton_poi_fused_add_mul_0", rules, none)) == "add mul");
        CHECK(joined(triton_fused_ops("triton_poi_fused_add_zorp_rsqrt_0", rules, none)) == "add rsqrt");
        CHECK(triton_fused_ops("some_other_kernel", rules, none).empty());
    }
}

TEST_CASE("Sizes of a compiled kernel are its last whole numbers") {
    const auto sizes = [](std::string_view name, std::string_view values) {
        const Cost cost = cost_of(triton_compiled, {"[[4]]", R"(["float"])", values, "", name});
        return param(cost, "xnumel") + " " + param(cost, "rnumel");
    };
    CHECK(sizes("triton_red_fused_sum_0", R"(["","7","32","16"])") == "32 16");
    CHECK(sizes("triton_per_fused_sum_0", R"(["","32","16",""])") == "32 16");
    CHECK(sizes("triton_red_fused_sum_0", R"(["","32"])") == "32 1");
    CHECK(sizes("triton_poi_fused_add_0", R"(["","7","32"])") == "32 1");
    CHECK(sizes("triton_poi_fused_add_0", R"(["2.5",7,"x",null])") == "7 1");
}

TEST_CASE("Compiled kernels without recorded arguments are not modelled") {
    const std::string_view name = "triton_poi_fused_add_0";
    const std::string_view floats = R"(["float"])";
    for (const OpText& text :
         {OpText{"", floats, R"(["4"])", "", name}, OpText{"[]", floats, R"(["4"])", "", name},
          OpText{"[[4]]", "", R"(["4"])", "", name}, OpText{"[[4]]", "[]", R"(["4"])", "", name},
          OpText{"[[4]]", floats, "", "", name}, OpText{"[[4]]", floats, "[]", "", name},
          OpText{"[[4]]", floats, R"(["","2.5","x"])", "", name},
          OpText{"{}", floats, R"(["4"])", "", name}}) {
        CHECK_FALSE(can_model_triton(arguments(text)));
        for (const CostRules rules : both_rules)
            CHECK(cost_of(triton_compiled, text, rules).status == CostStatus::unsupported);
    }
    CHECK(can_model_triton(arguments(rms_norm())));
}

TEST_CASE("Compiled kernels have no backward cost") {
    for (const CostRules rules : both_rules)
        CHECK(cost_of(triton_compiled, rms_norm(), rules, Pass::backward).status == CostStatus::unsupported);
}

TEST_CASE("Only tensors that have a shape and a type count") {
    const std::string_view name = "triton_red_fused_sum_0";
    const std::string_view values = R"(["8","8"])";
    const std::string_view half = R"(["c10::Half"])";
    CHECK(*cost_of(triton_compiled, {"[[4],[4]]", half, values, "", name}).bytes == 8);
    CHECK(*cost_of(triton_compiled, {"[[4]]", R"(["c10::Half","c10::Half"])", values, "", name}).bytes == 8);
    CHECK(*cost_of(triton_compiled, {"[[],null,[4]]", types("c10::Half", 3), values, "", name}).bytes == 8);
    CHECK(*cost_of(triton_compiled, {"[[]]", half, values, "", name}).bytes == 0);
    CHECK(cost_of(triton_compiled, {R"([["a"]])", half, values, "", name}).status ==
          CostStatus::bad_arguments);
}

TEST_CASE("A pointwise kernel without a tensor has no result on top") {
    check_cost(cost_of(triton_compiled,
                       {"[[],[]]", R"(["Scalar","Scalar"])", R"(["1","64"])", "", "triton_poi_fused_add_0"}),
               64, 0);
}

TEST_CASE("Sizes of compiled kernels beyond all reason do no harm") {
    for (const std::string_view size : {"9223372036854775807", "-9223372036854775808", "0", "-1"}) {
        const std::string dims = "[[" + std::string(size) + "," + std::string(size) + "]]";
        const std::string values = "[" + std::string(size) + "," + std::string(size) + "]";
        for (const CostRules rules : both_rules)
            CHECK(cost_of(triton_compiled, {dims, R"(["float"])", values, "", rms_name}, rules).ok());
    }
}

TEST_CASE("Work of a compiled kernel grows with both sizes") {
    CHECK(triton_flops(7, {11, 3}) > triton_flops(7, {10, 3}));
    CHECK(triton_flops(7, {10, 4}) > triton_flops(7, {10, 3}));
    CHECK(triton_flops(8, {10, 3}) > triton_flops(7, {10, 3}));
}
