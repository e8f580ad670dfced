// Quality checks on what was recorded: sizes, shapes, links, graphs, lost records (spec 11, sections 3 and
// 7).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "unit/analyze/quality_support.hpp"

using namespace tracelens;
using fixture::diagnostic;
using fixture::quality_of;
using fixture::TraceFixture;
using fixture::us;
using fixture::verdict;

TEST_CASE("an event array without complete events: fallback with TRACE_SIZE and NO_GPU_KERNELS") {
    const Quality quality = quality_of(Trace{});
    CHECK(verdict(quality, "TRACE_SIZE") == Verdict::fallback);
    CHECK(verdict(quality, "NO_GPU_KERNELS") == Verdict::fallback);
    CHECK(verdict(quality, "NO_CALL_STACK") == Verdict::note);
    CHECK(quality.outcome == Verdict::fallback);
    CHECK(quality.excluded.empty());
    CHECK(quality.corrupt.empty());
    CHECK(quality.gpu_events == 0);
}

TEST_CASE("TRACE_SIZE: degraded under 100 complete events, a note under 100 KB as stored") {
    const auto trace_of = [](int events, std::uint64_t bytes) {
        TraceFixture file;
        for (int i = 0; i < events; ++i) file.op("op", i, i + 1);
        Trace trace = file.finish();
        trace.stored_bytes = bytes;
        return trace;
    };
    CHECK(verdict(quality_of(trace_of(99, 1'000'000)), "TRACE_SIZE") == Verdict::degraded);
    CHECK(verdict(quality_of(trace_of(99, 10)), "TRACE_SIZE") == Verdict::degraded);
    CHECK(verdict(quality_of(trace_of(100, 100'000)), "TRACE_SIZE") == Verdict::ok);
    CHECK(verdict(quality_of(trace_of(100, 99'999)), "TRACE_SIZE") == Verdict::note);
    CHECK(verdict(quality_of(trace_of(100, 0)), "TRACE_SIZE") == Verdict::ok);  // size unknown
    const Diagnostic small = diagnostic(quality_of(trace_of(99, 0)), "TRACE_SIZE");
    CHECK(small.area == "profiling");
    CHECK(small.value == 99.0);
    CHECK(small.unit == "events");
    CHECK(small.limit == 100.0);
    CHECK(small.first.find("99") != std::string::npos);
    CHECK_FALSE(small.remedy.empty());
}

TEST_CASE("NO_GPU_KERNELS: copies, fills and legacy copies are no kernels") {
    TraceFixture file;
    file.op("op", 0, us(10)).memcpy("copy", us(20), us(30)).memset("fill", us(30), us(40));
    file.kernel("__amd_rocclr_copyBuffer.kd", us(40), us(50))
        .kernel("__amd_rocclr_fillBufferAligned", us(50), us(60));
    SUBCASE("none") {
        const Quality quality = quality_of(file);
        CHECK(verdict(quality, "NO_GPU_KERNELS") == Verdict::fallback);
        CHECK(diagnostic(quality, "NO_GPU_KERNELS").area == "profiling");
        CHECK(quality.kernels == 0);
        CHECK(quality.gpu_events == 4);
    }
    SUBCASE("one kernel") {
        file.kernel("gemm", us(60), us(70));
        CHECK(verdict(quality_of(file), "NO_GPU_KERNELS") == Verdict::ok);
    }
    SUBCASE("one collective") {
        file.kernel("ncclKernel", us(60), us(70));
        const Quality quality = quality_of(file);
        CHECK(verdict(quality, "NO_GPU_KERNELS") == Verdict::ok);
        CHECK(quality.kernels == 1);
    }
}

TEST_CASE("GPU_ONLY: GPU events but no op") {
    TraceFixture without;
    without.call("cudaLaunchKernel", 0, 1, 1).kernel("k", us(20), us(30), 1);
    CHECK(verdict(quality_of(without), "GPU_ONLY") == Verdict::fallback);
    TraceFixture with;
    with.op("op", 0, 1).kernel("k", us(20), us(30), 1);
    CHECK(verdict(quality_of(with), "GPU_ONLY") == Verdict::ok);
    TraceFixture no_gpu;
    no_gpu.call("cudaLaunchKernel", 0, 1, 1);
    CHECK(verdict(quality_of(no_gpu), "GPU_ONLY") == Verdict::ok);
}

TEST_CASE("NO_CALL_STACK: a note without Python frames") {
    TraceFixture without;
    without.op("op", 0, 1);
    CHECK(verdict(quality_of(without), "NO_CALL_STACK") == Verdict::note);
    TraceFixture with;
    with.frame("frame", 0, 1);
    CHECK(verdict(quality_of(with), "NO_CALL_STACK") == Verdict::ok);
}

TEST_CASE("MISSING_CPU_OP_SHAPES: GPU time under launching ops without Input Dims") {
    const auto shapes = [](std::int64_t without_ns) {
        TraceFixture file;
        file.launched_by_op("with", true, us(1000), us(1000) + 100'000 - without_ns);
        file.launched_by_op("without", false, us(2000), us(2000) + without_ns);
        return quality_of(file);
    };
    CHECK(verdict(shapes(10'000), "MISSING_CPU_OP_SHAPES") == Verdict::ok);
    CHECK(verdict(shapes(10'001), "MISSING_CPU_OP_SHAPES") == Verdict::note);
    CHECK(verdict(shapes(50'000), "MISSING_CPU_OP_SHAPES") == Verdict::note);
    CHECK(verdict(shapes(50'001), "MISSING_CPU_OP_SHAPES") == Verdict::degraded);
    CHECK(verdict(shapes(100'000), "MISSING_CPU_OP_SHAPES") == Verdict::degraded);
    const Diagnostic found = diagnostic(shapes(12'345), "MISSING_CPU_OP_SHAPES");
    CHECK(found.value == doctest::Approx(12.3));
    CHECK(found.limit == doctest::Approx(10));
    CHECK(diagnostic(shapes(60'000), "MISSING_CPU_OP_SHAPES").limit == doctest::Approx(50));
}

TEST_CASE("MISSING_CPU_OP_SHAPES: the launching op is the innermost one that is not `execute`") {
    TraceFixture file;
    file.with_arg("Input Dims", "[]").op("with", us(-50), us(200)).op("execute", us(-40), us(190));
    file.call("hipLaunchKernel", 0, 1, 1).kernel("k", us(500), us(600), 1);
    CHECK(verdict(quality_of(file), "MISSING_CPU_OP_SHAPES") == Verdict::ok);
    TraceFixture inner;
    inner.with_arg("Input Dims", "[]").op("with", us(-50), us(200)).op("without", us(-40), us(190));
    inner.call("hipLaunchKernel", 0, 1, 1).kernel("k", us(500), us(600), 1);
    CHECK(verdict(quality_of(inner), "MISSING_CPU_OP_SHAPES") == Verdict::degraded);
}

TEST_CASE("MISSING_CPU_OP_SHAPES: work without an op above it does not count") {
    TraceFixture file;
    file.launched_by_op("with", true, us(1000), us(1010))
        .launched("k", us(2000), us(9000))
        .op("idle op", 0, 1);
    CHECK(verdict(quality_of(file), "MISSING_CPU_OP_SHAPES") == Verdict::ok);
    TraceFixture nothing;
    nothing.op("op", 0, 1).launched("k", us(2000), us(9000));
    CHECK(verdict(quality_of(nothing), "MISSING_CPU_OP_SHAPES") == Verdict::ok);
}

TEST_CASE("UNLINKED_KERNELS: leading spill-over is a note over 2%, however much it is") {
    const auto leading = [](std::int64_t unlinked_ns) {
        TraceFixture file;
        file.op("op", 0, 1).kernel("spill", us(100), us(100) + unlinked_ns, 1);
        file.launched("k", us(1000), us(1000) + 100'000 - unlinked_ns);
        return quality_of(file);
    };
    CHECK(verdict(leading(2000), "UNLINKED_KERNELS") == Verdict::ok);
    CHECK(verdict(leading(2001), "UNLINKED_KERNELS") == Verdict::note);
    CHECK(verdict(leading(60'000), "UNLINKED_KERNELS") == Verdict::note);
    CHECK(leading(60'000).unlinked_share == doctest::Approx(0.6));
    CHECK(diagnostic(leading(60'000), "UNLINKED_KERNELS").value == doctest::Approx(60.0));
    CHECK(diagnostic(leading(60'000), "UNLINKED_KERNELS").limit == doctest::Approx(2.0));
}

TEST_CASE("UNLINKED_KERNELS: interleaved over 1%, 10% and 50%") {
    const auto interleaved = [](std::int64_t unlinked_ns) {
        TraceFixture file;
        file.op("op", 0, 1).launched("k", us(1000), us(1000) + 100'000 - unlinked_ns);
        file.kernel("unlinked", us(2000), us(2000) + unlinked_ns, 1);
        return quality_of(file);
    };
    CHECK(verdict(interleaved(1000), "UNLINKED_KERNELS") == Verdict::ok);
    CHECK(interleaved(1000).unlinked_share == doctest::Approx(0.01));
    CHECK(verdict(interleaved(1001), "UNLINKED_KERNELS") == Verdict::note);
    CHECK(verdict(interleaved(10'000), "UNLINKED_KERNELS") == Verdict::note);
    CHECK(verdict(interleaved(10'001), "UNLINKED_KERNELS") == Verdict::degraded);
    CHECK(verdict(interleaved(50'000), "UNLINKED_KERNELS") == Verdict::degraded);
    CHECK(verdict(interleaved(50'001), "UNLINKED_KERNELS") == Verdict::fallback);
    CHECK(diagnostic(interleaved(12'345), "UNLINKED_KERNELS").limit == doctest::Approx(10));
    CHECK(diagnostic(interleaved(12'345), "UNLINKED_KERNELS").value == doctest::Approx(12.3));
}

TEST_CASE("UNLINKED_KERNELS: no launch at all") {
    TraceFixture file;
    file.op("op", 0, 1).kernel("a", us(10), us(20)).kernel("b", us(20), us(30));
    const Quality quality = quality_of(file);
    CHECK(verdict(quality, "UNLINKED_KERNELS") == Verdict::fallback);
    CHECK(diagnostic(quality, "UNLINKED_KERNELS").count == 2);
    CHECK(diagnostic(quality, "UNLINKED_KERNELS").first.find("window is all GPU events") !=
          std::string::npos);
    CHECK(quality.linked_gpu_events == 0);
}

TEST_CASE("GPU_GRAPH_REPLAY and GRAPH_UNDER_RECORDED: 10% of GPU time") {
    const auto graphs = [](std::int64_t graph_ns, const char* name = "hipGraphLaunch") {
        TraceFixture file;
        file.op("op", 0, 1).launched("k", us(1000), us(1000) + 100'000 - graph_ns);
        file.call(name, us(1000), us(1001), 1).memcpy("in graph", us(2000), us(2000) + graph_ns / 2, 1);
        file.kernel("in graph", us(3000), us(3000) + graph_ns - graph_ns / 2, 1);
        return quality_of(file);
    };
    CHECK(verdict(graphs(10'000), "GPU_GRAPH_REPLAY") == Verdict::degraded);
    CHECK(verdict(graphs(10'000), "GRAPH_UNDER_RECORDED") == Verdict::ok);
    CHECK(graphs(10'000).graph_share == doctest::Approx(0.10));
    CHECK(verdict(graphs(10'001), "GRAPH_UNDER_RECORDED") == Verdict::fallback);
    CHECK(graphs(10'001).outcome == Verdict::fallback);
    for (const char* name :
         {"cudaGraphLaunch", "cuGraphLaunch", "cudaGraphLaunch_ptsz", "hipGraphLaunch_spt"}) {
        CHECK(verdict(graphs(20'000, name), "GRAPH_UNDER_RECORDED") == Verdict::fallback);
    }
    CHECK(verdict(graphs(20'000, "cudaGraphInstantiate"), "GPU_GRAPH_REPLAY") == Verdict::ok);
    CHECK(verdict(graphs(20'000, "cudaGraphInstantiate"), "GRAPH_UNDER_RECORDED") == Verdict::ok);
}

TEST_CASE("GPU_GRAPH_REPLAY: graph launches without recorded work") {
    TraceFixture file;
    file.op("op", 0, 1)
        .call("cudaGraphLaunch", 1, 2, 1)
        .call("cudaGraphLaunch", 3, 4, 2)
        .launched("k", us(1000), us(2000));
    const Quality quality = quality_of(file);
    CHECK(verdict(quality, "GPU_GRAPH_REPLAY") == Verdict::degraded);
    CHECK(diagnostic(quality, "GPU_GRAPH_REPLAY").count == 2);
    CHECK(quality.graph_share == 0);
    CHECK(verdict(quality, "GRAPH_UNDER_RECORDED") == Verdict::ok);
}

TEST_CASE("IDLE_UNRELIABLE: graph launches cover most of the span and more than half of it is idle") {
    const auto idle = [](std::int64_t busy_ns, std::int64_t last_launch_end,
                         const char* name = "hipGraphLaunch") {
        TraceFixture file;
        file.op("op", 0, 1)
            .call(name, us(1000), us(1001), 1)
            .call(name, us(1002), us(1000) + last_launch_end, 2);
        file.launched("k", us(1000), us(1000) + busy_ns / 2);
        file.launched("k", us(1100) - (busy_ns - busy_ns / 2), us(1100));
        return quality_of(file);
    };
    CHECK(verdict(idle(49'999, us(90)), "IDLE_UNRELIABLE") == Verdict::degraded);
    CHECK(verdict(idle(50'000, us(90)), "IDLE_UNRELIABLE") == Verdict::ok);
    CHECK(verdict(idle(10'000, us(50) + 1), "IDLE_UNRELIABLE") == Verdict::degraded);
    CHECK(verdict(idle(10'000, us(50)), "IDLE_UNRELIABLE") == Verdict::ok);
    CHECK(verdict(idle(10'000, us(90), "cudaEventRecord"), "IDLE_UNRELIABLE") == Verdict::ok);
}

namespace {

/// 200 kernel launches, the first `lost` of them without a kernel.
Quality lost_launches(int lost, std::string_view extra_call = "cudaStreamSynchronize") {
    TraceFixture file;
    file.op("op", 0, 1).call(extra_call, 1, 2, 5000);
    for (int i = 0; i < 200; ++i) {
        const char* name = i % 2 == 0 ? "cudaLaunchKernel" : "hipExtModuleLaunchKernel";
        file.call(name, us(i), us(i) + 1, i + 1);
        if (i >= lost) file.kernel("k", us(i), us(i + 1), i + 1);
    }
    return quality_of(file);
}

}  // namespace

TEST_CASE("DROPPED_RECORDS: launches without GPU event over 0.5%, 5% and 30%") {
    CHECK(verdict(lost_launches(0), "DROPPED_RECORDS") == Verdict::ok);
    CHECK(verdict(lost_launches(1), "DROPPED_RECORDS") == Verdict::ok);
    CHECK(verdict(lost_launches(2), "DROPPED_RECORDS") == Verdict::note);
    CHECK(verdict(lost_launches(10), "DROPPED_RECORDS") == Verdict::note);
    CHECK(verdict(lost_launches(11), "DROPPED_RECORDS") == Verdict::degraded);
    CHECK(verdict(lost_launches(60), "DROPPED_RECORDS") == Verdict::degraded);
    CHECK(verdict(lost_launches(61), "DROPPED_RECORDS") == Verdict::fallback);
    CHECK(diagnostic(lost_launches(11), "DROPPED_RECORDS").count == 11);
    CHECK(diagnostic(lost_launches(11), "DROPPED_RECORDS").value == doctest::Approx(5.5));
    CHECK(diagnostic(lost_launches(11), "DROPPED_RECORDS").limit == doctest::Approx(5));
}

TEST_CASE(
    "DROPPED_RECORDS: other calls, launches that share an id and launches linked by flows are not lost") {
    TraceFixture others;
    others.op("op", 0, 1)
        .call("cudaMemcpyAsync", 1, 2, 1)
        .call("cudaFuncSetAttribute", 3, 4, 2)
        .kernel("k", us(1), us(2), 9);
    CHECK(verdict(quality_of(others), "DROPPED_RECORDS") == Verdict::ok);
    TraceFixture twice;
    twice.op("op", 0, 1)
        .call("hipLaunchKernel", 1, 9, 1)
        .call("hipExtModuleLaunchKernel", 2, 8, 1)
        .kernel("k", us(1), us(2), 1);
    CHECK(verdict(quality_of(twice), "DROPPED_RECORDS") == Verdict::ok);
    TraceFixture flows;
    flows.op("op", 0, 1)
        .call("cudaLaunchKernel", 1, 9, 7)
        .flow_start(7, 1)
        .kernel("k", us(1), us(2))
        .flow_finish(7, us(1));
    CHECK(verdict(quality_of(flows), "DROPPED_RECORDS") == Verdict::ok);
    TraceFixture no_gpu;
    no_gpu.op("op", 0, 1).call("cudaLaunchKernel", 1, 9, 7);
    CHECK(verdict(quality_of(no_gpu), "DROPPED_RECORDS") == Verdict::ok);
}

TEST_CASE("a cut file, and not the profiler, is to blame for GPU events that are missing at its end") {
    TraceFixture file;
    file.op("op", 0, 1);
    for (int i = 0; i < 200; ++i) file.call("hipLaunchKernel", us(i), us(i) + 1, i + 1);
    for (int i = 0; i < 100; ++i) file.kernel("k", us(i), us(i + 1), i + 1);
    Trace trace = file.finish();
    trace.diagnostics.add({"trace_quality", "TRUNCATED", Verdict::degraded, 1, "", "", {}, {}, {}});
    const Quality quality = quality_of(trace);
    for (const char* code : {"DROPPED_RECORDS", "GPU_COLLECTION_STOPPED"}) {
        CAPTURE(code);
        CHECK(verdict(quality, code) == Verdict::note);
        CHECK(diagnostic(quality, code).remedy.find("cut") != std::string::npos);
    }
}

TEST_CASE("CAPTURE_TRACE: a stream capture and over 30% of the launches without GPU event") {
    CHECK(verdict(lost_launches(61, "hipStreamBeginCapture"), "CAPTURE_TRACE") == Verdict::fallback);
    CHECK(verdict(lost_launches(61, "cudaStreamBeginCapture_v10000"), "CAPTURE_TRACE") == Verdict::fallback);
    CHECK(verdict(lost_launches(61, "hipStreamBeginCapture"), "DROPPED_RECORDS") == Verdict::ok);
    CHECK(verdict(lost_launches(60, "hipStreamBeginCapture"), "CAPTURE_TRACE") == Verdict::ok);
    CHECK(verdict(lost_launches(60, "hipStreamBeginCapture"), "DROPPED_RECORDS") == Verdict::ok);
    CHECK(verdict(lost_launches(61), "CAPTURE_TRACE") == Verdict::ok);
}

TEST_CASE("DROPPED_RECORDS: the profiler says so itself") {
    for (const char* name : {"Records Dropped", "buffer OVERFLOW", "dropped_activity_records"}) {
        CAPTURE(name);
        TraceFixture instant;
        instant.op("op", 0, 1).instant(name, 5).instant(name, 6).instant("Record Window End", 7);
        const Quality quality = quality_of(instant);
        CHECK(verdict(quality, "DROPPED_RECORDS") == Verdict::degraded);
        CHECK(diagnostic(quality, "DROPPED_RECORDS").count == 2);
        TraceFixture metadata;
        metadata.op("op", 0, 1).metadata(name);
        CHECK(verdict(quality_of(metadata), "DROPPED_RECORDS") == Verdict::degraded);
    }
    TraceFixture plain;
    plain.op("dropped op", 0, 1).instant("Iteration Start: PyTorch Profiler", 5).metadata("process_name");
    CHECK(verdict(quality_of(plain), "DROPPED_RECORDS") == Verdict::ok);
}

TEST_CASE("the outcome is the worst verdict, notes not counting; what the reader found counts") {
    const auto outcome = [](Verdict of_reader) {
        TraceFixture file;
        for (int i = 0; i < 200; ++i)
            file.frame("f", us(i), us(i) + 1).launched_by_op("op", true, us(i) * 10, us(i) * 10 + us(10));
        Trace trace = file.finish();
        if (of_reader != Verdict::ok)
            trace.diagnostics.add({"trace_quality", "FROM_READER", of_reader, 3, "first", "", {}, {}, {}});
        return quality_of(trace);
    };
    CHECK(outcome(Verdict::ok).outcome == Verdict::ok);
    CHECK(outcome(Verdict::ok).diagnostics.empty());
    CHECK(outcome(Verdict::note).outcome == Verdict::ok);
    CHECK(outcome(Verdict::degraded).outcome == Verdict::degraded);
    CHECK(outcome(Verdict::fallback).outcome == Verdict::fallback);
    CHECK(outcome(Verdict::error).outcome == Verdict::error);
    CHECK(diagnostic(outcome(Verdict::note), "FROM_READER").count == 3);
}

TEST_CASE("other limits can be set") {
    TraceFixture file;
    file.op("op", 0, 1).op("op", 2, 3);
    Trace trace = file.finish();
    QualityLimits limits;
    limits.few_events = 2;
    CHECK(verdict(quality_of(trace, limits), "TRACE_SIZE") == Verdict::ok);
    limits.few_events = 3;
    CHECK(verdict(quality_of(trace, limits), "TRACE_SIZE") == Verdict::degraded);
}

TEST_CASE("pseudo ops on the tree are ops like others") {
    TraceFixture file;
    for (int i = 0; i < 3; ++i) file.launched_by_op("op", true, us(1000 * (i + 1)), us(1000 * (i + 1) + 100));
    const Trace trace = file.finish();
    const Links links = link_launches(trace);
    CallTree tree(trace, links);
    for (const EventId call : links.calls()) {
        const OverlayNode pseudo{.name = trace.name[0], .kind = EventKind::cpu_op, .args = trace.args[0]};
        tree.insert_above(call, tree.add_overlay(pseudo));
    }
    tree.refresh();
    const Quality quality = assess_quality(trace, links, tree, classify_gpu_events(trace));
    CHECK(verdict(quality, "MISSING_CPU_OP_SHAPES") == Verdict::ok);
    CHECK(verdict(quality, "RUNTIME_INSTABILITY") == Verdict::ok);
}
