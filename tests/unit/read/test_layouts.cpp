// The forms of a whole document: object and array form, white space, byte order mark, keys around the event
// array, and the legacy traces of the autograd profiler (spec 01, sections 2.2 and 3.6; spec 11, section 7).
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "read_support.hpp"

using namespace tracelens;
using namespace tracelens::read_test;

namespace {

const std::string two_events =
    R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":2,"args":{"x":[1,"}"]}},)"
    R"({"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":5,"dur":2})";

void check_two_events(const Trace& trace) {
    CHECK(names(trace) == std::vector<std::string>{"a", "b"});
    CHECK(trace.file_events == 2);
    CHECK(trace.arg(0, "x").value_or("") == R"([1,"}"])");
    CHECK(trace.duration(1) == 2000);
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
    return text;
}

std::vector<std::string> property_keys_of(const Trace& trace) {
    std::vector<std::string> keys;
    for (const Property& each : trace.properties) keys.push_back(each.key);
    return keys;
}

}  // namespace

TEST_CASE("layouts: object and array form") {
    const Trace object = read(R"({"traceEvents":[)" + two_events + "]}");
    check_two_events(object);
    CHECK(object.properties.empty());
    CHECK(object.format == "kineto-json");
    CHECK(object.path == "test.json");
    CHECK(object.diagnostics.empty());
    for (const std::string& text :
         {"[" + two_events + "]", " \n[ " + two_events + " ]\n", "[\n" + two_events + "\n]\n\n"}) {
        CAPTURE(text);
        const Trace array = read(text);
        check_two_events(array);
        CHECK(array.properties.empty());
        CHECK(array.format == "chrome-json-array");
        CHECK(array.diagnostics.empty());
        CHECK(array.text_bytes == text.size());
        CHECK(array.stored_bytes == text.size());
    }
}

TEST_CASE("layouts: white space of every kind between tokens") {
    static constexpr std::string_view tokens[] = {"{",     "\"traceEvents\"",
                                                  ":",     "[",
                                                  "{",     "\"ph\"",
                                                  ":",     "\"X\"",
                                                  ",",     "\"name\"",
                                                  ":",     "\"a\"",
                                                  ",",     "\"ts\"",
                                                  ":",     "1",
                                                  ",",     "\"dur\"",
                                                  ":",     "2",
                                                  ",",     "\"args\"",
                                                  ":",     "{",
                                                  "\"x\"", ":",
                                                  "[",     "1",
                                                  ",",     "\"}\"",
                                                  "]",     "}",
                                                  "}",     ",",
                                                  "{",     "\"name\"",
                                                  ":",     "\"b\"",
                                                  ",",     "\"ph\"",
                                                  ":",     "\"X\"",
                                                  ",",     "\"ts\"",
                                                  ":",     "5",
                                                  ",",     "\"dur\"",
                                                  ":",     "2",
                                                  "}",     "]",
                                                  ",",     "\"k\"",
                                                  ":",     "1",
                                                  "}"};
    const std::vector<std::string> spaces = {
        "", " ", "\n", "\t", "\r\n", "   \n\t  ", std::string(100, ' '), std::string(700, '\n')};
    for (const std::string& space : spaces) {
        std::string text = space;
        for (const std::string_view token : tokens) text += std::string(token) + space;
        CAPTURE(text.substr(0, 300));
        for (const std::size_t window : {64U, 1U << 19}) {
            const Trace trace = read(text, one_thread(window));
            check_two_events(trace);
            CHECK(trace.property("k").value_or("") == "1");
            CHECK(trace.diagnostics.empty());
        }
    }
}

TEST_CASE("layouts: a byte order mark is skipped") {
    const std::string mark = "\xef\xbb\xbf";
    const Trace object = read(mark + document(two_events));
    check_two_events(object);
    CHECK(object.property("traceName").value_or("") == "\"t.json\"");
    CHECK(object.property("schemaVersion").value_or("") == "1");
    CHECK(object.diagnostics.empty());
    const Trace array = read(mark + "\r\n[" + two_events + "]");
    check_two_events(array);
    CHECK(array.diagnostics.empty());
}

