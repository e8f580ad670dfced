#include "command_line.hpp"

#include <cstdio>

#include <CLI/CLI.hpp>

#include <tracelens/version.hpp>

#include "analyze_command.hpp"
#include "info_command.hpp"

namespace driver {

namespace {

constexpr const char* examples = R"(Examples:
  tracelens analyze rank0.json.gz -o report      a ranked report in report/analysis.md
  tracelens info rank0.json.gz                   what is in the trace, and its quality
  tracelens info rank0.json.gz --json            the same for scripts

Exit codes: 0 done, 1 internal fault, 2 wrong usage, 3 nothing to analyse.)";

void add_common(CLI::App& command, CommonOptions& options) {
    command.add_option("TRACE", options.trace_path, "Trace file of the PyTorch profiler, .json or .json.gz")
        ->required();
    const std::map<std::string, Compat> compats = {{"none", Compat::none}, {"reference", Compat::reference}};
    command
        .add_option("--compat", options.compat,
                    "reference: compute as TraceLens does, its rounding and quirks included")
        ->transform(CLI::CheckedTransformer(compats, CLI::ignore_case).description("{none,reference}"))
        ->option_text("WHAT");
    const std::map<std::string, tracelens::Timestamps> clocks = {
        {"exact", tracelens::Timestamps::exact}, {"reference", tracelens::Timestamps::reference}};
    command
        .add_option("--timestamps", options.timestamps,
                    "exact: nanoseconds from the decimal text (default); reference: rounded as IEEE doubles")
        ->transform(CLI::CheckedTransformer(clocks, CLI::ignore_case).description("{exact,reference}"))
        ->option_text("HOW");
    command.add_option("-j,--jobs", options.jobs, "Threads to use (default: all)")
        ->check(CLI::Range(1, 1024))
        ->option_text("N");
    command.add_flag("-q,--quiet", options.quiet, "No progress, no summary; problems are still reported");
}

}  // namespace

int run_command_line(int argc, char** argv) {
    CLI::App app{"tracelens reads GPU profiler traces, shows where the time goes, and ranks what to fix.",
                 "tracelens"};
    app.set_version_flag("--version", "tracelens " TRACELENS_VERSION_STRING);
    app.footer(examples);
    app.require_subcommand(1);

    InfoOptions info;
    CLI::App* const info_command = app.add_subcommand("info", "What is in a trace, and its quality");
    add_common(*info_command, info.common);
    info_command->add_flag("--json", info.json, "Print one JSON object");
    info_command->footer("Example: tracelens info rank0.json.gz --json");

    AnalyzeOptions analyze;
    CLI::App* const analyze_command = app.add_subcommand("analyze", "Turn a trace into a report");
    add_common(*analyze_command, analyze.common);
    analyze_command
        ->add_option("-o,--output", analyze.output, "Folder for the report (default: tracelens_report)")
        ->option_text("DIR");
    analyze_command->add_flag("--include_unlinked_kernels,--include-unlinked", analyze.include_unlinked,
                              "Count GPU work whose launch is not in the trace");
    analyze_command
        ->add_option("--micro_idle_thresh_us,--micro-idle-us", analyze.micro_idle_us,
                     "Split idle time into gaps shorter than this and others")
        ->check(CLI::NonNegativeNumber)
        ->option_text("US");
    analyze_command->footer("Example: tracelens analyze rank0.json.gz -o report");

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? exit_ok : exit_usage;
    }
    return info_command->parsed() ? run_info(info) : run_analyze(analyze);
}

}  // namespace driver
