// Overlay nodes: pseudo ops on top of a finished trace (spec 01, section 18, "Tree contract of injected
// events").

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/model/call_tree.hpp>

#include "unit/trace_fixture.hpp"

using namespace tracelens;
using fixture::event_named;
using fixture::Random;
using fixture::TraceFixture;

namespace {

using Nodes = std::vector<NodeId>;

Nodes children(const CallTree& tree, NodeId node) {
    Nodes result;
    for (NodeId at = tree.first_child(node); at != no_node; at = tree.next_sibling(at)) result.push_back(at);
    return result;
}

Nodes copy_of(std::span<const NodeId> nodes) {
    return {nodes.begin(), nodes.end()};
}

/// frame > op > (a > k0, b > k1, c > k2); a, b and c are launches.
struct Sample {
    Trace trace;
    CallTree tree;
    NodeId frame, op, a, b, c, k0, k1, k2;

    Sample() : trace(write()), tree(trace, link_launches(trace), {.python_frames = true}) {
        frame = event_named(trace, "frame");
        op = event_named(trace, "op");
        a = event_named(trace, "a");
        b = event_named(trace, "b");
        c = event_named(trace, "c");
        k0 = event_named(trace, "k0");
        k1 = event_named(trace, "k1");
        k2 = event_named(trace, "k2");
    }
    Sample(const Sample&) = delete;

    static Trace write() {
        TraceFixture file;
        file.frame("frame", 0, 1000)
            .op("op", 10, 900)
            .call("a", 20, 30, 1)
            .call("b", 40, 50, 2)
            .call("c", 60, 70, 3);
        file.kernel("k0", 2000, 2100, 1).kernel("k1", 2100, 2300, 2).kernel("k2", 2300, 2700, 3);
        return file.finish();
    }
};

OverlayNode pseudo_op(const Trace& trace) {
    // Names of overlays come from the trace's strings.
    return {.name = trace.name[event_named(trace, "op")], .kind = EventKind::cpu_op, .start = 15, .end = 800};
}

}  // namespace

TEST_CASE("a new overlay node stands alone") {
    Sample sample;
    CallTree& tree = sample.tree;
    const std::size_t before = tree.node_count();
    const NodeId node = tree.add_overlay(pseudo_op(sample.trace));
    CHECK(node == sample.trace.size());
    CHECK(tree.node_count() == before + 1);
    CHECK(tree.is_overlay(node));
    CHECK_FALSE(tree.is_overlay(sample.op));
    CHECK(tree.contains(node));
    CHECK_FALSE(tree.was_dropped(node));
    CHECK_FALSE(tree.was_clipped(node));
    CHECK(tree.parent(node) == no_node);
    CHECK(tree.first_child(node) == no_node);
    CHECK(tree.next_sibling(node) == no_node);
    CHECK(tree.kind(node) == EventKind::cpu_op);
    CHECK(tree.name_text(node) == "op");
    CHECK(tree.overlay(node).start == 15);
    CHECK(tree.overlay(node).end == 800);
    tree.refresh();
    CHECK(tree.gpu_events(node).empty());
    CHECK(tree.gpu_ticks(node) == 0);
    CHECK(copy_of(tree.roots()) == Nodes{sample.frame, node});
    CHECK(copy_of(tree.cpu_roots()) == Nodes{sample.op, node});
}

TEST_CASE("refresh alone changes nothing") {
    Sample sample;
    const Nodes roots = copy_of(sample.tree.roots());
    const Nodes cpu_roots = copy_of(sample.tree.cpu_roots());
    for (int i = 0; i < 3; ++i) sample.tree.refresh();
    CHECK(copy_of(sample.tree.roots()) == roots);
    CHECK(copy_of(sample.tree.cpu_roots()) == cpu_roots);
    CHECK(copy_of(sample.tree.gpu_events(sample.op)) == Nodes{sample.k0, sample.k1, sample.k2});
    CHECK(sample.tree.gpu_ticks(sample.frame) == 700);
}

TEST_CASE("inject below an op: between a launch and its op") {
    Sample sample;
    CallTree& tree = sample.tree;
    const NodeId pseudo = tree.add_overlay(pseudo_op(sample.trace));
    tree.remove_child(sample.op, sample.b);
    tree.append_child(sample.op, pseudo);
    tree.append_child(pseudo, sample.b);
    tree.refresh();
    CHECK(children(tree, sample.op) == Nodes{sample.a, sample.c, pseudo});
    CHECK(children(tree, pseudo) == Nodes{sample.b});
    CHECK(tree.parent(sample.b) == pseudo);
    CHECK(tree.parent(pseudo) == sample.op);
    CHECK(tree.enclosing_op(sample.b) == pseudo);
    CHECK(tree.enclosing_op(pseudo) == sample.op);
    CHECK(copy_of(tree.gpu_events(pseudo)) == Nodes{sample.k1});
    CHECK(tree.gpu_ticks(pseudo) == 200);
    CHECK(copy_of(tree.gpu_events(sample.op)) == Nodes{sample.k0, sample.k2, sample.k1});
    CHECK(tree.gpu_ticks(sample.op) == 700);
    CHECK(copy_of(tree.roots()) == Nodes{sample.frame});
    CHECK(copy_of(tree.cpu_roots()) == Nodes{sample.op});
}

