#include "frames.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

namespace tracelens::synth {
namespace {

std::uint64_t hash(std::string_view text) {
    std::uint64_t value = 0xcbf29ce484222325U;
    for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return value;
}

std::string address(std::string_view text) {
    std::array<char, 16> digits{};
    const std::uint64_t value = 0x7f0000000000U + (hash(text) & 0xfffffffff0U);
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
    return "0x" + std::string(digits.data(), end);
}

struct Source {
    std::string_view file;
    int first_line;
    std::array<std::string_view, 6> functions;  // unused places are empty
};

constexpr std::array library_sources{
    Source{"torch/nn/modules/module.py",
           1915,
           {"__getattr__", "__setattr__", "named_parameters", "children", "train", "_named_members"}},
    Source{"torch/nn/modules/container.py",
           240,
           {"__iter__", "__getitem__", "__len__", "_get_abs_string_index", "", ""}},
    Source{"torch/nn/parameter.py", 10, {"__instancecheck__", "__deepcopy__", "__repr__", "", "", ""}},
    Source{"torch/_tensor.py",
           1020,
           {"__len__", "__hash__", "__format__", "__contains__", "is_shared", "split"}},
    Source{"torch/_jit_internal.py", 103, {"is_scripting", "fn", "", "", "", ""}},
    Source{"torch/jit/_trace.py", 1321, {"is_tracing", "", "", "", "", ""}},
    Source{"torch/utils/_pytree.py",
           681,
           {"_is_namedtuple_instance", "_get_node_type", "_is_leaf", "tree_iter", "tree_flatten",
            "_tuple_flatten"}},
    Source{"torch/utils/_contextlib.py",
           117,
           {"decorate_context", "__new__", "clone", "_wrap_generator", "", ""}},
    Source{"torch/autograd/grad_mode.py", 75, {"__init__", "__enter__", "__exit__", "clone", "", ""}},
    Source{"torch/autograd/graph.py",
           310,
           {"pack_hook", "__enter__", "unpack_hook", "_engine_run_backward", "", ""}},
    Source{"torch/amp/autocast_mode.py",
           355,
           {"__enter__", "__exit__", "is_autocast_available", "_enter_autocast", "", ""}},
    Source{
        "torch/cuda/__init__.py",
        242,
        {"is_initialized", "current_device", "_lazy_init", "current_stream", "is_available", "synchronize"}},
    Source{"torch/cuda/memory.py",
           190,
           {"memory_stats", "memory_allocated", "reset_peak_memory_stats", "", "", ""}},
    Source{"torch/backends/__init__.py", 38, {"__get__", "__set__", "flags_frozen", "", "", ""}},
    Source{"torch/backends/cuda/__init__.py",
           301,
           {"flash_sdp_enabled", "mem_efficient_sdp_enabled", "is_flash_attention_available", "", "", ""}},
    Source{"torch/distributed/distributed_c10d.py",
           1210,
           {"get_rank", "get_world_size", "_get_default_group", "is_initialized", "_rank_not_in_group",
            "_world"}},
    Source{"torch/distributed/c10d_logger.py", 79, {"wrapper", "_get_msg_dict", "", "", "", ""}},
    Source{"torch/nn/parallel/distributed.py",
           1580,
           {"_pre_forward", "_post_forward", "_lazy_init_ddp_join_hook", "will_sync_module_buffers",
            "_find_tensors", "forward"}},
    Source{"torch/optim/optimizer.py",
           72,
           {"_use_grad", "_default_to_fused_or_foreach", "profile_hook_step", "wrapper", "_get_value",
            "_to_scalar"}},
    Source{
        "torch/profiler/profiler.py", 810, {"step", "_trace_ready", "_transit_action", "__enter__", "", ""}},
    Source{"torch/autograd/profiler.py", 740, {"__init__", "__enter__", "__exit__", "__call__", "", ""}},
    Source{"torch/utils/data/_utils/fetch.py", 51, {"fetch", "__init__", "", "", "", ""}},
    Source{"torch/utils/data/_utils/collate.py",
           155,
           {"collate", "default_collate", "collate_tensor_fn", "<listcomp>", "", ""}},
    Source{"torch/utils/data/sampler.py", 302, {"__iter__", "__len__", "<genexpr>", "", "", ""}},
    Source{"contextlib.py", 104, {"__init__", "helper", "__enter__", "__exit__", "inner", ""}},
    Source{"collections/__init__.py", 1137, {"__setitem__", "__getitem__", "__contains__", "get", "", ""}},
    Source{"dataclasses.py", 1278, {"fields", "<genexpr>", "replace", "", "", ""}},
    Source{"typing.py", 392, {"inner", "cast", "__getitem__", "", "", ""}},
    Source{"enum.py", 720, {"__call__", "__new__", "__hash__", "__get__", "", ""}},
    Source{"functools.py", 961, {"__get__", "wrapper", "__call__", "", "", ""}},
    Source{"weakref.py", 369, {"remove", "__getitem__", "__contains__", "__setitem__", "", ""}},
    Source{"threading.py", 1153, {"name", "ident", "is_alive", "", "", ""}},
    Source{"logging/__init__.py", 1724, {"isEnabledFor", "getEffectiveLevel", "debug", "handle", "", ""}},
};

constexpr std::array project_files{
    "project/model/config.py",  "project/model/decoder.py",  "project/model/attention.py",
    "project/model/rotary.py",  "project/model/cache.py",    "project/model/embedding.py",
    "project/engine/state.py",  "project/engine/metrics.py", "project/engine/callbacks.py",
    "project/data/batching.py", "project/data/tokens.py",    "project/utils/guards.py"};
constexpr std::array project_functions{
    "__getattribute__", "_get_setting", "_check_shape", "head_dim",   "is_enabled", "_validate",
    "_maybe_log",       "_layer_kind",  "dtype",        "<listcomp>", "<lambda>",   "_resolve",
    "as_tuple",         "_scaled",      "positions",    "_mask_for"};

constexpr std::array builtin_names{"isinstance",
                                   "issubclass",
                                   "hasattr",
                                   "getattr",
                                   "len",
                                   "iter",
                                   "next",
                                   "id",
                                   "callable",
                                   "any",
                                   "is_grad_enabled",
                                   "_set_grad_enabled",
                                   "_has_torch_function_unary",
                                   "_has_torch_function_variadic",
                                   "_is_torch_function_enabled",
                                   "_get_privateuse1_backend_name",
                                   "_abc_instancecheck",
                                   "hash"};
struct Method {
    std::string_view name;
    std::string_view type;
};
constexpr std::array methods{Method{"get", "dict"},
                             Method{"items", "dict"},
                             Method{"keys", "dict"},
                             Method{"values", "collections.OrderedDict"},
                             Method{"append", "list"},
                             Method{"extend", "list"},
                             Method{"pop", "list"},
                             Method{"add", "set"},
                             Method{"startswith", "str"},
                             Method{"format", "str"},
                             Method{"join", "str"},
                             Method{"size", "Tensor"},
                             Method{"dim", "Tensor"},
                             Method{"numel", "Tensor"},
                             Method{"stride", "Tensor"},
                             Method{"is_floating_point", "Tensor"},
                             Method{"data_ptr", "Tensor"},
                             Method{"requires_grad_", "Tensor"},
                             Method{"__new__", "type"},
                             Method{"_get_tracing_state", "PyCapsule"},
                             Method{"_is_tracing", "PyCapsule"},
                             Method{"values", "collections.defaultdict"}};

std::vector<std::string> make_pool() {
    std::vector<std::string> pool;
    for (const Source& source : library_sources) {
        int line = source.first_line;
        for (const std::string_view function : source.functions) {
            if (function.empty()) break;
            pool.push_back(std::string(source.file) + '(' + std::to_string(line) +
                           "): " + std::string(function));
            line += 7 + static_cast<int>(function.size()) * 3;
        }
    }
    int line = 21;
    for (const std::string_view file : project_files) {
        for (const std::string_view function : project_functions) {
            pool.push_back(std::string(file) + '(' + std::to_string(line) + "): " + std::string(function));
            line = 21 + (line * 13 + 5) % 700;
        }
    }
    for (const std::string_view name : builtin_names) pool.push_back(builtin_function(name));
    for (const Method& method : methods) pool.push_back(builtin_method(method.name, method.type));
    // Neighbours in the pool should come from different files, as in a real call sequence.
    for (std::size_t i = pool.size(); i > 1; --i) std::swap(pool[i - 1], pool[hash(pool[i - 1]) % i]);
    return pool;
}

}  // namespace

std::string builtin_method(std::string_view method, std::string_view type) {
    std::string text = "<built-in method ";
    text += method;
    text += " of ";
    text += type;
    text += " object at ";
    text += address(type);
    return text + '>';
}

std::string builtin_function(std::string_view function) {
    return "<built-in function " + std::string(function) + '>';
}

const std::vector<std::string>& chatter_pool() {
    static const std::vector<std::string> pool = make_pool();
    return pool;
}

std::vector<std::string> entry_frames(std::size_t count, bool is_training) {
    std::vector<std::string> frames;
    frames.emplace_back(is_training ? "train.py(318): <module>" : "serve.py(211): <module>");
    frames.emplace_back(is_training ? "train.py(274): main" : "serve.py(167): main");
    static constexpr std::array wrappers{"trainer/loops/fit_loop.py", "trainer/loops/epoch_loop.py",
                                         "trainer/strategies/base.py", "trainer/plugins/precision.py",
                                         "trainer/callbacks/runner.py"};
    for (std::size_t i = 0; frames.size() + 1 < count; ++i) {
        frames.push_back(std::string(wrappers[i % wrappers.size()]) + '(' + std::to_string(40 + 17 * i) +
                         (i % 2 == 0 ? "): run" : "): advance"));
    }
    frames.emplace_back(is_training ? "train.py(196): run_steps" : "serve.py(98): run_requests");
    frames.resize(count);
    return frames;
}

}  // namespace tracelens::synth
