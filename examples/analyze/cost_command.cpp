#include "cost_command.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <tracelens/classify/op_table.hpp>
#include <tracelens/perf/param_text.hpp>
#include <tracelens/perf/registry.hpp>
#include <tracelens/perf/roofline.hpp>
#include <tracelens/write/json.hpp>

#include "cost_arguments.hpp"
#include "extension_file.hpp"
#include "platforms.hpp"

namespace driver {

using namespace tracelens;

namespace {

constexpr const char* examples = R"(Examples:
  tracelens cost gemm --M 40960 --N 6144 --K 1536 --dtype bf16 --platform MI300X
  tracelens cost sdpa --B 4 --H-Q 32 --N-Q 4096 --H-KV 8 --N-KV 4096 --d-h 128 --causal --dtype bf16
  tracelens cost aten::mm --dims "[[8,16],[16,32]]" --dtype bf16
  tracelens cost convolution --dims "[[8,3,224,224],[64,3,7,7],[]]" --dtype fp16 \
      --concrete '["","","","[2, 2]","[3, 3]","[1, 1]","False","[0, 0]","1"]'
  tracelens cost my_lib::swiglu --dims "[[8,64]]" --dtype bf16 --extension-file models.json

A file of models, for --extension-file here and of `report`:
  {"my_lib::swiglu": {"category": "elementwise", "unit": "vector",
                      "dims": {"T": [0, 0], "W": "d0_1 // 2"}, "dtype": 0,
                      "flops": "6 * T * W", "bytes": "n0 * b0 + T * W * b0"}}
where d0_1 is dimension 1 of argument 0, n0 its elements, and b0 the bytes of one.)";

/// What is priced, and the result.
struct Priced {
    std::string op;
    std::string category;
    Cost cost;
};

/// A cost against the limits of a platform.
struct Limits {
    const Platform* platform = nullptr;
    std::optional<Roofline> roofline;
    std::optional<double> knee;  ///< operations a byte
};

CostRules rules_of(const CostOptions& options) {
    return options.compat == Compat::reference ? CostRules::reference : CostRules::full;
}

Pass pass_of(const CostOptions& options) {
    return options.backward ? Pass::backward : Pass::forward;
}

int usage_error(std::string_view what) {
    fmt::print(stderr, "cost: {}\nRun `tracelens cost --help` for examples.\n", what);
    return exit_usage;
}

/// The ops of the registry in the order of the reports' sheets, those of the user's file last.
std::vector<std::string> op_names(const ModelRegistry& registry, const std::vector<std::string>& added) {
    std::vector<std::string> names;
    for (const OpCategoryRow& row : modelled_ops) {
        if (registry.find(row.name) != nullptr) names.emplace_back(row.name);
    }
    for (const std::string& name : added) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return names;
}

int print_list(const ModelRegistry& registry, const std::vector<std::string>& names, bool as_json) {
    if (!as_json) {
        for (const std::string& name : names) fmt::print("{:<24}{}\n", registry.find(name)->category, name);
        return exit_ok;
    }
    JsonWriter json;
    json.begin_array();
    for (const std::string& name : names) {
        const RegisteredModel& model = *registry.find(name);
        json.begin_object();
        json.key("op").string(name);
        json.key("category").string(model.category);
        json.key("backward_category").string(model.backward_category);
        json.key("sheet").string(model.sheet);
        json.end_object();
    }
    json.end_array();
    fmt::print("{}", json.take());
    return exit_ok;
}

std::string joined(const std::vector<std::string>& words, std::size_t most) {
    std::string text;
    for (std::size_t i = 0; i < words.size() && i < most; ++i) text += (i == 0 ? "" : ", ") + words[i];
    return words.size() > most ? text + ", ..." : text;
}

/// The full name of an op that is given with or without `aten::`, or without another namespace when only one
/// has it.
Result<std::string> find_op(const std::string& op, const ModelRegistry& registry,
                            const std::vector<std::string>& names) {
    if (registry.find(op) != nullptr) return op;
    if (registry.find("aten::" + op) != nullptr) return "aten::" + op;
    std::vector<std::string> same;
    std::vector<std::string> similar;
    for (const std::string& name : names) {
        if (name.ends_with("::" + op)) same.push_back(name);
        if (tracelens::detail::contains_ignoring_case(name, op)) similar.push_back(name);
    }
    if (same.size() == 1) return same.front();
    constexpr std::size_t most = 8;
    if (same.size() > 1)
        return usage_failure("\"" + op + "\" is ambiguous; give one of " + joined(same, most));
    std::string what = "there is no model of \"" + op + "\"; ";
    if (!similar.empty()) what += "similar are " + joined(similar, most) + "; ";
    return usage_failure(what + "`tracelens cost --list` names all");
}

Result<Priced> price(const CostOptions& options, const ModelRegistry& registry,
                     const std::vector<std::string>& names) {
    if (options.op == "gemm" || options.op == "sdpa") {
        Result<Cost> cost = shape_cost(options, pass_of(options), rules_of(options));
        if (!cost) return cost.failure();
        const std::string category = options.op == "gemm" ? "GEMM"
                                     : options.backward   ? "SDPA_bwd"
                                                          : "SDPA_fwd";
        return Priced{options.op, category, *std::move(cost)};
    }
    const Result<std::string> op = find_op(options.op, registry, names);
    if (!op) return op.failure();
    const Result<OpArguments> args = op_arguments(options, *op);
    if (!args) return args.failure();
    const RegisteredModel& model = *registry.find(*op);
    const bool gradient = options.backward && !model.backward_category.empty();
    return Priced{*op, gradient ? model.backward_category : model.category,
                  model.cost(*args, pass_of(options), rules_of(options))};
}

Limits limits_of(const Cost& cost, const Platform* platform, CostRules rules) {
    Limits limits;
    limits.platform = platform;
    if (platform == nullptr) return limits;
    limits.roofline = roofline_of(cost, *platform, rules);
    const std::optional<double> peak = platform->peak_tflops(cost.compute_spec());
    if (tracelens::detail::is_positive(peak) && tracelens::detail::is_positive(platform->mem_bw_gbps))
        limits.knee = roofline_knee(*peak, *platform->mem_bw_gbps);
    return limits;
}

/// Operations a byte; nothing when one of both is not known.
std::optional<double> intensity_of(const Cost& cost) {
    if (!std::isfinite(cost.flops) || !cost.bytes || !(*cost.bytes > 0)) return std::nullopt;
    return cost.flops / *cost.bytes;
}

/// A count as JSON: without decimals when it is whole, null when it is not known.
std::string count_json(std::optional<double> count) {
    std::string text;
    if (!count || !std::isfinite(*count)) return "null";
    append_json(text, *count == std::floor(*count) ? ParamValue::integer(*count) : ParamValue::real(*count));
    return text;
}

void write_number(JsonWriter& json, std::string_view key, std::optional<double> value) {
    json.key(key).number(value.value_or(std::nan("")));
}

std::string json_of(const Priced& priced, const Limits& limits, bool backward) {
    const Cost& cost = priced.cost;
    JsonWriter json;
    json.begin_object();
    json.key("op").string(priced.op);
    json.key("category").string(priced.category);
    json.key("pass").string(backward ? "backward" : "forward");
    json.key("flops").raw(count_json(cost.flops));
    json.key("bytes").raw(count_json(cost.bytes));
    write_number(json, "flops_per_byte", intensity_of(cost));
    json.key("compute_spec").string(cost.compute_spec());
    json.key("params").raw(params_json(cost.params));
    if (limits.platform != nullptr) {
        const std::optional<Roofline>& roofline = limits.roofline;
        json.key("platform").string(limits.platform->name);
        write_number(json, "knee_flops_per_byte", limits.knee);
        write_number(json, "compute_time_us", roofline ? std::optional(roofline->compute_us) : std::nullopt);
        write_number(json, "memory_time_us", roofline ? std::optional(roofline->memory_us) : std::nullopt);
        write_number(json, "roofline_time_us", roofline ? std::optional(roofline->time_us) : std::nullopt);
        json.key("roofline_bound");
        if (roofline)
            json.string(to_string(roofline->bound));
        else
            json.null();
    }
    json.end_object();
    return json.take();
}

void print_line(std::string_view name, const std::string& value) {
    fmt::print("  {:<16}{}\n", name, value);
}

std::string count_text(std::optional<double> count, const char* otherwise) {
    return count && std::isfinite(*count) ? count_json(count) : otherwise;
}

/// Why there is no roofline.
std::string missing_roofline(const Cost& cost, const Platform& platform) {
    if (!cost.bytes) return "not known without the bytes";
    if (!tracelens::detail::is_positive(platform.mem_bw_gbps)) return platform.name + " lists no mem_bw_gbps";
    const std::string spec = cost.compute_spec();
    if (spec.empty()) return "not known for this type";
    if (!tracelens::detail::is_positive(platform.peak_tflops(spec)))
        return fmt::format("{} lists no peak for {}", platform.name, spec);
    return "none for ops without arithmetic";
}

void print_text(const Priced& priced, const Limits& limits, const CostOptions& options) {
    const Cost& cost = priced.cost;
    fmt::print("{} ({}{})\n", priced.op, priced.category, options.backward ? ", backward" : "");
    print_line("FLOPs", count_text(cost.flops, "cannot be counted"));
    print_line("bytes", count_text(cost.bytes, "not known: the size of an element of this type is not"));
    const std::optional<double> intensity = intensity_of(cost);
    print_line("intensity", intensity ? fmt::format("{:.6g} FLOPs/byte", *intensity) : "not known");
    const std::string spec = cost.compute_spec();
    print_line("compute spec", spec.empty() ? "none for this type" : spec);
    std::string params;
    for (const Param& param : cost.params) {
        if (!params.empty()) params += "  ";
        params += std::string(param.name) + "=";
        if (options.compat == Compat::reference)
            append_python(params, param.value);
        else
            append_json(params, param.value);
    }
    if (!params.empty()) print_line("parameters", params);
    if (limits.platform == nullptr) return;

    const Platform& platform = *limits.platform;
    print_line("platform", fmt::format("{} ({} figures)", platform.name, to_string(platform.figures)));
    if (limits.roofline) {
        print_line("roofline time",
                   fmt::format("{:.6g} us (compute {:.6g} us, memory {:.6g} us)", limits.roofline->time_us,
                               limits.roofline->compute_us, limits.roofline->memory_us));
        print_line("bound", std::string(to_string(limits.roofline->bound)));
    } else {
        print_line("roofline time", missing_roofline(cost, platform));
    }
    if (limits.knee) print_line("knee", fmt::format("{:.6g} FLOPs/byte", *limits.knee));
}

void add_size(CLI::App& command, const char* name, std::optional<std::int64_t>& size, const char* about) {
    command.add_option(name, size, about)->check(CLI::PositiveNumber)->option_text("N");
}

}  // namespace

