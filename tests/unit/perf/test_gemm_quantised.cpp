// Quantised matrix products, and those with argument lists of their own (spec 03, sections 3.6.2 to 3.6.4).

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/perf/gemm_quantised.hpp>

#include "cost_support.hpp"

using namespace tracelens;
using namespace tracelens::cost_test;

namespace {

constexpr std::string_view fp8 = "c10::Float8_e4m3fn";
constexpr std::string_view fp4 = "c10::Float4_e2m1fn_x2";
constexpr std::string_view some_strides = "[[1],[2],[3],[4]]";

constexpr std::array both_rules = {CostRules::reference, CostRules::full};

Cost scaled_mm(std::string_view dims, std::string_view type, CostRules rules = CostRules::reference,
               std::string_view concrete = "", std::string_view name = "aten::_scaled_mm") {
    return cost_of(&aten_scaled_mm,
                   {.dims = dims, .types = types(type, 8), .concrete = concrete, .name = name}, rules);
}

constexpr std::string_view scaled_with_bias = "[[8,16],[16,32],[],[],[32],[],[],[]]";
constexpr std::string_view scaled_without_bias = "[[8,16],[16,32],[],[],[],[],[],[]]";

Cost int8_linear(std::string_view dims, CostRules rules) {
    return scaled_mm(dims, "signed char", rules, "", "bitsandbytes::int8_linear_matmul");
}

Cost vllm(std::string_view dims, CostRules rules = CostRules::reference,
          std::string_view type_list = R"(["c10::BFloat16","unsigned char"])") {
    return cost_of(&vllm_gemm_with_dynamic_quant, {.dims = dims, .types = type_list}, rules);
}

/// A JSON list of `size` times `filling`, with some elements replaced.
std::string list(std::size_t size, std::string_view filling,
                 const std::vector<std::pair<std::size_t, std::string_view>>& elements) {
    std::string text = "[";
    for (std::size_t i = 0; i < size; ++i) {
        std::string_view element = filling;
        for (const auto& [index, value] : elements) {
            if (index == i) element = value;
        }
        text += (i == 0 ? "" : ",") + std::string(element);
    }
    return text + "]";
}

struct TexFlags {
    std::string_view transpose_a = R"("1")";
    std::string_view transpose_b = R"("0")";
    std::string_view bias = R"("")";
    std::string_view bias_type = R"("")";
};

Cost tex(const TexFlags& flags, CostRules rules = CostRules::reference) {
    const std::string eight = "\"" + std::string(fp8) + "\"";
    return cost_of(
        &tex_ts_te_gemm_ts,
        {.dims = list(19, "[]", {{0, "[128,64]"}, {5, "[256,64]"}, {10, "[128,256]"}}),
         .types = list(19, R"("Scalar")", {{0, eight}, {5, eight}, {10, eight}, {18, flags.bias_type}}),
         .concrete = list(19, R"("")", {{4, flags.transpose_a}, {9, flags.transpose_b}, {14, flags.bias}}),
         .strides = list(19, "[]", {{0, "[64,1]"}, {5, "[64,2]"}})},
        rules);
}

/// `concrete` of hipBLASLt with three flags.
std::string flags(std::string_view a, std::string_view b, std::string_view c) {
    return list(9, R"("")", {{5, a}, {6, b}, {7, c}});
}

constexpr std::string_view yes = R"("True")";
constexpr std::string_view no = R"("False")";

Cost hip(CostModel model, std::string_view a, std::string_view b, std::string_view concrete,
         std::string_view type = fp8, std::string_view strides = some_strides) {
    return cost_of(model, {.dims = list(4, "[]", {{0, a}, {2, b}}),
                           .types = types(type, 4),
                           .concrete = concrete,
                           .strides = strides});
}

std::string sizes(const Cost& cost) {
    return param(cost, "M") + " " + param(cost, "N") + " " + param(cost, "K");
}

Cost fp4_product(CostModel model, std::string_view dims, std::string_view type_list,
                 std::string_view concrete = "", CostRules rules = CostRules::reference) {
    return cost_of(model, {.dims = dims, .types = type_list, .concrete = concrete}, rules);
}

constexpr std::string_view fp4_types_with_scales =
    R"(["c10::Float4_e2m1fn_x2","c10::Float4_e2m1fn_x2","c10::Float8_e8m0fnu","c10::Float8_e8m0fnu"])";

}  // namespace

