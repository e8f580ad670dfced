// Rates, intensity and rooflines of one execution (spec 03, section 3.2; spec 02, section 10).

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/analyze/op_metrics.hpp>

#include "unit/analyze/perf_support.hpp"

using namespace tracelens;
using fixture::backward_node;
using fixture::both_rules;
using fixture::cell_text;
using fixture::number_at;
using fixture::PerfTrace;
using fixture::platform_of;
using fixture::TraceFixture;
using fixture::us;

namespace {

constexpr std::string_view roofline_time = "Roofline Time (\xc2\xb5s)";
constexpr std::string_view absent = "-";

Cost cost_of(double flops, std::optional<double> bytes) {
    Cost cost;
    cost.flops = flops;
    cost.bytes = bytes;
    cost.unit = ComputeUnit::matrix;
    cost.precision = "bf16";
    return cost;
}

/// The metrics as a table of one row.
Table table_of(const OpMetrics& metrics) {
    Table table;
    for (const MetricColumn& column : metric_columns) table.add_column(column.name, column.type);
    table.append_row(metrics.cells());
    return table;
}

Table metrics(const Cost& cost, double kernel_us, const Platform* platform = nullptr,
              CostRules rules = CostRules::reference) {
    return table_of(op_metrics(&cost, kernel_us, platform, rules));
}

std::string at(const Table& table, std::string_view column) {
    return cell_text(table, column, 0);
}

double value(const Table& table, std::string_view column) {
    return number_at(table, column, 0);
}

void check_no_roofline(const Table& table) {
    CHECK(at(table, roofline_time) == absent);
    CHECK(at(table, "Roofline Bound") == absent);
    CHECK(at(table, "Pct Roofline") == absent);
}

const Platform mi300x = platform_of(708, 5300);

std::string transpose(const std::vector<std::string_view>& kernels, ClassRules rules = ClassRules::full) {
    TraceFixture file;
    std::int64_t start = 0;
    for (const std::string_view name : kernels) {
        file.kernel(name, us(start), us(start + 1));
        ++start;
    }
    const Trace trace = file.finish();
    std::vector<EventId> events = fixture::gpu_events(trace);
    std::reverse(events.begin(), events.end());  // they are looked at by start
    std::vector<Param> params = {{"M", ParamValue::integer(1.0)}};
    const KernelName layout = operand_layout(trace, events, rules);
    if (layout.is_gemm) params.push_back({"transpose", to_transpose_param(layout)});
    return params_python(params);
}

/// Names of GPU events that are the gradient work of an op.
std::string backward_kernels(PerfTrace& trace, std::string_view forward) {
    std::string text;
    for (const EventId event : backward_gpu_events(trace.tree, trace.backward, trace.node(forward)))
        text += (text.empty() ? "" : " | ") + std::string(trace.trace.name_of(event));
    return text;
}

}  // namespace

TEST_CASE("the columns of the metrics in their order") {
    std::string names;
    for (const MetricColumn& column : metric_columns) names += std::string(column.name) + " | ";
    CHECK(names ==
          "GFLOPS | Kernel Time (\xc2\xb5s) | TFLOPS/s | Data Moved (MB) | FLOPS/Byte | TB/s | "
          "Compute Spec | Roofline Time (\xc2\xb5s) | Roofline Bound | Pct Roofline | ");
}

TEST_CASE("metrics of a matrix product (sections 3.19 and 10.2)") {
    const Table qwen = metrics(cost_of(51581550592.0, 71.0078125 * 1048576), 110.0, &mi300x);
    CHECK(value(qwen, "GFLOPS") == 51.581550592);
    CHECK(value(qwen, "Kernel Time (\xc2\xb5s)") == 110.0);
    CHECK(value(qwen, "TFLOPS/s") == doctest::Approx(51.581550592 / 0.11));
    CHECK(value(qwen, "Data Moved (MB)") == 71.0078125);
    CHECK(value(qwen, "FLOPS/Byte") == doctest::Approx(692.7688414567059));
    CHECK(value(qwen, "TB/s") == doctest::Approx(71.0078125 * 1048576 / 1e12 / 110e-6));
    CHECK(at(qwen, "Compute Spec") == "matrix_bf16");
    CHECK(value(qwen, roofline_time) == doctest::Approx(72.85529744632768));
    CHECK(at(qwen, "Roofline Bound") == "COMPUTE_BOUND");
    CHECK(value(qwen, "Pct Roofline") == doctest::Approx(72.85529744632768 / 110 * 100));

    const Table addmm = metrics(cost_of(930167808.0, 3601920.0), 8.315348307291666, &mi300x);
    CHECK(value(addmm, "Data Moved (MB)") == 3.43505859375);
    CHECK(value(addmm, "FLOPS/Byte") == doctest::Approx(258.2422174840085));
    CHECK(value(addmm, roofline_time) == doctest::Approx(1.313796338983051));
}

TEST_CASE("bound by memory; the tie is bound by compute; more than 100 percent") {
    const Table resnet = metrics(cost_of(10240000.0, 1.005401611328125 * 1048576), 0.1, &mi300x);
    CHECK(value(resnet, roofline_time) == doctest::Approx(0.19891320754716982));
    CHECK(at(resnet, "Roofline Bound") == "MEMORY_BOUND");
    CHECK(value(resnet, "Pct Roofline") == doctest::Approx(198.91320754716982));

    const Platform even = platform_of(1, 1);
    CHECK(at(metrics(cost_of(1e9, 1e6), 1, &even), "Roofline Bound") == "COMPUTE_BOUND");
}

