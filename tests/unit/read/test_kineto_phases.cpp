// Every phase of the Chrome format and the table that its events land in (spec 01, sections 3.2 to 3.5; spec
// 11, section 7: B/E pairs).
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "read_support.hpp"

using namespace tracelens;
using namespace tracelens::read_test;

namespace {

/// Starts at tick 0 of 1000 us, so that the times below are relative to 1000 us.
const std::string anchor =
    R"({"ph": "X", "cat": "cpu_op", "name": "anchor", "pid": 1, "tid": 1, "ts": 1000, "dur": 500})";

Trace read_after_anchor(const std::string& events, Timestamps timestamps = Timestamps::exact) {
    return read_events(anchor + "," + events, timestamps);
}

bool is_integer(const TrackPart& part, std::int64_t value) {
    return part == TrackPart::integer(value);
}

bool is_text(const Trace& trace, const TrackPart& part, std::string_view text) {
    return part.form == TrackPart::Form::text &&
           trace.strings[StringId{static_cast<std::uint32_t>(part.value)}] == text;
}

std::string_view arg(const Trace& trace, ArgsId args, std::string_view key) {
    return find_arg(trace.signatures, trace.strings, args, key).value_or("(none)");
}

}  // namespace

TEST_CASE("phases: flows") {
    const Trace trace = read_after_anchor(
        R"({"ph": "s", "id": 1009, "pid": 4, "tid": 5, "ts": 1001.5, "cat": "ac2g", "name": "ac2g"},
           {"ph": "f", "id": 1009, "pid": 0, "tid": 7, "ts": 1002, "cat": "ac2g", "name": "ac2g", "bp": "e"},
           {"ph": "t", "id": 9007199254740993, "pid": 4, "tid": 5, "ts": 1003, "cat": "fwdbwd", "name": "fwdbwd"},
           {"ph": "s", "id": 9007199254740992, "pid": 4, "tid": 5, "ts": 999, "cat": "fwdbwd", "name": "fwdbwd"},
           {"ph": "s", "id": "0x5f", "pid": 4, "tid": 5, "ts": 1004, "cat": "x", "name": "y"},
           {"ph": "f", "id": "0x5f", "pid": 4, "tid": 5, "ts": 1005, "cat": "x", "name": "y", "args": {"rank": 2}},
           {"ph": "f", "id": "0x60", "pid": 4, "tid": 5, "ts": 1006, "cat": "x", "name": "y", "bp": "w"})");
    REQUIRE(trace.flows.size() == 7);
    CHECK(trace.size() == 1);
    const Flow& start = trace.flows[0];
    CHECK(start.phase == 's');
    CHECK(start.time == 1500);
    CHECK(start.id == 1009);
    CHECK(trace.text(start.category) == "ac2g");
    CHECK(trace.text(start.name) == "ac2g");
    CHECK(start.file_index == 1);
    CHECK_FALSE(start.binds_enclosing);
    CHECK(is_integer(trace.tracks[start.track].pid, 4));
    CHECK(is_integer(trace.tracks[start.track].tid, 5));
    const Flow& finish = trace.flows[1];
    CHECK(finish.phase == 'f');
    CHECK(finish.time == 2000);
    CHECK(finish.id == 1009);
    CHECK(finish.file_index == 2);
    CHECK(finish.binds_enclosing);
    CHECK(is_integer(trace.tracks[finish.track].pid, 0));
    CHECK(is_integer(trace.tracks[finish.track].tid, 7));
    CHECK(trace.flows[2].phase == 't');
    CHECK(trace.flows[2].id == 9007199254740993);  // not representable as a double
    CHECK(trace.flows[3].id == 9007199254740992);
    CHECK(trace.flows[3].time == -1000);
    CHECK(trace.flows[4].id == trace.flows[5].id);
    CHECK(trace.flows[4].id != trace.flows[6].id);
    CHECK(trace.tracks[trace.flows[4].track].rank == no_number);
    CHECK(trace.tracks[trace.flows[5].track].rank == 2);
    CHECK_FALSE(trace.flows[6].binds_enclosing);
    CHECK(trace.phase_counts == std::map<char, std::uint64_t>{{'X', 1}, {'s', 3}, {'t', 1}, {'f', 3}});
    CHECK(trace.file_events == 8);
    CHECK(trace.diagnostics.empty());
}

