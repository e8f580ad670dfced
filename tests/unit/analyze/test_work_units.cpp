// GPU work in units that do not overlap (spec 02, sections 12.1, 12.2 and 22.2).

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "unit/analyze/perf_support.hpp"

using namespace tracelens;
using fixture::add_op;
using fixture::both_rules;
using fixture::check_units;
using fixture::dispatch_shapes;
using fixture::mm_shapes;
using fixture::PerfTrace;
using fixture::TraceFixture;
using fixture::units;
using fixture::us;

namespace {

/// A kernel that is launched by the last call; times in microseconds.
void called(TraceFixture& file, std::string_view call, std::string_view kernel, std::int64_t start,
            std::int64_t correlation) {
    file.call(call, us(start), us(start) + 1, correlation);
    file.kernel(kernel, us(start + 100), us(start + 110), correlation);
}

/// An op around `depth` runtime calls, the innermost of which launches.
TraceFixture nested_calls(int depth) {
    TraceFixture file;
    file.op("my::op", 0, us(50));
    for (int i = 1; i < depth; ++i) file.call("cudaLaunchKernel", i, us(50) - i);
    called(file, "cudaLaunchKernel", "k", 20, 1);
    return file;
}

}  // namespace

TEST_CASE("ops that launch nothing and kernels that nothing launched are no units") {
    const auto file = [] {
        TraceFixture made;
        mm_shapes(made).op("aten::mul", 0, us(1));
        made.op("my::op", us(2), us(3)).call("cudaLaunchKernel", us(2), us(2) + 1, 5);
        made.kernel("k", us(10), us(20));
        return made;
    };
    check_units(file, "");
}

TEST_CASE("a modelled op is one unit, whatever lies below it") {
    const auto file = [] {
        TraceFixture made;
        made.op("aten::conv2d", 0, us(50)).op("aten::convolution", 1, us(49));
        made.op("aten::mm", 2, us(48)).launched("k", us(110), us(120));
        return made;
    };
    check_units(file, "aten::convolution*");
}

TEST_CASE("an op without model is one when it launches without an op in between") {
    const auto file = [] {
        TraceFixture made;
        made.op("conv_bn_fused", 0, us(50)).op("execute", 1, us(49)).launched("k", us(110), us(120));
        return made;
    };
    check_units(file, "execute");
}

TEST_CASE("launches through other calls: up to ten levels") {
    check_units([] { return nested_calls(2); }, "my::op");
    check_units([] { return nested_calls(9); }, "my::op");
    check_units([] { return nested_calls(10); }, "my::op->k");
}

TEST_CASE("launches by the driver API: kernel by kernel in the reference") {
    const auto file = [] {
        TraceFixture made;
        made.op("my::op", 0, us(50)).driver_call("cuLaunchKernel", us(1), us(2), 1);
        made.kernel("k", us(100), us(110), 1);
        return made;
    };
    CHECK(units(file(), ClassRules::full) == "my::op");
    CHECK(units(file(), ClassRules::reference) == "my::op->k");
}

TEST_CASE("kernels without an op belong to their call, one unit each") {
    const auto file = [] {
        TraceFixture made;
        called(made, "cudaLaunchKernel", "orphan_k", 0, 1);
        made.call("cudaGraphLaunch", us(10), us(12), 2);
        made.kernel("g1", us(210), us(214), 2).kernel("g2", us(214), us(218), 2);
        return made;
    };
    check_units(file, "cudaLaunchKernel->orphan_k | cudaGraphLaunch->g1 | cudaGraphLaunch->g2");
}

TEST_CASE("an op's own kernels beside those of a modelled op below it") {
    const auto file = [] {
        TraceFixture made;
        made.op("my::parent", 0, us(50)).launched("own_k", us(101), us(109));
        made.op("aten::mm", us(20), us(40)).launched("gemm", us(125), us(135));
        return made;
    };
    check_units(file, "aten::mm* | my::parent->own_k");
}

TEST_CASE("an op around other launching ops is a unit, too, when it launches itself") {
    const auto file = [] {
        TraceFixture made;
        made.op("my::parent", 0, us(50)).launched("own_k", us(101), us(109));
        made.op("my::child", us(20), us(40)).launched("child_k", us(125), us(135));
        return made;
    };
    check_units(file, "my::parent");
}

