// The forms in which values may come: times, ids, tracks and arguments of other types, key orders, duplicated
// keys and elements that are no events (spec 01, sections 1 and 3.3; spec 11, section 7).
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "read_support.hpp"

using namespace tracelens;
using namespace tracelens::read_test;

namespace {

std::string op(const std::string& name, const std::string& ts, const std::string& dur) {
    return R"({"ph": "X", "cat": "cpu_op", "name": ")" + name + R"(", "pid": 1, "tid": 1, "ts": )" + ts +
           R"(, "dur": )" + dur + "}";
}

/// An op that starts at 0, so that the epoch is 0.
const std::string zero = op("zero", "0", "0");

struct Span {
    std::int64_t start, duration;
    friend bool operator==(const Span&, const Span&) = default;
};

/// Start and duration of an event with these times, in nanoseconds.
Span span_of(const std::string& ts, const std::string& dur) {
    CAPTURE(ts);
    CAPTURE(dur);
    const Trace trace = read_events(zero + "," + op("x", ts, dur));
    REQUIRE(trace.size() == 2);
    const EventId x = named(trace, "x");
    return {trace.start[x] + trace.epoch, trace.duration(x)};
}

/// The codes that an event with these times raises. `kept`: whether it is there.
std::string codes_of(const std::string& ts, const std::string& dur, bool& kept) {
    const Trace trace = read_events(zero + "," + op("x", ts, dur));
    kept = trace.size() == 2;
    return codes(trace);
}

}  // namespace

TEST_CASE("values: times keep every nanosecond") {
    CHECK(span_of("1", "2") == Span{1000, 2000});
    CHECK(span_of("1.5", "0.001") == Span{1500, 1});
    CHECK(span_of("6869181218039.954", "77.074") == Span{6869181218039954, 77074});
    CHECK(span_of("1778572800123456.789", "12.345") == Span{1778572800123456789, 12345});
    CHECK(span_of("1778572800123456.788", "12.345") == Span{1778572800123456788, 12345});
    CHECK(span_of("1778572800123456", "3") == Span{1778572800123456000, 3000});
    CHECK(span_of("0.000", "0.0") == Span{0, 0});
}

TEST_CASE("values: times with exponents, signs and too many digits") {
    CHECK(span_of("1.5e3", "2E2") == Span{1500000, 200000});
    CHECK(span_of("15e-1", "2.5e+0") == Span{1500, 2500});
    CHECK(span_of("123.4564", "0.0005") == Span{123456, 1});
    CHECK(span_of("123.4565", "0.00049999999999999") == Span{123457, 0});
    CHECK(span_of("1.00000000000000000000000000000000000001", "1e-30") == Span{1000, 0});
    CHECK(span_of("-2.5", "1") == Span{-2500, 1000});
    CHECK(span_of("-0.0005", "1") == Span{-1, 1000});
}

TEST_CASE("values: times as strings") {
    CHECK(span_of("\"1778572800123456.789\"", "\"12.345\"") == Span{1778572800123456789, 12345});
    CHECK(span_of("\"17\"", "3") == Span{17000, 3000});
    CHECK(span_of("\"1.5e1\"", "\"2\"") == Span{15000, 2000});
}

TEST_CASE("values: a missing dur is a zero duration and is counted") {
    for (const std::string dur :
         {"null", "\"\"", "\"abc\"", "true", "[1]", "{\"a\": 1}", "\"12abc\"", "\"1 2\""}) {
        CAPTURE(dur);
        const Trace trace = read_events(zero + "," + op("x", "5", dur));
        REQUIRE(trace.size() == 2);
        CHECK(trace.duration(1) == 0);
        CHECK(diagnosed(trace, "BAD_EVENTS") == 1);
    }
    const Trace trace =
        read_events(zero + R"(,{"ph": "X", "cat": "kernel", "name": "x", "pid": 1, "tid": 1, "ts": 5})");
    REQUIRE(trace.size() == 2);
    CHECK(trace.kind[1] == EventKind::kernel);
    CHECK(trace.duration(1) == 0);
    CHECK(diagnosed(trace, "BAD_EVENTS") == 1);
}

