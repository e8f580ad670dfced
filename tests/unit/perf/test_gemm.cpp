// Plain matrix products: formulas and models (spec 03, sections 3.6, 3.17.1, 3.18 and 3.20).

#include <array>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <tracelens/perf/gemm.hpp>

#include "cost_support.hpp"

using namespace tracelens;
using namespace tracelens::cost_test;

namespace {

/// A plain model with dims and types that it accepts.
struct PlainModel {
    std::string_view name;
    CostModel model;
    std::string_view dims;
};

constexpr std::array plain_models = {
    PlainModel{"aten::mm", &aten_mm, "[[8,16],[16,32]]"},
    PlainModel{"aten::addmm", &aten_addmm, "[[32],[8,16],[16,32],[],[]]"},
    PlainModel{"aten::bmm", &aten_bmm, "[[2,8,16],[2,16,32]]"},
    PlainModel{"aten::baddbmm", &aten_baddbmm, "[[2,8,32],[2,8,16],[2,16,32]]"},
};

constexpr std::array both_rules = {CostRules::reference, CostRules::full};

Cost bf16(CostModel model, std::string_view dims, CostRules rules = CostRules::reference) {
    return cost_of(model, {.dims = dims, .types = types("c10::BFloat16", 5)}, rules);
}

std::string mm_dims(int m, int n, int k) {
    return "[[" + std::to_string(m) + "," + std::to_string(k) + "],[" + std::to_string(k) + "," +
           std::to_string(n) + "]]";
}

Cost mm(int m, int n, int k, std::string_view type = "float") {
    return cost_of(&aten_mm, {.dims = mm_dims(m, n, k), .types = types(type, 2)});
}

}  // namespace

TEST_CASE("verified costs of plain products") {
    for (const CostRules rules : both_rules) {
        check_cost(bf16(&aten_mm, "[[8,16],[16,32]]", rules), 8192, 1792);
        check_cost(bf16(&aten_addmm, "[[32],[8,16],[16,32],[],[]]", rules), 8448, 1856);
        check_cost(bf16(&aten_bmm, "[[2,8,16],[2,16,32]]", rules), 16384, 3584);
        check_cost(bf16(&aten_baddbmm, "[[2,8,32],[2,8,16],[2,16,32]]", rules), 16896, 3712);
    }
}

TEST_CASE("products of a real trace") {
    const Cost qwen = bf16(&aten_mm, "[[8944,1024],[1024,2816]]");
    check_cost(qwen, 51.581550592e9, 71.0078125 * 1048576);
    CHECK(qwen.compute_spec() == "matrix_bf16");
    check_cost(bf16(&aten_mm, "[[10,1000],[1000,512]]"), 10240000, 1.005401611328125 * 1048576);
}

TEST_CASE("integers have bytes but no precision") {
    const Cost cost = cost_of(&aten_mm, {.dims = "[[8,16],[16,32]]", .types = R"(["int","int"])"});
    check_cost(cost, 8192, 3584);
    CHECK(cost.precision == "");
    CHECK(cost.unit == ComputeUnit::matrix);
}

TEST_CASE("parameters of a product and their order") {
    CHECK(params(cost_of(&aten_mm, {.dims = "[[8,16],[16,32]]",
                                    .types = R"(["float","c10::Half"])",
                                    .strides = "[[16,1],[32,1]]"})) ==
          "M=8 N=32 K=16 bias=False stride_A=(16, 1) stride_B=(32, 1) "
          "dtype_A_B=('float', 'c10::Half') B=1");
    CHECK(params(cost_of(&aten_addmm, {.dims = "[[32],[8,16],[16,32],[],[]]",
                                       .types = R"(["a","float","c10::Half","Scalar","Scalar"])",
                                       .strides = "[[1],[16,1],[32,1],[],[]]"})) ==
          "M=8 N=32 K=16 bias=True stride_A=(16, 1) stride_B=(32, 1) "
          "dtype_A_B=('float', 'c10::Half') B=1");
}

TEST_CASE("batched products have B first") {
    CHECK(params(cost_of(&aten_bmm, {.dims = "[[2,8,16],[2,16,32]]",
                                     .types = types("float", 2),
                                     .strides = "[[128,16,1],[512,32,1]]"})) ==
          "B=2 M=8 N=32 K=16 bias=False stride_A=(128, 16, 1) stride_B=(512, 32, 1) "
          "dtype_A_B=('float', 'float')");
    CHECK(params(cost_of(&aten_baddbmm, {.dims = "[[2,8,32],[2,8,16],[2,16,32]]",
                                         .types = types("float", 3),
                                         .strides = "[[1],[2],[3]]"})) ==
          "B=2 M=8 N=32 K=16 bias=True stride_A=(2,) stride_B=(3,) dtype_A_B=('float', 'float')");
}

TEST_CASE("further arguments do not count") {
    check_cost(bf16(&aten_mm, "[[8,16],[16,32],[8,32]]"), 8192, 1792);
}

