#include <tracelens/perf/user_models.hpp>

// Models from a JSON file: what they compute, and what is refused.
#include <string>
#include <string_view>
#include <vector>

#include "cost_support.hpp"

using namespace tracelens;
using cost_test::OpText;

namespace {

constexpr std::string_view swiglu = R"({
    "my_lib::fused_swiglu": {
        "category": "elementwise_fwd",
        "backward_category": "elementwise_bwd",
        "unit": "vector",
        "dims": {"T": [0, 0], "W": "d0_1 // 2", "last": [1, -1]},
        "dtype": 0,
        "flops": "6 * T * W",
        "bytes": "n0 * b0 + T * W * b1",
        "backward_flops": "11 * T * W",
        "backward_bytes": "2 * n0 * b0 + T * W * b1"
    },
    "aten::mm": {"category": "mine", "sheet": "", "unit": "matrix", "dtype": 1, "flops": 5, "bytes": "0",
                 "params": ["d1_0", "n0", "b0"]}
})";

std::vector<std::string> add(ModelRegistry& registry, std::string_view json) {
    Result<std::vector<std::string>> added = add_user_models(registry, json, "models.json");
    REQUIRE(added.ok());
    return *std::move(added);
}

/// The message of a file that is refused.
std::string refused(std::string_view json) {
    ModelRegistry registry;
    const std::size_t before = registry.size();
    const Result<std::vector<std::string>> added = add_user_models(registry, json, "dir/models.json");
    CHECK(registry.size() == before);
    REQUIRE_FALSE_MESSAGE(added.ok(), json);
    CHECK(added.failure().code == ErrorCode::invalid_argument);
    CHECK(added.failure().subject == "dir/models.json");
    return added.failure().reason;
}

/// A file of one op `x::y`, valid but for `members`, which go before or instead of the usual ones.
std::string with(std::string_view members, std::string_view without = "") {
    std::string json = R"({"x::y": {)" + std::string(members);
    for (const std::string_view usual :
         {R"("category": "mine")", R"("unit": "vector")", R"("dims": {"T": [0, 0]})", R"("dtype": 0)",
          R"("flops": "T")", R"("bytes": "T * b0")"}) {
        const std::string_view key = usual.substr(0, usual.find(':'));
        const bool given = members.find(std::string(key) + ":") != std::string_view::npos;
        if (given || key == without) continue;
        if (json.back() != '{') json += ", ";
        json += usual;
    }
    return json + "}}";
}

Cost cost(const ModelRegistry& registry, const char* op, const OpText& text, Pass pass = Pass::forward,
          CostRules rules = CostRules::full) {
    const RegisteredModel* const model = registry.find(op);
    REQUIRE(model != nullptr);
    return model->cost(cost_test::arguments(text), pass, rules);
}

/// The cost of `x::y` with these members and a bf16 argument of 8 x 16, or with others.
Cost cost_with(std::string_view members, std::string_view dims = "[[8,16]]",
               std::string_view types = R"(["c10::BFloat16"])") {
    static std::vector<CostFunction> alive;  // the names of a cost's parameters live in its model
    ModelRegistry registry;
    add(registry, with(members));
    alive.push_back(registry.find("x::y")->cost);
    return cost(registry, "x::y", {dims, types});
}

constexpr OpText bf16_float = {"[[8,32],[4,3,5]]", R"(["c10::BFloat16","float"])"};

}  // namespace

TEST_CASE("a model of the user's own") {
    ModelRegistry registry;
    const std::size_t built_in = registry.size();
    CHECK(add(registry, swiglu) == std::vector<std::string>{"my_lib::fused_swiglu", "aten::mm"});
    CHECK(registry.size() == built_in + 1);
    const RegisteredModel& model = *registry.find("my_lib::fused_swiglu");
    CHECK(model.category == "elementwise_fwd");
    CHECK(model.backward_category == "elementwise_bwd");
    CHECK(model.sheet == "elementwise");
    CHECK_FALSE(model.layout_from_kernels);

    const Cost forward = cost(registry, "my_lib::fused_swiglu", bf16_float);
    cost_test::check_cost(forward, 6 * 8 * 16, 8 * 32 * 2 + 8 * 16 * 4);
    CHECK(forward.compute_spec() == "vector_bf16");
    CHECK(cost_test::params(forward) == "T=8 W=16 last=5");
    const Cost backward = cost(registry, "my_lib::fused_swiglu", bf16_float, Pass::backward);
    cost_test::check_cost(backward, 11 * 8 * 16, 2 * 8 * 32 * 2 + 8 * 16 * 4);
}

