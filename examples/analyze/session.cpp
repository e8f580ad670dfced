#include "session.hpp"

#include <cstdio>

#include <fmt/format.h>

#include <tracelens/classify/gpu_class.hpp>
#include <tracelens/model/properties.hpp>
#include <tracelens/read/open.hpp>

#include "progress_line.hpp"

namespace driver {

using namespace tracelens;

std::vector<KernelTotals> only_kernels(const std::vector<KernelTotals>& totals) {
    std::vector<KernelTotals> kernels;
    for (const KernelTotals& each : totals) {
        if (each.gpu_class == GpuClass::computation || each.gpu_class == GpuClass::communication)
            kernels.push_back(each);
    }
    return kernels;
}

Result<std::unique_ptr<Session>> open_session(const SessionOptions& options) {
    const bool reference = options.common.compat == Compat::reference;
    ReadOptions reading;
    reading.timestamps = reference ? Timestamps::reference : options.common.timestamps;
    reading.threads = options.common.jobs;
    reading.progress = progress_line(options.common.quiet);
    Result<Trace> read = try_read_trace(options.common.trace_path, reading);
    clear_progress_line(reading.progress);
    if (!read) return read.failure();

    auto owned = std::make_unique<Session>();
    Session& session = *owned;
    session.trace = *std::move(read);
    const Trace& trace = session.trace;
    session.links = link_launches(trace, reference ? LinkRule::reference_flows : LinkRule::correlation);
    session.classes = classify_gpu_events(trace, reference ? ClassRules::reference : ClassRules::full);
    CallTreeOptions nesting;
    nesting.python_frames = options.python_frames;
    nesting.overrun = reference ? OverrunRule::drop : OverrunRule::clip;
    session.tree = std::make_unique<CallTree>(trace, session.links, nesting);
    session.quality = assess_quality(trace, session.links, *session.tree, session.classes);
    // The reference knows no corrupt durations: its times include them.
    const std::vector<bool> excluded = reference ? std::vector<bool>{} : session.quality.excluded;

    session.nothing_linked = session.links.size() == 0;
    session.all_gpu_events = timeline_events(trace, session.links, true, excluded);
    session.timeline_events =
        timeline_events(trace, session.links, options.include_unlinked || session.nothing_linked, excluded);
    session.timeline = gpu_timeline(trace, session.timeline_events, session.classes, options.micro_idle_us);
    if (session.all_gpu_events.size() > session.timeline_events.size()) {
        session.timeline_with_unlinked =
            gpu_timeline(trace, session.all_gpu_events, session.classes, options.micro_idle_us);
    }
    session.by_device =
        gpu_timeline_by_device(trace, session.timeline_events, session.classes, options.micro_idle_us);
    if (session.by_device.size() < 2) session.by_device.clear();
    session.all_totals = kernel_totals(trace, session.all_gpu_events, session.classes);
    session.window_totals = kernel_totals(trace, session.timeline_events, session.classes);
    const std::vector<std::string> names = recorded_device_names(trace);
    if (!names.empty()) session.device_name = names.front();
    return owned;
}

void print_diagnostics(const Diagnostics& diagnostics, bool with_notes) {
    for (const Diagnostic& entry : diagnostics.entries()) {
        if (entry.verdict <= Verdict::note && !with_notes) continue;
        std::string text = entry.first;
        std::replace(text.begin(), text.end(), '\n', ' ');
        if (entry.count > 1) text = fmt::format("{} ({} cases)", text, entry.count);
        if (!entry.remedy.empty()) text += " - " + entry.remedy;
        fmt::print(stderr, "[DIAG:{}:{}] {}\n", entry.area, entry.code, text);
    }
}

int report_failure(const Failure& failure) {
    const bool no_trace = failure.code == ErrorCode::file_missing ||
                          failure.code == ErrorCode::file_unreadable ||
                          failure.code == ErrorCode::not_a_trace || failure.code == ErrorCode::unsupported;
    fmt::print(stderr, "[DIAG:profiling:{}] {}\n", to_string(failure.code), failure.message());
    return no_trace ? exit_no_trace : exit_internal;
}

}  // namespace driver
