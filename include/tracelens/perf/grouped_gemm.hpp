/// Grouped matrix products, as experts of a mixture compute them (spec 03, section 3.12). Group g multiplies
/// its rows of A, M_g x K, with a weight of its own, K x N.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tracelens/perf/cost_model.hpp>

namespace tracelens {

/// Sizes of all groups together.
struct GroupedGemmShape {
    double m = 0;  ///< rows of all groups
    double k = 0;
    double n = 0;
    double groups = 1;
};

/// Bytes of an element of each operand; nothing when not known.
struct GroupedGemmElementBytes {
    std::optional<double> a;
    std::optional<double> weight;
    std::optional<double> out;

    bool known() const noexcept { return a && weight && out; }
};

constexpr double grouped_gemm_flops(const GroupedGemmShape& shape) noexcept {
    return 2 * shape.m * shape.k * shape.n;
}

constexpr double grouped_gemm_backward_flops(const GroupedGemmShape& shape) noexcept {
    return 2 * grouped_gemm_flops(shape);
}

/// A and the result once, and one weight a group.
inline std::optional<double> grouped_gemm_bytes(const GroupedGemmShape& shape,
                                                const GroupedGemmElementBytes& bytes) noexcept {
    if (!bytes.known()) return std::nullopt;
    return shape.m * shape.k * *bytes.a + shape.groups * shape.k * shape.n * *bytes.weight +
           shape.m * shape.n * *bytes.out;
}

/// Both gradients: every operand twice.
inline std::optional<double> grouped_gemm_backward_bytes(const GroupedGemmShape& shape,
                                                         const GroupedGemmElementBytes& bytes) noexcept {
    const std::optional<double> once = grouped_gemm_bytes(shape, bytes);
    return once ? std::optional<double>(2 * *once) : std::nullopt;
}

/// Rows and columns of a matrix.
using MatrixShape = std::array<std::int64_t, 2>;

namespace detail {

inline std::int64_t positive_or_zero(const ArgValue& list, std::size_t index) noexcept {
    if (!list.is_list() || index >= list.items.size()) return 0;
    const std::int64_t number = list.items[index].integer.value_or(0);
    return number > 0 ? number : 0;
}

inline bool is_positive(const ArgValue& list, std::size_t index) noexcept {
    return positive_or_zero(list, index) > 0;
}

/// A list of exactly two positive whole numbers.
inline std::optional<MatrixShape> matrix_shape(const ArgValue& value) noexcept {
    if (!value.is_list() || value.items.size() != 2) return std::nullopt;
    if (!is_positive(value, 0) || !is_positive(value, 1)) return std::nullopt;
    return MatrixShape{positive_or_zero(value, 0), positive_or_zero(value, 1)};
}

inline void collect_matrix_shapes(const ArgValue& value, std::vector<MatrixShape>& shapes) {
    if (!value.is_list()) return;
    if (const std::optional<MatrixShape> shape = matrix_shape(value)) {
        shapes.push_back(*shape);
        return;
    }
    for (const ArgValue& item : value.items) collect_matrix_shapes(item, shapes);
}

}  // namespace detail

/// All matrix shapes in a list of lists of any depth, in their order.
inline std::vector<MatrixShape> matrix_shapes(const ArgValue& value) {
    std::vector<MatrixShape> shapes;
    detail::collect_matrix_shapes(value, shapes);
    return shapes;
}

namespace detail {

/// One product of a group.
struct MatrixPair {
    MatrixShape a;
    MatrixShape b;
};

/// Matrices listed one by one, paired in order. Nothing unless there are as many of one kind as of the other,
/// and inner sizes agree.
inline std::optional<std::vector<MatrixPair>> zipped_pairs(const ArgValue& left, const ArgValue& right) {
    const std::vector<MatrixShape> a = matrix_shapes(left);
    const std::vector<MatrixShape> b = matrix_shapes(right);
    if (a.empty() || a.size() != b.size()) return std::nullopt;
    std::vector<MatrixPair> pairs;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i][1] != b[i][0]) return std::nullopt;
        pairs.push_back({a[i], b[i]});
    }
    return pairs;
}

