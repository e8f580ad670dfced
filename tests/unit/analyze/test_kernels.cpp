// Totals of GPU work by kernel name.

#include <cstdint>
#include <numeric>
#include <string_view>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/analyze/kernels.hpp>

#include "unit/trace_fixture.hpp"

using namespace tracelens;
using fixture::TraceFixture;
using fixture::us;

namespace {

std::vector<EventId> all_events(const Trace& trace) {
    std::vector<EventId> events(trace.size());
    std::iota(events.begin(), events.end(), 0U);
    return events;
}

std::vector<KernelTotals> totals_of(const Trace& trace) {
    return kernel_totals(trace, all_events(trace), classify_gpu_events(trace));
}

}  // namespace

TEST_CASE("no events give no totals and a table without rows") {
    const Trace trace;
    CHECK(totals_of(trace).empty());
    const Table table = kernel_table(trace, {});
    CHECK(table.row_count() == 0);
    REQUIRE(table.column_count() == 9);
    const std::string_view names[] = {"Kernel name", "Class",    "Count",       "Total (us)",    "Mean (us)",
                                      "Min (us)",    "Max (us)", "Percent (%)", "Cumulative (%)"};
    for (std::size_t i = 0; i < 9; ++i) CHECK(table.column(i).name == names[i]);
}

TEST_CASE("totals by name, longest first") {
    TraceFixture file;
    file.kernel("add", 0, us(10))
        .kernel("gemm", us(10), us(60))
        .kernel("add", us(60), us(90))
        .kernel("ncclKernel", us(90), us(95));
    const Trace trace = file.finish();
    const std::vector<KernelTotals> totals = totals_of(trace);
    REQUIRE(totals.size() == 3);
    CHECK(trace.text(totals[0].name) == "gemm");
    CHECK(totals[0].count == 1);
    CHECK(totals[0].total == us(50));
    CHECK(totals[0].min == us(50));
    CHECK(totals[0].max == us(50));
    CHECK(trace.text(totals[1].name) == "add");
    CHECK(totals[1].count == 2);
    CHECK(totals[1].total == us(40));
    CHECK(totals[1].min == us(10));
    CHECK(totals[1].max == us(30));
    CHECK(totals[1].gpu_class == GpuClass::computation);
    CHECK(trace.text(totals[2].name) == "ncclKernel");
    CHECK(totals[2].gpu_class == GpuClass::communication);
}

TEST_CASE("ties keep the order of first appearance in time; one name in two classes is two rows") {
    TraceFixture file;
    file.kernel("late", us(50), us(60)).kernel("early", 0, us(10)).memcpy("early", us(20), us(30));
    const Trace trace = file.finish();
    const std::vector<KernelTotals> totals = totals_of(trace);
    REQUIRE(totals.size() == 3);
    CHECK(trace.text(totals[0].name) == "early");
    CHECK(totals[0].gpu_class == GpuClass::computation);
    CHECK(trace.text(totals[1].name) == "early");
    CHECK(totals[1].gpu_class == GpuClass::memcpy);
    CHECK(trace.text(totals[2].name) == "late");
}

TEST_CASE("only the given events count") {
    TraceFixture file;
    file.kernel("k", 0, us(10)).kernel("k", us(10), us(1000)).kernel("k", us(1000), us(1001));
    const Trace trace = file.finish();
    const std::vector<EventId> some = {0, 2};
    const std::vector<KernelTotals> totals = kernel_totals(trace, some, classify_gpu_events(trace));
    REQUIRE(totals.size() == 1);
    CHECK(totals[0].count == 2);
    CHECK(totals[0].total == us(11));
    CHECK(totals[0].max == us(10));
}

TEST_CASE("overlapping kernels count in full, kernels without length count") {
    TraceFixture file;
    file.on_stream(0, 1)
        .kernel("k", 0, us(10))
        .on_stream(0, 2)
        .kernel("k", 0, us(10))
        .kernel("k", us(5), us(5));
    const Trace trace = file.finish();
    const std::vector<KernelTotals> totals = totals_of(trace);
    REQUIRE(totals.size() == 1);
    CHECK(totals[0].count == 3);
    CHECK(totals[0].total == us(20));
    CHECK(totals[0].min == 0);
}

TEST_CASE("the table in microseconds and percent") {
    TraceFixture file;
    file.kernel("add", 0, us(10)).kernel("gemm", us(10), us(70)).kernel("add", us(70), us(100));
    const Trace trace = file.finish();
    const Table table = kernel_table(trace, totals_of(trace));
    REQUIRE(table.row_count() == 2);
    CHECK(std::get<std::string_view>(table.cell(0, 0)) == "gemm");
    CHECK(std::get<std::string_view>(table.cell(1, 0)) == "computation");
    CHECK(std::get<std::int64_t>(table.cell(2, 1)) == 2);
    CHECK(table.number(3, 1) == 40.0);
    CHECK(table.number(4, 1) == 20.0);
    CHECK(table.number(5, 1) == 10.0);
    CHECK(table.number(6, 1) == 30.0);
    CHECK(table.number(7, 0) == doctest::Approx(60));
    CHECK(table.number(7, 1) == doctest::Approx(40));
    CHECK(table.number(8, 0) == doctest::Approx(60));
    CHECK(table.number(8, 1) == doctest::Approx(100));
}

TEST_CASE("without any time percents are missing") {
    TraceFixture file;
    file.kernel("k", us(5), us(5));
    const Trace trace = file.finish();
    const Table table = kernel_table(trace, totals_of(trace));
    REQUIRE(table.row_count() == 1);
    CHECK(std::holds_alternative<std::monostate>(table.cell(7, 0)));
    CHECK(std::holds_alternative<std::monostate>(table.cell(8, 0)));
    CHECK(table.number(4, 0) == 0.0);
}
