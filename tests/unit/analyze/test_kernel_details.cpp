// Kernel statistics cells (spec 01, section 15.7; spec 02, section 9).

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/analyze/kernel_details.hpp>

#include "unit/trace_fixture.hpp"

using namespace tracelens;
using fixture::TraceFixture;

namespace {

constexpr DetailRule both_rules[] = {DetailRule::by_sequence, DetailRule::positional};

struct Work {
    std::string_view name;
    double us;
};
using Launch = std::vector<Work>;

/// Launches and the cells that they give.
class Cells {
  public:
    Cells(std::initializer_list<Launch> launches) {
        for (const Launch& launch : launches) {
            launches_.emplace_back();
            for (const Work& work : launch)
                launches_.back().push_back({trace_.strings.intern(work.name), 7, work.us, {}});
        }
    }

    KernelDetails details(DetailRule rule) const { return kernel_details(trace_, launches_, rule); }
    std::string json(DetailRule rule) const { return to_json(trace_, details(rule)); }
    std::string short_json(DetailRule rule) const { return to_short_json(trace_, details(rule)); }

    /// "name count total" of each position, then the skipped launches, if any.
    std::string text(DetailRule rule) const {
        const KernelDetails found = details(rule);
        std::string out;
        for (const KernelDetail& each : found.positions) {
            if (!out.empty()) out += ", ";
            out +=
                std::string(trace_.text(each.model.name)) + " " + std::to_string(each.durations.size()) + " ";
            append_double(out, each.total());
        }
        if (found.skipped > 0) out += "; skipped " + std::to_string(found.skipped);
        return out;
    }

  private:
    Trace trace_;
    std::vector<std::vector<KernelEntry>> launches_;
};

}  // namespace

TEST_CASE("two launches of two kernels: two entries") {
    const Cells cells = {{{"a", 10}, {"b", 20}}, {{"a", 12}, {"b", 18}}};
    for (const DetailRule rule : both_rules) CHECK(cells.text(rule) == "a 2 22.0, b 2 38.0");
}

TEST_CASE("a cell as JSON: keys and numbers (spec 02, section 9.3)") {
    const Cells cells = {{{"gemm_k", 40}}, {{"gemm_k", 44}}};
    for (const DetailRule rule : both_rules) {
        CHECK(cells.json(rule) ==
              R"([{"name":"gemm_k","stream":7,"count":2,"total_duration_us":84.0,"mean_duration_us":42.0,)"
              R"("median_duration_us":42.0,"std_dev_duration_us":2.0,"min_duration_us":40.0,)"
              R"("max_duration_us":44.0}])");
        CHECK(cells.short_json(rule) == R"([{"name":"gemm_k","stream":7,"mean_duration_us":42.0}])");
    }
}

TEST_CASE("the deviation is of the population, the median of the middle (spec 02, section 4.2)") {
    const Cells cells = {{{"k", 40}}, {{"k", 44}}, {{"k", 30}}};
    const std::string json = cells.json(DetailRule::by_sequence);
    CHECK(json.find("\"median_duration_us\":40.0,\"std_dev_duration_us\":5.8878405775518") !=
          std::string::npos);
    CHECK(Cells{{{"k", 5}}}.json(DetailRule::positional).find("\"std_dev_duration_us\":0.0") !=
          std::string::npos);
}

TEST_CASE("order: of execution; for the reference by total, ties by name") {
    const Cells longest_first = {{{"long", 30}, {"short", 10}}};
    CHECK(longest_first.text(DetailRule::by_sequence) == "long 1 30.0, short 1 10.0");
    CHECK(longest_first.text(DetailRule::positional) == "short 1 10.0, long 1 30.0");
    const Cells ties = {{{"b", 10}, {"c", 5}, {"a", 10}}};
    CHECK(ties.text(DetailRule::by_sequence) == "b 1 10.0, c 1 5.0, a 1 10.0");
    CHECK(ties.text(DetailRule::positional) == "c 1 5.0, a 1 10.0, b 1 10.0");
}

TEST_CASE("one kernel twice in a launch is two positions") {
    const Cells cells = {{{"k", 20}, {"k", 22}}, {{"k", 30}, {"k", 28}}};
    for (const DetailRule rule : both_rules) CHECK(cells.text(rule) == "k 2 50.0, k 2 50.0");
}

TEST_CASE("launches of another length are skipped") {
    const Cells cells = {{{"a", 10}, {"b", 20}}, {{"a", 12}}};
    for (const DetailRule rule : both_rules) CHECK(cells.text(rule) == "a 1 10.0, b 1 20.0; skipped 1");
}

TEST_CASE("the reference holds launches against the first, by default against the most frequent") {
    const Cells cells = {{{"a", 1}, {"b", 2}}, {{"c", 3}}, {{"c", 4}}};
    CHECK(cells.text(DetailRule::by_sequence) == "c 2 7.0; skipped 1");
    CHECK(cells.text(DetailRule::positional) == "a 1 1.0, b 1 2.0; skipped 2");
}

TEST_CASE("other kernels of the same number: one average to the reference, another sequence by default") {
    const Cells cells = {{{"a", 10}}, {{"b", 30}}, {{"b", 34}}};
    CHECK(cells.text(DetailRule::by_sequence) == "b 2 64.0; skipped 1");
    CHECK(cells.text(DetailRule::positional) == "a 3 74.0");
}

