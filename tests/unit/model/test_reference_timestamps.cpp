// Timestamps::reference: times as IEEE doubles of absolute microseconds round them (spec 01, section 1).

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/model/trace_builder.hpp>

#include "unit/trace_fixture.hpp"

using namespace tracelens;
using fixture::Random;

namespace {

struct Times {
    double ts;
    double dur;
};

Trace reference_trace(const std::vector<Times>& times) {
    TraceBuilder builder(Timestamps::reference);
    builder.tracks().intern({});
    for (const Times& each : times) {
        CompleteEvent event;
        event.kind = EventKind::kernel;
        event.start = time_from_us(Timestamps::reference, each.ts);
        event.duration = time_from_us(Timestamps::reference, each.dur);
        builder.next_event();
        builder.add(event);
    }
    return finish_trace(std::move(builder));
}

bool is_power_of_two(std::int64_t value) {
    return value > 0 && std::has_single_bit(static_cast<std::uint64_t>(value));
}

/// The double that a tick stands for. Exact as long as the sum fits 53 significant bits.
double absolute_us(const Trace& trace, Ticks ticks) {
    const int bits = std::countr_zero(static_cast<std::uint64_t>(trace.ticks_per_us));
    return std::ldexp(static_cast<double>(trace.epoch + ticks), -bits);
}

}  // namespace

TEST_CASE("the examples of spec 01, section 1.3") {
    struct Example {
        double ts, dur, reported;
    };
    for (const Example& example :
         {Example{1365627866520.196, 2.08, 2.080078125}, Example{3603029046460.717, 77.074, 77.07421875},
          Example{6869181218039.954, 6.239, 6.2392578125}}) {
        CAPTURE(example.ts);
        const Trace trace = reference_trace({{example.ts, example.dur}});
        CHECK(trace.timestamps == Timestamps::reference);
        CHECK(is_power_of_two(trace.ticks_per_us));
        CHECK(trace.start[0] == 0);
        CHECK(trace.to_us(trace.duration(0)) == example.reported);
        CHECK(absolute_us(trace, trace.start[0]) == example.ts);
        CHECK(absolute_us(trace, trace.end[0]) == example.ts + example.dur);
        CHECK(trace.recorded_us(0) == example.dur);
        CHECK(trace.diagnostics.empty());
    }
}

TEST_CASE("4096 ticks a microsecond hold the clocks of 2013") {
    // ulp = 2^-12 below 2.199e12 us (spec 01, section 1.2).
    const Trace trace = reference_trace({{1365627866520.196, 2.08}, {1365627866530.197, 0.001}});
    CHECK(trace.ticks_per_us == 4096);
}

