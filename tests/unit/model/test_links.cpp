// Links between launches and GPU work, default rules (spec 11, section 7: "linking launches and GPU work").

#include <cstdint>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/model/links.hpp>

#include "unit/trace_fixture.hpp"

using namespace tracelens;
using fixture::event_named;
using fixture::TraceFixture;

namespace {

/// The name of the launch of a GPU event; empty when it has none.
std::string_view launch_name(const Trace& trace, const Links& links, std::string_view gpu_event) {
    const EventId launch = links.launch_of(event_named(trace, gpu_event));
    return launch == no_event ? std::string_view{} : trace.name_of(launch);
}

std::vector<std::string_view> names(const Trace& trace, std::span<const EventId> events) {
    std::vector<std::string_view> result;
    for (const EventId event : events) result.push_back(trace.name_of(event));
    return result;
}

using Names = std::vector<std::string_view>;

}  // namespace

TEST_CASE("an empty trace has no links") {
    const Trace trace;
    const Links links = link_launches(trace);
    CHECK(links.size() == 0);
    CHECK(links.calls().empty());
    CHECK(links.launch_of(0) == no_event);
    CHECK(links.launched_by(0).empty());
}

TEST_CASE("equal correlation ids link kernels, copies and fills to runtime and driver calls") {
    TraceFixture file;
    file.op("op", 0, 100).call("cudaLaunchKernel", 10, 12, 1).driver_call("cuLaunchKernelEx", 20, 22, 2);
    file.call("cudaMemcpyAsync", 30, 32, 3).call("cudaMemsetAsync", 40, 42, 4).call("cudaFree", 50, 52, 5);
    file.kernel("k1", 200, 210, 1)
        .kernel("k2", 210, 220, 2)
        .memcpy("copy", 220, 230, 3)
        .memset("fill", 230, 240, 4);
    const Trace trace = file.finish();
    const Links links = link_launches(trace);
    CHECK(launch_name(trace, links, "k1") == "cudaLaunchKernel");
    CHECK(launch_name(trace, links, "k2") == "cuLaunchKernelEx");
    CHECK(launch_name(trace, links, "copy") == "cudaMemcpyAsync");
    CHECK(launch_name(trace, links, "fill") == "cudaMemsetAsync");
    CHECK(links.size() == 4);
    CHECK(names(trace, links.calls()) ==
          Names{"cudaLaunchKernel", "cuLaunchKernelEx", "cudaMemcpyAsync", "cudaMemsetAsync"});
    CHECK(links.launched_by(event_named(trace, "cudaFree")).empty());
    CHECK(links.launched_by(event_named(trace, "op")).empty());
    CHECK(links.launched_by(event_named(trace, "k1")).empty());
    CHECK(links.launch_of(event_named(trace, "cudaLaunchKernel")) == no_event);
    CHECK(links.launch_of(event_named(trace, "op")) == no_event);
}

TEST_CASE("a call has all GPU events of its id, in the file's order") {
    TraceFixture file;
    file.call("other", 0, 1, 8).call("hipGraphLaunch", 10, 20, 9);
    file.kernel("c", 300, 310, 9).kernel("a", 100, 110, 9).kernel("b", 200, 210, 9).kernel("d", 50, 60, 8);
    const Trace trace = file.finish();
    const Links links = link_launches(trace);
    CHECK(names(trace, links.launched_by(event_named(trace, "hipGraphLaunch"))) == Names{"c", "a", "b"});
    CHECK(names(trace, links.launched_by(event_named(trace, "other"))) == Names{"d"});
    CHECK(links.calls().size() == 2);
    CHECK(links.size() == 4);
}

TEST_CASE("annotations and synchronisation on a device are no GPU work") {
    TraceFixture file;
    file.call("cudaLaunchKernel", 0, 1, 3).gpu(EventKind::gpu_sync, "Stream Sync", 5, 9, 3);
    file.gpu(EventKind::gpu_user_annotation, "step", 5, 9, 3);
    const Trace trace = file.finish();
    CHECK(link_launches(trace).size() == 0);
}

TEST_CASE("an id without a call, or a call without GPU work, links nothing") {
    TraceFixture file;
    file.call("cudaLaunchKernel", 0, 1, 3).kernel("k", 5, 9, 4);
    const Trace trace = file.finish();
    const Links links = link_launches(trace);
    CHECK(launch_name(trace, links, "k") == "");
    CHECK(links.size() == 0);
    CHECK(links.calls().empty());
}

