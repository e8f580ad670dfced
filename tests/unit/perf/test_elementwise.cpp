/// Cost models of work on every element, against spec 03, section 3.9.
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/perf/elementwise.hpp>

#include "cost_support.hpp"

using namespace tracelens;
using namespace tracelens::cost_test;

namespace {

constexpr CostRules reference = CostRules::reference;
constexpr CostRules full = CostRules::full;

/// Dims and types of two operands.
Cost binary(std::string_view dims, std::string_view types, CostRules rules = reference) {
    return cost_of(&aten_binary_elementwise, {.dims = dims, .types = types}, rules);
}

Cost unary(std::string_view dims, std::string_view types, CostRules rules = reference,
           std::string_view name = "aten::copy_") {
    return cost_of(&aten_unary_elementwise, {.dims = dims, .types = types, .name = name}, rules);
}

Cost pad(std::string_view dims, std::string_view padding, std::string_view type = "c10::BFloat16") {
    const std::string concrete = "[\"\"," + std::string(padding) + "]";
    const std::string types = "[\"" + std::string(type) + "\",\"ScalarList\"]";
    return cost_of(&aten_replication_pad, {.dims = dims, .types = types, .concrete = concrete});
}

Cost upsample(std::string_view dims, std::string_view concrete, CostRules rules = reference) {
    return cost_of(&aten_upsample_nearest,
                   {.dims = dims, .types = R"(["c10::BFloat16",""])", .concrete = concrete}, rules);
}

Cost quantize(CostModel model, std::string_view dims, std::string_view type = "c10::BFloat16") {
    return cost_of(model, {.dims = dims, .types = types(type, 1)});
}

const std::vector<CostModel> all_models = {
    &aten_unary_elementwise,     &aten_binary_elementwise, &liger_silu_mul,
    &primus_quantize_fp8,        &aten_replication_pad,    &aten_upsample_nearest,
    &primus_quantize_mxfp4_dual,
};

constexpr std::string_view bf16_float = R"(["c10::BFloat16","float"])";

}  // namespace

// --- one operand ---

TEST_CASE("a unary op reads and writes as many elements") {
    const Cost cost = unary("[[4,8]]", R"(["float"])");
    check_cost(cost, 32, 256);
    CHECK(cost.compute_spec() == "vector_fp32");
    CHECK(params(cost) ==
          "op_shape=(4, 8) dtype_in_out=('float', None) stride_input=(1,) stride_output=None");
}

TEST_CASE("a unary op's second tensor gives the type and stride of its result") {
    const Cost cost = unary("[[16,559,1024],[16,559,1024]]", R"(["float","c10::BFloat16"])");
    check_cost(cost, 9158656, 52.40625 * 1048576);
    CHECK(cost.compute_spec() == "vector_fp32");
    CHECK(param(cost, "dtype_in_out") == "('float', 'c10::BFloat16')");
    CHECK(param(cost, "stride_output") == "(1,)");
}

TEST_CASE("a unary op's scalar is no result") {
    const Cost cost = unary("[[4,8],[]]", R"(["float","Scalar"])", reference, "aten::pow");
    check_cost(cost, 32, 256);
    CHECK(param(cost, "dtype_in_out") == "('float', None)");
    CHECK(param(cost, "stride_output") == "None");
}

TEST_CASE("the reference takes a tensor exponent for a result") {
    check_cost(unary("[[],[64]]", R"(["float","float"])", reference, "aten::pow"), 1, 8);
}

TEST_CASE("mended, pow and clamp with a tensor are binary") {
    for (const std::string_view name :
         {"aten::pow", "aten::clamp_min", "aten::clamp_min_", "aten::clamp_max", "aten::clamp_max_"}) {
        CAPTURE(name);
        const Cost cost = unary("[[],[64]]", R"(["float","float"])", full, name);
        check_cost(cost, 64, 4 + 64 * 4 + 64 * 4);
        CHECK(param(cost, "shape_in2") == "(64,)");
        CHECK(param(cost, "op_shape") == "absent");
    }
}

TEST_CASE("mended, other unary ops and scalar operands stay unary") {
    check_cost(unary("[[64],[64]]", R"(["float","float"])", full, "aten::copy_"), 64, 512);
    check_cost(unary("[[64],[64]]", R"(["float","float"])", full, "aten::sigmoid"), 64, 512);
    check_cost(unary("[[64],[]]", R"(["float","Scalar"])", full, "aten::clamp_min"), 64, 512);
}

