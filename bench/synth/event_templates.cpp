#include "event_templates.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace tracelens::synth {
namespace {

void list(JsonText& json, const char* key, const std::array<std::int64_t, 3>& values) {
    json.key(key);
    json.begin_array();
    for (const std::int64_t value : values) json.integer(value);
    json.end_array();
}

void dims(JsonText& json, const Dims& values) {
    json.begin_array();
    for (const std::int64_t value : values) json.integer(value);
    json.end_array();
}

void shape_list(JsonText& json, const char* key, const Args& args, Dims Tensor::*which) {
    json.key(key);
    json.begin_array();
    for (const Arg& argument : args) {
        if (argument.is_list) {
            json.begin_array();
            for (const Tensor& tensor : argument.tensors) dims(json, tensor.*which);
            json.end_array();
        } else {
            dims(json, argument.tensors.empty() ? Dims{} : argument.tensors.front().*which);
        }
    }
    json.end_array();
}

std::string hexadecimal(std::int64_t value) {
    std::array<char, 20> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
    return "0x" + std::string(digits.data(), end);
}

/// Six decimals, as Kineto prints its ratios.
std::string ratio(double value) {
    std::array<char, 40> digits{};
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed, 6).ptr;
    return {digits.data(), end};
}

}  // namespace

JsonText EventTemplates::start(const char* phase, const char* category, std::string_view name,
                               int process) const {
    JsonText json(options_.style, event_level);
    json.separator();
    json.begin_object();
    json.field("ph", phase);
    json.field("cat", category);
    if (phase[0] == 'i') json.field("s", "t");
    json.field("name", name);
    json.field("pid", process);
    return json;
}

JsonText EventTemplates::start_numbered(const char* category, std::string_view prefix, int process) const {
    JsonText json(options_.style, event_level);
    json.separator();
    json.begin_object();
    json.field("ph", "X");
    json.field("cat", category);
    json.key("name");
    json.string_with_slot(prefix, Slot::second_id);
    json.field("pid", process);
    return json;
}

void EventTemplates::time(JsonText& json, std::string_view key, Slot which) const {
    json.key(key);
    has_string_times_ ? json.string_with_slot("", which) : json.slot(which);
}

void EventTemplates::timed(JsonText& json) const {
    time(json, "ts", Slot::start);
    time(json, "dur", Slot::duration);
}

void EventTemplates::begin_args(JsonText& json) const {
    json.key("args");
    json.begin_object();
    if (options_.merged) json.field("rank", process_.rank);
}

Template EventTemplates::finish_without_args(JsonText& json) const {
    if (options_.merged) {
        begin_args(json);
        json.end_object();
    }
    json.end_object();
    return json.take();
}

Template EventTemplates::finish(JsonText& json) {
    json.end_object();
    json.end_object();
    return json.take();
}

void EventTemplates::argument_lists(JsonText& json, const Args& args) const {
    for (const auto& [key, text] :
         {std::pair{"Concrete Inputs", &Arg::concrete}, std::pair{"Input type", &Arg::type}}) {
        json.key(key);
        json.begin_array();
        for (const Arg& argument : args) json.string(argument.*text);
        json.end_array();
    }
    shape_list(json, "Input Strides", args, &Tensor::strides);
    shape_list(json, "Input Dims", args, &Tensor::dims);
}

std::string EventTemplates::ranks_text() const {
    Dims ranks;
    for (int rank = 0; rank < options_.world_size; ++rank) ranks.push_back(rank);
    return to_text(ranks);
}

void EventTemplates::collective(JsonText& json, const Collective& what, bool is_op) const {
    json.field("Collective name", what.name);
    json.field("In msg nelems", what.in_elements);
    json.field("Out msg nelems", what.out_elements);
    json.field("Group size", options_.world_size);
    json.field("dtype", collective_name(what.dtype));
    json.field("In split size", "[]");
    json.field("Out split size", "[]");
    json.field("Process Group Name", "0");
    json.field("Process Group Description", "default_pg");
    json.field("Process Group Ranks", ranks_text());
    if (!is_op) return;
    json.field("Rank", process_.rank);
    json.field("Global rank start", 0);
    json.field("Global rank stride", 1);
}