TEST_CASE("a correlation of 0 or less, or none, is no id") {
    for (const std::int64_t id : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{-5}, no_number}) {
        CAPTURE(id);
        TraceFixture file;
        file.call("cudaLaunchKernel", 0, 1, id).kernel("k", 5, 9, id);
        const Trace trace = file.finish();
        CHECK(link_launches(trace).size() == 0);
    }
}

TEST_CASE("of several candidates the nearest earlier launch counts") {
    TraceFixture file;
    file.call("early", 0, 1, 5).call("late", 100, 101, 5).call("very late", 200, 201, 5);
    file.kernel("between", 50, 60, 5).kernel("same time", 100, 110, 5).kernel("after all", 300, 310, 5);
    const Trace trace = file.finish();
    const Links links = link_launches(trace);
    CHECK(launch_name(trace, links, "between") == "early");
    CHECK(launch_name(trace, links, "same time") == "late");
    CHECK(launch_name(trace, links, "after all") == "very late");
}

TEST_CASE("where all candidates are later, the first of them counts") {
    TraceFixture file;
    file.kernel("k", 0, 10, 5).call("second", 200, 201, 5).call("first", 100, 101, 5);
    const Trace trace = file.finish();
    CHECK(launch_name(trace, link_launches(trace), "k") == "first");
}

TEST_CASE("one launch reported as two nested calls: a kernel has one of them") {
    // Field case 14: duplicate flow starts.
    TraceFixture file;
    file.call("outer", 0, 20, 5)
        .call("inner", 2, 18, 5)
        .flow_start(5, 0)
        .flow_start(5, 2)
        .kernel("k", 30, 40, 5);
    const Trace trace = file.finish();
    const Links links = link_launches(trace);
    CHECK(links.size() == 1);
    CHECK(launch_name(trace, links, "k") == "inner");
}

TEST_CASE("ids are matched within one rank") {
    TraceFixture file;
    SUBCASE("each rank has the id") {
        file.on_thread(1, 1, 0).on_stream(0, 7, 0).call("call 0", 0, 1, 5).kernel("k 0", 100, 110, 5);
        file.on_thread(2, 2, 1).on_stream(1, 7, 1).call("call 1", 50, 51, 5).kernel("k 1", 100, 110, 5);
        const Trace trace = file.finish();
        const Links links = link_launches(trace);
        CHECK(launch_name(trace, links, "k 0") == "call 0");
        CHECK(launch_name(trace, links, "k 1") == "call 1");
    }
    SUBCASE("also with the same process and device in both") {
        file.on_thread(1, 1, 0).on_stream(0, 7, 0).call("call 0", 0, 1, 5).kernel("k 0", 100, 110, 5);
        file.on_thread(1, 1, 1).on_stream(0, 7, 1).call("call 1", 50, 51, 5).kernel("k 1", 100, 110, 5);
        const Trace trace = file.finish();
        const Links links = link_launches(trace);
        CHECK(launch_name(trace, links, "k 0") == "call 0");
        CHECK(launch_name(trace, links, "k 1") == "call 1");
    }
    SUBCASE("the only call belongs to another rank: nothing is matched across ranks") {
        file.on_thread(1, 1, 0).call("call 0", 0, 1, 5).on_stream(1, 7, 1).kernel("k 1", 100, 110, 5);
        const Trace trace = file.finish();
        CHECK(launch_name(trace, link_launches(trace), "k 1") == "");
    }
    SUBCASE("several calls, all of another rank") {
        file.on_thread(1, 1, 0).call("call 0", 0, 1, 5).call("again", 10, 11, 5);
        file.on_stream(1, 7, 1).kernel("k 1", 100, 110, 5);
        const Trace trace = file.finish();
        CHECK(launch_name(trace, link_launches(trace), "k 1") == "");
    }
    SUBCASE("calls that tell no rank are candidates") {
        file.on_thread(1, 1).call("call", 0, 1, 5).on_stream(1, 7, 1).kernel("k 1", 100, 110, 5);
        const Trace trace = file.finish();
        CHECK(launch_name(trace, link_launches(trace), "k 1") == "call");
    }
}

