// Every use of the ops of one category (spec 02, sections 11 and 22.3): which rows are in which sheet.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "unit/analyze/sheet_support.hpp"

using namespace tracelens;
using fixture::add_mm;
using fixture::add_op;
using fixture::attention_gradient_shapes;
using fixture::attention_shapes;
using fixture::backward_node;
using fixture::bf16;
using fixture::both_rules;
using fixture::cell_text;
using fixture::column_text;
using fixture::dispatch_shapes;
using fixture::PerfTrace;
using fixture::PerfTraceOptions;
using fixture::platform_of;
using fixture::sheet_named;
using fixture::sheet_names;
using fixture::sheet_rows;
using fixture::Sheets;
using fixture::sheets_of;
using fixture::sheets_on;
using fixture::TraceFixture;
using fixture::us;

namespace {

/// Forward attention of 30 us, and its gradient of 60 us, an op with a model of its own (section 22.3).
TraceFixture attention(std::string_view backward) {
    TraceFixture file;
    file.op("first", 0, us(1));
    attention_shapes(file).with_sequence_number(5);
    file.op("flash_attn::_flash_attn_forward", us(2), us(4)).launched("fwd_k", us(103), us(133));
    backward_node(file, "FlashAttnBackward", 200, 50, 5);
    attention_gradient_shapes(file).op(backward, us(201), us(249)).launched("bwd_k", us(310), us(370));
    return file;
}

/// A forward op of 64 tokens that took 10 us, and a backward node of 20 us without a model, linked to it.
TraceFixture with_gradient(std::string_view forward) {
    TraceFixture file;
    file.op("first", 0, us(1));
    dispatch_shapes(file).with_sequence_number(5).op(forward, us(2), us(4));
    file.launched("fwd_k", us(103), us(113));
    backward_node(file, "Back", 200, 50, 5);
    file.launched("bwd_k", us(310), us(330));
    return file;
}

TraceFixture& conv_shapes(TraceFixture& file, bool backward) {
    const std::string settings = R"([1,1]","[0,0]","[1,1]","False","[0,0]","1"])";
    const std::string dims = backward ? "[[1,8,6,6],[1,4,8,8],[8,4,3,3]]" : "[[1,4,8,8],[8,4,3,3],[]]";
    const std::string front = backward ? R"(["","","","",")" : R"(["","","",")";
    return bf16(file, dims, 3, front + settings);
}

/// Names of the sheets of a trace with one op that records nothing.
std::string sheets_with(std::string_view op) {
    TraceFixture file;
    file.op(op, 0, us(1));
    return sheet_names(sheets_of(std::move(file)));
}

}  // namespace

TEST_CASE("sheets: a trace without modelled ops has none") {
    CHECK(sheet_names(sheets_of(TraceFixture{})) == "");
    for (const std::string_view op : {"my::op", "FlashAttnFuncBackward", "TokenPermuteMaskMap",
                                      "triton_poi_fused_add_0", "aten::cudnn_convolution"})
        CHECK(sheets_with(op) == "");
}

TEST_CASE("sheets: one for some categories, forward and backward for the others") {
    CHECK(sheets_with("aten::mm") == "GEMM");
    CHECK(sheets_with("aten::copy_") == "UnaryElementwise");
    CHECK(sheets_with("aten::add") == "BinaryElementwise");
    CHECK(sheets_with("aten::layer_norm") == "Normalization");
    CHECK(sheets_with("aten::native_layer_norm_backward") == "Normalization");
    CHECK(sheets_with("aten::convolution") == "CONV_fwd");
    CHECK(sheets_with("aten::convolution_backward") == "CONV_bwd");
    CHECK(sheets_with("primus_turbo::grouped_gemm") == "GroupedGEMM_fwd");
    CHECK(sheets_with("aten::sum") == "Reduce_fwd");
}