TEST_CASE("phases: instants") {
    const Trace trace = read_after_anchor(
        R"({"name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g", "pid": "Traces",
            "tid": "Trace PyTorch Profiler", "ts": 1000.25},
           {"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 1500},
           {"name": "mark", "ph": "I", "cat": "c", "s": "p", "pid": 1, "tid": 2, "ts": 1001, "args": {"a": [1, 2]}},
           {"name": "old", "ph": "R", "cat": "c", "pid": 1, "tid": 2, "ts": 1002},
           {"name": "plain", "ph": "i", "pid": 1, "tid": 2, "ts": 1003, "args": {"rank": 5, "b": null}})");
    REQUIRE(trace.instants.size() == 5);
    const Instant& iteration = trace.instants[0];
    CHECK(trace.text(iteration.name) == "Iteration Start: PyTorch Profiler");
    CHECK(iteration.category == StringId::empty);
    CHECK(iteration.time == 250);
    CHECK(iteration.scope == 'g');
    CHECK(iteration.args == ArgsId::empty);
    CHECK(iteration.file_index == 1);
    CHECK(is_text(trace, trace.tracks[iteration.track].pid, "Traces"));
    CHECK(is_text(trace, trace.tracks[iteration.track].tid, "Trace PyTorch Profiler"));
    CHECK(is_text(trace, trace.tracks[trace.instants[1].track].pid, ""));
    CHECK(trace.instants[2].scope == 'p');
    CHECK(trace.text(trace.instants[2].category) == "c");
    CHECK(arg(trace, trace.instants[2].args, "a") == "[1,2]");
    CHECK(trace.instants[3].scope == 't');
    CHECK(arg(trace, trace.instants[4].args, "b") == "null");
    CHECK(trace.tracks[trace.instants[4].track].rank == 5);
    CHECK(trace.phase_counts == std::map<char, std::uint64_t>{{'X', 1}, {'i', 3}, {'I', 1}, {'R', 1}});
}

TEST_CASE("phases: allocator instants") {
    const Trace trace = read_after_anchor(
        R"({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 3, "tid": 4, "ts": 1007.125,
            "args": {"Total Reserved": 23068672, "Total Allocated": 8196096, "Bytes": 1048576, "Addr": 140000000000000,
                     "Device Id": 0, "Device Type": 1, "Ev Idx": 3, "finished": true}},
           {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 3, "tid": 4, "ts": 1008,
            "args": {"Bytes": -1048576, "Device Id": -1, "Device Type": 6, "rank": 2}},
           {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 3, "tid": 4, "ts": 1009})");
    REQUIRE(trace.memory_events.size() == 3);
    CHECK(trace.instants.empty());
    const MemoryEvent& taken = trace.memory_events[0];
    CHECK(taken.time == 7125);
    CHECK(taken.address == 140000000000000);
    CHECK(taken.bytes == 1048576);
    CHECK(taken.total_allocated == 8196096);
    CHECK(taken.total_reserved == 23068672);
    CHECK(taken.device == 0);
    CHECK(taken.device_type == 1);
    CHECK(taken.file_index == 1);
    CHECK(is_integer(trace.tracks[taken.track].pid, 3));
    CHECK(is_integer(trace.tracks[taken.track].tid, 4));
    const MemoryEvent& given_back = trace.memory_events[1];
    CHECK(given_back.bytes == -1048576);
    CHECK(given_back.address == no_number);
    CHECK(given_back.total_allocated == no_number);
    CHECK(given_back.total_reserved == no_number);
    CHECK(given_back.device == -1);
    CHECK(given_back.device_type == 6);
    CHECK(trace.tracks[given_back.track].rank == 2);
    CHECK(trace.memory_events[2].bytes == no_number);
    CHECK(trace.memory_events[2].device == no_small_number);
    CHECK(trace.memory_events[2].device_type == no_small_number);
    CHECK(trace.phase_counts.at('i') == 3);
}

