// Backward ops that are priced through their forward op (spec 02, sections 12.1, 12.2 and 22.3).

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "unit/analyze/perf_support.hpp"

using namespace tracelens;
using fixture::backward_node;
using fixture::both_rules;
using fixture::check_units;
using fixture::dispatch_shapes;
using fixture::PerfTraceOptions;
using fixture::TraceFixture;
using fixture::units;
using fixture::us;
using fixture::wrapper_prefix;

namespace {

/// A forward op that is priced for its gradient, and an empty wrapper for it.
TraceFixture dispatched() {
    TraceFixture file;
    file.op("first", 0, us(1));
    dispatch_shapes(file).op("MoEDispatch", us(2), us(4));
    backward_node(file, "MoEDispatchBackward", 100, 50);
    return file;
}

const std::vector<fixture::EventNames> dispatch_link = {
    {"autograd::engine::evaluate_function: MoEDispatchBackward", "MoEDispatch"}};

PerfTraceOptions linked(ClassRules rules) {
    return {.rules = rules, .links = dispatch_link};
}

/// The same with a launch in the op of the wrapper's name.
TraceFixture dispatched_back() {
    TraceFixture file = dispatched();
    file.launched("k", us(220), us(230));
    return file;
}

/// A modelled op and one without a model, `depth` levels below the wrapper.
TraceFixture deep_backward(int depth) {
    TraceFixture file = dispatched();
    for (int i = 2; i < depth; ++i) file.op("inner", us(100) + i, us(150) - i);
    file.op("deep", us(110), us(120)).launched("k", us(215), us(216));
    file.op("aten::mm", us(130), us(140)).launched("gemm", us(235), us(236));
    return file;
}

/// `forward` in front of a backward op without a model.
std::string units_behind(std::string_view forward, ClassRules rules, ModelRegistry registry = {}) {
    TraceFixture file;
    file.op("first", 0, us(1)).op(forward, us(2), us(4));
    backward_node(file, "Back", 100, 50);
    file.launched("k", us(220), us(230));
    return units(std::move(file), {.rules = rules,
                                   .python_frames = false,
                                   .registry = std::move(registry),
                                   .links = {{"autograd::engine::evaluate_function: Back", forward}}});
}

}  // namespace

TEST_CASE("a backward op without model is priced through its forward op") {
    for (const ClassRules rules : both_rules)
        CHECK(units(dispatched_back(), linked(rules)) == "MoEDispatchBackward<MoEDispatch");
}

TEST_CASE("a backward op is linked by recorded sequence numbers") {
    const auto file = [] {
        TraceFixture made;
        made.op("first", 0, us(1));
        dispatch_shapes(made).with_sequence_number(7).op("MoEDispatch", us(2), us(4));
        backward_node(made, "MoEDispatchBackward", 100, 50, 7);
        made.launched("k", us(220), us(230));
        return made;
    };
    check_units(file, "MoEDispatchBackward<MoEDispatch");
}

TEST_CASE("a modelled op below a backward op counts for itself, what lies beside it through the forward op") {
    for (const ClassRules rules : both_rules)
        CHECK(units(deep_backward(2), linked(rules)) == "deep<MoEDispatch | aten::mm*");
}

TEST_CASE("the wrapper is looked for up to five levels above") {
    for (const ClassRules rules : both_rules) {
        CHECK(units(deep_backward(5), linked(rules)) == "deep<MoEDispatch | aten::mm*");
        CHECK(units(deep_backward(6), linked(rules)) == "deep | aten::mm*");
    }
}

TEST_CASE("the wrapper needs exactly one launching op of its name") {
    for (const ClassRules rules : both_rules) {
        TraceFixture two = dispatched_back();
        two.op("MoEDispatchBackward", us(130), us(140)).launched("k2", us(235), us(240));
        CHECK(units(std::move(two), linked(rules)) == "MoEDispatchBackward");

        TraceFixture other_name = dispatched();
        other_name.op("other", us(160), us(161)).on_thread(100, 3);
        other_name.op(wrapper_prefix + "Named", us(300), us(350)).op("other", us(301), us(349));
        other_name.launched("k", us(410), us(420));
        PerfTraceOptions options = linked(rules);
        options.links = {{"autograd::engine::evaluate_function: Named", "MoEDispatch"}};
        CHECK(units(std::move(other_name), options) == "other");
    }
}

