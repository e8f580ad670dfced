/// Ops of sequence models beside attention: causal convolution, rotary embedding, cross entropy and Mamba's
/// scan (spec 03, section 3.13).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tracelens/perf/cost_model.hpp>

namespace tracelens {

/// A convolution along the sequence, one filter a channel.
struct CausalConv1dShape {
    double batch = 0;
    double channels = 0;
    double seq_len = 0;
    double kernel_size = 0;
    bool bias = false;
};

constexpr double causal_conv1d_flops(const CausalConv1dShape& shape) noexcept {
    return 2 * shape.batch * shape.channels * shape.seq_len * shape.kernel_size;
}

/// Input, output, filters and bias, `bytes` an element.
constexpr double causal_conv1d_bytes(const CausalConv1dShape& shape, double bytes) noexcept {
    return (2 * shape.batch * shape.channels * shape.seq_len + shape.channels * shape.kernel_size +
            (shape.bias ? shape.channels : 0)) *
           bytes;
}

constexpr double rope_flops(double elements) noexcept {
    return 3 * elements;
}

/// Input and output; the table of angles is not counted.
constexpr double rope_bytes(double elements, double bytes) noexcept {
    return 2 * elements * bytes;
}

/// Maximum, difference, exponential, sum and logarithm: 5 for each logit.
constexpr double cross_entropy_flops(double rows, double vocabulary) noexcept {
    return 5 * rows * vocabulary;
}

/// The logits, and for each row an int64 target and a float loss.
constexpr double cross_entropy_bytes(double logits, double rows, double bytes) noexcept {
    return logits * bytes + rows * 8 + rows * 4;
}

/// Mamba-2: convolution, then the state-space scan in chunks.
struct MambaSsdShape {
    double batch = 0;
    double seq_len = 0;
    double combined = 0;  ///< width of the projected input: gates, convolved channels and step sizes
    double conv_channels = 0;
    double d_conv = 0;  ///< taps of the convolution
    double heads = 0;
    double head_dim = 64;
    double groups = 1;
    double chunk = 128;
    double state = 0;