TEST_CASE("the reference's way: the launch does not learn of its pseudo op") {
    // "The first form does not update the launcher's `parent`, so upward walks still see the original op,
    // downward walks see the pseudo op."
    Sample sample;
    CallTree& tree = sample.tree;
    const NodeId pseudo = tree.add_overlay(pseudo_op(sample.trace));
    tree.remove_child(sample.op, sample.b);
    tree.append_child(sample.op, pseudo);
    tree.append_child(pseudo, sample.b, /*set_parent=*/false);
    tree.refresh();
    CHECK(children(tree, sample.op) == Nodes{sample.a, sample.c, pseudo});
    CHECK(children(tree, pseudo) == Nodes{sample.b});
    CHECK(tree.parent(sample.b) == sample.op);
    CHECK(tree.enclosing_op(sample.b) == sample.op);
    CHECK(copy_of(tree.gpu_events(pseudo)) == Nodes{sample.k1});
    CHECK(copy_of(tree.gpu_events(sample.op)) == Nodes{sample.k0, sample.k2, sample.k1});
    CHECK(tree.gpu_ticks(sample.op) == 700);
    CHECK(copy_of(tree.roots()) == Nodes{sample.frame});
}

TEST_CASE("a node that is seen from above only is counted once") {
    Sample sample;
    CallTree& tree = sample.tree;
    const NodeId pseudo = tree.add_overlay(pseudo_op(sample.trace));
    tree.remove_child(sample.op, sample.b);
    tree.append_child(sample.op, pseudo, /*set_parent=*/false);
    tree.append_child(pseudo, sample.b);
    tree.refresh();
    CHECK(tree.parent(pseudo) == no_node);
    CHECK(copy_of(tree.gpu_events(pseudo)) == Nodes{sample.k1});
    CHECK(copy_of(tree.gpu_events(sample.op)) == Nodes{sample.k0, sample.k2, sample.k1});
    CHECK(tree.gpu_ticks(sample.op) == 700);
    CHECK(tree.gpu_ticks(sample.frame) == 700);
}

TEST_CASE("children are taken out from every position") {
    Sample sample;
    CallTree& tree = sample.tree;
    SUBCASE("first") {
        tree.remove_child(sample.op, sample.a);
        CHECK(children(tree, sample.op) == Nodes{sample.b, sample.c});
    }
    SUBCASE("middle") {
        tree.remove_child(sample.op, sample.b);
        CHECK(children(tree, sample.op) == Nodes{sample.a, sample.c});
    }
    SUBCASE("last, then another is appended") {
        tree.remove_child(sample.op, sample.c);
        CHECK(children(tree, sample.op) == Nodes{sample.a, sample.b});
        tree.append_child(sample.op, sample.c);
        CHECK(children(tree, sample.op) == Nodes{sample.a, sample.b, sample.c});
    }
    SUBCASE("the only one, then another is appended") {
        tree.remove_child(sample.a, sample.k0);
        CHECK(children(tree, sample.a).empty());
        tree.append_child(sample.a, sample.k0);
        CHECK(children(tree, sample.a) == Nodes{sample.k0});
    }
    SUBCASE("no child of this parent: nothing happens") {
        tree.remove_child(sample.op, sample.k0);
        CHECK(children(tree, sample.op) == Nodes{sample.a, sample.b, sample.c});
        CHECK(tree.parent(sample.k0) == sample.a);
    }
    SUBCASE("what is taken out is a root") {
        tree.remove_child(sample.op, sample.b);
        tree.refresh();
        CHECK(tree.parent(sample.b) == no_node);
        CHECK(copy_of(tree.roots()) == Nodes{sample.frame, sample.b});
        CHECK(tree.gpu_ticks(sample.op) == 500);
        CHECK(tree.gpu_ticks(sample.b) == 200);
    }
}

