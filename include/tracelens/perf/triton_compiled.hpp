/// Kernels that torch.compile generates in Triton, from the arguments that a trace records of them (spec 03,
/// section 3.15).
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/classify/fused_ops.hpp>
#include <tracelens/perf/cost_model.hpp>

namespace tracelens {

struct FusedOpFlops {
    std::string_view name;
    double flops = 0;  ///< an element
};

/// Ops that are not listed count nothing.
inline constexpr std::array fused_op_flops = {
    FusedOpFlops{"add", 1},      FusedOpFlops{"sub", 1},   FusedOpFlops{"mul", 1},
    FusedOpFlops{"div", 1},      FusedOpFlops{"pow", 2},   FusedOpFlops{"sqrt", 2},
    FusedOpFlops{"rsqrt", 2},    FusedOpFlops{"exp", 4},   FusedOpFlops{"log", 4},
    FusedOpFlops{"sigmoid", 4},  FusedOpFlops{"tanh", 4},  FusedOpFlops{"relu", 1},
    FusedOpFlops{"silu", 4},     FusedOpFlops{"gelu", 8},  FusedOpFlops{"mean", 1},
    FusedOpFlops{"sum", 1},      FusedOpFlops{"var", 2},   FusedOpFlops{"abs", 1},
    FusedOpFlops{"neg", 1},      FusedOpFlops{"ne", 1},    FusedOpFlops{"reciprocal", 2},
    FusedOpFlops{"eq", 1},       FusedOpFlops{"lt", 1},    FusedOpFlops{"gt", 1},
    FusedOpFlops{"_to_copy", 0}, FusedOpFlops{"copy_", 0}, FusedOpFlops{"clone", 0},
    FusedOpFlops{"embedding", 0}};

/// FLOPs an element; nothing for ops that are not listed.
constexpr std::optional<double> flops_of_fused_op(std::string_view name) noexcept {
    for (const FusedOpFlops& row : fused_op_flops) {
        if (row.name == name) return row.flops;
    }
    return std::nullopt;
}

/// Sizes of a compiled kernel: results, and elements reduced into each.
struct TritonSizes {
    double xnumel = 0;
    double rnumel = 1;
};

/// Every fused op on every element.
constexpr double triton_flops(double flops_an_element, const TritonSizes& sizes) noexcept {
    return flops_an_element * sizes.xnumel * sizes.rnumel;
}

namespace detail {

struct TritonTypeBytes {
    std::string_view type;
    double bytes = 0;
};

/// Type names that the reference expects here, by letter case.
inline constexpr std::array triton_type_bytes = {
    TritonTypeBytes{"c10::BFloat16", 2}, TritonTypeBytes{"c10::Half", 2}, TritonTypeBytes{"c10::Float", 4},
    TritonTypeBytes{"c10::Double", 8},   TritonTypeBytes{"c10::Byte", 1}, TritonTypeBytes{"c10::Char", 1},
    TritonTypeBytes{"c10::Int", 4},      TritonTypeBytes{"c10::Long", 8}};

constexpr std::optional<double> bytes_of_triton_type(std::string_view type) noexcept {
    for (const TritonTypeBytes& row : triton_type_bytes) {
        if (row.type == type) return row.bytes;
    }
    return std::nullopt;
}

/// The whole numbers among the recorded values, in order.
inline std::vector<double> whole_values(const OpArguments& args) {
    std::vector<double> numbers;
    const std::vector<ArgValue>* const values = args.list("Concrete Inputs");
    if (values == nullptr) return numbers;
    for (const ArgValue& value : *values) {
        const std::optional<std::int64_t> number = value.integer ? value.integer : parse_integer(value.text);
        if (number) numbers.push_back(static_cast<double>(*number));
    }
    return numbers;
}

inline bool has_items(const OpArguments& args, std::string_view key) noexcept {
    const std::vector<ArgValue>* const list = args.list(key);
    return list != nullptr && !list->empty();
}

/// Nothing when the trace does not record them.
inline std::optional<TritonSizes> triton_sizes(const OpArguments& args) {
    if (!has_items(args, "Input Dims") || !has_items(args, "Input type")) return std::nullopt;
    const std::vector<double> numbers = whole_values(args);
    if (numbers.empty()) return std::nullopt;
    const bool reduces = args.name.starts_with("triton_red_") || args.name.starts_with("triton_per_");
    if (reduces && numbers.size() >= 2) return TritonSizes{numbers[numbers.size() - 2], numbers.back()};
    return TritonSizes{numbers.back(), 1};
}

/// What a compiled kernel moves, and in which precision it computes.
struct TritonTraffic {
    std::optional<double> bytes = 0;
    std::optional<double> first_width;  ///< bytes of an element of the first tensor
    std::string precision;
};

/// Adds one tensor. In the reference unknown types have no bytes, and the precision is the first known type
/// as it is written; in full unknown types leave the bytes unknown, and the precision is a proper one.
inline void add_triton_tensor(ArgReader& reader, std::size_t index, TritonTraffic& traffic) {
    const std::string_view type = reader.type_if(index).value_or(std::string_view{});
    std::optional<double> width = bytes_of_triton_type(type);
    if (reader.is_reference()) {
        if (width && traffic.precision.empty()) {
            for (const char c : type.substr(type.rfind(':') + 1)) traffic.precision += to_lower(c);
        }
        width = width.value_or(0);
    } else {
        if (!width) width = reader.bytes_per_element(type);
        if (traffic.precision.empty()) traffic.precision = reader.precision(type);
    }
    if (!traffic.first_width) traffic.first_width = width.value_or(0);
    const double elements = product(reader.shape(index));
    if (!width || !traffic.bytes)
        traffic.bytes = std::nullopt;
    else
        *traffic.bytes += elements * *width;
}

/// Every tensor once. The reference adds a result to pointwise kernels, for those that overwrite an operand;
/// which ones do, the recorded arguments do not say.
inline TritonTraffic triton_traffic(ArgReader& reader, const TritonSizes& sizes) {
    TritonTraffic traffic;
    const std::size_t count = std::min(reader.argument_count(), reader.type_count());
    for (std::size_t i = 0; i < count; ++i) {
        if (reader.type_if(i) == "Scalar" || !reader.has_shape(i)) continue;
        add_triton_tensor(reader, i, traffic);
    }
    const bool pointwise = reader.args().name.starts_with("triton_poi_");
    if (reader.is_reference() && pointwise && traffic.first_width && traffic.bytes)
        *traffic.bytes += *traffic.first_width * sizes.xnumel;
    return traffic;
}

/// The words of a fused part that have a row in the table of FLOPs.
inline std::vector<std::string_view> counted_words(std::string_view kernel) {
    std::vector<std::string_view> words;
    const std::string_view text = fused_part(kernel);
    const std::vector<std::size_t> starts = word_starts(text);
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
        const std::string_view word = text.substr(starts[i], starts[i + 1] - 1 - starts[i]);
        if (flops_of_fused_op(word)) words.push_back(word);
    }
    return words;
}

}  // namespace detail