TEST_CASE("values: an event without a usable ts is dropped and counted") {
    for (const std::string ts : {"null", "\"\"", "\"abc\"", "false", "[1]", "{}", "\"--5\"", "\"1.2.3\""}) {
        CAPTURE(ts);
        const Trace trace = read_events(zero + "," + op("x", ts, "1"));
        CHECK(trace.size() == 1);
        CHECK(trace.file_events == 2);
        CHECK(diagnosed(trace, "BAD_EVENTS") == 1);
    }
    for (const char* phase : {"X", "B", "i", "s", "C", "b"}) {
        CAPTURE(std::string(phase));
        const Trace trace =
            read_events(zero + R"(,{"ph": ")" + phase + R"(", "name": "x", "id": 1, "pid": 1, "tid": 1})");
        CHECK(rows(trace) == 1);
        CHECK(diagnosed(trace, "BAD_EVENTS") == 1);
    }
}

TEST_CASE("values: times that are no JSON values") {
    for (const std::string word : {"--5", "1.2.3", "0x10", "12abc", "1e", "'5'", "5,5"}) {
        CAPTURE(word);
        const Trace bad_start = read(document(zero + "," + op("x", word, "1") + "," + op("y", "9", "1")));
        CHECK(named(bad_start, "y") != no_event);
        CHECK(bad_start.size() == 2);
        CHECK(bad_start.diagnostics.worst() == Verdict::degraded);
        const Trace bad_duration = read(document(zero + "," + op("x", "5", word) + "," + op("y", "9", "1")));
        CHECK(named(bad_duration, "y") != no_event);
        CHECK(bad_duration.diagnostics.worst() == Verdict::degraded);
    }
}

TEST_CASE("values: bad events are a note up to one in a hundred, degraded beyond") {
    std::string events;
    for (int i = 0; i < 199; ++i) events += op("x", std::to_string(i), "1") + ",";
    const std::string bad = op("bad", "null", "1");
    CHECK(raised(read_events(events + bad), "BAD_EVENTS", Verdict::note));
    CHECK(raised(read_events(events + bad + "," + bad + "," + bad), "BAD_EVENTS", Verdict::degraded));
}

TEST_CASE("values: times beyond the model are dropped") {
    bool kept = true;
    for (const std::string big :
         {"1e300", "9223372036854775808", "123456789012345678901234567890", "\"1e40\""}) {
        CAPTURE(big);
        CHECK(codes_of(big, "1", kept).find("BAD_EVENTS") == 0);
        CHECK_FALSE(kept);
        CHECK(codes_of("5", big, kept).find("BAD_EVENTS") == 0);
        CHECK_FALSE(kept);
    }
    CHECK(codes_of("-1e300", "1", kept).find("BAD_EVENTS") == 0);
    CHECK_FALSE(kept);
}

TEST_CASE("values: wrapped unsigned durations degrade at once") {
    for (const std::string dur :
         {"18446744073709548.366", "18446744073709551.615", "\"18446744073709551.615\""}) {
        CAPTURE(dur);
        std::string events = zero;
        for (int i = 0; i < 300; ++i) events += "," + op("a", "5", "1");
        const Trace trace = read_events(events + "," + op("x", "5", dur));
        CHECK(trace.size() == 301);
        CHECK(raised(trace, "BAD_EVENTS", Verdict::degraded));
    }
}

TEST_CASE("values: negative durations are clamped to zero, kept and reported") {
    const Trace trace = read_events(zero + "," + op("x", "5", "-3.25") + "," + op("y", "6", "-0.001") + "," +
                                    op("z", "7", "-0.0"));
    REQUIRE(trace.size() == 4);
    for (EventId event = 0; event < 4; ++event) CHECK(trace.duration(event) == 0);
    CHECK(raised(trace, "NEGATIVE_DURATION", Verdict::degraded));
    CHECK(diagnosed(trace, "NEGATIVE_DURATION") == 2);
}

