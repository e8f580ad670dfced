#include "analyze_command.hpp"

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <tracelens/core/file.hpp>
#include <tracelens/write/csv.hpp>
#include <tracelens/write/json.hpp>

#include "analysis_report.hpp"
#include "session.hpp"

namespace driver {

using namespace tracelens;

namespace {

std::string quality_json(const Session& session) {
    JsonWriter json;
    json.begin_object();
    json.key("outcome").string(to_string(session.quality.outcome));
    json.key("diagnostics");
    write_diagnostics(json, session.quality.diagnostics);
    json.end_object();
    return json.take();
}

Table device_table(const Session& session) {
    Table table;
    table.add_column("rank", ColumnType::integer);
    table.add_column("device", ColumnType::integer);
    table.add_column("type", ColumnType::text);
    table.add_column("time ms", ColumnType::real);
    table.add_column("percent", ColumnType::real);
    for (const DeviceTimeline& each : session.by_device) {
        const Table rows = timeline_table(session.trace, each.timeline);
        for (std::size_t row = 0; row < rows.row_count(); ++row) {
            table.append_row({each.rank == no_number ? Cell{} : Cell{each.rank}, each.device,
                              rows.cell(0, row), rows.cell(1, row), rows.cell(2, row)});
        }
    }
    return table;
}

struct OutputFile {
    std::string name;
    std::string content;
};

/// Files that an earlier run may have left in the folder and that this one may not write.
constexpr std::array optional_files = {"gpu_timeline.csv", "gpu_timeline_by_device.csv"};

std::vector<OutputFile> output_files(const Session& session) {
    std::vector<OutputFile> files;
    if (session.timeline)
        files.push_back({"gpu_timeline.csv", to_csv(timeline_table(session.trace, *session.timeline))});
    if (!session.by_device.empty())
        files.push_back({"gpu_timeline_by_device.csv", to_csv(device_table(session))});
    files.push_back({"kernel_summary.csv", to_csv(kernel_table(session.trace, session.window_totals))});
    files.push_back({"metadata/trace_quality.json", quality_json(session)});
    files.push_back({"analysis.md", analysis_report(session)});
    return files;
}

}  // namespace

int run_analyze(const AnalyzeOptions& options) {
    SessionOptions wanted{options.common, options.include_unlinked, {}, false};
    if (options.micro_idle_us >= 0) wanted.micro_idle_us = options.micro_idle_us;
    const Result<std::unique_ptr<Session>> opened = open_session(wanted);
    if (!opened) return report_failure(opened.failure());
    const Session& session = **opened;

    for (const char* name : optional_files) std::remove((options.output + "/" + name).c_str());
    for (const OutputFile& file : output_files(session)) {
        const Result<Done> written = write_file(options.output + "/" + file.name, file.content);
        if (written) continue;
        fmt::print(stderr, "tracelens: {}\n", written.failure().message());
        return exit_internal;
    }
    print_diagnostics(session.quality.diagnostics, false);
    if (options.common.quiet) return exit_ok;
    if (session.timeline) {
        const Trace& trace = session.trace;
        const GpuTimeline& times = *session.timeline;
        const auto share = [&](Ticks part) {
            return times.total == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(times.total);
        };
        fmt::print(
            "{:.3f} ms window: {:.1f}% computing, {:.1f}% exposed communication, {:.1f}% exposed copies, "
            "{:.1f}% idle\n",
            trace.to_us(times.total) / 1000, share(times.computation), share(times.exposed_comm),
            share(times.exposed_memcpy), share(times.idle));
    }
    fmt::print("report: {}/analysis.md\n", options.output);
    return exit_ok;
}

}  // namespace driver
