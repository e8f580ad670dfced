// `tracelens report`: options, spellings, files.
#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "support.hpp"

using nlohmann::json;
using support::driver;
using support::quoted;

namespace {

const std::string training = std::string(TRACELENS_SOURCE_DIR) + "/examples/data/training_mi300x.json.gz";

std::set<std::string> files_in(const support::fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : support::fs::directory_iterator(folder))
        names.insert(entry.path().filename().string());
    return names;
}

std::size_t lines_of(const support::fs::path& file) {
    const std::string text = support::read_text(file);
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("the reference's option spellings give the same files as the hyphenated ones") {
    const support::TemporaryFolder a;
    const support::TemporaryFolder b;
    const support::CommandResult hyphens =
        driver("report " + quoted(training) + " --csv " + quoted(a.path().string()) +
               " --kernel-summary --short-kernel-study --include-first-occurrence-time --detect-recompute");
    const support::CommandResult underscores = driver(
        "report --profile_json_path=" + quoted(training) + " --output_csvs_dir=" + quoted(b.path().string()) +
        " --enable_kernel_summary --short_kernel_study --include_first_occurrence_time --detect_recompute");
    CHECK(hyphens.exit_code == 0);
    CHECK(underscores.exit_code == 0);
    CHECK(files_in(a.path()) == std::set<std::string>{"gpu_timeline.csv",
                                                      "gpu_timeline_overall.csv",
                                                      "ops_summary_by_category.csv",
                                                      "ops_summary.csv",
                                                      "ops_unique_args.csv",
                                                      "unified_perf_summary.csv",
                                                      "GEMM.csv",
                                                      "SDPA_fwd.csv",
                                                      "SDPA_bwd.csv",
                                                      "CONV_fwd.csv",
                                                      "CONV_bwd.csv",
                                                      "BinaryElementwise.csv",
                                                      "UnaryElementwise.csv",
                                                      "Normalization.csv",
                                                      "Reduce_fwd.csv",
                                                      "coll_analysis.csv",
                                                      "kernel_summary.csv",
                                                      "kernel_summary_by_category.csv",
                                                      "launch_statistics.csv",
                                                      "short_kernel_histogram.csv",
                                                      "short_kernels_summary.csv"});
    CHECK(files_in(a.path()) == files_in(b.path()));
    for (const std::string& name : files_in(a.path())) {
        CHECK_MESSAGE(support::read_text(a.path() / name) == support::read_text(b.path() / name), name);
    }
}

TEST_CASE("top-k options keep the first rows") {
    const support::TemporaryFolder all;
    const support::TemporaryFolder few;
    CHECK(
        driver("report -q " + quoted(training) + " --short_kernel_study --csv " + quoted(all.path().string()))
            .exit_code == 0);
    CHECK(driver("report -q " + quoted(training) +
                 " --short_kernel_study --topk_ops 3 --topk_short_kernels 2 --csv " +
                 quoted(few.path().string()))
              .exit_code == 0);
    CHECK(lines_of(few.path() / "ops_unique_args.csv") == 4);
    CHECK(lines_of(few.path() / "short_kernels_summary.csv") == 3);
    const std::string whole = support::read_text(all.path() / "short_kernels_summary.csv");
    const std::string part = support::read_text(few.path() / "short_kernels_summary.csv");
    CHECK(whole.substr(0, part.size()) == part);
    CHECK(lines_of(few.path() / "ops_summary.csv") == lines_of(all.path() / "ops_summary.csv"));
}

TEST_CASE("short kernel options") {
    const support::TemporaryFolder folder;
    CHECK(
        driver("report -q " + quoted(training) +
               " --short_kernel_study --short_kernel_threshold_us 5 --short_kernel_histogram_bins 7 --csv " +
               quoted(folder.path().string()))
            .exit_code == 0);
    CHECK(lines_of(folder.path() / "short_kernel_histogram.csv") == 8);
    CHECK(driver("report -q " + quoted(training) +
                 " --compat reference --short_kernel_study --short_kernel_threshold_us 0.001 --csv " +
                 quoted(folder.path().string()))
              .exit_code == 0);
    CHECK(support::read_text(folder.path() / "short_kernel_histogram.csv") == "bin_start,bin_end,count\n");
    CHECK(support::read_text(folder.path() / "short_kernels_summary.csv") == "\n");
}

TEST_CASE("--json holds the same tables as the CSV files") {
    const support::TemporaryFolder folder;
    const support::fs::path file = folder.path() / "tables.json";
    CHECK(driver("report -q " + quoted(training) + " --kernel-summary --include-overlap-info --json " +
                 quoted(file.string()) + " --csv " + quoted((folder.path() / "csv").string()))
              .exit_code == 0);
    const json tables = json::parse(support::read_text(file));
    CHECK(tables.size() == files_in(folder.path() / "csv").size());
    for (const auto& each : tables.items()) {
        const std::string& name = each.key();
        CHECK_MESSAGE(each.value().size() + 1 == lines_of(folder.path() / "csv" / (name + ".csv")), name);
    }
    CHECK(tables.at("ops_unique_args").at(0).at("Input Dims").is_array());
}

TEST_CASE("nothing to write is wrong usage") {
    const support::CommandResult result = driver("report " + quoted(training));
    CHECK(result.exit_code == 2);
    CHECK(result.err.find("--csv") != std::string::npos);
}

TEST_CASE("every direct microsecond of linked GPU work is in the op tables once") {
    const support::TemporaryFolder folder;
    const support::fs::path file = folder.path() / "tables.json";
    CHECK(driver("report -q " + quoted(training) + " --json " + quoted(file.string())).exit_code == 0);
    const json tables = json::parse(support::read_text(file));
    double by_name = 0;
    double by_category = 0;
    double by_args = 0;
    for (const json& row : tables.at("ops_summary"))
        by_name += row.at("total_direct_kernel_time_ms").get<double>();
    for (const json& row : tables.at("ops_summary_by_category")) {
        by_category += row.at("total_direct_kernel_time_ms").get<double>();
    }
    for (const json& row : tables.at("ops_unique_args")) {
        by_args += row.at("total_direct_kernel_time_sum").get<double>() / 1000;
    }
    CHECK(by_name == doctest::Approx(by_category).epsilon(1e-9));
    CHECK(by_name == doctest::Approx(by_args).epsilon(1e-9));
    CHECK(tables.at("ops_summary").back().at("Cumulative Percentage (%)").get<double>() ==
          doctest::Approx(100));
}