TEST_CASE("values: reference timestamps round as doubles do") {
    // Spec 01, section 1.3. The start is written as it is; the end is the double sum.
    const Trace trace =
        read_events(op("a", "1365627866520.196", "2.08") + "," + op("b", "3603029046460.717", "77.074") +
                        "," + op("c", "6869181218039.954", "6.239"),
                    Timestamps::reference);
    REQUIRE(trace.size() == 3);
    CHECK(trace.timestamps == Timestamps::reference);
    CHECK(trace.ticks_per_us == 4096);
    CHECK(trace.to_us(trace.duration(0)) == 2.080078125);
    CHECK(trace.to_us(trace.duration(1)) == 77.07421875);
    CHECK(trace.to_us(trace.duration(2)) == 6.2392578125);
    CHECK(trace.duration_us == std::vector<double>{2.08, 77.074, 6.239});
    CHECK(trace.recorded_us(1) == 77.074);
    CHECK(static_cast<double>(trace.epoch) / 4096 == 1365627866520.196);
    CHECK(trace.diagnostics.empty());
}

TEST_CASE("values: exact timestamps do not round") {
    const Trace trace =
        read_events(op("a", "1365627866520.196", "2.08") + "," + op("b", "6869181218039.954", "6.239"));
    CHECK(trace.duration(0) == 2080);
    CHECK(trace.duration(1) == 6239);
    CHECK(trace.duration_us.empty());
    CHECK(trace.recorded_us(0) == 2.08);
}

TEST_CASE("values: reference timestamps of integers, strings and bad values") {
    const Trace trace =
        read_events(op("a", "100", "46") + "," + op("b", "\"200\"", "\"1.5e1\"") + "," +
                        op("c", "300", "-4") + "," + op("d", "400", "null") + "," + op("e", "null", "1"),
                    Timestamps::reference);
    REQUIRE(trace.size() == 4);
    CHECK(trace.to_us(trace.duration(0)) == 46);
    CHECK(trace.to_us(trace.duration(1)) == 15);
    CHECK(trace.duration(2) == 0);
    CHECK(trace.duration(3) == 0);
    CHECK(diagnosed(trace, "NEGATIVE_DURATION") == 1);
    CHECK(diagnosed(trace, "BAD_EVENTS") >= 2);
}

TEST_CASE("values: processes and threads as integers, strings and nothing") {
    std::string events;
    const std::vector<std::string> parts = {R"("pid": 7, "tid": 8)",
                                            R"("pid": "7", "tid": 8)",
                                            R"("tid": 8)",
                                            R"("pid": 7)",
                                            R"("pid": "7", "tid": "8")",
                                            R"("pid": null, "tid": 8)",
                                            R"("pid": 9007199254740993, "tid": -1)",
                                            R"("pid": "a\tb", "tid": "")",
                                            ""};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        events += std::string(i == 0 ? "" : ",") + R"({"ph": "X", "cat": "cpu_op", "name": "n", "ts": )" +
                  std::to_string(i) + R"(, "dur": 1)" + (parts[i].empty() ? "" : ", ") + parts[i] + "}";
    }
    const Trace trace = read_events(events);
    REQUIRE(trace.size() == parts.size());
    const auto missing = [](const TrackPart& part) { return part.form == TrackPart::Form::missing; };
    const auto text = [&](const TrackPart& part) {
        return part.form == TrackPart::Form::text
                   ? trace.strings[StringId{static_cast<std::uint32_t>(part.value)}]
                   : "-";
    };
    CHECK(trace.track_of(0).pid == TrackPart::integer(7));
    CHECK(trace.track_of(0).tid == TrackPart::integer(8));
    CHECK(text(trace.track_of(1).pid) == "7");
    CHECK(trace.track_of(1).tid == TrackPart::integer(8));
    CHECK(missing(trace.track_of(2).pid));
    CHECK(missing(trace.track_of(3).tid));
    CHECK(text(trace.track_of(4).tid) == "8");
    CHECK(trace.track[5] == trace.track[2]);
    CHECK(trace.track_of(6).pid == TrackPart::integer(9007199254740993));
    CHECK(trace.track_of(6).tid == TrackPart::integer(-1));
    CHECK(text(trace.track_of(7).pid) == "a\tb");
    CHECK(text(trace.track_of(7).tid).empty());
    CHECK(missing(trace.track_of(8).pid));
    CHECK(missing(trace.track_of(8).tid));
    CHECK(trace.tracks.size() == 8);
}

