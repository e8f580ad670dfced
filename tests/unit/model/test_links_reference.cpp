// Links as the reference makes them (spec 01, sections 5.3, 5.5 and 7).

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

struct Linked {
    Trace trace;
    Links links;

    explicit Linked(TraceFixture& file)
        : trace(file.finish()), links(link_launches(trace, LinkRule::reference_flows)) {}

    std::string_view launch(std::string_view gpu_event) const {
        const EventId call = links.launch_of(event_named(trace, gpu_event));
        return call == no_event ? std::string_view{} : trace.name_of(call);
    }
};

}  // namespace

TEST_CASE("a launch with correlation: the linking key is correlation") {
    TraceFixture file;
    // By External id the kernels would be swapped.
    file.with_external_id(2).call("cudaLaunchKernel", 0, 1, 1).flow_start(1, 0);
    file.with_external_id(1).call("cudaMemcpyAsync", 10, 11, 2).flow_start(2, 10);
    file.with_external_id(1).kernel("k", 20, 30, 1).flow_finish(1, 20);
    file.with_external_id(2).memcpy("copy", 30, 40, 2).flow_finish(2, 30);
    const Linked linked(file);
    CHECK(linked.launch("k") == "cudaLaunchKernel");
    CHECK(linked.launch("copy") == "cudaMemcpyAsync");
}

TEST_CASE("only copies linked by External id: copies and fills are attached to their call") {
    // No runtime event whose name contains "launch": the linking key is External id.
    TraceFixture file;
    file.with_external_id(42).op("op", 0, 50);
    file.with_external_id(42).call("cudaMemcpyAsync", 10, 20, 900).flow_start(42, 10);
    file.with_external_id(43).call("cudaMemsetAsync", 30, 40, 901).flow_start(43, 30);
    file.with_external_id(42).memcpy("copy", 100, 110, 900).flow_finish(42, 100);
    file.with_external_id(43).memset("fill", 110, 120, 901).flow_finish(43, 110);
    const Linked linked(file);
    CHECK(linked.launch("copy") == "cudaMemcpyAsync");
    CHECK(linked.launch("fill") == "cudaMemsetAsync");
}

TEST_CASE("a first launch without correlation: the linking key is External id") {
    TraceFixture file;
    file.with_external_id(5).call("hipLaunchKernel", 0, 1).flow_start(5, 0);
    file.with_external_id(6).call("hipModuleLaunchKernel", 10, 11, 7).flow_start(6, 10);
    file.with_external_id(5).kernel("k5", 20, 30, 7).flow_finish(5, 20);
    file.with_external_id(6).kernel("k6", 30, 40, 8).flow_finish(6, 30);
    const Linked linked(file);
    CHECK(linked.launch("k5") == "hipLaunchKernel");
    CHECK(linked.launch("k6") == "hipModuleLaunchKernel");
}

TEST_CASE("the first launch is the first in the file, in any case of letters, of either runtime category") {
    SUBCASE("file order, not time") {
        TraceFixture file;
        file.call("hipLaunchKernel", 50, 51, 3).flow_start(3, 50);  // first in the file: correlation
        file.with_external_id(3)
            .call("cudaLaunchKernel", 0, 1)
            .flow_start(4, 0);  // earlier, without correlation
        file.kernel("k", 60, 70, 3).flow_finish(3, 60);
        CHECK(Linked(file).launch("k") == "hipLaunchKernel");
    }
    SUBCASE("driver calls and upper case count") {
        TraceFixture file;
        file.driver_call("CULAUNCHKERNEL", 0, 1, 3)
            .flow_start(3, 0)
            .kernel("k", 60, 70, 3)
            .flow_finish(3, 60);
        CHECK(Linked(file).launch("k") == "CULAUNCHKERNEL");
    }
    SUBCASE("ops do not count") {
        TraceFixture file;
        file.op("launch", 0, 90).call("cudaMemcpyAsync", 10, 11, 3).flow_start(3, 10);
        file.memcpy("copy", 60, 70, 3).flow_finish(3, 60);
        CHECK(Linked(file).launch("copy") == "");  // External id is the key, and there is none
    }
}

TEST_CASE("a launch needs both a start and a finish flow") {
    TraceFixture file;
    file.call("cudaLaunchKernel", 0, 1, 1);
    SUBCASE("no flow") {
        file.kernel("k", 20, 30, 1);
    }
    SUBCASE("start only") {
        file.flow_start(1, 0).kernel("k", 20, 30, 1);
    }
    SUBCASE("finish only, as for memsets on AMD") {
        file.kernel("k", 20, 30, 1).flow_finish(1, 20);
    }
    SUBCASE("other flow categories") {
        file.flow_start(1, 0, "cpu_to_cuda").kernel("k", 20, 30, 1).flow_finish(1, 20, "cpu_to_cuda");
    }
    CHECK(Linked(file).launch("k") == "");
}

TEST_CASE("a memset without start flow stays unlinked, by default it is linked") {
    // Spec 01, section 7: on AMD there is one finish on the host and one on the GPU.
    TraceFixture file;
    file.call("hipLaunchKernel", 0, 1, 1).flow_start(1, 0).kernel("k", 20, 30, 1).flow_finish(1, 20);
    file.call("hipMemsetAsync", 5, 6, 2)
        .flow_finish_on_host(2, 5)
        .memset("fill", 30, 40, 2)
        .flow_finish(2, 30);
    const Linked linked(file);
    CHECK(linked.launch("k") == "hipLaunchKernel");
    CHECK(linked.launch("fill") == "");
    const Links by_default = link_launches(linked.trace);
    CHECK(by_default.launch_of(event_named(linked.trace, "fill")) ==
          event_named(linked.trace, "hipMemsetAsync"));
}