TEST_CASE("a built-in model is replaced, and numbers and built-in names will do") {
    ModelRegistry registry;
    add(registry, swiglu);
    CHECK(registry.find("aten::mm")->category == "mine");
    CHECK(registry.find("aten::mm")->sheet.empty());
    const Cost mm = cost(registry, "aten::mm", bf16_float);
    cost_test::check_cost(mm, 5, 0);
    CHECK(mm.compute_spec() == "matrix_fp32");
    CHECK(cost_test::params(mm) == "d1_0=4 n0=256 b0=2");
    CHECK(cost(registry, "aten::mm", bf16_float, Pass::backward).status == CostStatus::unsupported);
    // Models outlive the registry that they came from.
    const CostFunction kept = registry.find("aten::mm")->cost;
    registry = ModelRegistry();
    CHECK(kept(cost_test::arguments(bf16_float), Pass::forward, CostRules::full).flops == 5);
}

TEST_CASE("parameters are whole numbers or not") {
    const Cost halves = cost_with(R"("dims": {"H": "d0_0 / 3", "T": 4})");
    CHECK(cost_test::param(halves, "H") == "2.6666666666666665");
    CHECK(cost_test::param(halves, "T") == "4");
    CHECK(cost_with(R"("params": [])").params.empty());
}

TEST_CASE("without the size of an element there are no bytes, but a cost") {
    const Cost unknown = cost_with("", "[[8,16]]", R"(["my_type"])");
    CHECK(unknown.ok());
    CHECK(unknown.flops == 8);
    CHECK_FALSE(unknown.bytes.has_value());
    CHECK(unknown.compute_spec() == "");
    const Cost needed = cost_with(R"("flops": "T * b0")", "[[8,16]]", R"(["my_type"])");
    CHECK(needed.reason == "more than the bytes depends on the size of a type that is not known");
    ModelRegistry registry;
    add(registry, with(""));
    const OpText flags = {"[[8,16]]", R"(["bool"])"};
    CHECK(cost(registry, "x::y", flags).bytes == 8);
    CHECK_FALSE(cost(registry, "x::y", flags, Pass::forward, CostRules::reference).bytes.has_value());
}

TEST_CASE("arguments that a formula cannot use are reasons, not costs") {
    const auto reason = [](std::string_view members, std::string_view dims = "[[8,16]]") {
        const Cost cost = cost_with(members, dims);
        CHECK(cost.status == CostStatus::bad_arguments);
        return cost.reason;
    };
    CHECK(reason("", "[[]]") == "\"dims.T\": argument 0 of 0 dimensions has no axis 0");
    CHECK(reason(R"("dims": {"T": [0, -3]})") == "\"dims.T\": argument 0 of 2 dimensions has no axis -3");
    CHECK(reason(R"("dims": {"T": [1, 0]})") == "Input Dims has no element 1");
    CHECK(reason(R"("flops": "d0_7")") == "a shape of 2 dimensions has no dimension 7");
    CHECK(reason(R"("bytes": "b4")") == "Input type has no element 4");
    CHECK(reason(R"("flops": "1 / (8 - T) + 1")") ==
          "\"flops\": 1 / (8 - T) + 1: division by zero at character 3");
    CHECK(reason(R"("dims": {"T": "1 / (d0_0 - 8) + 1"})") ==
          "\"dims.T\": 1 / (d0_0 - 8) + 1: division by zero at character 3");
    CHECK(reason(R"("flops": "T - 9")") == "\"flops\" is negative");
    CHECK(reason(R"("bytes": "0 - T")") == "\"bytes\" is negative");
    CHECK(reason("", R"([["a"]])") == "Input Dims of argument 0 is no list of whole numbers");
}

