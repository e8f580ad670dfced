// The call tree: nesting rules, roots, GPU work below calls (spec 01, sections 6 and 7).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/model/call_tree.hpp>

#include "unit/trace_fixture.hpp"

using namespace tracelens;
using fixture::event_named;
using fixture::TraceFixture;
using fixture::us;

namespace {

using Names = std::vector<std::string_view>;

constexpr CallTreeOptions with_frames{.python_frames = true, .overrun = OverrunRule::clip};
constexpr CallTreeOptions drop{.python_frames = false, .overrun = OverrunRule::drop};
constexpr CallTreeOptions drop_with_frames{.python_frames = true, .overrun = OverrunRule::drop};

/// A trace with its tree; looks nodes up by name.
struct Grown {
    Trace trace;
    Links links;
    CallTree tree;

    explicit Grown(TraceFixture& file, const CallTreeOptions& options = {})
        : trace(file.finish()), links(link_launches(trace)), tree(trace, links, options) {}
    Grown(const Grown&) = delete;

    NodeId node(std::string_view name) const { return event_named(trace, name); }
    std::string_view parent(std::string_view name) const {
        const NodeId above = tree.parent(node(name));
        return above == no_node ? std::string_view{} : tree.name_text(above);
    }
    Names children(std::string_view name) const {
        Names result;
        for (NodeId at = tree.first_child(node(name)); at != no_node; at = tree.next_sibling(at)) {
            result.push_back(tree.name_text(at));
        }
        return result;
    }
    Names roots() const { return names(tree.roots()); }
    Names cpu_roots() const { return names(tree.cpu_roots()); }
    Names gpu_events(std::string_view name) const { return names(tree.gpu_events(node(name))); }
    Names names(std::span<const NodeId> nodes) const {
        Names result;
        for (const NodeId each : nodes) result.push_back(tree.name_text(each));
        return result;
    }
};

}  // namespace

TEST_CASE("an empty trace gives an empty tree") {
    const Trace trace;
    const CallTree tree(trace, link_launches(trace));
    CHECK(tree.node_count() == 0);
    CHECK(tree.roots().empty());
    CHECK(tree.cpu_roots().empty());
    CHECK(tree.dropped_count() == 0);
}

TEST_CASE("op [0,200], op [10,60]: the second is a child of the first") {
    for (const CallTreeOptions& options : {CallTreeOptions{}, drop}) {
        TraceFixture file;
        file.op("outer", 0, us(200)).op("inner", us(10), us(60));
        const Grown grown(file, options);
        CHECK(grown.parent("inner") == "outer");
        CHECK(grown.children("outer") == Names{"inner"});
        CHECK(grown.roots() == Names{"outer"});
        CHECK(grown.cpu_roots() == Names{"outer"});
    }
}

TEST_CASE("only ops, runtime calls and, when asked for, Python frames are host calls") {
    const auto write = [](TraceFixture& file) {
        file.annotation("annotation", 0, us(100)).frame("frame", us(1), us(90)).op("op", us(2), us(80));
        file.call("runtime", us(3), us(10)).driver_call("driver", us(20), us(30));
        file.add(EventKind::overhead, "overhead", us(40), us(50))
            .add(EventKind::other, "other", us(60), us(70));
    };
    SUBCASE("without frames") {
        TraceFixture file;
        write(file);
        const Grown grown(file);
        CHECK(grown.children("op") == Names{"runtime", "driver"});
        CHECK(grown.roots() == Names{"op"});
        for (const char* name : {"annotation", "frame", "overhead", "other"}) {
            CHECK_FALSE(grown.tree.contains(grown.node(name)));
            CHECK(grown.parent(name) == "");
        }
    }
    SUBCASE("with frames") {
        TraceFixture file;
        write(file);
        const Grown grown(file, with_frames);
        CHECK(grown.parent("op") == "frame");
        CHECK(grown.roots() == Names{"frame"});
        CHECK(grown.cpu_roots() == Names{"op"});
        CHECK(grown.tree.contains(grown.node("frame")));
        CHECK_FALSE(grown.tree.contains(grown.node("annotation")));
    }
}

