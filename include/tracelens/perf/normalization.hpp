/// Normalizations, their gradients, and softmax: what they compute and move (spec 03, section 3.11).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/perf/cost_model.hpp>

namespace tracelens {

/// What a normalization works on.
struct NormSize {
    double elements = 0;
    double weights = 0;     ///< elements of the weight, and of the bias
    double statistics = 0;  ///< means; the reference takes them to be as many as weights
    bool affine = false;    ///< there is a weight
    bool bias = false;
    bool training = false;
};

/// Means and variances are finished with 6 operations each; an element takes 2 to normalize and 3 more if
/// its statistics are computed.
constexpr double norm_flops(const NormSize& size) noexcept {
    return 6 * size.statistics + (size.training ? 3 * size.elements : 0) + 2 * size.elements;
}

/// Elements read and written, statistics (the running ones, too, in training), weight and bias, all of
/// `element_bytes`.
constexpr double norm_bytes(const NormSize& size, double element_bytes) noexcept {
    const double statistics = size.statistics * (size.training ? 4 : 2);
    const double weights = size.weights * ((size.affine ? 1 : 0) + (size.affine && size.bias ? 1 : 0));
    return 2 * size.elements * element_bytes + (statistics + weights) * element_bytes;
}

/// Gradients of the parameters, and of the input if that is asked for. The reference counts 2 operations an
/// element for an input gradient that nobody asked for.
constexpr double norm_backward_flops(const NormSize& size, bool input_gradient,
                                     CostRules rules = CostRules::full) noexcept {
    const double each = size.statistics == 0 ? 0 : size.elements / size.statistics;
    double per_statistic = (size.training ? 0 : 3) + 4 * each;
    if (input_gradient && size.training) per_statistic += 5 * each;
    if (!input_gradient && rules == CostRules::reference) per_statistic += 2 * each;
    return size.statistics * per_statistic;
}

/// The result's gradient read, the input read and its gradient written, statistics, weight, and the
/// gradients of weight and bias.
constexpr double norm_backward_bytes(const NormSize& size, bool input_gradient,
                                     double element_bytes) noexcept {
    const double elements = size.elements * element_bytes;
    const double weights = size.weights * element_bytes;
    double bytes = elements + elements * (input_gradient && size.training ? 2 : 1);
    if (size.training) bytes += size.statistics * element_bytes;
    if (size.affine) bytes += weights;
    if (size.affine && size.training) bytes += weights * (size.bias ? 2 : 1);
    return bytes;
}

/// Rows that are normalized each on its own, where a row has as many elements as the weight.
constexpr double norm_rows(const NormSize& size) noexcept {
    return size.weights == 0 ? 0 : size.elements / size.weights;
}

/// Squares and their sum in each row, 2 operations to finish it; one an element to normalize, one for the
/// weight.
constexpr double rms_norm_flops(const NormSize& size) noexcept {
    return norm_rows(size) * (2 * size.weights + 2) + size.elements * (size.affine ? 2 : 1);
}

constexpr double rms_norm_bytes(const NormSize& size, double element_bytes) noexcept {
    return 2 * size.elements * element_bytes + (size.affine ? size.weights * element_bytes : 0);
}

/// The weight's gradient is summed over the rows, if there are several.
constexpr double rms_norm_backward_flops(const NormSize& size, bool input_gradient,
                                         bool weight_gradient) noexcept {
    double per_element = size.affine ? 2 : 1;
    if (input_gradient) per_element += 6;
    if (weight_gradient && size.affine) per_element += norm_rows(size) > 1 ? 2 : 1;
    return size.elements * per_element;
}

constexpr double rms_norm_backward_bytes(const NormSize& size, double element_bytes) noexcept {
    return 3 * size.elements * element_bytes + (size.affine ? 2 * size.weights * element_bytes : 0);
}

/// A layer norm over `hidden`, with a scale and a shift for each sample of the batch. Its statistics are
/// fp32.
struct ModulatedNormSize {
    double tokens = 0;
    double batch = 0;
    double hidden = 0;

