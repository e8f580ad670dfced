// Links between forward ops and their backward wrappers (spec 01, section 11).

#include <cstdint>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <tracelens/model/backward_links.hpp>

#include "unit/trace_fixture.hpp"

using namespace tracelens;
using fixture::TraceFixture;
using fixture::us;

namespace {

constexpr BackwardRule both_rules[] = {BackwardRule::flows, BackwardRule::reference};
constexpr std::string_view wrapper_prefix = "autograd::engine::evaluate_function: ";

std::string wrapper(std::string_view name) {
    return std::string(wrapper_prefix) + std::string(name);
}

/// A trace with a forward thread (the fixture's first) and an autograd thread.
class Training : public TraceFixture {
  public:
    Training& forward_thread(std::int64_t tid = 1, std::int64_t rank = no_number) {
        on_thread(100, tid, rank);
        return *this;
    }
    Training& backward_thread(std::int64_t tid = 2, std::int64_t rank = no_number) {
        on_thread(100, tid, rank);
        return *this;
    }
    Training& numbered(std::int64_t number, std::string_view name, std::int64_t start, std::int64_t end) {
        with_sequence_number(number).op(name, us(start), us(end));
        return *this;
    }
    Training& unnumbered(std::string_view name, std::int64_t start, std::int64_t end) {
        op(name, us(start), us(end));
        return *this;
    }
    /// A `fwdbwd` flow from a moment on one thread to a moment on another.
    Training& flow(std::int64_t id, std::int64_t from_thread, std::int64_t from, std::int64_t to_thread,
                   std::int64_t to) {
        on_thread(100, from_thread).flow_start(id, us(from), "fwdbwd");
        on_thread(100, to_thread).flow_finish_on_host(id, us(to), "fwdbwd");
        return *this;
    }
};

/// All links as "backward<forward", in order of the backward ops; wrappers without their prefix.
std::string links(const Trace& trace, BackwardRule rule = BackwardRule::flows) {
    const BackwardLinks found = link_backward(trace, rule);
    std::string text;
    std::size_t count = 0;
    for (EventId event = 0; event < trace.size(); ++event) {
        const EventId forward = found.forward_of(event);
        if (forward == no_event) continue;
        ++count;
        std::string_view name = trace.name_of(event);
        if (name.substr(0, wrapper_prefix.size()) == wrapper_prefix)
            name.remove_prefix(wrapper_prefix.size());
        text += (text.empty() ? "" : ", ") + std::string(name) + "<" + std::string(trace.name_of(forward));
        bool known_both_ways = false;
        for (const auto& [op, backward] : found.backwards_of(forward)) {
            CHECK(op == forward);
            known_both_ways = known_both_ways || backward == event;
        }
        CHECK(known_both_ways);
    }
    CHECK(found.size() == count);
    return text;
}

void check_links(TraceFixture& file, std::string_view expected) {
    const Trace trace = file.finish();
    for (const BackwardRule rule : both_rules) CHECK(links(trace, rule) == expected);
}

}  // namespace

TEST_CASE("a trace without sequence numbers and flows has no links") {
    TraceFixture file;
    file.op("aten::mm", 0, us(10)).on_thread(100, 2).op(wrapper("AccumulateGrad"), us(20), us(30));
    check_links(file, "");
}

TEST_CASE("a wrapper and the op of the same number on another thread; other backward nodes are not linked") {
    Training file;
    file.numbered(5, "aten::mm", 0, 10).numbered(6, "aten::add", 10, 20);
    file.backward_thread().numbered(6, wrapper("AddBackward0"), 30, 35);
    file.numbered(5, wrapper("MmBackward0"), 40, 50).numbered(5, "MmBackward0", 41, 49);
    check_links(file, "AddBackward0<aten::add, MmBackward0<aten::mm");
}

TEST_CASE("a forward op has no forward op, an unlinked one no backward ops") {
    Training file;
    file.numbered(5, "aten::mm", 0, 10).unnumbered("aten::add", 10, 20);
    file.backward_thread().numbered(5, wrapper("MmBackward0"), 40, 50);
    const Trace trace = file.finish();
    const BackwardLinks found = link_backward(trace);
    const EventId forward = fixture::event_named(trace, "aten::mm");
    CHECK(found.forward_of(forward) == no_event);
    CHECK(found.backwards_of(fixture::event_named(trace, "aten::add")).empty());
    CHECK(found.backwards_of(forward).size() == 1);
    CHECK(found.forward_of(no_event) == no_event);
}

