// What the kernels beside a launcher cover of it (spec 01, section 14.1; spec 02, section 17.2).

#include <cstdint>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "unit/analyze/overlap_support.hpp"

using namespace tracelens;
using fixture::add_kernel;
using fixture::gpu_events;
using fixture::GrownTrace;
using fixture::overlap_by;
using fixture::overlaps_of;
using fixture::TraceFixture;
using fixture::us;

namespace {

LauncherOverlap beside(const GrownTrace& grown, const Overlaps& overlaps, std::string_view op) {
    const Launchers launchers = find_launchers(grown.tree, grown.links);
    for (const Launcher& each : launchers.rows) {
        if (grown.tree.name_text(each.node) != op) continue;
        return launcher_overlap(grown.trace, launchers.kernels_of(each), overlaps);
    }
    FAIL("no launcher ", op);
    return {};
}

LauncherOverlap beside(const GrownTrace& grown, std::string_view op) {
    return beside(grown, overlaps_of(grown), op);
}

/// Shares of ops A, B ... with one kernel each: [first, last) on streams of their own.
struct Two {
    LauncherOverlap a, b;

    Two(Interval first, Interval second) {
        TraceFixture file;
        add_kernel(file, "a", 1, first.start, first.end);
        add_kernel(file, "b", 2, second.start, second.end);
        const GrownTrace grown(file);
        a = beside(grown, "a");
        b = beside(grown, "b");
    }
};

}  // namespace

TEST_CASE("shares of two launchers") {
    struct Known {
        Interval a, b;
        double a_share, b_share;
    };
    for (const Known& known :
         {Known{{1000, 1100}, {1050, 1200}, 0.5, 0.33}, Known{{1000, 1200}, {1050, 1100}, 0.25, 1.0},
          Known{{1000, 1100}, {1000, 1100}, 1.0, 1.0}}) {
        const Two two(known.a, known.b);
        CHECK(two.a.share == known.a_share);
        CHECK(two.b.share == known.b_share);
        REQUIRE(two.a.entries.size() == 1);
        REQUIRE(two.b.entries.size() == 1);
        CHECK(two.a.entries[0].share == known.a_share);
        CHECK(two.b.entries[0].share == known.b_share);
        CHECK(two.a.entries[0].stream == 2);
        CHECK(two.a.entries[0].us == static_cast<double>(known.b.end - known.b.start));
    }
}

TEST_CASE("disjoint or touching launchers have nothing beside them") {
    for (const Interval second : {Interval{1200, 1300}, Interval{1100, 1200}}) {
        const Two two({1000, 1100}, second);
        CHECK_FALSE(two.a.share.has_value());
        CHECK(two.a.entries.empty());
        CHECK_FALSE(two.b.share.has_value());
    }
}

TEST_CASE("two others beside one launcher: an entry each") {
    TraceFixture file;
    add_kernel(file, "a", 1, 1000, 1200);
    add_kernel(file, "b", 2, 1050, 1100);
    add_kernel(file, "c", 3, 1150, 1250);
    const GrownTrace grown(file);
    const LauncherOverlap a = beside(grown, "a");
    REQUIRE(a.entries.size() == 2);
    CHECK(grown.trace.text(a.entries[0].name) == "b");
    CHECK(a.entries[0].share == 0.25);
    CHECK(grown.trace.text(a.entries[1].name) == "c");
    CHECK(a.entries[1].share == 0.25);
    CHECK(a.share == 0.5);
}

TEST_CASE("two kernels of one launcher beside one other: merged by name, covered time adds up") {
    const auto launchers = [](std::int64_t b_end) {
        TraceFixture file;
        file.op("a", us(890), us(1190)).on_stream(0, 1);
        file.launched("a1", us(1000), us(1100)).launched("a2", us(1200), us(1300));
        add_kernel(file, "b", 2, 1050, b_end);
        const GrownTrace grown(file);
        return std::vector<LauncherOverlap>{beside(grown, "a"), beside(grown, "b")};
    };
    const std::vector<LauncherOverlap> half = launchers(1150);
    CHECK(half[0].share == 0.25);
    CHECK(half[1].share == 0.5);
    const std::vector<LauncherOverlap> both = launchers(1250);
    CHECK(both[0].share == 0.5);
    CHECK(both[1].share == 0.5);
    REQUIRE(both[0].entries.size() == 1);
    CHECK(both[0].entries[0].share == 0.25);
    CHECK(both[1].entries.size() == 2);
}

TEST_CASE("the worked example of spec 01, section 14.1") {
    TraceFixture file;
    file.op("op", 0, us(90));
    file.on_stream(0, 1).launched("gemm", us(101), us(201));
    file.on_stream(0, 2).call("cudaLaunchKernel", us(40), us(41), 2);
    file.kernel("ncclDevKernel_AllReduce", us(181), us(241), 2);
    file.on_stream(0, 3).call("cudaMemcpyAsync", us(50), us(51), 3).memcpy("Memcpy", us(231), us(261), 3);
    file.on_stream(0, 1).call("cudaLaunchKernel", us(60), us(61), 4).kernel("add", us(301), us(311), 4);
    file.call("cudaMemsetAsync", us(70), us(71), 5).memset("Memset", us(315), us(321), 5);
    const GrownTrace grown(file);
    CHECK_FALSE(beside(grown, "op").share.has_value());  // all of one op

    const LauncherOverlap op = beside(grown, overlaps_of(grown, overlap_by(ClassRules::reference)), "op");
    CHECK(op.share == 0.21);
    REQUIRE(op.entries.size() == 1);
    CHECK(grown.trace.text(op.entries[0].name) == "ncclDevKernel_AllReduce");
    CHECK(op.entries[0].us == 60.0);
    CHECK(op.entries[0].stream == 2);
    CHECK(op.entries[0].share == 0.11);
}

TEST_CASE("covered time counts once for each kernel of the launcher, so that a share may exceed 1") {
    TraceFixture file;
    file.op("a", 0, us(50));
    file.on_stream(0, 1).launched("a1", us(110), us(120)).on_stream(0, 2).launched("a2", us(110), us(120));
    add_kernel(file, "b", 3, 105, 125);
    add_kernel(file, "c", 4, 110, 120);
    CHECK(beside(GrownTrace(file), "a").share == 2.0);
}

TEST_CASE("a launcher without length has a share of zero") {
    TraceFixture file;
    add_kernel(file, "a", 1, 100, 100);
    add_kernel(file, "b", 2, 100, 120);
    const GrownTrace grown(file);
    const std::vector<EventId> events = gpu_events(grown.trace);
    // No search finds such a pair.
    const Overlaps overlaps = Overlaps::from(grown.trace, {{events[0], events[1]}, {events[1], events[0]}});
    const LauncherOverlap found = beside(grown, overlaps, "a");
    CHECK(found.share == 0.0);
    REQUIRE(found.entries.size() == 1);
    CHECK(found.entries[0].share == 0.0);
}

TEST_CASE("means of recorded lengths and of shares are rounded to cents as decimals") {
    CHECK(round_to_cents(8.315) == 8.31);
    CHECK(round_to_cents(2.665) == 2.67);
    CHECK(round_to_cents(0.125) == 0.12);
    CHECK(round_to_cents(0.375) == 0.38);
    CHECK(round_to_cents(1.115) == 1.11);
    CHECK(round_to_cents(0) == 0);
    CHECK(round_to_cents(20.0 / 44) == 0.45);
}
