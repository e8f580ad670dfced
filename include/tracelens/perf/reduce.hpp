/// Reductions and scans over a tensor: one operation an element read (spec 03, section 3.10).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/perf/cost_model.hpp>
#include <tracelens/perf/elementwise.hpp>

namespace tracelens {

/// What a reduction reduces.
struct ReducedDims {
    Shape dims;  ///< counted from the end if negative; none: all
    bool keepdim = false;
};

constexpr double reduce_flops(double input_elements) noexcept {
    return input_elements;
}

/// Elements that remain. Dimensions that the shape does not have count nothing.
inline double reduced_elements(Shape shape, ReducedDims reduced) {
    if (reduced.dims.empty()) return 1;
    for (std::int64_t& dim : reduced.dims) {
        if (dim < 0) dim += static_cast<std::int64_t>(shape.size());
    }
    std::sort(reduced.dims.begin(), reduced.dims.end(), std::greater<>());
    for (const std::int64_t dim : reduced.dims) {
        if (dim < 0 || dim >= static_cast<std::int64_t>(shape.size())) continue;
        if (reduced.keepdim)
            shape[static_cast<std::size_t>(dim)] = 1;
        else
            shape.erase(shape.begin() + dim);
    }
    return product(shape);
}

/// The input read and the result written.
inline std::optional<double> reduce_bytes(const Operand& input, const Operand& output) noexcept {
    return operand_bytes({input, output});
}

namespace detail {

/// Dimensions given as such: a whole number or a list of whole numbers.
inline std::optional<Shape> dims_of(const ArgValue& value) {
    if (value.integer) return Shape{*value.integer};
    if (!value.is_list()) return std::nullopt;
    Shape dims;
    for (const ArgValue& item : value.items) {
        if (!item.integer) return std::nullopt;
        dims.push_back(*item.integer);
    }
    return dims;
}

/// What the op reduces, by the kinds of its values: keepdim is the last flag, the dimensions are the last
/// number or list. Traces of PyTorch have text instead.
inline ReducedDims reduced_by_kind(const ArgReader& reader) {
    ReducedDims reduced;
    for (std::size_t i = reader.concrete_count(); i-- > 1;) {
        const ArgValue* const value = reader.concrete_if(i);
        if (value->kind != ArgValue::Kind::boolean) continue;
        reduced.keepdim = value->boolean;
        break;
    }
    for (std::size_t i = reader.concrete_count(); i-- > 1;) {
        if (const std::optional<Shape> dims = dims_of(*reader.concrete_if(i))) {
            reduced.dims = *dims;
            break;
        }
    }
    return reduced;
}

/// Where an op's signature has the dimensions and keepdim.
struct ReduceSignature {
    std::string_view name;
    std::size_t dims = 1;
    std::size_t keepdim = 2;
};

/// Ops that have something else, an order or a correction, at the places where the others have them.
inline constexpr std::array reduce_signatures = {
    ReduceSignature{"aten::norm", 2, 3},
    ReduceSignature{"aten::linalg_norm", 2, 3},
    ReduceSignature{"aten::std", 1, 3},
    ReduceSignature{"aten::var", 1, 3},
};

constexpr ReduceSignature reduce_signature(std::string_view name) noexcept {
    for (const ReduceSignature& signature : reduce_signatures) {
        if (signature.name == name) return signature;
    }
    return {};
}

/// `True` or `False`, as text or as such; nothing for other values.
inline std::optional<bool> flag_if(const ArgValue* value) noexcept {
    if (value == nullptr) return std::nullopt;
    if (value->kind == ArgValue::Kind::boolean) return value->boolean;
    if (value->text == "True" || value->text == "False") return value->text == "True";
    return std::nullopt;
}

/// What the op reduces, by the text at the places of its signature. A single number counts only along with
/// keepdim: without it, it is the number of a type.
inline ReducedDims reduced_by_signature(const ArgReader& reader) {
    const ReduceSignature signature = reduce_signature(reader.args().name);
    const std::optional<bool> keepdim = flag_if(reader.concrete_if(signature.keepdim));
    ReducedDims reduced;
    reduced.keepdim = keepdim.value_or(false);
    const ArgValue* const value = reader.concrete_if(signature.dims);
    if (value == nullptr || !value->is_text()) return reduced;
    if (const std::optional<Shape> list = ArgReader::parse_whole_list(value->text))
        reduced.dims = *list;
    else if (const std::optional<std::int64_t> dim = parse_integer(value->text); dim && keepdim)
        reduced.dims = {*dim};
    return reduced;
}

/// The reference does not read text.
inline ReducedDims reduced_dims(const ArgReader& reader) {
    const ReducedDims by_kind = reduced_by_kind(reader);
    return reader.is_reference() || !by_kind.dims.empty() ? by_kind : reduced_by_signature(reader);
}

/// A scan gives as many elements as it reads.
constexpr bool is_scan(std::string_view name) noexcept {
    return name.find("cumsum") != std::string_view::npos || name.find("cumprod") != std::string_view::npos;
}

constexpr std::string_view reduce_type(std::string_view name) noexcept {
    for (const std::string_view type : {"mean", "max", "min", "norm"}) {
        if (name.find(type) != std::string_view::npos) return type;
    }
    return "sum";
}

/// The type that a trace may have for the result.
inline std::optional<std::string_view> first_output_type(const OpArguments& args) noexcept {
    const std::vector<ArgValue>* const types = args.list("Output type");
    if (types == nullptr || types->empty() || !types->front().is_text()) return std::nullopt;
    return std::string_view(types->front().text);
}

/// Maximum or minimum of two tensors, which is no reduction.
inline bool is_elementwise_extremum(const ArgReader& reader) noexcept {
    const std::string_view name = reader.args().name;
    return (name == "aten::max" || name == "aten::min") && reader.has_shape(1);
}

inline Cost reduce_cost(const ArgReader& reader, std::optional<std::string_view> type_in,
                        std::optional<std::string_view> type_out, double input, double output) {
    const std::optional<double> in_bytes = reader.bytes_per_element(type_in);
    const std::optional<double> out_bytes = type_out ? reader.bytes_per_element(type_out) : in_bytes;
    Cost cost = vector_cost(reader, type_in, reduce_flops(input),
                            reduce_bytes({input, in_bytes}, {output, out_bytes}));
    cost.params = {{"num_input_elems", ParamValue::integer(input)},
                   {"num_output_elems", ParamValue::integer(output)},
                   {"dtype_in_out", ParamValue::types({type_in, type_out})}};
    return cost;
}

}  // namespace detail

/// The gradient costs as much. The reference takes the maximum of two tensors for a reduction of the first.
inline Cost aten_reduce(const OpArguments& args, Pass pass, CostRules rules) {
    ArgReader reader(args, rules);
    if (!reader.is_reference() && detail::is_elementwise_extremum(reader))
        return aten_binary_elementwise(args, pass, rules);
    if (!reader.has_argument(0)) return detail::reduce_cost(reader, std::nullopt, std::nullopt, 0, 0);
    const Shape shape = reader.shape(0);
    const double input = product(shape);
    const double output =
        detail::is_scan(args.name) ? input : reduced_elements(shape, detail::reduced_dims(reader));
    Cost cost =
        detail::reduce_cost(reader, reader.type_if(0), detail::first_output_type(args), input, output);
    cost.params.push_back({"reduce_type", ParamValue::word(detail::reduce_type(args.name))});
    return reader.finish(std::move(cost));
}

inline constexpr std::array reduce_models = {
    ModelRow{"aten::sum", &aten_reduce},       ModelRow{"aten::mean", &aten_reduce},
    ModelRow{"aten::max", &aten_reduce},       ModelRow{"aten::min", &aten_reduce},
    ModelRow{"aten::norm", &aten_reduce},      ModelRow{"aten::linalg_norm", &aten_reduce},
    ModelRow{"aten::std", &aten_reduce},       ModelRow{"aten::var", &aten_reduce},
    ModelRow{"aten::logsumexp", &aten_reduce}, ModelRow{"aten::cumsum", &aten_reduce},
    ModelRow{"aten::cumprod", &aten_reduce},   ModelRow{"aten::amin", &aten_reduce},
    ModelRow{"aten::amax", &aten_reduce},
};

}  // namespace tracelens
