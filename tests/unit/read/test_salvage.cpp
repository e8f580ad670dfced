// The faults of shared/field-cases as small texts: what is kept and which diagnostics are raised (spec 11,
// sections 3 and 7; design.md, "Errors").
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "gzip_text.hpp"
#include "read_support.hpp"

using namespace tracelens;
using namespace tracelens::read_test;

namespace {

using Names = std::vector<std::string>;

/// An op whose name is written as it stands.
std::string op(std::string_view name, int ts, std::string_view args = "{}") {
    return R"({"ph": "X", "cat": "cpu_op", "name": ")" + std::string(name) +
           R"(", "pid": 1, "tid": 1, "ts": )" + std::to_string(ts) + R"(, "dur": 2, "args": )" +
           std::string(args) + "}";
}

const std::string a = op("a", 1), b = op("b", 5), c = op("c", 9);

/// Reads with one large and with tiny windows, which must agree in what they keep.
Trace salvaged(const std::string& text) {
    CAPTURE(text.substr(0, 600));
    Trace trace = read(text);
    const Trace windowed = read(text, one_thread(48));
    CHECK(names(trace) == names(windowed));
    CHECK(trace.properties.size() == windowed.properties.size());
    return trace;
}

/// Whether something was salvaged and said so.
bool degraded(const Trace& trace, std::string_view code = "CORRUPT_JSON") {
    return raised(trace, code, Verdict::degraded);
}

bool holds(const Trace& trace, std::string_view name) {
    const Names found = names(trace);
    return std::find(found.begin(), found.end(), name) != found.end();
}

bool tail_is_read(const Trace& trace) {
    return trace.property("traceName").value_or("") == "\"t.json\"";
}

}  // namespace

TEST_CASE("salvage: raw control characters stay in the strings") {
    const Trace trace = salvaged(
        document(a + "," + op("line\nnext\ttab", 2) + "," + op(std::string_view("\x01\x02\x1f\0z", 5), 3) +
                 "," + op("d", 4, "{\"x\": [\"first line\nsecond line\", \"\"]}") + "," + b));
    CHECK(names(trace) == Names{"a", "line\nnext\ttab", std::string("\x01\x02\x1f\0z", 5), "d", "b"});
    CHECK(trace.arg(3, "x").value_or("") == R"(["first line\nsecond line",""])");
    CHECK(degraded(trace));
    CHECK(diagnosed(trace, "TRUNCATED") == 0);
    CHECK(diagnosed(trace, "BAD_EVENTS") == 0);
    CHECK(tail_is_read(trace));
}

TEST_CASE("salvage: backslashes that start no escape stay backslashes") {
    const Trace trace = salvaged(document(op(R"(torch\cuda\__init__.py(219): f)", 1) + "," +
                                          op(R"(C:\src\ops: \u12 \uzzzz \x)", 2) + "," +
                                          op("d", 3, R"({"kernel_file": "C:\Users\dev\AppData\k.py"})") +
                                          "," + op(R"(torch\nn\modules)", 4) + "," + b));
    const Names found = names(trace);
    REQUIRE(found.size() == 5);
    CHECK(found[0] == R"(torch\cuda\__init__.py(219): f)");
    CHECK(found[1] == R"(C:\src\ops: \u12 \uzzzz \x)");
    CHECK(trace.arg(2, "kernel_file").value_or("") == R"("C:\\Users\\dev\\AppData\\k.py")");
    CHECK(found[3].substr(0, 5) == "torch");  // \n is a valid escape: the rest cannot be known
    CHECK(found[4] == "b");
    CHECK(degraded(trace));
    CHECK(tail_is_read(trace));
}

TEST_CASE("salvage: a backslash before the closing quote costs at most its event") {
    const Trace trace = salvaged(document(a + "," + op(R"(C:\tmp\)", 3) + "," + b + "," + c));
    const Names found = names(trace);
    CHECK(found.size() >= 3);
    CHECK(found.front() == "a");
    CHECK(found[found.size() - 2] == "b");
    CHECK(found.back() == "c");
    CHECK(degraded(trace));
    CHECK(tail_is_read(trace));
}

