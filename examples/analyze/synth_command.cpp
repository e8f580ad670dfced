#include "synth_command.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace driver {

namespace synth = tracelens::synth;

namespace {

constexpr int default_world_size = 8;

void print_defects() {
    for (const synth::DefectFacts& facts : synth::all_defects())
        fmt::print("{:<22}{}{}\n", facts.name, facts.about, facts.is_placed ? "; @PLACE" : "");
}

std::string size_text(std::uint64_t bytes) {
    const auto count = static_cast<double>(bytes);
    if (bytes >= 1'000'000'000) return fmt::format("{:.2f} GB", count / 1e9);
    return fmt::format("{:.2f} MB", count / 1e6);
}

void print_line(const SynthOptions& options, const std::vector<synth::Summary>& written) {
    std::uint64_t events = 0;
    std::uint64_t bytes = 0;
    for (const synth::Summary& each : written) {
        events += each.events;
        bytes += each.bytes;
    }
    std::string files = options.output;
    if (written.size() > 1) {
        const int last = static_cast<int>(written.size()) - 1;
        files = fmt::format("{} to {}", synth::rank_path(options.output, 0),
                            synth::rank_path(options.output, last));
    }
    fmt::print("{}: {} events, {} of text, {} steps\n", files, events, size_text(bytes),
               written.front().steps);
}

void print_summary(const synth::Summary& summary) {
    for (const synth::KindCount& kind : summary.kinds)
        fmt::print("{:>10}  {:5.1f}%  {}\n", kind.count,
                   100.0 * static_cast<double>(kind.count) / static_cast<double>(summary.events), kind.kind);
    for (const synth::KernelTotal& kernel : summary.kernels)
        fmt::print("{:>10}  {:12.3f} us  {:.120}\n", kernel.count,
                   static_cast<double>(kernel.total_ns) / 1000.0, kernel.name);
}

int usage_error(const char* what) {
    fmt::print(stderr, "{}\nRun with --help for more information.\n", what);
    return exit_usage;
}

/// An option whose value is one of a few names.
template <class T>
void add_choice(CLI::App& command, const std::string& name, T& value, const std::map<std::string, T>& choices,
                const std::string& about) {
    std::string names;
    for (const auto& [each, meaning] : choices) names += (names.empty() ? "" : "|") + each;
    command.add_option(name, value, about)->transform(CLI::CheckedTransformer(choices))->option_text(names);
}

}  // namespace

void add_synth_options(CLI::App& command, SynthOptions& options) {
    synth::Options& trace = options.trace;
    command.add_option("-o,--output", options.output, "File to write; .gz compresses")->option_text("FILE");
    add_choice<synth::Vendor>(command, "--vendor", trace.vendor,
                              {{"amd", synth::Vendor::amd}, {"nvidia", synth::Vendor::nvidia}},
                              "Whose GPU (default: amd)");
    add_choice<synth::WorkloadKind>(
        command, "--workload", trace.workload,
        {{"training", synth::WorkloadKind::training}, {"inference", synth::WorkloadKind::inference}},
        "Training steps, or prefill and decode of a language model (default: training)");
    CLI::Option* const steps = command.add_option("--steps", trace.steps, "Steps to write (default: 2)")
                                   ->check(CLI::PositiveNumber)
                                   ->option_text("N");
    CLI::Option* const events =
        command.add_option("--events", trace.target_events, "As many steps as come nearest to N events")
            ->check(CLI::PositiveNumber)
            ->excludes(steps)
            ->option_text("N");
    command
        .add_option("--bytes", trace.target_bytes,
                    "As many steps as come nearest to a size of text: 65536, 200M, 4G")
        ->transform(CLI::AsSizeValue(true))
        ->check(CLI::PositiveNumber)
        ->excludes(steps)
        ->excludes(events)
        ->option_text("SIZE");
    command.add_option("--seed", trace.seed, "Other times for another number (default: 1)")->option_text("N");
    command.add_option("--layers", trace.layers, "Decoder layers of the model (default: 12)")
        ->option_text("N");
    command
        .add_option("--stack-depth", trace.python_depth,
                    "Deepest nesting of Python frames, 0 for none (default: 28)")
        ->option_text("N");
    command.add_flag("--collectives", trace.collectives, "Collectives on a second stream");
    CLI::Option* const ranks =
        command
            .add_option("--ranks", trace.ranks,
                        "Ranks that run together; each gets its own FILE-rankN, and collectives are on")
            ->option_text("N (default: 1)");
    command.add_flag("--merged", trace.merged, "All ranks in one file, whose ids collide")->needs(ranks);
    command.add_option("--rank", trace.rank, "Which rank a single file is of (default: 0)")
        ->excludes(ranks)
        ->option_text("N");
    command
        .add_option("--world-size", options.world_size,
                    "Size of the process group (default: the ranks, or 8)")
        ->option_text("N");
    command.add_flag("--graphs", trace.graphs, "Inference: decode steps are replays of GPU graphs");
    add_choice<synth::ServingNames>(command, "--annotations", trace.serving_names,
                                    {{"vllm", synth::ServingNames::vllm},
                                     {"vllm-detailed", synth::ServingNames::vllm_detailed},
                                     {"sglang", synth::ServingNames::sglang},
                                     {"sglang-detailed", synth::ServingNames::sglang_detailed},
                                     {"atom-detailed", synth::ServingNames::atom_detailed}},
                                    "Inference: how steps are named (default: vllm)");
    command.add_flag_callback(
        "--no-copies", [&trace] { trace.copies = false; }, "No memcpys and memsets");
    command.add_flag_callback(
        "--no-memory-events", [&trace] { trace.memory_events = false; }, "No allocator events");
    command.add_flag_callback(
        "--compact", [&trace] { trace.style = synth::JsonStyle::compact; }, "No whitespace");
    command.add_flag("--gzip", trace.gzip, "Compress, whatever the file is called");
    command
        .add_option("--defect", options.defects,
                    "A fault for the trace to have, at a place from 0 to 1 of its events; may be repeated")
        ->allow_extra_args(false)
        ->option_text("NAME[@PLACE]");
    command.add_flag("--list-defects", options.list_defects, "Print the names of the faults");
    command.add_flag("--summary", options.summary, "Print counts by category and totals by kernel");
    command.add_flag("-q,--quiet", options.quiet, "Do not say what was written");
    command.footer(
        "Example: tracelens synth -o trace.json.gz --vendor nvidia --bytes 200M --defect truncated@0.9");
}

int run_synth(const SynthOptions& options) {
    const bool wants_list = options.list_defects || std::find(options.defects.begin(), options.defects.end(),
                                                              "list") != options.defects.end();
    if (wants_list) {
        print_defects();
        return exit_ok;
    }
    if (options.output.empty()) return usage_error("-o is required: the file to write");
    try {
        synth::Options trace = options.trace;
        trace.world_size = options.world_size.value_or(trace.ranks > 1 ? trace.ranks : default_world_size);
        trace.gzip = trace.gzip || options.output.ends_with(".gz");
        for (const std::string& each : options.defects) trace.defects.push_back(synth::parse_defect(each));
        const std::vector<synth::Summary> written = synth::write_rank_files(trace, options.output);
        if (!options.quiet) print_line(options, written);
        if (options.summary)
            for (const synth::Summary& each : written) print_summary(each);
        return exit_ok;
    } catch (const std::invalid_argument& error) {
        return usage_error(error.what());
    } catch (const std::runtime_error& error) {
        fmt::print(stderr, "tracelens: {}\n", error.what());
        return exit_internal;
    }
}

}  // namespace driver
