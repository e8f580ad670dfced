// The JSON shape of every kind of event: which fields, in which order, with holes for what changes.
#pragma once

#include <cstdint>

#include "device.hpp"
#include "json_text.hpp"

namespace tracelens::synth {

inline constexpr int host_process = 6240;
inline constexpr int thread_ids[] = {6240, 6412};  // main, autograd

/// Makes templates; each starts with the separator from the event before it.
class EventTemplates {
  public:
    EventTemplates(const Catalogue& catalogue, const Device& device, const Options& options)
        : catalogue_(catalogue), device_(device), options_(options) {}

    [[nodiscard]] Template op(const OpInfo& info) const;
    [[nodiscard]] Template frame(const FrameInfo& info) const;
    [[nodiscard]] Template call(const CallInfo& info) const;
    [[nodiscard]] Template work(const WorkInfo& info, bool has_external_id) const;
    [[nodiscard]] Template work_annotation(const OpInfo& info, std::uint8_t stream) const;
    [[nodiscard]] Template memory() const;
    [[nodiscard]] Template host_flow(const char* category, bool is_start) const;
    [[nodiscard]] Template device_flow(std::uint8_t stream) const;
    /// A metadata event; `process` and `value` are JSON text.
    [[nodiscard]] Template metadata(const char* name, std::string_view process, int thread, const char* key,
                                    std::string_view value) const;
    [[nodiscard]] Template trace_span() const;
    [[nodiscard]] Template window_instant(const char* name, const char* process, const char* thread) const;

    /// Text before the first and after the last event.
    [[nodiscard]] std::string document_begin() const;
    [[nodiscard]] std::string document_end() const;

  private:
    [[nodiscard]] JsonText start(const char* phase, const char* category, std::string_view name,
                                 int process) const;
    [[nodiscard]] JsonText start_numbered(const char* category, std::string_view prefix, int process) const;
    void argument_lists(JsonText& json, const Args& args) const;
    void collective(JsonText& json, const Collective& what, bool is_op) const;
    void timed(JsonText& json) const;
    [[nodiscard]] static Template finish(JsonText& json);
    [[nodiscard]] std::string ranks_text() const;
    [[nodiscard]] int stream_id(std::uint8_t stream) const { return device_.facts().streams[stream]; }

    const Catalogue& catalogue_;
    const Device& device_;
    const Options& options_;
};

}  // namespace tracelens::synth
