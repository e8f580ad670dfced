// TraceBuilder with one builder: order, columns, side tables, spans, diagnostics. Several builders:
// test_trace_segments.

#include <bit>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/model/trace_builder.hpp>

#include "unit/trace_fixture.hpp"

using namespace tracelens;
using fixture::event_named;
using fixture::TraceFixture;
using fixture::us;

namespace {

/// A builder with plain complete events, all cpu_op on one track.
struct PlainBuilder {
    TraceBuilder builder;
    TrackId track;

    PlainBuilder() : track(builder.tracks().intern({})) {}

    CompleteEvent event(std::string_view name, std::int64_t start, std::int64_t duration) {
        CompleteEvent event;
        event.start = start;
        event.duration = duration;
        event.name = builder.strings().intern(name);
        event.kind = EventKind::cpu_op;
        event.track = track;
        return event;
    }
};

}  // namespace

TEST_CASE("no builder and an empty builder give an empty trace") {
    const Trace nothing = finish_trace(std::vector<TraceBuilder>{});
    CHECK(nothing.size() == 0);
    const Trace empty = finish_trace(TraceBuilder{});
    CHECK(empty.size() == 0);
    CHECK(empty.file_events == 0);
    CHECK_FALSE(empty.span().has_value());
    CHECK(empty.properties.empty());
    CHECK_FALSE(empty.property("deviceProperties").has_value());
    CHECK(empty.diagnostics.empty());
    CHECK(empty.strings[StringId::empty] == "");
}

TEST_CASE("events are ordered by start, ties keep the file's order") {
    TraceFixture file;
    file.op("third", 20, 21).op("first", 10, 15).op("second", 10, 12).op("fourth", 20, 20);
    const Trace trace = file.finish();
    REQUIRE(trace.size() == 4);
    const std::vector<std::string_view> names = {trace.name_of(0), trace.name_of(1), trace.name_of(2),
                                                 trace.name_of(3)};
    CHECK(names == std::vector<std::string_view>{"first", "second", "third", "fourth"});
    CHECK(trace.file_index == std::vector<std::uint32_t>{1, 2, 0, 3});
}

TEST_CASE("times are relative to the first complete event, the epoch keeps the absolute time") {
    TraceFixture file;
    file.instant("before", us(40)).op("late", us(100), us(125)).op("early", us(50), us(55));
    const Trace trace = file.finish();
    CHECK(trace.ticks_per_us == 1000);
    CHECK(trace.timestamps == Timestamps::exact);
    CHECK(trace.epoch == us(50));
    CHECK(trace.start == std::vector<Ticks>{0, us(50)});
    CHECK(trace.end == std::vector<Ticks>{us(5), us(75)});
    // Spec 01, section 22: end times of 100 + 25 and 50 + 5.
    CHECK(trace.epoch + trace.end[0] == us(55));
    CHECK(trace.epoch + trace.end[1] == us(125));
    REQUIRE(trace.instants.size() == 1);
    CHECK(trace.instants[0].time == us(-10));
    CHECK(trace.duration(1) == us(25));
    CHECK(trace.to_us(trace.duration(1)) == 25.0);
    CHECK(trace.recorded_us(1) == 25.0);
    CHECK(trace.duration_us.empty());
    REQUIRE(trace.span().has_value());
    CHECK(*trace.span() == Interval{0, us(75)});
}

TEST_CASE("the span ends with the event that ends last, not with the last one") {
    TraceFixture file;
    file.op("long", 5, 500).op("short", 10, 20);
    CHECK(*file.finish().span() == Interval{0, 495});
}

