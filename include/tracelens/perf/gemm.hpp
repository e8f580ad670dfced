/// Matrix products: what they compute and move (spec 03, section 3.6). A is M x K, B is K x N, the result M x
/// N.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tracelens/classify/kernel_name.hpp>
#include <tracelens/perf/cost_model.hpp>

namespace tracelens {

/// Sizes of `batch` equal products.
struct GemmShape {
    double m = 0;
    double n = 0;
    double k = 0;
    bool bias = false;
    double batch = 1;
};

/// Bytes of an element of each operand; nothing when not known.
struct GemmElementBytes {
    std::optional<double> a;
    std::optional<double> b;
    std::optional<double> bias;
    std::optional<double> out;

    static GemmElementBytes all(std::optional<double> bytes) { return {bytes, bytes, bytes, bytes}; }
};

/// 2 M N K, and an addition an element for the bias.
constexpr double gemm_flops(const GemmShape& shape) noexcept {
    return shape.batch * (2 * shape.m * shape.n * shape.k + (shape.bias ? shape.m * shape.n : 0));
}

/// Every operand once; the bias counts as one row of N.
inline std::optional<double> gemm_bytes(const GemmShape& shape, const GemmElementBytes& bytes) noexcept {
    if (!bytes.a || !bytes.b || !bytes.bias || !bytes.out) return std::nullopt;
    return shape.batch * (shape.m * shape.k * *bytes.a + shape.k * shape.n * *bytes.b +
                          shape.m * shape.n * *bytes.out + (shape.bias ? shape.n * *bytes.bias : 0));
}

/// Both gradients of a product, from its forward sizes.
constexpr double gemm_backward_flops(const GemmShape& shape) noexcept {
    const double products = 4 * shape.m * shape.n * shape.k;
    return shape.batch * (products + (shape.bias ? shape.m * shape.n : 0));
}

/// Bytes of both gradients, `bytes` an element. The reference counts the bias gradient in elements.
inline std::optional<double> gemm_backward_bytes(const GemmShape& shape, std::optional<double> bytes,
                                                 CostRules rules = CostRules::full) noexcept {
    if (!bytes) return std::nullopt;
    const double operands = 2 * (shape.m * shape.n + shape.n * shape.k + shape.m * shape.k);
    double bias = 0;
    if (shape.bias && rules == CostRules::reference) bias = shape.m * shape.n;
    if (shape.bias && rules == CostRules::full) bias = (shape.m * shape.n + shape.n) * *bytes;
    return shape.batch * (operands * *bytes + bias);
}

/// The products of a linear layer with `tokens` rows, as traces show them (spec 03, section 3.18).
struct LinearLayerGemms {
    GemmShape forward;
    GemmShape input_gradient;
    GemmShape weight_gradient;
};

constexpr LinearLayerGemms linear_layer_gemms(double tokens, double inputs, double outputs) noexcept {
    LinearLayerGemms gemms;
    gemms.forward = {tokens, outputs, inputs, false, 1};
    gemms.input_gradient = {tokens, inputs, outputs, false, 1};
    gemms.weight_gradient = {outputs, inputs, tokens, false, 1};
    return gemms;
}

/// The value of the parameter `transpose`: `(True, False)`, with None for what the kernel's name does not
/// say. Precondition: `name.is_gemm`.
inline ParamValue to_transpose_param(const KernelName& name) {
    const auto word = [](const std::optional<bool>& flag) {
        return !flag ? std::string("null") : std::string(*flag ? "true" : "false");
    };
    return ParamValue::json(ParamValue::Kind::tuple,
                            "[" + word(name.transpose_a) + "," + word(name.transpose_b) + "]");
}

namespace detail {

inline Cost no_gemm_gradients() {
    return Cost::unsupported("gradients of a GEMM are GEMMs of their own");
}

/// What a GEMM model has read, on its way to a cost.
struct GemmReading {
    GemmShape shape;
    GemmElementBytes element;
    ParamValue stride_a;
    ParamValue stride_b;
    ParamValue types;  ///< `dtype_A_B`
    std::optional<std::string_view> type_a;
    bool batch_first = false;  ///< parameter `B` before the others
    std::vector<Param> extra;  ///< parameters between `dtype_A_B` and `B`
};

inline Cost gemm_cost(const ArgReader& reader, const GemmReading& gemm) {
    Cost cost;
    cost.flops = gemm_flops(gemm.shape);
    cost.bytes = gemm_bytes(gemm.shape, gemm.element);
    cost.unit = ComputeUnit::matrix;
    cost.precision = reader.precision(gemm.type_a);
    const Param batch{"B", ParamValue::integer(gemm.shape.batch)};
    if (gemm.batch_first) cost.params.push_back(batch);
    cost.params.push_back({"M", ParamValue::integer(gemm.shape.m)});
    cost.params.push_back({"N", ParamValue::integer(gemm.shape.n)});
    cost.params.push_back({"K", ParamValue::integer(gemm.shape.k)});
    cost.params.push_back({"bias", ParamValue::flag(gemm.shape.bias)});
    cost.params.push_back({"stride_A", gemm.stride_a});
    cost.params.push_back({"stride_B", gemm.stride_b});
    cost.params.push_back({"dtype_A_B", gemm.types});
    cost.params.insert(cost.params.end(), gemm.extra.begin(), gemm.extra.end());
    if (!gemm.batch_first) cost.params.push_back(batch);
    return reader.finish(std::move(cost));
}

/// Types, element sizes and strides of A, argument `first`, and of B behind it. The reference takes A's
/// element size for all operands.
inline GemmReading read_operands(ArgReader& reader, std::size_t first) {
    GemmReading gemm;
    gemm.types = reader.type_tuple(first, first + 2);
    gemm.type_a = reader.type_if(first);
    gemm.element = GemmElementBytes::all(reader.bytes_per_element(gemm.type_a));
    if (!reader.is_reference() && reader.type_if(first + 1))
        gemm.element.b = reader.bytes_per_element(reader.type_if(first + 1));
    gemm.stride_a = ParamValue::tuple_or_none(reader.strides_if_recorded(first));
    gemm.stride_b = ParamValue::tuple_or_none(reader.strides_if_recorded(first + 1));
    return gemm;
}

/// Products of two matrices, or of two batches of them, A being argument `first`.
inline Cost plain_gemm(const OpArguments& args, Pass pass, CostRules rules, std::size_t first, bool bias,
                       bool batched) {
    if (pass == Pass::backward) return no_gemm_gradients();
    ArgReader reader(args, rules);
    const Shape a = reader.shape(first);
    const Shape b = reader.shape(first + 1);
    if (batched) reader.require(a.size() == 3 && b.size() == 3, "a batched product needs shapes of rank 3");
    const std::size_t row = batched ? 1 : 0;
    GemmReading gemm = read_operands(reader, first);
    gemm.batch_first = batched;
    if (batched) gemm.shape.batch = static_cast<double>(reader.dim(a, 0));
    gemm.shape.m = static_cast<double>(reader.dim(a, row));
    gemm.shape.k = static_cast<double>(reader.dim(a, row + 1));
    gemm.shape.n = static_cast<double>(reader.dim(b, row + 1));
    gemm.shape.bias = bias;
    return gemm_cost(reader, gemm);
}

/// Bytes of an element by PyTorch's number of the type, as `out_dtype` arguments have it.
constexpr std::optional<double> bytes_of_scalar_type(std::int64_t number) noexcept {
    constexpr std::array<double, 30> bytes = {1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4,
                                              2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1,  1, 2, 4, 8};
    if (number < 0 || number >= static_cast<std::int64_t>(bytes.size())) return std::nullopt;
    return bytes[static_cast<std::size_t>(number)];
}

}  // namespace detail

inline Cost aten_mm(const OpArguments& args, Pass pass, CostRules rules) {
    return detail::plain_gemm(args, pass, rules, 0, false, false);
}

inline Cost aten_addmm(const OpArguments& args, Pass pass, CostRules rules) {
    return detail::plain_gemm(args, pass, rules, 1, true, false);
}

inline Cost aten_bmm(const OpArguments& args, Pass pass, CostRules rules) {
    return detail::plain_gemm(args, pass, rules, 0, false, true);
}

inline Cost aten_baddbmm(const OpArguments& args, Pass pass, CostRules rules) {
    return detail::plain_gemm(args, pass, rules, 1, true, true);
}

inline constexpr std::array gemm_models = {
    ModelRow{"aten::mm", &aten_mm},
    ModelRow{"aten::addmm", &aten_addmm},
    ModelRow{"aten::bmm", &aten_bmm},
    ModelRow{"aten::baddbmm", &aten_baddbmm},
};

}  // namespace tracelens