inline GroupedGemmShape grouped_shape(const std::vector<MatrixPair>& pairs) noexcept {
    GroupedGemmShape shape;
    shape.k = static_cast<double>(pairs.front().b[0]);
    shape.n = static_cast<double>(pairs.front().b[1]);
    shape.groups = static_cast<double>(pairs.size());
    for (const MatrixPair& pair : pairs) shape.m += static_cast<double>(pair.a[0]);
    return shape;
}

/// Rows of all groups, M x K, beside one stack of weights: G x K x N, or G x N x K.
inline std::optional<GroupedGemmShape> stacked_weights(const ArgValue& left, const ArgValue& right) noexcept {
    if (!is_positive(left, 0) || !is_positive(left, 1)) return std::nullopt;
    if (!right.is_list() || right.items.size() != 3) return std::nullopt;
    for (std::size_t i = 0; i < 3; ++i) {
        if (!is_positive(right, i)) return std::nullopt;
    }
    const std::int64_t k = positive_or_zero(left, 1);
    const std::int64_t p = positive_or_zero(right, 1);
    const std::int64_t q = positive_or_zero(right, 2);
    if (p != k && q != k) return std::nullopt;
    GroupedGemmShape shape;
    shape.m = static_cast<double>(positive_or_zero(left, 0));
    shape.k = static_cast<double>(k);
    shape.n = static_cast<double>(p == k ? q : p);
    shape.groups = static_cast<double>(positive_or_zero(right, 0));
    return shape;
}

inline std::optional<GroupedGemmShape> fixed_k_shape(const ArgValue& left, const ArgValue& right) {
    if (const std::optional<GroupedGemmShape> shape = stacked_weights(left, right)) return shape;
    const std::optional<std::vector<MatrixPair>> pairs = zipped_pairs(left, right);
    if (!pairs) return std::nullopt;
    for (const MatrixPair& pair : *pairs) {
        if (pair.b != pairs->front().b) return std::nullopt;
    }
    return grouped_shape(*pairs);
}

/// M x K beside M x N stands for all groups in one; otherwise matrices one by one.
inline std::optional<std::vector<MatrixPair>> variable_k_pairs(const ArgValue& left, const ArgValue& right) {
    const std::optional<MatrixShape> a = matrix_shape(left);
    const std::optional<MatrixShape> b = matrix_shape(right);
    if (a && b && (*a)[0] == (*b)[0]) return std::vector<MatrixPair>{{*a, {(*a)[1], (*b)[1]}}};
    return zipped_pairs(left, right);
}

inline std::string pairs_json(const std::vector<MatrixPair>& pairs) {
    std::string text = "[";
    for (const MatrixPair& pair : pairs) {
        if (text.size() > 1) text += ',';
        text += "[" + ParamValue::json_list(pair.a) + "," + ParamValue::json_list(pair.b) + "]";
    }
    return text + "]";
}

/// Shapes of the two operands: arguments 0 and 1. Fails without them.
inline std::pair<ArgValue, ArgValue> grouped_operands(ArgReader& reader) {
    const std::vector<ArgValue>* const dims = reader.args().list("Input Dims");
    if (dims != nullptr && dims->size() >= 2) return {(*dims)[0], (*dims)[1]};
    reader.fail("the shapes of the two operands are missing");
    return {};
}

/// The reference takes the second argument's type, which is the weight's, for that of the result.
inline GroupedGemmElementBytes grouped_element_bytes(ArgReader& reader) {
    reader.require(reader.args().list("Input type") == nullptr || reader.type_count() > 0,
                   "Input type is empty");
    const std::optional<double> first = reader.bytes_per_element(reader.type_if(0));
    const std::optional<double> second =
        reader.type_count() > 1 ? reader.bytes_per_element(reader.type_if(1)) : first;
    if (reader.is_reference()) return {first, first, second};
    return {first, second, first};
}

