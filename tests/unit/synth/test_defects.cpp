// Defects: their table, their places, and that each changes what it should and nothing else.
#include <algorithm>
#include <string>
#include <vector>

#include "synth/text_faults.hpp"
#include "unit/synth/synth_support.hpp"

using namespace tracelens;
using namespace tracelens::synth_test;
using synth::Defect;

namespace {

synth::Options with(Defect defect, double place = 0.5, synth::Vendor vendor = synth::Vendor::amd) {
    synth::Options options = small(vendor, synth::WorkloadKind::training);
    options.defects.push_back({defect, place});
    return options;
}

std::string clean(synth::Options options) {
    options.defects.clear();
    return generated(options);
}

/// Where two texts part, as a share of the first.
double parting(const std::string& a, const std::string& b) {
    const auto at =
        std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())),
                      b.begin())
            .first -
        a.begin();
    return static_cast<double>(at) / static_cast<double>(a.size());
}

std::size_t count(const std::string& text, std::string_view what) {
    std::size_t number = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++number;
    return number;
}

}  // namespace

TEST_CASE("defects: every name is read, with and without a place") {
    CHECK(synth::all_defects().size() == 23);
    for (const synth::DefectFacts& facts : synth::all_defects()) {
        CAPTURE(facts.name);
        CHECK(!facts.about.empty());
        const synth::DefectChoice choice = synth::parse_defect(facts.name);
        CHECK(choice.defect == facts.defect);
        CHECK(choice.place == 0.5);
        const std::string placed = std::string(facts.name) + "@0.25";
        if (facts.is_placed)
            CHECK(synth::parse_defect(placed).place == 0.25);
        else
            CHECK_THROWS_AS(synth::parse_defect(placed), std::invalid_argument);
    }
    for (const char* wrong : {"", "none_such", "truncated@", "truncated@x", "truncated@1.5", "truncated@-1",
                              "truncated@nan", "truncated@0.5x"}) {
        CAPTURE(wrong);
        CHECK_THROWS_AS(synth::parse_defect(wrong), std::invalid_argument);
    }
}

TEST_CASE("defects: what cannot be is refused") {
    const auto refuses = [](std::vector<Defect> defects, synth::Vendor vendor) {
        synth::Options options = small(vendor, synth::WorkloadKind::training);
        for (const Defect defect : defects) options.defects.push_back({defect});
        CHECK_THROWS_AS(generated(options), std::invalid_argument);
    };
    refuses({Defect::rocm_legacy_copies}, synth::Vendor::nvidia);
    refuses({Defect::duplicate_flows}, synth::Vendor::nvidia);
    refuses({Defect::sync_and_overhead}, synth::Vendor::amd);
    refuses({Defect::legacy_array, Defect::cpu_only}, synth::Vendor::amd);
    refuses({Defect::cpu_only, Defect::absurd_duration}, synth::Vendor::amd);
}

TEST_CASE("defects: the text parts from the clean one at the place asked for") {
    for (const double place : {0.1, 0.5, 0.9}) {
        CAPTURE(place);
        const synth::Options options = with(Defect::truncated, place);
        const std::string whole = clean(options);
        const std::string cut = generated(options);
        CHECK(whole.starts_with(cut));
        // Places count events, and events differ in size.
        CHECK(parting(whole, cut) == doctest::Approx(place).epsilon(0.2));
    }
}

TEST_CASE("defects: edits of the text sit on single events") {
    struct Case {
        Defect defect;
        const char* mark;
        std::size_t times;
    };
    for (const Case& each :
         {Case{Defect::control_characters, "\x01\x02", 1}, Case{Defect::backslashes, R"(C:\)", 3},
          Case{Defect::not_finite_args, ":-Infinity", 1},
          Case{Defect::not_finite_durations, "\"dur\":nan", 1},
          Case{Defect::absurd_duration, "\"dur\":2000000.000", 1},
          Case{Defect::negative_durations, "\"dur\":-", 4},
          Case{Defect::wrapped_durations, "\"dur\":1844674407370", 2}}) {
        CAPTURE(each.mark);
        const synth::Options options = with(each.defect);
        const std::string whole = clean(options);
        CHECK(count(whole, each.mark) == 0);
        const std::string text = generated(options);
        CHECK(count(text, each.mark) == each.times);
        const std::size_t longest = whole.size() + 300;
        CHECK(text.size() < longest);
    }
}

TEST_CASE("defects: an absurd duration grows with the trace") {
    synth::EventCounts totals{};
    totals[static_cast<std::size_t>(synth::EventType::kernel)] = 1;
    constexpr std::int64_t hundred_seconds = 100'000'000'000;
    synth::TextFaults faults(with(Defect::absurd_duration), totals, hundred_seconds);
    REQUIRE(faults.is_next(synth::EventType::kernel));
    std::string text = R"({"ph":"X","dur":1.250,"pid":2})";
    CHECK(faults.edit(text));
    CHECK(text == R"({"ph":"X","dur":50000000.000,"pid":2})");
}

TEST_CASE("defects: kernels overlap by 27 ns and no more, and are out of order in the file") {
    const Trace trace = read(generated(with(Defect::small_overlaps)));
    std::vector<Ticks> end(trace.tracks.size(), -1);
    std::vector<std::uint32_t> place(trace.tracks.size(), 0);
    std::size_t overlaps = 0;
    std::size_t inversions = 0;
    for (EventId event = 0; event < trace.size(); ++event) {
        if (!is_gpu_work(trace.kind[event])) continue;
        const std::uint32_t track = to_index(trace.track[event]);
        if (end[track] > trace.start[event]) {
            ++overlaps;
            CHECK(end[track] - trace.start[event] == 27);
        }
        inversions += place[track] > trace.file_index[event];
        end[track] = trace.end[event];
        place[track] = trace.file_index[event];
    }
    CHECK(overlaps > 100);
    CHECK(inversions > 100);
}

TEST_CASE("defects: the smallest traces can have every defect") {
    for (const synth::DefectFacts& facts : synth::all_defects()) {
        CAPTURE(facts.name);
        const bool is_nvidia = facts.defect == Defect::sync_and_overhead;
        synth::Options options =
            with(facts.defect, 0.5, is_nvidia ? synth::Vendor::nvidia : synth::Vendor::amd);
        options.layers = 1;
        options.python_depth = 0;
        options.target_events = 1;
        synth::Summary summary;
        CHECK(!generated(options, &summary).empty());
        CHECK(summary.steps == (facts.defect == Defect::graph_collapsed ? 2 : 1));
    }
}

TEST_CASE("defects: several at once") {
    synth::Options options = with(Defect::negative_durations);
    options.defects.push_back({Defect::string_times});
    options.defects.push_back({Defect::no_header_keys});
    options.defects.push_back({Defect::truncated, 0.97});
    const std::string text = generated(options);
    CHECK(text.starts_with("{\"traceEvents\":["));
    CHECK(count(text, "\"dur\":-") == 4);
    CHECK(text.find("\"ts\":\"1778572800") != std::string::npos);
    CHECK(!text.ends_with("}\n"));
}
