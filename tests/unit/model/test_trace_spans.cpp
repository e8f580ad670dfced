// B and E events become complete events.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/model/trace_builder.hpp>

#include "unit/trace_fixture.hpp"

using namespace tracelens;
using fixture::event_named;
using fixture::Random;

namespace {

/// Adds B and E events to a builder; every call is one event of the file.
struct SpanBuilder {
    TraceBuilder builder;

    explicit SpanBuilder(Timestamps timestamps = Timestamps::exact) : builder(timestamps) {}

    TrackId track(std::int64_t thread) {
        return builder.tracks().intern(
            {.on_device = false, .pid = TrackPart::integer(1), .tid = TrackPart::integer(thread)});
    }
    void begin(std::string_view name, std::int64_t time, std::int64_t thread = 1) {
        builder.next_event();
        CompleteEvent event;
        event.start = time_from_ns(builder.timestamps(), time);
        event.duration = time_from_ns(builder.timestamps(), 12345);  // ignored
        event.name = builder.strings().intern(name);
        event.kind = EventKind::cpu_op;
        event.track = track(thread);
        builder.begin_span(event);
    }
    void end(std::int64_t time, std::int64_t thread = 1) {
        builder.next_event();
        builder.end_span(time_from_ns(builder.timestamps(), time), track(thread));
    }
    Trace finish() { return finish_trace(std::move(builder)); }
};

Interval times(const Trace& trace, std::string_view name) {
    const EventId event = event_named(trace, name);
    return {trace.epoch + trace.start[event], trace.epoch + trace.end[event]};
}

}  // namespace

TEST_CASE("B and E pairs nest and follow each other") {
    SpanBuilder spans;
    spans.begin("outer", 100);
    spans.begin("inner", 120);
    spans.end(150);
    spans.begin("second", 160);
    spans.end(170);
    spans.end(200);
    const Trace trace = spans.finish();
    REQUIRE(trace.size() == 3);
    CHECK(times(trace, "outer") == Interval{100, 200});
    CHECK(times(trace, "inner") == Interval{120, 150});
    CHECK(times(trace, "second") == Interval{160, 170});
    CHECK(trace.diagnostics.empty());
    CHECK(trace.file_events == 6);
    CHECK(trace.file_index == std::vector<std::uint32_t>{0, 1, 3});
}

TEST_CASE("pairs are matched within their track") {
    SpanBuilder spans;
    spans.begin("first thread", 10, 1);
    spans.begin("second thread", 11, 2);
    spans.end(20, 1);
    spans.end(30, 2);
    const Trace trace = spans.finish();
    CHECK(times(trace, "first thread") == Interval{10, 20});
    CHECK(times(trace, "second thread") == Interval{11, 30});
    CHECK(trace.diagnostics.empty());
}

TEST_CASE("pairs match in order of time, whatever their order in the file") {
    SpanBuilder spans;
    spans.end(90);
    spans.begin("inner", 40);
    spans.end(60);
    spans.begin("outer", 10);
    const Trace trace = spans.finish();
    CHECK(times(trace, "outer") == Interval{10, 90});
    CHECK(times(trace, "inner") == Interval{40, 60});
    CHECK(trace.diagnostics.find("BAD_EVENTS") == nullptr);
}

TEST_CASE("begin and end at one time match in the file's order") {
    SpanBuilder spans;
    spans.begin("a", 10);
    spans.end(20);
    spans.begin("b", 20);
    spans.end(20);
    spans.begin("c", 20);
    spans.end(30);
    const Trace trace = spans.finish();
    CHECK(times(trace, "a") == Interval{10, 20});
    CHECK(times(trace, "b") == Interval{20, 20});
    CHECK(times(trace, "c") == Interval{20, 30});
    CHECK(trace.diagnostics.empty());
}

TEST_CASE("a begin without end counts with zero duration, an end without begin not at all") {
    SpanBuilder spans;
    spans.end(5);
    spans.begin("open", 10);
    spans.begin("closed", 20);
    spans.end(30);
    spans.begin("other thread", 1, 2);
    const Trace trace = spans.finish();
    REQUIRE(trace.size() == 3);
    CHECK(times(trace, "closed") == Interval{20, 30});
    CHECK(times(trace, "open") == Interval{10, 10});
    CHECK(times(trace, "other thread") == Interval{1, 1});
    const Diagnostic* found = trace.diagnostics.find("BAD_EVENTS");
    REQUIRE(found != nullptr);
    CHECK(found->verdict == Verdict::note);
    CHECK(found->count == 3);
}

TEST_CASE("pairs stretch over segments of different builders") {
    SpanBuilder first;
    SpanBuilder second;
    first.builder.begin_segment(0);
    first.begin("outer", 10);
    second.builder.begin_segment(1);
    second.begin("inner", 20);
    first.builder.begin_segment(2);
    first.end(30);
    second.builder.begin_segment(3);
    second.end(40);
    std::vector<TraceBuilder> builders;
    builders.push_back(std::move(first.builder));
    builders.push_back(std::move(second.builder));
    const Trace trace = finish_trace(std::move(builders));
    REQUIRE(trace.size() == 2);
    CHECK(times(trace, "outer") == Interval{10, 40});
    CHECK(times(trace, "inner") == Interval{20, 30});
    CHECK(trace.diagnostics.empty());
    CHECK(trace.file_events == 4);
}

TEST_CASE("reference timestamps close spans with the difference of the doubles") {
    SpanBuilder spans(Timestamps::reference);
    spans.begin("outer", 1'365'627'866'520'196);
    spans.end(1'365'627'866'522'276);
    const Trace trace = spans.finish();
    const double difference = 1365627866522.276 - 1365627866520.196;
    CHECK(trace.to_us(trace.duration(0)) == difference);
    CHECK(trace.recorded_us(0) == difference);
}

TEST_CASE("random well-nested spans come out as they went in") {
    Random random(7);
    for (int round = 0; round < 20; ++round) {
        SpanBuilder spans;
        std::vector<Interval> expected;
        std::vector<std::vector<std::size_t>> open(3);
        std::int64_t time = 1000;
        for (int step = 0; step < 300; ++step) {
            const auto thread = static_cast<std::size_t>(random.below(3));
            time += random.below(3);
            if (random.below(2) == 0 || open[thread].empty()) {
                open[thread].push_back(expected.size());
                spans.begin(std::to_string(expected.size()), time, static_cast<std::int64_t>(thread));
                expected.push_back({time, time});
            } else {
                expected[open[thread].back()].end = time;
                open[thread].pop_back();
                spans.end(time, static_cast<std::int64_t>(thread));
            }
        }
        std::uint64_t left_open = 0;
        for (const auto& stack : open) left_open += stack.size();
        const Trace trace = spans.finish();
        REQUIRE(trace.size() == expected.size());
        for (EventId event = 0; event < trace.size(); ++event) {
            const auto index = static_cast<std::size_t>(std::stoul(std::string(trace.name_of(event))));
            CHECK(trace.epoch + trace.start[event] == expected[index].start);
            CHECK(trace.epoch + trace.end[event] == expected[index].end);
        }
        const Diagnostic* bad = trace.diagnostics.find("BAD_EVENTS");
        CHECK((bad == nullptr ? 0 : bad->count) == left_open);
    }
}