TEST_CASE("inject above an event: at the same position") {
    Sample sample;
    CallTree& tree = sample.tree;
    const NodeId pseudo = tree.add_overlay(pseudo_op(sample.trace));
    SUBCASE("first") {
        tree.insert_above(sample.a, pseudo);
        CHECK(children(tree, sample.op) == Nodes{pseudo, sample.b, sample.c});
        CHECK(children(tree, pseudo) == Nodes{sample.a});
        CHECK(tree.parent(sample.a) == pseudo);
    }
    SUBCASE("middle") {
        tree.insert_above(sample.b, pseudo);
        CHECK(children(tree, sample.op) == Nodes{sample.a, pseudo, sample.c});
        CHECK(children(tree, pseudo) == Nodes{sample.b});
        CHECK(tree.next_sibling(sample.b) == no_node);
    }
    SUBCASE("last, then another is appended") {
        tree.insert_above(sample.c, pseudo);
        CHECK(children(tree, sample.op) == Nodes{sample.a, sample.b, pseudo});
        const NodeId more = tree.add_overlay(pseudo_op(sample.trace));
        tree.append_child(sample.op, more);
        CHECK(children(tree, sample.op) == Nodes{sample.a, sample.b, pseudo, more});
    }
    CHECK(tree.parent(pseudo) == sample.op);
    tree.refresh();
    CHECK(tree.gpu_events(pseudo).size() == 1);
    CHECK(copy_of(tree.gpu_events(sample.op)) == Nodes{sample.k0, sample.k1, sample.k2});
}

TEST_CASE("wrap all children") {
    Sample sample;
    CallTree& tree = sample.tree;
    const NodeId pseudo = tree.add_overlay(pseudo_op(sample.trace));
    SUBCASE("of an op") {
        tree.wrap_children(sample.op, pseudo);
        tree.refresh();
        CHECK(children(tree, sample.op) == Nodes{pseudo});
        CHECK(children(tree, pseudo) == Nodes{sample.a, sample.b, sample.c});
        for (const NodeId each : {sample.a, sample.b, sample.c}) CHECK(tree.parent(each) == pseudo);
        CHECK(copy_of(tree.gpu_events(pseudo)) == Nodes{sample.k0, sample.k1, sample.k2});
        CHECK(copy_of(tree.cpu_roots()) == Nodes{sample.op});
    }
    SUBCASE("of a frame: descendants leave the roots, the pseudo op is one") {
        tree.wrap_children(sample.frame, pseudo);
        tree.refresh();
        CHECK(children(tree, sample.frame) == Nodes{pseudo});
        CHECK(children(tree, pseudo) == Nodes{sample.op});
        CHECK(copy_of(tree.cpu_roots()) == Nodes{pseudo});
        CHECK(tree.gpu_ticks(pseudo) == 700);
        CHECK(copy_of(tree.roots()) == Nodes{sample.frame});
    }
}

TEST_CASE("overlays of other kinds are no ops") {
    Sample sample;
    CallTree& tree = sample.tree;
    OverlayNode frame = pseudo_op(sample.trace);
    frame.kind = EventKind::python_function;
    const NodeId wrapper = tree.add_overlay(frame);
    tree.insert_above(sample.a, wrapper);
    tree.refresh();
    CHECK(tree.enclosing_op(sample.a) == sample.op);
    CHECK(copy_of(tree.cpu_roots()) == Nodes{sample.op});
    CHECK(tree.gpu_ticks(wrapper) == 100);
}

TEST_CASE("random changes equal the same changes on lists") {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        Sample sample;
        CallTree& tree = sample.tree;
        std::vector<Nodes> lists(tree.node_count());
        Nodes parents(tree.node_count());
        for (NodeId node = 0; node < tree.node_count(); ++node) {
            lists[node] = children(tree, node);
            parents[node] = tree.parent(node);
        }
        const auto any = [&] {
            return static_cast<NodeId>(random.below(static_cast<std::int64_t>(lists.size())));
        };
        for (int step = 0; step < 40; ++step) {
            const NodeId node = any();
            if (tree.kind(node) == EventKind::kernel) continue;
            const NodeId fresh = tree.add_overlay(pseudo_op(sample.trace));
            lists.emplace_back();
            parents.push_back(no_node);
            const std::int64_t what = random.below(3);
            if (what == 0) {
                tree.append_child(node, fresh);
                lists[node].push_back(fresh);
                parents[fresh] = node;
            } else if (what == 1) {
                tree.wrap_children(node, fresh);
                lists[fresh] = std::move(lists[node]);
                for (const NodeId each : lists[fresh]) parents[each] = fresh;
                lists[node] = {fresh};
                parents[fresh] = node;
            } else if (parents[node] != no_node) {
                tree.insert_above(node, fresh);
                Nodes& siblings = lists[parents[node]];
                *std::find(siblings.begin(), siblings.end(), node) = fresh;
                parents[fresh] = parents[node];
                lists[fresh] = {node};
                parents[node] = fresh;
            }
        }
        tree.refresh();
        for (NodeId node = 0; node < tree.node_count(); ++node) {
            CAPTURE(node);
            CHECK(children(tree, node) == lists[node]);
            CHECK(tree.parent(node) == parents[node]);
            Nodes expected;
            Nodes pending = {node};
            while (!pending.empty()) {
                const NodeId at = pending.back();
                pending.pop_back();
                if (tree.kind(at) == EventKind::kernel) expected.push_back(at);
                pending.insert(pending.end(), lists[at].rbegin(), lists[at].rend());
            }
            CHECK(copy_of(tree.gpu_events(node)) == expected);
        }
    }
}