TEST_CASE("without strides the parameters are None, with too few there is no cost") {
    const Cost none =
        cost_of(&aten_mm, {.dims = "[[8,16],[16,32]]", .types = types("float", 2), .strides = ""});
    CHECK(none.ok());
    CHECK(param(none, "stride_A") == "None");
    CHECK(param(none, "stride_B") == "None");
    const Cost few =
        cost_of(&aten_mm, {.dims = "[[8,16],[16,32]]", .types = types("float", 2), .strides = "[[1]]"});
    CHECK(few.status == CostStatus::bad_arguments);
}

TEST_CASE("operands of different types") {
    const OpText text = {.dims = "[[8,16],[16,32]]", .types = R"(["c10::BFloat16","float"])"};
    SUBCASE("the reference takes the first one's size for all") {
        check_cost(cost_of(&aten_mm, text), 8192, 1792);
    }
    SUBCASE("mended: B has its own size") {
        check_cost(cost_of(&aten_mm, text, CostRules::full), 8192, 8 * 16 * 2 + 16 * 32 * 4 + 8 * 32 * 2);
    }
}

TEST_CASE("unknown types leave bytes and precision open") {
    for (const CostRules rules : both_rules) {
        const Cost cost = cost_of(&aten_mm, {.dims = "[[8,16],[16,32]]", .types = types("what", 2)}, rules);
        CHECK(cost.ok());
        CHECK(cost.flops == 8192);
        CHECK_FALSE(cost.bytes.has_value());
        CHECK(cost.compute_spec() == "");
    }
}

TEST_CASE("e5m2 has a precision under the full rules only") {
    const OpText text = {.dims = "[[8,16],[16,32]]", .types = R"(["c10::Float8_e5m2","c10::Float8_e5m2"])"};
    CHECK(cost_of(&aten_mm, text).precision == "");
    CHECK(cost_of(&aten_mm, text, CostRules::full).precision == "fp8");
}

TEST_CASE("gradients of plain products are not priced from the forward op") {
    for (const PlainModel& each : plain_models) {
        CAPTURE(each.name);
        const Cost cost = cost_of(each.model, {.dims = each.dims, .types = types("float", 5)},
                                  CostRules::reference, Pass::backward);
        CHECK(cost.status == CostStatus::unsupported);
        CHECK(cost.reason != "");
    }
}

TEST_CASE("malformed arguments of plain products have no cost, and a reason") {
    constexpr std::array<std::string_view, 10> bad_dims = {"",
                                                           "null",
                                                           "7",
                                                           "[]",
                                                           "[[8,16]]",
                                                           "[[8],[16]]",
                                                           "[[],[],[]]",
                                                           "[null,null,null]",
                                                           R"(["a","b","c"])",
                                                           "[[8,1.5],[1.5,32],[true,1]]"};
    for (const PlainModel& each : plain_models) {
        for (const std::string_view dims : bad_dims) {
            for (const CostRules rules : both_rules) {
                CAPTURE(each.name);
                CAPTURE(dims);
                const Cost cost = bf16(each.model, dims, rules);
                CHECK(cost.status == CostStatus::bad_arguments);
                CHECK(cost.reason != "");
            }
        }
    }
}

TEST_CASE("missing or empty types have no cost") {
    constexpr std::array<std::string_view, 3> bad_types = {"", "null", "[]"};
    for (const PlainModel& each : plain_models) {
        for (const std::string_view none : bad_types) {
            CAPTURE(each.name);
            CAPTURE(none);
            CHECK(cost_of(each.model, {.dims = each.dims, .types = none}).status ==
                  CostStatus::bad_arguments);
        }
    }
    CHECK_FALSE(cost_of(&aten_addmm, {.dims = "[[32],[8,16],[16,32]]", .types = R"(["float"])"}).ok());
}

TEST_CASE("batched products need rank 3") {
    CHECK_FALSE(bf16(&aten_bmm, "[[8,16],[16,32]]").ok());
    CHECK_FALSE(bf16(&aten_bmm, "[[2,8,16],[16,32]]").ok());
    CHECK_FALSE(bf16(&aten_bmm, "[[1,2,8,16],[1,2,16,32]]").ok());
}

TEST_CASE("sizes of any magnitude are computed without overflow") {
    const Cost huge = bf16(&aten_mm, "[[9223372036854775807,9223372036854775807],[1,9223372036854775807]]");
    CHECK(huge.ok());
    CHECK(huge.flops > 1e57);
    CHECK(bf16(&aten_mm, "[[0,16],[16,32]]").flops == 0);
    CHECK(bf16(&aten_mm, "[[-8,16],[16,32]]").flops == -8192);
}

