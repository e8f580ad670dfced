// `--compat reference` gives the reference's GPU timeline, cell by cell.
#include <memory>

#include <tracelens/analyze/timeline.hpp>
#include <tracelens/classify/gpu_class.hpp>
#include <tracelens/model/links.hpp>
#include <tracelens/read/open.hpp>
#include <tracelens/write/csv.hpp>

#include "corpus.hpp"
#include "golden_table.hpp"

using namespace tracelens;

namespace {

std::string reference_timeline(const corpus::fs::path& path, const TimelineOptions& options = {}) {
    ReadOptions reading;
    reading.timestamps = Timestamps::reference;
    const Result<Trace> trace = try_read_trace(path.string(), reading);
    REQUIRE(trace.ok());
    const Links links = link_launches(*trace, LinkRule::reference_flows);
    const std::vector<GpuClass> classes = classify_gpu_events(*trace, ClassRules::reference);
    const auto timeline = gpu_timeline(*trace, timeline_events(*trace, links, options.include_unlinked),
                                       classes, options.micro_idle_us);
    REQUIRE(timeline.has_value());
    return to_csv(timeline_table(*trace, *timeline));
}

}  // namespace

TEST_CASE("gpu_timeline.csv equals the reference's on every trace that has it") {
    if (!corpus::present()) return;
    std::size_t cells = 0;
    std::size_t report_traces = 0;
    std::size_t workflow_traces = 0;
    const auto check = [&](const corpus::Case& each, const corpus::fs::path& golden_file) {
        if (!corpus::fs::exists(golden_file)) return false;
        const golden::Comparison comparison =
            golden::compare(support::read_text(golden_file), reference_timeline(each.trace));
        CHECK_MESSAGE(comparison.whole(), each.name, ": ", comparison.first_difference);
        cells += comparison.cells;
        return true;
    };
    for (const corpus::Case& each : corpus::cases()) {
        report_traces += !each.report.empty() && check(each, each.report / "gpu_timeline.csv") ? 1 : 0;
        // Graph replay with captures is merged into another trace first.
        if (each.workflow.empty() || !each.capture.empty()) continue;
        workflow_traces += check(each, each.workflow / "perf_report_csvs" / "gpu_timeline.csv") ? 1 : 0;
    }
    CHECK(report_traces == 14);
    CHECK(workflow_traces >= 14);
    MESSAGE("compared ", cells, " cells of gpu_timeline.csv on ", report_traces, " traces (report) and ",
            workflow_traces, " (workflow)");
}

TEST_CASE("micro idle and unlinked kernels, against the reference's run with these options") {
    if (!corpus::present()) return;
    TimelineOptions options;
    options.include_unlinked = true;
    options.micro_idle_us = 10;
    const golden::Comparison comparison = golden::compare(
        support::read_text(corpus::folder() / "h100_qwen/golden/report_micro_idle/gpu_timeline.csv"),
        reference_timeline(corpus::folder() / "h100_qwen/trace.json.gz", options));
    CHECK_MESSAGE(comparison.whole(), comparison.first_difference);
    MESSAGE("compared ", comparison.cells, " cells");
}

TEST_CASE("the reference's figures for mi300_resnet_ckpt (spec 01, section 13.5)") {
    if (!corpus::present()) return;
    const corpus::fs::path path = corpus::folder() / "mi300_resnet_ckpt/trace.json.gz";
    const auto time_ms = [](const std::string& csv, const std::string& type) {
        for (const golden::Row& row : golden::parse_csv(csv)) {
            if (row.at(0) == type) return *parse_double(row.at(1));
        }
        return -1.0;
    };
    TimelineOptions micro;
    micro.micro_idle_us = 10;
    const std::string split = reference_timeline(path, micro);
    CHECK(time_ms(split, "micro_idle_time") == doctest::Approx(0.288046).epsilon(1e-5));
    CHECK(time_ms(split, "macro_idle_time") == doctest::Approx(0.128687).epsilon(1e-5));
    TimelineOptions all;
    all.include_unlinked = true;
    const std::string unlinked = reference_timeline(path, all);
    CHECK(time_ms(unlinked, "computation_time") == doctest::Approx(26.175002).epsilon(1e-6));
    CHECK(time_ms(unlinked, "exposed_comm_time") == doctest::Approx(55.371218).epsilon(1e-6));
    CHECK(time_ms(unlinked, "busy_time") == doctest::Approx(84.002069).epsilon(1e-6));
    CHECK(time_ms(unlinked, "total_time") == doctest::Approx(86.567708).epsilon(1e-6));
}
