// Input that holds no event array: the error says what the input is instead. And the smallest input that does
// hold one.
#include <fstream>
#include <random>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <unistd.h>

#include <tracelens/core/ascii.hpp>
#include <tracelens/read/open.hpp>

#include "gzip_text.hpp"
#include "read_support.hpp"

using namespace tracelens;
using namespace tracelens::read_test;

namespace {

Failure failure_of(std::string_view text) {
    CAPTURE(text.substr(0, 200));
    const Result<Trace> result = try_read(text);
    REQUIRE_FALSE(result.ok());
    const Failure& failure = result.failure();
    CHECK(failure.code == ErrorCode::not_a_trace);
    CHECK(failure.subject == "test.json");
    CHECK_FALSE(failure.reason.empty());
    CHECK_FALSE(failure.remedy.empty());
    return failure;
}

bool mentions(const Failure& failure, std::string_view word) {
    CAPTURE(failure.message());
    CAPTURE(std::string(word));
    const bool found = tracelens::detail::contains_ignoring_case(failure.reason, word);
    CHECK(found);
    return found;
}

std::string temporary_file(std::string_view content) {
    const std::string path = "/tmp/tracelens_test_" + std::to_string(::getpid()) + ".xyz";
    std::ofstream(path, std::ios::binary) << content;
    return path;
}

}  // namespace