TEST_CASE("nanoseconds of today's clocks are kept exactly") {
    TraceFixture file;
    file.op("a", 6'869'181'218'039'954, 6'869'181'218'039'955)
        .op("b", 6'869'181'218'039'955, 6'869'181'218'046'193);
    const Trace trace = file.finish();
    CHECK(trace.epoch == 6'869'181'218'039'954);
    CHECK(trace.duration(0) == 1);
    CHECK(trace.start[1] == 1);
    CHECK(trace.duration(1) == 6238);
}

TEST_CASE("times before 1970 and at zero are times like others") {
    TraceFixture file;
    file.op("zero", 0, 3).op("negative", -7, 1);
    const Trace trace = file.finish();
    CHECK(trace.epoch == -7);
    CHECK(trace.start == std::vector<Ticks>{0, 7});
    CHECK(trace.name_of(0) == "negative");
}

TEST_CASE("every kind keeps the fields of its own family only") {
    TraceBuilder builder;
    const TrackId track = builder.tracks().intern({});
    for (const EventKindInfo& info : event_kinds) {
        CompleteEvent event;
        event.start = static_cast<std::int64_t>(info.kind);
        event.kind = info.kind;
        event.track = track;
        event.op = {1, 2, 3, 4, 5};
        event.frame = {6, 7, 8, 9};
        event.launch = {10, 11};
        builder.next_event();
        builder.add(event);
    }
    const Trace trace = finish_trace(std::move(builder));
    std::size_t ops = 0;
    std::size_t frames = 0;
    std::size_t launches = 0;
    for (EventId event = 0; event < trace.size(); ++event) {
        CAPTURE(event);
        switch (field_family(trace.kind[event])) {
            case FieldFamily::op:
                ++ops;
                CHECK(trace.op_fields(event).external_id == 1);
                CHECK(trace.op_fields(event).sequence_number == 2);
                CHECK(trace.op_fields(event).record_function_id == 3);
                CHECK(trace.op_fields(event).forward_thread == 4);
                CHECK(trace.op_fields(event).ev_idx == 5);
                break;
            case FieldFamily::frame:
                ++frames;
                CHECK(trace.frame_fields(event).python_id == 6);
                CHECK(trace.frame_fields(event).parent_id == 7);
                CHECK(trace.frame_fields(event).module_id == 8);
                CHECK(trace.frame_fields(event).ev_idx == 9);
                break;
            case FieldFamily::launch:
                ++launches;
                CHECK(trace.launch_fields(event).correlation == 10);
                CHECK(trace.launch_fields(event).external_id == 11);
                break;
            case FieldFamily::none: break;
        }
    }
    CHECK(trace.ops.size() == ops);
    CHECK(trace.frames.size() == frames);
    CHECK(trace.launches.size() == launches);
}

TEST_CASE("fields follow their event when events are reordered") {
    TraceFixture file;
    file.with_sequence_number(5)
        .op("later", 20, 30)
        .call("call", 5, 6, 77)
        .op("plain", 10, 15)
        .kernel("k", 1, 2, 78);
    const Trace trace = file.finish();
    CHECK(trace.op_fields(event_named(trace, "later")).sequence_number == 5);
    CHECK(trace.op_fields(event_named(trace, "plain")).sequence_number == no_number);
    CHECK(trace.launch_fields(event_named(trace, "call")).correlation == 77);
    CHECK(trace.launch_fields(event_named(trace, "k")).correlation == 78);
    // Side rows stand in event order.
    CHECK(trace.launches[0].correlation == 78);
    CHECK(trace.launches[1].correlation == 77);
}

TEST_CASE("kinds and categories split the events") {
    TraceFixture file;
    file.op("op", 0, 9).kernel("k1", 1, 2).kernel("k2", 3, 4);
    const Trace trace = file.finish();
    CHECK(trace.kind == std::vector<EventKind>{EventKind::cpu_op, EventKind::kernel, EventKind::kernel});
    CHECK(trace.text(trace.category[0]) == "cpu_op");
    CHECK(trace.text(trace.category[1]) == "kernel");
    CHECK(trace.category[1] == trace.category[2]);
}

TEST_CASE("equal arguments are one signature, arguments are found by key") {
    TraceFixture file;
    file.with_arg("Input Dims", "[[2,3]]").with_arg("kernel_file", "null").op("a", 0, 1);
    file.with_arg("Input Dims", "[[2,3]]").with_arg("kernel_file", "null").op("b", 2, 3);
    file.with_arg("Input Dims", "[[3,2]]").op("c", 4, 5).op("d", 6, 7);
    const Trace trace = file.finish();
    CHECK(trace.args[0] == trace.args[1]);
    CHECK(trace.args[0] != trace.args[2]);
    CHECK(trace.args[3] == ArgsId::empty);
    CHECK(trace.arg(1, "Input Dims") == "[[2,3]]");
    CHECK(trace.arg(1, "kernel_file") == "null");
    CHECK(trace.arg(2, "Input Dims") == "[[3,2]]");
    CHECK_FALSE(trace.arg(2, "kernel_file").has_value());
    CHECK_FALSE(trace.arg(3, "Input Dims").has_value());
    CHECK_FALSE(trace.arg(0, "Input").has_value());
}

TEST_CASE("side tables keep the file's order and their positions") {
    TraceBuilder builder;
    const StringId name = builder.strings().intern("name");
    const TrackId track = builder.tracks().intern({});
    CompleteEvent first;
    first.start = 1000;
    builder.next_event();  // an event that is dropped still has a position
    builder.next_event();
    builder.add(first);
    const auto other = [&](char phase, std::int64_t time) {
        builder.next_event();
        OtherEvent event;
        event.time = time;
        event.name = name;
        event.track = track;
        event.phase = phase;
        return event;
    };
    builder.add_counter(other('C', 1300));
    builder.add_counter(other('C', 1200));
    builder.add_async(other('b', 1100));
    builder.add_async(other('e', 1400));
    builder.add_sample(other('P', 1500));
    builder.add_object(other('N', 1600));
    builder.next_event();
    MemoryEvent memory;
    memory.time = 1700;
    memory.bytes = -512;
    builder.add(memory);
    const Trace trace = finish_trace(std::move(builder));
    CHECK(trace.file_events == 9);
    CHECK(trace.file_index == std::vector<std::uint32_t>{1});
    REQUIRE(trace.counters.size() == 2);
    CHECK(trace.counters[0].time == 300);
    CHECK(trace.counters[0].file_index == 2);
    CHECK(trace.counters[1].time == 200);
    CHECK(trace.counters[1].file_index == 3);
    CHECK(trace.text(trace.counters[1].name) == "name");
    REQUIRE(trace.async_events.size() == 2);
    CHECK(trace.async_events[0].phase == 'b');
    CHECK(trace.async_events[1].phase == 'e');
    CHECK(trace.async_events[1].file_index == 5);
    REQUIRE(trace.samples.size() == 1);
    CHECK(trace.samples[0].time == 500);
    REQUIRE(trace.object_events.size() == 1);
    CHECK(trace.object_events[0].phase == 'N');
    REQUIRE(trace.memory_events.size() == 1);
    CHECK(trace.memory_events[0].time == 700);
    CHECK(trace.memory_events[0].bytes == -512);
    CHECK(trace.memory_events[0].file_index == 8);
}

TEST_CASE("metadata is kept apart, a missing thread stays missing") {
    // Spec 01, section 22: "metadata with tid null: stored under null; non-metadata returned separately".
    TraceBuilder builder;
    MetadataEvent event;
    event.name = builder.strings().intern("process_name");
    event.track = builder.tracks().intern({.on_device = false, .pid = TrackPart::integer(5), .tid = {}});
    const std::vector<Arg> args = {
        {builder.strings().intern("name"), builder.strings().intern("\"python\"")}};
    event.args = builder.signatures().intern(args);
    builder.next_event();
    builder.count_phase('M');
    builder.add(event);
    CompleteEvent op;
    op.track = builder.tracks().intern(
        {.on_device = false, .pid = TrackPart::integer(5), .tid = TrackPart::integer(0)});
    builder.next_event();
    builder.count_phase('X');
    builder.add(op);
    const Trace trace = finish_trace(std::move(builder));
    CHECK(trace.size() == 1);
    REQUIRE(trace.metadata.size() == 1);
    const Track& track = trace.tracks[trace.metadata[0].track];
    CHECK(track.pid == TrackPart::integer(5));
    CHECK(track.tid.form == TrackPart::Form::missing);
    CHECK(trace.metadata[0].track != trace.track[0]);
    CHECK(find_arg(trace.signatures, trace.strings, trace.metadata[0].args, "name") == "\"python\"");
    CHECK(trace.phase_counts == std::map<char, std::uint64_t>{{'M', 1}, {'X', 1}});
    CHECK(trace.file_events == 2);
}

TEST_CASE("events that are added before any next_event are kept at position 0") {
    // trace_builder.hpp: "Without a call everything is stretch 0."
    PlainBuilder plain;
    plain.builder.add(plain.event("a", 5, 1));
    plain.builder.add(plain.event("b", 3, 1));
    const Trace trace = finish_trace(std::move(plain.builder));
    REQUIRE(trace.size() == 2);
    CHECK(trace.name_of(0) == "b");
    CHECK(trace.name_of(1) == "a");
    CHECK(trace.file_index == std::vector<std::uint32_t>{0, 0});
}

TEST_CASE("a span that begins before any next_event is closed") {
    PlainBuilder plain;
    plain.builder.begin_span(plain.event("a", 5, 0));
    plain.builder.end_span(9, plain.track);
    const Trace trace = finish_trace(std::move(plain.builder));
    REQUIRE(trace.size() == 1);
    CHECK(trace.duration(0) == 4);
    CHECK(trace.diagnostics.empty());
}

TEST_CASE("roll_back_segment forgets events, spans, side rows and counts, but not interned values") {
    TraceFixture file;
    file.op("kept", 0, 10).flow_start(1, 5).instant("kept instant", 6).metadata("kept metadata");
    TraceBuilder& builder = file.builder();
    builder.begin_segment(1);
    file.op("lost", 20, 30).frame("lost", 20, 30).call("lost", 21, 22, 9).kernel("lost", 23, 24, 9);
    file.flow_start(9, 21).flow_finish(9, 23).instant("lost", 25).metadata("lost");
    builder.next_event();
    CompleteEvent span;
    span.start = 40;
    span.kind = EventKind::cpu_op;
    builder.begin_span(span);
    builder.end_span(50, span.track);
    OtherEvent other;
    builder.add_counter(other);
    builder.add_async(other);
    builder.add_sample(other);
    builder.add_object(other);
    builder.add(MemoryEvent{});
    builder.roll_back_segment();
    file.call("again", 60, 70, 3);
    const std::size_t strings = builder.strings().size();
    const Trace trace = file.finish();
    CHECK(trace.strings.size() == strings);
    REQUIRE(trace.size() == 2);
    CHECK(trace.name_of(0) == "kept");
    CHECK(trace.name_of(1) == "again");
    CHECK(trace.file_index == std::vector<std::uint32_t>{0, 4});
    CHECK(trace.launch_fields(1).correlation == 3);
    CHECK(trace.file_events == 5);
    CHECK(trace.phase_counts == std::map<char, std::uint64_t>{{'M', 1}, {'X', 2}, {'i', 1}, {'s', 1}});
    CHECK(trace.flows.size() == 1);
    CHECK(trace.instants.size() == 1);
    CHECK(trace.metadata.size() == 1);
    CHECK(trace.ops.size() == 1);
    CHECK(trace.frames.empty());
    CHECK(trace.launches.size() == 1);
    CHECK(trace.counters.empty());
    CHECK(trace.async_events.empty());
    CHECK(trace.samples.empty());
    CHECK(trace.object_events.empty());
    CHECK(trace.memory_events.empty());
    CHECK(trace.diagnostics.empty());
}

TEST_CASE("CLOCK_RESTART: ops of one thread fall back by more than half of the span") {
    TraceFixture file;
    SUBCASE("just above") {
        file.op("a", 0, 1).op("b", 1000, 1001).op("c", 499, 500);
        const Trace trace = file.finish();
        const Diagnostic* found = trace.diagnostics.find("CLOCK_RESTART");
        REQUIRE(found != nullptr);
        CHECK(found->verdict == Verdict::note);
        CHECK(found->count == 1);
        CHECK(found->area == "trace_quality");
    }
    SUBCASE("just below") {
        file.op("a", 0, 1).op("b", 1000, 1001).op("c", 500, 501);
        CHECK(file.finish().diagnostics.empty());
    }
    SUBCASE("on different threads") {
        file.op("a", 0, 1).op("b", 1000, 1001).on_thread(100, 2).op("c", 10, 11);
        CHECK(file.finish().diagnostics.empty());
    }
    SUBCASE("events that are written later than they start, such as frames, do not count") {
        file.op("a", 0, 1).op("b", 1000, 1001).frame("c", 10, 11);
        CHECK(file.finish().diagnostics.empty());
    }
    SUBCASE("each restart counts") {
        file.op("a", 0, 1).op("b", 1000, 1001).op("c", 0, 1).op("d", 900, 901).op("e", 100, 101);
        const Trace trace = file.finish();
        REQUIRE(trace.diagnostics.find("CLOCK_RESTART") != nullptr);
        CHECK(trace.diagnostics.find("CLOCK_RESTART")->count == 2);
    }
}

TEST_CASE("time words") {
    CHECK(time_from_ns(Timestamps::exact, 1234) == 1234);
    CHECK(time_from_us(Timestamps::exact, 1.2344) == 1234);
    CHECK(time_from_us(Timestamps::exact, 1.2346) == 1235);
    CHECK(time_from_us(Timestamps::exact, -1.2346) == -1235);
    CHECK(std::bit_cast<double>(time_from_ns(Timestamps::reference, 1234)) == 1.234);
    CHECK(std::bit_cast<double>(time_from_us(Timestamps::reference, 1365627866520.196)) == 1365627866520.196);
    CHECK(time_from_ns(Timestamps::reference, 1365627866520196) ==
          time_from_us(Timestamps::reference, 1365627866520.196));
}
