// Grouped matrix products (spec 03, section 3.12).

#include <array>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <tracelens/perf/grouped_gemm.hpp>

#include "cost_support.hpp"

using namespace tracelens;
using namespace tracelens::cost_test;

namespace {

constexpr std::array both_rules = {CostRules::reference, CostRules::full};
constexpr std::array both_models = {&primus_grouped_gemm, &primus_grouped_gemm_variable_k};

Cost fixed(std::string_view dims, std::string_view type_list = R"(["c10::BFloat16","c10::BFloat16"])",
           CostRules rules = CostRules::reference) {
    return cost_of(&primus_grouped_gemm, {.dims = dims, .types = type_list}, rules);
}

Cost variable(std::string_view dims, std::string_view type_list = R"(["c10::BFloat16","c10::BFloat16"])",
              CostRules rules = CostRules::reference) {
    return cost_of(&primus_grouped_gemm_variable_k, {.dims = dims, .types = type_list}, rules);
}

constexpr std::string_view zipped_fixed = "[[[4,8],[5,8]],[[8,16],[8,16]]]";
constexpr std::string_view zipped_variable = "[[[4,8],[5,6]],[[8,16],[6,12]]]";
constexpr std::string_view bf16_and_fp8 = R"(["c10::BFloat16","c10::Float8_e4m3fn"])";

}  // namespace

TEST_CASE("verified costs of grouped products with one weight shape") {
    check_cost(fixed("[[24576,2048],[8,2048,2816]]"), 283467841536, 331350016);
    check_cost(fixed("[[24576,2048],[8,1408,2048]]"), 141733920768, 216006656);
    check_cost(fixed(zipped_fixed), 2304, 944);
}

TEST_CASE("verified costs of grouped products with sizes of their own") {
    check_cost(variable("[[24576,1408],[24576,2048]]"), 141733920768, 175636480);
    check_cost(variable(zipped_variable), 1744, 772);
}

TEST_CASE("parameters of grouped products") {
    CHECK(params(fixed("[[24576,2048],[8,1408,2048]]")) == "M=24576 K=2048 N=1408 G=8 bpe_in=2 bpe_out=2");
    CHECK(params(fixed(zipped_fixed)) == "M=9 K=8 N=16 G=2 bpe_in=2 bpe_out=2");
    CHECK(params(variable(zipped_variable)) ==
          "M=9 K=8 N=16 G=2 bpe_in=2 bpe_out=2 group_pairs=[((4, 8), (8, 16)), ((5, 6), (6, 12))]");
    CHECK(params(variable("[[10,4],[10,6]]")) ==
          "M=10 K=4 N=6 G=1 bpe_in=2 bpe_out=2 group_pairs=[((10, 4), (4, 6))]");
}

TEST_CASE("grouped products are matrix work in the first operand's precision") {
    CHECK(fixed(zipped_fixed).compute_spec() == "matrix_bf16");
    CHECK(variable(zipped_variable, R"(["c10::Float8_e4m3fn","float"])").compute_spec() == "matrix_fp8");
    CHECK(fixed(zipped_fixed, R"(["int","int"])").compute_spec() == "");
}

TEST_CASE("a square weight is read as G x K x N") {
    CHECK(params(fixed("[[100,8],[2,8,8]]")) == "M=100 K=8 N=8 G=2 bpe_in=2 bpe_out=2");
}

TEST_CASE("more dimensions of the first operand do not count") {
    CHECK(params(fixed("[[100,8,3,null],[2,8,16]]")) == "M=100 K=8 N=16 G=2 bpe_in=2 bpe_out=2");
}

TEST_CASE("weights of another type") {
    constexpr std::string_view dims = "[[100,8],[2,8,16]]";
    SUBCASE("the reference counts the result in the weight's elements") {
        const Cost cost = fixed(dims, bf16_and_fp8);
        check_cost(cost, 2 * 100 * 8 * 16, (100 * 8 + 2 * 8 * 16) * 2 + 100 * 16);
        CHECK(param(cost, "bpe_out") == "1");
    }
    SUBCASE("mended: the weight in its own, the result in the activation's") {
        const Cost cost = fixed(dims, bf16_and_fp8, CostRules::full);
        check_cost(cost, 2 * 100 * 8 * 16, 100 * 8 * 2 + 2 * 8 * 16 + 100 * 16 * 2);
        CHECK(param(cost, "bpe_in") == "2");
        CHECK(param(cost, "bpe_out") == "2");
    }
    SUBCASE("the same with sizes of their own") {
        CHECK(*variable(zipped_variable, bf16_and_fp8).bytes == (32 + 128) * 2 + 64 + (30 + 72) * 2 + 60);
        CHECK(*variable(zipped_variable, bf16_and_fp8, CostRules::full).bytes ==
              32 * 2 + 128 + 64 * 2 + 30 * 2 + 72 + 60 * 2);
    }
}

TEST_CASE("one type stands for all operands") {
    for (const CostRules rules : both_rules) {
        check_cost(fixed(zipped_fixed, R"(["float"])", rules), 2304, 2 * 944);
        check_cost(variable(zipped_variable, R"(["float"])", rules), 1744, 2 * 772);
    }
}

