/// Plain results that several producers fill: the file analyses, the GPU kernels, the on-the-fly analyser.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <tracelens/core/interval.hpp>
#include <tracelens/core/string_pool.hpp>
#include <tracelens/model/trace.hpp>

namespace tracelens {

/// What one piece of GPU work counts as in a timeline.
enum class GpuClass : std::uint8_t { computation, communication, memcpy, memset, none };

/// Where the time of a set of GPU events goes, in ticks (spec 01, section 13.4).
struct GpuTimeline {
    Ticks computation = 0;            ///< union of computation (memsets included)
    Ticks exposed_comm = 0;           ///< union of communication outside computation
    Ticks exposed_memcpy = 0;         ///< union of copies outside computation and communication
    Ticks busy = 0;                   ///< union of everything
    Ticks idle = 0;                   ///< total - busy
    Ticks total = 0;                  ///< first start to last end
    Ticks total_comm = 0;             ///< union of communication
    Ticks total_memcpy = 0;           ///< union of copies
    std::optional<Ticks> micro_idle;  ///< gaps shorter than the threshold; only with one
    std::optional<Ticks> macro_idle;  ///< the other gaps; only with a threshold
    Interval window;                  ///< first start, last end
    std::uint64_t events = 0;         ///< GPU events that were counted
};

/// The timeline of one device alone.
struct DeviceTimeline {
    std::int64_t device = no_number;
    std::int64_t rank = no_number;
    GpuTimeline timeline;
};

/// Statistics of all kernels of one name. Times in ticks.
struct KernelTotals {
    StringId name = StringId::empty;
    GpuClass gpu_class = GpuClass::computation;
    std::uint64_t count = 0;
    Ticks total = 0;
    Ticks min = std::numeric_limits<Ticks>::max();
    Ticks max = 0;
};

/// A pause of the GPU: no work of the counted set runs in `when`.
struct IdleGap {
    Interval when;
    EventId before = no_event;  ///< the event whose end opens the gap
    EventId after = no_event;   ///< the event whose start closes it
};

}  // namespace tracelens
