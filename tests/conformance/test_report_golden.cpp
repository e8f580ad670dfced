// `tracelens report --compat reference` gives the reference's tables, cell by cell and row by row.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "corpus.hpp"
#include "golden_table.hpp"

namespace {

constexpr std::array core_tables = {
    "gpu_timeline",   "ops_summary_by_category", "ops_summary",          "ops_unique_args",
    "kernel_summary", "short_kernel_histogram",  "short_kernels_summary"};

/// Compares the named tables of a golden folder, as far as it has them, with those of a run; returns the
/// cells compared.
template <class Names>
std::size_t compare_folder(const std::string& name, const corpus::fs::path& golden_folder,
                           const corpus::fs::path& ours, const Names& tables) {
    std::size_t cells = 0;
    for (const auto& each : tables) {
        const std::string table(each);
        const corpus::fs::path golden_file = golden_folder / (table + ".csv");
        if (!corpus::fs::exists(golden_file)) continue;
        const corpus::fs::path our_file = ours / (table + ".csv");
        CHECK_MESSAGE(corpus::fs::exists(our_file), name, " ", table);
        const golden::Comparison comparison =
            golden::compare(support::read_text(golden_file), support::read_text(our_file));
        CHECK_MESSAGE(comparison.cells == comparison.agreeing, name, " ", table, ": ",
                      comparison.first_difference);
        cells += comparison.cells;
    }
    return cells;
}

/// Traces with ops whose cost models are not part of the core.
constexpr std::array<std::string_view, 1> beyond_core = {"b200_eager"};

/// All tables of a golden folder.
std::vector<std::string> tables_in(const corpus::fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : corpus::fs::directory_iterator(folder)) {
        if (entry.path().extension() == ".csv") names.push_back(entry.path().stem().string());
    }
    return names;
}

bool is_core(const std::string& name) {
    return std::find(beyond_core.begin(), beyond_core.end(), name) == beyond_core.end();
}

void report(const corpus::fs::path& trace, const corpus::fs::path& folder, const std::string& options) {
    const support::CommandResult result =
        support::driver("report -q --compat reference " + support::quoted(trace.string()) + " --csv " +
                        support::quoted(folder.string()) + " " + options);
    REQUIRE_MESSAGE(result.exit_code == 0, result.err);
}

}  // namespace

TEST_CASE("the core tables equal the reference's on every trace that has them") {
    if (!corpus::present()) return;
    std::size_t cells = 0;
    std::size_t traces = 0;
    for (const corpus::Case& each : corpus::cases()) {
        if (each.report.empty()) continue;
        const support::TemporaryFolder folder;
        report(each.trace, folder.path(), "--enable_kernel_summary --short_kernel_study");
        cells += compare_folder(each.name, each.report, folder.path(), core_tables);
        ++traces;
    }
    CHECK(traces == 14);
    MESSAGE("compared ", cells, " cells of ", core_tables.size(), " tables on ", traces, " traces");
}

TEST_CASE("all tables equal the reference's on the traces whose ops have core models") {
    if (!corpus::present()) return;
    std::size_t cells = 0;
    std::size_t traces = 0;
    for (const corpus::Case& each : corpus::cases()) {
        if (each.report.empty() || !is_core(each.name)) continue;
        const support::TemporaryFolder folder;
        report(each.trace, folder.path(), "--enable_kernel_summary --short_kernel_study");
        cells += compare_folder(each.name, each.report, folder.path(), tables_in(each.report));
        ++traces;
    }
    CHECK(traces == 13);
    MESSAGE("compared ", cells, " cells of all tables on ", traces, " traces");
}

TEST_CASE("rooflines, call stacks and kernel counts equal those of the reference's workflow") {
    if (!corpus::present()) return;
    std::size_t cells = 0;
    std::size_t traces = 0;
    for (const corpus::Case& each : corpus::cases()) {
        const corpus::fs::path golden = each.workflow / "perf_report_csvs";
        const bool eager = each.name.find('/') == std::string::npos || each.name.rfind("unit/", 0) == 0;
        if (each.workflow.empty() || !eager || !corpus::fs::exists(golden) || !is_core(each.name)) continue;
        const support::TemporaryFolder folder;
        report(each.trace, folder.path(), "--group_by_num_kernels --include_call_stack --platform MI300X");
        cells += compare_folder(each.name, golden, folder.path(), tables_in(golden));
        ++traces;
    }
    CHECK(traces == 27);
    MESSAGE("compared ", cells, " cells of all tables on ", traces, " traces");
}

TEST_CASE(
    "recompute, overlap, first occurrence and micro idle equal the reference's run with these options") {
    if (!corpus::present()) return;
    const corpus::fs::path folder = corpus::folder() / "mi300_resnet_ckpt";
    const support::TemporaryFolder ours;
    report(
        folder / "trace.json.gz", ours.path(),
        "--detect_recompute --include_overlap_info --include_first_occurrence_time --enable_kernel_summary "
        "--short_kernel_study --micro_idle_thresh_us 5");
    const corpus::fs::path golden = folder / "golden/report_options";
    const std::size_t cells = compare_folder("options", golden, ours.path(), tables_in(golden));
    MESSAGE("compared ", cells, " cells");
}

TEST_CASE("unlinked kernels and micro idle equal the reference's run with these options") {
    if (!corpus::present()) return;
    const corpus::fs::path folder = corpus::folder() / "h100_qwen";
    const support::TemporaryFolder ours;
    report(folder / "trace.json.gz", ours.path(), "--include_unlinked_kernels --micro_idle_thresh_us 10");
    const std::size_t cells =
        compare_folder("micro idle", folder / "golden/report_micro_idle", ours.path(), core_tables);
    MESSAGE("compared ", cells, " cells");
}