TEST_CASE("phases: metadata") {
    const Trace trace = read_events(
        R"({"name": "process_name", "ph": "M", "ts": 5, "pid": 3, "tid": 0, "args": {"name": "python3"}},
           {"name": "process_labels", "ph": "M", "ts": 5, "pid": 3, "tid": 0, "args": {"labels": "GPU 3"}},
           {"name": "process_sort_index", "ph": "M", "ts": 5, "pid": "Spans", "tid": 0, "args": {"sort_index": 536870912}},
           {"name": "thread_name", "ph": "M", "pid": 3, "tid": 9, "args": {"name": "stream 7 "}},
           {"name": "thread_name", "ph": "M", "pid": 3, "tid": 9, "args": {"name": "stream 8 "}},
           {"name": "thread_sort_index", "ph": "M", "pid": 3, "args": {"sort_index": 9}},
           {"name": "something_new", "ph": "M", "pid": 3, "tid": null, "args": null})");
    CHECK(trace.size() == 0);
    CHECK_FALSE(trace.span().has_value());
    REQUIRE(trace.metadata.size() == 7);
    CHECK(trace.text(trace.metadata[0].name) == "process_name");
    CHECK(arg(trace, trace.metadata[0].args, "name") == "\"python3\"");
    CHECK(trace.metadata[0].file_index == 0);
    CHECK(is_integer(trace.tracks[trace.metadata[0].track].pid, 3));
    CHECK(is_integer(trace.tracks[trace.metadata[0].track].tid, 0));
    CHECK(arg(trace, trace.metadata[1].args, "labels") == "\"GPU 3\"");
    CHECK(is_text(trace, trace.tracks[trace.metadata[2].track].pid, "Spans"));
    CHECK(arg(trace, trace.metadata[2].args, "sort_index") == "536870912");
    CHECK(arg(trace, trace.metadata[3].args, "name") == "\"stream 7 \"");
    CHECK(arg(trace, trace.metadata[4].args, "name") == "\"stream 8 \"");
    CHECK(trace.tracks[trace.metadata[5].track].tid.form == TrackPart::Form::missing);
    CHECK(trace.tracks[trace.metadata[6].track].tid.form == TrackPart::Form::missing);
    CHECK(trace.text(trace.metadata[6].name) == "something_new");
    CHECK(trace.phase_counts == std::map<char, std::uint64_t>{{'M', 7}});
    CHECK(trace.diagnostics.empty());
}

