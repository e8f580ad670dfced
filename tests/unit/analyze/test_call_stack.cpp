// Where work was launched from, and which line of the program called the op (spec 02, sections 12.5
// and 12.6).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/analyze/call_stack.hpp>

#include "unit/grown_trace.hpp"

using namespace tracelens;
using fixture::GrownTrace;
using fixture::TraceFixture;
using fixture::us;

namespace {

std::string joined(const CallStack& stack) {
    std::string text;
    for (const std::string& frame : stack) text += (text.empty() ? "" : " > ") + frame;
    return text;
}

CallStackTree one(CallStack stack) {
    return {std::move(stack), {}};
}

std::string merged(const std::vector<CallStack>& stacks) {
    return to_json(merge_call_stacks(stacks));
}

/// The entry point of `aten::addmm`, which is called by `caller`.
std::optional<std::string> entry_of_addmm(const std::string& caller) {
    return entry_point(one({caller, "aten::addmm"}), "aten::addmm");
}

bool is_wrapper(const std::string& frame) {
    return !entry_of_addmm(frame).has_value();
}

}  // namespace

TEST_CASE("names without numbers of instances") {
    CHECK(without_numbers("nn.Module: Linear_12") == "nn.Module: Linear");
    CHECK(without_numbers("triton_poi_fused_add_3_17b_0") == "triton_poi_fused_addb");
    CHECK(without_numbers("a_b2_c") == "a_b2_c");
    CHECK(without_numbers("x__5") == "x_");
    CHECK(without_numbers("_") == "_");
    CHECK(without_numbers("") == "");
}

TEST_CASE("a stack holds ops, modules, namespaced names and paths") {
    TraceFixture file;
    file.frame("main.py(1): main", 0, us(100)).frame("models/net.py(5): forward", 1, us(99));
    file.frame("nn.Module: Block_3", 2, us(98)).frame("<built-in method linear>", 3, us(97));
    file.op("aten::linear", 4, us(96)).op("plain_op_7", 5, us(95));
    file.call("cudaLaunchKernel", 6, us(94)).call("torch::launch_2", 7, us(93));
    const GrownTrace grown(file, fixture::with_frames);
    CHECK(joined(call_stack(grown.tree, grown.node("torch::launch_2"))) ==
          "models/net.py(5): forward > nn.Module: Block > aten::linear > plain_op > torch::launch");
    CHECK(joined(call_stack(grown.tree, grown.node("cudaLaunchKernel"))) ==
          "models/net.py(5): forward > nn.Module: Block > aten::linear > plain_op");
    CHECK(joined(call_stack(grown.tree, grown.node("main.py(1): main"))) == "");
    CHECK(call_stack(grown.tree, no_node).empty());
}

TEST_CASE("stacks of several kernels: what they share, then how each goes on") {
    CHECK(merged({{"a", "b", "c", "k1"}, {"a", "b", "d", "k2"}}) == R"(["a","b",["c","k1"],["d","k2"]])");
    CHECK(merged({{"a", "k1"}, {"b", "k2"}}) == R"([["a","k1"],["b","k2"]])");
}

TEST_CASE("one stack is flat") {
    CHECK(merged({{"a", "b", "k"}}) == R"(["a","b","k"])");
}

TEST_CASE("each way on is there once, in order of first sight") {
    CHECK(merged({{"a", "k2"}, {"a", "k1"}, {"a", "k2"}}) == R"(["a",["k2"],["k1"]])");
    CHECK(merged({{"a", "k"}, {"a", "k"}}) == R"(["a","k"])");
}

TEST_CASE("the shared part is that of all stacks, not of the first two") {
    CHECK(merged({{"a", "b", "c", "k1"}, {"a", "b", "c", "k2"}, {"a", "x", "k3"}}) ==
          R"(["a",["b","c","k1"],["b","c","k2"],["x","k3"]])");
}

TEST_CASE("no stack is no text; names are JSON strings") {
    CHECK(merged({}) == "");
    CHECK(to_json(CallStackTree{}) == "");
    CHECK(merged({{R"(say "hi")"}}) == R"(["say \"hi\""])");
}

// --- entry points ---

TEST_CASE("a frame below the op that bears its name") {
    const CallStackTree stacks =
        one({"user_code.py(10): my_func", "aten::addmm", "torch/functional.py(5): addmm"});
    CHECK(entry_point(stacks, "aten::addmm") == "torch/functional.py(5): addmm");
}

TEST_CASE("below the op: the first such frame, without regard to case, also of a longer name") {
    const CallStackTree stacks = one({"user_code.py(10): my_func", "aten::ADDmm", "x.py(1): other",
                                      "y.py(2): fast_addMM_impl", "z.py(3): addmm"});
    CHECK(entry_point(stacks, "aten::ADDmm") == "y.py(2): fast_addMM_impl");
}