TEST_CASE("not a trace: nothing at all") {
    for (const char* text : {"", " ", "\n\n\t  \r\n", "\xef\xbb\xbf", "\xef\xbb\xbf \n"})
        mentions(failure_of(text), "empty");
    mentions(failure_of(std::string(200'000, ' ')), "empty");
}

TEST_CASE("not a trace: pages") {
    mentions(failure_of("<!DOCTYPE html>\n<html><head><title>404</title></head></html>"), "HTML");
    mentions(failure_of("  <html>"), "HTML");
    mentions(failure_of("<?xml version=\"1.0\"?><a>{\"traceEvents\": [</a>"), "XML");
}

TEST_CASE("not a trace: archives and other compressed data") {
    using namespace std::string_view_literals;
    mentions(failure_of("PK\x03\x04\x14\x00\x08\x00\x08\x00..."sv), "zip");
    mentions(failure_of("\x28\xb5\x2f\xfd\x04\x00\x59\x00\x00"sv), "zstd");
}

TEST_CASE("not a trace: text") {
    mentions(failure_of("hello, this is a log file\nwith lines\n"), "not JSON");
    mentions(failure_of("ph,name,ts,dur\nX,a,1,2\n"), "not JSON");
    failure_of("\"a JSON string\"");
    failure_of("12345");
    failure_of("null");
    failure_of("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n");
}

TEST_CASE("not a trace: JSON without an event array") {
    for (const char* text :
         {"{}", "{ }", R"({"a": 1})", R"({"a": {"traceEvents": [{"ph": "X"}]}})",
          R"({"a": "\"traceEvents\": ["})", R"({"traceEvents": {}})", R"({"traceEvents": null})",
          R"({"traceEvents": 5, "b": []})", R"({"traceEvents": "x"})", R"({"traceEvents": {"a": [1]}})",
          R"([1, 2, 3])", R"(["a"])", R"([[]])", "{", "{\"a", R"({"nodes": [{"name": "a", "ts": 1}]})"}) {
        const Failure failure = failure_of(text);
        mentions(failure, "JSON");
        mentions(failure, "traceEvents");
    }
    std::string large = "{";
    for (int i = 0; i < 20'000; ++i) large += "\"key " + std::to_string(i) + "\": [1, {\"a\": \"b\"}], ";
    mentions(failure_of(large + "\"last\": 1}"), "traceEvents");
}

TEST_CASE("not a trace: binary data") {
    std::mt19937_64 random(11);
    std::string bytes(100'000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    bytes[0] = '\x7f';
    mentions(failure_of(bytes), "binary");
    failure_of(std::string(5000, '\0'));
    for (int round = 0; round < 200; ++round) {
        std::string noise(random() % 300, '\0');
        for (char& byte : noise) byte = static_cast<char>(random());
        const Result<Trace> result = try_read(noise);
        CHECK_FALSE(result.ok());
    }
}

TEST_CASE("not a trace: the message tells file, reason and remedy in one line") {
    const std::string message = failure_of("<html>").message();
    CHECK(message.find("test.json") == 0);
    CHECK(message.find('\n') == std::string::npos);
    CHECK(message.find(" - ") != std::string::npos);
    CHECK_THROWS_AS(read_kineto(memory_source("<html>"), "test.json"), Error);
}

TEST_CASE("not a trace: a large file that starts like nothing known is given up early") {
    class Endless final : public ByteSource {
      public:
        std::size_t read(char* to, std::size_t size) override {
            std::fill(to, to + size, 'x');
            given += size;
            return size;
        }
        std::uint64_t stored_position() const noexcept override { return given; }
        std::uint64_t stored_size() const noexcept override { return 0; }
        std::uint64_t given = 0;
    };
    const Result<Trace> result = try_read_kineto(std::make_unique<Endless>(), "endless", one_thread());
    REQUIRE_FALSE(result.ok());
    CHECK(result.failure().code == ErrorCode::not_a_trace);
}

TEST_CASE("not a trace: empty event arrays are traces") {
    for (const char* text : {R"({"traceEvents": []})", "[]", " [ ] ", "\xef\xbb\xbf[]",
                             "{\"traceEvents\":[\n]\n}\n", R"({"a": 1, "traceEvents": [], "b": 2})"}) {
        CAPTURE(std::string(text));
        for (const std::size_t window : {1U, 64U, 1U << 19}) {
            for (const unsigned threads : {1U, 3U}) {
                ReadOptions options = one_thread(window);
                options.threads = threads;
                const Trace trace = read(text, options);
                CHECK(trace.size() == 0);
                CHECK(trace.file_events == 0);
                CHECK(rows(trace) == 0);
                CHECK_FALSE(trace.span().has_value());
                CHECK(codes(trace) == "");
            }
        }
    }
    const Trace reference = read("[]", one_thread(64, Timestamps::reference));
    CHECK(reference.size() == 0);
    CHECK(read(R"({"a": 1, "traceEvents": [], "b": 2})").property("b").value_or("") == "2");
}

TEST_CASE("not a trace: files are named in the error") {
    const std::string path = temporary_file("<html>");
    const Result<Trace> page = try_read_trace(path);
    REQUIRE_FALSE(page.ok());
    CHECK(page.failure().code == ErrorCode::not_a_trace);
    CHECK(page.failure().subject == path);
    mentions(page.failure(), "HTML");
    const Result<Trace> missing = try_read_trace("/nowhere/at all.json");
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.failure().code == ErrorCode::file_missing);
    CHECK(missing.failure().subject == "/nowhere/at all.json");
    const Result<Trace> folder = try_read_trace("/tmp");
    REQUIRE_FALSE(folder.ok());
    CHECK(folder.failure().code == ErrorCode::file_missing);
    ::unlink(path.c_str());
}

TEST_CASE("not a trace: the content decides, not the name of the file") {
    const std::string text = R"({"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2}], "k": 1})";
    std::string content = text;
    for (const bool packed : {false, true}) {
#if TRACELENS_WITH_ZLIB
        if (packed) content = gzip(text);
#else
        if (packed) continue;
#endif
        const std::string path = temporary_file(content);
        const Result<Trace> trace = try_read_trace(path, one_thread());
        ::unlink(path.c_str());
        REQUIRE(trace.ok());
        CHECK(trace->name_of(0) == "a");
        CHECK(trace->path == path);
        CHECK(trace->stored_bytes == content.size());
        CHECK(trace->text_bytes == text.size());
        CHECK(codes(*trace) == "");
    }
}

#if TRACELENS_WITH_ZLIB

TEST_CASE("not a trace: gzip around something else") {
    const Result<Trace> page = try_read_gzip(gzip("<html>"));
    REQUIRE_FALSE(page.ok());
    mentions(page.failure(), "HTML");
    const std::string packed = gzip(R"({"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2}]})");
    const Result<Trace> torn = try_read_gzip(std::string_view(packed).substr(0, 11));
    REQUIRE_FALSE(torn.ok());
    CHECK(torn.failure().code == ErrorCode::not_a_trace);
    mentions(torn.failure(), "gzip");
    const Result<Trace> nothing = try_read_gzip(gzip(""));
    REQUIRE_FALSE(nothing.ok());
    mentions(nothing.failure(), "empty");
}

#endif
