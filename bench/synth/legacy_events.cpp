// Events as the autograd profiler wrote them before Kineto: no categories, two named processes.
#include "event_templates.hpp"

namespace tracelens::synth {
namespace {

constexpr const char* host_functions = "CPU functions";
constexpr const char* device_functions = "CUDA functions";

}  // namespace

Template EventTemplates::legacy_event(std::string_view name, bool is_on_device) const {
    JsonText json(options_.style, event_level);
    json.separator();
    json.begin_object();
    json.field("name", name);
    json.field("ph", "X");
    timed(json);
    is_on_device ? json.field("tid", process_.ordinal) : json.field("tid", Slot::thread);
    json.field("pid", is_on_device ? device_functions : host_functions);
    begin_args(json);
    return finish(json);
}

Template EventTemplates::legacy_flow(std::string_view name, bool is_start) const {
    JsonText json(options_.style, event_level);
    json.separator();
    json.begin_object();
    json.field("name", name);
    json.field("ph", is_start ? "s" : "f");
    time(json, "ts", Slot::start);
    is_start ? json.field("tid", Slot::thread) : json.field("tid", process_.ordinal);
    json.field("pid", is_start ? host_functions : device_functions);
    json.field("id", Slot::second_id);
    json.field("cat", "cpu_to_cuda");
    begin_args(json);
    return finish(json);
}

}  // namespace tracelens::synth