TEST_CASE("leftovers: in file order, those without an op first and call by call") {
    const auto file = [] {
        TraceFixture made;
        made.op("my::parent", us(500), us(550)).launched("own_k", us(601), us(602));
        made.op("aten::mm", us(520), us(540)).launched("gemm", us(625), us(635));
        made.call("cudaGraphLaunch", us(10), us(12), 1).call("hipGraphLaunch", us(20), us(22), 2);
        made.kernel("late", us(350), us(351), 1).kernel("h", us(310), us(311), 2);
        made.kernel("early", us(300), us(301), 1);
        return made;
    };
    check_units(file,
                "aten::mm* | cudaGraphLaunch->late | cudaGraphLaunch->early | hipGraphLaunch->h | "
                "my::parent->own_k");
}

TEST_CASE("copies and fills are GPU work as kernels are") {
    const auto file = [] {
        TraceFixture made;
        made.call("cudaMemcpyAsync", us(1), us(2), 1).memcpy("Memcpy HtoD", us(100), us(110), 1);
        made.op("aten::zero_", us(10), us(20)).call("cudaMemsetAsync", us(11), us(12), 2);
        made.memset("Memset (Device)", us(120), us(130), 2);
        return made;
    };
    check_units(file, "aten::zero_ | cudaMemcpyAsync->Memcpy HtoD");
}

TEST_CASE("collectives are no units, nor leftovers; what is launched beside them is left over") {
    for (const std::string_view collective :
         {"ncclDevKernel_AllReduce", "RCCL_kernel", "void cross_device_reduce_1stage<bf16>"}) {
        const auto file = [&] {
            TraceFixture made;
            made.op("comm::op", 0, us(50)).launched(collective, us(110), us(120));
            made.launched("cast_k", us(120), us(125));
            made.launched(collective, us(200), us(210));
            return made;
        };
        check_units(file, "comm::op->cast_k");
    }
}

TEST_CASE("collectives inside of a modelled op belong to it") {
    const auto file = [] {
        TraceFixture made;
        dispatch_shapes(made).op("MoEDispatch", 0, us(50)).launched("ncclDevKernel", us(110), us(120));
        return made;
    };
    check_units(file, "MoEDispatch*");
}

TEST_CASE("collectives that the reference does not know") {
    TraceFixture file;
    file.op("comm::op", 0, us(50)).launched("nvshmem_put", us(110), us(120));
    TraceFixture same;
    same.op("comm::op", 0, us(50)).launched("nvshmem_put", us(110), us(120));
    CHECK(units(std::move(file), ClassRules::full) == "");
    CHECK(units(std::move(same), ClassRules::reference) == "comm::op");
}

TEST_CASE("the order of units is that of the tree, thread by thread as their ops start") {
    const auto file = [] {
        TraceFixture made;
        add_op(made, "c", 20, 1);
        made.on_thread(100, 2);
        add_op(made, "b", 10, 1);
        made.on_thread(100, 1);
        add_op(made, "a", 0, 1);
        return made;
    };
    check_units(file, "a | b | c");
}

TEST_CASE("modelled ops below calls are not seen from above") {
    const auto file = [] {
        TraceFixture made;
        made.op("my::op", 0, us(50)).call("cudaApi", 1, us(49)).op("aten::mm", 2, us(48));
        made.launched("k", us(110), us(120));
        return made;
    };
    check_units(file, "aten::mm->k");
    for (const ClassRules rules : both_rules)
        CHECK(units(file(), {.rules = rules, .python_frames = true}) == "aten::mm*");
}

TEST_CASE("Python frames are transparent") {
    const auto file = [] {
        TraceFixture made;
        made.frame("train.py(1): main", 0, us(90));
        made.op("my::op", 1, us(50)).frame("a.py(1): f", 2, us(49)).op("aten::mm", 3, us(48));
        made.launched("gemm", us(110), us(120));
        made.op("my::leaf", us(60), us(70)).frame("b.py(1): g", us(61), us(69));
        made.launched("k", us(162), us(165));
        return made;
    };
    for (const bool frames : {false, true}) {
        for (const ClassRules rules : both_rules) {
            CAPTURE(frames);
            CHECK(units(file(), {.rules = rules, .python_frames = frames}) == "aten::mm* | my::leaf");
        }
    }
}