TEST_CASE("without ranks the process that a device is linked to most often by unambiguous ids wins") {
    // Process 11 launches on device 1, process 10 on device 0; the file holds the GPU events far from their
    // calls.
    TraceFixture file;
    file.on_thread(10, 1).call("a", 0, 1, 1).call("a only", 1, 2, 2);
    file.on_thread(11, 1).call("b", 5, 6, 1).call("b only", 6, 7, 3).call("b also", 7, 8, 4);
    file.on_stream(1, 7).kernel("k1", 100, 110, 1).kernel("k2", 110, 120, 3).kernel("k3", 120, 130, 4);
    file.on_stream(0, 7).kernel("k4", 100, 110, 1).kernel("k5", 110, 120, 2);
    const Trace trace = file.finish();
    const Links links = link_launches(trace);
    CHECK(launch_name(trace, links, "k1") == "b");
    CHECK(launch_name(trace, links, "k4") == "a");
    CHECK(launch_name(trace, links, "k2") == "b only");
    CHECK(launch_name(trace, links, "k5") == "a only");
}

TEST_CASE("one unambiguous id more decides the vote") {
    TraceFixture file;
    file.on_thread(10, 1).call("a", 0, 1, 1).call("a2", 1, 2, 2);
    file.on_thread(11, 1).call("b", 5, 6, 1).call("b2", 6, 7, 3).call("b3", 7, 8, 4);
    file.on_stream(0, 7).kernel("k", 100, 110, 1).kernel("x", 110, 120, 2).kernel("y", 120, 130, 3);
    SUBCASE("for the second process") {
        file.kernel("z", 130, 140, 4);
        const Trace trace = file.finish();
        CHECK(launch_name(trace, link_launches(trace), "k") == "b");
    }
    SUBCASE("for the first process") {
        file.on_thread(10, 1).call("a4", 8, 9, 9).kernel("z", 130, 140, 9);
        const Trace trace = file.finish();
        CHECK(launch_name(trace, link_launches(trace), "k") == "a");
    }
}

TEST_CASE("the winner's nearest earlier launch counts, other processes' later ones do not") {
    TraceFixture file;
    file.on_thread(10, 1)
        .call("a1", 0, 1, 1)
        .call("a2", 40, 41, 1)
        .call("a3", 200, 201, 1)
        .call("sure", 50, 51, 2);
    file.on_thread(11, 1).call("b", 90, 91, 1);
    file.on_stream(0, 7).kernel("k", 100, 110, 1).kernel("only a", 110, 120, 2);
    const Trace trace = file.finish();
    CHECK(launch_name(trace, link_launches(trace), "k") == "a2");
}

TEST_CASE("a process that has no call of the id leaves it to the others") {
    TraceFixture file;
    file.on_thread(10, 1).call("a", 0, 1, 1).on_thread(11, 1).call("b", 5, 6, 1);
    file.on_thread(12, 1)
        .call("c", 7, 8, 2)
        .on_stream(0, 7)
        .kernel("k", 100, 110, 1)
        .kernel("sure", 110, 120, 2);
    const Trace trace = file.finish();
    CHECK(launch_name(trace, link_launches(trace), "k") == "b");
    CHECK(launch_name(trace, link_launches(trace), "sure") == "c");
}

TEST_CASE("where no id is unambiguous, files that hold one rank after the other decide") {
    // Field case 10b: each rank with its own host pid and device pid.
    TraceFixture file;
    file.on_thread(10, 1).on_stream(0, 7).call("a1", 0, 1, 1).call("a2", 10, 11, 2);
    file.kernel("k a1", 100, 110, 1).kernel("k a2", 110, 120, 2);
    file.on_thread(11, 1).on_stream(1, 7).call("b1", 5, 6, 1).call("b2", 15, 16, 2);
    file.kernel("k b1", 100, 110, 1).kernel("k b2", 110, 120, 2);
    const Trace trace = file.finish();
    const Links links = link_launches(trace);
    CHECK(launch_name(trace, links, "k a1") == "a1");
    CHECK(launch_name(trace, links, "k a2") == "a2");
    CHECK(launch_name(trace, links, "k b1") == "b1");
    CHECK(launch_name(trace, links, "k b2") == "b2");
}

