// The fields of complete events, category by category (spec 01, sections 3.3 and 3.4): which column or
// signature they land in.
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "read_support.hpp"

using namespace tracelens;
using namespace tracelens::read_test;

namespace {

/// Reads one event and returns the trace, whose only row is event 0.
Trace read_event(std::string_view event, Timestamps timestamps = Timestamps::exact) {
    Trace trace = read_events(event, timestamps);
    REQUIRE(trace.size() == 1);
    return trace;
}

std::string_view arg(const Trace& trace, std::string_view key, EventId event = 0) {
    return trace.arg(event, key).value_or("(none)");
}

std::size_t arg_count(const Trace& trace, EventId event = 0) {
    return trace.signatures[trace.args[event]].size();
}

bool is_integer(const TrackPart& part, std::int64_t value) {
    return part == TrackPart::integer(value);
}

bool is_text(const Trace& trace, const TrackPart& part, std::string_view text) {
    return part.form == TrackPart::Form::text &&
           trace.strings[StringId{static_cast<std::uint32_t>(part.value)}] == text;
}

}  // namespace

TEST_CASE("fields: cpu_op") {
    const Trace trace = read_event(R"({
      "ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 4711, "tid": 4712,
      "ts": 6869181218039.954, "dur": 6.239,
      "args": {
        "External id": 513, "Record function id": 0, "Sequence number": 77, "Fwd thread id": 1, "Ev Idx": 12,
        "Input Dims": [[2, 3], [], [[4], [5, 6]]], "Input type": ["c10::BFloat16", "Scalar", "TensorList"],
        "Input Strides": [[3, 1], [], [[1], [6, 1]]], "Concrete Inputs": ["", "1.0000000000000001e-05", ""],
        "finished": true, "num_warps": 8, "num_stages": 2, "stream": 630000000, "kernel_backend": "triton",
        "kernel_file": "/tmp/a b/\"x\".py", "kernel_kwargs": "XBLOCK=2,R0_BLOCK=2048", "Collective name": "allreduce",
        "In msg nelems": 4096, "Process Group Ranks": "[0, 1, 2]", "Global rank start": 0
      }})");
    CHECK(trace.name_of(0) == "aten::addmm");
    CHECK(trace.text(trace.category[0]) == "cpu_op");
    CHECK(trace.kind[0] == EventKind::cpu_op);
    CHECK(trace.ticks_per_us == 1000);
    CHECK(trace.epoch == 6869181218039954);
    CHECK(trace.start[0] == 0);
    CHECK(trace.duration(0) == 6239);
    CHECK(trace.file_index[0] == 0);
    CHECK_FALSE(trace.track_of(0).on_device);
    CHECK(is_integer(trace.track_of(0).pid, 4711));
    CHECK(is_integer(trace.track_of(0).tid, 4712));
    CHECK(trace.track_of(0).device == no_number);
    CHECK(trace.track_of(0).stream == no_number);
    CHECK(trace.track_of(0).rank == no_number);
    const OpFields& op = trace.op_fields(0);
    CHECK(op.external_id == 513);
    CHECK(op.record_function_id == 0);
    CHECK(op.sequence_number == 77);
    CHECK(op.forward_thread == 1);
    CHECK(op.ev_idx == 12);
    CHECK(arg(trace, "Input Dims") == "[[2,3],[],[[4],[5,6]]]");
    CHECK(arg(trace, "Input type") == R"(["c10::BFloat16","Scalar","TensorList"])");
    CHECK(arg(trace, "Input Strides") == "[[3,1],[],[[1],[6,1]]]");
    CHECK(arg(trace, "Concrete Inputs") == R"(["","1.0000000000000001e-05",""])");
    CHECK(arg(trace, "finished") == "true");
    CHECK(arg(trace, "num_warps") == "8");
    CHECK(arg(trace, "num_stages") == "2");
    CHECK(arg(trace, "stream") == "630000000");
    CHECK(arg(trace, "kernel_backend") == "\"triton\"");
    CHECK(arg(trace, "kernel_file") == R"("/tmp/a b/\"x\".py")");
    CHECK(arg(trace, "kernel_kwargs") == "\"XBLOCK=2,R0_BLOCK=2048\"");
    CHECK(arg(trace, "Collective name") == "\"allreduce\"");
    CHECK(arg(trace, "In msg nelems") == "4096");
    CHECK(arg(trace, "Process Group Ranks") == "\"[0, 1, 2]\"");
    CHECK(arg(trace, "Global rank start") == "0");
    for (const char* key :
         {"External id", "Record function id", "Sequence number", "Fwd thread id", "Ev Idx"}) {
        CHECK(arg(trace, key) == "(none)");
    }
    CHECK(arg_count(trace) == 15);
    CHECK(trace.diagnostics.empty());
    CHECK(trace.phase_counts == std::map<char, std::uint64_t>{{'X', 1}});
    CHECK(trace.file_events == 1);
}

