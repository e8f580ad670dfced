// Timelines and gaps against bitmaps with one bit a nanosecond, in both class rules.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/analyze/timeline.hpp>
#include <tracelens/classify/gpu_class.hpp>
#include <tracelens/model/links.hpp>

#include "unit/trace_fixture.hpp"

using namespace tracelens;
using fixture::Random;
using fixture::TraceFixture;

namespace {

enum class Lane : std::uint8_t { computation, communication, memcpy };

/// GPU work and what it counts as under each rule, by hand.
struct Work {
    EventKind kind;
    std::string_view name;
    Lane full, reference;
};

constexpr Work works[] = {
    {EventKind::kernel, "gemm", Lane::computation, Lane::computation},
    {EventKind::kernel, "ncclDevKernel", Lane::communication, Lane::communication},
    {EventKind::kernel, "mscclKernel", Lane::communication, Lane::computation},
    {EventKind::kernel, "__amd_rocclr_copyBuffer.kd", Lane::memcpy, Lane::memcpy},
    {EventKind::kernel, "__amd_rocclr_fillBuffer", Lane::computation, Lane::computation},
    {EventKind::gpu_memcpy, "Memcpy DtoD", Lane::memcpy, Lane::memcpy},
    {EventKind::gpu_memset, "Memset (Device)", Lane::computation, Lane::computation},
    {EventKind::gpu_memset, "rccl fill", Lane::communication, Lane::communication},
};

constexpr std::size_t length = 400;

/// Which lanes are busy in each nanosecond, and the ends of events without length, which split gaps.
struct Bitmap {
    std::vector<bool> lane[3] = {std::vector<bool>(length), std::vector<bool>(length),
                                 std::vector<bool>(length)};
    std::vector<bool> split = std::vector<bool>(length + 1);
    std::size_t first = length;
    std::size_t last = 0;

    void paint(Lane to, std::size_t start, std::size_t end) {
        for (std::size_t i = start; i < end; ++i) lane[static_cast<std::size_t>(to)][i] = true;
        split[start] = split[end] = true;
        first = std::min(first, start);
        last = std::max(last, end);
    }

    GpuTimeline measure(double micro_idle_us) const {
        GpuTimeline times;
        times.micro_idle = times.macro_idle = 0;
        Ticks gap = 0;
        const auto close_gap = [&] {
            (static_cast<double>(gap) / 1000 < micro_idle_us ? *times.micro_idle : *times.macro_idle) += gap;
            gap = 0;
        };
        for (std::size_t i = first; i < last; ++i) {
            const bool computes = lane[0][i];
            const bool communicates = lane[1][i];
            const bool copies = lane[2][i];
            times.computation += computes ? 1 : 0;
            times.exposed_comm += communicates && !computes ? 1 : 0;
            times.exposed_memcpy += copies && !computes && !communicates ? 1 : 0;
            times.total_comm += communicates ? 1 : 0;
            times.total_memcpy += copies ? 1 : 0;
            const bool busy = computes || communicates || copies;
            times.busy += busy ? 1 : 0;
            times.idle += busy ? 0 : 1;
            ++times.total;
            if (split[i] || busy) close_gap();
            if (!busy) ++gap;
        }
        close_gap();
        return times;
    }
};

void check_equal(const GpuTimeline& times, const GpuTimeline& expected) {
    CHECK(times.computation == expected.computation);
    CHECK(times.exposed_comm == expected.exposed_comm);
    CHECK(times.exposed_memcpy == expected.exposed_memcpy);
    CHECK(times.busy == expected.busy);
    CHECK(times.idle == expected.idle);
    CHECK(times.total == expected.total);
    CHECK(times.total_comm == expected.total_comm);
    CHECK(times.total_memcpy == expected.total_memcpy);
    CHECK(*times.micro_idle == *expected.micro_idle);
    CHECK(*times.macro_idle == *expected.macro_idle);
    CHECK(times.computation + times.exposed_comm + times.exposed_memcpy + times.idle == times.total);
}

}  // namespace

