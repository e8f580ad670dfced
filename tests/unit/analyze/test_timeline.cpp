// The GPU timeline (spec 01, section 13).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/analyze/timeline.hpp>
#include <tracelens/classify/gpu_class.hpp>
#include <tracelens/model/links.hpp>

#include "unit/trace_fixture.hpp"

using namespace tracelens;
using fixture::event_named;
using fixture::TraceFixture;
using fixture::us;

namespace {

/// One op that launches five GPU events: the example of section 13.5.
Trace worked_example() {
    TraceFixture file;
    file.op("op", us(-100), us(-10));
    for (std::int64_t id = 1; id <= 5; ++id)
        file.call("cudaLaunchKernel", us(-90 + 10 * id), us(-85 + 10 * id), id);
    file.on_stream(0, 1).kernel("gemm", 0, us(100), 1);
    file.on_stream(0, 2).kernel("ncclDevKernel_AllReduce", us(80), us(140), 2);
    file.on_stream(0, 3).memcpy("Memcpy DtoH (Device -> Pinned)", us(130), us(160), 3);
    file.on_stream(0, 1).kernel("add", us(200), us(210), 4).memset("Memset (Device)", us(214), us(220), 5);
    return file.finish();
}

std::optional<GpuTimeline> timeline_of(const Trace& trace, std::optional<double> micro_idle_us = std::nullopt,
                                       bool include_unlinked = true, ClassRules rules = ClassRules::full) {
    const Links links = link_launches(trace);
    const std::vector<EventId> events = timeline_events(trace, links, include_unlinked);
    return gpu_timeline(trace, events, classify_gpu_events(trace, rules), micro_idle_us);
}

std::vector<std::string> first_column(const Table& table) {
    std::vector<std::string> texts;
    for (std::size_t row = 0; row < table.row_count(); ++row) {
        texts.emplace_back(std::get<std::string_view>(table.cell(0, row)));
    }
    return texts;
}

}  // namespace

TEST_CASE("no GPU events give no timeline") {
    TraceFixture file;
    file.op("op", 0, 10).call("cudaLaunchKernel", 1, 2, 1);
    const Trace trace = file.finish();
    CHECK(timeline_events(trace, link_launches(trace), true).empty());
    CHECK_FALSE(timeline_of(trace).has_value());
    CHECK_FALSE(timeline_of(Trace{}).has_value());
}

TEST_CASE("one event") {
    TraceFixture file;
    file.kernel("k", us(5), us(15));
    const Trace trace = file.finish();
    const GpuTimeline times = *timeline_of(trace);
    CHECK(times.computation == us(10));
    CHECK(times.busy == us(10));
    CHECK(times.total == us(10));
    CHECK(times.idle == 0);
    CHECK(times.events == 1);
    CHECK_FALSE(times.micro_idle.has_value());
    CHECK_FALSE(times.macro_idle.has_value());
}

TEST_CASE("the worked example of section 13.5") {
    for (const ClassRules rules : {ClassRules::full, ClassRules::reference}) {
        const Trace trace = worked_example();
        const GpuTimeline times = *timeline_of(trace, std::nullopt, false, rules);
        CHECK(times.computation == us(116));
        CHECK(times.exposed_comm == us(40));
        CHECK(times.exposed_memcpy == us(20));
        CHECK(times.busy == us(176));
        CHECK(times.idle == us(44));
        CHECK(times.total == us(220));
        CHECK(times.total_comm == us(60));
        CHECK(times.total_memcpy == us(30));
        CHECK(times.events == 5);
        CHECK(times.window == Interval{us(100), us(320)});
        CHECK_FALSE(times.micro_idle.has_value());
    }
}

TEST_CASE("the worked example with thresholds") {
    const Trace trace = worked_example();
    struct Row {
        double threshold;
        std::int64_t micro, macro;
    };
    for (const Row& row :
         {Row{5, 4, 40}, Row{0, 0, 44}, Row{4, 0, 44}, Row{4.001, 4, 40}, Row{40, 4, 40}, Row{41, 44, 0}}) {
        CAPTURE(row.threshold);
        const GpuTimeline times = *timeline_of(trace, row.threshold);
        REQUIRE(times.micro_idle.has_value());
        REQUIRE(times.macro_idle.has_value());
        CHECK(*times.micro_idle == us(row.micro));
        CHECK(*times.macro_idle == us(row.macro));
        CHECK(times.idle == us(44));
    }
}