TEST_CASE("the event of a finish is found by process, thread and id; its time does not matter") {
    TraceFixture file;
    SUBCASE("another time") {
        file.call("cudaLaunchKernel", 0, 1, 1).flow_start(1, 0).kernel("k", 20, 30, 1).flow_finish(1, 25);
        CHECK(Linked(file).launch("k") == "cudaLaunchKernel");
    }
    SUBCASE("another stream") {
        file.call("cudaLaunchKernel", 0, 1, 1).flow_start(1, 0).kernel("k", 20, 30, 1);
        file.on_stream(0, 8).flow_finish(1, 20);
        CHECK(Linked(file).launch("k") == "");
    }
    SUBCASE("another device") {
        file.call("cudaLaunchKernel", 0, 1, 1).flow_start(1, 0).kernel("k", 20, 30, 1);
        file.on_stream(1, 7).flow_finish(1, 20);
        CHECK(Linked(file).launch("k") == "");
    }
}

TEST_CASE("of several finishes the last in the file counts") {
    SUBCASE("the last one is on the GPU") {
        TraceFixture file;
        file.call("cudaLaunchKernel", 0, 1, 1).flow_start(1, 0).flow_finish_on_host(1, 0);
        file.kernel("k", 20, 30, 1).flow_finish(1, 20);
        CHECK(Linked(file).launch("k") == "cudaLaunchKernel");
    }
    SUBCASE("the last one is on the host") {
        TraceFixture file;
        file.call("cudaLaunchKernel", 0, 1, 1).flow_start(1, 0).kernel("k", 20, 30, 1).flow_finish(1, 20);
        file.flow_finish_on_host(1, 0);
        CHECK(Linked(file).launch("k") == "");
    }
}

TEST_CASE("of several events of one place and id the last in the file counts") {
    TraceFixture file;
    file.call("cudaLaunchKernel", 0, 1, 1).flow_start(1, 0);
    file.kernel("second in time", 50, 60, 1).kernel("last in the file", 20, 30, 1).flow_finish(1, 20);
    const Linked linked(file);
    CHECK(linked.launch("second in time") == "");
    CHECK(linked.launch("last in the file") == "cudaLaunchKernel");
    CHECK(linked.links.size() == 1);
}

TEST_CASE("of several calls of one id the last in the file has the GPU event") {
    TraceFixture file;
    file.call("cudaLaunchKernel first", 10, 11, 1).call("cudaLaunchKernel last", 0, 1, 1).flow_start(1, 0);
    file.kernel("k", 20, 30, 1).flow_finish(1, 20);
    CHECK(Linked(file).launch("k") == "cudaLaunchKernel last");
}

TEST_CASE("graph launches have all GPU events of their id, without any flow") {
    for (const char* name : {"cudaGraphLaunch", "hipGraphLaunch"}) {
        CAPTURE(name);
        TraceFixture file;
        file.call(name, 0, 1, 1).kernel("a", 20, 30, 1).on_stream(0, 8).memset("b", 20, 30, 1);
        file.on_stream(1, 7).kernel("c", 40, 50, 1).kernel("other", 60, 70, 2);
        const Linked linked(file);
        CHECK(linked.launch("a") == name);
        CHECK(linked.launch("b") == name);
        CHECK(linked.launch("c") == name);
        CHECK(linked.launch("other") == "");
        const auto launched = linked.links.launched_by(event_named(linked.trace, name));
        CHECK(launched.size() == 3);
    }
}

TEST_CASE("other graph launch names follow the flow and have one kernel at most") {
    TraceFixture file;
    file.call("hipGraphLaunch_spt", 0, 1, 1).flow_start(1, 0);
    file.kernel("a", 20, 30, 1).flow_finish(1, 20).kernel("b", 30, 40, 1).flow_finish(1, 30);
    const Linked linked(file);
    CHECK(linked.launch("a") == "");
    CHECK(linked.launch("b") == "hipGraphLaunch_spt");
    CHECK(link_launches(linked.trace).size() == 2);  // the default rules take all
}

TEST_CASE("a correlation of 0 is an id like any other") {
    TraceFixture file;
    file.call("cudaLaunchKernel", 0, 1, 0).flow_start(0, 0).kernel("k", 20, 30, 0).flow_finish(0, 20);
    CHECK(Linked(file).launch("k") == "cudaLaunchKernel");
}

TEST_CASE("ids are not scoped by rank") {
    TraceFixture file;
    file.on_thread(1, 1, 0).call("cudaGraphLaunch", 0, 1, 1).on_stream(0, 7, 1).kernel("k", 20, 30, 1);
    CHECK(Linked(file).launch("k") == "cudaGraphLaunch");
}

TEST_CASE("with External id as the key, an annotation of the same place and id takes the kernel's place") {
    // Section 5.5, step 5: by_pid_tid_link holds every event with args, and later ones overwrite.
    TraceFixture file;
    file.with_external_id(9).call("cudaMemcpyAsync", 0, 1).flow_start(9, 0);
    file.with_external_id(9).memcpy("copy", 20, 30).flow_finish(9, 20);
    file.with_external_id(9).gpu(EventKind::gpu_user_annotation, "step", 15, 40);
    CHECK(Linked(file).launch("copy") == "");
}

TEST_CASE("without runtime calls there are no links") {
    TraceFixture file;
    file.op("op", 0, 50).flow_start(7, 0).kernel("k", 100, 110, 7).flow_finish(7, 100);
    CHECK(Linked(file).links.size() == 0);
}