TEST_CASE("salvage: numbers in args that are not finite are accepted silently") {
    for (const char* word :
         {"inf", "-inf", "nan", "-nan", "NaN", "Infinity", "-Infinity", "INF", "+inf", "-NAN"}) {
        CAPTURE(std::string(word));
        const std::string args =
            R"({"bandwidth": )" + std::string(word) + R"(, "x": [1, )" + word + R"(], "y": 2})";
        const Trace trace = salvaged(document(a + "," + op("d", 3, args) + "," + b));
        CHECK(names(trace) == Names{"a", "d", "b"});
        CHECK(trace.arg(1, "y").value_or("") == "2");
        CHECK(trace.arg(1, "bandwidth").has_value());
        CHECK(codes(trace) == "");
        CHECK(tail_is_read(trace));
    }
}

TEST_CASE("salvage: times that are not finite cost their event") {
    for (const char* word : {"inf", "-inf", "nan", "NaN", "Infinity", "-Infinity", "\"nan\"", "\"Inf\""}) {
        for (const bool start : {true, false}) {
            CAPTURE(std::string(word));
            const std::string bad =
                R"({"ph": "X", "cat": "kernel", "name": "bad", "pid": 0, "tid": 7, "ts": )" +
                std::string(start ? word : "3") + R"(, "dur": )" + (start ? "1" : word) + "}";
            for (const Timestamps timestamps : {Timestamps::exact, Timestamps::reference}) {
                const Trace trace = read(document(a + "," + bad + "," + b), one_thread(1 << 16, timestamps));
                CHECK(names(trace) == Names{"a", "b"});
                CHECK(degraded(trace));
                CHECK(diagnosed(trace, "BAD_EVENTS") == 1);
                CHECK(trace.to_us(trace.duration(0)) == 2);
            }
        }
    }
}

TEST_CASE("salvage: input that ends inside an event") {
    const std::string last = op("last", 20, R"({"x": {"y": [1, 2]}})");
    for (const std::string_view until :
         {"{", "{\"p", "\"X\"", "\"name\": \"la", "\"name\"", "\"ts\": 2", "\"ts\": 20", "\"dur\": 2",
          "\"dur\":", "\"args\": ", "[1, 2", "[1, 2]", "]}", "]}}"}) {
        CAPTURE(until);
        const std::string cut = last.substr(0, last.find(until) + until.size());
        const Trace trace = salvaged(R"({"schemaVersion": 1, "traceEvents": [)" + a + "," + b + ",\n" + cut);
        CHECK(names(trace) == Names{"a", "b"});
        CHECK(degraded(trace, "TRUNCATED"));
        CHECK(trace.property("schemaVersion").value_or("") == "1");
    }
}

TEST_CASE("salvage: input that ends between events") {
    for (const std::string end : {"", "\n", ",", ", \n", " ,"}) {
        CAPTURE(end);
        for (const std::string start : {R"({"traceEvents": [)", "["}) {
            const Trace trace = salvaged(start + a + "," + b + end);
            CHECK(names(trace) == Names{"a", "b"});
            CHECK(degraded(trace, "TRUNCATED"));
        }
    }
    for (const std::string start : {R"({"traceEvents": [)", R"({"traceEvents": [ )", "[", "[ \n"}) {
        CAPTURE(start);
        const Trace trace = salvaged(start);
        CHECK(trace.size() == 0);
        CHECK(degraded(trace, "TRUNCATED"));
    }
}

TEST_CASE("salvage: input that ends behind the event array") {
    const std::string head = R"({"traceEvents": [)" + a + "," + b;
    for (const std::string end :
         {"]", "] ", "],", "],\n \"trace", "], \"traceName\"", "], \"traceName\":", "], \"traceName\": \"x",
          "], \"traceName\": \"x\"", "], \"k\": {\"a\": 1}", "], \"k\": \"}\"",
          "], \"k\": {\"a\": {\"b\": 1}, \"c", "], \"k\": {\"a\": 1}, \"n\": 5", "], \"k\": {\"a\": 1},"}) {
        CAPTURE(end);
        const Trace trace = salvaged(head + end);
        CHECK(names(trace) == Names{"a", "b"});
        CHECK(degraded(trace, "TRUNCATED"));
    }
}