TEST_CASE("fields: cpu_op without args, with empty and with null args") {
    for (const char* args : {"", R"(, "args": {})", R"(, "args": { })", R"(, "args": null)"}) {
        CAPTURE(std::string(args));
        const std::string event =
            R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 2, "ts": 5, "dur": 1)";
        const Trace trace = read_event(event + args + "}");
        CHECK(trace.args[0] == ArgsId::empty);
        CHECK(trace.op_fields(0).external_id == no_number);
        CHECK(trace.op_fields(0).sequence_number == no_number);
        CHECK(trace.op_fields(0).record_function_id == no_number);
        CHECK(trace.op_fields(0).forward_thread == no_small_number);
        CHECK(trace.op_fields(0).ev_idx == no_small_number);
        CHECK(trace.diagnostics.empty());
    }
}

TEST_CASE("fields: python_function") {
    const Trace trace = read_events(
        R"({"ph": "X", "cat": "python_function", "name": "nn.Module: Linear_3", "pid": 0, "tid": 0, "ts": 1.5, "dur": 0,
            "args": {"Python parent id": 41, "Python id": 42, "Python module id": 7, "Ev Idx": 9, "finished": false}},
           {"ph": "X", "cat": "python_function", "name": "<string>(1): <module>", "pid": 0, "tid": 0, "ts": 2.5,
            "dur": 3, "args": {"Python parent id": null, "Python id": 43}})");
    REQUIRE(trace.size() == 2);
    CHECK(trace.kind[0] == EventKind::python_function);
    const FrameFields& first = trace.frame_fields(0);
    CHECK(first.python_id == 42);
    CHECK(first.parent_id == 41);
    CHECK(first.module_id == 7);
    CHECK(first.ev_idx == 9);
    CHECK(arg(trace, "finished") == "false");
    CHECK(arg_count(trace) == 1);
    CHECK(trace.duration(0) == 0);
    const FrameFields& second = trace.frame_fields(1);
    CHECK(second.python_id == 43);
    CHECK(second.parent_id == no_small_number);
    CHECK(second.module_id == no_small_number);
    CHECK(second.ev_idx == no_small_number);
    CHECK(trace.args[1] == ArgsId::empty);
    CHECK(trace.diagnostics.empty());
}

TEST_CASE("fields: frame ids beyond 32 bits count as missing") {
    const Trace trace = read_event(
        R"({"ph": "X", "cat": "python_function", "name": "f", "pid": 1, "tid": 1, "ts": 1, "dur": 1,
            "args": {"Python id": 2147483648, "Python parent id": -2147483649, "Python module id": 2147483647,
                     "Ev Idx": 99999999999999999999}})");
    CHECK(trace.frame_fields(0).python_id == no_small_number);
    CHECK(trace.frame_fields(0).parent_id == no_small_number);
    CHECK(trace.frame_fields(0).module_id == 2147483647);
    CHECK(trace.frame_fields(0).ev_idx == no_small_number);
}

