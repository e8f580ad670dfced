// nn.Module frames: labels, stacks, parents and children (spec 01, sections 6 and 10).

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/model/modules.hpp>

#include "unit/grown_trace.hpp"

using namespace tracelens;
using fixture::GrownTrace;
using fixture::TraceFixture;
using fixture::us;
using fixture::with_frames;

namespace {

using Names = std::vector<std::string_view>;

/// model (encoder (norm), then a frame with two layers, one of which holds an attention); an op in each.
struct Model : GrownTrace {
    Model() : GrownTrace(write(), with_frames) {}

    static TraceFixture write() {
        TraceFixture file;
        file.frame("train.py(1): main", 0, us(100)).frame("nn.Module: Model_0", us(1), us(99));
        file.frame("nn.Module: Encoder_0", us(2), us(30)).frame("nn.Module: Norm_0", us(3), us(20));
        file.op("norm", us(4), us(19)).call("cudaLaunchKernel", us(5), us(6), 1);
        file.frame("model.py(7): layers", us(40), us(90)).op("between", us(41), us(89));
        file.frame("nn.Module: Layer_0", us(42), us(60)).frame("nn.Module: Attention_0", us(43), us(50));
        file.op("attend", us(44), us(49));
        file.frame("nn.Module: Layer_1", us(61), us(80)).op("layer", us(62), us(70));
        file.kernel("k", us(200), us(210), 1);
        return file;
    }

    std::string_view above(std::string_view name) const {
        const NodeId module = module_above(tree, node(name));
        return module == no_node ? std::string_view{} : tree.name_text(module);
    }
    Names below(std::string_view name) const {
        Names names;
        for (const NodeId module : modules_below(tree, node(name))) names.push_back(tree.name_text(module));
        return names;
    }
    Names stack(std::string_view name) const { return module_stack(tree, node(name)); }
};

}  // namespace

TEST_CASE("a module frame is a Python frame whose name starts with nn.Module:") {
    TraceFixture file;
    file.frame("nn.Module: Linear_0", 0, 10).frame("nn.Module:X", 20, 30).frame("my nn.Module: Y", 40, 50);
    file.frame("nn.Module", 60, 70).op("nn.Module: op", 80, 90).annotation("nn.Module: note", 100, 110);
    const GrownTrace grown(file, with_frames);
    CHECK(is_module_frame(grown.tree, grown.node("nn.Module: Linear_0")));
    CHECK(is_module_frame(grown.tree, grown.node("nn.Module:X")));
    CHECK_FALSE(is_module_frame(grown.tree, grown.node("my nn.Module: Y")));
    CHECK_FALSE(is_module_frame(grown.tree, grown.node("nn.Module")));
    CHECK_FALSE(is_module_frame(grown.tree, grown.node("nn.Module: op")));
    CHECK_FALSE(is_module_frame(grown.tree, grown.node("nn.Module: note")));
}

TEST_CASE("labels are names without the instance number") {
    CHECK(without_instance_number("nn.Module: Linear_3") == "nn.Module: Linear");
    CHECK(without_instance_number("nn.Module: Linear_1234567890") == "nn.Module: Linear");
    CHECK(without_instance_number("nn.Module: Linear_1_2") == "nn.Module: Linear_1");
    for (const std::string_view name :
         {"nn.Module: Linear", "nn.Module: Linear_", "nn.Module: Conv2", "nn.Module: Conv_2d", "123", ""}) {
        CHECK(without_instance_number(name) == name);
    }
    static_assert(without_instance_number("A_0") == "A");
}

TEST_CASE("the module above a node") {
    const Model model;
    CHECK(model.above("norm") == "nn.Module: Norm_0");
    CHECK(model.above("cudaLaunchKernel") == "nn.Module: Norm_0");
    CHECK(model.above("k") == "nn.Module: Norm_0");
    CHECK(model.above("nn.Module: Norm_0") == "nn.Module: Encoder_0");
    CHECK(model.above("nn.Module: Layer_1") == "nn.Module: Model_0");
    CHECK(model.above("nn.Module: Model_0") == "");
    CHECK(model.above("train.py(1): main") == "");
}

TEST_CASE("the stack of labels around a node, outermost first, without its own") {
    const Model model;
    CHECK(model.stack("norm") == Names{"nn.Module: Model", "nn.Module: Encoder", "nn.Module: Norm"});
    CHECK(model.stack("attend") == Names{"nn.Module: Model", "nn.Module: Layer", "nn.Module: Attention"});
    CHECK(model.stack("nn.Module: Attention_0") == Names{"nn.Module: Model", "nn.Module: Layer"});
    CHECK(model.stack("between") == Names{"nn.Module: Model"});
    CHECK(model.stack("nn.Module: Model_0").empty());
}

TEST_CASE("the modules below a node: in call order, not those in modules") {
    const Model model;
    CHECK(model.below("train.py(1): main") == Names{"nn.Module: Model_0"});
    CHECK(model.below("nn.Module: Model_0") ==
          Names{"nn.Module: Encoder_0", "nn.Module: Layer_0", "nn.Module: Layer_1"});
    CHECK(model.below("nn.Module: Encoder_0") == Names{"nn.Module: Norm_0"});
    CHECK(model.below("between") == Names{"nn.Module: Layer_0", "nn.Module: Layer_1"});
    CHECK(model.below("nn.Module: Norm_0").empty());
    CHECK(model.below("k").empty());
}

TEST_CASE("modules below stand depth first") {
    TraceFixture file;
    file.frame("main", 0, 100).frame("a", 1, 40).frame("a inner", 2, 30).frame("nn.Module: A_0", 3, 20);
    file.frame("nn.Module: A_1", 31, 39).frame("nn.Module: B_0", 41, 60).frame("c", 61, 90);
    file.frame("nn.Module: C_0", 62, 80);
    const GrownTrace grown(file, with_frames);
    Names names;
    for (const NodeId module : modules_below(grown.tree, grown.node("main")))
        names.push_back(grown.tree.name_text(module));
    CHECK(names == Names{"nn.Module: A_0", "nn.Module: A_1", "nn.Module: B_0", "nn.Module: C_0"});
}

TEST_CASE("without Python frames in the tree there are no modules") {
    TraceFixture file;
    file.frame("nn.Module: Linear_0", 0, us(50)).op("aten::mm", us(1), us(10));
    const GrownTrace grown(file);
    CHECK(module_above(grown.tree, grown.node("aten::mm")) == no_node);
    CHECK(module_stack(grown.tree, grown.node("aten::mm")).empty());
}

TEST_CASE("modules of other threads are not around a node") {
    TraceFixture file;
    file.frame("nn.Module: Linear_0", 0, us(50)).on_thread(100, 2).op("aten::mm", us(1), us(10));
    const GrownTrace grown(file, with_frames);
    CHECK(module_stack(grown.tree, grown.node("aten::mm")).empty());
}

TEST_CASE("stacks of many modules") {
    constexpr std::int64_t depth = 20'000;
    TraceFixture file;
    for (std::int64_t i = 0; i < depth; ++i)
        file.frame("nn.Module: Block_" + std::to_string(i), i, 2 * depth - i);
    file.op("aten::mm", depth, depth + 1);
    const GrownTrace grown(file, with_frames);
    CHECK(module_stack(grown.tree, grown.node("aten::mm")) ==
          Names(static_cast<std::size_t>(depth), "nn.Module: Block"));
}