TEST_CASE("random timelines equal bitmaps") {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        TraceFixture file;
        Bitmap full[2];  // linked only, all
        Bitmap reference[2];
        std::map<std::int64_t, Bitmap> by_device;
        const std::int64_t count = 1 + random.below(12);
        bool any_linked = false;
        for (std::int64_t i = 0; i < count; ++i) {
            const Work& work = works[random.below(8)];
            const std::int64_t start = random.below(static_cast<std::int64_t>(length) - 60);
            const std::int64_t end = start + random.below(3) * random.below(30);
            const std::int64_t device = random.below(3);
            const bool linked = random.below(4) != 0;
            any_linked = any_linked || linked;
            if (linked) file.call("cudaLaunchKernel", -100, -90, i + 1);
            file.on_stream(device, random.below(2)).gpu(work.kind, work.name, start, end, i + 1);
            const auto from = static_cast<std::size_t>(start);
            const auto to = static_cast<std::size_t>(end);
            for (int all = 0; all < 2; ++all) {
                if (!linked && all == 0) continue;
                full[all].paint(work.full, from, to);
                reference[all].paint(work.reference, from, to);
            }
            by_device[device].paint(work.full, from, to);
        }
        const Trace trace = file.finish();
        const Links links = link_launches(trace);
        const double threshold = static_cast<double>(random.below(40)) / 1000;
        const std::vector<GpuClass> full_classes = classify_gpu_events(trace, ClassRules::full);
        const std::vector<GpuClass> reference_classes = classify_gpu_events(trace, ClassRules::reference);
        for (int all = 0; all < 2; ++all) {
            const std::vector<EventId> events = timeline_events(trace, links, all == 1);
            const auto times = gpu_timeline(trace, events, full_classes, threshold);
            CHECK(times.has_value() == (all == 1 || any_linked));
            if (!times) continue;
            check_equal(*times, full[all].measure(threshold));
            check_equal(*gpu_timeline(trace, events, reference_classes, threshold),
                        reference[all].measure(threshold));
        }
        const std::vector<EventId> events = timeline_events(trace, links, true);
        const std::vector<DeviceTimeline> devices =
            gpu_timeline_by_device(trace, events, full_classes, threshold);
        REQUIRE(devices.size() == by_device.size());
        for (const DeviceTimeline& each : devices) {
            CAPTURE(each.device);
            check_equal(each.timeline, by_device.at(each.device).measure(threshold));
        }
    }
}

TEST_CASE("the longest gaps come first and name the events around them") {
    TraceFixture file;
    file.kernel("a", 0, 100)
        .kernel("b", 50, 60)
        .kernel("c", 130, 140)
        .kernel("d", 200, 210)
        .kernel("e", 240, 250);
    const Trace trace = file.finish();
    const std::vector<EventId> events = timeline_events(trace, link_launches(trace), true);
    const std::vector<IdleGap> gaps = longest_gaps(trace, events, 10);
    REQUIRE(gaps.size() == 3);
    CHECK(gaps[0].when == Interval{140, 200});
    CHECK(trace.name_of(gaps[0].before) == "c");
    CHECK(trace.name_of(gaps[0].after) == "d");
    CHECK(gaps[1].when == Interval{100, 130});  // equal lengths keep the order of time
    CHECK(trace.name_of(gaps[1].before) == "a");
    CHECK(trace.name_of(gaps[1].after) == "c");
    CHECK(gaps[2].when == Interval{210, 240});
    CHECK(longest_gaps(trace, events, 2).size() == 2);
    CHECK(longest_gaps(trace, events, 0).empty());
    CHECK(longest_gaps(trace, {}, 5).empty());
}

TEST_CASE("random gaps add up to the idle time") {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        Random random(seed);
        TraceFixture file;
        for (int i = 0; i < 30; ++i) {
            const std::int64_t start = random.below(2000);
            file.on_stream(0, random.below(3)).kernel("k", start, start + random.below(40));
        }
        const Trace trace = file.finish();
        const std::vector<EventId> events = timeline_events(trace, link_launches(trace), true);
        const std::vector<IdleGap> gaps = longest_gaps(trace, events, 1000);
        Ticks idle = 0;
        Ticks longest = 0;
        for (std::size_t i = 0; i < gaps.size(); ++i) {
            const Ticks gap = gaps[i].when.end - gaps[i].when.start;
            idle += gap;
            longest = std::max(longest, gap);
            CHECK(trace.end[gaps[i].before] == gaps[i].when.start);
            CHECK(trace.start[gaps[i].after] == gaps[i].when.end);
            if (i > 0) CHECK(gap <= gaps[i - 1].when.end - gaps[i - 1].when.start);
        }
        CHECK(idle == gpu_timeline(trace, events, classify_gpu_events(trace))->idle);
        const std::vector<IdleGap> first = longest_gaps(trace, events, 1);
        REQUIRE(first.size() == 1);
        CHECK(first[0].when.end - first[0].when.start == longest);
    }
}