TEST_CASE("verified costs of scaled products") {
    check_cost(scaled_mm(scaled_with_bias, fp8), 8192, 1152);
    check_cost(scaled_mm("[[8,16],[16,32],[32]]", fp8), 8448, 1184);
    const Cost wide = scaled_mm("[[8,16],[16,32]]", "double");
    CHECK(wide.ok());
    CHECK(wide.flops == 8192);
    CHECK_FALSE(wide.bytes.has_value());
}

TEST_CASE("results of scaled products take 2 bytes for operands of 1, else as many") {
    check_cost(scaled_mm("[[8,16],[16,32]]", "c10::Half"), 8192, (128 + 512 + 256) * 2);
    check_cost(scaled_mm("[[8,16],[16,32]]", "float"), 8192, (128 + 512 + 256) * 4);
}

TEST_CASE("parameters of scaled products") {
    CHECK(params(scaled_mm("[[8,16],[16,32],[32]]", "c10::Half")) ==
          "M=8 N=32 K=16 bias=True stride_A=(1,) stride_B=(1,) dtype_A_B=('c10::Half', 'c10::Half') B=1");
    const Cost cost =
        cost_of(&aten_scaled_mm, {.dims = "[[8,16],[16,32]]", .types = types(fp8, 2), .strides = ""});
    CHECK(param(cost, "stride_A") == "None");
    CHECK(cost.compute_spec() == "matrix_fp8");
}

TEST_CASE("the bias of a scaled product") {
    SUBCASE("the reference never sees it among eight arguments") {
        CHECK(param(scaled_mm(scaled_with_bias, fp8), "bias") == "False");
    }
    SUBCASE("mended: it is argument 4") {
        check_cost(scaled_mm(scaled_with_bias, fp8, CostRules::full), 8192 + 256, 1152 + 32);
        check_cost(scaled_mm(scaled_without_bias, fp8, CostRules::full), 8192, 1152);
    }
    SUBCASE("mended: with its own element size") {
        const Cost cost = cost_of(
            &aten_scaled_mm,
            {.dims = scaled_with_bias,
             .types =
                 R"(["c10::Float8_e4m3fn","c10::Float8_e4m3fn","float","float","c10::BFloat16","","",""])",
             .name = "aten::_scaled_mm"},
            CostRules::full);
        check_cost(cost, 8448, 1152 + 32 * 2);
    }
    SUBCASE("three arguments have it last under both rules") {
        check_cost(scaled_mm("[[8,16],[16,32],[32]]", fp8, CostRules::full), 8448, 1184);
        CHECK(param(scaled_mm("[[8,16],[16,32],[]]", fp8), "bias") == "True");
        CHECK(param(scaled_mm("[[8,16],[16,32],[]]", fp8, CostRules::full), "bias") == "False");
    }
}

TEST_CASE("the result type of a scaled product") {
    constexpr std::string_view float32 = R"(["","","","","","","6","True"])";
    SUBCASE("the reference ignores it") {
        check_cost(scaled_mm(scaled_without_bias, fp8, CostRules::reference, float32), 8192, 1152);
    }
    SUBCASE("mended: it is argument 6") {
        check_cost(scaled_mm(scaled_without_bias, fp8, CostRules::full, float32), 8192, 128 + 512 + 256 * 4);
        check_cost(scaled_mm(scaled_without_bias, "double", CostRules::full, float32), 8192,
                   (128 + 512) * 8 + 256 * 4);
    }
    SUBCASE("mended: without one, or with other text, the operands decide") {
        check_cost(scaled_mm(scaled_without_bias, fp8, CostRules::full, R"(["","","","","","","",""])"), 8192,
                   1152);
        check_cost(scaled_mm(scaled_without_bias, fp8, CostRules::full, R"(["","","","","","","False"])"),
                   8192, 1152);
    }
    SUBCASE("mended: a number that stands for no type leaves the bytes open") {
        CHECK_FALSE(scaled_mm(scaled_without_bias, fp8, CostRules::full, R"(["","","","","","","999"])")
                        .bytes.has_value());
    }
}

