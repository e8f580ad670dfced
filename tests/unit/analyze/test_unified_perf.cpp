// One row a unit of work: names, categories, times and costs (spec 02, sections 12.2, 12.3, 22.2 and 22.3).

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "unit/analyze/perf_support.hpp"

using namespace tracelens;
using fixture::add_op;
using fixture::backward_node;
using fixture::both_rules;
using fixture::cell_text;
using fixture::column_text;
using fixture::dispatch_shapes;
using fixture::mm_shapes;
using fixture::number_at;
using fixture::PerfTrace;
using fixture::PerfTraceOptions;
using fixture::platform_of;
using fixture::TraceFixture;
using fixture::us;

namespace {

constexpr std::string_view kernel_time = "Kernel Time (\xc2\xb5s)";
constexpr std::string_view roofline_time = "Roofline Time (\xc2\xb5s)";

Table rows(PerfTrace& trace) {
    return unified_perf_table(trace.inputs(), trace.units());
}

Table rows(TraceFixture file, PerfTraceOptions options = {}) {
    PerfTrace trace(std::move(file), std::move(options));
    return rows(trace);
}

Table rows(TraceFixture file, ClassRules rules) {
    return rows(std::move(file), PerfTraceOptions{.rules = rules});
}

Table rows_on(TraceFixture file, ClassRules rules, const Platform& platform) {
    PerfTrace trace(std::move(file), rules);
    PerfInputs inputs = trace.inputs();
    inputs.platform = &platform;
    return unified_perf_table(inputs, trace.units());
}

TraceFixture& add_mm(TraceFixture& file, std::int64_t start, std::int64_t length,
                     std::string_view kernel = "gemm") {
    return add_op(mm_shapes(file), "aten::mm", start, length, kernel);
}

TraceFixture one_mm(std::string_view kernel = "gemm") {
    TraceFixture file;
    add_mm(file, 0, 10, kernel);
    return file;
}

/// An op with a kernel of its own and a modelled op, one call and one graph launch without an op.
TraceFixture odd_kernels() {
    TraceFixture file;
    file.with_arg("Input Dims", "[[5]]").op("my::parent", 0, us(50)).launched("own_k", us(101), us(109));
    mm_shapes(file).op("aten::mm", us(20), us(40)).launched("gemm", us(125), us(135));
    file.call("cudaLaunchKernel", us(60), us(63), 1).kernel("orphan_k", us(160), us(163), 1);
    file.call("cudaGraphLaunch", us(70), us(75), 2);
    file.kernel("g1", us(170), us(175), 2).kernel("g2", us(175), us(178), 2);
    return file;
}

/// A forward op and a backward node without model that is linked to it, with two kernels of 10 and 20 us.
TraceFixture dispatched() {
    TraceFixture file;
    file.op("first", 0, us(1));
    dispatch_shapes(file).with_sequence_number(5).op("MoEDispatch", us(2), us(4));
    backward_node(file, "Back", 100, 50, 5);
    file.launched("b1", us(210), us(220)).launched("b2", us(220), us(240));
    return file;
}

/// Rows that have a time, but no figures of a cost.
void check_unpriced(const Table& table, std::string_view time) {
    REQUIRE(table.row_count() == 1);
    CHECK(column_text(table, kernel_time) == time);
    for (const std::string_view column :
         {"GFLOPS", "TFLOPS/s", "Data Moved (MB)", "FLOPS/Byte", "TB/s", "Compute Spec", "perf_params"}) {
        CAPTURE(column);
        CHECK(column_text(table, column) == "-");
    }
}

}  // namespace

TEST_CASE("unified rows: what leftover kernels are called, and their numbers (section 22.2)") {
    for (const ClassRules rules : both_rules) {
        const Table table = rows(odd_kernels(), rules);
        CHECK(column_text(table, "name") ==
              "aten::mm | cudaLaunchKernel->orphan_k (Synthetic Op) | cudaGraphLaunch->g1 (Synthetic Op) | "
              "cudaGraphLaunch->g2 (Synthetic Op) | my::parent->own_k (Synthetic Op)");
        CHECK(column_text(table, "UID") == "3 | 11 | 12 | 13 | 14");
        CHECK(column_text(table, kernel_time) == "10.0 | 3.0 | 5.0 | 3.0 | 8.0");
        CHECK(column_text(table, "has_perf_model") == "True | False | False | False | False");
        CHECK(column_text(table, "op category") == "GEMM | other | other | other | other");
        CHECK(column_text(table, "Input Dims") == "[[64,32],[32,16]] | - | - | - | [[5]]");
    }
}