TEST_CASE("every start and end is the rounded double exactly") {
    Random random(11);
    for (const std::int64_t magnitude :
         {std::int64_t{1'365'627'866'520'196}, std::int64_t{6'869'181'218'039'954},
          std::int64_t{1'000'000'000'000}}) {
        std::vector<Times> times;
        for (int i = 0; i < 500; ++i) {
            times.push_back({static_cast<double>(magnitude + random.below(1'000'000'000)) / 1000.0,
                             static_cast<double>(random.below(100'000)) / 1000.0});
        }
        const Trace trace = reference_trace(times);
        CHECK(is_power_of_two(trace.ticks_per_us));
        REQUIRE(trace.size() == times.size());
        for (EventId event = 0; event < trace.size(); ++event) {
            const Times& each = times[trace.file_index[event]];
            CHECK(absolute_us(trace, trace.start[event]) == each.ts);
            CHECK(absolute_us(trace, trace.end[event]) == each.ts + each.dur);
            CHECK(trace.recorded_us(event) == each.dur);
            CHECK(trace.to_us(trace.duration(event)) == (each.ts + each.dur) - each.ts);
        }
    }
}

TEST_CASE("integer timestamps stay integers") {
    const Trace trace = reference_trace({{1000, 100}, {1050, 150}});
    CHECK(trace.to_us(trace.duration(0)) == 100.0);
    CHECK(trace.to_us(trace.end[1]) == 200.0);
    CHECK(absolute_us(trace, 0) == 1000.0);
}

TEST_CASE("events that start at equal doubles keep the file's order") {
    // Both texts round to one double.
    REQUIRE(6869181218039.9540 == 6869181218039.9543);
    TraceBuilder builder(Timestamps::reference);
    builder.tracks().intern({});
    for (const double ts : {6869181218039.9543, 6869181218039.9540, 6869181218039.0}) {
        CompleteEvent event;
        event.start = time_from_us(Timestamps::reference, ts);
        builder.next_event();
        builder.add(event);
    }
    CHECK(finish_trace(std::move(builder)).file_index == std::vector<std::uint32_t>{2, 0, 1});
}

TEST_CASE("negative times") {
    const Trace trace = reference_trace({{-1.5, 1.25}, {-8.0, 0.5}});
    CHECK(trace.file_index == std::vector<std::uint32_t>{1, 0});
    CHECK(absolute_us(trace, trace.start[0]) == -8.0);
    CHECK(absolute_us(trace, trace.start[1]) == -1.5);
    CHECK(absolute_us(trace, trace.end[1]) == -0.25);
}

TEST_CASE("a span too wide for its finest time clamps the ticks and says so") {
    const std::vector<Times> times = {{0x1p-40, 0x1p-41}, {0x1p42, 0x1p-10}};
    const Trace trace = reference_trace(times);
    CHECK(is_power_of_two(trace.ticks_per_us));
    const Diagnostic* found = trace.diagnostics.find("TICKS_CLAMPED");
    REQUIRE(found != nullptr);
    CHECK(found->verdict == Verdict::note);
    CHECK(found->area == "trace_quality");
    const double tick = 1.0 / static_cast<double>(trace.ticks_per_us);
    for (EventId event = 0; event < trace.size(); ++event) {
        CHECK(std::fabs(absolute_us(trace, trace.start[event]) - times[event].ts) <= tick / 2);
        CHECK(std::fabs(absolute_us(trace, trace.end[event]) - times[event].ts - times[event].dur) <=
              tick / 2);
        CHECK(trace.end[event] >= trace.start[event]);
    }
    // As fine as int64 allows: the latest time takes 43 bits before the point.
    CHECK(trace.ticks_per_us >= (std::int64_t{1} << 18));
}

TEST_CASE("times of a few picoseconds from zero on do not ask for more ticks than int64 holds") {
    const Trace trace = reference_trace({{0.0, 1e-5}, {1e-5, 1e-5}});
    CHECK(is_power_of_two(trace.ticks_per_us));
    CHECK(trace.end[0] > trace.start[0]);
}

TEST_CASE("side tables share the clock of the events") {
    TraceBuilder builder(Timestamps::reference);
    builder.tracks().intern({});
    CompleteEvent event;
    event.start = time_from_us(Timestamps::reference, 6869181218039.954);
    event.duration = time_from_us(Timestamps::reference, 6.239);
    builder.next_event();
    builder.add(event);
    Flow flow;
    flow.time = time_from_us(Timestamps::reference, 6869181218039.954);
    builder.next_event();
    builder.add(flow);
    Instant instant;
    instant.time = time_from_us(Timestamps::reference, 6869181218041.0);
    builder.next_event();
    builder.add(instant);
    const Trace trace = finish_trace(std::move(builder));
    REQUIRE(trace.flows.size() == 1);
    CHECK(trace.flows[0].time == trace.start[0]);
    REQUIRE(trace.instants.size() == 1);
    CHECK(absolute_us(trace, trace.instants[0].time) == 6869181218041.0);
}

TEST_CASE("without complete events times are in ticks of ticks_per_us, too") {
    TraceBuilder builder(Timestamps::reference);
    builder.tracks().intern({});
    Instant instant;
    instant.time = time_from_us(Timestamps::reference, 5.0);
    builder.next_event();
    builder.add(instant);
    const Trace trace = finish_trace(std::move(builder));
    REQUIRE(trace.instants.size() == 1);
    CHECK(trace.to_us(trace.epoch + trace.instants[0].time) == 5.0);
}