TEST_CASE("phases: counters, asynchronous events, samples and object events") {
    const Trace trace = read_after_anchor(
        R"({"ph": "C", "name": "GPU util", "cat": "c", "pid": 1, "tid": 2, "ts": 1001, "args": {"percent": 41.5}},
           {"ph": "C", "name": "GPU util", "id": 4, "pid": 1, "ts": 1002, "args": {"percent": 42}},
           {"ph": "b", "name": "io", "cat": "net", "id": 70, "pid": 1, "tid": 2, "ts": 1003, "args": {"n": 1}},
           {"ph": "n", "name": "io", "cat": "net", "id": 70, "pid": 1, "tid": 2, "ts": 1004},
           {"ph": "e", "name": "io", "cat": "net", "id": "0x46", "pid": 1, "tid": 2, "ts": 1005},
           {"ph": "P", "name": "sample", "pid": 1, "tid": 2, "ts": 1006, "args": {"rank": 1}},
           {"ph": "N", "name": "obj", "id": 9, "pid": 1, "tid": 2, "ts": 1007},
           {"ph": "O", "name": "obj", "id": 9, "pid": 1, "tid": 2, "ts": 1008, "args": {"snapshot": {"x": [ 1 ]}}},
           {"ph": "D", "name": "obj", "id": 9, "pid": 1, "tid": 2, "ts": 1009})");
    REQUIRE(trace.counters.size() == 2);
    CHECK(trace.counters[0].phase == 'C');
    CHECK(trace.counters[0].time == 1000);
    CHECK(trace.counters[0].id == no_number);
    CHECK(trace.text(trace.counters[0].name) == "GPU util");
    CHECK(trace.text(trace.counters[0].category) == "c");
    CHECK(arg(trace, trace.counters[0].args, "percent") == "41.5");
    CHECK(is_integer(trace.tracks[trace.counters[0].track].tid, 2));
    CHECK(trace.counters[1].id == 4);
    CHECK(trace.counters[1].category == StringId::empty);
    CHECK(trace.counters[1].file_index == 2);
    CHECK(trace.tracks[trace.counters[1].track].tid.form == TrackPart::Form::missing);
    REQUIRE(trace.async_events.size() == 3);
    CHECK(trace.async_events[0].phase == 'b');
    CHECK(trace.async_events[1].phase == 'n');
    CHECK(trace.async_events[2].phase == 'e');
    CHECK(trace.async_events[0].id == 70);
    CHECK(trace.async_events[1].id == 70);
    CHECK(arg(trace, trace.async_events[0].args, "n") == "1");
    CHECK(trace.async_events[2].time == 5000);
    REQUIRE(trace.samples.size() == 1);
    CHECK(trace.samples[0].phase == 'P');
    CHECK(trace.tracks[trace.samples[0].track].rank == 1);
    REQUIRE(trace.object_events.size() == 3);
    CHECK(trace.object_events[0].phase == 'N');
    CHECK(trace.object_events[1].phase == 'O');
    CHECK(trace.object_events[2].phase == 'D');
    CHECK(trace.object_events[1].id == 9);
    CHECK(arg(trace, trace.object_events[1].args, "snapshot") == R"({"x":[1]})");
    CHECK(trace.file_events == 10);
    for (const char phase : {'C', 'b', 'n', 'e', 'P', 'N', 'O', 'D'}) {
        CHECK(trace.phase_counts.at(phase) == (phase == 'C' ? 2U : 1U));
    }
    CHECK(trace.diagnostics.empty());
}

TEST_CASE("phases: B and E become complete events") {
    const Trace trace = read_events(
        R"({"ph": "B", "cat": "cpu_op", "name": "outer", "pid": 1, "tid": 1, "ts": 10, "args": {"External id": 3, "x": 1}},
           {"ph": "B", "cat": "cpu_op", "name": "other thread", "pid": 1, "tid": 2, "ts": 11},
           {"ph": "B", "cat": "user_annotation", "name": "inner", "pid": 1, "tid": 1, "ts": 12.5},
           {"ph": "E", "pid": 1, "tid": 1, "ts": 14},
           {"ph": "E", "pid": 1, "tid": 2, "ts": 30},
           {"ph": "E", "cat": "cpu_op", "name": "outer", "pid": 1, "tid": 1, "ts": 20.125},
           {"ph": "X", "cat": "cpu_op", "name": "x", "pid": 1, "tid": 1, "ts": 15, "dur": 1})");
    REQUIRE(trace.size() == 4);
    const EventId outer = named(trace, "outer");
    CHECK(outer == 0);
    CHECK(trace.duration(outer) == 10125);
    CHECK(trace.kind[outer] == EventKind::cpu_op);
    CHECK(trace.op_fields(outer).external_id == 3);
    CHECK(trace.arg(outer, "x") == "1");
    CHECK(trace.file_index[outer] == 0);
    CHECK(trace.duration(named(trace, "inner")) == 1500);
    CHECK(trace.duration(named(trace, "other thread")) == 19000);
    CHECK(trace.file_index[named(trace, "x")] == 6);
    CHECK(trace.phase_counts == std::map<char, std::uint64_t>{{'B', 3}, {'E', 3}, {'X', 1}});
    CHECK(trace.diagnostics.empty());
}

TEST_CASE("phases: B on a device carries its arguments on the matching track") {
    const Trace trace = read_events(
        R"({"ph": "B", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10, "args": {"correlation": 5}},
           {"ph": "E", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 12})");
    REQUIRE(trace.size() == 1);
    CHECK(trace.track_of(0).on_device);
    CHECK(trace.launch_fields(0).correlation == 5);
    CHECK(trace.duration(0) == 2000);
}

