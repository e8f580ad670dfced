// Quality checks on times: corrupt durations, idle time, clocks, overlaps, devices, variation, warm-up.

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/analyze/timeline.hpp>

#include "unit/analyze/quality_support.hpp"

using namespace tracelens;
using fixture::diagnostic;
using fixture::event_named;
using fixture::quality_of;
using fixture::TraceFixture;
using fixture::us;
using fixture::verdict;

TEST_CASE("CORRUPT_DURATION: over 100 us and over 5% of the stream's summed time") {
    // The suspect starts at 0 and overruns the next kernel, at 10 us, by `over_ns`; the stream sums up to
    // `stream_ns`.
    const auto corrupt = [](std::int64_t over_ns, std::int64_t stream_ns) {
        TraceFixture file;
        const std::int64_t suspect = us(10) + over_ns;
        file.op("op", 0, 1).launched("suspect", 0, suspect).launched("next", us(10), us(10) + 1);
        file.launched("rest", us(10'000), us(10'000) + stream_ns - suspect - 1);
        return quality_of(file);
    };
    CHECK(verdict(corrupt(100'000, 1'000'000), "CORRUPT_DURATION") == Verdict::ok);
    CHECK(verdict(corrupt(100'001, 1'000'000), "CORRUPT_DURATION") == Verdict::degraded);
    CHECK(verdict(corrupt(100'001, 2'000'020), "CORRUPT_DURATION") == Verdict::ok);
    CHECK(verdict(corrupt(100'001, 2'000'019), "CORRUPT_DURATION") == Verdict::degraded);
    const Quality quality = corrupt(100'001, 1'000'000);
    CHECK(quality.outcome == Verdict::degraded);
    CHECK(quality.corrupt.size() == 1);
    CHECK(diagnostic(quality, "CORRUPT_DURATION").count == 1);
    CHECK(diagnostic(quality, "CORRUPT_DURATION").first.find("suspect") != std::string::npos);
    CHECK(quality.kernels == 3);  // kept and counted
}

TEST_CASE("CORRUPT_DURATION: the event is listed and left out of times") {
    TraceFixture file;
    file.op("op", 0, 1)
        .launched("first", us(-500), us(-490))
        .launched("corrupt", 0, us(2'000'000))
        .launched("next", us(20), us(30));
    file.launched("last", us(40), us(60));
    const Trace trace = file.finish();
    const Quality quality = quality_of(trace);
    CHECK(quality.corrupt == std::vector<EventId>{event_named(trace, "corrupt")});
    REQUIRE(quality.excluded.size() == trace.size());
    for (EventId event = 0; event < trace.size(); ++event) {
        CHECK(quality.excluded[event] == (event == event_named(trace, "corrupt")));
    }
    // 40 us in a window of 560 us.
    CHECK(diagnostic(quality, "HIGH_IDLE").value == doctest::Approx(92.9));
    CHECK(verdict(quality, "STREAM_OVERLAP") == Verdict::ok);
}

TEST_CASE("CORRUPT_DURATION: neither equal starts, nor events without length, nor other streams count") {
    const auto with_next = [](std::int64_t start, std::int64_t end, std::int64_t device,
                              std::int64_t stream) {
        TraceFixture file;
        file.op("op", 0, 1).launched("suspect", 0, us(1000));
        file.on_stream(device, stream);
        file.launched("next", start, end);
        return verdict(quality_of(file), "CORRUPT_DURATION");
    };
    CHECK(with_next(us(10), us(20), 0, 7) == Verdict::degraded);
    CHECK(with_next(0, us(20), 0, 7) == Verdict::ok);
    CHECK(with_next(us(10), us(10), 0, 7) == Verdict::ok);
    CHECK(with_next(us(10), us(20), 0, 8) == Verdict::ok);
    CHECK(with_next(us(10), us(20), 1, 7) == Verdict::ok);
}

TEST_CASE("CORRUPT_DURATION: behind equal starts and events without length the next start counts") {
    TraceFixture file;
    file.op("op", 0, 1)
        .launched("same start", 0, us(5))
        .launched("suspect", 0, us(1000))
        .launched("empty", us(2), us(2));
    file.launched("next", us(950), us(960));
    CHECK(verdict(quality_of(file), "CORRUPT_DURATION") == Verdict::ok);
    TraceFixture earlier;
    earlier.op("op", 0, 1)
        .launched("suspect", 0, us(1000))
        .launched("same start", 0, us(5))
        .launched("empty", us(2), us(2));
    earlier.launched("next", us(800), us(810)).launched("later", us(950), us(960));
    const Trace trace = earlier.finish();
    CHECK(quality_of(trace).corrupt == std::vector<EventId>{event_named(trace, "suspect")});
}

TEST_CASE("CORRUPT_DURATION: corrupt events are left out of statistics") {
    // Four equal ops, the first of them with a corrupt kernel.
    TraceFixture file;
    file.launched_by_op("op", true, us(1000), us(1'000'000));
    for (const std::int64_t start : {us(2000), us(3000), us(4000)})
        file.launched_by_op("op", true, start, start + us(10));
    const Quality quality = quality_of(file);
    CHECK(verdict(quality, "CORRUPT_DURATION") == Verdict::degraded);
    CHECK(verdict(quality, "RUNTIME_INSTABILITY") == Verdict::ok);
}

TEST_CASE("HIGH_IDLE: over 15% of the window of linked work") {
    const auto idle = [](std::int64_t idle_ns) {
        TraceFixture file;
        file.op("op", 0, 1).launched("a", 0, us(50)).launched("b", us(50) + idle_ns, us(100));
        file.kernel("unlinked", us(900), us(901), 1);
        return quality_of(file);
    };
    CHECK(verdict(idle(us(15)), "HIGH_IDLE") == Verdict::ok);
    CHECK(verdict(idle(us(15) + 1), "HIGH_IDLE") == Verdict::note);
    CHECK(diagnostic(idle(us(40)), "HIGH_IDLE").value == doctest::Approx(40));
    CHECK(diagnostic(idle(us(40)), "HIGH_IDLE").limit == doctest::Approx(15));
}

TEST_CASE("HIGH_IDLE: without any launch the window is all GPU events") {
    TraceFixture file;
    file.op("op", 0, 1).kernel("a", 0, us(10)).kernel("b", us(90), us(100));
    CHECK(diagnostic(quality_of(file), "HIGH_IDLE").value == doctest::Approx(80));
}

TEST_CASE("SHORT_WINDOW: under 1 ms of GPU time, or under 100 kernels") {
    const auto window = [](int kernels, std::int64_t each_ns) {
        TraceFixture file;
        file.op("op", 0, 1);
        for (int i = 0; i < kernels; ++i) file.launched("k", us(100 * i), us(100 * i) + each_ns);
        return verdict(quality_of(file), "SHORT_WINDOW");
    };
    CHECK(window(100, us(10)) == Verdict::ok);
    CHECK(window(99, us(20)) == Verdict::note);
    CHECK(window(100, us(10) - 1) == Verdict::note);
    TraceFixture no_gpu;
    no_gpu.op("op", 0, 1);
    CHECK(verdict(quality_of(no_gpu), "SHORT_WINDOW") == Verdict::ok);
}

TEST_CASE("GPU_COLLECTION_STOPPED: launches go on over 2% and 10% of the window after the last GPU event") {
    const auto stopped = [](std::int64_t last_end, const char* last_call = "cudaLaunchKernel") {
        TraceFixture file;
        file.op("op", 0, 1).call("cudaLaunchKernel", us(-10), us(-9), 1).kernel("k", 0, last_end, 1);
        file.call(last_call, us(100), us(101), 2);
        return verdict(quality_of(file), "GPU_COLLECTION_STOPPED");
    };
    CHECK(stopped(us(98)) == Verdict::ok);
    CHECK(stopped(us(98) - 1) == Verdict::note);
    CHECK(stopped(us(90)) == Verdict::note);
    CHECK(stopped(us(90) - 1) == Verdict::degraded);
    CHECK(stopped(us(120)) == Verdict::ok);
    CHECK(stopped(us(50), "cudaStreamSynchronize") == Verdict::ok);
}

TEST_CASE("CLOCK_SKEW: over 0.1% and 5% of linked GPU events start over 1 us before their launch") {
    const auto skew = [](int early, std::int64_t lead_ns) {
        TraceFixture file;
        file.op("op", 0, 1);
        for (int i = 0; i < 1000; ++i) {
            const std::int64_t start = us(100 * (i + 1));
            const std::int64_t launch = i < early ? start + lead_ns : start - us(5);
            file.call("cudaLaunchKernel", launch, launch + 1, i + 1)
                .kernel("k", start, start + us(10), i + 1);
        }
        return verdict(quality_of(file), "CLOCK_SKEW");
    };
    CHECK(skew(1, us(2)) == Verdict::ok);
    CHECK(skew(2, us(2)) == Verdict::note);
    CHECK(skew(50, us(2)) == Verdict::note);
    CHECK(skew(51, us(2)) == Verdict::degraded);
    CHECK(skew(500, us(1)) == Verdict::ok);
    CHECK(skew(500, us(1) + 1) == Verdict::degraded);
}

TEST_CASE("STREAM_OVERLAP: over 0.5 us on one stream") {
    const auto overlap = [](std::int64_t second_start, std::int64_t stream) {
        TraceFixture file;
        file.op("op", 0, 1).launched("a", 0, us(10));
        file.on_stream(0, stream);
        file.launched("b", second_start, us(30));
        return verdict(quality_of(file), "STREAM_OVERLAP");
    };
    CHECK(overlap(us(10) - 500, 7) == Verdict::ok);
    CHECK(overlap(us(10) - 501, 7) != Verdict::ok);
    CHECK(overlap(us(5), 8) == Verdict::ok);
    TraceFixture nested;  // a short event inside a long one overlaps by its own length only
    nested.op("op", 0, 1)
        .launched("a", 0, us(10))
        .launched("b", us(5), us(5) + 500)
        .launched("c", us(7), us(7) + 400);
    CHECK(verdict(quality_of(nested), "STREAM_OVERLAP") == Verdict::ok);
}

TEST_CASE("STREAM_OVERLAP: a note, degraded over 20% of the GPU events") {
    // Spec 06, section 6.3, T21: chapter 11 does not decide it.
    const auto overlap = [](int overlapping) {
        TraceFixture file;
        file.op("op", 0, 1);
        for (int i = 0; i < 10; ++i) {
            const std::int64_t start = us(100 * i) - (i >= 10 - overlapping ? us(60) : 0);
            file.launched("k", start, us(100 * i) + us(50));
        }
        return quality_of(file);
    };
    CHECK(diagnostic(overlap(2), "STREAM_OVERLAP").count == 2);
    CHECK(diagnostic(overlap(2), "STREAM_OVERLAP").value == doctest::Approx(20));
    CHECK(verdict(overlap(2), "STREAM_OVERLAP") == Verdict::note);
    CHECK(verdict(overlap(3), "STREAM_OVERLAP") == Verdict::degraded);
}

TEST_CASE("MULTI_DEVICE and MULTI_RANK are notes") {
    TraceFixture one;
    one.op("op", 0, 1).launched("a", 0, us(10)).on_stream(0, 8);
    one.launched("b", us(20), us(30));
    const Quality single = quality_of(one);
    CHECK(verdict(single, "MULTI_DEVICE") == Verdict::ok);
    CHECK(verdict(single, "MULTI_RANK") == Verdict::ok);

    TraceFixture devices;
    devices.op("op", 0, 1).launched("a", 0, us(10)).on_stream(1, 7);
    devices.launched("b", us(20), us(30));
    const Quality two_devices = quality_of(devices);
    CHECK(verdict(two_devices, "MULTI_DEVICE") == Verdict::note);
    CHECK(diagnostic(two_devices, "MULTI_DEVICE").count == 2);
    CHECK(verdict(two_devices, "MULTI_RANK") == Verdict::ok);

    TraceFixture processes;
    processes.op("op", 0, 1).launched("a", 0, us(10)).on_thread(200, 1);
    processes.launched("b", us(20), us(30));
    CHECK(verdict(quality_of(processes), "MULTI_RANK") == Verdict::note);
    CHECK(verdict(quality_of(processes), "MULTI_DEVICE") == Verdict::ok);

    TraceFixture ranks;
    ranks.op("op", 0, 1)
        .on_stream(0, 7, 0)
        .kernel("a", 0, us(10))
        .on_stream(0, 7, 1)
        .kernel("b", us(20), us(30));
    const Quality two_ranks = quality_of(ranks);
    CHECK(verdict(two_ranks, "MULTI_RANK") == Verdict::note);
    CHECK(verdict(two_ranks, "MULTI_DEVICE") == Verdict::note);
}

TEST_CASE("RUNTIME_INSTABILITY: std/mean of an op's GPU time over 0.25, from three instances on") {
    const auto instances = [](const std::vector<std::int64_t>& microseconds, bool same_shapes = true) {
        TraceFixture file;
        for (std::size_t i = 0; i < microseconds.size(); ++i) {
            const std::int64_t start = us(1000 * static_cast<std::int64_t>(i + 1));
            file.launched_by_op("aten::mm", same_shapes || i % 2 == 0, start, start + us(microseconds[i]));
        }
        return quality_of(file);
    };
    CHECK(verdict(instances({75, 100, 125}), "RUNTIME_INSTABILITY") == Verdict::ok);
    CHECK(verdict(instances({74, 100, 126}), "RUNTIME_INSTABILITY") == Verdict::note);
    CHECK(verdict(instances({10, 100}), "RUNTIME_INSTABILITY") == Verdict::ok);
    CHECK(verdict(instances({100, 10, 100, 10, 100, 10}, false), "RUNTIME_INSTABILITY") == Verdict::ok);
    CHECK(verdict(instances({100, 10, 100, 10, 100, 10}), "RUNTIME_INSTABILITY") == Verdict::note);
    const Diagnostic found = diagnostic(instances({50, 100, 150}), "RUNTIME_INSTABILITY");
    CHECK(found.value == doctest::Approx(0.5));
    CHECK(found.limit == doctest::Approx(0.25));
    CHECK(found.first.find("aten::mm") != std::string::npos);
}

TEST_CASE("WARMUP_INCLUDED: the first step is over 3 times the median") {
    const auto steps = [](const std::vector<std::int64_t>& lengths, const char* name = "ProfilerStep#") {
        TraceFixture file;
        std::int64_t at = 0;
        int number = 0;
        for (const std::int64_t length : lengths) {
            file.annotation(name + std::to_string(number++), at, at + length);
            at += length + 10;
        }
        return verdict(quality_of(file), "WARMUP_INCLUDED");
    };
    CHECK(steps({300, 100, 100}) == Verdict::ok);
    CHECK(steps({301, 100, 100}) == Verdict::note);
    CHECK(steps({100, 301, 100}) == Verdict::ok);
    CHECK(steps({1000}) == Verdict::ok);
    CHECK(steps({}) == Verdict::ok);
    CHECK(steps({301, 100, 100}, "Optimizer.step#") == Verdict::ok);
}