TEST_CASE("below the op: a frame without a function is held against the name as a whole") {
    CHECK(entry_point(one({"u.py(1): f", "aten::mm", "lib/mm.py"}), "aten::mm") == "lib/mm.py");
    // With one, the file's name does not count.
    CHECK(entry_point(one({"u.py(1): f", "aten::mm", "lib/mm.py(3): g"}), "aten::mm") == "u.py(1): f");
    CHECK(entry_point(one({"u.py(1): f", "aten::mm", "mm_without_python"}), "aten::mm") == "u.py(1): f");
}

TEST_CASE("else the nearest caller") {
    CHECK(entry_of_addmm("user_code.py(10): forward") == "user_code.py(10): forward");
    CHECK(entry_point(one({"a.py(1): f", "b.py(2): g", "torch/_ops.py(10): __call__", "aten::mm"}),
                      "aten::mm") == "b.py(2): g");
}

TEST_CASE("callers need to be Python") {
    CHECK_FALSE(entry_of_addmm("aten::linear").has_value());
    CHECK(entry_point(one({"u.py(1): f", "aten::linear", "aten::addmm"}), "aten::addmm") == "u.py(1): f");
}

TEST_CASE("frames that only pass calls on are none") {
    CHECK(is_wrapper("torch/nn/modules/module.py(5): _call_impl"));
    CHECK(is_wrapper("torch/_ops.py(10): wrapper_custom"));
    CHECK_FALSE(is_wrapper("user_code.py(10): forward"));
    for (const char* const start : {"<built-in method x>", "pybind11_builtins.x", "nn.Module: Linear"})
        CHECK(is_wrapper(std::string(start) + ".py"));
    for (const char* const file :
         {"torch/_ops.py", "torch/nn/modules/module.py", "torch/utils/_contextlib.py",
          "torch/utils/_device.py", "torch/_tensor.py", "torch/functional.py", "torch/overrides.py",
          "torch/_inductor/codecache.py", "torch/_functorch/x.py", "torch/distributed/c10d_logger.py",
          "triton/backends/x.py"}) {
        CAPTURE(file);
        CHECK(is_wrapper("/usr/lib/" + std::string(file) + "(7): anything"));
    }
}

TEST_CASE("functions that only pass calls on are none, in whatever file") {
    for (const char* const function :
         {"__torch_function__", "_call_impl", "_wrapped_call_impl", "decorate_context", "dispatch_wrapper",
          "handle_torch_function", "wrapper", "custom_wrapper", "wrapper_custom", "outer_wrapper"}) {
        CAPTURE(function);
        CHECK_FALSE(entry_of_addmm("mine.py(1): " + std::string(function)).has_value());
        CHECK(entry_of_addmm("mine.py(1): " + std::string(function) + "_2").has_value());
    }
}

TEST_CASE("a frame's function stands behind its last mark") {
    CHECK_FALSE(entry_of_addmm("mine.py(1): f(x): wrapper").has_value());
    CHECK(entry_of_addmm("mine.py(1): wrapper(x): f").has_value());
}

TEST_CASE("only wrapper frames: not found") {
    CHECK_FALSE(entry_point(one({"torch/_ops.py(1): f", "nn.Module: Linear.py", "aten::mm"}), "aten::mm"));
    CHECK_FALSE(entry_point({}, "aten::mm").has_value());
}

TEST_CASE("an op that is not in the stack, but for its number") {
    const CallStackTree stacks = one({"user.py(1): f", "aten::addmm_triton", "k"});
    CHECK(entry_point(stacks, "aten::addmm_triton_340") == "user.py(1): f");
    CHECK_FALSE(entry_point(stacks, "aten::mm").has_value());
    CHECK_FALSE(entry_point(stacks, "aten::mm_12").has_value());
    CHECK_FALSE(entry_point(stacks, "aten::addmm_triton340").has_value());
}

TEST_CASE("of several positions of the op the last counts") {
    const CallStackTree stacks = one({"a.py(1): f", "aten::mm", "b.py(1): g", "aten::mm", "k"});
    CHECK(entry_point(stacks, "aten::mm") == "b.py(1): g");
}

TEST_CASE("branches are read one after the other") {
    const CallStackTree stacks{{"a.py(1): f"}, {{"aten::mm", "k1"}, {"b.py(1): mm", "k2"}}};
    CHECK(entry_point(stacks, "aten::mm") == "b.py(1): mm");
    CHECK(entry_point(stacks, "k1") == "a.py(1): f");
}