// Spec 11, section 7, word by word and one event at a time.
namespace {

EventId expected_launch(const Trace& trace, EventId event, std::int64_t process_of_device) {
    const std::int64_t id = trace.launch_fields(event).correlation;
    const auto is_candidate = [&](EventId call) {
        return trace.kind[call] == EventKind::runtime && trace.launch_fields(call).correlation == id;
    };
    const auto nearest = [&](std::int64_t process) {
        EventId best = no_event;
        for (EventId call = 0; call < trace.size(); ++call) {
            if (!is_candidate(call) || (process != no_number && trace.track_of(call).pid.value != process))
                continue;
            if (best == no_event || trace.start[call] <= trace.start[event]) best = call;
        }
        return best;
    };
    const EventId own = nearest(process_of_device);
    return own != no_event ? own : nearest(no_number);
}

}  // namespace

TEST_CASE("many calls and kernels that share a few ids link as one by one") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        fixture::Random random(seed);
        const std::int64_t processes = 1 + random.below(3);
        TraceFixture file;
        // Ids that one process alone uses settle which process launches on which device.
        for (std::int64_t device = 0; device < processes; ++device) {
            for (int i = 0; i < 100; ++i) {
                const std::int64_t id = 1000 * (device + 1) + i;
                file.on_thread(100 + device, 1).call("settle", i, i + 1, id);
                file.on_stream(device, 7).kernel("settled", 500, 501, id);
            }
        }
        for (int i = 0; i < 80; ++i) {
            const std::int64_t start = random.below(60);
            const std::int64_t id = 1 + random.below(3);
            const std::int64_t process = random.below(processes);
            if (random.below(2) == 0)
                file.on_thread(100 + process, 1).call("call", start, start + 1, id);
            else
                file.on_stream(process, 7).kernel("kernel", start, start + 1, id);
        }
        const Trace trace = file.finish();
        const Links links = link_launches(trace);
        for (EventId event = 0; event < trace.size(); ++event) {
            if (trace.name_of(event) != "kernel") continue;
            REQUIRE(links.launch_of(event) ==
                    expected_launch(trace, event, 100 + trace.track_of(event).device));
        }
    }
}

TEST_CASE("of several flows to one place the last one counts") {
    TraceFixture file;
    file.call("first", 10, 11).call("second", 20, 21);
    file.flow_start(1, 10).flow_start(2, 20);
    file.kernel("k1", 100, 110).kernel("k2", 100, 110);
    file.flow_finish(1, 100).flow_finish(2, 100).flow_finish(3, 100);
    const Trace trace = file.finish();
    const Links links = link_launches(trace);
    CHECK(launch_name(trace, links, "k1") == "second");
    CHECK(launch_name(trace, links, "k2") == "second");
}

TEST_CASE("flows link GPU work that has no id") {
    for (const std::string_view category : {"ac2g", "cpu_to_cuda", "async_cpu_to_gpu"}) {
        CAPTURE(category);
        TraceFixture file;
        file.op("op", 0, 50).call("cudaLaunchKernel", 10, 20).flow_start(7, 10, category);
        file.kernel("k", 100, 110).flow_finish(7, 100, category).kernel("alone", 200, 210);
        const Trace trace = file.finish();
        const Links links = link_launches(trace);
        CHECK(launch_name(trace, links, "k") == "cudaLaunchKernel");
        CHECK(launch_name(trace, links, "alone") == "");
    }
}

TEST_CASE("a trace whose calls have no correlation at all is linked by External id") {
    const auto write = [](TraceFixture& file) {
        file.with_external_id(42).op("op", 0, 50);
        file.with_external_id(42).call("copy call", 10, 20).with_external_id(43).call("fill call", 30, 40, 0);
        file.with_external_id(42).memcpy("copy", 100, 110, 900).with_external_id(43).memset("fill", 110, 120);
        file.with_external_id(0).kernel("zero", 120, 130).with_external_id(44).kernel("other", 130, 140);
    };
    SUBCASE("no call has one") {
        TraceFixture file;
        write(file);
        const Trace trace = file.finish();
        const Links links = link_launches(trace);
        CHECK(launch_name(trace, links, "copy") == "copy call");
        CHECK(launch_name(trace, links, "fill") == "fill call");
        CHECK(links.size() == 2);
    }
    SUBCASE("one call has one") {
        TraceFixture file;
        write(file);
        file.call("cudaLaunchKernel", 60, 61, 7);
        const Trace trace = file.finish();
        CHECK(link_launches(trace).size() == 0);
    }
}