TEST_CASE("unified rows: leftover kernels have no time on the host; in the reference all of their call's") {
    CHECK(column_text(rows(odd_kernels(), ClassRules::reference), "duration_us") ==
          "20.0 | 3.0 | 5.0 | 5.0 | 50.0");
    CHECK(column_text(rows(odd_kernels(), ClassRules::full), "duration_us") == "20.0 | - | - | - | -");
}

// Numbers of leftover kernels go on behind the largest one, that of pseudo ops included (section 12.2).
TEST_CASE("unified rows: no number stands for two rows" * doctest::may_fail()) {
    PerfTrace trace(odd_kernels());
    const NodeId mm = trace.node("aten::mm");
    const NodeId overlay = trace.tree.add_overlay({.name = trace.tree.name(mm), .args = trace.tree.args(mm)});
    trace.tree.insert_above(mm, overlay);
    trace.tree.refresh();
    trace.launchers = find_launchers(trace.tree, trace.links);
    const Table table = rows(trace);
    REQUIRE(table.row_count() == 5);
    constexpr std::array<std::string_view, 1> uid = {"UID"};
    CHECK(table.group_by(uid).group_count() == table.row_count());
}

TEST_CASE("unified rows: launches by the driver API") {
    const auto file = [] {
        TraceFixture made;
        made.op("my::op", 0, us(50)).driver_call("cuLaunchKernel", us(1), us(2), 1);
        made.kernel("k", us(100), us(110), 1);
        return made;
    };
    CHECK(column_text(rows(file(), ClassRules::full), "name") == "my::op");
    CHECK(column_text(rows(file(), ClassRules::reference), "name") == "my::op->k (Synthetic Op)");
}

TEST_CASE("unified rows: the category of a leftover kernel is that of its call's first kernel") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        file.op("my::parent", 0, us(50));
        file.launched("void at::native::elementwise_kernel<4>(x)", us(101), us(102));
        file.launched("void at::native::reduce_kernel<4>(x)", us(103), us(104));
        mm_shapes(file).op("aten::mm", us(20), us(40)).launched("gemm", us(125), us(135));
        file.launched("void at::native::reduce_kernel<4>(x)", us(200), us(210));
        CHECK(column_text(rows(std::move(file), rules), "op category") ==
              "GEMM | reduce | elementwise | elementwise");
    }
}

TEST_CASE("unified rows: the category of a leftover kernel by its composed name") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        file.op("aiter::fused_moe_", 0, us(50));
        file.launched("_fused_dynamic_mxfp4_quant_moe_sort_kernel", us(101), us(102));
        mm_shapes(file).op("aten::mm", us(20), us(40)).launched("gemm", us(125), us(135));
        CHECK(column_text(rows(std::move(file), rules), "op category") == "GEMM | MoE_aux");
    }
}

TEST_CASE("unified rows: categories of ops by name and by kernel") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        add_op(file, "aten::convolution", 0, 5, "conv");
        add_op(file, "aten::gelu", 100, 5, "void at::native::vectorized_elementwise_kernel<4>(x)");
        add_op(file, "triton_poi_fused_add_0", 200, 5, "triton");
        add_op(file, "my::op", 300, 5, "some_user_kernel");
        CHECK(column_text(rows(std::move(file), rules), "op category") ==
              "CONV_fwd | elementwise | triton | other");
    }
}

TEST_CASE("unified rows: the category of a program's own model") {
    ModelRegistry registry;
    const CostFunction cost = registry.find("aten::mm")->cost;
    registry.add("my::mm", {cost, "mine", "", "", false});
    TraceFixture file;
    add_op(mm_shapes(file), "my::mm", 0, 10);
    const Table table = rows(std::move(file), {.registry = registry});
    CHECK(column_text(table, "op category") == "mine");
    CHECK(column_text(table, "GFLOPS") == "6.5536e-05");
}

// Models of extensions override the registry of categories (spec 02, section 6.2; spec 03, section 3.4.6).
TEST_CASE("unified rows: the category of a replaced model") {
    ModelRegistry registry;
    registry.add("aten::mm", {registry.find("aten::mm")->cost, "mine", "", "", false});
    for (const ClassRules rules : both_rules)
        CHECK(column_text(rows(one_mm(), {.rules = rules, .registry = registry}), "op category") == "mine");
}

