/// Matrix products of quantised operands, and of libraries with argument lists of their own (spec 03,
/// sections 3.6.2 and 3.6.3).
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/perf/gemm.hpp>

namespace tracelens {

/// Elements along K that share a scale in MXFP4.
inline constexpr double mxfp4_block = 32;

/// MXFP4 operands: two values of K in each element of `bytes.a` and `bytes.b`, a scale for every row and
/// block, and a result of two bytes an element. (Spec 03, section 3.6.3.)
inline std::optional<double> mxfp4_gemm_bytes(const GemmShape& shape, const GemmElementBytes& bytes,
                                              double scale_a = 1, double scale_b = 1) noexcept {
    if (!bytes.a || !bytes.b) return std::nullopt;
    constexpr double result = 2;
    const double packed = std::floor(shape.k / 2);
    const double scales = std::ceil(shape.k / mxfp4_block);
    return shape.batch *
           (shape.m * packed * *bytes.a + shape.n * packed * *bytes.b + shape.m * scales * scale_a +
            shape.n * scales * scale_b + shape.m * shape.n * result);
}

namespace detail {

/// A shape as a matrix: all dimensions but the last make its rows.
struct FlatMatrix {
    double rows = 0;
    double columns = 0;
};

inline FlatMatrix flat_matrix(ArgReader& reader, const Shape& shape) {
    if (shape.empty()) {
        reader.fail("an operand has no dimensions");
        return {};
    }
    return {product(std::span(shape).first(shape.size() - 1)), static_cast<double>(shape.back())};
}

/// A flag as Python's callers pass it: a boolean, text such as `true` or `0`, or anything else by its truth.
inline bool loose_flag(const ArgValue* value) {
    if (value == nullptr) return false;
    switch (value->kind) {
        case ArgValue::Kind::null: return false;
        case ArgValue::Kind::boolean: return value->boolean;
        case ArgValue::Kind::number: return value->number != 0;
        case ArgValue::Kind::list:
        case ArgValue::Kind::object: return !value->items.empty();
        case ArgValue::Kind::text: break;
    }
    std::string_view text = value->text;
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return !text.empty() && text != "0" && !equal_ignoring_case(text, "false");
}

/// Whether a concrete value is exactly this text. Fails when there is no such value.
inline bool concrete_is(ArgReader& reader, std::size_t index, std::string_view text) {
    static_cast<void>(reader.concrete(index));
    const ArgValue* const value = reader.concrete_if(index);
    return value != nullptr && value->is_text() && value->text == text;
}

// --- aten::_scaled_mm and its like ---

/// The argument that is the bias. `aten::_scaled_mm` has it at 4; the reference sees one only among three
/// arguments.
inline std::optional<std::size_t> scaled_bias(const ArgReader& reader) {
    const bool three = reader.argument_count() == 3;
    if (reader.is_reference()) return three ? std::optional<std::size_t>(2) : std::nullopt;
    if (reader.has_shape(4)) return 4;
    return three && reader.has_shape(2) ? std::optional<std::size_t>(2) : std::nullopt;
}

/// Bytes of an element of the result: by `out_dtype`, argument 6, or by the operands'.
inline std::optional<double> scaled_result_bytes(const ArgReader& reader, std::optional<double> operand) {
    constexpr std::int64_t not_given = -1;
    const std::int64_t type = reader.is_reference() ? not_given : reader.whole_or(6, not_given);
    if (type != not_given) return bytes_of_scalar_type(type);
    if (operand == 1) return 2;
    return operand == 2 || operand == 4 ? operand : std::nullopt;
}

/// `bitsandbytes::int8_linear_matmul` as it is: any number of leading dimensions, weight N x K, int32 result.
inline void read_int8_linear(ArgReader& reader, GemmReading& gemm) {
    constexpr double int32_bytes = 4;
    const FlatMatrix a = flat_matrix(reader, reader.shape(0));
    gemm.shape.m = a.rows;
    gemm.shape.k = a.columns;
    gemm.shape.n = static_cast<double>(reader.dim(1, 0));
    gemm.element.out = int32_bytes;
}

inline void read_scaled_mm(ArgReader& reader, GemmReading& gemm) {
    const Shape a = reader.shape(0);
    gemm.shape.m = static_cast<double>(reader.dim(a, 0));
    gemm.shape.k = static_cast<double>(reader.dim(a, 1));
    gemm.shape.n = static_cast<double>(reader.dim(1, 1));
    const std::optional<std::size_t> bias = scaled_bias(reader);
    gemm.shape.bias = bias.has_value();
    if (bias && !reader.is_reference()) {
        const std::optional<double> own = reader.bytes_per_element(reader.type_if(*bias));
        if (own) gemm.element.bias = own;
    }
    gemm.element.out = scaled_result_bytes(reader, gemm.element.a);
}

// --- vllm::gemm_with_dynamic_quant ---

/// The arguments that the reference takes for A and B: the first two of rank 2; for a missing one, argument 0
/// or 1.
inline std::array<std::size_t, 2> first_matrices(const ArgReader& reader) {
    std::array<std::size_t, 2> found = {0, 1};
    std::size_t count = 0;
    const std::vector<ArgValue>* const dims = reader.args().list("Input Dims");
    if (dims == nullptr) return found;
    for (std::size_t i = 0; i < dims->size() && count < found.size(); ++i) {
        if ((*dims)[i].is_list() && (*dims)[i].items.size() == 2) found[count++] = i;
    }
    return found;
}

// --- arguments of hipBLASLt and AITER ---

/// At which arguments operands and their scales are.
struct QuantisedArguments {
    std::size_t a, b, scale_a, scale_b;
};

inline constexpr QuantisedArguments hipblaslt_arguments{0, 2, 1, 3};
inline constexpr QuantisedArguments aiter_arguments{0, 1, 2, 3};

/// All but the sizes. Strides count only when both are there.
inline GemmReading read_quantised(ArgReader& reader, const QuantisedArguments& at) {
    const auto scale_type = [&reader](std::size_t index) {
        const std::optional<std::string_view> type = reader.type_if(index);
        return type ? ParamValue::word(*type) : ParamValue::none();
    };
    GemmReading gemm;
    gemm.types = ParamValue::types({reader.type(at.a), reader.type(at.b)});
    gemm.type_a = reader.type_if(at.a);
    gemm.element.a = reader.bytes_per_element(gemm.type_a);
    gemm.element.b = reader.bytes_per_element(reader.type_if(at.b));
    gemm.element.bias = 0;
    reader.require(gemm.element.a && gemm.element.b, "the size of an operand's elements is not known");
    if (const std::optional<Shape> last = reader.strides_if(at.b)) {
        gemm.stride_a = ParamValue::tuple_or_none(reader.strides_if(at.a));
        gemm.stride_b = ParamValue::tuple(*last);
    }
    gemm.extra = {{"dtype_scaleA", scale_type(at.scale_a)}, {"dtype_scaleB", scale_type(at.scale_b)}};
    return gemm;
}

/// Sizes of a hipBLASLt product: flags for transposed operands at 5 and 6; one for a transposed result at 7,
/// which swaps the operands.
inline GemmShape hipblaslt_shape(ArgReader& reader) {
    Shape a = reader.shape(hipblaslt_arguments.a);
    Shape b = reader.shape(hipblaslt_arguments.b);
    bool transpose_a = loose_flag(reader.concrete_if(5));
    bool transpose_b = loose_flag(reader.concrete_if(6));
    if (loose_flag(reader.concrete_if(7))) {
        std::swap(a, b);
        const bool was_a = transpose_a;
        transpose_a = !transpose_b;
        transpose_b = !was_a;
    }
    GemmShape shape;
    shape.m = static_cast<double>(reader.dim(a, transpose_a ? 1 : 0));
    shape.k = static_cast<double>(reader.dim(a, transpose_a ? 0 : 1));
    shape.n = static_cast<double>(reader.dim(b, transpose_b ? 0 : 1));
    return shape;
}

/// Cost of an MXFP4 product. Its operands may be recorded as bytes, which the reference takes for fp8.
inline Cost mxfp4_cost(const ArgReader& reader, const GemmReading& gemm, const QuantisedArguments& at) {
    Cost cost = gemm_cost(reader, gemm);
    if (!cost.ok()) return cost;
    cost.bytes = mxfp4_gemm_bytes(gemm.shape, gemm.element,
                                  reader.bytes_per_element(reader.type_if(at.scale_a)).value_or(1),
                                  reader.bytes_per_element(reader.type_if(at.scale_b)).value_or(1));
    if (!reader.is_reference()) cost.precision = "fp4";
    return cost;
}

}  // namespace detail

inline Cost aten_scaled_mm(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_gemm_gradients();
    ArgReader reader(args, rules);
    detail::GemmReading gemm = detail::read_operands(reader, 0);
    reader.require(gemm.element.a && reader.bytes_per_element(reader.type_if(1)),
                   "the size of an operand's elements is not known");
    if (!reader.is_reference() && args.name == "bitsandbytes::int8_linear_matmul")
        detail::read_int8_linear(reader, gemm);
    else
        detail::read_scaled_mm(reader, gemm);
    return detail::gemm_cost(reader, gemm);
}

/// A is the activation, B the weight as N x K, often packed: K is A's.
inline Cost vllm_gemm_with_dynamic_quant(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return Cost::bad("the bytes of its gradients need an element size");
    ArgReader reader(args, rules);
    reader.require(reader.type_count() >= 2, "the types of the two operands are missing");
    const std::array<std::size_t, 2> at =
        reader.is_reference() ? detail::first_matrices(reader) : std::array<std::size_t, 2>{0, 1};
    const Shape a = reader.shape(at[0]);
    const Shape b = reader.shape(at[1]);
    reader.require(b.size() == 2 && (a.size() == 2 || !reader.is_reference()),
                   "there are no two matrices among the arguments");
    const detail::FlatMatrix rows = detail::flat_matrix(reader, a);
    detail::GemmReading gemm = detail::read_operands(reader, 0);
    gemm.shape.m = rows.rows;
    gemm.shape.k = rows.columns;
    gemm.shape.n = static_cast<double>(reader.dim(b, 0));
    Cost cost = detail::gemm_cost(reader, gemm);
    if (reader.is_reference() || !cost.bytes) return cost;
    cost.bytes = gemm.shape.m * gemm.shape.k * *gemm.element.a + product(b) * *gemm.element.b +
                 gemm.shape.m * gemm.shape.n * *gemm.element.out;
    return cost;
}

/// TransformerEngine: A at argument 0, B at 5, the result at 10, the bias at 18; flags at 4, 9 and 14.
inline Cost tex_ts_te_gemm_ts(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_gemm_gradients();
    ArgReader reader(args, rules);
    const Shape a = reader.shape(0);
    const Shape b = reader.shape(5);
    reader.require(reader.argument_count() > 10, "there is no result among the arguments");
    const bool transpose_a = detail::concrete_is(reader, 4, "1");
    const bool transpose_b = detail::concrete_is(reader, 9, "1");
    detail::GemmReading gemm;
    gemm.shape.m = static_cast<double>(reader.dim(a, transpose_a ? 0 : 1));
    gemm.shape.k = static_cast<double>(reader.dim(a, transpose_a ? 1 : 0));
    gemm.shape.n = static_cast<double>(reader.dim(b, transpose_b ? 1 : 0));
    gemm.shape.bias = !detail::concrete_is(reader, 14, "");
    gemm.types = ParamValue::types({reader.type(0), reader.type(5), reader.type(10), reader.type(18)});
    gemm.type_a = reader.type_if(0);
    gemm.element.a = reader.bytes_per_element(gemm.type_a);
    gemm.element.b = reader.bytes_per_element(reader.type_if(5));
    gemm.element.out = reader.bytes_per_element(reader.type_if(10));
    gemm.element.bias = reader.bytes_per_element(reader.type_if(18));
    if (!gemm.shape.bias && !reader.is_reference()) gemm.element.bias = 0;
    gemm.stride_a = ParamValue::tuple_or_none(reader.strides_if_recorded(0));
    gemm.stride_b = ParamValue::tuple_or_none(reader.strides_if_recorded(5));
    return detail::gemm_cost(reader, gemm);
}

/// Products that the TransformerEngine tree extension makes up; results take two bytes an element.
inline Cost tev2_pseudo_gemm(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_gemm_gradients();
    ArgReader reader(args, rules);
    const Shape a = reader.shape(0);
    detail::GemmReading gemm = detail::read_operands(reader, 0);
    reader.require(reader.type(0) == reader.type(1), "the types of the two operands differ");
    gemm.shape.m = static_cast<double>(reader.dim(a, 0));
    gemm.shape.k = static_cast<double>(reader.dim(a, 1));
    gemm.shape.n = static_cast<double>(reader.dim(1, 1));
    gemm.element.out = 2;
    return detail::gemm_cost(reader, gemm);
}

/// Arguments: A, its scale, B, its scale, type of the result, three flags. Scales are not counted.
inline Cost hipblaslt_gemm_fp8(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_gemm_gradients();
    ArgReader reader(args, rules);
    detail::GemmReading gemm = detail::read_quantised(reader, detail::hipblaslt_arguments);
    gemm.shape = detail::hipblaslt_shape(reader);
    gemm.element.out = gemm.element.a == 1 ? std::optional<double>(2) : gemm.element.a;
    return detail::gemm_cost(reader, gemm);
}

/// The same arguments; two values of K are packed into an element.
inline Cost hipblaslt_gemm_fp4(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_gemm_gradients();
    ArgReader reader(args, rules);
    detail::GemmReading gemm = detail::read_quantised(reader, detail::hipblaslt_arguments);
    gemm.shape = detail::hipblaslt_shape(reader);
    gemm.shape.k *= 2;
    return detail::mxfp4_cost(reader, gemm, detail::hipblaslt_arguments);
}

/// A is M x K, B is N x K, two values of K packed into an element.
inline Cost aiter_gemm_a4w4(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_gemm_gradients();
    ArgReader reader(args, rules);
    const Shape a = reader.shape(0);
    detail::GemmReading gemm = detail::read_quantised(reader, detail::aiter_arguments);
    gemm.shape.m = static_cast<double>(reader.dim(a, 0));
    gemm.shape.k = 2 * static_cast<double>(reader.dim(a, 1));
    gemm.shape.n = static_cast<double>(reader.dim(1, 0));
    return detail::mxfp4_cost(reader, gemm, detail::aiter_arguments);
}

inline constexpr std::array quantised_gemm_models = {
    ModelRow{"aten::_scaled_mm", &aten_scaled_mm},
    ModelRow{"trtllm::cublas_scaled_mm", &aten_scaled_mm},
    ModelRow{"bitsandbytes::int8_linear_matmul", &aten_scaled_mm},
    ModelRow{"tex_ts::te_gemm_ts", &tex_ts_te_gemm_ts},
    ModelRow{"vllm::gemm_with_dynamic_quant", &vllm_gemm_with_dynamic_quant},
    ModelRow{"_Linear_yfwd_mm", &tev2_pseudo_gemm},
    ModelRow{"_LinearBackward_xgrad_mm", &tev2_pseudo_gemm},
    ModelRow{"_LinearBackward_wgrad_mm", &tev2_pseudo_gemm},
    ModelRow{"_LayerNormLinear_yfwd_mm", &tev2_pseudo_gemm},
    ModelRow{"_LayerNormLinearBackward_xgrad_mm", &tev2_pseudo_gemm},
    ModelRow{"_LayerNormLinearBackward_wgrad_mm", &tev2_pseudo_gemm},
    ModelRow{"primus_turbo_cpp_extension::hipblaslt_gemm_fp8", &hipblaslt_gemm_fp8},
    ModelRow{"primus_turbo::hipblaslt_gemm_fp8", &hipblaslt_gemm_fp8},
    ModelRow{"primus_turbo_cpp_extension::hipblaslt_gemm_fp4", &hipblaslt_gemm_fp4},
    ModelRow{"primus_turbo::hipblaslt_gemm_fp4", &hipblaslt_gemm_fp4},
    ModelRow{"aiter::gemm_a4w4", &aiter_gemm_a4w4},
    ModelRow{"aiter::_gemm_a4w4_asm", &aiter_gemm_a4w4},
};

}  // namespace tracelens
