#include <tracelens/core/diagnostics.hpp>
#include <tracelens/core/error.hpp>

// Failures, results and the table of diagnostics.
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace tracelens;

namespace {

Diagnostic diagnostic(std::string code, Verdict verdict, std::uint64_t count = 1, std::string first = "",
                      std::string remedy = "") {
    Diagnostic result;
    result.code = std::move(code);
    result.verdict = verdict;
    result.count = count;
    result.first = std::move(first);
    result.remedy = std::move(remedy);
    return result;
}

}  // namespace

TEST_CASE("codes and verdicts have names") {
    const std::pair<ErrorCode, std::string_view> codes[] = {
        {ErrorCode::file_missing, "TRACE_MISSING"},        {ErrorCode::file_unreadable, "FILE_UNREADABLE"},
        {ErrorCode::file_unwritable, "FILE_UNWRITABLE"},   {ErrorCode::not_a_trace, "NOT_A_TRACE"},
        {ErrorCode::unsupported, "UNSUPPORTED_FORMAT"},    {ErrorCode::limit_exceeded, "LIMIT_EXCEEDED"},
        {ErrorCode::invalid_argument, "INVALID_ARGUMENT"},
    };
    for (const auto& [code, name] : codes) CHECK(to_string(code) == name);

    const std::pair<Verdict, std::string_view> verdicts[] = {
        {Verdict::ok, "ok"},
        {Verdict::note, "note"},
        {Verdict::degraded, "degraded"},
        {Verdict::fallback, "fallback"},
        {Verdict::error, "error"},
    };
    for (const auto& [verdict, name] : verdicts) CHECK(to_string(verdict) == name);
}

TEST_CASE("a failure's message is one line: subject, reason, position, remedy") {
    Failure failure;
    failure.reason = "no such file";
    CHECK(failure.message() == "no such file");
    failure.subject = "/a/b.json";
    CHECK(failure.message() == "/a/b.json: no such file");
    failure.byte_offset = 0;
    CHECK(failure.message() == "/a/b.json: no such file (at byte 0)");
    failure.event_index = 17;
    CHECK(failure.message() == "/a/b.json: no such file (at byte 0) (event 17)");
    failure.remedy = "check the path";
    CHECK(failure.message() == "/a/b.json: no such file (at byte 0) (event 17) - check the path");
}

TEST_CASE("an error carries its failure") {
    Failure failure;
    failure.code = ErrorCode::not_a_trace;
    failure.subject = "x.json";
    failure.reason = "holds no events";
    const Error error(failure);
    CHECK(error.code() == ErrorCode::not_a_trace);
    CHECK(error.failure().subject == "x.json");
    CHECK(std::string(error.what()) == failure.message());
    const std::runtime_error& base = error;
    CHECK(std::string(base.what()) == failure.message());
}

TEST_CASE("a result with a value") {
    Result<std::string> result = std::string("text");
    CHECK(result.ok());
    CHECK(static_cast<bool>(result));
    CHECK(*result == "text");
    CHECK(result->size() == 4);
    *result += "!";
    CHECK(*std::as_const(result) == "text!");
    CHECK(std::move(result).value() == "text!");
}

TEST_CASE("a result with a reason") {
    Failure failure;
    failure.code = ErrorCode::limit_exceeded;
    failure.reason = "too many events";
    Result<int> result = failure;
    CHECK_FALSE(result.ok());
    CHECK_FALSE(static_cast<bool>(result));
    CHECK(result.failure().code == ErrorCode::limit_exceeded);
    CHECK(result.failure().reason == "too many events");
    try {
        (void)std::move(result).value();
        FAIL("value() must throw");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::limit_exceeded);
        CHECK(std::string(error.what()) == "too many events");
    }
}

TEST_CASE("a result of a type that can only be moved, and of Done") {
    Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
    REQUIRE(result.ok());
    const std::unique_ptr<int> taken = *std::move(result);
    CHECK(*taken == 5);
    const Result<Done> done = Done{};
    CHECK(done.ok());
}

TEST_CASE("no diagnostics") {
    const Diagnostics diagnostics;
    CHECK(diagnostics.empty());
    CHECK(diagnostics.entries().empty());
    CHECK(diagnostics.worst() == Verdict::ok);
    CHECK(diagnostics.find("ANY") == nullptr);
}

TEST_CASE("entries stand in the order in which their codes were first raised") {
    Diagnostics diagnostics;
    for (const char* code : {"TORN_TAIL", "BAD_UTF8", "TORN_TAIL", "ALPHA", "BAD_UTF8"}) {
        diagnostics.add(diagnostic(code, Verdict::note));
    }
    REQUIRE(diagnostics.entries().size() == 3);
    CHECK(diagnostics.entries()[0].code == "TORN_TAIL");
    CHECK(diagnostics.entries()[1].code == "BAD_UTF8");
    CHECK(diagnostics.entries()[2].code == "ALPHA");
    CHECK_FALSE(diagnostics.empty());
}

TEST_CASE("a repeated code adds its count and keeps the first text") {
    Diagnostics diagnostics;
    diagnostics.add(diagnostic("BAD_UTF8", Verdict::note, 2, "event 5", "none needed"));
    diagnostics.add(diagnostic("BAD_UTF8", Verdict::note, 40, "event 9", "another remedy"));
    const Diagnostic* entry = diagnostics.find("BAD_UTF8");
    REQUIRE(entry != nullptr);
    CHECK(entry->count == 42);
    CHECK(entry->first == "event 5");
    CHECK(entry->remedy == "none needed");
}

TEST_CASE("the worse verdict stays") {
    Diagnostics diagnostics;
    diagnostics.add(diagnostic("X", Verdict::note, 1, "first", "mild remedy"));
    diagnostics.add(diagnostic("X", Verdict::fallback, 1, "second", "strong remedy"));
    diagnostics.add(diagnostic("X", Verdict::degraded, 1, "third", "medium remedy"));
    const Diagnostic* entry = diagnostics.find("X");
    REQUIRE(entry != nullptr);
    CHECK(entry->verdict == Verdict::fallback);
    CHECK(entry->count == 3);
    CHECK(entry->first == "first");
    CHECK(entry->remedy == "strong remedy");
}

TEST_CASE("worst looks over all entries but the ignored codes") {
    Diagnostics diagnostics;
    diagnostics.add(diagnostic("A", Verdict::ok));
    CHECK(diagnostics.worst() == Verdict::ok);
    diagnostics.add(diagnostic("B", Verdict::error));
    diagnostics.add(diagnostic("C", Verdict::degraded));
    CHECK(diagnostics.worst() == Verdict::error);
    CHECK(diagnostics.worst({"B"}) == Verdict::degraded);
    CHECK(diagnostics.worst({"B", "C"}) == Verdict::ok);
    CHECK(diagnostics.worst({"A", "B", "C", "ABSENT"}) == Verdict::ok);
}

TEST_CASE("a diagnostic keeps what was measured") {
    Diagnostics diagnostics;
    Diagnostic measured = diagnostic("LOW_COVERAGE", Verdict::degraded);
    measured.area = "profiling";
    measured.value = 12.5;
    measured.unit = "%";
    measured.limit = 50;
    diagnostics.add(measured);
    const Diagnostic& entry = diagnostics.entries().front();
    CHECK(entry.area == "profiling");
    CHECK(entry.value == 12.5);
    CHECK(entry.limit == 50.0);
    CHECK(entry.unit == "%");
    CHECK(Diagnostic{}.area == "trace_quality");
}
