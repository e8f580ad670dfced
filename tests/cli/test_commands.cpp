// The command line: help, usage errors, exit codes, files.
#include <algorithm>
#include <fstream>

#include <nlohmann/json.hpp>

#include <tracelens/version.hpp>

#include "support.hpp"

using nlohmann::json;
using support::driver;
using support::quoted;

namespace {

const std::string samples = std::string(TRACELENS_SOURCE_DIR) + "/examples/data/";
const std::string training = samples + "training_mi300x.json.gz";
const std::string inference = samples + "inference_h100.json";

void write_text(const support::fs::path& path, std::string_view text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
}

constexpr const char* sections[] = {"## Executive Summary",
                                    "## Compute Kernel Optimizations",
                                    "## Kernel Fusion Opportunities (Experimental)",
                                    "## System-Level Optimizations",
                                    "## Detailed Analysis",
                                    "## Appendix"};

void check_sections(const std::string& report) {
    std::size_t at = 0;
    CHECK(report.substr(0, 2) == "# ");
    for (const char* section : sections) {
        const std::size_t found = report.find(std::string("\n") + section + "\n", at);
        CHECK_MESSAGE(found != std::string::npos, section);
        if (found != std::string::npos) at = found;
    }
    for (const char* row : {"| Total Time |", "| Compute % |", "| Idle % |", "| Exposed Communication % |",
                            "| Top Bottleneck Category |"}) {
        CHECK_MESSAGE(report.find(row) != std::string::npos, row);
    }
    // Every marker that is opened is closed, and every card has its block.
    const auto count = [&](std::string_view what) {
        std::size_t n = 0;
        for (std::size_t i = report.find(what); i != std::string::npos; i = report.find(what, i + 1)) ++n;
        return n;
    };
    CHECK(count("<!-- impact-begin") == count("<!-- impact-end -->"));
    CHECK(count("kind=p_item") == count("<!-- reasoning-candidate"));
}

}  // namespace

TEST_CASE("--version and --help") {
    const support::CommandResult version = driver("--version");
    CHECK(version.exit_code == 0);
    CHECK(version.out == "tracelens " TRACELENS_VERSION_STRING "\n");
    for (const char* arguments : {"--help", "info --help", "analyze --help", "-h"}) {
        const support::CommandResult help = driver(arguments);
        CHECK(help.exit_code == 0);
        CHECK(help.out.find("Example") != std::string::npos);
        CHECK(help.err.empty());
    }
}

TEST_CASE("wrong usage ends with 2 and says what is wrong") {
    for (const char* arguments :
         {"", "nonsense", "info", "info a b", "info x --nonsense", "analyze", "info x --compat none_such",
          "info x --timestamps sometimes", "info x -j 0", "analyze x --micro-idle-us -3"}) {
        CAPTURE(arguments);
        const support::CommandResult result = driver(arguments);
        CHECK(result.exit_code == 2);
        CHECK(!result.err.empty());
        CHECK(result.out.empty());
    }
}

TEST_CASE("nothing to analyse ends with 3, one tagged line, and no files") {
    const support::TemporaryFolder folder;
    write_text(folder.path() / "empty.json", "");
    write_text(folder.path() / "page.json", "<!DOCTYPE html><html></html>");
    write_text(folder.path() / "other.json", "{\"answer\": [1, 2, 3]}");
    struct Case {
        std::string path;
        const char* code;
    };
    for (const Case& each : {Case{(folder.path() / "missing.json").string(), "TRACE_MISSING"},
                             Case{folder.path().string(), "TRACE_MISSING"},
                             Case{(folder.path() / "empty.json").string(), "NOT_A_TRACE"},
                             Case{(folder.path() / "page.json").string(), "NOT_A_TRACE"},
                             Case{(folder.path() / "other.json").string(), "NOT_A_TRACE"}}) {
        CAPTURE(each.path);
        const support::CommandResult info = driver("info " + quoted(each.path));
        CHECK(info.exit_code == 3);
        CHECK(info.out.empty());
        CHECK(info.err.find(std::string("[DIAG:profiling:") + each.code + "]") == 0);
        CHECK(std::count(info.err.begin(), info.err.end(), '\n') == 1);

        const support::CommandResult as_json = driver("info --json " + quoted(each.path));
        CHECK(as_json.exit_code == 3);
        const json object = json::parse(as_json.out);
        CHECK(object.at("outcome") == "error");
        CHECK(object.at("diagnostics").at(0).at("code") == each.code);

        const support::fs::path report = folder.path() / "report";
        CHECK(driver("analyze " + quoted(each.path) + " -o " + quoted(report.string())).exit_code == 3);
        CHECK(!support::fs::exists(report));
    }
}

TEST_CASE("info --json prints one object with all keys") {
    const support::CommandResult result = driver("info --json " + quoted(training));
    REQUIRE(result.exit_code == 0);
    const nlohmann::ordered_json info = nlohmann::ordered_json::parse(result.out);
    std::vector<std::string> keys;
    for (const auto& [key, value] : info.items()) keys.push_back(key);
    CHECK(keys == std::vector<std::string>{"path", "format", "outcome", "events", "kernels", "tracks",
                                           "devices", "span_us", "categories", "gpu_timeline_us",
                                           "top_kernels", "diagnostics", "platform"});
    CHECK(info.at("path") == training);
    CHECK(info.at("top_kernels").size() <= 20);
    std::int64_t events = 0;
    for (const auto& [name, count] : info.at("categories").items()) events += count.get<std::int64_t>();
    CHECK(events == info.at("events").get<std::int64_t>());
    CHECK(info.at("platform").get<std::string>().find("MI300X") != std::string::npos);
}