TEST_CASE("threads nest on their own") {
    TraceFixture file;
    file.op("a", 0, us(100))
        .on_thread(100, 2)
        .op("b", us(10), us(20))
        .on_thread(101, 1)
        .op("c", us(11), us(19));
    const Grown grown(file);
    CHECK(grown.roots() == Names{"a", "b", "c"});
    CHECK(grown.cpu_roots() == Names{"a", "b", "c"});
    CHECK(grown.children("a").empty());
}

TEST_CASE("threads of different ranks nest on their own") {
    // Spec 11, section 7: nothing is matched across ranks. Merged ranks may come from containers with equal
    // pids.
    TraceFixture file;
    file.on_thread(1, 1, 0).op("rank 0", 0, us(100)).on_thread(1, 1, 1).op("rank 1", us(10), us(20));
    const Grown grown(file);
    CHECK(grown.parent("rank 1") == "");
}

TEST_CASE("equality closes, equal ends nest") {
    for (const CallTreeOptions& options : {CallTreeOptions{}, drop}) {
        TraceFixture file;
        file.op("root", 0, us(100))
            .op("a", us(10), us(20))
            .op("b", us(20), us(30))
            .op("last", us(30), us(100));
        file.op("deepest", us(40), us(100)).op("next root", us(100), us(110));
        const Grown grown(file, options);
        CHECK(grown.children("root") == Names{"a", "b", "last"});
        CHECK(grown.children("last") == Names{"deepest"});
        CHECK(grown.roots() == Names{"root", "next root"});
        CHECK(grown.tree.dropped_count() == 0);
        CHECK(grown.tree.clipped_count() == 0);
    }
}

TEST_CASE("equal start: the earlier in the file is the parent") {
    for (const CallTreeOptions& options : {CallTreeOptions{}, drop}) {
        TraceFixture file;
        file.op("longer", us(10), us(50)).op("shorter", us(10), us(20)).op("shortest", us(10), us(15));
        const Grown grown(file, options);
        CHECK(grown.parent("shorter") == "longer");
        CHECK(grown.parent("shortest") == "shorter");
    }
}

TEST_CASE("identical intervals: the second nests in the first") {
    TraceFixture file;
    file.op("first", us(10), us(20)).op("second", us(10), us(20)).op("third", us(10), us(20));
    const Grown grown(file, drop);
    CHECK(grown.parent("second") == "first");
    CHECK(grown.parent("third") == "second");
}

TEST_CASE("an event without length never becomes a parent") {
    TraceFixture file;
    file.op("root", 0, us(100))
        .op("empty", us(10), us(10))
        .op("other", us(10), us(10))
        .op("long", us(10), us(30));
    const Grown grown(file, drop);
    CHECK(grown.children("root") == Names{"empty", "other", "long"});
    CHECK(grown.children("empty").empty());
}

TEST_CASE("drop: equal start, shorter first in the file") {
    SUBCASE("the longer one is left out") {
        TraceFixture file;
        file.op("root", 0, us(100)).op("shorter", us(10), us(20)).op("longer", us(10), us(50));
        const Grown grown(file, drop);
        CHECK(grown.tree.was_dropped(grown.node("longer")));
        CHECK(grown.children("root") == Names{"shorter"});
    }
    SUBCASE("with a shorter one below 1 us it is adopted as a sibling") {
        TraceFixture file;
        file.op("root", 0, us(100)).op("shorter", us(10), us(10) + 999).op("longer", us(10), us(50));
        const Grown grown(file, drop);
        CHECK_FALSE(grown.tree.was_dropped(grown.node("longer")));
        CHECK(grown.children("root") == Names{"shorter", "longer"});
    }
    SUBCASE("at depth 1 it is left out all the same") {
        TraceFixture file;
        file.op("shorter", us(10), us(10) + 999).op("longer", us(10), us(50));
        const Grown grown(file, drop);
        CHECK(grown.tree.was_dropped(grown.node("longer")));
        CHECK(grown.roots() == Names{"shorter"});
    }
}