TEST_CASE("flows link where only one side has no id") {
    TraceFixture file;
    file.call("cudaLaunchKernel", 0, 5, 1).kernel("linked by id", 90, 100, 1);
    SUBCASE("the kernel") {
        file.call("call", 10, 20, 7).flow_start(7, 10).kernel("k", 100, 110).flow_finish(7, 100);
    }
    SUBCASE("the call") {
        file.call("call", 10, 20).flow_start(7, 10).kernel("k", 100, 110, 7).flow_finish(7, 100);
    }
    const Trace trace = file.finish();
    CHECK(launch_name(trace, link_launches(trace), "k") == "call");
}

TEST_CASE("in traces without runtime calls a flow links to the op it starts at") {
    TraceFixture file;
    file.op("outer", 0, 90).op("aten::mm", 10, 50).flow_start(7, 10, "cpu_to_cuda");
    file.kernel("k", 100, 110).flow_finish(7, 100, "cpu_to_cuda");
    const Trace trace = file.finish();
    const Links links = link_launches(trace);
    CHECK(launch_name(trace, links, "k") == "aten::mm");
    CHECK(names(trace, links.launched_by(event_named(trace, "aten::mm"))) == Names{"k"});
}

TEST_CASE("flows need both ends, a launch category, and the place of an event") {
    TraceFixture file;
    file.call("call", 10, 20);
    SUBCASE("no start") {
        file.kernel("k", 100, 110).flow_finish(7, 100);
    }
    SUBCASE("no finish") {
        file.kernel("k", 100, 110).flow_start(7, 10);
    }
    SUBCASE("other ids") {
        file.kernel("k", 100, 110).flow_start(8, 10).flow_finish(7, 100);
    }
    SUBCASE("forward-backward flows are no launches") {
        file.kernel("k", 100, 110).flow_start(7, 10, "fwdbwd").flow_finish(7, 100, "fwdbwd");
    }
    SUBCASE("start beside the call") {
        file.kernel("k", 100, 110).flow_start(7, 11).flow_finish(7, 100);
    }
    SUBCASE("start on another thread") {
        file.on_thread(100, 2).kernel("k", 100, 110).flow_start(7, 10).flow_finish(7, 100);
    }
    SUBCASE("finish on another stream") {
        file.on_stream(0, 8).kernel("k", 100, 110).on_stream(0, 7).flow_start(7, 10).flow_finish(7, 100);
    }
    const Trace trace = file.finish();
    CHECK(launch_name(trace, link_launches(trace), "k") == "");
}

TEST_CASE("ids go before flows") {
    TraceFixture file;
    file.call("by id", 0, 5, 3).call("by flow", 10, 20, 4).flow_start(3, 10);
    file.kernel("k", 100, 110, 3).flow_finish(3, 100);
    const Trace trace = file.finish();
    CHECK(launch_name(trace, link_launches(trace), "k") == "by id");
}

TEST_CASE("flows are not matched across ranks") {
    // Merged ranks without correlation ids whose flow ids start at the same number.
    TraceFixture file;
    file.on_thread(1, 1, 0).on_stream(0, 7, 0).call("call 0", 10, 20).flow_start(7, 10);
    file.kernel("k 0", 100, 110).flow_finish(7, 100);
    file.on_thread(2, 2, 1).on_stream(1, 7, 1).call("call 1", 30, 40).flow_start(7, 30);
    file.kernel("k 1", 100, 110).flow_finish(7, 100);
    const Trace trace = file.finish();
    const Links links = link_launches(trace);
    CHECK(launch_name(trace, links, "k 0") == "call 0");
    CHECK(launch_name(trace, links, "k 1") == "call 1");
}

TEST_CASE("Links::from keeps what it is given") {
    TraceFixture file;
    file.call("a", 0, 1).call("b", 2, 3).kernel("k2", 20, 30).kernel("k1", 10, 15).kernel("none", 40, 50);
    const Trace trace = file.finish();
    std::vector<EventId> launch(trace.size(), no_event);
    launch[event_named(trace, "k1")] = launch[event_named(trace, "k2")] = event_named(trace, "b");
    const Links links = Links::from(trace, launch);
    CHECK(names(trace, links.calls()) == Names{"b"});
    CHECK(names(trace, links.launched_by(event_named(trace, "b"))) == Names{"k2", "k1"});
    CHECK(links.launched_by(event_named(trace, "a")).empty());
    CHECK(links.launch_of(event_named(trace, "none")) == no_event);
    CHECK(links.launch_of(1000) == no_event);
}
