// A trace with everything that all commands need to know about it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tracelens/analyze/kernels.hpp>
#include <tracelens/analyze/quality.hpp>
#include <tracelens/analyze/timeline.hpp>
#include <tracelens/core/error.hpp>
#include <tracelens/model/call_tree.hpp>
#include <tracelens/model/links.hpp>

#include "command_line.hpp"

namespace driver {

struct Session {
    Session() = default;
    Session(const Session&) = delete;  ///< the tree refers to the trace, which must stay in place
    Session& operator=(const Session&) = delete;

    tracelens::Trace trace;
    tracelens::Links links;
    std::vector<tracelens::GpuClass> classes;
    std::unique_ptr<tracelens::CallTree> tree;
    tracelens::Quality quality;

    /// GPU events whose time counts: the linked ones (all when none is linked or when asked for), without
    /// corrupt ones.
    std::vector<tracelens::EventId> timeline_events;
    /// The same with unlinked ones.
    std::vector<tracelens::EventId> all_gpu_events;
    bool nothing_linked = false;

    std::optional<tracelens::GpuTimeline> timeline;
    std::optional<tracelens::GpuTimeline> timeline_with_unlinked;  ///< when unlinked work exists
    std::vector<tracelens::DeviceTimeline> by_device;              ///< when there are several devices

    /// Totals by name, longest first: of `all_gpu_events`, and of the events that the timeline counts.
    std::vector<tracelens::KernelTotals> all_totals;
    std::vector<tracelens::KernelTotals> window_totals;

    /// The first device name that the trace records, or empty.
    std::string device_name;
};

struct SessionOptions {
    CommonOptions common;
    bool include_unlinked = false;
    std::optional<double> micro_idle_us;
    bool python_frames = false;  ///< whether Python frames are nodes of the tree
};

/// Reads the trace and computes the above, with progress on the terminal.
tracelens::Result<std::unique_ptr<Session>> open_session(const SessionOptions& options);

/// The totals of kernels proper: without copies and fills.
std::vector<tracelens::KernelTotals> only_kernels(const std::vector<tracelens::KernelTotals>& totals);

/// Prints every diagnostic worse than a note on stderr, and notes too when `with_notes`.
void print_diagnostics(const tracelens::Diagnostics& diagnostics, bool with_notes);

/// Prints why a trace could not be read, and returns the exit code.
int report_failure(const tracelens::Failure& failure);

}  // namespace driver
