/// Convolutions: what they compute and move (spec 03, section 3.7). A convolution takes an input (N, Cin,
/// spatial...) and a filter (Cout, Cin / groups, kernel...); a transposed one takes a filter (Cin, Cout /
/// groups, kernel...).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/perf/cost_model.hpp>

namespace tracelens {

/// A convolution by its shapes. The lists have an entry for each spatial dimension; missing entries are 1 of
/// `stride` and `dilation`, 0 of the paddings.
struct ConvShape {
    Shape input = {};
    Shape filter = {};
    Shape stride = {};
    Shape padding = {};
    Shape dilation = {};
    Shape output_padding = {};
    bool transposed = false;
    std::int64_t groups = 1;
    bool bias = false;
};

/// Elements that a convolution touches.
struct ConvSizes {
    double input = 0;
    double filter = 0;
    double output = 0;
    double output_channels = 0;
    double taps = 0;       ///< multiplications for each element of the output; of the input when transposed
    double positions = 0;  ///< batch times the spatial extents of the output; of the input when transposed
    bool transposed = false;
    bool bias = false;
};

/// Which gradients are asked for. That of the bias is one only where there is a bias.
struct ConvGradients {
    bool input = true;
    bool filter = true;
};

namespace detail {

constexpr double conv_entry(std::span<const std::int64_t> list, std::size_t axis,
                            std::int64_t otherwise) noexcept {
    return static_cast<double>(axis < list.size() ? list[axis] : otherwise);
}

/// Extent of the output in spatial dimension `axis`; nothing for a stride of 0.
inline std::optional<double> conv_extent(const ConvShape& shape, std::size_t axis) noexcept {
    const double extent = conv_entry(shape.input, axis + 2, 1);
    const double kernel = conv_entry(shape.filter, axis + 2, 1);
    const double stride = conv_entry(shape.stride, axis, 1);
    const double padding = conv_entry(shape.padding, axis, 0);
    const double reach = conv_entry(shape.dilation, axis, 1) * (kernel - 1);
    if (shape.transposed)
        return (extent - 1) * stride - 2 * padding + reach + conv_entry(shape.output_padding, axis, 0) + 1;
    if (stride == 0) return std::nullopt;
    return std::trunc((extent + 2 * padding - reach - 1) / stride + 1);
}

/// The reference forgets that a transposed convolution has its output channels once for each group.
inline double conv_output_channels(const ConvShape& shape, CostRules rules) noexcept {
    if (!shape.transposed) return static_cast<double>(shape.filter[0]);
    const double groups = rules == CostRules::reference ? 1 : static_cast<double>(shape.groups);
    return static_cast<double>(shape.filter[1]) * groups;
}

}  // namespace detail

/// (N, Cout, spatial...); nothing when input and filter differ in rank or have less than two dimensions, and
/// for a stride of 0.
inline std::optional<std::vector<double>> conv_output_shape(const ConvShape& shape,
                                                            CostRules rules = CostRules::full) {
    if (shape.input.size() < 2 || shape.input.size() != shape.filter.size()) return std::nullopt;
    std::vector<double> output = {static_cast<double>(shape.input[0]),
                                  detail::conv_output_channels(shape, rules)};
    for (std::size_t axis = 0; axis + 2 < shape.input.size(); ++axis) {
        const std::optional<double> extent = detail::conv_extent(shape, axis);
        if (!extent) return std::nullopt;
        output.push_back(*extent);
    }
    return output;
}

/// What the formulas need of a convolution; nothing where there is no output shape.
inline std::optional<ConvSizes> conv_sizes(const ConvShape& shape, CostRules rules = CostRules::full) {
    const std::optional<std::vector<double>> output = conv_output_shape(shape, rules);
    if (!output) return std::nullopt;
    double output_positions = (*output)[0];
    for (std::size_t i = 2; i < output->size(); ++i) output_positions *= (*output)[i];
    const std::span<const std::int64_t> input(shape.input);
    ConvSizes sizes;
    sizes.input = product(input);
    sizes.filter = product(shape.filter);
    sizes.output_channels = (*output)[1];
    sizes.output = output_positions * sizes.output_channels;
    sizes.taps = product(std::span<const std::int64_t>(shape.filter).subspan(1));
    sizes.positions =
        shape.transposed ? static_cast<double>(input[0]) * product(input.subspan(2)) : output_positions;
    sizes.transposed = shape.transposed;
    sizes.bias = shape.bias;
    return sizes;
}

/// A multiplication and an addition for each tap, and an addition an output element for the bias.
constexpr double conv_flops(const ConvSizes& sizes) noexcept {
    return 2 * sizes.taps * (sizes.transposed ? sizes.input : sizes.output) + (sizes.bias ? sizes.output : 0);
}

/// Every operand once, `bytes` an element.
constexpr std::optional<double> conv_bytes(const ConvSizes& sizes, std::optional<double> bytes) noexcept {
    if (!bytes) return std::nullopt;
    return (sizes.input + sizes.filter + (sizes.bias ? sizes.output_channels : 0) + sizes.output) * *bytes;
}

/// The gradients of input, filter and bias.
constexpr double conv_backward_flops(const ConvSizes& sizes, const ConvGradients& gradients = {}) noexcept {
    double flops = sizes.bias ? sizes.output : 0;
    if (gradients.input) flops += 2 * sizes.taps * (sizes.transposed ? sizes.input : sizes.output);
    if (gradients.filter) flops += 2 * sizes.filter * sizes.positions;
    return flops;
}

/// Bytes of the gradients, `bytes` an element. The reference counts the bias gradient in elements.
constexpr std::optional<double> conv_backward_bytes(const ConvSizes& sizes, std::optional<double> bytes,
                                                    const ConvGradients& gradients = {},
                                                    CostRules rules = CostRules::full) noexcept {
    if (!bytes) return std::nullopt;
    const double convolutions = (gradients.input ? 1 : 0) + (gradients.filter ? 1 : 0);
    const double bias = sizes.bias ? sizes.output + sizes.output_channels : 0;
    return convolutions * (sizes.output + sizes.filter + sizes.input) * *bytes +
           bias * (rules == CostRules::reference ? 1 : *bytes);
}

namespace detail {

/// What a convolution's model has read, on its way to a cost.
struct ConvReading {
    ConvShape shape;
    ParamValue types;  ///< `dtype_input_weight`
    std::optional<std::string_view> type;
    ParamValue input_stride;
    ParamValue weight_stride;
    ParamValue bias;
    ParamValue transposed;
    ConvGradients gradients;