TEST_CASE("of equally frequent sequences the first seen wins") {
    CHECK(Cells{{{"b", 1}}, {{"a", 2}}}.text(DetailRule::by_sequence) == "b 1 1.0; skipped 1");
    CHECK(Cells{{{"z", 1}}, {{"a", 2}}, {{"a", 3}}, {{"z", 4}}, {{"m", 5}}}.text(DetailRule::by_sequence) ==
          "z 2 5.0; skipped 3");
}

TEST_CASE("sequences are told apart by order and by length") {
    CHECK(Cells{{{"a", 1}, {"b", 2}}, {{"b", 3}, {"a", 4}}, {{"b", 5}, {"a", 6}}}.text(
              DetailRule::by_sequence) == "b 2 8.0, a 2 10.0; skipped 1");
    CHECK(Cells{{{"a", 1}, {"b", 2}}, {{"a", 3}}, {{"a", 4}}, {{"a", 1}, {"b", 2}, {"c", 3}}}.text(
              DetailRule::by_sequence) == "a 2 7.0; skipped 2");
}

TEST_CASE("a launch without kernels is never the model and is skipped") {
    for (const DetailRule rule : both_rules) {
        CHECK(Cells{{{"a", 10}}, {}}.text(rule) == "a 1 10.0; skipped 1");
        CHECK(Cells{{}, {}, {{"a", 10}}}.text(rule) == "a 1 10.0; skipped 2");
    }
}

TEST_CASE("without any kernel the cell is an empty list, its short form missing") {
    for (const DetailRule rule : both_rules) {
        CHECK(Cells{}.json(rule) == "[]");
        CHECK(Cells{}.short_json(rule) == "");
        CHECK(Cells{{}, {}}.json(rule) == "[]");
        CHECK(Cells{{}, {}}.short_json(rule) == "");
    }
}

TEST_CASE("streams and overlap shares come from the model launch; a missing stream is null") {
    Trace trace;
    const StringId name = trace.strings.intern("k");
    const std::vector<std::vector<KernelEntry>> launches = {{{name, no_number, 10, 0.5}},
                                                            {{name, 20, 20, 0.25}}};
    for (const DetailRule rule : both_rules) {
        const KernelDetails details = kernel_details(trace, launches, rule);
        CHECK(to_json(trace, details).substr(0, 60) ==
              R"([{"name":"k","stream":null,"overlap_pct":0.5,"count":2,"tota)");
        CHECK(to_short_json(trace, details) == R"([{"name":"k","stream":null,"mean_duration_us":15.0}])");
    }
}

TEST_CASE("a position without durations has a count and a total only; its short mean is 0") {
    Trace trace;
    const KernelDetails details{.positions = {{{trace.strings.intern("k"), 7, 0, {}}, {}}}, .skipped = 0};
    CHECK(to_json(trace, details) == R"([{"name":"k","stream":7,"count":0,"total_duration_us":0.0}])");
    CHECK(to_short_json(trace, details) == R"([{"name":"k","stream":7,"mean_duration_us":0.0}])");
}

TEST_CASE("short form: names of more than 64 characters are cut") {
    const auto short_name = [](const std::string& name) {
        const std::string json = Cells{{{name, 1}}}.short_json(DetailRule::by_sequence);
        REQUIRE(json.substr(0, 10) == R"([{"name":")");
        return json.substr(10, json.find("\",\"stream\"") - 10);
    };
    const std::string full(64, 'x');
    CHECK(short_name(full) == full);
    CHECK(short_name(full + "y") == full + "...");
    std::string wide;
    for (int i = 0; i < 64; ++i) wide += "\u00b5";
    CHECK(short_name(wide) == wide);
    CHECK(short_name(wide + "z") == wide + "...");
    CHECK(Cells{{{full + "y", 1}}}.json(DetailRule::by_sequence).find(full + "y\"") != std::string::npos);
}

TEST_CASE("short form: means are rounded after multiplication, ties to even") {
    struct Known {
        double mean;
        std::string_view text;
    };
    for (const Known& known : {Known{8.315, "8.32"}, Known{2.665, "2.66"}, Known{1.115, "1.12"},
                               Known{0.005, "0.0"}, Known{0.125, "0.12"}, Known{41.0, "41.0"}}) {
        CHECK(Cells{{{"k", known.mean}}}.short_json(DetailRule::by_sequence) ==
              R"([{"name":"k","stream":7,"mean_duration_us":)" + std::string(known.text) + "}]");
    }
}

TEST_CASE("names are escaped") {
    CHECK(Cells{{{"a\"b\\", 1}}}.short_json(DetailRule::by_sequence) ==
          R"([{"name":"a\"b\\","stream":7,"mean_duration_us":1.0}])");
}

TEST_CASE("entries of kernels have the recorded duration, not the difference of rounded times") {
    TraceFixture file(Timestamps::reference);
    constexpr std::int64_t start = 1'365'627'866'520'196;  // spec 01, section 1.3
    file.on_stream(0, 7)
        .kernel("a", start, start + 2080)
        .on_stream(0, 9)
        .memcpy("b", start + 5000, start + 5001);
    const Trace trace = file.finish();
    REQUIRE(trace.to_us(trace.duration(0)) == 2.080078125);
    const EventId kernels[] = {0, 1};
    const std::vector<KernelEntry> entries = kernel_entries(trace, kernels, DetailRule::by_sequence);
    REQUIRE(entries.size() == 2);
    CHECK(trace.text(entries[0].name) == "a");
    CHECK(entries[0].us == 2.08);
    CHECK(entries[0].stream == 7);
    CHECK_FALSE(entries[0].overlap_share.has_value());
    CHECK(trace.text(entries[1].name) == "b");
    CHECK(entries[1].stream == 9);
}