TEST_CASE("fields: runtime and driver calls") {
    const Trace trace = read_events(
        R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 8, "ts": 1, "dur": 2,
            "args": {"External id": 3, "cbid": 211, "correlation": 1009}},
           {"ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernelEx", "pid": 7, "tid": 8, "ts": 4, "dur": 2,
            "args": {"cbid": 652, "correlation": 1010}},
           {"ph": "X", "cat": "cuda_runtime", "name": "hipExtModuleLaunchKernel", "pid": 7, "tid": 8, "ts": 7, "dur": 2,
            "args": {"External id": 5, "cid": 207, "correlation": 1011, "kernel": "Cijk_Ailk", "grid": [1, 2, 3],
                     "block": [256, 1, 1], "shared memory": 1024}},
           {"ph": "X", "cat": "cuda_runtime", "name": "hipMemcpyAsync", "pid": 7, "tid": 8, "ts": 10, "dur": 2,
            "args": {"cid": 1, "correlation": 9007199254740993, "src": "0x7f00", "dst": "0x7e00", "bytes": "4096",
                     "kind": "HostToDevice"}},
           {"ph": "X", "cat": "cuda_runtime", "name": "hipMalloc", "pid": 7, "tid": 8, "ts": 13, "dur": 2,
            "args": {"cid": 2, "correlation": 1013, "ptr": "0x1", "bytes": 8}})");
    REQUIRE(trace.size() == 5);
    CHECK(trace.kind[0] == EventKind::runtime);
    CHECK(trace.kind[1] == EventKind::driver);
    for (EventId event = 0; event < 5; ++event) {
        CHECK_FALSE(trace.track_of(event).on_device);
        CHECK(arg(trace, "correlation", event) == "(none)");
        CHECK(arg(trace, "External id", event) == "(none)");
    }
    CHECK(trace.launch_fields(0).correlation == 1009);
    CHECK(trace.launch_fields(0).external_id == 3);
    CHECK(arg(trace, "cbid") == "211");
    CHECK(trace.launch_fields(1).correlation == 1010);
    CHECK(trace.launch_fields(1).external_id == no_number);
    CHECK(arg(trace, "kernel", 2) == "\"Cijk_Ailk\"");
    CHECK(arg(trace, "grid", 2) == "[1,2,3]");
    CHECK(arg(trace, "block", 2) == "[256,1,1]");
    CHECK(arg(trace, "shared memory", 2) == "1024");
    CHECK(arg(trace, "cid", 2) == "207");
    CHECK(trace.launch_fields(3).correlation == 9007199254740993);
    CHECK(arg(trace, "bytes", 3) == "\"4096\"");
    CHECK(arg(trace, "src", 3) == "\"0x7f00\"");
    CHECK(arg(trace, "dst", 3) == "\"0x7e00\"");
    CHECK(arg(trace, "kind", 3) == "\"HostToDevice\"");
    CHECK(arg(trace, "bytes", 4) == "8");
    CHECK(arg(trace, "ptr", 4) == "\"0x1\"");
    CHECK(trace.diagnostics.empty());
}

TEST_CASE("fields: kernels, copies and fills") {
    const Trace trace = read_events(
        R"j({"ph": "X", "cat": "kernel", "name": "void gemm<float, 4>(int)", "pid": 1, "tid": 7, "ts": 1, "dur": 2.25,
            "args": {"External id": 3, "queued": 0, "device": 1, "context": 1, "stream": 7, "correlation": 1009,
                     "registers per thread": 90, "shared memory": 0, "blocks per SM": 0.14, "warps per SM": 1.15,
                     "grid": [19, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 31}},
           {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 1, "tid": 7, "ts": 4,
            "dur": 1, "args": {"device": 1, "stream": 20, "correlation": 1010, "bytes": 512,
                               "memory bandwidth (GB/s)": 0.36}},
           {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 1, "tid": 7, "ts": 6, "dur": 1,
            "args": {"device": 1, "stream": 7, "correlation": 1011, "kind": "Device", "rank": 3}},
           {"ph": "X", "cat": "kernel", "name": "bare", "pid": 2, "tid": 9, "ts": 8, "dur": 1},
           {"ph": "X", "cat": "kernel", "name": "negative", "pid": 0, "tid": -1, "ts": 9, "dur": 1,
            "args": {"device": 0, "stream": -1, "correlation": -5}})j");
    REQUIRE(trace.size() == 5);
    CHECK(trace.kind[0] == EventKind::kernel);
    CHECK(trace.kind[1] == EventKind::gpu_memcpy);
    CHECK(trace.kind[2] == EventKind::gpu_memset);
    const Track& kernel = trace.track_of(0);
    CHECK(kernel.on_device);
    CHECK(kernel.device == 1);
    CHECK(kernel.stream == 7);
    CHECK(kernel.rank == no_number);
    CHECK(is_integer(kernel.pid, 1));
    CHECK(is_integer(kernel.tid, 7));
    CHECK(trace.launch_fields(0).correlation == 1009);
    CHECK(trace.launch_fields(0).external_id == 3);
    CHECK(trace.duration(0) == 2250);
    for (const char* key : {"device", "stream", "correlation", "External id"})
        CHECK(arg(trace, key) == "(none)");
    CHECK(arg(trace, "queued") == "0");
    CHECK(arg(trace, "context") == "1");
    CHECK(arg(trace, "registers per thread") == "90");
    CHECK(arg(trace, "shared memory") == "0");
    CHECK(arg(trace, "blocks per SM") == "0.14");
    CHECK(arg(trace, "warps per SM") == "1.15");
    CHECK(arg(trace, "grid") == "[19,1,1]");
    CHECK(arg(trace, "block") == "[128,1,1]");
    CHECK(arg(trace, "est. achieved occupancy %") == "31");
    CHECK(arg_count(trace) == 9);
    CHECK(trace.track_of(1).stream == 20);  // the stream of the arguments goes before the tid
    CHECK(is_integer(trace.track_of(1).tid, 7));
    CHECK(arg(trace, "bytes", 1) == "512");
    CHECK(arg(trace, "memory bandwidth (GB/s)", 1) == "0.36");
    CHECK(arg(trace, "kind", 2) == "\"Device\"");
    CHECK(trace.track_of(2).rank == 3);
    CHECK(arg(trace, "rank", 2) == "(none)");
    CHECK(trace.track_of(3).device == 2);
    CHECK(trace.track_of(3).stream == 9);
    CHECK(trace.track_of(3).rank == no_number);
    CHECK(trace.launch_fields(3).correlation == no_number);
    CHECK(trace.track_of(4).stream == -1);
    CHECK(trace.launch_fields(4).correlation == -5);
}