TEST_CASE("with Python frames units follow the outermost frames in file order, then the other threads") {
    const auto file = [] {
        TraceFixture made;
        made.on_thread(100, 3);
        add_op(made, "without_frame", 1, 1);
        made.on_thread(100, 2).frame("late.py(1): f", us(20), us(30));
        add_op(made, "late", 21, 1);
        made.on_thread(100, 1).frame("early.py(1): f", us(10), us(15));
        add_op(made, "early", 11, 1);
        made.on_thread(100, 4).frame("idle.py(1): f", us(10), us(15)).op("nothing", us(11), us(12));
        return made;
    };
    for (const ClassRules rules : both_rules) {
        CHECK(units(file(), {.rules = rules, .python_frames = true}) == "late | early | without_frame");
        CHECK(units(file(), rules) == "without_frame | early | late");
    }
}

// What is modelled is decided by name alone (section 12.1). The outermost ops are visited all the same.
TEST_CASE("with Python frames the reference takes a frame of a modelled name for a unit") {
    TraceFixture file;
    dispatch_shapes(file).frame("MoEDispatch", 0, us(90));
    add_op(file, "my::op", 1, 10);
    CHECK(units(std::move(file), {.rules = ClassRules::reference, .python_frames = true}) ==
          "MoEDispatch* | my::op");
}

TEST_CASE("a call below a frame without an op is left over") {
    TraceFixture file;
    file.frame("main.py(1): main", 0, us(50)).launched("k", us(110), us(120));
    CHECK(units(std::move(file), {.python_frames = true}) == "cudaLaunchKernel->k");
}

TEST_CASE("compiled Triton kernels are modelled when their sizes are recorded") {
    const auto file = [](bool with_sizes) {
        TraceFixture made;
        if (with_sizes) bf16(made, "[[2048]]", 1, R"(["","2048"])");
        made.op("triton_poi_fused_add_0", 0, us(50)).launched("k", us(110), us(120));
        return made;
    };
    check_units([&] { return file(true); }, "triton_poi_fused_add_0*");
    check_units([&] { return file(false); }, "triton_poi_fused_add_0");
}

TEST_CASE("overlay nodes are units as events are") {
    TraceFixture file;
    mm_shapes(file).op("aten::mm", 0, us(1));
    file.op("my::op", us(10), us(50)).op("inner", us(11), us(49)).launched("k", us(120), us(130));
    PerfTrace trace(std::move(file));
    const NodeId mm = trace.node("aten::mm");
    const NodeId overlay = trace.tree.add_overlay({.name = trace.tree.name(mm), .args = trace.tree.args(mm)});
    trace.tree.insert_above(trace.node("inner"), overlay);
    trace.tree.refresh();
    REQUIRE(trace.units().size() == 1);
    CHECK(trace.units().front().node == overlay);
    CHECK(trace.units().front().has_model);
}

TEST_CASE("every kernel that is no collective is in exactly one unit") {
    constexpr std::string_view names[] = {"my::a", "aten::mm", "my::b", "execute", "my::c", "aten::add"};
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        fixture::Random random(seed);
        TraceFixture file;
        for (int tree = 0; tree < 5; ++tree) {
            std::int64_t begin = us(1000) * tree;
            std::int64_t end = begin + us(900);
            const std::int64_t depth = random.below(5);
            for (std::int64_t level = 0; level < depth; ++level) {
                file.op(names[random.below(6)], begin, end);
                if (random.below(2) == 0) file.launched("k", begin + us(101), begin + us(102));
                begin += us(10 + random.below(20));
                end -= us(10 + random.below(20));
            }
            file.launched(random.below(4) == 0 ? "nccl_k" : "k", begin + us(101), begin + us(102));
        }
        PerfTrace trace(std::move(file), both_rules[seed % 2]);
        std::vector<int> seen(trace.trace.size(), 0);
        for (const WorkUnit& unit : trace.units()) {
            if (unit.is_leftover()) ++seen[unit.kernel];
            if (unit.is_leftover()) continue;
            for (const EventId event : trace.tree.gpu_events(unit.node)) ++seen[event];
        }
        for (const EventId event : fixture::gpu_events(trace.trace)) {
            CAPTURE(seed);
            if (trace.trace.name_of(event) == "k") CHECK(seen[event] == 1);
            if (trace.trace.name_of(event) != "k") CHECK(seen[event] <= 1);
        }
    }
}