TEST_CASE("without a time there are no rates, but a roofline") {
    for (const double none : {0.0, -1.0}) {
        const Table table = metrics(cost_of(1e9, 1e6), none, &mi300x);
        CHECK(at(table, "GFLOPS") == "1.0");
        CHECK(at(table, "TFLOPS/s") == absent);
        CHECK(at(table, "TB/s") == absent);
        CHECK(at(table, "FLOPS/Byte") == "1000.0");
        CHECK(value(table, roofline_time) > 0);
        CHECK(at(table, "Pct Roofline") == absent);
    }
}

TEST_CASE("without bytes there is neither traffic nor a roofline") {
    const Table table = metrics(cost_of(1e9, std::nullopt), 10, &mi300x);
    CHECK(at(table, "Data Moved (MB)") == absent);
    CHECK(at(table, "FLOPS/Byte") == absent);
    CHECK(at(table, "TB/s") == absent);
    CHECK(value(table, "TFLOPS/s") == doctest::Approx(100));
    check_no_roofline(table);
}

TEST_CASE("no byte moved: no intensity") {
    const Table table = metrics(cost_of(1e9, 0.0), 10);
    CHECK(at(table, "Data Moved (MB)") == "0.0");
    CHECK(at(table, "FLOPS/Byte") == absent);
    CHECK(at(table, "TB/s") == "0.0");
}

TEST_CASE("operations that cannot be counted") {
    const Table table = metrics(cost_of(std::numeric_limits<double>::quiet_NaN(), 1e6), 10, &mi300x);
    for (const std::string_view column : {"GFLOPS", "TFLOPS/s", "FLOPS/Byte"})
        CHECK(at(table, column) == absent);
    CHECK(at(table, "Data Moved (MB)") != absent);
    check_no_roofline(table);
}

TEST_CASE("the compute spec needs unit and precision") {
    Cost no_precision = cost_of(1e9, 1e6);
    no_precision.precision.clear();
    Cost no_unit = cost_of(1e9, 1e6);
    no_unit.unit = ComputeUnit::none;
    for (const Cost& cost : {no_precision, no_unit}) {
        const Table table = metrics(cost, 10, &mi300x);
        CHECK(at(table, "Compute Spec") == "");
        check_no_roofline(table);
    }
    Cost half = cost_of(1e9, 1e6);
    half.precision = "fp16";
    CHECK(at(metrics(half, 10), "Compute Spec") == "matrix_fp16");
}

TEST_CASE("no roofline without a platform, peak or bandwidth, or with a zero") {
    const Cost cost = cost_of(1e9, 1e6);
    check_no_roofline(metrics(cost, 10));
    for (const Platform& platform :
         {Platform{}, platform_of(std::nullopt, 5300), platform_of(708, std::nullopt), platform_of(0, 5300),
          platform_of(708, 0)}) {
        check_no_roofline(metrics(cost, 10, &platform));
        check_no_roofline(metrics(cost, 10, &platform, CostRules::full));
    }
}

TEST_CASE("work without arithmetic takes the time of its bytes; no roofline in the reference") {
    const Cost cost = cost_of(0, 5.3e6);
    check_no_roofline(metrics(cost, 10, &mi300x));
    const Table full = metrics(cost, 10, &mi300x, CostRules::full);
    CHECK(value(full, roofline_time) == doctest::Approx(1));
    CHECK(at(full, "Roofline Bound") == "MEMORY_BOUND");
    CHECK(value(full, "Pct Roofline") == doctest::Approx(10));
}

TEST_CASE("work without a cost has a time and nothing else") {
    const Table table = table_of(op_metrics(nullptr, 12.5, &mi300x, CostRules::full));
    for (const MetricColumn& column : metric_columns) {
        CAPTURE(column.name);
        CHECK(at(table, column.name) == (column.name == kernel_time_column ? "12.5" : "-"));
    }
}

// --- the kernels of a backward pass ---

TEST_CASE("gradient work of an op: all backward nodes of it and of what lies below it, each kernel once") {
    TraceFixture file;
    file.op("outer", 0, us(50)).op("inner", us(1), us(2));
    backward_node(file, "A", 100, 50);
    file.launched("a1", us(210), us(220)).launched("a2", us(230), us(240));
    backward_node(file, "B", 400, 50);
    file.launched("b", us(510), us(520));
    const std::string a = fixture::wrapper_prefix + "A";
    const std::string b = fixture::wrapper_prefix + "B";
    PerfTrace trace(std::move(file), {.links = {{a, "outer"}, {b, "inner"}, {"A", "outer"}}});
    CHECK(backward_kernels(trace, "outer") == "a1 | a2 | b");
    CHECK(backward_kernels(trace, "inner") == "b");
    CHECK(backward_kernels(trace, "A") == "");
}

// --- operand layout from the names of kernels ---

TEST_CASE("the parameter transpose is the last one, of the first kernel whose name tells it") {
    CHECK(transpose({"Custom_Cijk_Alik_Bljk_MT64x16x64_"}) == "{'M': 1, 'transpose': (True, False)}");
    CHECK(transpose({"splitk_reduce", "nvjet_tst_128x8_NT", "Cijk_Alik_Bljk_x"}) ==
          "{'M': 1, 'transpose': (False, True)}");
    CHECK(transpose({"Cijk_Ailk_Bljk"}) == "{'M': 1, 'transpose': (False, None)}");
}

TEST_CASE("no parameter when no name tells it") {
    for (const ClassRules rules : both_rules) {
        CHECK(transpose({"unrelated_kernel"}, rules) == "{'M': 1}");
        CHECK(transpose({}, rules) == "{'M': 1}");
    }
}

TEST_CASE("names that the reference does not read") {
    const std::vector<std::string_view> xmma = {
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_x"};
    CHECK(transpose(xmma, ClassRules::full) == "{'M': 1, 'transpose': (True, False)}");
    CHECK(transpose(xmma, ClassRules::reference) == "{'M': 1}");
}
