/// Traces with all that the performance tables are made from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/analyze/unified_perf.hpp>

#include "unit/analyze/op_tables_support.hpp"

namespace tracelens::fixture {

using EventNames = std::pair<std::string_view, std::string_view>;

struct PerfTraceOptions {
    ClassRules rules = ClassRules::full;
    bool python_frames = false;
    ModelRegistry registry = {};
    std::vector<EventNames> links = {};  ///< (backward node, forward op), instead of those of the trace
};

struct PerfTrace : GrownTrace {
    ClassRules rules;
    bool python_frames;
    ModelRegistry registry;
    BackwardLinks backward;
    Launchers launchers;
    OpCosts costs;

    explicit PerfTrace(TraceFixture file, PerfTraceOptions options)
        : GrownTrace(file, CallTreeOptions{options.python_frames, OverrunRule::clip}),
          rules(options.rules),
          python_frames(options.python_frames),
          registry(std::move(options.registry)),
          backward(links_of(options.links)),
          launchers(find_launchers(tree, links, {rules, false, {}})),
          costs(tree, registry, cost_rules()) {}
    explicit PerfTrace(TraceFixture file, ClassRules by = ClassRules::full)
        : PerfTrace(std::move(file), PerfTraceOptions{.rules = by}) {}

    CostRules cost_rules() const {
        return rules == ClassRules::reference ? CostRules::reference : CostRules::full;
    }

    std::vector<WorkUnit> units() {
        return find_work_units(tree, backward, costs, {.rules = rules, .python_frames = python_frames});
    }

    PerfInputs inputs() {
        PerfInputs inputs{
            .tree = tree, .links = links, .backward = backward, .launchers = launchers, .costs = costs};
        inputs.rules = rules;
        return inputs;
    }

  private:
    BackwardLinks links_of(const std::vector<EventNames>& names) const {
        const bool reference = rules == ClassRules::reference;
        if (names.empty())
            return link_backward(trace, reference ? BackwardRule::reference : BackwardRule::flows);
        std::vector<std::pair<EventId, EventId>> pairs;
        for (const EventNames& each : names) pairs.emplace_back(node(each.first), node(each.second));
        return BackwardLinks::from(std::move(pairs));
    }
};

/// Arguments of the next op: `count` bf16 tensors of these shapes.
inline TraceFixture& bf16(TraceFixture& file, std::string_view dims, std::size_t count,
                          std::string_view concrete = "") {
    std::string types;
    std::string strides;
    for (std::size_t i = 0; i < count; ++i) {
        types += (i == 0 ? "[" : ",") + std::string(R"("c10::BFloat16")");
        strides += i == 0 ? "[[1]" : ",[1]";
    }
    file.with_arg("Input Dims", dims).with_arg("Input type", types + "]");
    file.with_arg("Input Strides", strides + "]");
    if (!concrete.empty()) file.with_arg("Concrete Inputs", concrete);
    return file;
}

/// A product of 64 x 32 and 32 x 16, which takes 65,536 operations and 7,168 bytes.
inline TraceFixture& mm_shapes(TraceFixture& file) {
    return bf16(file, "[[64,32],[32,16]]", 2);
}

/// 64 tokens of 32: 4,096 bytes there, and as many back.
inline TraceFixture& dispatch_shapes(TraceFixture& file) {
    return bf16(file, "[[64,32]]", 1);
}

/// Attention on 128 tokens with 4 heads of 64, causal.
inline TraceFixture& attention_shapes(TraceFixture& file) {
    return bf16(file, "[[1,128,4,64],[1,128,4,64],[1,128,4,64]]", 3,
                R"(["","","","0.0","0.125","True","-1","-1"])");
}

/// The same for its gradient, which has the gradient of the output in front.
inline TraceFixture& attention_gradient_shapes(TraceFixture& file) {
    return bf16(file, "[[1,128,4,64],[1,128,4,64],[1,128,4,64],[1,128,4,64]]", 4);
}

inline const std::string wrapper_prefix = "autograd::engine::evaluate_function: ";

/// A wrapper of `length` on the autograd thread around an op of the same name; times in microseconds.
inline void backward_node(TraceFixture& file, const std::string& name, std::int64_t start,
                          std::int64_t length, std::int64_t sequence = no_number) {
    file.on_thread(100, 2);
    if (sequence != no_number) file.with_sequence_number(sequence);
    file.op(wrapper_prefix + name, us(start) - 2, us(start + length) + 2);
    file.op(name, us(start) - 1, us(start + length) + 1);
}

/// A platform with these peaks for bf16 products, in TFLOP/s, and this bandwidth in GB/s.
inline Platform platform_of(std::optional<double> matrix_bf16, std::optional<double> mem_bw_gbps) {
    Platform platform;
    platform.mem_bw_gbps = mem_bw_gbps;
    platform.peaks[3] = matrix_bf16;
    return platform;
}

/// `a*` priced by its own model, `a<b` through b, `a->k` a leftover kernel, `a` none of these.
inline std::string units_text(PerfTrace& trace) {
    std::string text;
    for (const WorkUnit& unit : trace.units()) {
        if (!text.empty()) text += " | ";
        text += trace.tree.name_text(unit.node);
        if (unit.is_leftover()) text += "->" + std::string(trace.trace.name_of(unit.kernel));
        if (unit.forward != no_node) text += "<" + std::string(trace.tree.name_text(unit.forward));
        if (unit.has_model && unit.forward == no_node) text += "*";
        CHECK((unit.has_model || unit.forward == no_node));
    }
    return text;
}

inline std::string units(TraceFixture file, PerfTraceOptions options = {}) {
    PerfTrace trace(std::move(file), std::move(options));
    return units_text(trace);
}

inline std::string units(TraceFixture file, ClassRules rules) {
    return units(std::move(file), PerfTraceOptions{.rules = rules});
}

/// Both rules find the same units.
template <class MakeFile>
void check_units(MakeFile make_file, std::string_view expected) {
    for (const ClassRules rules : both_rules) CHECK(units(make_file(), rules) == expected);
}

}  // namespace tracelens::fixture
