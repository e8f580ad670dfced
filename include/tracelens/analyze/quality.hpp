/// Trace quality: what is wrong with a trace, by how much, and what its analysis can still be trusted with.
/// (Rules: spec 11, sections 3 and 7; limits that it leaves open: spec 06, section 6.3.)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tracelens/core/diagnostics.hpp>
#include <tracelens/model/call_tree.hpp>
#include <tracelens/model/links.hpp>
#include <tracelens/model/results.hpp>
#include <tracelens/model/trace.hpp>

namespace tracelens {

/// All limits, as shares of 1 unless a unit is named.
struct QualityLimits {
    std::uint64_t small_file_bytes = 100'000;
    std::uint64_t few_events = 100;
    double shapes_note = 0.10, shapes_degraded = 0.50;
    double leading_unlinked_note = 0.02;
    double unlinked_note = 0.01, unlinked_degraded = 0.10, unlinked_fallback = 0.50;
    double graph_fallback = 0.10;
    double graph_idle = 0.50, graph_launch_cover = 0.50;
    double corrupt_overrun_us = 100, corrupt_overrun_share = 0.05;
    double high_idle = 0.15;
    double unstable_variation = 0.25;
    std::size_t unstable_instances = 3;
    double warmup_factor = 3;
    double lost_launch_note = 0.005, lost_launch_degraded = 0.05, lost_launch_fallback = 0.30;
    double stopped_note = 0.02, stopped_degraded = 0.10;
    double short_busy_us = 1000;
    std::uint64_t few_kernels = 100;
    double skew_us = 1, skew_note = 0.001, skew_degraded = 0.05;
    double overlap_us = 0.5, overlap_degraded = 0.20;
};

struct Quality {
    Verdict outcome = Verdict::ok;  ///< the worst verdict, notes not counting
    Diagnostics diagnostics;        ///< of the reading and of all checks that fired
    std::vector<bool> excluded;     ///< by event: corrupt durations, to be left out of times; empty when none
    std::vector<EventId> corrupt;   ///< the same as a list
    double graph_share = 0;         ///< of GPU time launched by graph launches
    double unlinked_share = 0;      ///< of GPU time without a launch
    std::uint64_t kernels = 0;      ///< kernels proper: legacy copies and fills do not count
    std::uint64_t gpu_events = 0;
    std::uint64_t linked_gpu_events = 0;
};

/// Runs all checks that need only the trace. `tree` may be built without Python frames. O(n log n).
Quality assess_quality(const Trace& trace, const Links& links, const CallTree& tree,
                       std::span<const GpuClass> classes, const QualityLimits& limits = {});

}  // namespace tracelens

#include <tracelens/analyze/quality-inl.hpp>