TEST_CASE("layouts: top-level keys before and behind the array, untouched and in order") {
    const std::string before =
        R"("schemaVersion": 1, "deviceProperties": [ { "id": 0, "name": "MI300X", "x": [ ] }, {} ], "roctracer_version": 4.1,
           "distributedInfo": {"backend": "nccl", "pg_config": [{"ranks": [0, 1]}]}, "traceEvents is not it": "traceEvents",
           "trace_id": "A\"[{\\", "metadata": {"traceEvents": [{"ph": "X"}]}, "empty": null,)";
    const std::string after =
        R"("traceName": "/a b/rank0.json", "displayTimeUnit": "ms", "baseTimeNanoseconds": 1751410836000000000,
           "with_stack": 1, "nested": { "a": [ true , false ] } })";
    const Trace trace = read("{" + before + R"("traceEvents": [)" + two_events + "]," + after);
    check_two_events(trace);
    CHECK(property_keys_of(trace) == std::vector<std::string>{"schemaVersion", "deviceProperties",
                                                              "roctracer_version", "distributedInfo",
                                                              "traceEvents is not it", "trace_id", "metadata",
                                                              "empty", "traceName", "displayTimeUnit",
                                                              "baseTimeNanoseconds", "with_stack", "nested"});
    CHECK(trace.property("schemaVersion").value_or("") == "1");
    CHECK(trace.property("deviceProperties").value_or("") == R"([{"id":0,"name":"MI300X","x":[]},{}])");
    CHECK(trace.property("roctracer_version").value_or("") == "4.1");
    CHECK(trace.property("distributedInfo").value_or("") ==
          R"({"backend":"nccl","pg_config":[{"ranks":[0,1]}]})");
    CHECK(trace.property("trace_id").value_or("") == R"("A\"[{\\")");
    CHECK(trace.property("metadata").value_or("") == R"({"traceEvents":[{"ph":"X"}]})");
    CHECK(trace.property("empty").value_or("") == "null");
    CHECK(trace.property("traceName").value_or("") == "\"/a b/rank0.json\"");
    CHECK(trace.property("baseTimeNanoseconds").value_or("") == "1751410836000000000");
    CHECK(trace.property("nested").value_or("") == R"({"a":[true,false]})");
    CHECK_FALSE(trace.property("traceEvents").has_value());
    CHECK_FALSE(trace.property("absent").has_value());
    CHECK(trace.diagnostics.empty());
}

TEST_CASE("layouts: duplicated top-level keys: the last one wins") {
    const Trace trace = read(R"({"a": 1, "a": 2, "traceEvents": [], "b": 1, "b": 2})");
    CHECK(trace.property("a").value_or("") == "2");  // spec 01, 2.1
    CHECK(trace.property("b").value_or("") == "2");
}

TEST_CASE("layouts: many keys before the array") {
    for (const std::size_t size :
         {std::size_t{60'000}, std::size_t{65'530}, std::size_t{70'000}, std::size_t{400'000}}) {
        std::string before;
        while (before.size() < size)
            before += R"("key )" + std::to_string(before.size()) + R"(": {"a": [1, "x]"]}, )";
        const Trace trace = read("{" + before + R"("traceEvents": [)" + two_events + R"(], "last": 3})");
        check_two_events(trace);
        CHECK(trace.property("key 0").value_or("") == R"({"a":[1,"x]"]})");
        CHECK(trace.property("last").value_or("") == "3");
        CHECK(trace.diagnostics.empty());
    }
}

TEST_CASE("layouts: a nested key traceEvents is not the event array, however long its value") {
    for (const std::size_t size : {std::size_t{100}, std::size_t{70'000}, std::size_t{300'000}}) {
        CAPTURE(size);
        std::string numbers = "0";
        while (numbers.size() < size) numbers += ",12345";
        const Trace trace = read(R"({"metadata": {"traceEvents": [)" + numbers + R"(]}, "traceEvents": [)" +
                                 two_events + "]}");
        CHECK(names(trace) == std::vector<std::string>{"a", "b"});
        CHECK(codes(trace) == "");
        CHECK(trace.property("metadata").value_or("").size() == numbers.size() + 18);
    }
}

TEST_CASE("layouts: many keys behind the array") {
    std::string after;
    while (after.size() < 300'000)
        after += R"(, "key )" + std::to_string(after.size()) + R"(": {"a": [1, "x]"]})";
    const Trace trace = read(R"({"traceEvents": [)" + two_events + "]" + after + "}", one_thread(256));
    check_two_events(trace);
    CHECK(trace.properties.size() > 5000);
    CHECK(trace.diagnostics.empty());
}

TEST_CASE("layouts: top-level keys may have the names of event keys") {
    // Behind the array too, where what follows `],` looks like the inside of an event.
    for (const char* key : {"name", "args", "id"}) {
        CAPTURE(std::string(key));
        const std::string member = "\"" + std::string(key) + R"(": {"a": 1})";
        const Trace before = read("{" + member + R"(, "traceEvents": [)" + two_events + "]}");
        check_two_events(before);
        CHECK(before.property(key).value_or("") == R"({"a":1})");
        const Trace behind = read(R"({"traceEvents": [)" + two_events + "], " + member + "}");
        check_two_events(behind);
        CHECK(behind.property(key).value_or("") == R"({"a":1})");
        CHECK(codes(behind) == "");
    }
}