TEST_CASE("values: args of other types neither stop nor leak into the next event") {
    for (const std::string args :
         {"null", "[1, {\"a\": 2}]", "\"text\"", "5", "true", "[]", "{\"\": 1}", "{\"a\": {\"b\": [{}]}}"}) {
        CAPTURE(args);
        const Trace trace = read_events(R"({"ph": "X", "cat": "cpu_op", "name": "a", "args": )" + args +
                                        R"(, "pid": 1, "tid": 1, "ts": 1, "dur": 2},)" + op("b", "5", "1"));
        REQUIRE(trace.size() == 2);
        CHECK(trace.duration(0) == 2000);
        CHECK(trace.args[1] == ArgsId::empty);
    }
}

TEST_CASE("values: ids of other types count as missing") {
    for (const std::string id :
         {"null", "true", "1.5", "[3]", "{\"a\": 3}", "\"abc\"", "9223372036854775808", "\"\""}) {
        CAPTURE(id);
        const Trace trace =
            read_events(R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 1, "tid": 2, "ts": 1, "dur": 1,
            "args": {"correlation": )" +
                        id + R"(, "device": )" + id + R"(, "stream": )" + id + "}}");
        REQUIRE(trace.size() == 1);
        CHECK(trace.launch_fields(0).correlation == no_number);
        CHECK(trace.track_of(0).device == 1);
        CHECK(trace.track_of(0).stream == 2);
    }
}

TEST_CASE("values: null names and categories are missing ones") {
    const Trace trace = read_events(
        R"({"ph": "X", "cat": null, "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
           {"ph": "X", "cat": "cpu_op", "name": null, "pid": 1, "tid": 1, "ts": 2, "dur": 1},
           {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 3, "dur": 1})");
    REQUIRE(trace.size() == 3);
    CHECK(trace.category[0] == StringId::empty);
    CHECK(trace.name_of(1).empty());
    CHECK(trace.name_of(2).empty());
    CHECK(diagnosed(trace, "BAD_EVENTS") == 2);
}

TEST_CASE("values: every order of keys gives the same event") {
    std::vector<std::string> members = {
        R"("ph": "X")",   R"("cat": "kernel")",
        R"("name": "k")", R"("pid": 0)",
        R"("ts": 4)",     R"("args": {"stream": 7, "grid": [1, 1, 1], "correlation": 3})"};
    const auto joined = [&] {
        std::string event = "{";
        for (const std::string& member : members) event += member + ", ";
        return event + R"("tid": 7, "dur": 1})";
    };
    std::sort(members.begin(), members.end());
    const Trace first = read(document(joined()));
    std::size_t different = 0;
    do {
        const std::string event = joined();
        if (!difference_of_events(first, read_tolerantly(event)).empty()) ++different;
    } while (std::next_permutation(members.begin(), members.end()));
    CHECK(different == 0);
    for (int round = 0; round < 24; ++round) {
        std::rotate(members.begin(), members.begin() + 1 + round % 5, members.end());
        CHECK(difference_of_events(first, read(document(joined()))) == "");
    }
}