TEST_CASE("scaled products of operands of different sizes") {
    const OpText text = {.dims = "[[8,16],[16,32]]", .types = R"(["c10::BFloat16","signed char"])"};
    check_cost(cost_of(&aten_scaled_mm, text), 8192, 1792);
    check_cost(cost_of(&aten_scaled_mm, text, CostRules::full), 8192, 1792 - 512);
}

TEST_CASE("scaled products need known types of both operands") {
    for (const std::string_view type_list :
         {R"(["what","float"])", R"(["float","what"])", R"(["float"])", R"(["float",""])", R"([])", ""}) {
        for (const CostRules rules : both_rules) {
            CAPTURE(type_list);
            const Cost cost =
                cost_of(&aten_scaled_mm, {.dims = "[[8,16],[16,32]]", .types = type_list}, rules);
            CHECK(cost.status == CostStatus::bad_arguments);
            CHECK(cost.reason != "");
        }
    }
}

TEST_CASE("int8 linear layers") {
    SUBCASE("the reference reads the weight as K x N") {
        CHECK(sizes(int8_linear("[[8,16],[32,16]]", CostRules::reference)) == "8 16 16");
        CHECK(sizes(int8_linear("[[2,8,16],[32,16]]", CostRules::reference)) == "2 16 8");
    }
    SUBCASE("mended: N x K, any leading dimensions, a result of 4 bytes") {
        const Cost flat = int8_linear("[[8,16],[32,16]]", CostRules::full);
        check_cost(flat, 2 * 8 * 16 * 32, 8 * 16 + 16 * 32 + 8 * 32 * 4);
        CHECK(flat.compute_spec() == "matrix_int8");
        const Cost batch = int8_linear("[[2,4,16],[32,16]]", CostRules::full);
        CHECK(sizes(batch) == "8 32 16");
        CHECK(batch.flops == flat.flops);
        CHECK(*batch.bytes == *flat.bytes);
    }
    SUBCASE("mended: a result as the third argument is no bias") {
        CHECK(param(int8_linear("[[8,16],[32,16],[8,32]]", CostRules::reference), "bias") == "True");
        CHECK(param(int8_linear("[[8,16],[32,16],[8,32]]", CostRules::full), "bias") == "False");
    }
    SUBCASE("malformed shapes") {
        for (const std::string_view dims : {"[]", "[[],[32,16]]", "[[8,16]]", "[[8,16],[]]"}) {
            CAPTURE(dims);
            CHECK(int8_linear(dims, CostRules::full).status == CostStatus::bad_arguments);
        }
    }
}

TEST_CASE("verified cost of a dynamically quantised product") {
    const Cost cost = vllm("[[4,128],[256,64],[],[]]");
    check_cost(cost, 262144, 68608);
    CHECK(params(cost) ==
          "M=4 N=256 K=128 bias=False stride_A=(1,) stride_B=(1,) "
          "dtype_A_B=('c10::BFloat16', 'unsigned char') B=1");
    CHECK(cost.compute_spec() == "matrix_bf16");
}

TEST_CASE("mended: packed weights count as they are stored") {
    check_cost(vllm("[[4,128],[256,64],[],[]]", CostRules::full), 262144,
               4 * 128 * 2 + 256 * 64 * 1 + 4 * 256 * 2);
}

TEST_CASE("dynamically quantised products of activations with leading dimensions") {
    SUBCASE("the reference takes the weight for both operands") {
        CHECK(sizes(vllm("[[2,4,128],[256,64]]")) == "256 256 64");
    }
    SUBCASE("mended: they are rows") {
        CHECK(sizes(vllm("[[2,4,128],[256,64]]", CostRules::full)) == "8 256 128");
    }
}

