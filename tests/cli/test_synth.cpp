// `tracelens synth`: every fault raises the diagnostic that field cases with that fault must raise.
#include <algorithm>
#include <chrono>
#include <set>

#include <nlohmann/json.hpp>

#include "support.hpp"

using nlohmann::json;
using support::driver;
using support::quoted;

namespace {

/// One fault; `outcome` and `codes` are those of field-cases/cases/`field_case`/expect.json.
struct Case {
    const char* defect;
    const char* field_case;
    const char* outcome;
    std::set<std::string> codes;
    const char* options = "";
};

// Truncation sits near the end here: kernels are written last, and without them there is no GPU timeline.
const Case cases[] = {
    {"control-characters", "01-control-characters", "degraded", {"CORRUPT_JSON"}},
    {"backslashes", "02-backslashes", "degraded", {"CORRUPT_JSON"}},
    {"not-finite-args", "03a-not-finite-args", "ok", {}},
    {"not-finite-durations", "03b-not-finite-durations", "degraded", {"CORRUPT_JSON"}},
    {"truncated@0.98", "04a-truncated", "degraded", {"TRUNCATED"}, "--vendor nvidia"},
    {"truncated-gzip@0.98", "04b-truncated-gzip", "degraded", {"TRUNCATED"}, "--vendor nvidia"},
    {"trailing-comma", "05a-trailing-comma", "degraded", {"CORRUPT_JSON"}},
    {"no-closing-brackets", "05b-no-closing-brackets", "degraded", {"TRUNCATED"}},
    {"legacy-array", "06-legacy-array", "degraded", {"MISSING_CPU_OP_SHAPES", "NO_CALL_STACK"}},
    {"gzip-members", "07-gzip-members", "ok", {}},
    {"no-header-keys", "08-no-header-keys", "ok", {}},
    {"string-times", "09-string-times", "ok", {}},
    {"merged-ranks", "10a-merged-ranks", "ok", {}},
    {"rocm-legacy-copies", "11-rocm-legacy-copies", "ok", {}},
    {"absurd-duration", "12-absurd-duration", "degraded", {"CORRUPT_DURATION"}},
    {"small-overlaps", "13-overlaps-of-27-ns", "ok", {}},
    {"duplicate-flows", "14-duplicate-flow-starts", "ok", {}},
    {"graph-collapsed", "15-graph-collapsed", "fallback", {"GPU_GRAPH_REPLAY", "GRAPH_UNDER_RECORDED"}},
    {"negative-durations", "16a-negative-durations", "degraded", {"NEGATIVE_DURATION"}},
    {"wrapped-durations", "16b-wrapped-durations", "degraded", {}},
    {"sync-and-overhead", "17-sync-and-overhead", "ok", {"HIGH_IDLE"}, "--vendor nvidia"},
    {"collective-names", "18-collective-names", "ok", {}},
    {"cpu-only", "19-cpu-only", "fallback", {"NO_GPU_KERNELS"}},
};

/// Codes that are about how long or how busy a trace is, which no defect decides.
const std::set<std::string> incidental{"HIGH_IDLE", "TRACE_SIZE", "SHORT_WINDOW"};

json info_of(const std::string& options, const support::fs::path& folder) {
    const std::string path = quoted((folder / "trace").string());
    const support::CommandResult written = driver("synth -q -o " + path + " " + options);
    CHECK_MESSAGE(written.exit_code == 0, written.err);
    CHECK(written.out.empty());
    const support::CommandResult info = driver("info --json " + path);
    CHECK(info.exit_code == 0);
    return json::parse(info.out);
}

std::set<std::string> codes_of(const json& info) {
    std::set<std::string> codes;
    for (const json& entry : info.at("diagnostics")) codes.insert(entry.at("code").get<std::string>());
    return codes;
}

std::size_t lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("synth: every defect raises its diagnostics and no others of its field case") {
    const bool has_expectations = support::have_shared("field-cases/cases");
    for (const char* style : {"", " --compact"}) {
        for (const Case& each : cases) {
            CAPTURE(each.defect);
            CAPTURE(style);
            const support::TemporaryFolder folder;
            const json info =
                info_of(std::string("--layers 2 --defect ") + each.defect + " " + each.options + style,
                        folder.path());
            CHECK(info.at("outcome") == each.outcome);
            const std::set<std::string> codes = codes_of(info);
            for (const std::string& code : each.codes) CHECK_MESSAGE(codes.contains(code), code);

            if (!has_expectations) continue;
            const json expected = json::parse(support::read_text(
                support::shared_folder() / "field-cases/cases" / each.field_case / "expect.json"));
            CHECK(expected.at("outcome") == each.outcome);
            for (const std::string code : expected.at("diagnostics"))
                if (!incidental.contains(code)) CHECK_MESSAGE(codes.contains(code), code);
            for (const std::string code : expected.at("absent_diagnostics"))
                CHECK_MESSAGE(!codes.contains(code), code);
        }
    }
}

TEST_CASE("synth: a clean trace raises nothing worse than a note") {
    for (const char* options :
         {"--vendor amd", "--vendor nvidia", "--vendor amd --workload inference",
          "--vendor nvidia --workload inference", "--vendor amd --collectives --compact",
          "--vendor nvidia --workload inference --collectives --annotations sglang-detailed", "--gzip",
          "--ranks 2 --merged", "--no-copies --no-memory-events", "--stack-depth 200 --seed 9"}) {
        CAPTURE(options);
        const support::TemporaryFolder folder;
        const json info = info_of(std::string("--layers 3 ") + options, folder.path());
        CHECK(info.at("outcome") == "ok");
        CHECK(info.at("kernels") > 100);
        for (const json& entry : info.at("diagnostics"))
            CHECK_MESSAGE(entry.at("verdict") == "note", entry.at("code").get<std::string>());
    }
}

TEST_CASE("synth: ranks go to files of their own, merged ones to one") {
    const support::TemporaryFolder folder;
    const std::string path = (folder.path() / "run.json.gz").string();
    const support::CommandResult apart = driver("synth --layers 1 --ranks 3 -o " + quoted(path));
    CHECK(apart.exit_code == 0);
    CHECK(lines(apart.out) == 1);
    CHECK(!support::fs::exists(path));
    CHECK(apart.out.find("run-rank0.json.gz to ") != std::string::npos);
    for (const char* name : {"run-rank0.json.gz", "run-rank1.json.gz", "run-rank2.json.gz"}) {
        const support::fs::path file = folder.path() / name;
        REQUIRE(support::fs::exists(file));
        CHECK(json::parse(driver("info --json " + quoted(file.string())).out).at("outcome") == "ok");
    }
    CHECK(driver("synth --layers 1 --ranks 3 --merged -o " + quoted(path)).exit_code == 0);
    CHECK(codes_of(json::parse(driver("info --json " + quoted(path)).out)).contains("MULTI_RANK"));
}

TEST_CASE("synth: one line says what was written, --summary more, -q nothing") {
    const support::TemporaryFolder folder;
    const std::string path = (folder.path() / "t.json").string();
    const support::CommandResult plain = driver("synth --layers 1 --events 20000 -o " + quoted(path));
    CHECK(plain.exit_code == 0);
    CHECK(plain.err.empty());
    CHECK(lines(plain.out) == 1);
    CHECK(plain.out.find(path + ": ") == 0);
    const std::string first = support::read_text(path);
    const support::CommandResult summary =
        driver("synth --layers 1 --events 20000 --summary -o " + quoted(path));
    CHECK(summary.out.find("python_function") != std::string::npos);
    CHECK(support::read_text(path) == first);
    CHECK(driver("synth -q --layers 1 -o " + quoted(path)).out.empty());
}

TEST_CASE("synth: --help and --list-defects") {
    const support::CommandResult help = driver("synth --help");
    CHECK(help.exit_code == 0);
    CHECK(help.out.find("Example: tracelens synth") != std::string::npos);
    CHECK(driver("--help").out.find("synth") != std::string::npos);
    const support::CommandResult list = driver("synth --list-defects");
    CHECK(list.exit_code == 0);
    CHECK(lines(list.out) == std::size(cases));
    for (const Case& each : cases) {
        const std::string name = std::string(each.defect).substr(0, std::string(each.defect).find('@'));
        CHECK_MESSAGE(list.out.find(name + " ") != std::string::npos, name);
    }
    CHECK(driver("synth --defect list").out == list.out);
}

TEST_CASE("synth: wrong usage ends with 2, and nothing is written") {
    const support::TemporaryFolder folder;
    const std::string path = (folder.path() / "t.json").string();
    const std::string to = " -o " + quoted(path);
    for (const std::string& arguments :
         {std::string(""), "--steps 1" + to + " extra", "--steps 0" + to, "--steps 1 --bytes 1M" + to,
          "--bytes 1M --events 5" + to, "--bytes many" + to, "--vendor intel" + to, "--layers 0" + to,
          "--defect nonsense" + to, "--defect truncated@2" + to, "--defect cpu-only@0.5" + to,
          "--defect sync-and-overhead --vendor amd" + to, "--merged" + to, "--ranks 0" + to,
          "--ranks 4 --world-size 2" + to, "--rank 8" + to}) {
        CAPTURE(arguments);
        const support::CommandResult result = driver("synth " + arguments);
        CHECK(result.exit_code == 2);
        CHECK(!result.err.empty());
        CHECK(result.out.empty());
        CHECK(!support::fs::exists(path));
    }
}

TEST_CASE("synth: a file that cannot be written ends with 1") {
    const support::TemporaryFolder folder;
    const support::CommandResult result =
        driver("synth -o " + quoted((folder.path() / "no/such/folder.json").string()));
    CHECK(result.exit_code == 1);
    CHECK(result.err.find("cannot create") != std::string::npos);
    CHECK(lines(result.err) == 1);
}

TEST_CASE("synth: twenty megabytes take no more than seconds") {
    const support::TemporaryFolder folder;
    const auto begin = std::chrono::steady_clock::now();
    CHECK(driver("synth --bytes 20M -o " + quoted((folder.path() / "t.json").string())).exit_code == 0);
    // At 200 MB/s it takes 0.1 s; the limit is for machines that are busy or check memory accesses.
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
}
