/// The cost model of reductions, against spec 03, section 3.10.
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <tracelens/perf/reduce.hpp>

#include "cost_support.hpp"

using namespace tracelens;
using namespace tracelens::cost_test;

namespace {

constexpr CostRules reference = CostRules::reference;
constexpr CostRules full = CostRules::full;

/// Reduction of a bf16 tensor of 2 x 4 x 8.
Cost reduce(std::string_view concrete, CostRules rules = reference, std::string_view name = "aten::sum") {
    const OpText op{.dims = "[[2,4,8]]", .types = R"(["c10::BFloat16"])", .concrete = concrete, .name = name};
    return cost_of(&aten_reduce, op, rules);
}

Cost reduce_shape(std::string_view dims, std::string_view types, CostRules rules = reference,
                  std::string_view name = "aten::sum") {
    return cost_of(&aten_reduce, {.dims = dims, .types = types, .name = name}, rules);
}

/// Elements of the result, by the model's parameter.
std::string remaining(std::string_view name, std::string_view concrete, CostRules rules = full) {
    return param(reduce(concrete, rules, name), "num_output_elems");
}

Cost with_output_type(std::string_view output_type) {
    OpArguments args = arguments({.dims = "[[2,4,8]]", .types = R"(["c10::Half"])", .name = "aten::sum"});
    args.with("Output type", output_type);
    return aten_reduce(args, Pass::forward, reference);
}

}  // namespace

TEST_CASE("the spec's reductions by values as such") {
    struct Example {
        std::string_view concrete;
        std::string_view remaining;
        double bytes;
    };
    for (const Example& example :
         {Example{R"(["", [0,2], true])", "4", 136}, Example{R"(["", [0,-1], false])", "4", 136},
          Example{R"(["", 1, false])", "16", 160}, Example{R"(["", 1.5, false])", "1", 130},
          Example{R"(["", [5], false])", "64", 256}}) {
        CAPTURE(example.concrete);
        for (const CostRules rules : {reference, full}) {
            const Cost cost = reduce(example.concrete, rules);
            check_cost(cost, 64, example.bytes);
            CHECK(param(cost, "num_output_elems") == example.remaining);
        }
    }
}

TEST_CASE("the reference does not read dimensions in text") {
    check_cost(reduce(R"(["", "[0, 2]", "True"])"), 64, 130);
    check_cost(reduce(R"(["", "not_a_dim", "True"])"), 64, 130);
    const OpText op{.dims = "[[16,559,1024]]",
                    .types = R"(["float"])",
                    .concrete = R"(["", "[-1]", "False", ""])",
                    .name = "aten::mean"};
    check_cost(cost_of(&aten_reduce, op), 9158656, 36634628);
    check_cost(cost_of(&aten_reduce, op, full), 9158656, 36634624 + 4 * 16 * 559);
}

TEST_CASE("mended, dimensions and keepdim are read from text") {
    CHECK(remaining("aten::sum", R"(["", "[0, 2]", "True", ""])") == "4");
    CHECK(remaining("aten::sum", R"(["", "[0, 2]", "False", ""])") == "4");
    CHECK(remaining("aten::max", R"(["", "1", "False"])") == "16");
    CHECK(remaining("aten::max", R"(["", "-1", "True"])") == "8");
    CHECK(remaining("aten::amax", R"(["", "[]", "False"])") == "1");
    CHECK(remaining("aten::logsumexp", R"(["", "[-1]"])") == "8");
    CHECK(remaining("aten::sum", R"(["", "not_a_dim", "True"])") == "1");
    CHECK(remaining("aten::sum", R"(["", "[0, 2]", true])") == "4");
}