TEST_CASE("the reference looks for matrices anywhere among the arguments") {
    CHECK(sizes(vllm("[[],[4,128],[256,64]]")) == "4 256 128");
    CHECK_FALSE(vllm("[[],[4,128],[256,64]]", CostRules::full).ok());
}

TEST_CASE("dynamically quantised products need two matrices and two types") {
    for (const CostRules rules : both_rules) {
        for (const std::string_view dims :
             {"[[],[]]", "[]", "", "[[4,128]]", "[[4,128],[]]", "[[4,128],[2,2,2]]", "[null,null]",
              "[[[4,8],[8,4]],[[4,8],[8,4]]]"}) {
            CAPTURE(dims);
            CHECK(vllm(dims, rules).status == CostStatus::bad_arguments);
        }
        for (const std::string_view type_list : {"", "null", "[]", R"(["float"])"}) {
            CAPTURE(type_list);
            CHECK(vllm("[[4,128],[256,64]]", rules, type_list).status == CostStatus::bad_arguments);
        }
        const Cost unknown = vllm("[[4,128],[256,64]]", rules, R"(["what","what"])");
        CHECK(unknown.ok());
        CHECK_FALSE(unknown.bytes.has_value());
    }
}

TEST_CASE("gradients of a dynamically quantised product fail") {
    CHECK(cost_of(&vllm_gemm_with_dynamic_quant, {.dims = "[[4,128],[256,64]]", .types = types("float", 2)},
                  CostRules::reference, Pass::backward)
              .status == CostStatus::bad_arguments);
}

TEST_CASE("verified cost of a TransformerEngine product") {
    const Cost cost = tex({.bias_type = R"("c10::Float8_e4m3fn")"});
    check_cost(cost, 4194304, 57344);
    CHECK(params(cost) ==
          "M=128 N=256 K=64 bias=False stride_A=(64, 1) stride_B=(64, 2) "
          "dtype_A_B=('c10::Float8_e4m3fn', 'c10::Float8_e4m3fn', 'c10::Float8_e4m3fn', "
          "'c10::Float8_e4m3fn') B=1");
}

TEST_CASE("a TransformerEngine product without a bias has no type for it") {
    SUBCASE("which leaves the reference's bytes open") {
        const Cost cost = tex({});
        CHECK(cost.ok());
        CHECK(param(cost, "bias") == "False");
        CHECK_FALSE(cost.bytes.has_value());
    }
    SUBCASE("mended: and does not matter") {
        check_cost(tex({}, CostRules::full), 4194304, 57344);
    }
    SUBCASE("with a bias, both rules need it") {
        for (const CostRules rules : both_rules)
            CHECK_FALSE(tex({.bias = R"("1")"}, rules).bytes.has_value());
    }
}

TEST_CASE("the bias of a TransformerEngine product") {
    check_cost(tex({.bias = R"("1")", .bias_type = R"("c10::BFloat16")"}), 4194304 + 128 * 256,
               57344 + 256 * 2);
}

TEST_CASE("flags of a TransformerEngine product") {
    CHECK(sizes(tex({})) == "128 256 64");
    CHECK(sizes(tex({.transpose_a = R"("0")"})) == "64 256 128");
    CHECK(sizes(tex({.transpose_a = R"("True")"})) == "64 256 128");
    CHECK(sizes(tex({.transpose_b = R"("1")"})) == "128 64 64");
}