TEST_CASE("unified rows: metrics and parameters of a modelled op") {
    const Platform platform = platform_of(708, 5300);
    for (const ClassRules rules : both_rules) {
        const Table table = rows_on(one_mm(), rules, platform);
        CHECK(number_at(table, "GFLOPS", 0) == doctest::Approx(65536 / 1e9));
        CHECK(number_at(table, "Data Moved (MB)", 0) == 7168.0 / 1048576);
        CHECK(number_at(table, "TFLOPS/s", 0) == doctest::Approx(65536 / 1e12 / 10e-6));
        CHECK(column_text(table, "Compute Spec") == "matrix_bf16");
        CHECK(column_text(table, "Roofline Bound") == "MEMORY_BOUND");
        CHECK(number_at(table, roofline_time, 0) == doctest::Approx(7168 / 5300e9 * 1e6));
    }
    CHECK(column_text(rows(one_mm(), ClassRules::reference), "perf_params") ==
          "{'M': 64, 'N': 16, 'K': 32, 'bias': False, 'stride_A': (1,), 'stride_B': (1,), "
          "'dtype_A_B': ('c10::BFloat16', 'c10::BFloat16'), 'B': 1}");
    CHECK(column_text(rows(one_mm(), ClassRules::full), "perf_params") ==
          R"({"M":64,"N":16,"K":32,"bias":false,"stride_A":[1],"stride_B":[1],)"
          R"("dtype_A_B":["c10::BFloat16","c10::BFloat16"],"B":1})");
}

TEST_CASE("unified rows: operand layout from the names of kernels") {
    const std::string params = column_text(rows(one_mm("nvjet_tst_128x8_TNT")), "perf_params");
    CHECK(params.ends_with(R"("B":1,"transpose":[true,false]})"));
}

// The parser fails on such a name, and with it the row (spec 03, sections 3.1.3, 3.5 and 3.6.1).
TEST_CASE("unified rows: a malformed kernel name costs the row its figures in the reference") {
    check_unpriced(rows(one_mm("nvjet_x_T"), ClassRules::reference), "10.0");
}

TEST_CASE("unified rows: a malformed kernel name says nothing about the layout") {
    const std::string params = column_text(rows(one_mm("nvjet_x_T")), "perf_params");
    CHECK(params.ends_with(R"("B":1})"));
}

TEST_CASE("unified rows: arguments that a model cannot use leave the time of the kernels") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        add_op(file, "aten::mm", 0, 10);
        const Table table = rows(std::move(file), rules);
        check_unpriced(table, "10.0");
        CHECK(column_text(table, "has_perf_model") == "True");
        CHECK(column_text(table, "op category") == "GEMM");
    }
}

TEST_CASE("unified rows: what a model does not cover keeps its time, and is left out by the reference") {
    const auto file = [] {
        TraceFixture made;
        add_op(made, "aten::native_instance_norm_backward", 0, 10);
        return made;
    };
    const Table full = rows(file(), ClassRules::full);
    check_unpriced(full, "10.0");
    CHECK(column_text(full, "has_perf_model") == "True");
    CHECK(rows(file(), ClassRules::reference).row_count() == 0);
}

TEST_CASE("unified rows: a zero in the platform file costs the row its figures in the reference") {
    for (const Platform& platform : {platform_of(0, 5300), platform_of(708, 0)}) {
        check_unpriced(rows_on(one_mm(), ClassRules::reference, platform), "10.0");
        const Table full = rows_on(one_mm(), ClassRules::full, platform);
        CHECK(column_text(full, "GFLOPS") == "6.5536e-05");
        CHECK(column_text(full, "Roofline Bound") == "-");
    }
}

TEST_CASE("unified rows: a platform without peaks gives no rooflines") {
    for (const ClassRules rules : both_rules) {
        const Table table = rows_on(one_mm(), rules, platform_of(std::nullopt, 5300));
        CHECK(column_text(table, "GFLOPS") == "6.5536e-05");
        for (const std::string_view column : {roofline_time.data(), "Roofline Bound", "Pct Roofline"})
            CHECK(column_text(table, column) == "-");
    }
}

TEST_CASE("unified rows: work without a model has a time") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        add_op(file, "my::op", 0, 10);
        const Table table = rows(std::move(file), rules);
        check_unpriced(table, "10.0");
        CHECK(column_text(table, "has_perf_model") == "False");
    }
}