    std::size_t spatial_dims() const noexcept { return shape.input.size() - 2; }
    void set_bias(bool value) {
        shape.bias = value;
        bias = ParamValue::flag(value);
    }
};

inline constexpr std::array<std::string_view, 3> conv_kinds = {"conv1d", "conv2d", "conv3d"};

inline constexpr std::array<std::string_view, 13> conv_params = {
    "convNd", "input_shape", "filter_shape", "dtype_input_weight", "input_stride",   "weight_stride", "bias",
    "stride", "padding",     "dilation",     "transposed_conv",    "output_padding", "groups"};

/// Shapes and types of the input, argument `first`, and of the filter behind it.
inline ConvReading read_conv_operands(ArgReader& reader, std::size_t first) {
    ConvReading conv;
    conv.shape.input = reader.shape(first);
    conv.shape.filter = reader.shape(first + 1);
    const std::size_t rank = conv.shape.input.size();
    if (rank < 3 || rank > 5) {
        reader.fail("no convolution has an input of rank " + std::to_string(rank));
        conv.shape.input.resize(3);
    }
    reader.require(conv.shape.filter.size() == rank, "input and filter differ in rank");
    conv.types = reader.type_tuple(first, first + 2);
    reader.require(reader.type_count() >= first + 2, "the filter has no Input type");
    conv.type = reader.type_if(first);
    return conv;
}

inline void require_one_conv_type(ArgReader& reader, std::size_t first) {
    reader.require(reader.type_if(first) == reader.type_if(first + 1), "input and filter differ in type");
}

/// An entry for each spatial dimension from value `index`: a list, one entry for all, or nothing for
/// `otherwise`.
inline Shape read_conv_list(ArgReader& reader, std::size_t index, std::size_t spatial_dims,
                            std::int64_t otherwise) {
    const ArgValue* const value = reader.concrete_if(index);
    if (value != nullptr && value->is_text() && value->text.empty()) return Shape(spatial_dims, otherwise);
    Shape list = reader.whole_list(index);
    if (list.size() == 1) return Shape(spatial_dims, list.front());
    reader.require(list.size() == spatial_dims,
                   "Concrete Inputs " + std::to_string(index) + " does not fit the spatial dimensions");
    return list;
}

/// Stride, padding, dilation, transposed, output padding and groups from value `first` on.
inline void read_conv_settings(ArgReader& reader, std::size_t first, ConvReading& conv) {
    conv.shape.stride = read_conv_list(reader, first, conv.spatial_dims(), 1);
    conv.shape.padding = read_conv_list(reader, first + 1, conv.spatial_dims(), 0);
    conv.shape.dilation = read_conv_list(reader, first + 2, conv.spatial_dims(), 1);
    conv.transposed = reader.literal(first + 3);
    conv.shape.transposed = ArgReader::truth(conv.transposed);
    conv.shape.output_padding = read_conv_list(reader, first + 4, conv.spatial_dims(), 0);
    conv.shape.groups = reader.whole(first + 5);
}

inline void read_conv_strides(ArgReader& reader, std::size_t first, ConvReading& conv) {
    conv.input_stride = ParamValue::tuple_or_none(reader.strides_if_recorded(first));
    conv.weight_stride = ParamValue::tuple_or_none(reader.strides_if_recorded(first + 1));
}

/// The output mask of a backward op: gradients of input, filter and bias; nothing when there is none.
inline std::optional<std::vector<bool>> read_output_mask(const ArgReader& reader, std::size_t index) {
    ArgReader attempt(reader.args(), reader.rules());
    std::vector<bool> mask = attempt.flag_list(index);
    if (attempt.failed() || mask.size() < 3) return std::nullopt;
    return mask;
}

/// Bias and gradients of `aten::convolution_backward`. The reference looks at argument 3 alone, and keeps an
/// empty list as it is.
inline void read_conv_gradients(const ArgReader& reader, ConvReading& conv) {
    constexpr std::size_t bias_sizes = 3;
    constexpr std::size_t output_mask = 10;
    conv.set_bias(reader.has_shape(bias_sizes));
    if (!reader.is_reference()) {
        if (const std::optional<std::vector<bool>> mask = read_output_mask(reader, output_mask)) {
            conv.gradients = {(*mask)[0], (*mask)[1]};
            conv.set_bias((*mask)[2]);
        }
    } else if (reader.has_argument(bias_sizes) && !conv.shape.bias) {
        conv.bias = ParamValue::list({});
    }
}

/// A whole number of a fused convolution; `otherwise` when it is not recorded.
inline std::int64_t read_fused_setting(ArgReader& reader, std::size_t index, std::int64_t otherwise) {
    const ArgValue* const value = reader.concrete_if(index);
    if (value == nullptr || value->is_null() || (value->is_text() && value->text.empty())) return otherwise;
    return reader.whole(index);
}

/// Convolution with bias (and ReLU, whose work does not count): input, filter, bias, stride, padding.
inline ConvReading read_fused_conv(ArgReader& reader) {
    ConvReading conv = read_conv_operands(reader, 0);
    const std::size_t spatial_dims = conv.spatial_dims();
    conv.shape.stride = Shape(spatial_dims, read_fused_setting(reader, 3, 1));
    conv.shape.padding = Shape(spatial_dims, read_fused_setting(reader, 4, 0));
    conv.shape.dilation = Shape(spatial_dims, 1);
    conv.shape.output_padding = Shape(spatial_dims, 0);
    conv.transposed = ParamValue::flag(false);
    conv.set_bias(true);
    const std::vector<ArgValue>* const strides = reader.args().list("Input Strides");
    if (strides != nullptr && strides->size() >= 2) read_conv_strides(reader, 0, conv);
    return conv;
}

inline std::vector<Param> named_conv_params(std::array<ParamValue, conv_params.size()> values) {
    std::vector<Param> params;
    for (std::size_t i = 0; i < values.size(); ++i) params.push_back({conv_params[i], std::move(values[i])});
    return params;
}

inline Cost conv_cost(ArgReader& reader, const ConvReading& conv, Pass pass) {
    const std::optional<ConvSizes> sizes = conv_sizes(conv.shape, reader.rules());
    reader.require(sizes.has_value(), "a stride is 0");
    if (!sizes || reader.failed()) return reader.finish({});
    const std::optional<double> bytes = reader.bytes_per_element(conv.type);
    const bool forward = pass == Pass::forward;
    Cost cost;
    cost.flops = forward ? conv_flops(*sizes) : conv_backward_flops(*sizes, conv.gradients);
    cost.bytes = forward ? conv_bytes(*sizes, bytes)
                         : conv_backward_bytes(*sizes, bytes, conv.gradients, reader.rules());
    cost.unit = ComputeUnit::matrix;
    cost.precision = reader.precision(conv.type);
    const ConvShape& shape = conv.shape;
    cost.params = named_conv_params(
        {ParamValue::word(conv_kinds[conv.spatial_dims() - 1]), ParamValue::tuple(shape.input),
         ParamValue::tuple(shape.filter), conv.types, conv.input_stride, conv.weight_stride, conv.bias,
         ParamValue::tuple(shape.stride), ParamValue::tuple(shape.padding), ParamValue::tuple(shape.dilation),
         conv.transposed, ParamValue::tuple(shape.output_padding), ParamValue::integer(shape.groups)});
    return cost;
}

/// A fused backward op whose forward op is not known: a row without figures. The reference has none.
inline Cost unknown_conv(CostRules rules) {
    if (rules == CostRules::reference) return Cost::bad("the trace has no forward op for it");
    Cost cost;
    cost.flops = std::numeric_limits<double>::quiet_NaN();
    cost.unit = ComputeUnit::matrix;
    cost.params = named_conv_params({});
    return cost;
}

}  // namespace detail

inline Cost aten_conv(const OpArguments& args, Pass pass, CostRules rules) {
    ArgReader reader(args, rules);
    detail::ConvReading conv = detail::read_conv_operands(reader, 0);
    detail::require_one_conv_type(reader, 0);
    detail::read_conv_settings(reader, 3, conv);
    detail::read_conv_strides(reader, 0, conv);
    // The reference takes the number of arguments for the sign of a bias; real ops always have nine.
    conv.set_bias(reader.is_reference() ? reader.argument_count() == 3 : reader.has_shape(2));
    return detail::conv_cost(reader, conv, pass);
}

/// Arguments: gradient of the output, input, filter, bias sizes, settings, output mask.
inline Cost aten_conv_bwd(const OpArguments& args, Pass /*pass*/, CostRules rules) {
    ArgReader reader(args, rules);
    detail::ConvReading conv = detail::read_conv_operands(reader, 1);
    detail::require_one_conv_type(reader, 1);
    detail::read_conv_settings(reader, 4, conv);
    detail::read_conv_strides(reader, 1, conv);
    detail::read_conv_gradients(reader, conv);
    return detail::conv_cost(reader, conv, Pass::backward);
}

/// Also of `ConvBiasReLU_`: the work of the ReLU does not count.
inline Cost conv_bias(const OpArguments& args, Pass pass, CostRules rules) {
    ArgReader reader(args, rules);
    const detail::ConvReading conv = detail::read_fused_conv(reader);
    detail::require_one_conv_type(reader, 0);
    return detail::conv_cost(reader, conv, pass);
}

/// From the arguments of the forward op. Without one, reference rules give bad arguments, full ones a cost
/// with `flops` not a number, no bytes and parameters that are all `none`. Input and filter may differ in
/// type; that of the input counts.
inline Cost conv_bias_backward(const OpArguments& args, Pass /*pass*/, CostRules rules) {
    if (args.forward == nullptr) return detail::unknown_conv(rules);
    ArgReader reader(*args.forward, rules);
    const detail::ConvReading conv = detail::read_fused_conv(reader);
    return detail::conv_cost(reader, conv, Pass::backward);
}

inline constexpr std::array convolution_models = {
    ModelRow{"aten::convolution", &aten_conv},
    ModelRow{"aten::convolution_backward", &aten_conv_bwd},
    ModelRow{"ConvBias_", &conv_bias},
    ModelRow{"ConvBiasReLU_", &conv_bias},
    ModelRow{"ConvBias_Backward", &conv_bias_backward},
    ModelRow{"ConvBiasReLU_Backward", &conv_bias_backward},
};

}  // namespace tracelens