TEST_CASE("TransformerEngine products need all their arguments") {
    const OpText good = {.dims = "[[128,64],[],[],[],[],[256,64],[],[],[],[],[128,256]]"};
    const std::string type_list = types(fp8, 19);
    const std::string concrete = list(19, R"("")", {});
    const auto status = [](OpText text) { return cost_of(&tex_ts_te_gemm_ts, text).status; };
    OpText text = good;
    text.types = type_list;
    text.concrete = concrete;
    CHECK(status(text) == CostStatus::ok);
    text.dims = "[[128,64],[],[],[],[],[256,64]]";
    CHECK(status(text) == CostStatus::bad_arguments);
    text.dims = good.dims;
    text.concrete = R"(["","","","",""])";
    CHECK(status(text) == CostStatus::bad_arguments);
    text.concrete = "";
    CHECK(status(text) == CostStatus::bad_arguments);
    text.concrete = concrete;
    text.types = R"(["float"])";
    CHECK(status(text) == CostStatus::bad_arguments);
    text.types = type_list;
    text.strides = "[[1]]";
    CHECK(status(text) == CostStatus::bad_arguments);
}

TEST_CASE("verified cost of a pseudo product of TransformerEngine") {
    const Cost cost = cost_of(&tev2_pseudo_gemm, {.dims = "[[8,16],[16,32]]", .types = types(fp8, 2)});
    check_cost(cost, 8192, 1152);
    CHECK(param(cost, "bias") == "False");
    CHECK(param(cost, "B") == "1");
}

TEST_CASE("pseudo products need equal types") {
    for (const std::string_view type_list : {R"(["float","c10::Half"])", R"(["float"])", ""}) {
        for (const CostRules rules : both_rules) {
            CAPTURE(type_list);
            CHECK(
                cost_of(&tev2_pseudo_gemm, {.dims = "[[8,16],[16,32]]", .types = type_list}, rules).status ==
                CostStatus::bad_arguments);
        }
    }
    const Cost unknown = cost_of(&tev2_pseudo_gemm, {.dims = "[[8,16],[16,32]]", .types = types("what", 2)});
    CHECK(unknown.ok());
    CHECK_FALSE(unknown.bytes.has_value());
}

TEST_CASE("verified costs of hipBLASLt fp8 products") {
    check_cost(hip(&hipblaslt_gemm_fp8, "[20480,3072]", "[12288,3072]", flags(no, yes, no)), 1546188226560,
               603979776);
    check_cost(hip(&hipblaslt_gemm_fp8, "[4,8]", "[16,8]", flags(no, yes, no), "c10::Half"), 1024, 448);
}

TEST_CASE("parameters of hipBLASLt products") {
    const Cost cost = cost_of(&hipblaslt_gemm_fp8,
                              {.dims = "[[4,8],[],[16,8],[]]",
                               .types = R"(["c10::Float8_e4m3fn","float","c10::Float8_e4m3fn","double"])",
                               .concrete = flags(no, yes, no),
                               .strides = some_strides});
    CHECK(params(cost) ==
          "M=4 N=16 K=8 bias=False stride_A=(1,) stride_B=(3,) "
          "dtype_A_B=('c10::Float8_e4m3fn', 'c10::Float8_e4m3fn') dtype_scaleA=float "
          "dtype_scaleB=double B=1");
}

TEST_CASE("flags of hipBLASLt products lead to the same sizes") {
    const auto sizes_of = [](std::string_view a, std::string_view b, std::string_view concrete) {
        return sizes(hip(&hipblaslt_gemm_fp8, a, b, concrete));
    };
    CHECK(sizes_of("[4,8]", "[16,8]", flags(no, yes, no)) == "4 16 8");
    CHECK(sizes_of("[4,8]", "[8,16]", flags(no, no, no)) == "4 16 8");
    CHECK(sizes_of("[8,4]", "[8,16]", flags(yes, no, no)) == "4 16 8");
    // A transposed result: (A B)^T = B^T A^T.
    CHECK(sizes_of("[16,8]", "[4,8]", flags(no, yes, yes)) == "4 16 8");
    CHECK(sizes_of("[8,16]", "[8,4]", flags(yes, no, yes)) == "4 16 8");
}