TEST_CASE("the worked example as a table") {
    const Trace trace = worked_example();
    const Table table = timeline_table(trace, *timeline_of(trace));
    REQUIRE(table.column_count() == 3);
    CHECK(table.column(0).name == "type");
    CHECK(table.column(1).name == "time ms");
    CHECK(table.column(2).name == "percent");
    CHECK(first_column(table) == std::vector<std::string>{"computation_time", "exposed_comm_time",
                                                          "exposed_memcpy_time", "busy_time", "idle_time",
                                                          "total_time", "total_comm_time",
                                                          "total_memcpy_time"});
    const double ms[] = {0.116, 0.040, 0.020, 0.176, 0.044, 0.220, 0.060, 0.030};
    const double percent[] = {52.727273, 18.181818, 9.090909, 80.0, 20.0, 100.0, 27.272727, 13.636364};
    for (std::size_t row = 0; row < 8; ++row) {
        CAPTURE(row);
        CHECK(table.number(1, row) == doctest::Approx(ms[row]).epsilon(1e-12));
        CHECK(table.number(2, row) == doctest::Approx(percent[row]).epsilon(1e-7));
    }
}

TEST_CASE("with a threshold two rows stand in the place of idle_time") {
    const Trace trace = worked_example();
    for (const double threshold : {5.0, 0.0}) {
        const Table table = timeline_table(trace, *timeline_of(trace, threshold));
        CHECK(first_column(table) ==
              std::vector<std::string>{"computation_time", "exposed_comm_time", "exposed_memcpy_time",
                                       "busy_time", "micro_idle_time", "macro_idle_time", "total_time",
                                       "total_comm_time", "total_memcpy_time"});
        CHECK(table.number(1, 4) == doctest::Approx(threshold == 0 ? 0 : 0.004));
        CHECK(table.number(1, 5) == doctest::Approx(threshold == 0 ? 0.044 : 0.040));
    }
}

TEST_CASE("a total of zero gives missing percents") {
    TraceFixture file;
    file.kernel("k", us(5), us(5));
    const Trace trace = file.finish();
    const GpuTimeline times = *timeline_of(trace, 1.0);
    CHECK(times.total == 0);
    CHECK(times.busy == 0);
    CHECK(times.idle == 0);
    CHECK(*times.micro_idle == 0);
    const Table table = timeline_table(trace, times);
    for (std::size_t row = 0; row < table.row_count(); ++row) {
        CHECK(table.number(1, row) == 0);
        CHECK(std::holds_alternative<std::monostate>(table.cell(2, row)));
    }
}

TEST_CASE("kernel [0,10], copy [5,15]: one computation, one copy") {
    TraceFixture file;
    file.kernel("k", 0, us(10)).memcpy("copy", us(5), us(15));
    const GpuTimeline times = *timeline_of(file.finish());
    CHECK(times.computation == us(10));
    CHECK(times.total_memcpy == us(10));
    CHECK(times.exposed_memcpy == us(5));
    CHECK(times.busy == us(15));
}

TEST_CASE("touching events leave no gap") {
    TraceFixture file;
    file.kernel("a", 0, us(10)).kernel("b", us(10), us(20));
    const GpuTimeline times = *timeline_of(file.finish(), 1e9);
    CHECK(times.idle == 0);
    CHECK(*times.micro_idle == 0);
    CHECK(*times.macro_idle == 0);
}

TEST_CASE("events without length: no time, but an end of the window and of gaps") {
    TraceFixture file;
    file.memcpy("first", 0, 0)
        .kernel("a", us(10), us(20))
        .kernel("split", us(50), us(50))
        .kernel("inside", us(15), us(15));
    file.kernel("b", us(100), us(110)).memcpy("last", us(120), us(120));
    const Trace trace = file.finish();
    const GpuTimeline times = *timeline_of(trace, 40.0);
    CHECK(times.events == 6);
    CHECK(times.computation == us(20));
    CHECK(times.total_memcpy == 0);
    CHECK(times.exposed_memcpy == 0);
    CHECK(times.busy == us(20));
    CHECK(times.total == us(120));
    // Gaps: 0-10, 20-50, 50-100, 110-120.
    CHECK(*times.micro_idle == us(50));
    CHECK(*times.macro_idle == us(50));
}