TEST_CASE("layouts: the byte position of an event does not matter") {
    // Shifts everything against the blocks of the scan and the pieces in which the text is read.
    for (std::size_t shift = 0; shift < 200; shift += 3) {
        const std::string pad(shift, ' ');
        for (const std::size_t window : {32U, 100U, 128U}) {
            check_two_events(read("{\"k\": 1," + pad + R"("traceEvents": [)" + two_events + "], \"t\": 2}",
                                  one_thread(window)));
        }
    }
}

TEST_CASE("layouts: one event larger than many windows") {
    const std::string large =
        R"({"ph":"X","cat":"cpu_op","name":"large","pid":1,"tid":1,"ts":3,"dur":2,"args":{"x":")" +
        std::string(50'000, '{') + R"(","y":[)" + std::string(30'000, '[') + std::string(30'000, ']') + "]}}";
    for (const std::size_t window : {64U, 4096U, 1U << 20}) {
        const Trace trace =
            read(document(two_events + "," + large + "," + replaced(two_events, "\"ts\":", "\"ts\":1")),
                 one_thread(window));
        CHECK(trace.size() == 5);
        CHECK(trace.arg(named(trace, "large"), "x").value_or("").size() == 50'002);
        CHECK(trace.arg(named(trace, "large"), "y").value_or("").size() == 60'002);
        CHECK(trace.diagnostics.empty());
    }
}

TEST_CASE("layouts: progress is reported in stored bytes") {
    std::vector<std::uint64_t> done;
    std::uint64_t total = 0;
    ReadOptions options = one_thread(256);
    options.progress = [&](const auto& progress) {
        done.push_back(progress.done);
        total = progress.total;
    };
    std::string events = two_events;
    for (int i = 0; i < 3000; ++i) events += "," + two_events;
    const std::string text = document(events);
    read(text, options);
    CHECK(done.size() > 10);
    CHECK(std::is_sorted(done.begin(), done.end()));
    CHECK(done.back() == text.size());
    CHECK(total == text.size());
}

TEST_CASE("layouts: legacy traces of the autograd profiler") {
    const std::string text =
        R"([{"name": "aten::addmm", "ph": "X", "ts": 101.524, "dur": 33.125, "tid": 1, "pid": "CPU functions", "args": {}}, )"
        R"({"name": "aten::addmm", "ph": "s", "ts": 101.524, "tid": 1, "pid": "CPU functions", "id": 0, "cat": "cpu_to_cuda", "args": {}}, )"
        R"({"name": "gemm", "ph": "f", "ts": 110.5, "tid": 0, "pid": "CUDA functions", "id": 0, "cat": "cpu_to_cuda", "args": {}}, )"
        R"({"name": "gemm", "ph": "X", "ts": 110.5, "dur": 61.408, "tid": 0, "pid": "CUDA functions", "args": {}}])";
    const Trace trace = read(text);
    REQUIRE(trace.size() == 2);
    CHECK(trace.kind[0] == EventKind::cpu_op);
    CHECK(trace.text(trace.category[0]) == "cpu_op");
    CHECK_FALSE(trace.track_of(0).on_device);
    CHECK(trace.kind[1] == EventKind::kernel);
    CHECK(trace.track_of(1).on_device);
    CHECK(trace.track_of(1).device == 0);
    CHECK(trace.duration(1) == 61408);
    REQUIRE(trace.flows.size() == 2);
    CHECK(trace.text(trace.flows[0].category) == "cpu_to_cuda");
    CHECK(trace.flows[0].id == trace.flows[1].id);
    CHECK(trace.diagnostics.empty());
}

// Spec 11, 7: "pid or tid text". Old builds wrote the words as threads of process 0.
TEST_CASE("layouts: legacy words in the thread") {
    const Trace trace = read(
        R"([{"name": "add", "ph": "X", "ts": 1, "dur": 3, "tid": "CPU functions", "pid": 0, "args": {}}, )"
        R"({"name": "k", "ph": "X", "ts": 2, "dur": 5, "tid": "CUDA functions", "pid": 0, "args": {}}])");
    REQUIRE(trace.size() == 2);
    CHECK(trace.kind[0] == EventKind::cpu_op);
    CHECK(trace.kind[1] == EventKind::kernel);
    CHECK(trace.track_of(1).on_device);
}

TEST_CASE("layouts: a category goes before the legacy words") {
    const Trace trace = read(
        R"([{"name": "k", "cat": "gpu_memcpy", "ph": "X", "ts": 2, "dur": 5, "tid": 0, "pid": "CUDA functions"}])");
    REQUIRE(trace.size() == 1);
    CHECK(trace.kind[0] == EventKind::gpu_memcpy);
}