TEST_CASE("root metadata is never echoed") {
    const support::TemporaryFolder folder;
    write_text(
        folder.path() / "trace.json",
        R"({"metadata": {"env": "SECRET_TOKEN=hunter2"}, "deviceProperties": [{"id": 0, "name": "Test GPU", "serial": "hunter2"}],
"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": {}}], "token": "hunter2"})");
    const std::string path = quoted((folder.path() / "trace.json").string());
    const support::fs::path report = folder.path() / "report";
    std::string everything;
    for (const std::string& arguments :
         {"info " + path, "info --json " + path, "analyze " + path + " -o " + quoted(report.string())}) {
        const support::CommandResult result = driver(arguments);
        CHECK(result.exit_code == 0);
        everything += result.out + result.err;
    }
    for (const auto& entry : support::fs::recursive_directory_iterator(report)) {
        if (entry.is_regular_file()) everything += support::read_text(entry.path());
    }
    CHECK(everything.find("Test GPU") != std::string::npos);
    CHECK(everything.find("hunter2") == std::string::npos);
}

TEST_CASE("analyze writes the report folder, the same bytes each time and with any number of jobs") {
    for (const std::string& trace : {training, inference}) {
        const support::TemporaryFolder folder;
        const std::string first = (folder.path() / "a").string();
        const std::string second = (folder.path() / "deep/er/b").string();
        const support::CommandResult result =
            driver("analyze " + quoted(trace) + " -j 1 -o " + quoted(first));
        CHECK(result.exit_code == 0);
        CHECK(result.out.find("report: " + first + "/analysis.md") != std::string::npos);
        CHECK(driver("analyze -q -j 4 " + quoted(trace) + " -o " + quoted(second)).out.empty());
        std::size_t files = 0;
        for (const auto& entry : support::fs::recursive_directory_iterator(first)) {
            if (!entry.is_regular_file()) continue;
            ++files;
            const auto relative = support::fs::relative(entry.path(), first);
            CHECK_MESSAGE(
                support::read_text(entry.path()) == support::read_text(support::fs::path(second) / relative),
                relative.string());
        }
        CHECK(files == 4);
        check_sections(support::read_text(support::fs::path(first) / "analysis.md"));
        const json quality =
            json::parse(support::read_text(support::fs::path(first) / "metadata/trace_quality.json"));
        CHECK(quality.contains("outcome"));
        CHECK(quality.at("diagnostics").is_array());
    }
}

TEST_CASE("an output folder that cannot be written is an error, and no half file stays") {
    const support::TemporaryFolder folder;
    write_text(folder.path() / "file", "x");
    const support::CommandResult result =
        driver("analyze " + quoted(inference) + " -o " + quoted((folder.path() / "file/report").string()));
    CHECK(result.exit_code == 1);
    CHECK(result.err.find("-o") != std::string::npos);
    CHECK(support::read_text(folder.path() / "file") == "x");
}

TEST_CASE("--compat reference and --timestamps change the arithmetic, not the form") {
    const support::CommandResult exact = driver("info --json " + quoted(training));
    const support::CommandResult rounded = driver("info --json --timestamps reference " + quoted(training));
    const support::CommandResult reference = driver("info --json --compat reference " + quoted(training));
    for (const support::CommandResult* each : {&exact, &rounded, &reference}) CHECK(each->exit_code == 0);
    const double exact_total = json::parse(exact.out).at("gpu_timeline_us").at("total_time");
    const double rounded_total = json::parse(rounded.out).at("gpu_timeline_us").at("total_time");
    CHECK(exact_total != rounded_total);
    CHECK(exact_total == doctest::Approx(rounded_total).epsilon(1e-6));
    CHECK(json::parse(reference.out).at("events") == json::parse(exact.out).at("events"));
}

TEST_CASE("analyze gives every corpus trace a report with the six sections") {
    if (!support::have_shared("corpus/corpus.json")) return;
    std::size_t reports = 0;
    for (const json& entry :
         json::parse(support::read_text(support::shared_folder() / "corpus/corpus.json"))) {
        const std::string kind = entry.at("kind");
        if ((kind != "eager" && kind != "inference") || entry.contains("options")) continue;
        const std::string name = entry.at("name");
        CAPTURE(name);
        const support::TemporaryFolder folder;
        const std::string trace =
            (support::shared_folder() / "corpus" / entry.at("trace").get<std::string>()).string();
        for (const char* compat : {"", " --compat reference"}) {
            const support::CommandResult result =
                driver("analyze -q " + quoted(trace) + " -o " + quoted(folder.path().string()) + compat);
            CHECK(result.exit_code == 0);
            check_sections(support::read_text(folder.path() / "analysis.md"));
        }
        ++reports;
    }
    CHECK(reports >= 30);
    MESSAGE(reports, " traces");
}

TEST_CASE("a collapsed trace gets the banner and kernel-name items") {
    if (!support::have_shared("field-cases/cases/15-graph-collapsed")) return;
    const support::TemporaryFolder folder;
    const std::string trace =
        (support::shared_folder() / "field-cases/cases/15-graph-collapsed/trace.json.gz").string();
    const support::CommandResult result =
        driver("analyze " + quoted(trace) + " -o " + quoted(folder.path().string()));
    CHECK(result.exit_code == 0);
    CHECK(result.err.find("[DIAG:trace_quality:GRAPH_UNDER_RECORDED]") != std::string::npos);
    const std::string report = support::read_text(folder.path() / "analysis.md");
    check_sections(report);
    CHECK(report.find("> **Trace quality:** collapsed.") != std::string::npos);
    CHECK(report.find("### \xf0\x9f\x94\xb4 P1: reshape_and_cache_kernel<bf16>_l0") != std::string::npos);
    CHECK(report.find("kind=p_item category=unknown low=") != std::string::npos);
}