TEST_CASE("unlinked GPU events are left out unless they are asked for") {
    TraceFixture file;
    file.call("cudaLaunchKernel", 0, us(1), 1)
        .kernel("spill", us(2), us(4), 99)
        .kernel("k", us(10), us(20), 1);
    file.kernel("late", us(30), us(50), 98);
    const Trace trace = file.finish();
    const Links links = link_launches(trace);
    CHECK(timeline_events(trace, links, false) == std::vector<EventId>{event_named(trace, "k")});
    CHECK(timeline_events(trace, links, true).size() == 3);
    CHECK(timeline_of(trace, std::nullopt, false)->total == us(10));
    CHECK(timeline_of(trace, std::nullopt, true)->total == us(48));
    CHECK(timeline_of(trace, std::nullopt, true)->idle == us(16));
}

TEST_CASE("excluded events are left out") {
    TraceFixture file;
    file.kernel("k", 0, us(10)).kernel("corrupt", us(10), us(999)).kernel("l", us(20), us(30));
    const Trace trace = file.finish();
    std::vector<bool> excluded(trace.size(), false);
    excluded[event_named(trace, "corrupt")] = true;
    const std::vector<EventId> events = timeline_events(trace, link_launches(trace), true, excluded);
    CHECK(events == std::vector<EventId>{event_named(trace, "k"), event_named(trace, "l")});
    CHECK(timeline_events(trace, link_launches(trace), true, std::vector<bool>(trace.size(), false)).size() ==
          3);
}

TEST_CASE("annotations and synchronisation on the device are no GPU work") {
    TraceFixture file;
    file.gpu(EventKind::gpu_user_annotation, "step", 0, us(100))
        .gpu(EventKind::gpu_sync, "Stream Sync", 0, us(100));
    file.kernel("k", us(10), us(20));
    CHECK(timeline_of(file.finish())->total == us(10));
}

TEST_CASE("one timeline a device, by rank and device") {
    TraceFixture file;
    file.on_stream(1, 7).kernel("a", 0, us(10)).on_stream(0, 7).kernel("b", us(5), us(10));
    file.on_stream(1, 8).kernel("ncclKernel", us(30), us(40)).on_stream(0, 7).kernel("c", us(20), us(30));
    const Trace trace = file.finish();
    const std::vector<EventId> events = timeline_events(trace, link_launches(trace), true);
    const std::vector<DeviceTimeline> devices =
        gpu_timeline_by_device(trace, events, classify_gpu_events(trace), 15.0);
    REQUIRE(devices.size() == 2);
    CHECK(devices[0].device == 0);
    CHECK(devices[0].rank == no_number);
    CHECK(devices[0].timeline.total == us(25));
    CHECK(devices[0].timeline.busy == us(15));
    CHECK(*devices[0].timeline.micro_idle == us(10));
    CHECK(devices[1].device == 1);
    CHECK(devices[1].timeline.total == us(40));
    CHECK(devices[1].timeline.total_comm == us(10));
    CHECK(*devices[1].timeline.macro_idle == us(20));
    CHECK(timeline_of(trace)->busy == us(30));
    CHECK(gpu_timeline_by_device(trace, {}, {}).empty());
}

TEST_CASE("equal devices of two ranks are two devices") {
    TraceFixture file;
    file.on_stream(1, 7, 1)
        .kernel("a", 0, us(10))
        .on_stream(1, 7, 0)
        .kernel("b", us(5), us(25))
        .on_stream(0, 7, 1)
        .kernel("c", us(9), us(10));
    const Trace trace = file.finish();
    const std::vector<EventId> events = timeline_events(trace, link_launches(trace), true);
    const std::vector<DeviceTimeline> devices =
        gpu_timeline_by_device(trace, events, classify_gpu_events(trace));
    REQUIRE(devices.size() == 3);
    CHECK(devices[0].rank == 0);
    CHECK(devices[0].timeline.total == us(20));
    CHECK(devices[1].rank == 1);
    CHECK(devices[1].device == 0);
    CHECK(devices[1].timeline.total == us(1));
    CHECK(devices[2].device == 1);
    CHECK(devices[2].timeline.total == us(10));
}