TEST_CASE("mended, orders, corrections and types are no dimensions") {
    CHECK(remaining("aten::norm", R"(["", "2"])") == "1");
    CHECK(remaining("aten::norm", R"(["", "2", "[1]", "True"])") == "16");
    CHECK(remaining("aten::linalg_norm", R"(["", "", "[-1]", "False", ""])") == "8");
    CHECK(remaining("aten::std", R"(["", "True"])") == "1");
    CHECK(remaining("aten::std", R"(["", "[-1]", "True", "False"])") == "8");
    CHECK(remaining("aten::var", R"(["", "[-1]", "1", "True"])") == "8");
    CHECK(remaining("aten::sum", R"(["", "2"])") == "1");
    CHECK(remaining("aten::sum", R"(["", "[-1]", "True", "2"])") == "8");
}

TEST_CASE("keepdim leaves the count of elements as it is") {
    CHECK(reduced_elements({2, 4, 8}, {{0, 2}, false}) == 4);
    CHECK(reduced_elements({2, 4, 8}, {{0, 2}, true}) == 4);
    CHECK(reduced_elements({2, 4, 8}, {{}, true}) == 1);
    CHECK(reduced_elements({2, 4, 8}, {{0, 1, 2}, false}) == 1);
    CHECK(reduced_elements({2, 4, 8}, {{-9, 3, 5}, false}) == 64);
    CHECK(reduced_elements({}, {{0, -1}, false}) == 1);
}

TEST_CASE("scans give as many elements as they read") {
    const OpText op{
        .dims = "[[4,256]]", .types = R"(["float"])", .concrete = R"(["", 0, ""])", .name = "aten::cumsum"};
    for (const CostRules rules : {reference, full}) {
        const Cost cost = cost_of(&aten_reduce, op, rules);
        check_cost(cost, 1024, 8192);
        CHECK(param(cost, "num_output_elems") == "1024");
        CHECK(param(cost, "reduce_type") == "sum");
    }
    CHECK(remaining("aten::cumprod", R"(["", "0", ""])", reference) == "64");
}

TEST_CASE("parameters of a reduction") {
    const Cost cost = reduce(R"(["", [0,2], true])", reference, "aten::mean");
    CHECK(cost.compute_spec() == "vector_bf16");
    CHECK(params(cost) ==
          "num_input_elems=64 num_output_elems=4 dtype_in_out=('c10::BFloat16', None) reduce_type=mean");
}

TEST_CASE("the kind of a reduction goes by the name") {
    struct Example {
        std::string_view name;
        std::string_view type;
    };
    for (const Example& example :
         {Example{"aten::sum", "sum"}, Example{"aten::mean", "mean"}, Example{"aten::max", "max"},
          Example{"aten::amax", "max"}, Example{"aten::min", "min"}, Example{"aten::amin", "min"},
          Example{"aten::norm", "norm"}, Example{"aten::linalg_norm", "norm"}, Example{"aten::std", "sum"},
          Example{"aten::var", "sum"}, Example{"aten::logsumexp", "sum"}, Example{"aten::cumprod", "sum"}}) {
        CHECK(param(reduce("", reference, example.name), "reduce_type") == example.type);
    }
}

TEST_CASE("the result's type, where a trace has one") {
    const Cost cost = with_output_type(R"(["float"])");
    check_cost(cost, 64, 132);
    CHECK(param(cost, "dtype_in_out") == "('c10::Half', 'float')");
    check_cost(with_output_type("[]"), 64, 130);
    check_cost(with_output_type("[null]"), 64, 130);
    check_cost(with_output_type(R"("float")"), 64, 130);
    CHECK(!with_output_type(R"(["mystery"])").bytes.has_value());
}

TEST_CASE("a reduction of nothing") {
    for (const std::string_view dims : {"", "[]", "[null]", "7"}) {
        CAPTURE(dims);
        const Cost cost = reduce_shape(dims, R"(["float"])");
        CHECK(cost.ok());
        CHECK(cost.flops == 0);
        CHECK(!cost.bytes.has_value());
        CHECK(cost.compute_spec() == "");
        CHECK(params(cost) == "num_input_elems=0 num_output_elems=0 dtype_in_out=(None, None)");
    }
}