TEST_CASE("hipBLASLt products without values have no transposed operands") {
    for (const std::string_view concrete : {"", "null", "[]", R"([""])"}) {
        CAPTURE(concrete);
        CHECK(sizes(hip(&hipblaslt_gemm_fp8, "[4,8]", "[8,16]", concrete)) == "4 16 8");
        CHECK(sizes(hip(&hipblaslt_gemm_fp4, "[4,8]", "[8,16]", concrete)) == "4 16 16");
    }
}

TEST_CASE("flags are read as Python's callers pass them") {
    const auto flag = [](std::string_view json) {
        const ArgValue value = parse_arg_value(json);
        return detail::loose_flag(&value);
    };
    for (const std::string_view json :
         {R"("true")", R"(" TRUE ")", R"("1")", "true", R"("maybe")", "2", "-1.5", "[0]"}) {
        CAPTURE(json);
        CHECK(flag(json));
    }
    for (const std::string_view json :
         {R"("0")", R"("false")", R"("False ")", R"("")", R"("  ")", "null", "false", "0", "0.0", "[]"}) {
        CAPTURE(json);
        CHECK_FALSE(flag(json));
    }
    CHECK_FALSE(detail::loose_flag(nullptr));
}

TEST_CASE("hipBLASLt strides count only when both are there") {
    for (const std::string_view strides : {"", "[]", "[[1]]", "[[1],[2]]"}) {
        CAPTURE(strides);
        const Cost cost = hip(&hipblaslt_gemm_fp8, "[4,8]", "[8,16]", "", fp8, strides);
        CHECK(cost.ok());
        CHECK(param(cost, "stride_A") == "None");
        CHECK(param(cost, "stride_B") == "None");
    }
}

TEST_CASE("products with scales of their own need known types of both operands") {
    struct Row {
        CostModel model;
        std::string_view dims;
    };
    for (const Row& row :
         {Row{&hipblaslt_gemm_fp8, "[[4,8],[],[8,16],[]]"}, Row{&hipblaslt_gemm_fp4, "[[4,8],[],[8,16],[]]"},
          Row{&aiter_gemm_a4w4, "[[4,8],[8,16],[],[]]"}}) {
        for (const std::string_view type_list : {R"(["what","what","what"])", R"(["fp8"])", "[]", ""}) {
            CAPTURE(type_list);
            CHECK(fp4_product(row.model, row.dims, type_list).status == CostStatus::bad_arguments);
        }
        for (const std::string_view dims : {"", "[]", "[[4,8]]", "[[4],[4],[4]]", "[[],[],[]]"}) {
            CAPTURE(dims);
            CHECK(fp4_product(row.model, dims, types("fp8", 4)).status == CostStatus::bad_arguments);
        }
    }
}

TEST_CASE("missing types of scales are None") {
    const Cost cost = fp4_product(&aiter_gemm_a4w4, "[[4,8],[8,16]]", R"(["fp4","fp4"])");
    CHECK(param(cost, "dtype_scaleA") == "None");
    CHECK(param(cost, "dtype_scaleB") == "None");
}

TEST_CASE("verified costs of fp4 products") {
    const Cost hipblaslt =
        hip(&hipblaslt_gemm_fp4, "[16384,1536]", "[12288,1536]", flags(no, yes, no), fp4, "");
    const Cost aiter =
        fp4_product(&aiter_gemm_a4w4, "[[16384,1536],[12288,1536],[],[]]", fp4_types_with_scales);
    for (const Cost& cost : {hipblaslt, aiter}) {
        check_cost(cost, 1236950581248, 449445888);
        CHECK(sizes(cost) == "16384 12288 3072");
        CHECK(cost.compute_spec() == "matrix_fp4");
    }
}

TEST_CASE("parameters of fp4 products") {
    CHECK(params(cost_of(&aiter_gemm_a4w4, {.dims = "[[4,8],[16,8]]",
                                            .types = R"(["fp4","fp4","unsigned char","float"])",
                                            .strides = "[[8,1],[8,2]]"})) ==
          "M=4 N=16 K=16 bias=False stride_A=(8, 1) stride_B=(8, 2) dtype_A_B=('fp4', 'fp4') "
          "dtype_scaleA=unsigned char dtype_scaleB=float B=1");
}

