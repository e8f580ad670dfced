/// What an op costs: floating-point operations, bytes, the unit that computes it, and the parameters that the
/// figures come from. A cost model (perf/*.hpp) fills one of these from the arguments of an op.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/core/decimal.hpp>
#include <tracelens/core/json_text.hpp>

namespace tracelens {

using Shape = std::vector<std::int64_t>;

/// The value of a model's parameter. Whole numbers and others stay apart, and lists know whether the
/// reference has them as Python tuples: reports show both.
struct ParamValue {
    enum class Kind : std::uint8_t {
        none,
        integer,  ///< `number`, a whole one
        real,     ///< `number`
        boolean,
        text,         ///< as it is
        list,         ///< `text` is JSON; a Python list
        tuple,        ///< `text` is JSON; Python tuples all the way down
        tuples_list,  ///< `text` is JSON; a Python list of tuples
    };
    Kind kind = Kind::none;
    double number = 0;
    bool boolean = false;
    std::string text;

    static ParamValue none() { return {}; }
    static ParamValue integer(double value) { return {Kind::integer, value, false, {}}; }
    static ParamValue integer(std::int64_t value) { return integer(static_cast<double>(value)); }
    static ParamValue real(double value) { return {Kind::real, value, false, {}}; }
    static ParamValue flag(bool value) { return {Kind::boolean, 0, value, {}}; }
    static ParamValue word(std::string_view value) { return {Kind::text, 0, false, std::string(value)}; }
    static ParamValue json(Kind kind, std::string text) { return {kind, 0, false, std::move(text)}; }

    /// A shape, or stride: `(8, 16)`.
    static ParamValue tuple(std::span<const std::int64_t> shape) {
        return json(Kind::tuple, json_list(shape));
    }
    static ParamValue list(std::span<const std::int64_t> shape) { return json(Kind::list, json_list(shape)); }
    static ParamValue tuple_or_none(const std::optional<Shape>& shape) {
        return shape ? tuple(*shape) : none();
    }

    /// A tuple of type names; a missing one is null.
    static ParamValue types(std::initializer_list<std::optional<std::string_view>> names) {
        return json(Kind::tuple, json_list(names));
    }

    static std::string json_list(std::span<const std::int64_t> values) {
        std::string text = "[";
        for (const std::int64_t value : values) {
            if (text.size() > 1) text += ',';
            append_integer(text, value);
        }
        return text + "]";
    }
    static std::string json_list(std::initializer_list<std::optional<std::string_view>> names) {
        std::string text = "[";
        for (const std::optional<std::string_view>& name : names) {
            if (text.size() > 1) text += ',';
            if (name)
                append_json_string(text, *name);
            else
                text += "null";
        }
        return text + "]";
    }

    friend bool operator==(const ParamValue&, const ParamValue&) = default;
};

struct Param {
    std::string_view name;  ///< of static storage
    ParamValue value;
    friend bool operator==(const Param&, const Param&) = default;
};

/// Which arithmetic units do the work.
enum class ComputeUnit : std::uint8_t { none, matrix, vector };

constexpr std::string_view to_string(ComputeUnit unit) noexcept {
    switch (unit) {
        case ComputeUnit::none: return "";
        case ComputeUnit::matrix: return "matrix";
        case ComputeUnit::vector: return "vector";
    }
    return "";
}

enum class CostStatus : std::uint8_t {
    ok,
    unsupported,    ///< the model says that it does not cover the case
    bad_arguments,  ///< missing, malformed or contradictory arguments; `reason` says which
};

struct Cost {
    CostStatus status = CostStatus::ok;
    std::string reason;           ///< why there is no cost; one clause
    double flops = 0;             ///< floating-point operations; NaN when they cannot be counted
    std::optional<double> bytes;  ///< read and written; nothing when an element's size is not known
    ComputeUnit unit = ComputeUnit::none;
    std::string precision;  ///< `bf16` and the like; empty when not known
    std::vector<Param> params;

    bool ok() const noexcept { return status == CostStatus::ok; }

    /// `matrix_bf16` and the like; empty when unit or precision are not known.
    std::string compute_spec() const {
        if (unit == ComputeUnit::none || precision.empty()) return {};
        return std::string(to_string(unit)) + "_" + precision;
    }

    static Cost unsupported(std::string reason) {
        Cost cost;
        cost.status = CostStatus::unsupported;
        cost.reason = std::move(reason);
        return cost;
    }
    static Cost bad(std::string reason) {
        Cost cost;
        cost.status = CostStatus::bad_arguments;
        cost.reason = std::move(reason);
        return cost;
    }
};

/// Product of a shape; 1 for an empty one. In double: shapes from a file may be anything, and counts above
/// 2^53 need no last digit.
inline double product(std::span<const std::int64_t> shape) noexcept {
    double result = 1;
    for (const std::int64_t each : shape) result *= static_cast<double>(each);
    return result;
}

}  // namespace tracelens