TEST_CASE("a product's cost grows with each of its sizes, its bytes with the element") {
    const Cost base = mm(8, 32, 16);
    for (const Cost& larger : {mm(9, 32, 16), mm(8, 33, 16), mm(8, 32, 17)}) {
        CHECK(larger.flops > base.flops);
        CHECK(*larger.bytes > *base.bytes);
    }
    CHECK(*mm(8, 32, 16, "double").bytes == 2 * *base.bytes);
    CHECK(*mm(8, 32, 16, "c10::Half").bytes * 2 == *base.bytes);
    CHECK(mm(8, 32, 16, "double").flops == base.flops);
}

TEST_CASE("the formulas work from shapes alone") {
    const GemmShape shape{40960, 6144, 1536};
    CHECK(gemm_flops(shape) == 773094113280.0);
    CHECK(*gemm_bytes(shape, GemmElementBytes::all(2)) == 648019968);
    CHECK(gemm_flops({4, 8, 16}) == 1024);
    static_assert(gemm_flops({4, 8, 16, true, 2}) == 2 * (1024 + 32));
}

TEST_CASE("bytes are open as soon as one element size is") {
    const GemmShape shape{4, 8, 16};
    CHECK_FALSE(gemm_bytes(shape, GemmElementBytes::all(std::nullopt)).has_value());
    CHECK_FALSE(gemm_bytes(shape, {std::nullopt, 2, 2, 2}).has_value());
    CHECK_FALSE(gemm_bytes(shape, {2, std::nullopt, 2, 2}).has_value());
    CHECK_FALSE(gemm_bytes(shape, {2, 2, std::nullopt, 2}).has_value());
    CHECK_FALSE(gemm_bytes(shape, {2, 2, 2, std::nullopt}).has_value());
    CHECK_FALSE(gemm_backward_bytes(shape, std::nullopt).has_value());
}

TEST_CASE("gradients of a product by formula") {
    const GemmShape shape{4, 16, 8, true};
    CHECK(gemm_backward_flops(shape) == 4 * 4 * 16 * 8 + 4 * 16);
    CHECK(gemm_backward_flops(shape) > gemm_flops(shape));
    constexpr double operands = 2 * (4 * 16 + 16 * 8 + 4 * 8) * 2;
    SUBCASE("the reference counts the bias gradient in elements") {
        CHECK(*gemm_backward_bytes(shape, 2, CostRules::reference) == operands + 4 * 16);
    }
    SUBCASE("mended: in bytes, with the gradient itself") {
        CHECK(*gemm_backward_bytes(shape, 2) == operands + (4 * 16 + 16) * 2);
    }
    SUBCASE("without a bias both agree") {
        const GemmShape plain{4, 16, 8};
        CHECK(*gemm_backward_bytes(plain, 2) == operands);
        CHECK(*gemm_backward_bytes(plain, 2, CostRules::reference) == operands);
    }
}

TEST_CASE("the products of a linear layer do the same work") {
    constexpr LinearLayerGemms gemms = linear_layer_gemms(100, 64, 256);
    CHECK(gemm_flops(gemms.forward) == gemm_flops(gemms.input_gradient));
    CHECK(gemm_flops(gemms.forward) == gemm_flops(gemms.weight_gradient));
    CHECK(gemms.forward.m == 100);
    CHECK(gemms.forward.n == 256);
    CHECK(gemms.input_gradient.n == 64);
    CHECK(gemms.weight_gradient.m == 256);
    CHECK(gemms.weight_gradient.n == 64);
    CHECK(gemms.weight_gradient.k == 100);
}

TEST_CASE("the parameter transpose") {
    const auto text = [](std::string_view name, ClassRules rules = ClassRules::full) {
        return python_text(to_transpose_param(parse_kernel_name(name, rules)));
    };
    CHECK(text("Cijk_Alik_Bljk_BBS_BH") == "(True, False)");
    CHECK(text("Cijk_Ailk_Bljk_BBS_BH") == "(False, False)");
    CHECK(text("Cijk_Ailk_Bjlk_BBS_BH") == "(False, True)");
    CHECK(text("Cijk_Ailk_Bljk") == "(False, None)");
    CHECK(text("Cabc_Axyz_Bljk_foo") == "(None, False)");
    CHECK(text("nvjet_tst_32x64x32_TN", ClassRules::reference) == "(True, False)");
}

TEST_CASE("element sizes by PyTorch's number of a type") {
    CHECK(*detail::bytes_of_scalar_type(15) == 2);
    CHECK(*detail::bytes_of_scalar_type(6) == 4);
    CHECK(*detail::bytes_of_scalar_type(24) == 1);
    CHECK(*detail::bytes_of_scalar_type(29) == 8);
    CHECK_FALSE(detail::bytes_of_scalar_type(-1).has_value());
    CHECK_FALSE(detail::bytes_of_scalar_type(30).has_value());
}

TEST_CASE("names of the plain products") {
    REQUIRE(gemm_models.size() == plain_models.size());
    for (std::size_t i = 0; i < plain_models.size(); ++i) {
        CHECK(gemm_models[i].name == plain_models[i].name);
        CHECK((gemm_models[i].model == plain_models[i].model));
    }
}