TEST_CASE("sheets: the order of the families, whatever that of the ops; a program's own come last") {
    ModelRegistry registry;
    registry.add("my::op", {registry.find("aten::mm")->cost, "mine", "", "mine", false});
    TraceFixture file;
    std::int64_t at = 0;
    for (const std::string_view op :
         {"my::op", "aten::sum", "aten::layer_norm", "aten::copy_", "CrossEntropyFunction", "FusedRoPEFunc",
          "MambaSplitConv1dScanCombinedFn", "MoEDispatch", "primus_turbo::grouped_gemm", "aten::add",
          "aten::convolution", "FlashAttnFunc", "aten::mm"}) {
        file.op(op, us(at), us(at + 1));
        ++at;
    }
    CHECK(sheet_names(sheets_of(std::move(file), {.registry = registry})) ==
          "GEMM | SDPA_fwd | CONV_fwd | BinaryElementwise | GroupedGEMM_fwd | MoE_comm_fwd | SSM_fwd | "
          "RoPE_fwd | CrossEntropy_fwd | UnaryElementwise | Normalization | Reduce_fwd | mine_fwd");
}

TEST_CASE("sheets: nested modelled ops are rows of their own, with the same kernels") {
    for (const ClassRules rules : both_rules) {
        constexpr std::string_view values = R"(["","[64]","","","1e-05"])";
        TraceFixture file;
        bf16(file, "[[8,64],[],[64],[64]]", 4, values).op("aten::layer_norm", 0, us(50));
        bf16(file, "[[8,64],[],[64],[64]]", 4, values).op("aten::native_layer_norm", us(1), us(49));
        file.launched("norm_k", us(110), us(120));
        CHECK(sheet_rows(sheets_of(std::move(file), rules), "Normalization") ==
              "aten::layer_norm 10.0 | aten::native_layer_norm 10.0");
    }
}

TEST_CASE("sheets: ops without kernels have no time, no rates and an empty list of kernels") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        bf16(file, "[[8,8],[8,8]]", 2).op("aten::mul", 0, us(1));
        const Sheets sheets = sheets_of(std::move(file), rules);
        CHECK(sheet_rows(sheets, "BinaryElementwise") == "aten::mul 0.0");
        const Table& table = sheet_named(sheets, "BinaryElementwise");
        CHECK(column_text(table, "GFLOPS_first") == "6.4e-08");
        CHECK(column_text(table, "TFLOPS/s_mean") == "-");
        CHECK(column_text(table, "TB/s_max") == "-");
        CHECK(column_text(table, "kernel_details__summarize_kernel_stats") == "[]");
        CHECK(column_text(table, "trunc_kernel_details") == "-");
    }
}

TEST_CASE("sheets: annotations that bear the name of an op count in the reference only") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        fixture::mm_shapes(file).annotation("aten::mm", 0, us(5));
        add_mm(file, 100, 10);
        const Table table = sheet_named(sheets_of(std::move(file), rules), "GEMM");
        CHECK(column_text(table, "name_count") == (rules == ClassRules::reference ? "2" : "1"));
    }
}

TEST_CASE("sheets: kernels by start, collectives included") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        dispatch_shapes(file).op("MoEDispatch", 0, us(50)).launched("pack_k", us(140), us(150));
        file.launched("ncclDevKernel", us(130), us(140));
        const Sheets sheets = sheets_of(std::move(file), rules);
        CHECK(sheet_rows(sheets, "MoE_comm_fwd") == "MoEDispatch 20.0");
        CHECK(cell_text(sheet_named(sheets, "MoE_comm_fwd"), "trunc_kernel_details", 0)
                  .starts_with(R"([{"name":"ncclDevKernel")"));
    }
}

TEST_CASE("sheets: ops without a cost are left out by the reference, and keep their time otherwise") {
    const auto file = [] {
        TraceFixture made;
        add_op(made, "aten::mm", 0, 10);                              // bad arguments
        add_op(made, "aten::native_instance_norm_backward", 100, 5);  // not covered
        return made;
    };
    CHECK(sheet_names(sheets_of(file(), ClassRules::reference)) == "");
    const Sheets full = sheets_of(file(), ClassRules::full);
    CHECK(sheet_rows(full, "GEMM") == "aten::mm 10.0");
    CHECK(sheet_rows(full, "Normalization") == "aten::native_instance_norm_backward 5.0");
}

TEST_CASE("sheets: a zero in the platform file costs the reference the row") {
    for (const Platform& platform : {platform_of(0, 5300), platform_of(708, 0)}) {
        TraceFixture file;
        add_mm(file, 0, 10);
        TraceFixture same;
        add_mm(same, 0, 10);
        CHECK(sheet_names(sheets_on(std::move(file), ClassRules::reference, platform)) == "");
        const Table full = sheet_named(sheets_on(std::move(same), ClassRules::full, platform), "GEMM");
        CHECK(column_text(full, "GFLOPS_first") == "6.5536e-05");
        CHECK_FALSE(full.find_column("Roofline Bound_first").has_value());
    }
}