TEST_CASE("values: duplicated keys do no harm and the last one wins") {
    const Trace trace = read_events(
        R"({"ph": "i", "ph": "X", "cat": "kernel", "cat": "cpu_op", "name": "a", "name": "b", "ts": 1, "ts": 2, "dur": 1,
            "dur": 3, "pid": 1, "pid": 2, "tid": 1, "tid": 2,
            "args": {"External id": 1, "External id": 2, "x": 1, "x": 2}},)" +
        op("c", "9", "1"));
    REQUIRE(trace.size() == 2);
    CHECK(trace.name_of(0) == "b");
    CHECK(trace.kind[0] == EventKind::cpu_op);
    CHECK(trace.epoch == 2000);
    CHECK(trace.duration(0) == 3000);
    CHECK(trace.track_of(0).pid == TrackPart::integer(2));
    CHECK(trace.op_fields(0).external_id == 2);
    CHECK(trace.arg(0, "x").value_or("") == "2");  // spec 01, 2.1: "Duplicate keys: last wins"
}

TEST_CASE("values: duplicated args do not crash") {
    const Trace trace = read_events(
        R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": {"x": 1},
            "args": {"y": 2}},)" +
        op("c", "9", "1"));
    REQUIRE(trace.size() == 2);
    CHECK(trace.arg(0, "y") == "2");
}

TEST_CASE("values: elements that are no objects are dropped and counted") {
    for (const std::string element :
         {"null", "5", "-1.5e3", "\"text\"", "true", "[]", "[1, [2]]", "\"}{\"", "[{\"a\": 1}]"}) {
        CAPTURE(element);
        const std::string last = op("last", "9", "1");
        for (const std::string& events :
             {zero + "," + element + "," + last, element + "," + zero + "," + last,
              zero + "," + last + "," + element, zero + "," + element + "," + element + "," + last}) {
            CAPTURE(events);
            const Trace trace = read(document(events));
            CHECK(names(trace) == std::vector<std::string>{"zero", "last"});
            CHECK(diagnosed(trace, "BAD_EVENTS") >= 1);
            CHECK(diagnosed(trace, "TRUNCATED") == 0);
            CHECK(trace.property("traceName") == "\"t.json\"");
        }
    }
}

TEST_CASE("values: what looks like an event inside an element that is none is no event") {
    const std::string nested = R"([{"ph": "X", "name": "inner", "ts": 1, "dur": 1}])";
    const std::string last = op("last", "9", "1");
    for (const std::string& events : {zero + "," + nested + "," + last, zero + "," + last + "," + nested}) {
        CAPTURE(events);
        const Trace trace = read(document(events));
        CHECK(names(trace) == std::vector<std::string>{"zero", "last"});
        CHECK(diagnosed(trace, "BAD_EVENTS") == 1);
    }
}

// The text is valid JSON: nothing is to be salvaged.
TEST_CASE("values: what looks like events inside arguments belongs to the event") {
    const std::string inner = R"({"ph":"X","cat":"cpu_op","name":"inner","pid":1,"tid":1,"ts":1,"dur":1})";
    for (const std::string& args : {R"({"x":[)" + inner + "," + inner + "]}",
                                    R"({"x":)" + inner + R"(,"y":1})", R"({"x":[[)" + inner + "]]}"}) {
        CAPTURE(args);
        const std::string event =
            R"({"ph": "X", "cat": "cpu_op", "name": "outer", "pid": 1, "tid": 1, "ts": 3, "dur": 2, "args": )" +
            args + "}";
        const Trace trace = read(document(zero + "," + event + "," + op("last", "9", "1")));
        CHECK(names(trace) == std::vector<std::string>{"zero", "outer", "last"});
        CHECK(codes(trace) == "");
    }
}

TEST_CASE("values: strings are decoded") {
    const Trace trace = read_events(op(R"(q\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00)", "1", "1"));
    REQUIRE(trace.size() == 1);
    CHECK(trace.name_of(0) == "q\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    CHECK(trace.diagnostics.empty());
    const Trace raw = read_events(op("gr\xc3\xbc\xc3\x9f \xe2\x82\xac", "1", "1"));
    CHECK(raw.name_of(0) == "gr\xc3\xbc\xc3\x9f \xe2\x82\xac");
    CHECK(raw.diagnostics.empty());
}