TEST_CASE("fields: annotations") {
    const Trace trace = read_events(
        R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 5, "tid": 6, "ts": 1, "dur": 9,
            "args": {"External id": 11, "Record function id": 2, "Ev Idx": 4, "finished": true, "scope": 7,
                     "Input Dims": [[8]]}},
           {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#3", "pid": 2, "tid": 7, "ts": 3, "dur": 5,
            "args": {"External id": 11}},
           {"ph": "X", "cat": "user_annotation", "name": "bare", "pid": 5, "tid": 6, "ts": 20, "dur": 9})");
    REQUIRE(trace.size() == 3);
    CHECK(trace.kind[0] == EventKind::user_annotation);
    CHECK(trace.op_fields(0).external_id == 11);
    CHECK(trace.op_fields(0).record_function_id == 2);
    CHECK(trace.op_fields(0).ev_idx == 4);
    CHECK(arg(trace, "scope") == "7");
    CHECK(arg(trace, "Input Dims") == "[[8]]");
    CHECK_FALSE(trace.track_of(0).on_device);
    CHECK(trace.kind[1] == EventKind::gpu_user_annotation);
    CHECK(trace.op_fields(1).external_id == 11);
    CHECK(trace.track_of(1).on_device);
    CHECK(trace.track_of(1).device == 2);
    CHECK(trace.track_of(1).stream == 7);
    CHECK(trace.op_fields(2).external_id == no_number);
}

TEST_CASE("fields: synchronisation, overhead and the recording span") {
    const Trace trace = read_events(
        R"j({"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 7, "ts": 1, "dur": 2,
            "args": {"wait_on_stream": 20, "stream": 7, "correlation": 55, "device": 0}},
           {"ph": "X", "cat": "overhead", "name": "Buffer Flush", "pid": -1, "tid": 0, "ts": 5, "dur": 2},
           {"ph": "X", "cat": "Trace", "ts": 0, "dur": 100, "pid": "Spans", "tid": "PyTorch Profiler",
            "name": "PyTorch Profiler (0)", "args": {"Op count": 12}})j");
    REQUIRE(trace.size() == 3);
    const EventId wait = named(trace, "Stream Wait Event");
    CHECK(trace.kind[wait] == EventKind::gpu_sync);
    CHECK(trace.launch_fields(wait).correlation == 55);
    CHECK(trace.track_of(wait).on_device);
    CHECK(trace.track_of(wait).stream == 7);
    CHECK(arg(trace, "wait_on_stream", wait) == "20");
    const EventId flush = named(trace, "Buffer Flush");
    CHECK(trace.kind[flush] == EventKind::overhead);
    CHECK(is_integer(trace.track_of(flush).pid, -1));
    const EventId span = named(trace, "PyTorch Profiler (0)");
    CHECK(span == 0);  // the earliest start, though last in the file
    CHECK(trace.file_index[span] == 2);
    CHECK(trace.kind[span] == EventKind::trace_span);
    CHECK(is_text(trace, trace.track_of(span).pid, "Spans"));
    CHECK(is_text(trace, trace.track_of(span).tid, "PyTorch Profiler"));
    CHECK(arg(trace, "Op count", span) == "12");
}