TEST_CASE("drop: an overlap below 1 us adopts, 1 us drops") {
    SUBCASE("999 ns") {
        TraceFixture file;
        file.op("root", 0, us(100))
            .op("a", us(10), us(20))
            .op("b", us(20) - 999, us(30))
            .op("c", us(21), us(22));
        const Grown grown(file, drop);
        CHECK(grown.children("root") == Names{"a", "b"});
        CHECK(grown.children("b") == Names{"c"});
        CHECK(grown.tree.dropped_count() == 0);
    }
    SUBCASE("1000 ns") {
        TraceFixture file;
        file.op("root", 0, us(100))
            .op("a", us(10), us(20))
            .op("b", us(20) - 1000, us(30))
            .op("c", us(21), us(22));
        const Grown grown(file, drop);
        CHECK(grown.children("root") == Names{"a", "c"});
        CHECK(grown.tree.dropped_count() == 1);
        const NodeId b = grown.node("b");
        CHECK(grown.tree.was_dropped(b));
        CHECK_FALSE(grown.tree.was_clipped(b));
        CHECK(grown.tree.contains(b));  // dropped events took part
        CHECK(grown.tree.parent(b) == no_node);
        CHECK(grown.tree.first_child(b) == no_node);
        CHECK(grown.roots() == Names{"root"});
        CHECK(grown.cpu_roots() == Names{"root"});
    }
}

TEST_CASE("drop: only one frame is popped, whatever comes then") {
    // "after the single adoption pop the event may still outlive its new parent"
    TraceFixture file;
    file.op("root", 0, us(100)).op("a", us(10), us(40)).op("b", us(12), us(20)).op("c", us(20) - 500, us(60));
    file.op("d", us(30), us(50)).op("e", us(61), us(70));
    const Grown grown(file, drop);
    CHECK(grown.parent("c") == "a");  // and outlives it
    CHECK(grown.parent("d") == "c");
    CHECK(grown.parent("e") == "root");
    CHECK(grown.tree.dropped_count() == 0);
}

TEST_CASE("drop: at depth 1 there is no adoption") {
    TraceFixture file;
    file.op("a", us(10), us(20)).op("b", us(20) - 10, us(30));
    const Grown grown(file, drop);
    CHECK(grown.tree.was_dropped(grown.node("b")));
    CHECK(grown.roots() == Names{"a"});
}

TEST_CASE("a dropped call still owns its GPU events, whose chain ends there") {
    // Spec 01, section 6, last rule, and section 7, step 3.
    TraceFixture file;
    file.op("op", 0, us(20)).call("cudaLaunchKernel", us(10), us(30), 1).kernel("k", us(50), us(60), 1);
    const Grown grown(file, drop);
    REQUIRE(grown.tree.was_dropped(grown.node("cudaLaunchKernel")));
    CHECK(grown.parent("k") == "cudaLaunchKernel");
    CHECK(grown.children("cudaLaunchKernel") == Names{"k"});
    CHECK(grown.tree.contains(grown.node("k")));
    CHECK(grown.gpu_events("op").empty());
    CHECK(grown.gpu_events("cudaLaunchKernel") == Names{"k"});
    CHECK(grown.tree.gpu_ticks(grown.node("cudaLaunchKernel")) == us(10));
    CHECK(grown.gpu_events("k") == Names{"k"});
}

