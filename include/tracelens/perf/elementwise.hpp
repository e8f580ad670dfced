/// Work on every element of a tensor: one operation an element of the result, every operand read and the
/// result written once (spec 03, section 3.9).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/perf/cost_model.hpp>

namespace tracelens {

/// A tensor, or scalar, that an op reads or writes.
struct Operand {
    double elements = 0;
    std::optional<double> element_bytes;  ///< nothing when not known
};

/// Bytes of all operands; nothing when one of them has elements of unknown size.
inline std::optional<double> operand_bytes(std::initializer_list<Operand> operands) noexcept {
    double total = 0;
    for (const Operand& operand : operands) {
        if (!operand.element_bytes) return std::nullopt;
        total += operand.elements * *operand.element_bytes;
    }
    return total;
}

/// One operation an element, whatever the op: a copy counts as much as a sigmoid.
constexpr double elementwise_flops(double elements) noexcept {
    return elements;
}

/// The input read and a result of as many elements written.
inline std::optional<double> unary_bytes(double elements, std::optional<double> in_bytes,
                                         std::optional<double> out_bytes) noexcept {
    return operand_bytes({{elements, in_bytes}, {elements, out_bytes}});
}

/// The shape that two shapes broadcast to, aligned at their last dimensions; nothing when they do not. The
/// reference lets a dimension of 0 against one of 1 become 1.
inline std::optional<Shape> broadcast(const Shape& a, const Shape& b, CostRules rules = CostRules::full) {
    Shape result(std::max(a.size(), b.size()), 1);
    for (std::size_t i = 0; i < result.size(); ++i) {
        const std::int64_t of_a = i < a.size() ? a[a.size() - 1 - i] : 1;
        const std::int64_t of_b = i < b.size() ? b[b.size() - 1 - i] : 1;
        if (of_a != of_b && of_a != 1 && of_b != 1) return std::nullopt;
        const std::int64_t other_than_1 = of_a == 1 ? of_b : of_a;
        result[result.size() - 1 - i] = rules == CostRules::reference ? std::max(of_a, of_b) : other_than_1;
    }
    return result;
}

/// Both operands read, a result of the broadcast shape written.
inline std::optional<double> binary_bytes(const Shape& a, std::optional<double> a_bytes, const Shape& b,
                                          std::optional<double> b_bytes, const Shape& out,
                                          std::optional<double> out_bytes) noexcept {
    return operand_bytes({{product(a), a_bytes}, {product(b), b_bytes}, {product(out), out_bytes}});
}

/// Bytes of quantising an M x N matrix to MXFP4 both by rows and by columns: the input, two results of half
/// a byte an element, and a scale of one byte for every 32 elements of each.
inline double mxfp4_dual_bytes(double m, double n, double in_bytes) noexcept {
    return m * n * in_bytes + 2 * std::ceil(m * n / 2) + m * std::ceil(n / 32) + n * std::ceil(m / 32);
}

/// A shape after padding. `padding` is pairs of sizes (before, after), the last dimension's first; an odd
/// last one does not count. Nothing when there are more pairs than dimensions or a sum does not fit.
inline std::optional<Shape> padded_shape(Shape shape, std::span<const std::int64_t> padding) {
    constexpr double limit = 9e18;
    const std::size_t pairs = padding.size() / 2;
    if (pairs > shape.size()) return std::nullopt;
    for (std::size_t i = 0; i < pairs; ++i) {
        std::int64_t& size = shape[shape.size() - 1 - i];
        for (const std::int64_t added : {padding[2 * i], padding[2 * i + 1]}) {
            const double sum = static_cast<double>(size) + static_cast<double>(added);
            if (std::fabs(sum) > limit) return std::nullopt;
            size += added;
        }
    }
    return shape;
}

/// A size times a scale, rounded towards zero; nothing when that is no number that fits.
inline std::optional<std::int64_t> scaled_size(std::int64_t size, double scale) noexcept {
    constexpr double limit = 9e18;
    const double scaled = std::trunc(static_cast<double>(size) * scale);
    if (!(std::fabs(scaled) <= limit)) return std::nullopt;
    return static_cast<std::int64_t>(scaled);
}

namespace detail {

inline Cost no_elementwise_backward() {
    return Cost::bad("has no backward model");
}

inline Cost vector_cost(const ArgReader& reader, std::optional<std::string_view> type, double flops,
                        std::optional<double> bytes) {
    Cost cost;
    cost.flops = flops;
    cost.bytes = bytes;
    cost.unit = ComputeUnit::vector;
    cost.precision = reader.precision(type);
    return cost;
}

/// Type name of argument `index`; nothing for null. Fails when there is none.
inline std::optional<std::string_view> type_or_null(ArgReader& reader, std::size_t index) {
    const std::vector<ArgValue>* const types = reader.args().list("Input type");
    if (types != nullptr && index < types->size() && (*types)[index].is_null()) return std::nullopt;
    return reader.type(index);
}

// --- one operand ---

/// What a unary model has read.
struct UnaryReading {
    Shape shape;
    std::optional<std::string_view> type_in;
    std::optional<std::string_view> type_out;  ///< nothing: that of the input
    ParamValue stride_in;
    ParamValue stride_out;
};

inline void add_unary_params(Cost& cost, const UnaryReading& unary) {
    cost.params.push_back({"op_shape", ParamValue::tuple(unary.shape)});
    cost.params.push_back({"dtype_in_out", ParamValue::types({unary.type_in, unary.type_out})});
    cost.params.push_back({"stride_input", unary.stride_in});
    cost.params.push_back({"stride_output", unary.stride_out});
}

inline Cost unary_cost(const ArgReader& reader, const UnaryReading& unary) {
    const double elements = product(unary.shape);
    const std::optional<double> in_bytes = reader.bytes_per_element(unary.type_in);
    const std::optional<double> out_bytes =
        unary.type_out ? reader.bytes_per_element(unary.type_out) : in_bytes;
    Cost cost = vector_cost(reader, unary.type_in, elementwise_flops(elements),
                            unary_bytes(elements, in_bytes, out_bytes));
    add_unary_params(cost, unary);
    return reader.finish(std::move(cost));
}

/// Argument 0, quantised to `type_out`.
inline UnaryReading read_quantised(ArgReader& reader, std::string_view type_out) {
    UnaryReading unary;
    unary.shape = reader.shape(0);
    unary.type_in = type_or_null(reader, 0);
    unary.type_out = type_out;
    unary.stride_in = ParamValue::tuple_or_none(reader.strides_if(0));
    return unary;
}

/// Ops of one operand whose second argument may be a tensor, too.
inline constexpr std::array<std::string_view, 5> ops_with_tensor_operand = {
    "aten::clamp_min", "aten::clamp_min_", "aten::clamp_max", "aten::clamp_max_", "aten::pow"};

inline bool has_tensor_operand(const ArgReader& reader) noexcept {
    const std::string_view name = reader.args().name;
    return reader.has_shape(1) && std::find(ops_with_tensor_operand.begin(), ops_with_tensor_operand.end(),
                                            name) != ops_with_tensor_operand.end();
}

// --- two operands ---

/// What a binary model has read.
struct BinaryReading {
    Shape a;
    Shape b;
    std::optional<std::string_view> type_a;
    std::optional<std::string_view> type_b;
    std::optional<std::string_view> type_out;  ///< nothing: the wider of the operands'
    ParamValue stride_a;
    ParamValue stride_b;
    ParamValue stride_out;
};

inline BinaryReading read_binary(ArgReader& reader) {
    BinaryReading binary;
    binary.a = reader.shape(0);
    binary.b = reader.shape(1);
    binary.type_a = type_or_null(reader, 0);
    binary.type_b = type_or_null(reader, 1);
    binary.stride_a = ParamValue::tuple(reader.strides(0));
    binary.stride_b = ParamValue::tuple(reader.strides(1));
    return binary;
}

/// Whether the first operand decides on the precision, and on the result's type if there is a scalar. The
/// reference asks the first operand even if that is the scalar.
inline bool first_decides(const BinaryReading& binary, CostRules rules) noexcept {
    return rules == CostRules::reference || !binary.a.empty() || binary.b.empty();
}

inline std::optional<double> binary_out_bytes(const ArgReader& reader, const BinaryReading& binary) {
    if (binary.type_out) return reader.bytes_per_element(binary.type_out);
    const std::optional<double> a = reader.bytes_per_element(binary.type_a);
    const std::optional<double> b = reader.bytes_per_element(binary.type_b);
    if (!a || !b) return std::nullopt;
    if (!binary.a.empty() && !binary.b.empty()) return std::max(*a, *b);
    return first_decides(binary, reader.rules()) ? a : b;
}

inline Cost binary_cost(ArgReader& reader, const BinaryReading& binary) {
    const std::optional<Shape> out = broadcast(binary.a, binary.b, reader.rules());
    if (!out) {
        reader.fail("shapes " + ParamValue::json_list(binary.a) + " and " + ParamValue::json_list(binary.b) +
                    " do not broadcast");
        return reader.finish({});
    }
    const std::optional<double> bytes =
        binary_bytes(binary.a, reader.bytes_per_element(binary.type_a), binary.b,
                     reader.bytes_per_element(binary.type_b), *out, binary_out_bytes(reader, binary));
    Cost cost = vector_cost(reader, first_decides(binary, reader.rules()) ? binary.type_a : binary.type_b,
                            elementwise_flops(product(*out)), bytes);
    cost.params = {
        {"shape_in1", ParamValue::tuple(binary.a)},
        {"shape_in2", ParamValue::tuple(binary.b)},
        {"dtype_in1_in2_out", ParamValue::types({binary.type_a, binary.type_b, binary.type_out})},
        {"stride_input1", binary.stride_a},
        {"stride_input2", binary.stride_b},
        {"stride_output", binary.stride_out},
    };
    return reader.finish(std::move(cost));
}

// --- another shape ---

/// Ops that read `input` and write `output`, of the same type. `padding` is a parameter if there is one.
inline Cost resize_cost(ArgReader& reader, const Shape& input, const Shape& output,
                        const std::optional<Shape>& padding) {
    UnaryReading unary;
    unary.shape = output;
    unary.type_in = unary.type_out = type_or_null(reader, 0);
    unary.stride_in = ParamValue::tuple(reader.strides(0));
    const std::optional<double> bytes = reader.bytes_per_element(unary.type_in);
    reader.require(bytes.has_value(), "the element size of the input's type is not known");
    Cost cost = vector_cost(reader, unary.type_in, elementwise_flops(product(output)),
                            operand_bytes({{product(input), bytes}, {product(output), bytes}}));
    cost.params.push_back({"input_shape", ParamValue::tuple(input)});
    cost.params.push_back({"output_shape", ParamValue::tuple(output)});
    if (padding) cost.params.push_back({"padding", ParamValue::list(*padding)});
    add_unary_params(cost, unary);
    return reader.finish(std::move(cost));
}

/// Sizes by the scales that Concrete Inputs 2 has for the dimensions from the third on.
inline Shape sizes_by_scale(ArgReader& reader, const Shape& input) {
    constexpr std::size_t first_spatial = 2;
    const std::optional<std::vector<std::string_view>> scales = ArgReader::split_list(reader.concrete(2));
    if (!scales || scales->size() + first_spatial != input.size()) {
        reader.fail("neither sizes nor as many scales as there are spatial dimensions");
        return {};
    }
    Shape sizes;
    for (std::size_t i = 0; i < scales->size(); ++i) {
        const std::optional<double> scale = ArgReader::parse_number((*scales)[i]);
        const std::optional<std::int64_t> size =
            scale ? scaled_size(input[first_spatial + i], *scale) : std::nullopt;
        reader.require(size.has_value(), "a scale gives no size");
        sizes.push_back(size.value_or(0));
    }
    return sizes;
}

/// Whether the sizes of an upsampling are absent, so that the scales count. The reference knows no scales.
inline bool is_upsampled_by_scale(const ArgReader& reader) noexcept {
    const ArgValue* const sizes = reader.concrete_if(1);
    const bool absent = sizes != nullptr && (sizes->is_null() || (sizes->is_text() && sizes->text.empty()));
    return absent && !reader.is_reference();
}

}  // namespace detail

/// Two operands, and a result if argument 2 has a shape.
inline Cost aten_binary_elementwise(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_elementwise_backward();
    ArgReader reader(args, rules);
    detail::BinaryReading binary = detail::read_binary(reader);
    if (reader.has_shape(2)) {
        binary.type_out = detail::type_or_null(reader, 2);
        binary.stride_out = ParamValue::tuple(reader.strides(2));
    }
    return detail::binary_cost(reader, binary);
}

/// SiLU of the first operand times the second; the SiLU counts nothing.
inline Cost liger_silu_mul(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_elementwise_backward();
    ArgReader reader(args, rules);
    return detail::binary_cost(reader, detail::read_binary(reader));
}

/// One operand, and a result if argument 1 has a shape. Of a copy, argument 0 is the destination, which
/// moves as much. The reference takes the tensor that `pow` and `clamp` may have at 1 for their result, too.
inline Cost aten_unary_elementwise(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_elementwise_backward();
    ArgReader reader(args, rules);
    if (!reader.is_reference() && detail::has_tensor_operand(reader))
        return aten_binary_elementwise(args, pass, rules);
    detail::UnaryReading unary;
    unary.shape = reader.shape(0);
    unary.type_in = detail::type_or_null(reader, 0);
    unary.stride_in = ParamValue::tuple(reader.strides(0));
    if (reader.has_shape(1)) {
        unary.type_out = detail::type_or_null(reader, 1);
        unary.stride_out = ParamValue::tuple(reader.strides(1));
    }
    return detail::unary_cost(reader, unary);
}

inline Cost primus_quantize_fp8(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_elementwise_backward();
    ArgReader reader(args, rules);
    return detail::unary_cost(reader, detail::read_quantised(reader, "c10::Float8_e4m3fnuz"));
}

/// Quantises a matrix to MXFP4 by rows and by columns at once.
inline Cost primus_quantize_mxfp4_dual(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_elementwise_backward();
    ArgReader reader(args, rules);
    const detail::UnaryReading unary = detail::read_quantised(reader, "c10::Float4_e2m1fn_x2");
    reader.require(unary.shape.size() == 2, "quantisation both ways needs a matrix");
    const double m = static_cast<double>(reader.dim(unary.shape, 0));
    const double n = static_cast<double>(reader.dim(unary.shape, 1));
    Cost cost = detail::vector_cost(reader, unary.type_in, elementwise_flops(m * n), std::nullopt);
    if (const std::optional<double> bytes = reader.bytes_per_element(unary.type_in))
        cost.bytes = mxfp4_dual_bytes(m, n, *bytes);
    detail::add_unary_params(cost, unary);
    return reader.finish(std::move(cost));
}

inline Cost aten_replication_pad(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_elementwise_backward();
    ArgReader reader(args, rules);
    const Shape input = reader.shape(0);
    const Shape padding = reader.whole_list(1);
    reader.require(!padding.empty(), "the padding is empty");
    const std::optional<Shape> output = padded_shape(input, padding);
    reader.require(output.has_value(), "the padding does not fit the input's shape");
    return detail::resize_cost(reader, input, output.value_or(Shape{}), padding);
}

/// Upsampling of all dimensions from the third on, to given sizes or by given scales.
inline Cost aten_upsample_nearest(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_elementwise_backward();
    ArgReader reader(args, rules);
    const Shape input = reader.shape(0);
    Shape output = {reader.dim(input, 0), reader.dim(input, 1)};
    const Shape sizes =
        detail::is_upsampled_by_scale(reader) ? detail::sizes_by_scale(reader, input) : reader.whole_list(1);
    output.insert(output.end(), sizes.begin(), sizes.end());
    return detail::resize_cost(reader, input, output, std::nullopt);
}

inline constexpr std::array elementwise_models = {
    ModelRow{"LigerSiLUMulFunction", &liger_silu_mul},
    ModelRow{"primus_turbo_cpp_extension::quantize_fp8_tensorwise", &primus_quantize_fp8},
    ModelRow{"primus_turbo::quantize_fp8_tensorwise", &primus_quantize_fp8},
    ModelRow{"primus_turbo_cpp_extension::quantize_mxfp4_dual", &primus_quantize_mxfp4_dual},
    ModelRow{"primus_turbo::quantize_mxfp4_dual", &primus_quantize_mxfp4_dual},
    ModelRow{"primus::quantize_mxfp4_dual", &primus_quantize_mxfp4_dual},
    ModelRow{"aten::copy", &aten_unary_elementwise},
    ModelRow{"aten::copy_", &aten_unary_elementwise},
    ModelRow{"aten::clamp_min", &aten_unary_elementwise},
    ModelRow{"aten::clamp_min_", &aten_unary_elementwise},
    ModelRow{"aten::clamp_max", &aten_unary_elementwise},
    ModelRow{"aten::clamp_max_", &aten_unary_elementwise},
    ModelRow{"aten::sigmoid", &aten_unary_elementwise},
    ModelRow{"aten::rsqrt", &aten_unary_elementwise},
    ModelRow{"aten::silu", &aten_unary_elementwise},
    ModelRow{"aten::neg", &aten_unary_elementwise},
    ModelRow{"aten::pow", &aten_unary_elementwise},
    ModelRow{"aten::div", &aten_binary_elementwise},
    ModelRow{"aten::div_", &aten_binary_elementwise},
    ModelRow{"aten::mul", &aten_binary_elementwise},
    ModelRow{"aten::mul_", &aten_binary_elementwise},
    ModelRow{"aten::add", &aten_binary_elementwise},
    ModelRow{"aten::add_", &aten_binary_elementwise},
    ModelRow{"aten::sigmoid_backward", &aten_binary_elementwise},
    ModelRow{"aten::threshold_backward", &aten_binary_elementwise},
    ModelRow{"aten::replication_pad1d", &aten_replication_pad},
    ModelRow{"aten::replication_pad2d", &aten_replication_pad},
    ModelRow{"aten::replication_pad3d", &aten_replication_pad},
    ModelRow{"aten::upsample_nearest1d", &aten_upsample_nearest},
    ModelRow{"aten::upsample_nearest2d", &aten_upsample_nearest},
    ModelRow{"aten::upsample_nearest3d", &aten_upsample_nearest},
};

}  // namespace tracelens