// The Chrome format pairs by pid and tid; an E event needs neither name nor category nor arguments.
TEST_CASE("phases: a bare E ends a B of any category") {
    const Trace trace = read_events(
        R"({"ph": "B", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10, "args": {"device": 0, "stream": 7}},
           {"ph": "E", "pid": 0, "tid": 7, "ts": 12},
           {"ph": "B", "cat": "cpu_op", "name": "ranked", "pid": 3, "tid": 3, "ts": 20, "args": {"rank": 1}},
           {"ph": "E", "pid": 3, "tid": 3, "ts": 25})");
    REQUIRE(trace.size() == 2);
    CHECK(trace.duration(named(trace, "k")) == 2000);
    CHECK(trace.duration(named(trace, "ranked")) == 5000);
    CHECK(trace.diagnostics.empty());
}

TEST_CASE("phases: B and E without a partner") {
    const Trace trace = read_events(
        R"({"ph": "E", "pid": 1, "tid": 1, "ts": 9},
           {"ph": "B", "cat": "cpu_op", "name": "open", "pid": 1, "tid": 1, "ts": 10},
           {"ph": "B", "cat": "cpu_op", "name": "closed", "pid": 1, "tid": 1, "ts": 11},
           {"ph": "E", "pid": 1, "tid": 1, "ts": 12},
           {"ph": "E", "pid": 2, "tid": 1, "ts": 13})");
    REQUIRE(trace.size() == 2);
    CHECK(trace.duration(named(trace, "open")) == 0);
    CHECK(trace.duration(named(trace, "closed")) == 1000);
    CHECK(diagnosed(trace, "BAD_EVENTS") == 3);
}

TEST_CASE("phases: unknown and missing phases are counted and left out") {
    const Trace trace = read_after_anchor(
        R"({"ph": "Z", "cat": "cpu_op", "name": "z", "pid": 1, "tid": 1, "ts": 1001, "dur": 1},
           {"ph": "(", "name": "context", "pid": 1, "tid": 1, "ts": 1001},
           {"cat": "cpu_op", "name": "no phase", "pid": 1, "tid": 1, "ts": 1002, "dur": 1},
           {"ph": null, "name": "null", "pid": 1, "tid": 1, "ts": 1003, "dur": 1},
           {"ph": 5, "name": "number"},
           {"ph": "XX", "name": "long"},
           {"ph": "", "name": "empty"},
           {},
           {"ph": "X", "cat": "cpu_op", "name": "last", "pid": 1, "tid": 1, "ts": 1004, "dur": 1})");
    CHECK(names(trace) == std::vector<std::string>{"anchor", "last"});
    CHECK(rows(trace) == 2);
    CHECK(trace.file_events == 10);
    CHECK(trace.file_index[1] == 9);
    CHECK(raised(trace, "UNKNOWN_PHASE", Verdict::note));
    CHECK(diagnosed(trace, "UNKNOWN_PHASE") + diagnosed(trace, "BAD_EVENTS") == 8);
    CHECK(diagnosed(trace, "CORRUPT_JSON") == 0);
}

TEST_CASE("phases: side tables with reference timestamps") {
    const Trace trace = read_after_anchor(
        R"({"ph": "s", "id": 1, "pid": 4, "tid": 5, "ts": 1001.5, "cat": "ac2g", "name": "ac2g"},
           {"ph": "i", "name": "mark", "pid": 1, "tid": 2, "ts": 1003},
           {"ph": "C", "name": "c", "pid": 1, "tid": 2, "ts": 1002, "args": {"v": 1}},
           {"ph": "B", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 9, "ts": 1004},
           {"ph": "E", "pid": 1, "tid": 9, "ts": 1006.25})",
        Timestamps::reference);
    CHECK(trace.to_us(trace.flows.at(0).time) == 1.5);
    CHECK(trace.to_us(trace.instants.at(0).time) == 3.0);
    CHECK(trace.to_us(trace.counters.at(0).time) == 2.0);
    const EventId span = named(trace, "b");
    CHECK(trace.to_us(trace.duration(span)) == 2.25);
    CHECK(trace.recorded_us(span) == 2.25);
}