Template EventTemplates::op(const OpInfo& info) const {
    const char* category = info.is_annotation ? "user_annotation" : "cpu_op";
    JsonText json = info.is_numbered ? start_numbered(category, info.name, process_.host)
                                     : start("X", category, info.name, process_.host);
    json.field("tid", Slot::thread);
    timed(json);
    begin_args(json);
    json.field("External id", Slot::first_id);
    json.field("Record function id", 0);
    if (info.sequence != SequenceUse::none) {
        json.field("Sequence number", Slot::second_id);
        // The profiler numbers threads that run forward ops from 1, and writes 0 on the forward side itself.
        const bool is_forward =
            info.sequence == SequenceUse::forward || info.sequence == SequenceUse::forward_flow;
        json.field("Fwd thread id", is_forward ? 0 : 1);
    }
    if (info.collective) collective(json, *info.collective, true);
    if (info.has_shapes) argument_lists(json, info.args);
    json.field("Ev Idx", Slot::event_index);
    return finish(json);
}

Template EventTemplates::frame(const FrameInfo& info) const {
    JsonText json = start("X", "python_function", info.name, process_.host);
    json.field("tid", Slot::thread);
    timed(json);
    begin_args(json);
    if (info.module_id >= 0) json.field("Python module id", info.module_id);
    json.field("Python parent id", Slot::second_id_or_null);
    json.field("Python id", Slot::first_id);
    json.field("Ev Idx", Slot::event_index);
    return finish(json);
}

Template EventTemplates::call(const CallInfo& info) const {
    const ApiFacts api = device_.api(info.api);
    JsonText json = start("X", api.is_driver ? "cuda_driver" : "cuda_runtime", api.name, process_.host);
    json.field("tid", Slot::thread);
    timed(json);
    begin_args(json);
    if (info.has_external_id) json.field("External id", Slot::first_id);
    const WorkInfo* work = info.work == no_index ? nullptr : &catalogue_.works()[info.work];
    const bool is_amd_kernel = device_.is_amd() && work != nullptr && work->kind == WorkKind::kernel;
    if (is_amd_kernel) json.field("kernel", work->name);
    json.field(device_.is_amd() ? "cid" : "cbid", api.id);
    json.field("correlation", Slot::second_id);
    if (is_amd_kernel) {
        list(json, "grid", work->grid);
        list(json, "block", work->block);
        json.field("shared memory", work->shared_memory);
    } else if (device_.is_amd() && work != nullptr && work->kind == WorkKind::memcpy) {
        constexpr std::int64_t device_address = 0x7e50'0000'0000;
        constexpr std::int64_t host_address = 0x7ed2'4000'0000;
        const std::int64_t offset = work->bytes % 0x10'0000 * 512;
        const bool from_host = work->copy_kind.front() == 'H';
        const bool to_host = work->copy_kind.back() == 'H';
        json.field("src", hexadecimal((from_host ? host_address : device_address) + offset));
        json.field("dst", hexadecimal((to_host ? host_address : device_address) + 2 * offset));
        json.field("bytes", std::to_string(work->bytes));
        json.field("kind", from_host ? "1" : to_host ? "2" : "3");
    }
    return finish(json);
}

Template EventTemplates::work(const WorkInfo& info, bool has_external_id) const {
    static constexpr std::array categories{"kernel", "gpu_memcpy", "gpu_memset"};
    const DeviceFacts& facts = device_.facts();
    const char* category = info.is_legacy ? "kernel" : categories[static_cast<std::size_t>(info.kind)];
    JsonText json = start("X", category, info.name, process_.device);
    json.field("tid", stream_id(info.stream));
    timed(json);
    begin_args(json);
    if (has_external_id) json.field("External id", Slot::first_id);
    const bool is_kernel = info.kind == WorkKind::kernel;
    if (!device_.is_amd() && is_kernel) json.field("queued", 0);
    json.field("device", process_.device);
    if (!device_.is_amd()) json.field("context", 1);
    json.field("stream", stream_id(info.stream));
    json.field("correlation", Slot::second_id);
    if (device_.is_amd())
        json.field("kind", is_kernel || info.is_legacy     ? "Dispatch Kernel"
                           : info.kind == WorkKind::memset ? "Device"
                                                           : info.copy_kind);
    if (info.is_legacy) return finish(json);
    if (!is_kernel) {
        // AMD's memsets carry no size.
        if (!device_.is_amd() || info.kind == WorkKind::memcpy) {
            json.field("bytes", info.bytes);
            json.field("memory bandwidth (GB/s)", Slot::bandwidth);
        }
        return finish(json);
    }
    if (!device_.is_amd()) {
        const std::int64_t blocks = info.grid[0] * info.grid[1] * info.grid[2];
        const std::int64_t threads = info.block[0] * info.block[1] * info.block[2];
        const double per_processor = static_cast<double>(blocks) / facts.processors;
        const double warps = per_processor * static_cast<double>((threads + 31) / 32);
        json.field("registers per thread", info.registers);
        json.field("shared memory", info.shared_memory);
        json.field_raw("blocks per SM", ratio(per_processor));
        json.field_raw("warps per SM", ratio(warps));
        list(json, "grid", info.grid);
        list(json, "block", info.block);
        json.field("est. achieved occupancy %",
                   std::min(static_cast<std::int64_t>(warps / 64 * 100), std::int64_t{100}));
    } else {
        list(json, "grid", info.grid);
        list(json, "block", info.block);
    }
    if (info.collective) collective(json, *info.collective, false);
    return finish(json);
}