void add_cost_options(CLI::App& command, CostOptions& options) {
    command.add_option(
        "OP,--op", options.op,
        "An op with a model, such as aten::mm or mm; gemm and sdpa take sizes instead of shapes");
    command.add_flag("--list", options.list, "Print all ops that have a model, with their categories");
    command
        .add_option("--dtype", options.dtype,
                    "Type of all arguments (bf16, c10::BFloat16), or a JSON list of one an argument")
        ->option_text("TYPE|JSON");
    command.add_option("--dims", options.dims, "Shapes as a JSON list of one an argument, [] for scalars")
        ->option_text("JSON");
    command.add_option("--strides", options.strides, "Their strides (default: contiguous)")
        ->option_text("JSON");
    command
        .add_option("--concrete", options.concrete,
                    "Values of scalars as texts, one an argument, \"\" for tensors")
        ->option_text("JSON");
    command.add_flag("--backward", options.backward, "Price its gradients instead");
    add_size(command, "--M", options.m, "gemm: rows of the result");
    add_size(command, "--N", options.n, "gemm: columns of the result");
    add_size(command, "--K", options.k, "gemm: length of the products");
    command.add_flag("--bias", options.bias, "gemm: a bias is added");
    add_size(command, "--B", options.batch, "gemm, sdpa: batch (default: 1)");
    add_size(command, "--H-Q", options.heads_q, "sdpa: heads of the queries");
    add_size(command, "--N-Q", options.n_q, "sdpa: queries of a sequence");
    add_size(command, "--H-KV", options.heads_kv,
             "sdpa: heads of keys and values (default: those of the queries)");
    add_size(command, "--N-KV", options.n_kv, "sdpa: keys of a sequence");
    add_size(command, "--d-h", options.head_dim, "sdpa: dimension of a head");
    command.add_flag("--causal", options.causal, "sdpa: queries see no later keys");
    command
        .add_option("--platform,--gpu-arch-platform,--gpu-arch-json-path,--arch-name", options.platform,
                    "GPU for the roofline: a name such as MI300X, or a platform file")
        ->option_text("NAME|FILE");
    command.add_option("--extension-file", options.extension_file, "Models of your own ops, a JSON file")
        ->option_text("FILE");
    const std::map<std::string, Compat> compats = {{"none", Compat::none}, {"reference", Compat::reference}};
    command
        .add_option("--compat", options.compat, "reference: the figures of TraceLens, its quirks included")
        ->transform(CLI::CheckedTransformer(compats, CLI::ignore_case).description("{none,reference}"))
        ->option_text("WHAT");
    command.add_flag("--json", options.json, "Print JSON");
    command.footer(examples);
}

int run_cost(const CostOptions& options) {
    ModelRegistry registry;
    const Result<std::vector<std::string>> added = add_extension_file(registry, options.extension_file);
    if (!added) return usage_error(added.failure().message());
    const std::vector<std::string> names = op_names(registry, *added);
    if (options.list) return print_list(registry, names, options.json);
    if (options.op.empty())
        return usage_error("name an op, such as aten::mm, gemm or sdpa; --list names all");

    const Result<Priced> priced = price(options, registry, names);
    if (!priced) return usage_error(priced.failure().message());
    if (!priced->cost.ok()) return usage_error(priced->op + " cannot be priced: " + priced->cost.reason);
    std::optional<Platform> platform;
    if (!options.platform.empty()) {
        Result<std::optional<Platform>> found = find_platform(options.platform, {});
        if (!found) return usage_error(found.failure().message());
        platform = *std::move(found);
    }
    const Limits limits = limits_of(priced->cost, platform ? &*platform : nullptr, rules_of(options));
    if (options.json)
        fmt::print("{}", json_of(*priced, limits, options.backward));
    else
        print_text(*priced, limits, options);
    return exit_ok;
}

}  // namespace driver