TEST_CASE("clip: nothing is dropped") {
    SUBCASE("an event that outlives its frame by 1 us or more of overlap stays below it, marked") {
        TraceFixture file;
        file.op("root", 0, us(100)).op("a", us(10), us(20)).op("b", us(19), us(30)).op("c", us(21), us(22));
        const Grown grown(file);
        CHECK(grown.parent("b") == "a");
        CHECK(grown.tree.was_clipped(grown.node("b")));
        CHECK_FALSE(grown.tree.was_dropped(grown.node("b")));
        CHECK(grown.parent("c") == "root");  // b ends with its frame
        CHECK(grown.tree.clipped_count() == 1);
        CHECK(grown.tree.dropped_count() == 0);
    }
    SUBCASE("frames with less than 1 us left are closed, as many as there are") {
        TraceFixture file;
        file.op("root", 0, us(100))
            .op("a", us(10), us(20) + 100)
            .op("b", us(11), us(20) + 50)
            .op("c", us(12), us(20));
        file.op("late", us(20) - 500, us(40));
        const Grown grown(file);
        CHECK(grown.parent("late") == "root");
        CHECK(grown.tree.clipped_count() == 0);
    }
    SUBCASE("then the next frame may clip") {
        TraceFixture file;
        file.op("root", 0, us(100))
            .op("a", us(10), us(30))
            .op("b", us(11), us(20))
            .op("late", us(20) - 999, us(40));
        const Grown grown(file);
        CHECK(grown.parent("late") == "a");
        CHECK(grown.tree.was_clipped(grown.node("late")));
    }
    SUBCASE("an event that outlives the whole stack by a little becomes a root") {
        TraceFixture file;
        file.op("a", us(10), us(20)).op("b", us(20) - 10, us(30));
        const Grown grown(file);
        CHECK(grown.roots() == Names{"a", "b"});
        CHECK(grown.tree.clipped_count() == 0);
    }
    SUBCASE("equal start, shorter first in the file: the longer one ends with the shorter") {
        TraceFixture file;
        file.op("root", 0, us(100)).op("shorter", us(10), us(20)).op("longer", us(10), us(50));
        file.op("later", us(30), us(40));
        const Grown grown(file);
        CHECK(grown.parent("longer") == "shorter");
        CHECK(grown.tree.was_clipped(grown.node("longer")));
        CHECK(grown.parent("later") == "root");
    }
    SUBCASE("equal start, shorter first by less than 1 us: they are siblings") {
        TraceFixture file;
        file.op("root", 0, us(100)).op("shorter", us(10), us(10) + 999).op("longer", us(10), us(50));
        const Grown grown(file);
        CHECK(grown.children("root") == Names{"shorter", "longer"});
        CHECK(grown.tree.clipped_count() == 0);
    }
    SUBCASE("at depth 1 with more overlap it is clipped") {
        TraceFixture file;
        file.op("a", us(10), us(20)).op("b", us(15), us(30)).op("c", us(25), us(28));
        const Grown grown(file);
        CHECK(grown.parent("b") == "a");
        CHECK(grown.roots() == Names{"a", "c"});
        CHECK(grown.tree.was_clipped(grown.node("b")));
    }
}

TEST_CASE("roots of ops under Python frames") {
    TraceFixture file;
    file.frame("main", 0, us(100))
        .frame("forward", us(5), us(60))
        .op("linear", us(10), us(50))
        .op("mm", us(20), us(40));
    file.call("hipLaunchKernel", us(25), us(30))
        .frame("callback", us(42), us(48))
        .op("in callback", us(43), us(45));
    file.op("optimizer", us(70), us(80));
    const Grown grown(file, with_frames);
    CHECK(grown.roots() == Names{"main"});
    CHECK(grown.cpu_roots() == Names{"linear", "optimizer"});
    CHECK(grown.tree.enclosing_op(grown.node("in callback")) == grown.node("linear"));
    CHECK(grown.tree.enclosing_op(grown.node("hipLaunchKernel")) == grown.node("mm"));
    CHECK(grown.tree.enclosing_op(grown.node("linear")) == no_node);
}