TEST_CASE("of several ops with the number the latest; ties keep the first of the file") {
    Training file;
    file.numbered(5, "early", 0, 30).numbered(5, "latest", 5, 10);
    file.forward_thread(3).numbered(5, "tie", 5, 10);
    file.backward_thread().numbered(5, wrapper("B"), 40, 50);
    check_links(file, "B<latest");
}

TEST_CASE("the latest op counts even if it starts after the backward") {
    Training file;
    file.numbered(5, "before", 0, 10).numbered(5, "after", 80, 90);
    file.backward_thread().numbered(5, wrapper("B"), 40, 50);
    check_links(file, "B<after");
}

TEST_CASE("of several wrappers with the number the first of the file") {
    Training file;
    file.numbered(5, "aten::mm", 0, 10);
    file.backward_thread().numbered(5, wrapper("second in time"), 60, 70);
    file.numbered(5, wrapper("first in time"), 40, 50);
    check_links(file, "second in time<aten::mm");
}

TEST_CASE("ops on the wrapper's thread do not count, threads of other processes do") {
    Training file;
    SUBCASE("recomputed ops on the autograd thread") {
        file.numbered(5, "aten::mm", 0, 10);
        file.backward_thread().numbered(5, wrapper("B"), 40, 50).numbered(5, "recomputed", 45, 49);
        check_links(file, "B<aten::mm");
    }
    SUBCASE("no other thread") {
        file.numbered(5, "aten::mm", 0, 10).numbered(5, wrapper("B"), 40, 50);
        check_links(file, "");
    }
    SUBCASE("the same thread number of another process") {
        file.numbered(5, "aten::mm", 0, 10);
        file.on_thread(200, 1);
        file.numbered(5, wrapper("B"), 40, 50);
        check_links(file, "B<aten::mm");
    }
}

TEST_CASE("a wrapper is known by the start of its name") {
    Training file;
    file.numbered(5, "aten::mm", 0, 10);
    file.backward_thread().numbered(5, "xautograd::engine::evaluate_function: B", 40, 50);
    file.numbered(5, "autograd::engine::evaluate", 60, 70);
    check_links(file, "");
}

TEST_CASE("numbers must be equal") {
    Training file;
    file.numbered(5, "aten::mm", 0, 10).backward_thread().numbered(6, wrapper("B"), 40, 50);
    check_links(file, "");
}

TEST_CASE("two forward threads with equal numbers: the flows know better than the numbers") {
    Training file;
    file.forward_thread(1).numbered(5, "f1", 0, 10).forward_thread(3).numbered(5, "f3", 20, 30);
    file.backward_thread(2).numbered(5, wrapper("B1"), 40, 50).numbered(5, wrapper("B3"), 60, 70);
    file.flow(1, 1, 0, 2, 40).flow(2, 3, 20, 2, 60);
    const Trace trace = file.finish();
    CHECK(links(trace) == "B1<f1, B3<f3");
    CHECK(links(trace, BackwardRule::reference) == "B1<f3");
}

TEST_CASE("backward on the forward thread is linked by flows only") {
    Training file;
    file.numbered(5, "aten::mm", 0, 10).numbered(5, wrapper("B"), 40, 50).flow(1, 1, 0, 1, 40);
    const Trace trace = file.finish();
    CHECK(links(trace) == "B<aten::mm");
    CHECK(links(trace, BackwardRule::reference) == "");
}

TEST_CASE("wrappers without a flow are linked by number") {
    Training file;
    file.numbered(5, "f5", 0, 10).numbered(6, "f6", 10, 20);
    file.backward_thread().numbered(6, wrapper("B6"), 40, 50).numbered(5, wrapper("B5"), 60, 70);
    file.flow(1, 1, 0, 2, 60);
    const Trace trace = file.finish();
    CHECK(links(trace) == "B6<f6, B5<f5");
}