    constexpr double d_inner() const noexcept { return heads * head_dim; }
};

/// Bytes of an element of the activations and of the three vectors with one element a head.
struct MambaSsdElementBytes {
    double activation = 2;
    double head_a = 4;
    double head_b = 4;
    double head_c = 2;
};

/// Convolution, products within chunks (scores and values), and states in and out.
constexpr double mamba_ssd_flops(const MambaSsdShape& s) noexcept {
    const double positions = s.batch * s.seq_len;
    return 2 * positions * s.conv_channels * s.d_conv + 2 * positions * s.groups * s.chunk * s.state +
           2 * positions * s.heads * s.chunk * s.head_dim + 4 * positions * s.heads * s.state * s.head_dim;
}

constexpr double mamba_ssd_bytes(const MambaSsdShape& s, const MambaSsdElementBytes& bytes) noexcept {
    const double positions = s.batch * s.seq_len;
    const double filters = s.conv_channels * s.d_conv + s.conv_channels;
    return (positions * s.combined + filters + positions * s.d_inner()) * bytes.activation +
           s.heads * (bytes.head_a + bytes.head_b + bytes.head_c);
}

/// The state size N that the widths leave room for: combined = 2 d_inner + 2 groups N + heads. Nothing when
/// there is none.
inline std::optional<double> mamba_state(const MambaSsdShape& s) noexcept {
    const double numerator = s.combined - 2 * s.d_inner() - s.heads;
    const double denominator = 2 * s.groups;
    if (!(numerator > 0) || !(denominator > 0) || std::fmod(numerator, denominator) != 0) return std::nullopt;
    return numerator / denominator;
}

namespace detail {

/// Bytes of an element of argument `index`; `otherwise` when its type is missing or not known.
inline double bytes_or(const ArgReader& reader, std::size_t index, double otherwise) noexcept {
    return reader.bytes_per_element(reader.type_if(index)).value_or(otherwise);
}

/// The precision of the first argument. A list of types that is there but empty is malformed.
inline std::string first_precision(ArgReader& reader) {
    if (reader.args().list("Input type") == nullptr) return {};
    reader.require(reader.type_count() > 0, "Input type is empty");
    return reader.precision(reader.type_if(0));
}

/// The whole number among the recorded values; `otherwise` when it is missing or empty.
inline double whole_value_or(ArgReader& reader, std::size_t index, double otherwise) {
    const ArgValue* const value = reader.concrete_if(index);
    const bool is_empty = value == nullptr || value->is_null() || (value->is_text() && value->text.empty()) ||
                          (value->is_list() && value->items.empty());
    return is_empty ? otherwise : static_cast<double>(reader.whole(index));
}

inline double size_of(ArgReader& reader, const Shape& shape, std::size_t axis) {
    return static_cast<double>(reader.dim(shape, axis));
}

}  // namespace detail

/// Arguments: x (batch, channels, length), filters (channels, taps), perhaps a bias.
inline Cost causal_conv1d_fwd(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return Cost::bad("has no backward model");
    ArgReader reader(args, rules);
    const Shape x = reader.shape(0);
    reader.require(x.size() == 3, "the input of a causal convolution needs rank 3");
    CausalConv1dShape shape;
    shape.batch = detail::size_of(reader, x, 0);
    shape.channels = detail::size_of(reader, x, 1);
    shape.seq_len = detail::size_of(reader, x, 2);
    shape.kernel_size = static_cast<double>(reader.dim(1, 1));
    shape.bias = reader.has_shape(2);
    Cost cost;
    cost.flops = causal_conv1d_flops(shape);
    cost.bytes = causal_conv1d_bytes(shape, detail::bytes_or(reader, 0, 2));
    cost.unit = ComputeUnit::matrix;
    cost.precision = detail::first_precision(reader);
    cost.params = {{"batch", ParamValue::integer(shape.batch)},
                   {"channels", ParamValue::integer(shape.channels)},
                   {"seq_len", ParamValue::integer(shape.seq_len)},
                   {"kernel_size", ParamValue::integer(shape.kernel_size)},
                   {"has_bias", ParamValue::flag(shape.bias)}};
    return reader.finish(std::move(cost));
}

/// Argument: x (length, batch, heads, head size).
inline Cost fused_rope_fwd(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return Cost::bad("has no backward model");
    ArgReader reader(args, rules);
    const Shape x = reader.shape(0);
    reader.require(x.size() == 4, "a rotary embedding needs an input of rank 4");
    const double elements = product(x);
    Cost cost;
    cost.flops = rope_flops(elements);
    cost.bytes = rope_bytes(elements, detail::bytes_or(reader, 0, 2));
    cost.unit = ComputeUnit::vector;
    cost.precision = reader.precision(reader.type_if(0));
    cost.params = {{"seq_len", ParamValue::integer(reader.dim(x, 0))},
                   {"batch", ParamValue::integer(reader.dim(x, 1))},
                   {"heads", ParamValue::integer(reader.dim(x, 2))},
                   {"head_dim", ParamValue::integer(reader.dim(x, 3))},
                   {"num_elements", ParamValue::integer(elements)}};
    return reader.finish(std::move(cost));
}

/// Argument: logits (batch, ..., vocabulary). The reference takes the batch for all rows; in full the
/// dimensions in between count as rows, too.
inline Cost cross_entropy_fwd(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return Cost::bad("has no backward model");
    ArgReader reader(args, rules);
    const Shape logits = reader.shape(0);
    const double batch = detail::size_of(reader, logits, 0);
    const double vocabulary = logits.empty() ? 0 : static_cast<double>(logits.back());
    double rows = batch;
    if (!reader.is_reference()) {
        for (std::size_t axis = 1; axis + 1 < logits.size(); ++axis)
            rows *= static_cast<double>(logits[axis]);
    }
    Cost cost;
    cost.flops = cross_entropy_flops(rows, vocabulary);
    cost.bytes = cross_entropy_bytes(product(logits), rows, detail::bytes_or(reader, 0, 2));
    cost.unit = ComputeUnit::vector;
    cost.precision = reader.precision(reader.type_if(0));
    cost.params = {{"batch", ParamValue::integer(batch)},
                   {"vocab_size", ParamValue::integer(vocabulary)},
                   {"logits_shape", ParamValue::list(logits)}};
    return reader.finish(std::move(cost));
}

/// Arguments: the projected input (batch, length, width), filters (channels, taps), bias, then the three
/// vectors with an element a head. The gradients are taken to cost as much.
inline Cost mamba_ssd_fwd(const OpArguments& args, Pass, CostRules rules) {
    ArgReader reader(args, rules);
    const Shape x = reader.shape(0);
    const Shape filters = reader.shape(1);
    reader.require(x.size() == 3, "the input of a Mamba scan needs rank 3");
    reader.require(filters.size() == 2, "the filters of a Mamba scan need rank 2");
    MambaSsdShape shape;
    shape.batch = detail::size_of(reader, x, 0);
    shape.seq_len = detail::size_of(reader, x, 1);
    shape.combined = detail::size_of(reader, x, 2);
    shape.conv_channels = detail::size_of(reader, filters, 0);
    shape.d_conv = detail::size_of(reader, filters, 1);
    shape.heads = static_cast<double>(reader.dim(3, 0));
    shape.chunk = detail::whole_value_or(reader, 6, shape.chunk);
    shape.head_dim = detail::whole_value_or(reader, 15, shape.head_dim);
    shape.groups = detail::whole_value_or(reader, 16, shape.groups);
    const std::optional<double> state = mamba_state(shape);
    reader.require(state.has_value(), "Cannot derive d_state: the widths leave no whole state size");
    shape.state = state.value_or(0);
    MambaSsdElementBytes bytes;
    bytes.activation = detail::bytes_or(reader, 0, 2);
    bytes.head_a = detail::bytes_or(reader, 3, 4);
    bytes.head_b = detail::bytes_or(reader, 4, 4);
    bytes.head_c = detail::bytes_or(reader, 5, bytes.activation);
    Cost cost;
    cost.flops = mamba_ssd_flops(shape);
    cost.bytes = mamba_ssd_bytes(shape, bytes);
    cost.unit = ComputeUnit::matrix;
    cost.precision = detail::first_precision(reader);
    cost.params = {{"B", ParamValue::integer(shape.batch)},
                   {"T", ParamValue::integer(shape.seq_len)},
                   {"H", ParamValue::integer(shape.heads)},
                   {"P", ParamValue::integer(shape.head_dim)},
                   {"G", ParamValue::integer(shape.groups)},
                   {"N", ParamValue::integer(shape.state)},
                   {"C", ParamValue::integer(shape.chunk)},
                   {"d_inner", ParamValue::integer(shape.d_inner())},
                   {"d_conv", ParamValue::integer(shape.d_conv)},
                   {"conv_channels", ParamValue::integer(shape.conv_channels)},
                   {"combined_dim", ParamValue::integer(shape.combined)}};
    return reader.finish(std::move(cost));
}

inline constexpr std::array sequence_models = {
    ModelRow{"DaoAILab::_causal_conv1d_fwd_cpp", &causal_conv1d_fwd},
    ModelRow{"FusedRoPEFunc", &fused_rope_fwd},
    ModelRow{"CrossEntropyFunction", &cross_entropy_fwd},
    ModelRow{"MambaSplitConv1dScanCombinedFn", &mamba_ssd_fwd},
};

}  // namespace tracelens
