// The kinds of events that a trace holds, for counting them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tracelens::synth {

enum class EventType : std::uint8_t {
    cpu_op,
    user_annotation,
    python_function,
    runtime,
    driver,
    kernel,
    gpu_memcpy,
    gpu_memset,
    sync,
    overhead,
    launch_start,
    launch_finish,
    fwdbwd_start,
    fwdbwd_finish,
    gpu_user_annotation,
    memory,
    trace,
    metadata,
    instant,
};

inline constexpr std::array<std::string_view, 19> event_type_names{
    "cpu_op",     "user_annotation", "python_function",     "cuda_runtime",      "cuda_driver", "kernel",
    "gpu_memcpy", "gpu_memset",      "cuda_sync",           "overhead",          "ac2g s",      "ac2g f",
    "fwdbwd s",   "fwdbwd f",        "gpu_user_annotation", "cpu_instant_event", "Trace",       "M",
    "i"};

/// Events by type.
using EventCounts = std::array<std::uint64_t, event_type_names.size()>;

constexpr std::uint64_t sum(const EventCounts& counts) {
    std::uint64_t total = 0;
    for (const std::uint64_t count : counts) total += count;
    return total;
}

}  // namespace tracelens::synth
