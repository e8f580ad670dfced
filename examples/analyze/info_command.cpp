#include "info_command.hpp"

#include <cstdio>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include <tracelens/core/text.hpp>
#include <tracelens/write/json.hpp>

#include "session.hpp"

namespace driver {

using namespace tracelens;

namespace {

constexpr std::size_t most_kernels = 20;

struct Overview {
    std::map<std::string, std::int64_t> categories;  ///< complete events
    std::size_t tracks = 0;                          ///< with complete events
    std::size_t devices = 0;                         ///< with GPU work
};

Overview overview_of(const Session& session) {
    const Trace& trace = session.trace;
    Overview overview;
    std::vector<std::int64_t> by_category(trace.strings.size(), 0);
    std::vector<bool> used(trace.tracks.size(), false);
    std::set<std::pair<std::int64_t, std::int64_t>> devices;
    for (EventId event = 0; event < trace.size(); ++event) {
        ++by_category[to_index(trace.category[event])];
        used[to_index(trace.track[event])] = true;
        const Track& track = trace.track_of(event);
        if (is_gpu_work(trace.kind[event])) devices.emplace(track.rank, track.device);
    }
    for (std::uint32_t id = 0; id < by_category.size(); ++id) {
        if (by_category[id] == 0) continue;
        const std::string_view name = trace.text(StringId{id});
        overview.categories[name.empty() ? "(none)" : std::string(name)] = by_category[id];
    }
    for (const bool each : used) overview.tracks += each ? 1 : 0;
    overview.devices = devices.size();
    return overview;
}

void write_timeline(JsonWriter& json, const Trace& trace, const GpuTimeline& timeline) {
    json.begin_object();
    json.key("total_time").number(trace.to_us(timeline.total));
    json.key("computation_time").number(trace.to_us(timeline.computation));
    json.key("exposed_comm_time").number(trace.to_us(timeline.exposed_comm));
    json.key("exposed_memcpy_time").number(trace.to_us(timeline.exposed_memcpy));
    json.key("busy_time").number(trace.to_us(timeline.busy));
    json.key("idle_time").number(trace.to_us(timeline.idle));
    json.end_object();
}

std::string device_key(const DeviceTimeline& each) {
    return each.rank == no_number ? std::to_string(each.device)
                                  : fmt::format("rank {} device {}", each.rank, each.device);
}

/// Ranks are named only where a device number alone would be ambiguous.
bool device_numbers_are_unique(const std::vector<DeviceTimeline>& devices) {
    std::set<std::int64_t> seen;
    for (const DeviceTimeline& each : devices) seen.insert(each.device);
    return seen.size() == devices.size();
}

std::string json_of(const Session& session) {
    const Trace& trace = session.trace;
    const Overview overview = overview_of(session);
    JsonWriter json;
    json.begin_object();
    json.key("path").string(trace.path);
    json.key("format").string(trace.format);
    json.key("outcome").string(to_string(session.quality.outcome));
    json.key("events").integer(static_cast<std::int64_t>(trace.size()));
    json.key("kernels").integer(static_cast<std::int64_t>(session.quality.kernels));
    json.key("tracks").integer(static_cast<std::int64_t>(overview.tracks));
    json.key("devices").integer(static_cast<std::int64_t>(overview.devices));
    const std::optional<Interval> span = trace.span();
    json.key("span_us").number(span ? trace.to_us(span->end - span->start) : 0);
    json.key("categories").begin_object();
    for (const auto& [name, count] : overview.categories) json.key(name).integer(count);
    json.end_object();
    json.key("gpu_timeline_us");
    if (session.timeline)
        write_timeline(json, trace, *session.timeline);
    else
        json.null();
    if (session.timeline_with_unlinked) {
        json.key("gpu_timeline_with_unlinked_us");
        write_timeline(json, trace, *session.timeline_with_unlinked);
    }
    if (!session.by_device.empty()) {
        const bool plain = device_numbers_are_unique(session.by_device);
        json.key("gpu_timeline_by_device_us").begin_object();
        for (const DeviceTimeline& each : session.by_device) {
            json.key(plain ? std::to_string(each.device) : device_key(each));
            write_timeline(json, trace, each.timeline);
        }
        json.end_object();
    }
    json.key("top_kernels").begin_array();
    std::vector<KernelTotals> kernels = only_kernels(session.all_totals);
    if (kernels.size() > most_kernels) kernels.resize(most_kernels);
    for (const KernelTotals& each : kernels) {
        json.begin_object();
        json.key("name").string(trace.text(each.name));
        json.key("count").integer(static_cast<std::int64_t>(each.count));
        json.key("total_us").number(trace.to_us(each.total));
        json.end_object();
    }
    json.end_array();
    json.key("diagnostics");
    write_diagnostics(json, session.quality.diagnostics);
    json.key("platform");
    if (session.device_name.empty())
        json.null();
    else
        json.string(session.device_name);
    json.end_object();
    return json.take();
}

/// The same object for input that is no trace: everything unknown is null.
std::string json_of(const std::string& path, const Failure& failure) {
    Diagnostics diagnostics;
    diagnostics.add({"profiling",
                     to_string(failure.code),
                     Verdict::error,
                     1,
                     failure.message(),
                     failure.remedy,
                     {},
                     {},
                     {}});
    JsonWriter json;
    json.begin_object();
    json.key("path").string(path);
    json.key("format").null();
    json.key("outcome").string(to_string(Verdict::error));
    json.key("events").integer(0);
    json.key("kernels").integer(0);
    json.key("tracks").integer(0);
    json.key("devices").integer(0);
    json.key("span_us").number(0);
    json.key("categories").begin_object().end_object();
    json.key("gpu_timeline_us").null();
    json.key("top_kernels").begin_array().end_array();
    json.key("diagnostics");
    write_diagnostics(json, diagnostics);
    json.key("platform").null();
    json.end_object();
    return json.take();
}

void print_timeline(const Trace& trace, const GpuTimeline& timeline, std::string_view title) {
    fmt::print("\n{}\n", title);
    const auto row = [&](const char* name, Ticks ticks) {
        const double share =
            timeline.total == 0 ? 0 : 100 * static_cast<double>(ticks) / static_cast<double>(timeline.total);
        fmt::print("  {:<22}{:>14.3f} ms {:>6.1f} %\n", name, trace.to_us(ticks) / 1000, share);
    };
    row("computation", timeline.computation);
    row("exposed communication", timeline.exposed_comm);
    row("exposed copies", timeline.exposed_memcpy);
    row("idle", timeline.idle);
    row("total", timeline.total);
}

void print_text(const Session& session) {
    const Trace& trace = session.trace;
    const Overview overview = overview_of(session);
    fmt::print("{}  ({}, {})\n", trace.path, trace.format, to_string(session.quality.outcome));
    const std::optional<Interval> span = trace.span();
    fmt::print("  {} complete events of {} on {} tracks, {:.3f} ms; {} kernels on {} device{}\n",
               trace.size(), trace.file_events, overview.tracks,
               span ? trace.to_us(span->end - span->start) / 1000 : 0, session.quality.kernels,
               overview.devices, overview.devices == 1 ? "" : "s");
    fmt::print("  platform: {}\n", session.device_name.empty() ? "not recorded" : session.device_name);
    fmt::print("\nEvents by category\n");
    for (const auto& [name, count] : overview.categories) fmt::print("  {:<22}{:>14}\n", name, count);
    if (session.timeline) {
        print_timeline(
            trace, *session.timeline,
            session.nothing_linked ? "GPU timeline (all GPU events; none has a launch)" : "GPU timeline");
    }
    if (session.timeline_with_unlinked)
        print_timeline(trace, *session.timeline_with_unlinked, "GPU timeline with unlinked work");
    for (const DeviceTimeline& each : session.by_device)
        print_timeline(trace, each.timeline, "GPU timeline of device " + device_key(each));
    const std::vector<KernelTotals> kernels = only_kernels(session.all_totals);
    if (!kernels.empty()) fmt::print("\nTop kernels\n");
    for (std::size_t i = 0; i < kernels.size() && i < most_kernels; ++i) {
        fmt::print("  {:>12.3f} ms {:>7} x  {}\n", trace.to_us(kernels[i].total) / 1000, kernels[i].count,
                   shortened(trace.text(kernels[i].name), 90));
    }
    fmt::print("\n");
}

}  // namespace

int run_info(const InfoOptions& options) {
    const Result<std::unique_ptr<Session>> opened = open_session({options.common, false, {}, false});
    if (!opened) {
        if (options.json) std::fputs(json_of(options.common.trace_path, opened.failure()).c_str(), stdout);
        return report_failure(opened.failure());
    }
    const Session& session = **opened;
    if (options.json) {
        std::fputs(json_of(session).c_str(), stdout);
    } else {
        print_text(session);
        std::fflush(stdout);
    }
    print_diagnostics(session.quality.diagnostics, !options.common.quiet);
    return exit_ok;
}

}  // namespace driver