TEST_CASE("shapes that are no grouped product have no cost") {
    constexpr std::array<std::string_view, 12> bad = {"",
                                                      "null",
                                                      "[]",
                                                      "[[1]]",
                                                      "[[1,2,3]]",
                                                      "[[1],[2]]",
                                                      "[[4,8]]",
                                                      "[[4,8],[2,3,5]]",
                                                      "[[0,8],[0,8]]",
                                                      "[[[4,8],[5,8]],[[8,16]]]",
                                                      "[[[4,8]],[[9,16]]]",
                                                      R"([["a","b"],["c"]])"};
    for (const auto model : both_models) {
        for (const std::string_view dims : bad) {
            CAPTURE(dims);
            const Cost cost = cost_of(model, {.dims = dims, .types = types("float", 2)});
            CHECK(cost.status == CostStatus::bad_arguments);
            CHECK(cost.reason != "");
        }
    }
}

TEST_CASE("shapes that only one of the models takes") {
    CHECK_FALSE(fixed("[[[4,8],[5,8]],[[8,16],[8,17]]]").ok());
    CHECK(variable("[[[4,8],[5,8]],[[8,16],[8,17]]]").ok());
    CHECK_FALSE(variable("[[100,8],[2,8,16]]").ok());
    CHECK_FALSE(variable("[[10,4],[11,6]]").ok());
}

TEST_CASE("rows that differ may still be a pair of matrices") {
    CHECK(params(variable("[[10,4],[4,6]]")) ==
          "M=10 K=4 N=6 G=1 bpe_in=2 bpe_out=2 group_pairs=[((10, 4), (4, 6))]");
    CHECK(params(fixed("[[10,4],[4,6]]")) == "M=10 K=4 N=6 G=1 bpe_in=2 bpe_out=2");
}

TEST_CASE("types that are not known") {
    for (const CostRules rules : both_rules) {
        for (const std::string_view type_list :
             {"", R"(["what"])", R"(["float","what"])", R"(["float",""])"}) {
            CAPTURE(type_list);
            CHECK(fixed(zipped_fixed, type_list, rules).status == CostStatus::bad_arguments);
            const Cost cost = variable(zipped_variable, type_list, rules);
            CHECK(cost.ok());
            CHECK(cost.flops == 1744);
            CHECK_FALSE(cost.bytes.has_value());
        }
        CHECK(fixed(zipped_fixed, "[]", rules).status == CostStatus::bad_arguments);
        CHECK(variable(zipped_variable, "[]", rules).status == CostStatus::bad_arguments);
    }
    CHECK(param(variable(zipped_variable, R"(["what"])"), "bpe_in") == "None");
}

TEST_CASE("matrix shapes are found at any depth") {
    const auto shapes = [](std::string_view json) { return matrix_shapes(parse_arg_value(json)); };
    const std::vector<MatrixShape> four = {{4, 8}, {2, 8}, {8, 16}, {8, 16}};
    CHECK(shapes("[[[4,8],[2,8]],[[8,16],[8,16]]]") == four);
    CHECK(shapes("[4,8]") == std::vector<MatrixShape>{{4, 8}});
    CHECK(shapes("[[[[4,8]]],7,null]") == std::vector<MatrixShape>{{4, 8}});
    CHECK(shapes("[[4,8,1],[0,1],[-1,1],[1.5,2]]").empty());
    CHECK(shapes("7").empty());
    CHECK(shapes(std::string(100, '[')).empty());
}

TEST_CASE("gradients of grouped products are not priced from the forward op") {
    for (const auto model : both_models) {
        CHECK(cost_of(model, {.dims = zipped_fixed, .types = types("float", 2)}, CostRules::reference,
                      Pass::backward)
                  .status == CostStatus::unsupported);
    }
}

TEST_CASE("formulas of grouped products from shapes alone") {
    constexpr GroupedGemmShape shape{9, 8, 16, 2};
    static_assert(grouped_gemm_flops(shape) == 2304);
    static_assert(grouped_gemm_backward_flops(shape) == 4608);
    CHECK(*grouped_gemm_bytes(shape, {2, 2, 2}) == 944);
    CHECK(*grouped_gemm_backward_bytes(shape, {2, 2, 4}) ==
          2 * 9 * 16 * 4 + 2 * 9 * 8 * 2 + 2 * 2 * 8 * 16 * 2);
    CHECK_FALSE(grouped_gemm_bytes(shape, {2, std::nullopt, 2}).has_value());
    CHECK_FALSE(grouped_gemm_backward_bytes(shape, {2, 2, std::nullopt}).has_value());
}

TEST_CASE("the cost of a grouped product grows with each of its sizes") {
    const Cost base = fixed("[[100,8],[2,8,16]]");
    for (const std::string_view dims : {"[[101,8],[2,8,16]]", "[[100,9],[2,9,16]]", "[[100,8],[2,8,17]]"}) {
        CAPTURE(dims);
        CHECK(fixed(dims).flops > base.flops);
        CHECK(*fixed(dims).bytes > *base.bytes);
    }
    CHECK(fixed("[[100,8],[3,8,16]]").flops == base.flops);
    CHECK(*fixed("[[100,8],[3,8,16]]").bytes > *base.bytes);
}

TEST_CASE("sizes of any magnitude") {
    CHECK(fixed("[[9223372036854775807,8],[9223372036854775807,8,9223372036854775807]]").flops > 1e38);
    CHECK(variable("[[9223372036854775807,8],[9223372036854775807,9223372036854775807]]").flops > 1e38);
}

TEST_CASE("names of grouped products") {
    CHECK(grouped_gemm_models.size() == 8);
    for (const ModelRow& row : grouped_gemm_models) {
        CAPTURE(row.name);
        const bool varies = row.name.find("variable_k") != std::string_view::npos;
        CHECK((row.model == (varies ? &primus_grouped_gemm_variable_k : &primus_grouped_gemm)));
    }
}