TEST_CASE("salvage: trailing commas") {
    for (const std::string& events :
         {a + "," + b + ",", a + ", " + b + " ,\n ", a + ",\n" + op("b", 5, "{\"x\": 1,}"),
          a + ",\n" + op("b", 5, "{\"x\": [1, 2, ]}"), a + "," + b.substr(0, b.size() - 1) + ", }"}) {
        CAPTURE(events);
        const Trace trace = salvaged(document(events));
        CHECK(names(trace) == Names{"a", "b"});
        CHECK(degraded(trace));
        CHECK(diagnosed(trace, "TRUNCATED") == 0);
        CHECK(tail_is_read(trace));
    }
    const Trace array = salvaged("[" + a + "," + b + ",]");
    CHECK(names(array) == Names{"a", "b"});
    CHECK(degraded(array));
    CHECK(diagnosed(array, "TRUNCATED") == 0);
}

// Spec 11.3: CORRUPT_JSON when "anything was salvaged".
TEST_CASE("salvage: commas missing, doubled or in front") {
    for (const std::string& events : {a + b + "," + c, a + " \n" + b + c, a + ",," + b + "," + c,
                                      a + "," + b + ", , ," + c, "," + a + "," + b + "," + c}) {
        CAPTURE(events);
        const Trace trace = salvaged(document(events));
        CHECK(names(trace) == Names{"a", "b", "c"});
        CHECK(degraded(trace));
        CHECK(diagnosed(trace, "TRUNCATED") == 0);
        CHECK(tail_is_read(trace));
    }
}

TEST_CASE("salvage: bytes that are not UTF-8") {
    const Trace trace = salvaged(
        document(a + "," + op("x\xff\xc3(\xe2\x82", 3) + "," + op("d", 4, "{\"x\": \"\x80\"}") + "," + b));
    CHECK(names(trace) == Names{"a", "x\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd", "d", "b"});
    CHECK(trace.arg(2, "x").value_or("") == "\"\xef\xbf\xbd\"");
    CHECK(degraded(trace));
    CHECK(tail_is_read(trace));
}

TEST_CASE("salvage: half a surrogate pair is a note") {
    const Trace trace = salvaged(document(a + "," + op(R"(x\ud83dy\ude00)", 3) + "," + b));
    CHECK(names(trace) == Names{"a", "x\xef\xbf\xbdy\xef\xbf\xbd", "b"});
    CHECK(diagnosed(trace, "CORRUPT_JSON") == 0);
    CHECK(trace.diagnostics.worst() == Verdict::note);
}

const std::string noises[] = {"xyz",
                              "garbage in here",
                              "}",
                              "}}",
                              "]",
                              "]]",
                              "]}",
                              "{",
                              "{{",
                              "[",
                              "\"",
                              "\"x",
                              "\\",
                              "\\\"",
                              ":",
                              "123 456",
                              "\xff\xfe",
                              "{\"foo\": 1, \"bar\"}",
                              "{\"ph\": \"X\", \"name\": \"x\", \"ts\": 4, \"du",
                              "nan,",
                              "<html>"};

TEST_CASE("salvage: text between events that is none costs no event") {
    for (const std::string& noise : noises) {
        for (const std::string& events :
             {a + "," + noise + "," + b + "," + c, a + noise + "," + b + "," + c}) {
            CAPTURE(events);
            const Trace trace = salvaged(document(events));
            CHECK(holds(trace, "a"));
            CHECK(holds(trace, "b"));
            CHECK(holds(trace, "c"));
            CHECK(trace.diagnostics.worst() >= Verdict::note);
            CHECK(diagnosed(trace, "TRUNCATED") == 0);
            CHECK(tail_is_read(trace));
        }
    }
}

// window_cutter.hpp: an event's start is found "whatever stands before it".
TEST_CASE("salvage: text that touches the start of an event does not cost the event") {
    for (const std::string& noise : noises) {
        CAPTURE(noise);
        const Trace trace = salvaged(document(a + ",\n" + noise + b + ",\n" + c));
        CHECK(holds(trace, "a"));
        CHECK(holds(trace, "b"));
        CHECK(holds(trace, "c"));
        CHECK(diagnosed(trace, "TRUNCATED") == 0);
        CHECK(tail_is_read(trace));
    }
}

TEST_CASE("salvage: a run of zero bytes, as a crash leaves behind") {
    const std::string events = a + "," + b + "," + c;
    for (const std::size_t at : {a.size() + 20, a.size() + 1, a.size()}) {
        std::string damaged = events;
        damaged.insert(at, std::string(5000, '\0'));
        const Trace trace = salvaged(document(damaged));
        const Names found = names(trace);
        CHECK(found.size() >= 2);
        CHECK(found.front() == "a");
        CHECK(found.back() == "c");
        CHECK(trace.diagnostics.worst() >= Verdict::degraded);
        CHECK(tail_is_read(trace));
    }
}