TEST_CASE("unified rows: kernel time is the union, collectives of modelled ops included") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        file.op("my::two", 0, us(50)).launched("a_k", us(101), us(111));
        file.on_stream(0, 8).launched("b_k", us(106), us(126)).on_stream(0, 7);
        dispatch_shapes(file).op("MoEDispatch", us(200), us(250)).launched("ncclDevKernel", us(310), us(340));
        CHECK(column_text(rows(std::move(file), rules), kernel_time) == "25.0 | 30.0");
    }
}

TEST_CASE("unified rows: excluded GPU events take no time") {
    TraceFixture file;
    add_mm(file, 0, 10);
    file.launched("late", us(300), us(310));
    PerfTrace trace(std::move(file));
    std::vector<bool> excluded(trace.trace.size(), false);
    excluded[trace.node("gemm")] = true;
    PerfInputs inputs = trace.inputs();
    inputs.excluded = &excluded;
    const Table table = unified_perf_table(inputs, trace.units());
    CHECK(column_text(table, kernel_time) == "0.0 | 10.0");
    CHECK(cell_text(table, "TFLOPS/s", 0) == "-");
}

// --- backward ops ---

TEST_CASE("unified rows: a backward op has the category, cost and parameters of its forward op's gradient") {
    for (const ClassRules rules : both_rules) {
        const Table table = rows(dispatched(), rules);
        CHECK(column_text(table, "name") == "Back");
        CHECK(column_text(table, "op category") == "MoE_comm_bwd");
        CHECK(column_text(table, "has_perf_model") == "True");
        CHECK(column_text(table, kernel_time) == "30.0");
        CHECK(column_text(table, "duration_us") == "50.002");
        CHECK(column_text(table, "Data Moved (MB)") == "0.00390625");
        CHECK(column_text(table, "perf_params") == (rules == ClassRules::full
                                                        ? R"({"num_tokens":64,"hidden_dim":32,"bpe":2})"
                                                        : "{'num_tokens': 64, 'hidden_dim': 32, 'bpe': 2}"));
        CHECK(column_text(table, "Input Dims") == "-");
    }
}

TEST_CASE("unified rows: the time of a priced backward op is that of all backward work of its forward op") {
    TraceFixture file;
    file.op("first", 0, us(1));
    dispatch_shapes(file).op("MoEDispatch", us(2), us(4));
    backward_node(file, "A", 100, 50);
    file.launched("a", us(210), us(220));
    backward_node(file, "B", 200, 50);
    file.launched("b", us(310), us(330));
    const std::string a = fixture::wrapper_prefix + "A";
    const std::string b = fixture::wrapper_prefix + "B";
    const Table table = rows(
        std::move(file), {.rules = ClassRules::reference, .links = {{a, "MoEDispatch"}, {b, "MoEDispatch"}}});
    CHECK(column_text(table, "name") == "A | B");
    CHECK(column_text(table, kernel_time) == "30.0 | 30.0");
}

TEST_CASE("unified rows: a linked op whose gradient has no cost keeps the time of its own kernels") {
    for (const ClassRules rules : both_rules) {
        ModelRegistry registry;
        const auto fails = [](const OpArguments&, Pass, CostRules) { return Cost::bad("no"); };
        registry.add("MoEDispatch", {fails, "mine_fwd", "mine_bwd", "", false});
        PerfTrace trace(dispatched(), {.rules = rules, .registry = registry});
        const std::vector<WorkUnit> units = {{trace.node("Back"), no_event, trace.node("MoEDispatch"), true}};
        const Table table = unified_perf_table(trace.inputs(), units);
        check_unpriced(table, "30.0");
        CHECK(column_text(table, "op category") == "mine_bwd");
    }
}

TEST_CASE("unified rows: forward and backward attention (section 22.3)") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        fixture::attention_shapes(file).with_sequence_number(5);
        file.op("flash_attn::_flash_attn_forward", us(2), us(4)).launched("fwd_k", us(103), us(133));
        backward_node(file, "FlashAttnBackward", 200, 50, 5);
        fixture::attention_gradient_shapes(file).op("flash_attn::_flash_attn_backward", us(201), us(249));
        file.launched("bwd_k", us(310), us(370));
        const Table table = rows(std::move(file), rules);
        CHECK(column_text(table, "name") ==
              "flash_attn::_flash_attn_forward | flash_attn::_flash_attn_backward");
        CHECK(column_text(table, "op category") == "SDPA_fwd | SDPA_bwd");
        CHECK(column_text(table, kernel_time) == "30.0 | 60.0");
    }
}