TEST_CASE("types that the reference does not know have no bytes") {
    const Cost cost = unary("[[64],[64]]", R"(["bool","float"])");
    CHECK(cost.ok());
    CHECK(cost.flops == 64);
    CHECK(!cost.bytes.has_value());
    CHECK(cost.compute_spec() == "");
    CHECK(!unary("[[64],[64]]", R"(["float","bool"])").bytes.has_value());
    check_cost(unary("[[64],[64]]", R"(["float","bool"])", full), 64, 64 * 5);
}

TEST_CASE("a null or empty type is no failure") {
    for (const std::string_view list : {"[null]", "[\"\"]"}) {
        const Cost cost = unary("[[64]]", list);
        CHECK(cost.ok());
        CHECK(!cost.bytes.has_value());
        CHECK(cost.compute_spec() == "");
    }
    CHECK(param(unary("[[64]]", "[null]"), "dtype_in_out") == "(None, None)");
}

TEST_CASE("a tensor of no dimensions has one element, an empty one has none") {
    check_cost(unary("[[]]", R"(["float"])"), 1, 8);
    check_cost(unary("[[0,7]]", R"(["float"])"), 0, 0);
}

TEST_CASE("a unary op fails without shapes, types or strides") {
    CHECK(cost_of(&aten_unary_elementwise, {.types = types("float", 1)}).status == CostStatus::bad_arguments);
    CHECK(unary("[]", R"(["float"])").status == CostStatus::bad_arguments);
    CHECK(unary("[null]", R"(["float"])").status == CostStatus::bad_arguments);
    CHECK(unary("[[[4],[5]]]", R"(["float"])").status == CostStatus::bad_arguments);
    CHECK(unary("[[4]]", "").status == CostStatus::bad_arguments);
    CHECK(unary("[[4]]", "[]").status == CostStatus::bad_arguments);
    CHECK(unary("[[4]]", R"([["float"]])").status == CostStatus::bad_arguments);
    CHECK(unary("[[4],[4]]", R"(["float"])").reason == "Input type has no element 1");
    const OpText no_strides{.dims = "[[4]]", .types = R"(["float"])", .strides = ""};
    CHECK(cost_of(&aten_unary_elementwise, no_strides).reason == "no Input Strides");
    const OpText short_strides{.dims = "[[4],[4]]", .types = R"(["float","float"])", .strides = "[[1]]"};
    CHECK(cost_of(&aten_unary_elementwise, short_strides).reason == "Input Strides has no element 1");
}

// --- quantisation ---

TEST_CASE("quantize fp8 reads the input and writes a byte an element") {
    const Cost cost = quantize(&primus_quantize_fp8, "[[20480,12288]]");
    check_cost(cost, 251658240, 754974720);
    CHECK(cost.compute_spec() == "vector_bf16");
    CHECK(params(cost) ==
          "op_shape=(20480, 12288) dtype_in_out=('c10::BFloat16', 'c10::Float8_e4m3fnuz') "
          "stride_input=(1,) stride_output=None");
}

TEST_CASE("quantize works without strides") {
    for (const CostModel model : {&primus_quantize_fp8, &primus_quantize_mxfp4_dual}) {
        for (const std::string_view strides : {"", "[]"}) {
            const OpText op{.dims = "[[8,33]]", .types = R"(["c10::BFloat16"])", .strides = strides};
            const Cost cost = cost_of(model, op);
            CHECK(cost.ok());
            CHECK(param(cost, "stride_input") == "None");
        }
    }
}

TEST_CASE("quantize mxfp4 writes two results with scales") {
    const Cost cost = quantize(&primus_quantize_mxfp4_dual, "[[8,33]]");
    check_cost(cost, 264, 841);
    CHECK(params(cost) ==
          "op_shape=(8, 33) dtype_in_out=('c10::BFloat16', 'c10::Float4_e2m1fn_x2') stride_input=(1,) "
          "stride_output=None");
    check_cost(quantize(&primus_quantize_mxfp4_dual, "[[1,33]]"), 33, 66 + 2 * 17 + 2 + 33);
    check_cost(quantize(&primus_quantize_mxfp4_dual, "[[16384,12288]]"), 201326592,
               201326592.0 * 3 + 16384 * 384 + 12288 * 512);
}

TEST_CASE("quantize mxfp4 needs a matrix") {
    CHECK(quantize(&primus_quantize_mxfp4_dual, "[[8]]").status == CostStatus::bad_arguments);
    CHECK(quantize(&primus_quantize_mxfp4_dual, "[[8,33,2]]").status == CostStatus::bad_arguments);
    CHECK(quantize(&primus_quantize_mxfp4_dual, "[]").status == CostStatus::bad_arguments);
}