TEST_CASE("roots of several threads are given by start") {
    TraceFixture file;
    file.on_thread(1, 2)
        .op("c", us(30), us(40))
        .op("a", us(5), us(10))
        .on_thread(1, 1)
        .op("b", us(20), us(25));
    const Grown grown(file);
    CHECK(grown.cpu_roots() == Names{"a", "b", "c"});
    CHECK(grown.roots() == Names{"a", "b", "c"});
}

TEST_CASE("an op with GPU work and one without") {
    TraceFixture file;
    file.op("with", 0, us(20)).call("cudaLaunchKernel", us(5), us(6), 1).op("without", us(30), us(40));
    file.kernel("k", us(50), us(55), 1).kernel("unlinked", us(60), us(65), 2);
    const Grown grown(file);
    CHECK(grown.gpu_events("with") == Names{"k"});
    CHECK(grown.gpu_events("cudaLaunchKernel") == Names{"k"});
    CHECK(grown.gpu_events("k") == Names{"k"});
    CHECK(grown.tree.gpu_ticks(grown.node("with")) == us(5));
    CHECK(grown.gpu_events("without").empty());
    CHECK(grown.tree.gpu_ticks(grown.node("without")) == 0);
    CHECK(grown.parent("k") == "cudaLaunchKernel");
    CHECK(grown.tree.contains(grown.node("k")));
    CHECK_FALSE(grown.tree.contains(grown.node("unlinked")));
    CHECK(grown.gpu_events("unlinked").empty());
    CHECK(grown.roots() == Names{"with", "without"});
}

TEST_CASE("GPU events are the last children of their launch, launches in the file's order") {
    TraceFixture file;
    file.op("outer", 0, us(100)).op("inner", us(50), us(60)).call("second call", us(52), us(53), 2);
    file.call("first call", us(10), us(20), 1).op("inside", us(12), us(14));
    file.kernel("k1", us(200), us(210), 1)
        .kernel("k2b", us(150), us(160), 2)
        .kernel("k2a", us(110), us(120), 2);
    const Grown grown(file);
    CHECK(grown.children("first call") == Names{"inside", "k1"});
    CHECK(grown.children("second call") == Names{"k2b", "k2a"});
    CHECK(grown.gpu_events("outer") == Names{"k1", "k2b", "k2a"});
    CHECK(grown.tree.gpu_ticks(grown.node("outer")) == us(30));
}

TEST_CASE("overlapping GPU events count twice") {
    TraceFixture file;
    file.op("op", 0, us(20)).call("cudaGraphLaunch", us(5), us(6), 1);
    file.kernel("a", us(50), us(60), 1).on_stream(0, 8).kernel("b", us(50), us(60), 1);
    const Grown grown(file);
    CHECK(grown.tree.gpu_ticks(grown.node("op")) == us(20));
}

TEST_CASE("an op without arguments, a kernel without arguments, Python frames on") {
    TraceFixture file;
    file.frame("frame", 0, us(50)).op("op", us(1), us(40)).kernel("k", us(60), us(70));
    const Grown grown(file, drop_with_frames);
    CHECK(grown.parent("op") == "frame");
    CHECK(grown.gpu_events("op").empty());
}

TEST_CASE("doubles drop frames that exact times keep") {
    // Spec 01, section 6: "A frame that ends in the same nanosecond as its parent can get a t_end one ulp
    // larger."
    bool found = false;
    for (std::int64_t shift = 1; shift < 100 && !found; ++shift) {
        const std::int64_t start = 6'869'181'218'039'954;
        const std::int64_t end = start + 6'000'239 + shift;
        const auto dropped = [&](Timestamps timestamps) {
            TraceFixture file(timestamps);
            file.frame("root", start - 1000, end + 1000)
                .frame("parent", start, end)
                .frame("child", start + shift * 7, end);
            const Grown grown(file, drop_with_frames);
            return grown.tree.dropped_count();
        };
        CHECK(dropped(Timestamps::exact) == 0);
        found = dropped(Timestamps::reference) == 1;
    }
    CHECK(found);
}
