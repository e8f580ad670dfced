/// Costs of ops given as text, for tests of cost models.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/perf/cost_model.hpp>
#include <tracelens/perf/param_text.hpp>

namespace tracelens::cost_test {

/// The lists of an op's arguments as JSON text; an empty one is an absent key.
struct OpText {
    std::string_view dims = "";
    std::string_view types = "";
    std::string_view concrete = "";
    std::string_view strides = "[[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1]]";
    std::string_view name = "op";
};

inline OpArguments arguments(const OpText& text) {
    OpArguments args;
    args.name = std::string(text.name);
    if (!text.dims.empty()) args.with("Input Dims", text.dims);
    if (!text.types.empty()) args.with("Input type", text.types);
    if (!text.strides.empty()) args.with("Input Strides", text.strides);
    if (!text.concrete.empty()) args.with("Concrete Inputs", text.concrete);
    return args;
}

inline Cost cost_of(CostModel model, const OpText& text, CostRules rules = CostRules::reference,
                    Pass pass = Pass::forward) {
    return model(arguments(text), pass, rules);
}

/// A list of one type name `count` times, as JSON.
inline std::string types(std::string_view type, std::size_t count) {
    std::string text = "[";
    for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "\"" : ",\"") + std::string(type) + "\"";
    return text + "]";
}

/// A parameter's value as Python prints it; text without quotes.
inline std::string python_text(const ParamValue& value) {
    if (value.kind == ParamValue::Kind::text) return value.text;
    std::string text;
    append_python(text, value);
    return text;
}

/// All parameters: `M=8 N=32 ...`.
inline std::string params(const Cost& cost) {
    std::string text;
    for (const Param& param : cost.params) {
        if (!text.empty()) text += ' ';
        text += std::string(param.name) + "=" + python_text(param.value);
    }
    return text;
}

/// The value of one parameter; `absent` when there is none.
inline std::string param(const Cost& cost, std::string_view name) {
    for (const Param& param : cost.params) {
        if (param.name == name) return python_text(param.value);
    }
    return "absent";
}

inline void check_cost(const Cost& cost, double flops, double bytes) {
    CHECK(cost.reason == "");
    CHECK(cost.ok());
    CHECK(cost.flops == flops);
    REQUIRE(cost.bytes.has_value());
    CHECK(*cost.bytes == bytes);
}

}  // namespace tracelens::cost_test