TEST_CASE("files that are refused: members") {
    struct Case {
        std::string_view members;
        std::string_view reason;
    };
    constexpr std::string_view unknown_name =
        " is unknown; known are the names of \"dims\", d0_1 (a dimension of an argument), n0 (its elements) "
        "and b0 (bytes of an element)";
    for (const Case& each : {
             Case{R"("flopz": "1")", R"("flopz": is no member of a model; known are category, sheet, )"},
             Case{R"("flops": "1", "flops": "2")", R"("flops": stands there twice)"},
             Case{R"("category": "")", R"("category": is empty)"},
             Case{R"("category": 5)", R"("category": is no text)"},
             Case{R"("sheet": "../up")", R"("sheet": is no name of a sheet: "../up"; at most 27 letters)"},
             Case{R"("category": "a/b")", R"("sheet": is no name of a sheet: "a/b")"},
             Case{R"("sheet": "aaaaaaaaaabbbbbbbbbbcccccccc")", R"("sheet": is no name of a sheet)"},
             Case{R"("unit": "tensor")", R"("unit": is neither "matrix" nor "vector")"},
             Case{R"("dtype": "bf16")", R"("dtype": is no number of an argument, from 0 on)"},
             Case{R"("dtype": -1)", R"("dtype": is no number of an argument, from 0 on)"},
             Case{R"("dims": [1])", R"("dims": is no JSON object of names)"},
             Case{R"("dims": {"T": [0]})", R"("dims.T": is neither [argument, axis] nor a formula)"},
             Case{R"("dims": {"T": [0, 0.5]})", R"("dims.T": is neither [argument, axis] nor a formula)"},
             Case{R"("dims": {"T": [-1, 0]})", R"("dims.T": is no number of an argument, from 0 on)"},
             Case{R"("dims": {"T": true})", R"("dims.T": is no formula in quotes)"},
             Case{R"("dims": {"a b": 1})", R"("dims.a b": is no name of letters, digits and underscores)"},
             Case{R"("dims": {"n0": 1})", R"("dims.n0": is a name that formulas know already)"},
             Case{R"("dims": {"T": 1, "T": 2})", R"("dims.T": stands there twice)"},
             Case{R"("dims": {"A": "T", "T": 1})", R"("dims.A": T: "T" is unknown; known are)"},
             Case{R"("flops": "2 * ")", R"("flops": 2 * : an operand is missing at character 5)"},
             Case{R"("flops": null)", R"("flops": is no formula in quotes)"},
             Case{R"("bytes": "T * elements")", R"("bytes": T * elements: "elements" is unknown)"},
             Case{R"("bytes": "d0 + d0_")", R"("bytes": d0 + d0_: "d0" is unknown)"},
             Case{R"("params": "T")", R"("params": is no list of names)"},
             Case{R"("params": [1])", R"("params": is no list of names)"},
             Case{R"("params": ["U"])", R"("params": "U" is unknown)"},
             Case{R"("backward_category": "b")",
                  R"("backward_flops": is missing; "backward_category" needs it)"},
             Case{R"("backward_flops": "1")", R"("backward_bytes": is missing; one needs the other)"},
             Case{R"("backward_bytes": "1")", R"("backward_flops": is missing; one needs the other)"},
             Case{R"("backward_bytes": "1", "backward_flops": "1 +")",
                  R"("backward_flops": 1 +: an operand)"},
         }) {
        const std::string reason = refused(with(each.members));
        CHECK_MESSAGE(reason.find("op \"x::y\", " + std::string(each.reason)) == 0, reason);
    }
    for (const char* member : {"category", "unit", "dtype", "flops", "bytes"}) {
        const std::string key = "\"" + std::string(member) + "\"";
        CHECK(refused(with("", key)) == "op \"x::y\", " + key + ": is missing");
    }
    CHECK(refused(with(R"("flops": "U")")) == "op \"x::y\", \"flops\": U: \"U\"" + std::string(unknown_name));
}

TEST_CASE("files that are refused: JSON") {
    CHECK(refused("") == "the file is no JSON object of ops and their models (line 1)");
    CHECK(refused("[]") == "the file is no JSON object of ops and their models (line 1)");
    CHECK(refused("{\n5") == "the file has no name of an op where one belongs (line 2)");
    CHECK(refused("{\"x::y\": 5}") == "op \"x::y\": is no JSON object");
    CHECK(refused("{\"x::y\": {\"flops\": }}") == "op \"x::y\": is no valid JSON");
    CHECK(refused("{\"x::y\": {\"dtype\": nan}}") == "op \"x::y\": is no valid JSON");
    CHECK(refused("{\"x::y\"") == "the file has no name of an op where one belongs (line 1)");
    const std::string whole = with("");
    const std::string one = whole.substr(0, whole.size() - 1);  // without the last bracket
    CHECK(refused(one) == "the file has no comma or closing bracket where one belongs (line 1)");
    CHECK(refused(one + ",}") == "the file has no name of an op where one belongs (line 1)");
    CHECK(refused(one + "," + whole.substr(1)) == "op \"x::y\": stands there twice");
    CHECK(refused(whole + "\n{}") == "the file goes on behind its closing bracket (line 2)");
    ModelRegistry registry;
    CHECK(add(registry, "{}").empty());
    CHECK(add(registry, " \n" + whole + "\n").size() == 1);
}