/// All but operations and bytes.
inline Cost grouped_cost(const ArgReader& reader, const GroupedGemmShape& shape,
                         const GroupedGemmElementBytes& bytes) {
    const auto size = [](std::optional<double> value) {
        return value ? ParamValue::integer(*value) : ParamValue::none();
    };
    Cost cost;
    cost.unit = ComputeUnit::matrix;
    cost.precision = reader.precision(reader.type_if(0));
    cost.params = {{"M", ParamValue::integer(shape.m)}, {"K", ParamValue::integer(shape.k)},
                   {"N", ParamValue::integer(shape.n)}, {"G", ParamValue::integer(shape.groups)},
                   {"bpe_in", size(bytes.a)},           {"bpe_out", size(bytes.out)}};
    return cost;
}

inline Cost no_grouped_gradients() {
    return Cost::unsupported("gradients of a grouped GEMM are grouped GEMMs of their own");
}

}  // namespace detail

/// All groups have the same weight shape.
inline Cost primus_grouped_gemm(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_grouped_gradients();
    ArgReader reader(args, rules);
    const auto [left, right] = detail::grouped_operands(reader);
    const std::optional<GroupedGemmShape> shape = detail::fixed_k_shape(left, right);
    reader.require(shape.has_value(), "Input Dims are not those of a grouped product");
    const GroupedGemmElementBytes bytes = detail::grouped_element_bytes(reader);
    reader.require(bytes.known(), "the size of an operand's elements is not known");
    if (reader.failed()) return reader.finish({});
    Cost cost = detail::grouped_cost(reader, *shape, bytes);
    cost.flops = grouped_gemm_flops(*shape);
    cost.bytes = grouped_gemm_bytes(*shape, bytes);
    return cost;
}

/// Every group has sizes of its own.
inline Cost primus_grouped_gemm_variable_k(const OpArguments& args, Pass pass, CostRules rules) {
    if (pass == Pass::backward) return detail::no_grouped_gradients();
    ArgReader reader(args, rules);
    const auto [left, right] = detail::grouped_operands(reader);
    const std::optional<std::vector<detail::MatrixPair>> pairs = detail::variable_k_pairs(left, right);
    reader.require(pairs.has_value(), "Input Dims are not those of a grouped product");
    const GroupedGemmElementBytes bytes = detail::grouped_element_bytes(reader);
    if (reader.failed()) return reader.finish({});
    Cost cost = detail::grouped_cost(reader, detail::grouped_shape(*pairs), bytes);
    if (bytes.known()) cost.bytes = 0;
    for (const detail::MatrixPair& pair : *pairs) {
        const GroupedGemmShape one = detail::grouped_shape({pair});
        cost.flops += grouped_gemm_flops(one);
        if (cost.bytes) *cost.bytes += grouped_gemm_bytes(one, bytes).value_or(0);
    }
    cost.params.push_back(
        {"group_pairs", ParamValue::json(ParamValue::Kind::tuples_list, detail::pairs_json(*pairs))});
    return cost;
}

inline constexpr std::array grouped_gemm_models = {
    ModelRow{"primus_turbo::grouped_gemm", &primus_grouped_gemm},
    ModelRow{"primus_turbo::grouped_gemm_impl", &primus_grouped_gemm},
    ModelRow{"primus_turbo_cpp_extension::grouped_gemm", &primus_grouped_gemm},
    ModelRow{"primus_turbo_cpp_extension::ck_grouped_gemm", &primus_grouped_gemm},
    ModelRow{"primus_turbo::grouped_gemm_variable_k", &primus_grouped_gemm_variable_k},
    ModelRow{"primus_turbo::grouped_gemm_variable_k_impl", &primus_grouped_gemm_variable_k},
    ModelRow{"primus_turbo_cpp_extension::grouped_gemm_variable_k", &primus_grouped_gemm_variable_k},
    ModelRow{"primus_turbo_cpp_extension::ck_grouped_gemm_variable_k", &primus_grouped_gemm_variable_k},
};

}  // namespace tracelens