// The parser fails on such a name, and with it the row (spec 03, sections 3.1.3, 3.5 and 3.6.1).
TEST_CASE("sheets: a malformed kernel name costs the reference the row") {
    TraceFixture file;
    add_mm(file, 0, 10, "nvjet_x_T");
    CHECK(sheet_names(sheets_of(std::move(file), ClassRules::reference)) == "");
}

// --- backward ---

TEST_CASE("sheets: a forward op's gradient is a row with its name, its arguments and the backward kernels") {
    for (const ClassRules rules : both_rules) {
        const Sheets sheets = sheets_of(with_gradient("MoEDispatch"), rules);
        CHECK(sheet_names(sheets) == "MoE_comm_fwd | MoE_comm_bwd");
        CHECK(sheet_rows(sheets, "MoE_comm_fwd") == "MoEDispatch 10.0");
        CHECK(sheet_rows(sheets, "MoE_comm_bwd") == "MoEDispatch 20.0");
        const Table& table = sheet_named(sheets, "MoE_comm_bwd");
        CHECK(column_text(table, "UID_first") == "1");
        CHECK(column_text(table, "Input Dims_first") == "[[64,32]]");
        CHECK(cell_text(table, "trunc_kernel_details", 0).starts_with(R"([{"name":"bwd_k")"));
    }
}

TEST_CASE("sheets: no gradient for ops that are linked to none, and for gradients without a cost") {
    for (const ClassRules rules : both_rules) {
        TraceFixture unlinked;
        add_op(dispatch_shapes(unlinked), "MoEDispatch", 0, 10);
        CHECK(sheet_names(sheets_of(std::move(unlinked), rules)) == "MoE_comm_fwd");
        TraceFixture file = with_gradient("FusedRoPEFunc");
        CHECK(sheet_rows(sheets_of(std::move(file), rules), "RoPE_bwd") == "");
    }
}

TEST_CASE("sheets: links of ops below do not make a gradient of the op itself") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        dispatch_shapes(file).op("MoEDispatch", 0, us(50)).op("inner", us(1), us(2));
        backward_node(file, "Back", 200, 50);
        file.launched("bwd_k", us(310), us(330));
        const std::string wrapper = fixture::wrapper_prefix + "Back";
        const Sheets sheets = sheets_of(std::move(file), {.rules = rules, .links = {{wrapper, "inner"}}});
        CHECK(sheet_names(sheets) == "MoE_comm_fwd");
    }
}

TEST_CASE("sheets: families of one sheet have no gradients") {
    for (const ClassRules rules : both_rules) {
        const Sheets sheets = sheets_of(with_gradient("aten::copy_"), rules);
        for (const CategorySheet& sheet : sheets) CHECK(sheet.name == "UnaryElementwise");
    }
}

TEST_CASE("sheets: no gradient of vLLM's attention") {
    ModelRegistry registry;
    const CostFunction cost = registry.find("MoEDispatch")->cost;
    for (const char* const name : {"vllm::unified_attention_with_output", "my::attention"})
        registry.add(name, {cost, "InferenceAttention", "", "InferenceAttention", false});
    for (const ClassRules rules : both_rules) {
        const PerfTraceOptions options{.rules = rules, .registry = registry};
        CHECK(sheet_names(sheets_of(with_gradient("vllm::unified_attention_with_output"), options)) ==
              "InferenceAttention_fwd");
        CHECK(sheet_names(sheets_of(with_gradient("my::attention"), options)) ==
              "InferenceAttention_fwd | InferenceAttention_bwd");
    }
}

TEST_CASE("sheets: attention in the reference (section 22.3)") {
    const Sheets sheets = sheets_of(attention("flash_attn::_flash_attn_backward"), ClassRules::reference);
    CHECK(sheet_rows(sheets, "SDPA_fwd") ==
          "flash_attn::_flash_attn_backward 60.0 | flash_attn::_flash_attn_forward 30.0");
    CHECK(sheet_rows(sheets, "SDPA_bwd") == "flash_attn::_flash_attn_forward 60.0");
    const Table& backward = sheet_named(sheets, "SDPA_bwd");
    const Table& forward = sheet_named(sheets, "SDPA_fwd");
    CHECK(column_text(backward, "UID_first") == "1");
    CHECK(fixture::number_at(backward, "GFLOPS_first", 0) > fixture::number_at(forward, "GFLOPS_first", 1));
}

