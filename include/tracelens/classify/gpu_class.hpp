/// What a piece of GPU work is for the timeline: computation, communication, a copy or a fill. Decided once
/// for each distinct name and kept as one column.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <tracelens/core/ascii.hpp>
#include <tracelens/model/results.hpp>
#include <tracelens/model/trace.hpp>

namespace tracelens {

/// Which name tables apply.
enum class ClassRules : std::uint8_t {
    full,       ///< every known collective (spec 11, section 7)
    reference,  ///< only the reference's patterns (spec 01, sections 4.3 and 13.1)
};

/// Collectives of the reference: found anywhere in a name, without regard to case.
inline constexpr std::array<std::string_view, 3> reference_collectives = {"rccl", "nccl",
                                                                          "cross_device_reduce"};

/// Collectives beyond those.
inline constexpr std::array<std::string_view, 8> more_collectives = {
    "mscclKernel",         "mscclppKernel",       "nvshmem",    "rocshmem", "ncclSymk",
    "cross_device_reduce", "all_reduce_one_shot", "quickreduce"};

/// Names under which ROCm 7.1 and older recorded copies as kernels. Matched from the start; `.kd` may follow.
inline constexpr std::array<std::string_view, 7> legacy_copies = {
    "MEMORY_COPY_HOST_TO_DEVICE",        "MEMORY_COPY_DEVICE_TO_HOST",  "MEMORY_COPY_DEVICE_TO_DEVICE",
    "__amd_rocclr_copyBuffer",           "__amd_rocclr_copyBufferRect", "__amd_rocclr_copyBufferAligned",
    "__amd_rocclr_copyBufferRectAligned"};

/// The same for fills.
inline constexpr std::array<std::string_view, 2> legacy_fills = {"__amd_rocclr_fillBuffer",
                                                                 "__amd_rocclr_fillBufferAligned"};

namespace detail {

template <class Names>
constexpr bool is_legacy_name(std::string_view name, const Names& names) noexcept {
    if (!name.empty() && name.back() == '\n') name.remove_suffix(1);
    if (name.size() > 3 && name.substr(name.size() - 3) == ".kd") name.remove_suffix(3);
    for (const std::string_view each : names) {
        if (name == each) return true;
    }
    return false;
}

}  // namespace detail

/// Whether a kernel name is that of a collective.
constexpr bool is_communication_name(std::string_view name, ClassRules rules = ClassRules::full) noexcept {
    for (const std::string_view each : reference_collectives) {
        if (detail::contains_ignoring_case(name, each)) return true;
    }
    if (rules == ClassRules::reference) return false;
    for (const std::string_view each : more_collectives) {
        if (detail::contains_ignoring_case(name, each)) return true;
    }
    return false;
}

constexpr bool is_legacy_copy_name(std::string_view name) noexcept {
    return detail::is_legacy_name(name, legacy_copies);
}
constexpr bool is_legacy_fill_name(std::string_view name) noexcept {
    return detail::is_legacy_name(name, legacy_fills);
}

/// The class of one event. `GpuClass::memset` counts as computation in a timeline; the reference rules give
/// legacy fills `GpuClass::computation`.
constexpr GpuClass gpu_class(EventKind kind, std::string_view name,
                             ClassRules rules = ClassRules::full) noexcept {
    switch (kind) {
        case EventKind::gpu_memcpy: return GpuClass::memcpy;
        case EventKind::gpu_memset:
            return is_communication_name(name, rules) ? GpuClass::communication : GpuClass::memset;
        case EventKind::kernel:
            if (is_legacy_copy_name(name)) return GpuClass::memcpy;
            if (is_legacy_fill_name(name))
                return rules == ClassRules::full ? GpuClass::memset : GpuClass::computation;
            return is_communication_name(name, rules) ? GpuClass::communication : GpuClass::computation;
        default: return GpuClass::none;
    }
}

/// The class column of a trace, one value an event. Names are looked at once each: O(events + text of GPU
/// names).
inline std::vector<GpuClass> classify_gpu_events(const Trace& trace, ClassRules rules = ClassRules::full) {
    constexpr std::size_t kinds = 3;  // kernel, gpu_memcpy, gpu_memset
    constexpr std::uint8_t unknown = 0xff;
    std::vector<std::uint8_t> known(trace.strings.size() * kinds, unknown);
    std::vector<GpuClass> classes(trace.size(), GpuClass::none);
    for (EventId event = 0; event < trace.size(); ++event) {
        const EventKind kind = trace.kind[event];
        if (!is_gpu_work(kind)) continue;
        const std::size_t slot =
            to_index(trace.name[event]) * kinds +
            (static_cast<std::size_t>(kind) - static_cast<std::size_t>(EventKind::kernel));
        if (known[slot] == unknown)
            known[slot] = static_cast<std::uint8_t>(gpu_class(kind, trace.name_of(event), rules));
        classes[event] = static_cast<GpuClass>(known[slot]);
    }
    return classes;
}

constexpr const char* to_string(GpuClass gpu_class) noexcept {
    switch (gpu_class) {
        case GpuClass::computation: return "computation";
        case GpuClass::communication: return "communication";
        case GpuClass::memcpy: return "memcpy";
        case GpuClass::memset: return "memset";
        case GpuClass::none: return "none";
    }
    return "none";
}

}  // namespace tracelens