TEST_CASE("quantize of an unknown type has no bytes") {
    for (const CostModel model : {&primus_quantize_fp8, &primus_quantize_mxfp4_dual}) {
        const Cost cost = quantize(model, "[[8,33]]", "mystery");
        CHECK(cost.ok());
        CHECK(cost.flops == 264);
        CHECK(!cost.bytes.has_value());
    }
}

// --- other shapes ---

TEST_CASE("replication padding grows the last dimensions first") {
    const Cost cost = pad("[[1,16,8,32,32],[]]", R"("[1, 1, 1, 1, 2, 0]")");
    check_cost(cost, 184960, 632064);
    CHECK(cost.compute_spec() == "vector_bf16");
    CHECK(params(cost) ==
          "input_shape=(1, 16, 8, 32, 32) output_shape=(1, 16, 10, 34, 34) padding=[1, 1, 1, 1, 2, 0] "
          "op_shape=(1, 16, 10, 34, 34) dtype_in_out=('c10::BFloat16', 'c10::BFloat16') "
          "stride_input=(1,) stride_output=None");
}

TEST_CASE("an odd last padding does not count") {
    CHECK(param(pad("[[2,3,4]]", R"("[1, 2, 9]")"), "output_shape") == "(2, 3, 7)");
    CHECK(param(pad("[[2,3,4]]", R"("[9]")"), "output_shape") == "(2, 3, 4)");
}

TEST_CASE("padding that is malformed or too large fails") {
    for (const std::string_view padding : {R"("")", R"("[]")", R"("[1, x]")", R"("[1,1,1,1,1,1,1,1]")",
                                           "null", R"("[9000000000000000000, 9000000000000000000]")"}) {
        CAPTURE(padding);
        CHECK(pad("[[2,3,4]]", padding).status == CostStatus::bad_arguments);
    }
}

TEST_CASE("padding and upsampling fail for unknown types and without strides") {
    CHECK(pad("[[2,3,4]]", R"("[1, 1]")", "mystery").status == CostStatus::bad_arguments);
    CHECK(pad("[[2,3,4]]", R"("[1, 1]")", "").status == CostStatus::bad_arguments);
    const OpText op{.dims = "[[1,2,3]]", .types = R"(["float"])", .concrete = R"(["","[6]"])", .strides = ""};
    CHECK(cost_of(&aten_upsample_nearest, op).reason == "no Input Strides");
    CHECK(cost_of(&aten_replication_pad, op).reason == "no Input Strides");
}

TEST_CASE("upsampling keeps batch and channels") {
    const Cost cost = upsample("[[1,768,8],[]]", R"(["","[128]",""])");
    check_cost(cost, 98304, 208896);
    CHECK(cost.compute_spec() == "vector_bf16");
    CHECK(params(cost) ==
          "input_shape=(1, 768, 8) output_shape=(1, 768, 128) op_shape=(1, 768, 128) "
          "dtype_in_out=('c10::BFloat16', 'c10::BFloat16') stride_input=(1,) stride_output=None");
}

TEST_CASE("the reference fails to upsample by scales") {
    CHECK(upsample("[[1,4,8,8],[]]", R"(["","","[2., 2.]"])").status == CostStatus::bad_arguments);
}

TEST_CASE("mended, upsampling by scales rounds sizes down") {
    const Cost cost = upsample("[[1,4,8,5],[]]", R"(["","","[2., 1.5]"])", full);
    CHECK(param(cost, "output_shape") == "(1, 4, 16, 7)");
    check_cost(cost, 448, (160 + 448) * 2);
    CHECK(param(upsample("[[1,4,8],[]]", R"(["","[3]","[2.]"])", full), "output_shape") == "(1, 4, 3)");
}

TEST_CASE("scales that give no size fail") {
    for (const std::string_view concrete :
         {R"(["",""])", R"(["","",""])", R"(["","","[2.]"])", R"(["","","[2., 2., 2.]"])",
          R"(["","","[2., x]"])", R"(["","","[1e300, 1]"])", R"(["","","[nan, 1]"])", R"(["","","[]"])",
          R"(["",null,null])"}) {
        CAPTURE(concrete);
        CHECK(upsample("[[1,4,8,5],[]]", concrete, full).status == CostStatus::bad_arguments);
    }
}

TEST_CASE("upsampling needs a batch and channels, and sizes") {
    CHECK(upsample("[[8],[]]", R"(["","[128]"])").status == CostStatus::bad_arguments);
    CHECK(upsample("[[1,2,8],[]]", R"([""])").status == CostStatus::bad_arguments);
    CHECK(upsample("[[1,2,8],[]]", R"(["","[1.5]"])").status == CostStatus::bad_arguments);
    CHECK(upsample("[[1],[]]", R"(["","","[2.]"])", full).status == CostStatus::bad_arguments);
}