TEST_CASE("a reduction without a type has no bytes") {
    for (const std::string_view types : {"", "[]", "[null]", R"([""])", R"(["mystery"])"}) {
        CAPTURE(types);
        const Cost cost = reduce_shape("[[4]]", types);
        CHECK(cost.ok());
        CHECK(cost.flops == 4);
        CHECK(!cost.bytes.has_value());
        CHECK(cost.precision == "");
    }
    check_cost(reduce_shape("[[4]]", R"(["bool"])", full), 4, 5);
}

TEST_CASE("the reference takes the maximum of two tensors for a reduction") {
    for (const std::string_view name : {"aten::max", "aten::min"}) {
        check_cost(reduce_shape("[[4,8],[8]]", types("float", 2), reference, name), 32, 132);
        const Cost mended = reduce_shape("[[4,8],[8]]", types("float", 2), full, name);
        check_cost(mended, 32, 128 + 32 + 128);
        CHECK(param(mended, "shape_in2") == "(8,)");
        check_cost(reduce_shape("[[4,8],[]]", R"(["float",""])", full, name), 32, 132);
    }
    check_cost(reduce_shape("[[4,8],[8]]", types("float", 2), full, "aten::amax"), 32, 132);
}

TEST_CASE("the gradient of a reduction costs as much") {
    const OpText op{.dims = "[[2,4,8]]", .types = R"(["float"])", .name = "aten::sum"};
    for (const CostRules rules : {reference, full}) {
        check_cost(cost_of(&aten_reduce, op, rules, Pass::backward), 64, 260);
        check_cost(cost_of(&aten_reduce, op, rules, Pass::forward), 64, 260);
    }
}

TEST_CASE("malformed shapes of reductions fail") {
    CHECK(reduce_shape("[7]", R"(["float"])").status == CostStatus::bad_arguments);
    CHECK(reduce_shape(R"([["x"]])", R"(["float"])").status == CostStatus::bad_arguments);
    CHECK(reduce_shape("[[[2],[3]]]", R"(["float"])").status == CostStatus::bad_arguments);
}

TEST_CASE("reductions take any values without crashing") {
    for (const std::string_view concrete :
         {"[]", "[\"\"]", "7", R"(["", {}, [[]], null])", R"(["", [-9223372036854775808], true])",
          R"(["", "[9223372036854775807, -9223372036854775808]", "True"])", R"(["", [1, 1, 1, 1], false])",
          R"(["", "99999999999999999999", "True"])", R"(["", [1, "x"], true])"}) {
        CAPTURE(concrete);
        for (const CostRules rules : {reference, full}) {
            const Cost cost = reduce(concrete, rules);
            CHECK(cost.ok());
            CHECK(cost.flops == 64);
        }
    }
}

TEST_CASE("reductions grow with each dimension and with the type") {
    const Cost small = reduce_shape("[[4,8]]", R"(["c10::Half"])");
    for (const std::string_view dims : {"[[5,8]]", "[[4,9]]"}) {
        const Cost large = reduce_shape(dims, R"(["c10::Half"])");
        CHECK(large.flops > small.flops);
        CHECK(*large.bytes > *small.bytes);
    }
    CHECK(*reduce_shape("[[4,8]]", R"(["float"])").bytes == 2 * *small.bytes);
}

TEST_CASE("reduction formulas work from sizes alone") {
    CHECK(reduce_flops(64) == 64);
    CHECK(*reduce_bytes({64, 2}, {4, 4}) == 144);
    CHECK(!reduce_bytes({64, 2}, {4, std::nullopt}));
}

TEST_CASE("reductions by name") {
    CHECK(reduce_models.size() == 13);
    CHECK(reduce_models.front().name == "aten::sum");
    CHECK(reduce_models.back().name == "aten::amax");
}
