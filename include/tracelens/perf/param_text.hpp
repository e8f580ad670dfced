/// The parameters of a cost as text: JSON, or Python as the reference prints it (spec 03, section 3.0).
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include <tracelens/core/decimal.hpp>
#include <tracelens/core/json_text.hpp>
#include <tracelens/core/python_literal.hpp>
#include <tracelens/perf/cost.hpp>

namespace tracelens {

namespace detail {

/// A whole number of any size.
inline void append_whole(std::string& out, double value) {
    constexpr double exact = 9007199254740992.0;  // 2^53: all of these fit int64
    if (std::fabs(value) <= exact)
        append_integer(out, static_cast<std::int64_t>(value));
    else
        out += fixed_decimals(value, 0);
}

}  // namespace detail

/// Appends a parameter as JSON; numbers that are not finite become null.
inline void append_json(std::string& out, const ParamValue& value) {
    using Kind = ParamValue::Kind;
    switch (value.kind) {
        case Kind::none: out += "null"; break;
        case Kind::boolean: out += value.boolean ? "true" : "false"; break;
        case Kind::integer: detail::append_whole(out, value.number); break;
        case Kind::real:
            if (std::isfinite(value.number))
                append_double(out, value.number);
            else
                out += "null";
            break;
        case Kind::text: append_json_string(out, value.text); break;
        case Kind::list:
        case Kind::tuple:
        case Kind::tuples_list: out += value.text; break;
    }
}

/// Appends a parameter as Python's repr, strings in quotes.
inline void append_python(std::string& out, const ParamValue& value) {
    using Kind = ParamValue::Kind;
    switch (value.kind) {
        case Kind::none: out += "None"; break;
        case Kind::boolean: out += value.boolean ? "True" : "False"; break;
        case Kind::integer: detail::append_whole(out, value.number); break;
        case Kind::real: append_double(out, value.number); break;
        case Kind::text: detail::append_python_string(out, value.text); break;
        case Kind::list: append_python_literal(out, value.text, false); break;
        case Kind::tuple: append_python_literal(out, value.text, true); break;
        case Kind::tuples_list: {
            std::string tuples;
            append_python_literal(tuples, value.text, true);
            // The outermost brackets are those of a list: `((1, 2),)` is `[(1, 2)]`.
            if (tuples.size() >= 2) {
                tuples.front() = '[';
                if (tuples[tuples.size() - 2] == ',') tuples.erase(tuples.size() - 2, 1);
                tuples.back() = ']';
            }
            out += tuples;
            break;
        }
    }
}

/// All parameters as one JSON object.
inline std::string params_json(std::span<const Param> params) {
    std::string out = "{";
    for (const Param& param : params) {
        if (out.size() > 1) out += ',';
        append_json_string(out, param.name);
        out += ':';
        append_json(out, param.value);
    }
    return out + "}";
}

/// All parameters as a Python dict.
inline std::string params_python(std::span<const Param> params) {
    std::string out = "{";
    for (const Param& param : params) {
        if (out.size() > 1) out += ", ";
        detail::append_python_string(out, param.name);
        out += ": ";
        append_python(out, param.value);
    }
    return out + "}";
}

}  // namespace tracelens