// --- two operands ---

TEST_CASE("the spec's binary examples") {
    struct Example {
        std::string_view dims;
        std::string_view types;
        double bytes;
    };
    for (const Example& example :
         {Example{"[[4,256],[256]]", bf16_float, 7168},
          Example{"[[4,256],[]]", R"(["c10::BFloat16","double"])", 4104},
          Example{"[[4,256],[]]", R"(["c10::BFloat16","Scalar"])", 4100},
          Example{"[[4,256],[4,1],[4,256]]", R"(["float","float","c10::BFloat16"])", 6160}}) {
        CAPTURE(example.dims);
        check_cost(binary(example.dims, example.types), 1024, example.bytes);
        check_cost(binary(example.dims, example.types, full), 1024, example.bytes);
    }
    check_cost(binary("[[16,559,1024],[16,559,1]]", types("float", 2)), 9158656, 69.90911865234375 * 1048576);
}

TEST_CASE("binary parameters") {
    const Cost cost = binary("[[4,256],[256]]", bf16_float);
    CHECK(cost.compute_spec() == "vector_bf16");
    CHECK(params(cost) ==
          "shape_in1=(4, 256) shape_in2=(256,) dtype_in1_in2_out=('c10::BFloat16', 'float', None) "
          "stride_input1=(1,) stride_input2=(1,) stride_output=None");
    const Cost with_out = binary("[[4],[4],[4]]", R"(["float","float","c10::Half"])");
    CHECK(param(with_out, "dtype_in1_in2_out") == "('float', 'float', 'c10::Half')");
    CHECK(param(with_out, "stride_output") == "(1,)");
}

TEST_CASE("a scalar third argument is no result") {
    const Cost cost = binary("[[4,256],[4,256],[]]", R"(["float","float","Scalar"])");
    check_cost(cost, 1024, 3 * 4096);
    CHECK(param(cost, "stride_output") == "None");
}

TEST_CASE("binary bytes of types that the reference does not know") {
    const Cost cost = binary("[[4,256],[4,256]]", types("bool", 2));
    CHECK(cost.ok());
    CHECK(cost.flops == 1024);
    CHECK(!cost.bytes.has_value());
    check_cost(binary("[[4,256],[4,256]]", types("bool", 2), full), 1024, 3072);
    CHECK(!binary("[[4],[4],[4]]", R"(["float","float","mystery"])", full).bytes.has_value());
}

TEST_CASE("a scalar that comes first") {
    constexpr std::string_view dims = "[[],[4,256]]";
    constexpr std::string_view list = R"(["double","c10::BFloat16"])";
    const Cost quirk = binary(dims, list);
    check_cost(quirk, 1024, 10248);
    CHECK(quirk.compute_spec() == "vector_fp64");
    const Cost mended = binary(dims, list, full);
    check_cost(mended, 1024, 4104);
    CHECK(mended.compute_spec() == "vector_bf16");
    CHECK(params(mended) == params(quirk));
}

TEST_CASE("two scalars have the type of the first") {
    for (const CostRules rules : {reference, full}) {
        const Cost cost = binary("[[],[]]", R"(["float","double"])", rules);
        check_cost(cost, 1, 4 + 8 + 4);
        CHECK(cost.precision == "fp32");
    }
}

TEST_CASE("an empty dimension against one of 1") {
    CHECK(binary("[[0,4],[1,4]]", types("float", 2)).flops == 4);
    check_cost(binary("[[0,4],[1,4]]", types("float", 2), full), 0, 16);
    check_cost(binary("[[1,4],[0,4]]", types("float", 2), full), 0, 16);
}

TEST_CASE("shapes that do not broadcast fail") {
    const Cost cost = binary("[[4,8],[3,8]]", types("float", 2));
    CHECK(cost.status == CostStatus::bad_arguments);
    CHECK(cost.reason == "shapes [4,8] and [3,8] do not broadcast");
    CHECK(binary("[[0,8],[3,8]]", types("float", 2), full).status == CostStatus::bad_arguments);
}

TEST_CASE("broadcast shapes") {
    CHECK(*broadcast({4, 1, 8}, {5, 1}) == Shape{4, 5, 8});
    CHECK(*broadcast({}, {}) == Shape{});
    CHECK(*broadcast({}, {0}) == Shape{0});
    CHECK(*broadcast({2, 3}, {}) == Shape{2, 3});
    CHECK(*broadcast({0}, {1}, reference) == Shape{1});
    CHECK(!broadcast({2}, {3}));
}

