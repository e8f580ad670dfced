// The top-level keys of a trace, before and after its events.
#include <algorithm>

#include "event_templates.hpp"

namespace tracelens::synth {
namespace {

void device_properties(JsonText& json, const Device& device, int count) {
    const DeviceFacts& facts = device.facts();
    json.key("deviceProperties");
    json.begin_array();
    for (int id = 0; id < count; ++id) {
        json.begin_object();
        json.field("id", id);
        json.field("name", facts.name);
        json.field("totalGlobalMem", facts.global_memory);
        json.field("computeMajor", facts.compute_major);
        json.field("computeMinor", facts.compute_minor);
        json.field("maxThreadsPerBlock", 1024);
        json.field("maxThreadsPerMultiprocessor", 2048);
        json.field("regsPerBlock", 65536);
        json.field("warpSize", facts.warp_size);
        json.field("sharedMemPerBlock", facts.shared_per_block);
        json.field("numSms", facts.processors);
        if (device.is_amd()) {
            json.field("maxSharedMemoryPerMultiProcessor", 65536);
        } else {
            json.field("regsPerMultiprocessor", 65536);
            json.field("sharedMemPerBlockOptin", 232448);
            json.field("sharedMemPerMultiprocessor", 233472);
        }
        json.end_object();
    }
    json.end_array();
}

void distributed_info(JsonText& json, const Options& options, int of_rank) {
    json.key("distributedInfo");
    json.begin_object();
    json.field("backend", "nccl");
    json.field("rank", of_rank);
    json.field("world_size", options.world_size);
    json.field("pg_count", 1);
    json.key("pg_config");
    json.begin_array();
    json.begin_object();
    json.field("pg_name", "0");
    json.field("pg_desc", "default_pg");
    json.field("backend_config", "cuda:nccl");
    json.field("pg_size", options.world_size);
    json.key("ranks");
    json.begin_array();
    for (int rank = 0; rank < options.world_size; ++rank) json.integer(rank);
    json.end_array();
    json.end_object();
    json.end_array();
    json.field("nccl_version", "2.22.3");
    json.end_object();
}

std::string trace_id(const Options& options, int rank) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string text;
    std::uint64_t state = options.seed * 0x9e3779b97f4a7c15U + 17 + static_cast<std::uint64_t>(rank);
    for (int i = 0; i < 32; ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        text += digits[state >> 60];
    }
    return text;
}

}  // namespace

std::string EventTemplates::document_begin() const {
    JsonText json(options_.style, 0);
    if (has(options_, Defect::legacy_array)) return "[";
    json.begin_object();
    if (has(options_, Defect::no_header_keys)) {
        json.key("traceEvents");
        return json.text() + '[';
    }
    json.field("schemaVersion", 1);
    device_properties(json, device_, options_.collectives ? std::min(options_.world_size, 8) : 1);
    if (device_.is_amd()) {
        json.field_raw("roctracer_version", "4.1");
        json.field("hip_runtime_version", 60443483);
        json.field("hip_driver_version", 60443483);
    } else {
        json.field("cupti_version", 22);
        json.field("cuda_runtime_version", 12040);
        json.field("cuda_driver_version", 12090);
    }
    if (options_.collectives) distributed_info(json, options_, process_.rank);
    json.field("record_shapes", 1);
    if (options_.memory_events) json.field("profile_memory", 1);
    if (options_.python_depth > 0) json.field("with_stack", 1);
    json.field("trace_id", trace_id(options_, process_.rank));
    json.key("traceEvents");
    return json.text() + '[';
}

std::string EventTemplates::document_end() const {
    if (has(options_, Defect::no_closing_brackets)) return {};
    const bool is_pretty = options_.style == JsonStyle::pretty;
    std::string text = has(options_, Defect::trailing_comma) ? "," : "";
    if (has(options_, Defect::legacy_array)) return text + (is_pretty ? "\n]" : "]");
    text += is_pretty ? "\n  ]" : "]";
    const std::string closing = is_pretty ? "\n}" : "}";
    if (has(options_, Defect::no_header_keys)) return text + closing;
    const std::string separator = is_pretty ? ",\n  " : ",";
    const std::string colon = is_pretty ? ": " : ":";
    text +=
        separator + "\"traceName\"" + colon + "\"synthetic/rank" + std::to_string(process_.rank) + ".json\"";
    text += separator + "\"displayTimeUnit\"" + colon + "\"ms\"";
    text += separator + "\"baseTimeNanoseconds\"" + colon + "1751410836000000000";
    return text + closing;
}

}  // namespace tracelens::synth