Template EventTemplates::work_annotation(const OpInfo& info, std::uint8_t stream) const {
    JsonText json = info.is_numbered ? start_numbered("gpu_user_annotation", info.name, process_.device)
                                     : start("X", "gpu_user_annotation", info.name, process_.device);
    json.field("tid", stream_id(stream));
    timed(json);
    begin_args(json);
    json.field("External id", Slot::first_id);
    return finish(json);
}

Template EventTemplates::sync(std::string_view name) const {
    JsonText json = start("X", "cuda_sync", name, process_.device);
    json.field("tid", stream_id(compute_stream));
    timed(json);
    begin_args(json);
    json.field("stream", stream_id(compute_stream));
    json.field("correlation", Slot::second_id);
    json.field("device", process_.device);
    json.field("context", 1);
    return finish(json);
}

Template EventTemplates::overhead(std::string_view name) const {
    JsonText json = start("X", "overhead", name, -1);
    json.field("tid", 0);
    timed(json);
    return finish_without_args(json);
}

Template EventTemplates::memory() const {
    JsonText json = start("i", "cpu_instant_event", "[memory]", process_.host);
    json.field("tid", Slot::thread);
    time(json, "ts", Slot::start);
    begin_args(json);
    json.field("Total Reserved", device_.facts().global_memory / 2);
    json.field("Total Allocated", Slot::first_id);
    json.field("Bytes", Slot::duration_value);
    json.field("Addr", Slot::second_id);
    json.field("Device Id", process_.ordinal);
    json.field("Device Type", device_.facts().memory_type);
    json.field("Ev Idx", Slot::event_index);
    return finish(json);
}

Template EventTemplates::host_flow(const char* category, bool is_start) const {
    JsonText json(options_.style, event_level);
    json.separator();
    json.begin_object();
    json.field("ph", is_start ? "s" : "f");
    json.field("id", Slot::second_id);
    json.field("pid", process_.host);
    json.field("tid", Slot::thread);
    time(json, "ts", Slot::start);
    json.field("cat", category);
    json.field("name", category);
    if (!is_start) json.field("bp", "e");
    return finish_without_args(json);
}

Template EventTemplates::device_flow(std::uint8_t stream) const {
    JsonText json(options_.style, event_level);
    json.separator();
    json.begin_object();
    json.field("ph", "f");
    json.field("id", Slot::second_id);
    json.field("pid", process_.device);
    json.field("tid", stream_id(stream));
    time(json, "ts", Slot::start);
    json.field("cat", "ac2g");
    json.field("name", "ac2g");
    json.field("bp", "e");
    return finish_without_args(json);
}

Template EventTemplates::metadata(const char* name, std::string_view process, int thread, const char* key,
                                  std::string_view value) const {
    JsonText json(options_.style, event_level);
    json.separator();
    json.begin_object();
    json.field("name", name);
    json.field("ph", "M");
    time(json, "ts", Slot::start);
    json.field_raw("pid", process);
    json.field("tid", thread);
    begin_args(json);
    json.field_raw(key, value);
    return finish(json);
}

Template EventTemplates::trace_span() const {
    JsonText json(options_.style, event_level);
    json.separator();
    json.begin_object();
    json.field("ph", "X");
    json.field("cat", "Trace");
    timed(json);
    json.field("pid", "Spans");
    json.field("tid", "PyTorch Profiler");
    json.field("name", "PyTorch Profiler (0)");
    begin_args(json);
    json.field("Op count", 0);
    return finish(json);
}

Template EventTemplates::window_instant(const char* name, const char* process, const char* thread) const {
    JsonText json(options_.style, event_level);
    json.separator();
    json.begin_object();
    json.field("name", name);
    json.field("ph", "i");
    json.field("s", "g");
    json.field("pid", process);
    json.field("tid", thread);
    time(json, "ts", Slot::start);
    return finish_without_args(json);
}

}  // namespace tracelens::synth