TEST_CASE("fields: unknown categories are kept as they are") {
    const Trace trace = read_events(
        R"({"ph": "X", "cat": "mtia_ccp", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": {"x": [1]}},
           {"ph": "X", "cat": "python_func", "name": "b", "pid": 1, "tid": 1, "ts": 2, "dur": 2},
           {"ph": "X", "name": "c", "pid": 1, "tid": 1, "ts": 3, "dur": 2},
           {"ph": "X", "cat": "", "name": "d", "pid": 1, "tid": 1, "ts": 4, "dur": 2},
           {"ph": "X", "cat": "CPU_OP", "name": "e", "pid": 1, "tid": 1, "ts": 5, "dur": 2})");
    REQUIRE(trace.size() == 5);
    for (EventId event = 0; event < 5; ++event) CHECK(trace.kind[event] == EventKind::other);
    CHECK(trace.text(trace.category[0]) == "mtia_ccp");
    CHECK(arg(trace, "x", 0) == "[1]");
    CHECK(trace.text(trace.category[1]) == "python_func");
    CHECK(trace.category[2] == StringId::empty);
    CHECK(trace.category[3] == StringId::empty);
    CHECK(trace.text(trace.category[4]) == "CPU_OP");
}

// design.md: "Unknown fields, categories and phases never stop the reader: they are kept or counted". An id
// is moved out of the arguments because it has a column; where the event's kind has none, it must stay an
// argument.
TEST_CASE("fields: ids without a column for them stay arguments") {
    const Trace trace = read_events(
        R"({"ph": "X", "cat": "hpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2,
            "args": {"correlation": 31, "External id": 32, "Ev Idx": 33, "Python id": 34, "Sequence number": 35}},
           {"ph": "X", "cat": "python_function", "name": "b", "pid": 1, "tid": 1, "ts": 2, "dur": 2,
            "args": {"Python id": 1, "External id": 36}},
           {"ph": "X", "cat": "overhead", "name": "c", "pid": 1, "tid": 1, "ts": 3, "dur": 2,
            "args": {"correlation": 37}})");
    REQUIRE(trace.size() == 3);
    CHECK(arg(trace, "correlation", 0) == "31");
    CHECK(arg(trace, "External id", 0) == "32");
    CHECK(arg(trace, "Ev Idx", 0) == "33");
    CHECK(arg(trace, "Python id", 0) == "34");
    CHECK(arg(trace, "Sequence number", 0) == "35");
    CHECK(arg(trace, "External id", 1) == "36");
    CHECK(arg(trace, "correlation", 2) == "37");
}

TEST_CASE("fields: equal arguments share a signature, ids do not matter") {
    const Trace trace = read_events(
        R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2,
            "args": {"External id": 1, "Input Dims": [[1, 2]], "x": "y"}},
           {"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, "ts": 2, "dur": 2,
            "args": {"Input Dims": [ [1,2] ], "Ev Idx": 7, "x": "y", "External id": 2}},
           {"ph": "X", "cat": "cpu_op", "name": "c", "pid": 1, "tid": 1, "ts": 3, "dur": 2,
            "args": {"Input Dims": [[1, 2]], "x": "z"}},
           {"ph": "X", "cat": "cpu_op", "name": "d", "pid": 1, "tid": 1, "ts": 4, "dur": 2,
            "args": {"x": "y", "Input Dims": [[1, 2]]}})");
    REQUIRE(trace.size() == 4);
    CHECK(trace.args[0] == trace.args[1]);
    CHECK(trace.args[0] != trace.args[2]);
    CHECK(trace.args[0] != trace.args[3]);  // order is part of a signature
    CHECK(trace.signatures[trace.args[0]].size() == 2);
}
