/// Scaled dot-product attention: what it computes and moves (spec 03, section 3.8). Softmax, masks and
/// sliding windows do not count.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/perf/cost_model.hpp>

namespace tracelens {

/// Sizes of an attention: queries (batch, n_q, heads_q, dim_qk), keys (batch, n_kv, heads_kv, dim_qk), values
/// (batch, n_kv, heads_kv, dim_v).
struct AttentionShape {
    double batch = 1;
    double n_q = 0;
    double heads_q = 0;
    double n_kv = 0;
    double heads_kv = 0;
    double dim_qk = 0;
    double dim_v = 0;
    bool causal = false;
    bool flash = false;  ///< the backward pass computes the scores once more
};

/// How the tokens of a variable-length attention fall into sequences; lengths in tokens.
struct VarlenSequences {
    double count_q = 1;
    double count_kv = 1;
    double longest_q = 0;
    double longest_kv = 0;
};

namespace detail {

/// What a causal mask leaves of `total`: half for as many queries as keys. Fewer queries are taken for the
/// last ones; the reference has no figure for that. Nothing for more queries than keys.
constexpr std::optional<double> causal_part(double total, const AttentionShape& shape,
                                            CostRules rules) noexcept {
    if (!shape.causal) return total;
    if (shape.n_q == shape.n_kv) return total / 2;
    if (rules == CostRules::reference || !(shape.n_q < shape.n_kv) || shape.n_kv <= 0) return std::nullopt;
    return total * (shape.n_kv - (shape.n_q - 1) / 2) / shape.n_kv;
}

/// Scores that are computed without a mask.
constexpr double attention_scores(const AttentionShape& shape) noexcept {
    return shape.batch * shape.heads_q * shape.n_q * shape.n_kv;
}

}  // namespace detail

/// Q K^T and the product with V. Nothing for a causal mask that does not fit the lengths.
constexpr std::optional<double> sdpa_flops(const AttentionShape& shape,
                                           CostRules rules = CostRules::full) noexcept {
    const double total = 2 * detail::attention_scores(shape) * (shape.dim_qk + shape.dim_v);
    return detail::causal_part(total, shape, rules);
}

/// Gradients of Q, K, V and of the scores, from the forward sizes; heads that share keys add theirs up.
/// Nothing for a causal mask that does not fit the lengths, and without heads of K and V.
inline std::optional<double> sdpa_backward_flops(const AttentionShape& shape,
                                                 CostRules rules = CostRules::full) noexcept {
    if (shape.heads_kv == 0) return std::nullopt;
    const double scores = detail::attention_scores(shape);
    const double sharing = std::floor(shape.heads_q / shape.heads_kv) - 1;
    const double additions = shape.batch * shape.n_kv * (shape.dim_v + shape.dim_qk) * sharing;
    const double recomputed = shape.flash ? 2 * scores * shape.dim_qk : 0;
    const double total = recomputed + 4 * scores * (shape.dim_v + shape.dim_qk) + additions;
    return detail::causal_part(total, shape, rules);
}

/// Q, K, V and the output once, `bytes` an element.
constexpr double sdpa_bytes(const AttentionShape& shape, double bytes) noexcept {
    const double queries = shape.batch * shape.n_q * shape.heads_q;
    const double keys = shape.batch * shape.n_kv * shape.heads_kv;
    return (queries + keys) * (shape.dim_qk + shape.dim_v) * bytes;
}

/// Q, K, V, their gradients and that of the output once, `bytes` an element.
constexpr double sdpa_backward_bytes(const AttentionShape& shape, double bytes) noexcept {
    const double queries = shape.batch * shape.n_q * shape.heads_q;
    const double keys = shape.batch * shape.n_kv * shape.heads_kv;
    return (2 * queries * shape.dim_qk + queries * shape.dim_v + 2 * keys * (shape.dim_qk + shape.dim_v)) *
           bytes;
}

/// Operations of a variable-length attention; `n_q` and `n_kv` of `shape` are the tokens of all sequences. A
/// lower bound: one longest sequence, and the others equal. Nothing where one of the sequences has no figure,
/// and when several of Q meet one of K and V.
inline std::optional<double> sdpa_varlen_flops(const AttentionShape& shape, const VarlenSequences& sequences,
                                               Pass pass, CostRules rules = CostRules::full) noexcept {
    const auto flops = [&](double n_q, double n_kv) {
        AttentionShape one = shape;
        one.n_q = n_q;
        one.n_kv = n_kv;
        return pass == Pass::forward ? sdpa_flops(one, rules) : sdpa_backward_flops(one, rules);
    };
    const std::optional<double> longest = flops(sequences.longest_q, sequences.longest_kv);
    const double others_q = sequences.count_q - 1;
    const double others_kv = sequences.count_kv - 1;
    if (!longest || !(others_q > 0)) return longest;
    if (others_kv == 0) return std::nullopt;
    const std::optional<double> other = flops(std::floor((shape.n_q - sequences.longest_q) / others_q),
                                              std::floor((shape.n_kv - sequences.longest_kv) / others_kv));
    if (!other) return std::nullopt;
    return *longest + others_q * *other;
}

namespace detail {

/// Where a tensor of queries, keys or values has which dimension.
struct AttentionLayout {
    bool batched;  ///< dimension 0 is the batch
    std::size_t length;
    std::size_t heads;
    std::size_t head_dim;
};
inline constexpr AttentionLayout layout_bnhd = {true, 1, 2, 3};
inline constexpr AttentionLayout layout_bhnd = {true, 2, 1, 3};
inline constexpr AttentionLayout layout_nhd = {false, 0, 1, 2};

/// Which parameters an op's row has besides the sizes, and how its scalars are read.
enum class SdpaFamily : std::uint8_t {
    flash_attn,  ///< strides and types; scalars must be well-formed
    torch,       ///< types
    aiter,       ///< neither
};

/// Where an op has what.
struct AttentionFacts {
    SdpaFamily family;
    AttentionLayout layout;
    bool flash;
    bool backward;                       ///< a backward op itself
    std::size_t q;                       ///< argument of the queries; keys and values follow
    std::optional<std::size_t> dropout;  ///< among the concrete inputs; nothing: there is none
    std::size_t causal;                  ///< among the concrete inputs
};

/// What an attention's model has read, on its way to a cost.
struct AttentionReading {
    AttentionShape shape;
    std::optional<VarlenSequences> sequences;
    ParamValue dropout;
    ParamValue causal;
    std::optional<double> bytes;  ///< an element
    std::string precision;
};

inline AttentionShape read_attention_shape(ArgReader& reader, const AttentionLayout& layout,
                                           std::size_t first) {
    const Shape q = reader.shape(first);
    const Shape k = reader.shape(first + 1);
    const Shape v = reader.shape(first + 2);
    const auto size = [&](const Shape& shape, std::size_t axis) {
        return static_cast<double>(reader.dim(shape, axis));
    };
    AttentionShape shape;
    if (layout.batched) {
        shape.batch = size(q, 0);
        reader.require(shape.batch == size(k, 0) && shape.batch == size(v, 0),
                       "batch sizes of Q, K and V differ");
    }
    shape.n_q = size(q, layout.length);
    shape.heads_q = size(q, layout.heads);
    shape.dim_qk = size(q, layout.head_dim);
    shape.n_kv = size(k, layout.length);
    shape.heads_kv = size(k, layout.heads);
    shape.dim_v = size(v, layout.head_dim);
    reader.require(shape.heads_kv == size(v, layout.heads), "numbers of heads of K and V differ");
    reader.require(shape.n_kv == size(v, layout.length), "lengths of K and V differ");
    reader.require(shape.dim_qk == size(k, layout.head_dim), "head dimensions of Q and K differ");
    return shape;
}

/// Whether text says `true`. Other values than text are malformed; full rules take a boolean, too.
inline bool read_attention_flag(ArgReader& reader, std::size_t index) {
    const ArgValue* const value = reader.concrete_if(index);
    const bool readable = value == nullptr || value->is_text() ||
                          (!reader.is_reference() && value->kind == ArgValue::Kind::boolean);
    reader.require(readable, "Concrete Inputs " + std::to_string(index) + " is no text");
    return reader.is_true(index);
}

inline void set_causal(AttentionReading& attention, ParamValue causal) {
    attention.shape.causal = ArgReader::truth(causal);
    attention.causal = std::move(causal);
}

inline void read_attention_scalars(ArgReader& reader, const AttentionFacts& facts,
                                   AttentionReading& attention) {
    if (facts.family == SdpaFamily::flash_attn) {
        attention.dropout = ParamValue::real(facts.dropout ? reader.number(*facts.dropout) : 0);
        set_causal(attention, reader.literal(facts.causal));
    } else {
        attention.dropout = ParamValue::real(facts.dropout ? reader.number_or_zero(*facts.dropout) : 0);
        set_causal(attention, ParamValue::flag(read_attention_flag(reader, facts.causal)));
    }
}

/// The reference takes 2 bytes for any element, and knows the precision only of ops whose types it reports.
inline void read_attention_type(const ArgReader& reader, std::optional<std::size_t> reference_type,
                                std::size_t q, AttentionReading& attention) {
    constexpr double usual_bytes = 2;
    if (reader.is_reference()) {
        attention.bytes = usual_bytes;
        if (reference_type) attention.precision = reader.precision(reader.type_if(*reference_type));
    } else {
        attention.bytes = reader.bytes_per_element(reader.type_if(q)).value_or(usual_bytes);
        attention.precision = reader.precision(reader.type_if(q));
    }
}

inline AttentionReading read_attention(ArgReader& reader, const AttentionFacts& facts) {
    AttentionReading attention;
    attention.shape = read_attention_shape(reader, facts.layout, facts.q);
    attention.shape.flash = facts.flash;
    const bool types_reported = facts.family != SdpaFamily::aiter;
    read_attention_type(reader, types_reported ? std::optional<std::size_t>{0} : std::nullopt, facts.q,
                        attention);
    return attention;
}

inline std::vector<Param> attention_sizes(const AttentionShape& shape) {
    return {{"B", ParamValue::integer(shape.batch)},       {"N_Q", ParamValue::integer(shape.n_q)},
            {"H_Q", ParamValue::integer(shape.heads_q)},   {"N_KV", ParamValue::integer(shape.n_kv)},
            {"H_KV", ParamValue::integer(shape.heads_kv)}, {"d_h_qk", ParamValue::integer(shape.dim_qk)},
            {"d_h_v", ParamValue::integer(shape.dim_v)}};
}

inline std::vector<Param> attention_params(ArgReader& reader, const AttentionFacts& facts,
                                           const AttentionReading& attention) {
    std::vector<Param> params = attention_sizes(attention.shape);
    if (facts.family == SdpaFamily::flash_attn) {
        params.push_back({"q_stride", ParamValue::tuple(reader.strides(facts.q))});
        params.push_back({"k_stride", ParamValue::tuple(reader.strides(facts.q + 1))});
        params.push_back({"v_stride", ParamValue::tuple(reader.strides(facts.q + 2))});
    }
    params.push_back({"dropout", attention.dropout});
    params.push_back({"causal", attention.causal});
    params.push_back({"flash_impl", ParamValue::flag(attention.shape.flash)});
    if (facts.family != SdpaFamily::aiter) params.push_back({"dtype_A_B", reader.type_tuple(0, 2)});
    if (attention.sequences) {
        params.push_back({"num_seqs_q", ParamValue::integer(attention.sequences->count_q)});
        params.push_back({"num_seqs_kv", ParamValue::integer(attention.sequences->count_kv)});
        params.push_back({"max_seqlen_q", ParamValue::real(attention.sequences->longest_q)});
        params.push_back({"max_seqlen_kv", ParamValue::real(attention.sequences->longest_kv)});
    }
    return params;
}

/// Operations of `pass`; fails where there is no figure.
inline double attention_flops(ArgReader& reader, const AttentionReading& attention, Pass pass) {
    const AttentionShape& shape = attention.shape;
    reader.require(pass == Pass::forward || shape.heads_kv != 0, "K and V have no heads");
    std::optional<double> flops;
    if (attention.sequences) {
        const VarlenSequences& sequences = *attention.sequences;
        reader.require(sequences.count_q <= 1 || sequences.count_kv != 1,
                       "several sequences of Q meet one of K and V");
        flops = sdpa_varlen_flops(shape, sequences, pass, reader.rules());
    } else {
        flops = pass == Pass::forward ? sdpa_flops(shape, reader.rules())
                                      : sdpa_backward_flops(shape, reader.rules());
    }
    reader.require(flops.has_value(), "the lengths of Q and K do not fit a causal mask");
    reader.require(std::isfinite(flops.value_or(0)), "the sizes are too large");
    return flops.value_or(0);
}

inline Cost attention_cost(ArgReader& reader, const AttentionReading& attention, Pass pass,
                           std::vector<Param> params) {
    Cost cost;
    cost.flops = attention_flops(reader, attention, pass);
    if (attention.bytes) {
        cost.bytes = pass == Pass::forward ? sdpa_bytes(attention.shape, *attention.bytes)
                                           : sdpa_backward_bytes(attention.shape, *attention.bytes);
    }
    cost.unit = ComputeUnit::matrix;
    cost.precision = attention.precision;
    cost.params = std::move(params);
    return reader.finish(std::move(cost));
}

/// An attention of sequences of one length.
inline Cost plain_attention(const OpArguments& args, Pass pass, CostRules rules,
                            const AttentionFacts& facts) {
    ArgReader reader(args, rules);
    AttentionReading attention = read_attention(reader, facts);
    read_attention_scalars(reader, facts, attention);
    std::vector<Param> params = attention_params(reader, facts, attention);
    return attention_cost(reader, attention, facts.backward ? Pass::backward : pass, std::move(params));
}

/// Where a variable-length op has the ends of its sequences (argument, that of K and V behind it) and the
/// length of the longest one (concrete input, ditto).
struct VarlenFacts {
    std::size_t ends;
    std::size_t longest;
};

inline Cost varlen_attention(const OpArguments& args, Pass pass, CostRules rules, const AttentionFacts& facts,
                             const VarlenFacts& varlen) {
    ArgReader reader(args, rules);
    AttentionReading attention = read_attention(reader, facts);
    read_attention_scalars(reader, facts, attention);
    VarlenSequences sequences;
    sequences.count_q = static_cast<double>(reader.dim(varlen.ends, 0)) - 1;
    sequences.count_kv = static_cast<double>(reader.dim(varlen.ends + 1, 0)) - 1;
    sequences.longest_q = reader.number(varlen.longest);
    sequences.longest_kv = reader.number(varlen.longest + 1);
    attention.sequences = sequences;
    std::vector<Param> params = attention_params(reader, facts, attention);
    // The reference takes the tokens for one sequence when it prices gradients from the forward op.
    if (reader.is_reference() && pass == Pass::backward && !facts.backward) attention.sequences.reset();
    return attention_cost(reader, attention, facts.backward ? Pass::backward : pass, std::move(params));
}

inline bool is_recorded_scalar(const ArgValue* value) noexcept {
    return value != nullptr && !value->is_null() && !(value->is_text() && value->text.empty());
}

inline bool is_numeric_scalar(const ArgValue* value) {
    if (value == nullptr) return false;
    return value->kind == ArgValue::Kind::number ||
           (value->is_text() && ArgReader::parse_number(value->text).has_value());
}

inline bool is_flag_scalar(const ArgValue* value) noexcept {
    if (value == nullptr) return false;
    return value->kind == ArgValue::Kind::boolean || value->text == "True" || value->text == "False";
}

/// Dropout and causal of `flash_attn::_flash_attn_backward`, from elements 8 and 10, or 9 and 11 of newer
/// versions: the scale is at 10 then, which the reference takes for the causal flag.
inline void read_flash_backward_scalars(ArgReader& reader, AttentionReading& attention) {
    const bool newer = !reader.is_reference() && is_numeric_scalar(reader.concrete_if(10)) &&
                       is_flag_scalar(reader.concrete_if(11));
    const std::size_t dropout = newer ? 9 : 8;
    const std::size_t causal = newer ? 11 : 10;
    attention.dropout =
        ParamValue::real(is_recorded_scalar(reader.concrete_if(dropout)) ? reader.number(dropout) : 0);
    set_causal(attention, is_recorded_scalar(reader.concrete_if(causal)) ? reader.literal(causal)
                                                                         : ParamValue::flag(true));
}

inline constexpr AttentionFacts flash_forward = {SdpaFamily::flash_attn, layout_bnhd, true, false, 0, 3, 5};
inline constexpr AttentionFacts flash_backward = {SdpaFamily::flash_attn, layout_bnhd, true, true, 1, 8, 10};
inline constexpr AttentionFacts varlen_forward = {SdpaFamily::flash_attn, layout_nhd, true, false, 0, 7, 9};
inline constexpr AttentionFacts varlen_backward = {SdpaFamily::flash_attn, layout_nhd, true, true, 1, 13, 15};
inline constexpr AttentionFacts torch_biased = {SdpaFamily::torch, layout_bhnd, false, false, 0, 5, 6};
inline constexpr AttentionFacts torch_flash = {SdpaFamily::torch, layout_bhnd, true, false, 0, 3, 4};
inline constexpr AttentionFacts aiter_forward = {SdpaFamily::aiter, layout_bnhd, true, false, 0, 3, 5};
inline constexpr AttentionFacts aiter_backward = {SdpaFamily::aiter, layout_bnhd, true, true, 1, 10, 12};
inline constexpr AttentionFacts aiter_v3_forward = {SdpaFamily::aiter, layout_bnhd, true, false, 1, 4, 6};
inline constexpr AttentionFacts aiter_v3_backward = {SdpaFamily::aiter, layout_bnhd, true, true, 1, 7, 9};
inline constexpr AttentionFacts aiter_mha_backward = {SdpaFamily::aiter, layout_bnhd, true, true, 1, 6, 8};
inline constexpr AttentionFacts flash_3_forward = {SdpaFamily::aiter, layout_bnhd, true, false, 0, {}, 24};

}  // namespace detail

inline Cost flash_attention(const OpArguments& args, Pass pass, CostRules rules) {
    return detail::plain_attention(args, pass, rules, detail::flash_forward);
}

inline Cost flash_attention_backward(const OpArguments& args, Pass /*pass*/, CostRules rules) {
    ArgReader reader(args, rules);
    detail::AttentionReading attention = detail::read_attention(reader, detail::flash_backward);
    detail::read_flash_backward_scalars(reader, attention);
    // The one op whose element size the reference looks up: that of argument 0, the gradient of the output.
    if (reader.is_reference()) attention.bytes = reader.bytes_per_element(reader.type_if(0));
    std::vector<Param> params = detail::attention_params(reader, detail::flash_backward, attention);
    return detail::attention_cost(reader, attention, Pass::backward, std::move(params));
}

inline Cost flash_attention_varlen_forward(const OpArguments& args, Pass pass, CostRules rules) {
    return detail::varlen_attention(args, pass, rules, detail::varlen_forward, {3, 5});
}

inline Cost flash_attention_varlen_backward(const OpArguments& args, Pass pass, CostRules rules) {
    return detail::varlen_attention(args, pass, rules, detail::varlen_backward, {9, 11});
}

/// PyTorch's cuDNN and memory-efficient attention, which take a bias.
inline Cost sdpa_biased(const OpArguments& args, Pass pass, CostRules rules) {
    return detail::plain_attention(args, pass, rules, detail::torch_biased);
}

inline Cost sdpa_flash(const OpArguments& args, Pass pass, CostRules rules) {
    return detail::plain_attention(args, pass, rules, detail::torch_flash);
}

inline Cost aiter_attention(const OpArguments& args, Pass pass, CostRules rules) {
    return detail::plain_attention(args, pass, rules, detail::aiter_forward);
}

/// The reference takes the gradient of the output, Q and K for Q, K and V.
inline Cost aiter_flash_bwd(const OpArguments& args, Pass pass, CostRules rules) {
    detail::AttentionFacts facts = detail::aiter_backward;
    if (rules == CostRules::reference) facts.q = 0;
    return detail::plain_attention(args, pass, rules, facts);
}

inline Cost aiter_wrapper_v3_fwd(const OpArguments& args, Pass pass, CostRules rules) {
    return detail::plain_attention(args, pass, rules, detail::aiter_v3_forward);
}

inline Cost aiter_wrapper_v3_bwd(const OpArguments& args, Pass pass, CostRules rules) {
    return detail::plain_attention(args, pass, rules, detail::aiter_v3_backward);
}

inline Cost aiter_mha_bwd(const OpArguments& args, Pass pass, CostRules rules) {
    return detail::plain_attention(args, pass, rules, detail::aiter_mha_backward);
}

inline Cost flash_attn_v3_forward(const OpArguments& args, Pass pass, CostRules rules) {
    return detail::plain_attention(args, pass, rules, detail::flash_3_forward);
}

/// Attention between the residues of each sequence: argument 0 is (batch, sequences, residues, heads, head
/// dimension).
inline Cost evoformer_attention(const OpArguments& args, Pass pass, CostRules rules) {
    ArgReader reader(args, rules);
    Shape q = reader.shape(0);
    reader.require(q.size() == 5, "the shape of Q is not of rank 5");
    q.resize(5);
    const auto size = [&](std::size_t axis) { return static_cast<double>(q[axis]); };
    detail::AttentionReading attention;
    AttentionShape& shape = attention.shape;
    shape.batch = size(0) * size(1);
    shape.n_q = shape.n_kv = size(2);
    shape.heads_q = shape.heads_kv = size(3);
    shape.dim_qk = shape.dim_v = size(4);
    detail::read_attention_type(reader, 0, 0, attention);
    std::vector<Param> params = detail::attention_sizes(shape);
    params.push_back({"causal", ParamValue::flag(false)});
    params.push_back({"flash_impl", ParamValue::flag(false)});
    params.push_back(
        {"dtype_A_B", ParamValue::json(ParamValue::Kind::list, ParamValue::json_list({reader.type_if(0)}))});
    return detail::attention_cost(reader, attention, pass, std::move(params));
}

inline constexpr std::array attention_models = {
    ModelRow{"FlashAttnFunc", &flash_attention},
    ModelRow{"flash_attn::_flash_attn_forward", &flash_attention},
    ModelRow{"flash_attn::_flash_attn_backward", &flash_attention_backward},
    ModelRow{"flash_attn::_flash_attn_varlen_forward", &flash_attention_varlen_forward},
    ModelRow{"flash_attn::_flash_attn_varlen_backward", &flash_attention_varlen_backward},
    ModelRow{"aten::_scaled_dot_product_cudnn_attention", &sdpa_biased},
    ModelRow{"aten::_scaled_dot_product_efficient_attention", &sdpa_biased},
    ModelRow{"aten::_scaled_dot_product_flash_attention", &sdpa_flash},
    ModelRow{"aiter::_flash_attn_forward", &aiter_attention},
    ModelRow{"aiter::_flash_attn_backward", &aiter_flash_bwd},
    ModelRow{"aiter::wrapper_fmha_v3_fwd", &aiter_wrapper_v3_fwd},
    ModelRow{"aiter::wrapper_fmha_v3_bwd", &aiter_wrapper_v3_bwd},
    ModelRow{"aiter::mha_fwd", &aiter_attention},
    ModelRow{"aiter::fmha_v3_fwd", &aiter_attention},
    ModelRow{"aiter::mha_bwd", &aiter_mha_bwd},
    ModelRow{"flash_attn_3::fwd", &flash_attn_v3_forward},
    ModelRow{"EvoformerAttention", &evoformer_attention},
};

}  // namespace tracelens
