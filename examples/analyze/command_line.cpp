#include "command_line.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <tracelens/version.hpp>

#include "analyze_command.hpp"
#include "cost_command.hpp"
#include "info_command.hpp"
#include "report_command.hpp"
#include "synth_command.hpp"

namespace driver {

namespace {

constexpr const char* examples = R"(Examples:
  tracelens analyze rank0.json.gz -o report      a ranked report in report/analysis.md
  tracelens info rank0.json.gz                   what is in the trace, and its quality
  tracelens info rank0.json.gz --json            the same for scripts
  tracelens report rank0.json.gz --csv tables    the tables behind it, as CSV
  tracelens cost gemm --M 4096 --N 4096 --K 4096 --dtype bf16 --platform MI300X
                                                 what an op costs, and its roofline
  tracelens synth -o trace.json --bytes 1G       a synthetic trace of that size

Exit codes: 0 done, 1 internal fault, 2 wrong usage, 3 nothing to analyse.)";

/// Long options may be written with underscores, as the reference writes them, or with hyphens.
std::vector<std::string> with_hyphens(int argc, char** argv) {
    std::vector<std::string> arguments(argv + 1, argv + argc);
    for (std::string& each : arguments) {
        if (each.substr(0, 2) != "--") continue;
        const std::size_t end = std::min(each.find('='), each.size());
        std::replace(each.begin(), each.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
    }
    return arguments;
}

void add_common(CLI::App& command, CommonOptions& options) {
    command
        .add_option("TRACE,--profile-json-path", options.trace_path,
                    "Trace file of the PyTorch profiler, .json or .json.gz")
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

void add_report_options(CLI::App& command, ReportOptions& options) {
    command
        .add_option("--csv,--output-csvs-dir", options.csv_folder, "Folder for the tables, one CSV file each")
        ->option_text("DIR");
    command.add_option("--json", options.json_file, "File for all tables as one JSON object")
        ->option_text("FILE");
    command
        .add_option("--xlsx,--output-xlsx-path", options.xlsx_file,
                    "File for all tables as one Excel workbook")
        ->option_text("FILE");
    command
        .add_option("--platform,--gpu-arch-platform,--gpu-arch-json-path", options.platform,
                    "GPU for the rooflines: a name such as MI300X, or a platform file (default: the device "
                    "that the trace names)")
        ->option_text("NAME|FILE");
    command
        .add_option("--extension-file", options.extension_file,
                    "Cost models of your own ops, a JSON file (see tracelens cost --help)")
        ->option_text("FILE");
    command.add_flag("--include-unlinked-kernels", options.include_unlinked,
                     "Count GPU work whose launch is not in the trace in the timeline");
    command
        .add_option("--micro-idle-thresh-us", options.micro_idle_us,
                    "Split idle time into gaps shorter than this and others")
        ->check(CLI::NonNegativeNumber)
        ->option_text("US");
    command.add_flag("--enable-kernel-summary,--kernel-summary", options.kernel_summary,
                     "Add tables of kernels by op, name and stream, and of launch delays");
    command.add_flag("--short-kernel-study", options.short_kernels, "Add the tables of short kernels");
    command
        .add_option("--short-kernel-threshold-us", options.short_threshold_us,
                    "Kernels shorter than this are short")
        ->check(CLI::PositiveNumber)
        ->option_text("US (default: 10)");
    command.add_option("--short-kernel-histogram-bins", options.short_bins, "Bins of the histogram")
        ->check(CLI::Range(1, 1000000))
        ->option_text("N (default: 100)");
    command.add_option("--topk-short-kernels", options.short_top_k, "Rows of short_kernels_summary to keep")
        ->option_text("N");
    command.add_option("--topk-ops", options.ops_top_k, "Rows of ops_unique_args to keep")->option_text("N");
    command
        .add_option("--topk-roofline-ops", options.roofline_top_k, "Rows of each sheet of a category to keep")
        ->option_text("N");
    command.add_flag("--include-call-stack", options.call_stacks,
                     "Add where each op was called from (needs Python frames)");
    command.add_flag("--disable-coll-analysis", options.no_collectives, "Leave out the table of collectives");
    command.add_flag("--group-by-num-kernels", options.group_by_num_kernels,
                     "Launches with different numbers of kernels are different rows");
    command.add_flag("--include-overlap-info", options.overlap,
                     "Add the table of what runs beside each op's kernels");
    command.add_flag("--detect-recompute", options.recompute,
                     "Tell activation recompute apart (needs Python frames)");
    command.add_flag("--include-first-occurrence-time", options.first_occurrence,
                     "Add when each row first occurs");
    command.footer("Example: tracelens report rank0.json.gz --csv tables --enable-kernel-summary");
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
    analyze_command->add_flag("--include-unlinked-kernels,--include-unlinked", analyze.include_unlinked,
                              "Count GPU work whose launch is not in the trace");
    analyze_command
        ->add_option("--micro-idle-thresh-us,--micro-idle-us", analyze.micro_idle_us,
                     "Split idle time into gaps shorter than this and others")
        ->check(CLI::NonNegativeNumber)
        ->option_text("US");
    analyze_command->footer("Example: tracelens analyze rank0.json.gz -o report");

    ReportOptions report;
    CLI::App* const report_command =
        app.add_subcommand("report", "Write the performance tables as CSV files");
    add_common(*report_command, report.common);
    add_report_options(*report_command, report);

    CostOptions cost;
    CLI::App* const cost_command = app.add_subcommand("cost", "What an op costs, from its shapes alone");
    add_cost_options(*cost_command, cost);

    SynthOptions synth;
    CLI::App* const synth_command = app.add_subcommand("synth", "Write a synthetic trace");
    add_synth_options(*synth_command, synth);

    try {
        std::vector<std::string> arguments = with_hyphens(argc, argv);
        std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
        app.parse(std::move(arguments));
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? exit_ok : exit_usage;
    }
    if (info_command->parsed()) return run_info(info);
    if (report_command->parsed()) {
        if (!report.csv_folder.empty() || !report.json_file.empty() || !report.xlsx_file.empty())
            return run_report(report);
        std::fputs("report: nothing to write; give --csv DIR, --xlsx FILE or --json FILE\n", stderr);
        return exit_usage;
    }
    if (cost_command->parsed()) return run_cost(cost);
    if (synth_command->parsed()) return run_synth(synth);
    return run_analyze(analyze);
}

}  // namespace driver
