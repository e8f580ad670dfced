#include "cost_arguments.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/core/json_text.hpp>
#include <tracelens/model/arg_value.hpp>
#include <tracelens/perf/attention.hpp>
#include <tracelens/perf/dtypes.hpp>
#include <tracelens/perf/gemm.hpp>

namespace driver {

using namespace tracelens;

Failure usage_failure(std::string what) {
    return {ErrorCode::invalid_argument, {}, std::move(what), {}, {}, {}};
}

namespace {

struct TypeWord {
    std::string_view word;
    std::string_view type;
};

/// What people call types, besides the precisions of `type_of_precision`.
constexpr std::array type_words = {
    TypeWord{"float16", "c10::half"},
    TypeWord{"bfloat16", "c10::bfloat16"},
    TypeWord{"float32", "float"},
    TypeWord{"float64", "double"},
    TypeWord{"float8_e4m3fn", "c10::float8_e4m3fn"},
    TypeWord{"float8_e4m3fnuz", "c10::float8_e4m3fnuz"},
    TypeWord{"float8_e5m2", "c10::float8_e5m2"},
    TypeWord{"int8", "signed char"},
    TypeWord{"uint8", "unsigned char"},
    TypeWord{"int16", "short int"},
    TypeWord{"int32", "int"},
    TypeWord{"int64", "long int"},
};

/// The profiler's name of a type or precision; nothing for unknown ones.
std::optional<std::string> type_name(std::string_view word) {
    if (const std::string_view type = type_of_precision(word); !type.empty()) return std::string(type);
    for (const TypeWord& row : type_words) {
        if (row.word == word) return std::string(row.type);
    }
    // Lists of scalars have no size, but stand in the lists of a trace.
    if (find_dtype(word) != nullptr || word.empty() || word == "ScalarList") return std::string(word);
    return std::nullopt;
}

Failure unknown_type(std::string_view word) {
    return usage_failure("--dtype: \"" + std::string(word) +
                         "\" is no type; give a precision (fp64, fp32, fp16, bf16, fp8, fp4, int8) or a type "
                         "as traces have it (float, c10::Half, c10::Float8_e4m3fn, long int, ...)");
}

/// The JSON list of an option's text.
Result<ArgValue> json_list(const char* option, const std::string& text, const char* example) {
    std::string compact;
    ArgValue list;
    const bool strict = append_compact_json(compact, text) == 0;
    if (strict) list = parse_arg_value(compact);
    if (list.is_list()) return list;
    return usage_failure(std::string(option) + " is no JSON list; give one element an argument, such as '" +
                         example + "'");
}

/// Whether all innermost elements are whole numbers, not negative.
bool holds_sizes(const ArgValue& value) {
    if (!value.is_list()) return value.integer && *value.integer >= 0;
    return std::all_of(value.items.begin(), value.items.end(), holds_sizes);
}

Result<ArgValue> sizes_list(const char* option, const std::string& text) {
    constexpr const char* example = "[[8,16],[16,32]]";
    Result<ArgValue> list = json_list(option, text, example);
    if (!list) return list;
    for (std::size_t i = 0; i < list->items.size(); ++i) {
        const ArgValue& item = list->items[i];
        if (item.is_list() && holds_sizes(item)) continue;
        return usage_failure(std::string(option) + ": argument " + std::to_string(i) +
                             " is no list of whole numbers; give one list an argument, such as '" + example +
                             "', with [] for scalars");
    }
    return list;
}

ArgValue whole_number(std::int64_t number) {
    ArgValue value;
    value.kind = ArgValue::Kind::number;
    value.number = static_cast<double>(number);
    value.integer = number;
    return value;
}

ArgValue word_value(std::string word) {
    ArgValue value;
    value.kind = ArgValue::Kind::text;
    value.text = std::move(word);
    return value;
}

ArgValue empty_list() {
    ArgValue value;
    value.kind = ArgValue::Kind::list;
    return value;
}

/// Strides of a tensor without gaps, or of each tensor of a list.
ArgValue contiguous(const ArgValue& dims) {
    ArgValue strides = empty_list();
    const bool of_tensors = std::any_of(dims.items.begin(), dims.items.end(),
                                        [](const ArgValue& item) { return item.is_list(); });
    if (of_tensors) {
        for (const ArgValue& item : dims.items) strides.items.push_back(contiguous(item));
        return strides;
    }
    // Shapes beyond int64 are priced in double; their strides only stand in the parameters.
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    std::int64_t stride = 1;
    for (auto dim = dims.items.rbegin(); dim != dims.items.rend(); ++dim) {
        strides.items.push_back(whole_number(stride));
        const std::int64_t size = std::max<std::int64_t>(dim->integer.value_or(1), 1);
        stride = stride > most / size ? most : stride * size;
    }
    std::reverse(strides.items.begin(), strides.items.end());
    return strides;
}

/// One type an argument; those of a list of tensors are a list.
Result<ArgValue> types_of(const std::string& dtype, const ArgValue& dims) {
    ArgValue types = empty_list();
    const bool one_for_all = dtype.find('[') == std::string::npos;
    if (one_for_all) {
        const std::optional<std::string> type = type_name(dtype);
        if (!type) return unknown_type(dtype);
        for (std::size_t i = 0; i < dims.items.size(); ++i) types.items.push_back(word_value(*type));
        return types;
    }
    Result<ArgValue> list = json_list("--dtype", dtype, R"(["bf16","fp32"])");
    if (!list) return list;
    for (const ArgValue& item : list->items) {
        const std::optional<std::string> type = item.is_text() ? type_name(item.text) : std::nullopt;
        if (!type) return unknown_type(item.text);
        types.items.push_back(word_value(*type));
    }
    return types;
}

bool has_sizes(const CostOptions& options) {
    return options.batch || options.m || options.n || options.k || options.bias || options.heads_q ||
           options.n_q || options.heads_kv || options.n_kv || options.head_dim || options.causal;
}

double size_of(const std::optional<std::int64_t>& size) {
    return static_cast<double>(size.value_or(1));
}

Result<Cost> gemm_cost(const CostOptions& options, std::string_view type, Pass pass, CostRules rules) {
    if (!options.m || !options.n || !options.k) return usage_failure("gemm needs --M, --N and --K");
    if (options.heads_q || options.n_q || options.heads_kv || options.n_kv || options.head_dim ||
        options.causal)
        return usage_failure("gemm takes --M, --N, --K, --B and --bias alone");
    const GemmShape shape = {size_of(options.m), size_of(options.n), size_of(options.k), options.bias,
                             size_of(options.batch)};
    const std::optional<int> size = bytes_per_element(type, rules);
    const std::optional<double> bytes = size ? std::optional<double>(*size) : std::nullopt;
    Cost cost;
    const bool forward = pass == Pass::forward;
    cost.flops = forward ? gemm_flops(shape) : gemm_backward_flops(shape);
    cost.bytes =
        forward ? gemm_bytes(shape, GemmElementBytes::all(bytes)) : gemm_backward_bytes(shape, bytes, rules);
    cost.params = {{"B", ParamValue::integer(shape.batch)},
                   {"M", ParamValue::integer(shape.m)},
                   {"N", ParamValue::integer(shape.n)},
                   {"K", ParamValue::integer(shape.k)},
                   {"bias", ParamValue::flag(shape.bias)}};
    return cost;
}

Result<Cost> sdpa_cost(const CostOptions& options, std::string_view type, Pass pass, CostRules rules) {
    if (!options.heads_q || !options.n_q || !options.n_kv || !options.head_dim)
        return usage_failure("sdpa needs --H-Q, --N-Q, --N-KV and --d-h");
    if (options.m || options.n || options.k || options.bias)
        return usage_failure("sdpa takes --B, --H-Q, --N-Q, --H-KV, --N-KV, --d-h and --causal alone");
    const std::int64_t heads_kv = options.heads_kv.value_or(*options.heads_q);
    if (*options.heads_q % heads_kv != 0)
        return usage_failure("--H-Q must be a multiple of --H-KV, as the heads of the queries share those");
    AttentionShape shape;
    shape.batch = size_of(options.batch);
    shape.n_q = size_of(options.n_q);
    shape.heads_q = size_of(options.heads_q);
    shape.n_kv = size_of(options.n_kv);
    shape.heads_kv = static_cast<double>(heads_kv);
    shape.dim_qk = shape.dim_v = size_of(options.head_dim);
    shape.causal = options.causal;
    shape.flash = true;
    const bool forward = pass == Pass::forward;
    const std::optional<double> flops =
        forward ? sdpa_flops(shape, rules) : sdpa_backward_flops(shape, rules);
    if (!flops)
        return usage_failure(rules == CostRules::reference
                                 ? "--causal needs as many keys as queries under --compat reference"
                                 : "--causal needs at least as many keys as queries");
    Cost cost;
    cost.flops = *flops;
    if (const std::optional<int> bytes = bytes_per_element(type, rules))
        cost.bytes = forward ? sdpa_bytes(shape, *bytes) : sdpa_backward_bytes(shape, *bytes);
    cost.params = {{"B", ParamValue::integer(shape.batch)},       {"N_Q", ParamValue::integer(shape.n_q)},
                   {"H_Q", ParamValue::integer(shape.heads_q)},   {"N_KV", ParamValue::integer(shape.n_kv)},
                   {"H_KV", ParamValue::integer(shape.heads_kv)}, {"d_h", ParamValue::integer(shape.dim_qk)},
                   {"causal", ParamValue::flag(shape.causal)}};
    return cost;
}

}  // namespace

Result<OpArguments> op_arguments(const CostOptions& options, const std::string& op) {
    if (has_sizes(options))
        return usage_failure("sizes such as --M and --H-Q are those of gemm and sdpa; give " + op +
                             " its shapes with --dims");
    if (options.dims.empty())
        return usage_failure(op + " needs --dims, the shapes of its arguments, such as '[[8,16],[16,32]]'");
    if (options.dtype.empty()) return usage_failure(op + " needs --dtype, such as bf16");
    OpArguments args;
    args.name = op;
    args.annotation = "NA";
    Result<ArgValue> dims = sizes_list("--dims", options.dims);
    if (!dims) return dims.failure();
    Result<ArgValue> types = types_of(options.dtype, *dims);
    if (!types) return types.failure();
    Result<ArgValue> strides =
        options.strides.empty() ? contiguous(*dims) : sizes_list("--strides", options.strides);
    if (!strides) return strides.failure();
    Result<ArgValue> concrete = empty_list();
    if (!options.concrete.empty()) concrete = json_list("--concrete", options.concrete, R"(["","[1, 1]"])");
    if (!concrete) return concrete.failure();
    // Unsaid values are those of tensors.
    while (concrete->items.size() < dims->items.size()) concrete->items.push_back(word_value({}));
    args.members = {{"Input Dims", *std::move(dims)},
                    {"Input type", *std::move(types)},
                    {"Input Strides", *std::move(strides)},
                    {"Concrete Inputs", *std::move(concrete)}};
    return args;
}

Result<Cost> shape_cost(const CostOptions& options, Pass pass, CostRules rules) {
    if (!options.dims.empty() || !options.strides.empty() || !options.concrete.empty())
        return usage_failure(options.op + " takes sizes, not --dims; name an op such as aten::mm for these");
    if (options.dtype.empty()) return usage_failure(options.op + " needs --dtype, such as bf16");
    const std::optional<std::string> type = type_name(options.dtype);
    if (!type) return unknown_type(options.dtype);
    Result<Cost> cost = options.op == "gemm" ? gemm_cost(options, *type, pass, rules)
                                             : sdpa_cost(options, *type, pass, rules);
    if (!cost) return cost;
    cost->unit = ComputeUnit::matrix;
    cost->precision = std::string(precision_of(*type, rules));
    return cost;
}

}  // namespace driver