// The zeros hide the borders of events: what is left reads like one event, and must not pass for one.
TEST_CASE("salvage: zero bytes from one event into another are reported") {
    const std::string first = op("b", 5, R"({"External id": 41, "x": 7})");
    const std::string second = op("d", 6, R"({"External id": 42, "x": 8})");
    for (const std::string_view key : {"\"tid\": ", "\"ts\": ", "\"External id\": ", "\"x\": "}) {
        CAPTURE(key);
        std::string events = a + "," + first + "," + second + "," + c;
        const std::size_t from = events.find(key, a.size()) + key.size();
        const std::size_t to = events.find(key, from) + key.size();
        std::fill(events.begin() + static_cast<std::ptrdiff_t>(from),
                  events.begin() + static_cast<std::ptrdiff_t>(to), '\0');
        const Trace trace = salvaged(document(events));
        CHECK(holds(trace, "a"));
        CHECK(holds(trace, "c"));
        CHECK(degraded(trace));
        CHECK(tail_is_read(trace));
    }
}

TEST_CASE("salvage: an event that lacks a quote, colon, bracket or brace costs no other") {
    const std::string whole = op("b", 5, R"({"x": [1, {"y": "z"}]})");
    for (std::size_t at = 0; at < whole.size(); ++at) {
        if (std::string_view("\"{}[]:,").find(whole[at]) == std::string_view::npos) continue;
        std::string broken = whole;
        broken.erase(at, 1);
        CAPTURE(broken);
        const Trace trace = salvaged(document(a + "," + broken + "," + c));
        const Names found = names(trace);
        REQUIRE(found.size() >= 2);
        CHECK(found.front() == "a");
        CHECK(found.back() == "c");
        CHECK(trace.diagnostics.worst() >= Verdict::note);
        CHECK(diagnosed(trace, "TRUNCATED") == 0);
        CHECK(tail_is_read(trace));
    }
}

TEST_CASE("salvage: closing brackets too many in an event cost no other") {
    for (const std::string extra :
         {"]", "]]", "]]]", "]]]]", "}", "}}", "}}}", "]}", "]}]", "}]", "}}]", "}]}"}) {
        CAPTURE(extra);
        const std::string broken =
            op("b", 5, R"({"Input Strides": [[1]])" + extra + R"(, "Input Dims": [[2]], "Ev Idx": 3})");
        const Trace trace = salvaged(document(a + "," + broken + "," + c + "," + op("d", 20)));
        CHECK(holds(trace, "a"));
        CHECK(holds(trace, "c"));
        CHECK(holds(trace, "d"));
        CHECK(degraded(trace));
        CHECK(tail_is_read(trace));
        CHECK(trace.properties.size() == 2);
    }
}

// Spec 11.3: CORRUPT_JSON when "anything was salvaged"; simdjson_events.hpp: "reads windows without a flaw;
// anything else makes it give up".
TEST_CASE("salvage: values that are no JSON are reported, whatever became of them") {
    using namespace std::string_view_literals;
    for (const std::string_view member :
         {"\"pid\": 12x4"sv, "\"tid\": 1\0 2"sv, "\"pid\": 0x10"sv, "\"cat\": cpu_op"sv, "\"name\": n"sv,
          "\"id\": 5..6"sv, "\"x\": undefined"sv, "\"x\": 'text'"sv, "\"args\": {\"correlation\": 4z}"sv,
          "\"args\": {\"External id\": 1\0\0\0\0"
          "2}"sv,
          "\"args\": {\"stream\": 7-}"sv, "\"args\": {\"x\": 4z}"sv, "\"args\": {\"x\": [1 2]}"sv,
          "\"args\": {\"x\": [1, {\"y\" 2}]}"sv, "\"args\": {\"x\": [,]}"sv, "\"args\": {\"x\": {1: 2}}"sv,
          "\"args\": {\"x\": {\"a\"}}"sv}) {
        CAPTURE(std::string(member));
        const std::string event =
            R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 1, "tid": 1, "ts": 4, "dur": 1, )" +
            std::string(member) + "}";
        const Trace trace = salvaged(document(a + "," + event + "," + b));
        CHECK(holds(trace, "a"));
        CHECK(holds(trace, "b"));
        CHECK(degraded(trace));
        CHECK(tail_is_read(trace));
    }
}