    constexpr double elements() const noexcept { return tokens * batch * hidden; }
    constexpr double statistics_bytes() const noexcept { return 2 * tokens * batch * 4; }
};

constexpr double fused_ln_modulate_flops(const ModulatedNormSize& size) noexcept {
    return 12 * size.elements();
}

constexpr double fused_ln_modulate_bytes(const ModulatedNormSize& size, double element_bytes) noexcept {
    return 2 * size.elements() * element_bytes + 2 * size.batch * size.hidden * element_bytes +
           size.statistics_bytes();
}

constexpr double fused_ln_modulate_backward_flops(const ModulatedNormSize& size) noexcept {
    return 15 * size.elements();
}

constexpr double fused_ln_modulate_backward_bytes(const ModulatedNormSize& size,
                                                  double element_bytes) noexcept {
    return 3 * size.elements() * element_bytes + size.statistics_bytes() +
           3 * size.batch * size.hidden * element_bytes;
}

/// Softmax of `rows` x `columns` elements: exponential, sum and division (spec 03, section 3.16.2).
constexpr double softmax_flops(double rows, double columns) noexcept {
    return 3 * rows * columns;
}

constexpr double softmax_bytes(double rows, double columns, double element_bytes) noexcept {
    return 2 * rows * columns * element_bytes;
}

constexpr double softmax_backward_flops(double rows, double columns) noexcept {
    return 2 * softmax_flops(rows, columns);
}

constexpr double softmax_backward_bytes(double rows, double columns, double element_bytes) noexcept {
    return 2 * softmax_bytes(rows, columns, element_bytes);
}

namespace detail {

/// What a normalization's model has read, on its way to a cost.
struct NormReading {
    Shape shape;
    std::string_view type;
    ParamValue stride;
    NormSize size;
    bool fractional_channels = false;       ///< the reference divides to get them
    std::optional<std::vector<bool>> mask;  ///< gradients asked for: input, weight, bias
};

inline Cost no_norm_backward() {
    return Cost::unsupported("the gradient has a model of its own");
}

inline NormReading read_norm(ArgReader& reader, std::size_t argument) {
    NormReading norm;
    norm.shape = reader.shape(argument);
    norm.type = reader.type(argument);
    norm.stride = ParamValue::tuple(reader.strides(argument));
    norm.size.elements = product(norm.shape);
    return norm;
}

/// Sets the number of weights; that of statistics is the same unless the mended rules say otherwise.
inline void set_channels(const ArgReader& reader, NormSize& size, double channels, double statistics) {
    size.weights = channels;
    size.statistics = reader.is_reference() ? channels : statistics;
}

inline double norm_element_bytes(ArgReader& reader, const NormReading& norm) {
    const std::optional<double> bytes = reader.bytes_per_element(norm.type);
    reader.require(bytes.has_value(), "the element size of the input's type is not known");
    return bytes.value_or(0);
}

inline std::string flags_json(const std::vector<bool>& flags) {
    std::string text = "[";
    for (const bool flag : flags) {
        if (text.size() > 1) text += ',';
        text += flag ? "true" : "false";
    }
    return text + "]";
}

inline Cost norm_cost(const ArgReader& reader, const NormReading& norm, double flops, double bytes) {
    const NormSize& size = norm.size;
    Cost cost;
    cost.flops = flops;
    cost.bytes = bytes;
    cost.unit = ComputeUnit::vector;
    cost.precision = reader.precision(norm.type);
    cost.params = {
        {"op_shape", ParamValue::tuple(norm.shape)},
        {"dtype_in_out", ParamValue::types({norm.type, std::nullopt})},
        {"stride_input", norm.stride},
        {"stride_output", ParamValue::none()},
        {"num_channels",
         norm.fractional_channels ? ParamValue::real(size.weights) : ParamValue::integer(size.weights)},
        {"has_bias", ParamValue::flag(size.bias)},
        {"is_affine", ParamValue::flag(size.affine)},
        {"is_training", ParamValue::flag(size.training)},
    };
    if (norm.mask)
        cost.params.push_back(
            {"output_mask", ParamValue::json(ParamValue::Kind::list, flags_json(*norm.mask))});
    return reader.finish(std::move(cost));
}

inline Cost plain_norm_cost(ArgReader& reader, const NormReading& norm) {
    const double element_bytes = norm_element_bytes(reader, norm);
    return norm_cost(reader, norm, norm_flops(norm.size), norm_bytes(norm.size, element_bytes));
}

/// Whether the gradient `index` is asked for; fails when the mask is too short.
inline bool asks_gradient(ArgReader& reader, const NormReading& norm, std::size_t index) {
    if (norm.mask && index < norm.mask->size()) return (*norm.mask)[index];
    reader.fail("the output mask has no element " + std::to_string(index));
    return false;
}

inline Cost plain_norm_backward_cost(ArgReader& reader, const NormReading& norm) {
    const double element_bytes = norm_element_bytes(reader, norm);
    const bool input_gradient = asks_gradient(reader, norm, 0);
    reader.require(norm.size.weights != 0, "there are no channels");
    return norm_cost(reader, norm, norm_backward_flops(norm.size, input_gradient, reader.rules()),
                     norm_backward_bytes(norm.size, input_gradient, element_bytes));
}

/// Whether argument `index` is a tensor. Traces have absent ones with no shape and no type, which the
/// reference does not see.
inline bool is_tensor(const ArgReader& reader, std::size_t index) noexcept {
    if (!reader.has_argument(index)) return false;
    return reader.is_reference() || reader.has_shape(index) || !reader.type_if(index).value_or("").empty();
}

/// The same, but fails when the op has fewer arguments.
inline bool is_tensor_among(ArgReader& reader, std::size_t index) {
    if (index >= reader.argument_count()) reader.fail("no argument " + std::to_string(index));
    return is_tensor(reader, index);
}

/// Reads whether there are weight and bias, from their places in the op's signature. The reference looks for
/// the weight at 2 in all of them and takes the bias for granted.
inline void read_weight_and_bias(ArgReader& reader, NormSize& size, std::size_t weight, std::size_t bias) {
    size.affine = is_tensor_among(reader, reader.is_reference() ? 2 : weight);
    size.bias = reader.is_reference() || is_tensor(reader, bias);
}

/// A flag of Concrete Inputs. The reference takes all text but the empty one for true, `False` included.
inline bool training_flag(ArgReader& reader, std::size_t index) {
    const ArgValue* const value = reader.concrete_if(index);
    if (value == nullptr) {
        reader.fail("Concrete Inputs has no element " + std::to_string(index));
        return false;
    }
    switch (value->kind) {
        case ArgValue::Kind::boolean: return value->boolean;
        case ArgValue::Kind::number: return value->number != 0;
        case ArgValue::Kind::text:
            if (reader.is_reference()) return !value->text.empty();
            return equal_ignoring_case(value->text, "true") || value->text == "1";
        default: return !value->items.empty();
    }
}

/// Batch norm, and instance norm, which has statistics for each sample.
inline Cost channel_norm(const OpArguments& args, Pass pass, CostRules rules, bool each_sample) {
    if (pass == Pass::backward) return no_norm_backward();
    ArgReader reader(args, rules);
    NormReading norm = read_norm(reader, 0);
    const double channels = static_cast<double>(reader.dim(norm.shape, 1));
    const double samples = each_sample ? static_cast<double>(reader.dim(norm.shape, 0)) : 1;
    set_channels(reader, norm.size, channels, samples * channels);
    read_weight_and_bias(reader, norm.size, 1, 2);
    norm.size.training = training_flag(reader, 5);
    return plain_norm_cost(reader, norm);
}

inline Cost fused_ln_modulate_cost(const OpArguments& args, CostRules rules, bool backward) {
    ArgReader reader(args, rules);
    NormReading norm;
    norm.shape = reader.shape(0);
    norm.type = reader.type(0);
    norm.stride = ParamValue::tuple_or_none(reader.strides_if(0));
    reader.require(norm.shape.size() == 3, "the input is not of rank 3: tokens, batch, hidden");
    ModulatedNormSize size;
    size.tokens = static_cast<double>(reader.dim(norm.shape, 0));
    size.batch = static_cast<double>(reader.dim(norm.shape, 1));
    size.hidden = static_cast<double>(reader.dim(norm.shape, 2));
    norm.size.weights = size.hidden;
    norm.size.affine = norm.size.bias = norm.size.training = true;
    const double bytes = norm_element_bytes(reader, norm);
    if (!backward)
        return norm_cost(reader, norm, fused_ln_modulate_flops(size), fused_ln_modulate_bytes(size, bytes));
    norm.mask = std::vector<bool>{true, true, true};
    return norm_cost(reader, norm, fused_ln_modulate_backward_flops(size),
                     fused_ln_modulate_backward_bytes(size, bytes));
}

}  // namespace detail

// Forward models are asked for no gradients; backward ones cost the same in both passes.

inline Cost batch_norm(const OpArguments& args, Pass pass, CostRules rules) {
    return detail::channel_norm(args, pass, rules, false);
}

inline Cost instance_norm(const OpArguments& args, Pass pass, CostRules rules) {
    return detail::channel_norm(args, pass, rules, true);
}

/// The reference counts statistics for each element of a row, not for each row.
inline Cost layer_norm(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_norm_backward();
    ArgReader reader(args, rules);
    detail::NormReading norm = detail::read_norm(reader, 0);
    norm.size.weights = product(reader.whole_list(1));
    detail::set_channels(reader, norm.size, norm.size.weights, norm_rows(norm.size));
    norm.size.affine = detail::is_tensor_among(reader, 2);
    norm.size.bias = detail::is_tensor_among(reader, 3);
    norm.size.training = true;
    return detail::plain_norm_cost(reader, norm);
}

/// The reference counts statistics for each channel, not for each group of each sample.
inline Cost group_norm(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_norm_backward();
    const bool native = args.name == "aten::native_group_norm";
    ArgReader reader(args, rules);
    detail::NormReading norm = detail::read_norm(reader, 0);
    const double channels = static_cast<double>(reader.dim(norm.shape, 1));
    const double groups = static_cast<double>(reader.whole_or(native ? 6 : 1, 0));
    const double groups_of_all = groups * static_cast<double>(reader.dim(norm.shape, 0));
    detail::set_channels(reader, norm.size, channels, groups > 0 ? groups_of_all : channels);
    detail::read_weight_and_bias(reader, norm.size, native ? 1 : 2, native ? 2 : 3);
    norm.size.training = true;
    return detail::plain_norm_cost(reader, norm);
}

inline Cost rms_norm(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_norm_backward();
    ArgReader reader(args, rules);
    detail::NormReading norm = detail::read_norm(reader, 0);
    norm.size.weights = product(reader.whole_list(1));
    norm.size.affine = detail::is_tensor_among(reader, 2);
    const double element_bytes = detail::norm_element_bytes(reader, norm);
    reader.require(norm.size.weights != 0, "the normalized shape is empty");
    return detail::norm_cost(reader, norm, rms_norm_flops(norm.size),
                             rms_norm_bytes(norm.size, element_bytes));
}

/// The cuDNN and MIOpen ops have the input first; they are priced as of inference.
inline Cost batch_norm_backward(const OpArguments& args, Pass, CostRules rules) {
    const bool input_first =
        args.name == "aten::cudnn_batch_norm_backward" || args.name == "aten::miopen_batch_norm_backward";
    ArgReader reader(args, rules);
    detail::NormReading norm = detail::read_norm(reader, input_first ? 0 : 1);
    const double channels = static_cast<double>(reader.dim(norm.shape, 1));
    detail::set_channels(reader, norm.size, channels, channels);
    norm.size.affine = detail::is_tensor_among(reader, 2);
    norm.size.bias = true;
    norm.size.training = !input_first && detail::training_flag(reader, 7);
    norm.mask = std::vector<bool>{input_first || detail::is_tensor(reader, 0)};
    return detail::plain_norm_backward_cost(reader, norm);
}

inline Cost layer_norm_backward(const OpArguments& args, Pass, CostRules rules) {
    ArgReader reader(args, rules);
    detail::NormReading norm = detail::read_norm(reader, 1);
    norm.size.weights = product(reader.whole_list(2));
    detail::set_channels(reader, norm.size, norm.size.weights, norm_rows(norm.size));
    norm.mask = reader.flag_list(7);
    norm.size.affine = detail::asks_gradient(reader, norm, 1);
    norm.size.bias = detail::asks_gradient(reader, norm, 2);
    norm.size.training = true;
    return detail::plain_norm_backward_cost(reader, norm);
}

/// The reference takes the channels of one group for all, and looks for the weight at the wrong place.
inline Cost group_norm_backward(const OpArguments& args, Pass, CostRules rules) {
    ArgReader reader(args, rules);
    detail::NormReading norm = detail::read_norm(reader, 1);
    const double channels = static_cast<double>(reader.dim(norm.shape, 1));
    const double groups = static_cast<double>(reader.whole(8));
    reader.require(groups != 0, "there are no groups");
    norm.fractional_channels = reader.is_reference();
    const double per_group = groups == 0 ? 0 : channels / groups;
    const double groups_of_all = groups * static_cast<double>(reader.dim(norm.shape, 0));
    detail::set_channels(reader, norm.size, reader.is_reference() ? per_group : channels, groups_of_all);
    norm.size.affine = detail::is_tensor_among(reader, reader.is_reference() ? 5 : 4);
    norm.size.bias = true;
    norm.size.training = true;
    norm.mask = reader.flag_list(9);
    return detail::plain_norm_backward_cost(reader, norm);
}

inline Cost instance_norm_backward(const OpArguments&, Pass, CostRules) {
    return Cost::unsupported("gradients of instance norms are not covered");
}

inline Cost rms_norm_backward(const OpArguments& args, Pass, CostRules rules) {
    ArgReader reader(args, rules);
    detail::NormReading norm = detail::read_norm(reader, 1);
    norm.size.weights = product(reader.whole_list(2));
    norm.size.affine = detail::is_tensor_among(reader, 4);
    norm.mask = reader.flag_list(5);
    const bool input_gradient = detail::asks_gradient(reader, norm, 0);
    const bool weight_gradient = detail::asks_gradient(reader, norm, 1);
    const double element_bytes = detail::norm_element_bytes(reader, norm);
    reader.require(norm.size.weights != 0, "the normalized shape is empty");
    return detail::norm_cost(reader, norm,
                             rms_norm_backward_flops(norm.size, input_gradient, weight_gradient),
                             rms_norm_backward_bytes(norm.size, element_bytes));
}

inline Cost fused_ln_modulate(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_norm_backward();
    return detail::fused_ln_modulate_cost(args, rules, false);
}

inline Cost fused_ln_modulate_backward(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_norm_backward();
    return detail::fused_ln_modulate_cost(args, rules, true);
}

inline constexpr std::array normalization_models = {
    ModelRow{"aten::batch_norm", &batch_norm},
    ModelRow{"aten::native_batch_norm", &batch_norm},
    ModelRow{"aten::miopen_batch_norm", &batch_norm},
    ModelRow{"aten::cudnn_batch_norm", &batch_norm},
    ModelRow{"aten::layer_norm", &layer_norm},
    ModelRow{"aten::native_layer_norm", &layer_norm},
    ModelRow{"aten::miopen_layer_norm", &layer_norm},
    ModelRow{"aten::cudnn_layer_norm", &layer_norm},
    ModelRow{"aten::group_norm", &group_norm},
    ModelRow{"aten::native_group_norm", &group_norm},
    ModelRow{"aten::miopen_group_norm", &group_norm},
    ModelRow{"aten::cudnn_group_norm", &group_norm},
    ModelRow{"aiter::_groupnorm_run", &group_norm},
    ModelRow{"aten::instance_norm", &instance_norm},
    ModelRow{"aten::native_instance_norm", &instance_norm},
    ModelRow{"aten::miopen_instance_norm", &instance_norm},
    ModelRow{"aten::cudnn_instance_norm", &instance_norm},
    ModelRow{"aten::_fused_rms_norm", &rms_norm},
    ModelRow{"aten::batch_norm_backward", &batch_norm_backward},
    ModelRow{"aten::native_batch_norm_backward", &batch_norm_backward},
    ModelRow{"aten::miopen_batch_norm_backward", &batch_norm_backward},
    ModelRow{"aten::cudnn_batch_norm_backward", &batch_norm_backward},
    ModelRow{"aten::layer_norm_backward", &layer_norm_backward},
    ModelRow{"aten::native_layer_norm_backward", &layer_norm_backward},
    ModelRow{"aten::miopen_layer_norm_backward", &layer_norm_backward},
    ModelRow{"aten::cudnn_layer_norm_backward", &layer_norm_backward},
    ModelRow{"aten::group_norm_backward", &group_norm_backward},
    ModelRow{"aten::native_group_norm_backward", &group_norm_backward},
    ModelRow{"aten::miopen_group_norm_backward", &group_norm_backward},
    ModelRow{"aten::cudnn_group_norm_backward", &group_norm_backward},
    ModelRow{"aten::instance_norm_backward", &instance_norm_backward},
    ModelRow{"aten::native_instance_norm_backward", &instance_norm_backward},
    ModelRow{"aten::miopen_instance_norm_backward", &instance_norm_backward},
    ModelRow{"aten::cudnn_instance_norm_backward", &instance_norm_backward},
    ModelRow{"aten::rms_norm_backward", &rms_norm_backward},
    ModelRow{"aten::native_rms_norm_backward", &rms_norm_backward},
    ModelRow{"aten::miopen_rms_norm_backward", &rms_norm_backward},
    ModelRow{"aten::cudnn_rms_norm_backward", &rms_norm_backward},
    ModelRow{"aten::_fused_rms_norm_backward", &rms_norm_backward},
    ModelRow{"primus::fused_ln_modulate", &fused_ln_modulate},
    ModelRow{"primus::fused_ln_modulate_backward", &fused_ln_modulate_backward},
};

}  // namespace tracelens