/// Whether the arguments suffice for a cost.
inline bool can_model_triton(const OpArguments& args) {
    return detail::triton_sizes(args).has_value();
}

/// The ops that a compiled kernel's name holds. In full, what is no known op is left out.
inline std::vector<std::string_view> triton_fused_ops(std::string_view kernel, CostRules rules,
                                                      const FusedOpNames& names = {}) {
    if (names.empty()) return detail::counted_words(kernel);
    return fused_ops(kernel, rules == CostRules::reference ? UnknownParts::reject : UnknownParts::skip,
                     names);
}

/// The model with other names of ops than the built-in ones: see `FusedOpNames::more`.
inline Cost triton_compiled(const OpArguments& args, Pass pass, CostRules rules, const FusedOpNames& names) {
    if (pass == Pass::backward) return Cost::unsupported("compiled kernels have no gradients of their own");
    const std::optional<TritonSizes> sizes = detail::triton_sizes(args);
    if (!sizes) return Cost::unsupported("the trace records no sizes of this compiled kernel");
    ArgReader reader(args, rules);
    double flops = 0;
    std::string ops;
    for (const std::string_view op : triton_fused_ops(args.name, rules, names)) {
        flops += flops_of_fused_op(op).value_or(0);
        if (!ops.empty()) ops += ", ";
        ops += "aten." + std::string(op);
    }
    detail::TritonTraffic traffic = detail::triton_traffic(reader, *sizes);
    Cost cost;
    cost.flops = triton_flops(flops, *sizes);
    cost.bytes = traffic.bytes;
    cost.unit = ComputeUnit::vector;
    cost.precision = std::move(traffic.precision);
    cost.params = {{"fused_ops", ParamValue::word(ops)},
                   {"xnumel", ParamValue::integer(sizes->xnumel)},
                   {"rnumel", ParamValue::integer(sizes->rnumel)}};
    return reader.finish(std::move(cost));
}

/// Ops by prefix, not by name: see `is_compiled_triton_name`.
inline Cost triton_compiled(const OpArguments& args, Pass pass, CostRules rules) {
    return triton_compiled(args, pass, rules, FusedOpNames{});
}

}  // namespace tracelens
