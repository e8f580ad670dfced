/// What an event is, from the `cat` field of the trace.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tracelens {

enum class EventKind : std::uint8_t {
    other,  ///< a category that is not in the table below, or none
    cpu_op,
    python_function,
    user_annotation,
    runtime,  ///< CUDA or HIP runtime call
    driver,   ///< CUDA driver call
    kernel,
    gpu_memcpy,
    gpu_memset,
    gpu_user_annotation,
    gpu_sync,   ///< synchronisation drawn on a GPU track; no GPU work
    overhead,   ///< the profiler's own time
    trace_span  ///< the profiler's recording window
};

/// Which side table holds an event's numeric fields.
enum class FieldFamily : std::uint8_t { none, op, frame, launch };

struct EventKindInfo {
    std::string_view category;  ///< the value of `cat`
    EventKind kind;
    FieldFamily family;
};

/// The categories of Kineto (spec 01, section 3.1), one row a value of `cat`.
inline constexpr std::array event_kinds = {
    EventKindInfo{"cpu_op", EventKind::cpu_op, FieldFamily::op},
    EventKindInfo{"python_function", EventKind::python_function, FieldFamily::frame},
    EventKindInfo{"user_annotation", EventKind::user_annotation, FieldFamily::op},
    EventKindInfo{"cuda_runtime", EventKind::runtime, FieldFamily::launch},
    EventKindInfo{"cuda_driver", EventKind::driver, FieldFamily::launch},
    EventKindInfo{"kernel", EventKind::kernel, FieldFamily::launch},
    EventKindInfo{"gpu_memcpy", EventKind::gpu_memcpy, FieldFamily::launch},
    EventKindInfo{"gpu_memset", EventKind::gpu_memset, FieldFamily::launch},
    EventKindInfo{"gpu_user_annotation", EventKind::gpu_user_annotation, FieldFamily::op},
    EventKindInfo{"cuda_sync", EventKind::gpu_sync, FieldFamily::launch},
    EventKindInfo{"overhead", EventKind::overhead, FieldFamily::none},
    EventKindInfo{"Trace", EventKind::trace_span, FieldFamily::none},
};

constexpr EventKind event_kind(std::string_view category) noexcept {
    for (const EventKindInfo& info : event_kinds) {
        if (info.category == category) return info.kind;
    }
    return EventKind::other;
}

constexpr FieldFamily field_family(EventKind kind) noexcept {
    for (const EventKindInfo& info : event_kinds) {
        if (info.kind == kind) return info.family;
    }
    return FieldFamily::none;
}

/// GPU work: what counts in a GPU timeline.
constexpr bool is_gpu_work(EventKind kind) noexcept {
    return kind == EventKind::kernel || kind == EventKind::gpu_memcpy || kind == EventKind::gpu_memset;
}

/// Calls that may launch GPU work.
constexpr bool is_runtime_call(EventKind kind) noexcept {
    return kind == EventKind::runtime || kind == EventKind::driver;
}

/// Events that are drawn on a device's track.
constexpr bool is_on_device(EventKind kind) noexcept {
    return is_gpu_work(kind) || kind == EventKind::gpu_user_annotation || kind == EventKind::gpu_sync;
}

}  // namespace tracelens
