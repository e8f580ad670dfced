// The JSON shape of every kind of event: which fields, in which order, with holes for what changes.
#pragma once

#include <cstdint>

#include "json_text.hpp"
#include "process.hpp"

namespace tracelens::synth {

inline constexpr int event_level = 2;  // events are elements of a list in the top-level object

/// Makes the templates of one process; each starts with the separator from the event before it.
class EventTemplates {
  public:
    EventTemplates(const Catalogue& catalogue, const Device& device, const Options& options,
                   const Process& process)
        : catalogue_(catalogue),
          device_(device),
          options_(options),
          process_(process),
          has_string_times_(has(options, Defect::string_times)) {}

    [[nodiscard]] Template op(const OpInfo& info) const;
    [[nodiscard]] Template frame(const FrameInfo& info) const;
    [[nodiscard]] Template call(const CallInfo& info) const;
    [[nodiscard]] Template work(const WorkInfo& info, bool has_external_id) const;
    [[nodiscard]] Template work_annotation(const OpInfo& info, std::uint8_t stream) const;
    [[nodiscard]] Template sync(std::string_view name) const;
    [[nodiscard]] Template overhead(std::string_view name) const;
    [[nodiscard]] Template memory() const;
    [[nodiscard]] Template host_flow(const char* category, bool is_start) const;
    [[nodiscard]] Template device_flow(std::uint8_t stream) const;
    /// A metadata event; `process` and `value` are JSON text.
    [[nodiscard]] Template metadata(const char* name, std::string_view process, int thread, const char* key,
                                    std::string_view value) const;
    [[nodiscard]] Template trace_span() const;
    [[nodiscard]] Template window_instant(const char* name, const char* process, const char* thread) const;

    // Events as the autograd profiler wrote them before Kineto (Defect::legacy_array).
    [[nodiscard]] Template legacy_event(std::string_view name, bool is_on_device) const;
    [[nodiscard]] Template legacy_flow(std::string_view name, bool is_start) const;

    /// Text before the first and after the last event.
    [[nodiscard]] std::string document_begin() const;
    [[nodiscard]] std::string document_end() const;

  private:
    [[nodiscard]] JsonText start(const char* phase, const char* category, std::string_view name,
                                 int process) const;
    [[nodiscard]] JsonText start_numbered(const char* category, std::string_view prefix, int process) const;
    void argument_lists(JsonText& json, const Args& args) const;
    void collective(JsonText& json, const Collective& what, bool is_op) const;
    void time(JsonText& json, std::string_view key, Slot which) const;
    void timed(JsonText& json) const;
    /// Opens an event's arguments.
    void begin_args(JsonText& json) const;
    /// Ends an event that has no arguments of its own.
    [[nodiscard]] Template finish_without_args(JsonText& json) const;
    [[nodiscard]] static Template finish(JsonText& json);
    [[nodiscard]] std::string ranks_text() const;
    [[nodiscard]] int stream_id(std::uint8_t stream) const { return device_.facts().streams[stream]; }

    const Catalogue& catalogue_;
    const Device& device_;
    const Options& options_;
    Process process_;
    bool has_string_times_;
};

}  // namespace tracelens::synth