TEST_CASE("a flow's ends are the innermost ops around them on its threads") {
    Training file;
    file.forward_thread(3).unnumbered("other thread", 0, 90).forward_thread(1);
    file.unnumbered("outer", 0, 30).unnumbered("done", 1, 4).unnumbered("inner", 5, 20);
    file.unnumbered("innermost later", 10, 15).unnumbered("next", 24, 29);
    file.backward_thread().unnumbered("step", 35, 90).unnumbered(wrapper("B"), 40, 50);
    SUBCASE("at the starts") {
        file.flow(1, 1, 5, 2, 40);
        CHECK(links(file.finish()) == "B<inner");
    }
    SUBCASE("in the middle") {
        file.flow(1, 1, 12, 2, 45);
        CHECK(links(file.finish()) == "B<innermost later");
    }
    SUBCASE("behind an inner op") {
        file.flow(1, 1, 18, 2, 45);
        CHECK(links(file.finish()) == "B<inner");
    }
    SUBCASE("between inner ops") {
        file.flow(1, 1, 22, 2, 45);
        CHECK(links(file.finish()) == "B<outer");
    }
    SUBCASE("outside all ops") {
        file.flow(1, 1, 33, 2, 45);
        CHECK(links(file.finish()) == "");
    }
    SUBCASE("beside the wrapper") {
        file.flow(1, 1, 5, 2, 60);
        CHECK(links(file.finish()) == "");
    }
    SUBCASE("on a thread without ops") {
        file.flow(1, 4, 5, 2, 45);
        CHECK(links(file.finish()) == "");
    }
}

TEST_CASE("a flow that ends in the wrapper's node finds the wrapper around it") {
    Training file;
    file.unnumbered("aten::mm", 0, 10).backward_thread();
    file.unnumbered(wrapper("MmBackward0"), 40, 50).unnumbered("MmBackward0", 41, 49).flow(1, 1, 0, 2, 42);
    CHECK(links(file.finish()) == "MmBackward0<aten::mm");
}

TEST_CASE("flows need both ends, one id and their category") {
    Training file;
    file.unnumbered("aten::mm", 0, 10).backward_thread().unnumbered(wrapper("B"), 40, 50);
    SUBCASE("no finish") {
        file.forward_thread().flow_start(1, 0, "fwdbwd");
    }
    SUBCASE("no start") {
        file.flow_finish_on_host(1, us(40), "fwdbwd");
    }
    SUBCASE("other ids") {
        file.flow_finish_on_host(1, us(40), "fwdbwd").on_thread(100, 1).flow_start(2, 0, "fwdbwd");
    }
    SUBCASE("launches") {
        file.flow_finish_on_host(1, us(40), "ac2g").on_thread(100, 1).flow_start(1, 0, "ac2g");
    }
    CHECK(links(file.finish()) == "");
}

TEST_CASE("one forward op may have several backward wrappers, ascending") {
    Training file;
    file.unnumbered("op", 0, 10).backward_thread();
    file.unnumbered(wrapper("B2"), 60, 70).unnumbered(wrapper("B1"), 40, 50);
    file.flow(1, 1, 0, 2, 60).flow(2, 1, 0, 2, 40);
    const Trace trace = file.finish();
    CHECK(links(trace) == "B1<op, B2<op");
    const auto backwards = link_backward(trace).backwards_of(fixture::event_named(trace, "op"));
    REQUIRE(backwards.size() == 2);
}

TEST_CASE("a wrapper has one forward op, even when several flows end in it") {
    Training file;
    file.unnumbered("f1", 0, 10).unnumbered("f2", 10, 20);
    file.backward_thread().unnumbered(wrapper("B"), 40, 50).flow(1, 1, 0, 2, 40).flow(2, 1, 10, 2, 45);
    const Trace trace = file.finish();
    CHECK(link_backward(trace).size() == 1);
    CHECK(link_backward(trace).forward_of(fixture::event_named(trace, wrapper("B"))) != no_event);
}

TEST_CASE("numbers of other ranks are not matched (spec 11, section 7)") {
    Training file;
    file.forward_thread(1, 0).numbered(5, "f of rank 0", 0, 10);
    file.backward_thread(2, 0).numbered(5, wrapper("B of rank 0"), 40, 50);
    file.forward_thread(1, 1).numbered(5, "f of rank 1", 5, 15);
    file.backward_thread(2, 1).numbered(5, wrapper("B of rank 1"), 45, 55);
    CHECK(links(file.finish()) == "B of rank 0<f of rank 0, B of rank 1<f of rank 1");
}

TEST_CASE("flows of other ranks are not matched (spec 11, section 7)") {
    TraceFixture file;
    for (const std::int64_t rank : {0, 1}) {
        const std::string suffix = " of rank " + std::to_string(rank);
        const std::int64_t start = us(5 * rank);
        file.on_thread(100 + rank, 1, rank).op("f" + suffix, start, start + us(10));
        file.flow_start(1, start, "fwdbwd").on_thread(100 + rank, 2, rank);
        file.op(wrapper("B" + suffix), start + us(40), start + us(50));
        file.flow_finish_on_host(1, start + us(40), "fwdbwd");
    }
    CHECK(links(file.finish()) == "B of rank 0<f of rank 0, B of rank 1<f of rank 1");
}