TEST_CASE("salvage: bytes behind the document") {
    for (const std::string& tail : {std::string(300, '\0'), std::string("garbage"), std::string("}"),
                                    std::string("\x1a"), std::string("]")}) {
        const Trace object = salvaged(document(a + "," + b) + tail);
        CHECK(names(object) == Names{"a", "b"});
        CHECK(object.diagnostics.worst() >= Verdict::note);
        CHECK(tail_is_read(object));
        const Trace array = salvaged("[" + a + "," + b + "]" + tail);
        CHECK(names(array) == Names{"a", "b"});
        CHECK(array.diagnostics.worst() >= Verdict::note);
    }
}

TEST_CASE("salvage: damaged keys before the array") {
    for (const std::string head :
         {R"({"a": 1 "b": 2, )", R"({"a": [1, 2}, )", R"({"a": {"b": 1], )", R"({a: 1, )", R"({"a" 1, )",
          R"({"a": "x", "b": }, )", R"({"x": "unclosed, )", R"({"a": 1, , )", R"({]}, )"}) {
        CAPTURE(head);
        const Result<Trace> trace =
            try_read(head + R"("traceEvents": [)" + a + "," + b + R"(], "traceName": "t.json"})");
        CHECK_MESSAGE(trace.ok(), "keys before the array cost the whole trace");
        if (!trace) continue;
        CHECK(names(*trace) == Names{"a", "b"});
        CHECK(tail_is_read(*trace));
        CHECK(degraded(*trace));
    }
}

TEST_CASE("salvage: damaged keys behind the array") {
    const Trace trace = salvaged(R"({"schemaVersion": 1, "traceEvents": [)" + a + "," + b +
                                 R"(], "traceName": "t", "x" 5, "y": 1})");
    CHECK(names(trace) == Names{"a", "b"});
    CHECK(trace.property("traceName").value_or("") == "\"t\"");
    CHECK(trace.property("schemaVersion").value_or("") == "1");
    CHECK(trace.diagnostics.worst() == Verdict::degraded);
}

#if TRACELENS_WITH_ZLIB

TEST_CASE("salvage: a torn gzip stream") {
    const std::string text = document(a + "," + b + "," + c);
    const std::size_t inside_b = text.find("\"name\": \"b\"") + 5;
    const std::string head = gzip(text.substr(0, inside_b), inside_b);
    const Trace trace = read_gzip(head.substr(0, head.size() - 9));
    CHECK(names(trace) == Names{"a"});
    CHECK(degraded(trace, "TRUNCATED"));
    // Only checksum and length are missing: nothing is lost.
    const std::string whole = gzip(text);
    const Trace unsealed = read_gzip(whole.substr(0, whole.size() - 8));
    CHECK(names(unsealed) == Names{"a", "b", "c"});
    CHECK(degraded(unsealed, "TRUNCATED"));
    CHECK(tail_is_read(unsealed));
}

TEST_CASE("salvage: a wrong checksum") {
    std::string packed = gzip(document(a + "," + b + "," + c));
    packed[packed.size() - 6] = static_cast<char>(packed[packed.size() - 6] ^ 1);
    const Trace trace = read_gzip(packed);
    CHECK(names(trace) == Names{"a", "b", "c"});
    CHECK(degraded(trace));
    CHECK(diagnosed(trace, "TRUNCATED") == 0);
}

TEST_CASE("salvage: gzip members and what may follow them") {
    const std::string text = document(a + "," + b + "," + c);
    const std::size_t cuts[] = {
        0, 1, text.size() / 5, text.size() / 5, text.size() / 2 + 7, text.size() - 3, text.size()};
    std::string packed;
    for (std::size_t i = 0; i + 1 < std::size(cuts); ++i)
        packed += gzip(text.substr(cuts[i], cuts[i + 1] - cuts[i]));
    const Trace trace = read_gzip(packed);
    CHECK(names(trace) == Names{"a", "b", "c"});
    CHECK(codes(trace) == "");
    CHECK(trace.text_bytes == text.size());
    CHECK(trace.stored_bytes == packed.size());
    const Trace padded = read_gzip(packed + std::string(512, '\0'));
    CHECK(names(padded) == Names{"a", "b", "c"});
    CHECK(padded.diagnostics.worst() <= Verdict::note);
}

#endif