TEST_CASE("sheets: backward ops with a model of their own are in the backward sheet") {
    for (const std::string_view op : {"flash_attn::_flash_attn_backward", "aiter::mha_bwd"}) {
        const Sheets sheets = sheets_of(attention(op), ClassRules::full);
        CHECK(sheet_rows(sheets, "SDPA_fwd") == "flash_attn::_flash_attn_forward 30.0");
        CHECK(sheet_rows(sheets, "SDPA_bwd").find(std::string(op) + " 60.0") != std::string::npos);
    }
}

// "Move every row whose op category ends in `_bwd` to the bwd sheet and list a kernel once" (section 11.3).
TEST_CASE("sheets: backward kernels are listed once") {
    const Sheets sheets = sheets_of(attention("flash_attn::_flash_attn_backward"), ClassRules::full);
    CHECK(sheet_rows(sheets, "SDPA_bwd") == "flash_attn::_flash_attn_backward 60.0");
}

// "Omit a linked backward row when a deeper op has its own model" (section 11.3).
TEST_CASE("sheets: no gradient of an op whose backward node runs modelled ops") {
    const auto file = [] {
        TraceFixture made;
        made.op("first", 0, us(1));
        bf16(made, "[[8,64],[],[]]", 1, R"(["","[-1]","False"])").with_sequence_number(5);
        made.op("aten::mean", us(2), us(4)).launched("mean_k", us(103), us(113));
        backward_node(made, "MeanBackward1", 200, 50, 5);
        bf16(made, "[[8,64],[]]", 2).op("aten::div", us(201), us(249)).launched("div_k", us(310), us(330));
        return made;
    };
    CHECK(sheet_rows(sheets_of(file(), ClassRules::reference), "Reduce_bwd") == "aten::mean 20.0");
    CHECK(sheet_rows(sheets_of(file(), ClassRules::full), "Reduce_bwd") == "");
}

TEST_CASE("sheets: convolutions and their gradients, which are ops of their own") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        file.op("first", 0, us(1));
        conv_shapes(file, false).with_sequence_number(5).op("aten::convolution", us(2), us(4));
        file.launched("fwd_k", us(103), us(113));
        backward_node(file, "ConvolutionBackward0", 200, 50, 5);
        conv_shapes(file, true).op("aten::convolution_backward", us(201), us(249));
        file.launched("bwd_k", us(310), us(330));
        const Sheets sheets = sheets_of(std::move(file), rules);
        CHECK(sheet_rows(sheets, "CONV_fwd") == "aten::convolution 10.0");
        CHECK(sheet_rows(sheets, "CONV_bwd") == "aten::convolution_backward 20.0");
        CHECK(fixture::number_at(sheet_named(sheets, "CONV_bwd"), "GFLOPS_first", 0) > 0);
    }
}

TEST_CASE("sheets: rows that are moved stand below the gradients, in their order") {
    for (const ClassRules rules : both_rules) {
        ModelRegistry registry;
        registry.add(
            "flash_attn::_flash_attn_varlen_backward",
            {registry.find("flash_attn::_flash_attn_backward")->cost, "SDPA_bwd", "SDPA_bwd", "SDPA", false});
        TraceFixture file = attention("other");
        file.on_thread(100, 1);
        add_op(attention_gradient_shapes(file), "flash_attn::_flash_attn_varlen_backward", 1000, 70);
        bf16(file, "[[2,128,4,64],[2,128,4,64],[2,128,4,64],[2,128,4,64]]", 4);
        add_op(file, "flash_attn::_flash_attn_varlen_backward", 1200, 80);
        CHECK(sheet_rows(sheets_of(std::move(file), {.rules = rules, .registry = registry}), "SDPA_bwd") ==
              "flash_attn::_flash_attn_forward 60.0 | flash_attn::_flash_attn_varlen_backward 80.0 | "
              "flash_attn::_flash_attn_varlen_backward 70.0");
    }
}