TEST_CASE("below a wrapper without a name of its own any op counts") {
    for (const ClassRules rules : both_rules) {
        for (const bool nested : {false, true}) {
            TraceFixture file = dispatched();
            file.op("MyNode", us(300), us(350)).op("any", us(301), us(349));
            if (nested) file.op("below", us(302), us(348));
            file.launched("k", us(410), us(420));
            PerfTraceOptions options = linked(rules);
            options.links = {{"MyNode", "MoEDispatch"}};
            CHECK(units(std::move(file), options) == (nested ? "below" : "any<MoEDispatch"));
        }
    }
}

TEST_CASE("a forward op that is the first event of the file: absent in the reference") {
    const auto file = [] {
        TraceFixture made;
        dispatch_shapes(made).op("MoEDispatch", us(2), us(4));
        backward_node(made, "MoEDispatchBackward", 100, 50);
        made.launched("k", us(220), us(230));
        return made;
    };
    CHECK(units(file(), linked(ClassRules::full)) == "MoEDispatchBackward<MoEDispatch");
    CHECK(units(file(), linked(ClassRules::reference)) == "MoEDispatchBackward");
}

TEST_CASE("the nearest linked wrapper decides, even if its forward op has no model") {
    const auto file = [] {
        TraceFixture made = dispatched();
        made.op(wrapper_prefix + "Inner", us(110), us(140)).op("Inner", us(111), us(119));
        made.launched("k", us(215), us(220));
        made.op("aten::mm", us(121), us(139)).launched("gemm", us(225), us(230));
        made.op("aten::zeros", us(160), us(161));
        return made;
    };
    const auto linked_to = [](ClassRules rules, std::string_view forward) {
        PerfTraceOptions options = linked(rules);
        options.links.emplace_back("autograd::engine::evaluate_function: Inner", forward);
        return options;
    };
    for (const ClassRules rules : both_rules)
        CHECK(units(file(), linked_to(rules, "aten::zeros")) == "Inner | aten::mm*");
    CHECK(units(file(), linked_to(ClassRules::full, "first")) == "Inner | aten::mm*");
    // The reference does not see links to the first event, and goes on to the outer wrapper.
    CHECK(units(file(), linked_to(ClassRules::reference, "first")) == "Inner<MoEDispatch | aten::mm*");
}

TEST_CASE("forward ops through which nothing is priced") {
    ModelRegistry registry;
    const auto fails = [](const OpArguments&, Pass pass, CostRules) {
        return pass == Pass::forward ? Cost{} : Cost::bad("no");
    };
    registry.add("my::forward", {fails, "mine_fwd", "mine_bwd", "", false});
    for (const ClassRules rules : both_rules) {
        CHECK(units_behind("unknown", rules) == "Back");
        CHECK(units_behind("aten::mm", rules) == "Back");                    // no backward category
        CHECK(units_behind("primus_turbo::grouped_gemm", rules) == "Back");  // no backward cost
        CHECK(units_behind("triton_poi_fused_add_0", rules) == "Back");      // no exact name
        CHECK(units_behind("my::forward", rules, registry) == "Back");       // an error
        CHECK(units_behind("MoEDispatch", rules) == "Back<MoEDispatch");
    }
}

TEST_CASE("forward and backward attention (section 22.3)") {
    const auto file = [] {
        TraceFixture made;
        made.op("first", 0, us(1));
        fixture::attention_shapes(made).with_sequence_number(5);
        made.op("flash_attn::_flash_attn_forward", us(2), us(4)).launched("fwd_k", us(103), us(133));
        backward_node(made, "FlashAttnBackward", 200, 50, 5);
        fixture::attention_gradient_shapes(made).op("flash_attn::_flash_attn_backward", us(201), us(249));
        made.launched("bwd_k", us(310), us(370));
        return made;
    };
    check_units(file, "flash_attn::_flash_attn_forward* | flash_attn::_flash_attn_backward*");
}