TEST_CASE("scales of fp4 products count by block, with a byte each when their type is not known") {
    constexpr double operands = 4 * 24 + 16 * 24 + 4 * 16 * 2;  // K is 48: two blocks of 32
    check_cost(fp4_product(&aiter_gemm_a4w4, "[[4,24],[16,24]]", R"(["fp4","fp4"])"), 2 * 4 * 16 * 48,
               operands + (4 + 16) * 2);
    check_cost(fp4_product(&aiter_gemm_a4w4, "[[4,24],[16,24]]", R"(["fp4","fp4","float","what"])"),
               2 * 4 * 16 * 48, operands + 4 * 2 * 4 + 16 * 2);
    CHECK(*mxfp4_gemm_bytes({4, 16, 48}, GemmElementBytes::all(1), 4, 1) == operands + 4 * 2 * 4 + 16 * 2);
    CHECK_FALSE(mxfp4_gemm_bytes({4, 16, 48}, GemmElementBytes::all(std::nullopt)).has_value());
}

TEST_CASE("fp4 operands recorded as bytes") {
    const std::string type_list = types("unsigned char", 4);
    CHECK(fp4_product(&aiter_gemm_a4w4, "[[4,8],[16,8]]", type_list).precision == "fp8");
    CHECK(fp4_product(&aiter_gemm_a4w4, "[[4,8],[16,8]]", type_list, "", CostRules::full).precision == "fp4");
}

TEST_CASE("further arguments of fp4 products do not count") {
    const Cost plain = fp4_product(&aiter_gemm_a4w4, "[[4,8],[16,8]]", types("fp4", 2));
    const Cost assembly =
        fp4_product(&aiter_gemm_a4w4, "[[4,8],[16,8],[4,1],[16,1],[4,16],[],[],[],[],[],[]]",
                    types("fp4", 11), R"(["","","","","","","True","1","0","True","2"])");
    CHECK(assembly.flops == plain.flops);
    CHECK(*assembly.bytes == *plain.bytes);
}

TEST_CASE("the cost of an fp4 product grows with each of its sizes") {
    const auto product_of = [](std::string_view dims) {
        return fp4_product(&aiter_gemm_a4w4, dims, fp4_types_with_scales);
    };
    const Cost base = product_of("[[4,8],[16,8]]");
    for (const std::string_view dims : {"[[5,8],[16,8]]", "[[4,8],[17,8]]", "[[4,9],[16,9]]"}) {
        CAPTURE(dims);
        CHECK(product_of(dims).flops > base.flops);
        CHECK(*product_of(dims).bytes > *base.bytes);
    }
}

TEST_CASE("every name has its model; gradients are not priced from forward ops") {
    CHECK(quantised_gemm_models.size() == 17);
    for (const ModelRow& row : quantised_gemm_models) {
        CAPTURE(row.name);
        const Cost cost = cost_of(row.model, {}, CostRules::full, Pass::backward);
        CHECK_FALSE(cost.ok());
        CHECK((cost.status == CostStatus::unsupported) == (row.model != &vllm_gemm_with_dynamic_quant));
        CHECK(cost_of(row.model, {}).status == CostStatus::bad_arguments);
    }
}

TEST_CASE("sizes of any magnitude are computed without overflow") {
    constexpr std::string_view huge =
        "[[9223372036854775807,9223372036854775807],[9223372036854775807,9223372036854775807],"
        "[-9223372036854775808,-9223372036854775808],[0,0],[],[-1,-1],[],[],[],[],[1,1]]";
    const std::string type_list = types("fp8", 19);
    const std::string concrete = list(19, R"("1")", {});
    for (const ModelRow& row : quantised_gemm_models) {
        for (const CostRules rules : both_rules) {
            CAPTURE(row.name);
            const Cost cost = cost_of(
                row.model, {.dims = huge, .types = type_list, .concrete = concrete, .name = row.name}, rules);
            CHECK(cost.ok());
        }
    }
}