TEST_CASE("a binary op fails without its operands") {
    CHECK(binary("[[4]]", types("float", 2)).reason == "Input Dims has no element 1");
    CHECK(binary("[[4],null]", types("float", 2)).status == CostStatus::bad_arguments);
    CHECK(binary("[[4],[4]]", types("float", 1)).reason == "Input type has no element 1");
    CHECK(binary("[[4],[4],[4]]", types("float", 2)).reason == "Input type has no element 2");
    CHECK(binary("", types("float", 2)).reason == "no Input Dims");
    const OpText no_strides{.dims = "[[4],[4]]", .types = R"(["float","float"])", .strides = ""};
    CHECK(cost_of(&aten_binary_elementwise, no_strides).reason == "no Input Strides");
}

TEST_CASE("liger silu mul ignores further arguments") {
    constexpr std::string_view dims = "[[1,2911,256],[1,2911,256],[1,2911,256]]";
    const Cost cost = cost_of(&liger_silu_mul, {.dims = dims, .types = R"(["float","float","double"])"});
    check_cost(cost, 745216, 8942592);
    CHECK(param(cost, "dtype_in1_in2_out") == "('float', 'float', None)");
    CHECK(param(cost, "stride_output") == "None");
    check_cost(cost_of(&liger_silu_mul, {.dims = dims, .types = types("c10::BFloat16", 2)}), 745216, 4471296);
}

// --- all of them ---

TEST_CASE("no elementwise model has a backward model") {
    for (const CostModel model : all_models) {
        const Cost cost =
            cost_of(model, {.dims = "[[4,8],[4,8]]", .types = bf16_float}, full, Pass::backward);
        CHECK(cost.status == CostStatus::bad_arguments);
        CHECK(cost.reason == "has no backward model");
    }
}

TEST_CASE("elementwise models take anything without crashing") {
    for (const CostModel model : all_models) {
        for (const std::string_view dims :
             {"", "null", "7", "[]", "[7,7]", R"(["x",{}])", "[[-4,8],[-4,8]]", "[[4.5],[4]]",
              "[[9223372036854775807,9223372036854775807,3],[]]", "[[-9223372036854775808,1,0],[1,1]]"}) {
            for (const std::string_view concrete :
                 {"", "[]", "[1,2,3]", R"(["","[-9223372036854775807, -9223372036854775807]","[-inf]"])",
                  R"(["","","[1e30]"])", R"([{},{},[[]]])"}) {
                for (const CostRules rules : {reference, full}) {
                    const OpText op{.dims = dims, .types = bf16_float, .concrete = concrete};
                    CHECK(cost_of(model, op, rules).status != CostStatus::unsupported);
                }
            }
        }
    }
}

TEST_CASE("elementwise costs grow with each dimension and with the type") {
    const Cost small = binary("[[4,8],[4,8]]", types("c10::Half", 2));
    for (const std::string_view dims : {"[[5,8],[5,8]]", "[[4,9],[4,9]]"}) {
        const Cost large = binary(dims, types("c10::Half", 2));
        CHECK(large.flops > small.flops);
        CHECK(*large.bytes > *small.bytes);
    }
    CHECK(*binary("[[4,8],[4,8]]", types("float", 2)).bytes == 2 * *small.bytes);
    CHECK(*unary("[[4,8]]", types("double", 1)).bytes == 2 * *unary("[[4,8]]", types("float", 1)).bytes);
    CHECK(*pad("[[4,8]]", R"("[1, 1]")", "float").bytes == 2 * *pad("[[4,8]]", R"("[1, 1]")").bytes);
}

TEST_CASE("elementwise formulas work from sizes alone") {
    CHECK(elementwise_flops(32) == 32);
    CHECK(*unary_bytes(32, 4, 2) == 192);
    CHECK(!unary_bytes(32, std::nullopt, 2));
    CHECK(*binary_bytes({4, 256}, 2, {256}, 4, {4, 256}, 4) == 7168);
    CHECK(!binary_bytes({4}, 2, {4}, std::nullopt, {4}, 4));
    CHECK(mxfp4_dual_bytes(8, 33, 2) == 841);
    CHECK(*padded_shape({2, 3}, Shape{1, 1, 0, 4}) == Shape{6, 5});
    CHECK(*scaled_size(5, 1.5) == 7);
    CHECK(*scaled_size(-5, 1.5) == -7);
    CHECK(!scaled_size(5, 1e300));
}

TEST_CASE("elementwise models by name") {
    CHECK(elementwise_models.size() == 31);
    CHECK(elementwise_models.front().name == "LigerSiLUMulFunction");
    CHECK(elementwise_models.back().name == "aten::upsample_nearest3d");
}
