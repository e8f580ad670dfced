// The table of one per-category sheet: columns, parameters as text, groups and order (spec 02, section 11.4).

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "unit/analyze/sheet_support.hpp"

using namespace tracelens;
using fixture::add_mm;
using fixture::add_op;
using fixture::bf16;
using fixture::both_rules;
using fixture::cell_text;
using fixture::column_text;
using fixture::header_text;
using fixture::number_at;
using fixture::PerfTrace;
using fixture::platform_of;
using fixture::sheet_named;
using fixture::sheet_rows;
using fixture::sheets_of;
using fixture::sheets_on;
using fixture::TraceFixture;
using fixture::us;

namespace {

using Params = std::vector<Param>;

/// A table of one row an op, each with these parameters, in this order.
Table table_of(const std::vector<Params>& ops, ClassRules rules) {
    ModelRegistry registry;
    TraceFixture file;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const std::string name = "my::op" + std::to_string(i);
        const auto model = [params = ops[i]](const OpArguments&, Pass, CostRules) {
            Cost cost;
            cost.flops = 1;
            cost.params = params;
            return cost;
        };
        registry.add(name, {model, "mine", "", "mine", false});
        const auto at = static_cast<std::int64_t>(i);
        add_op(file, name, 100 * at, 50 - at);
    }
    return sheet_named(sheets_of(std::move(file), {.rules = rules, .registry = registry}), "mine_fwd");
}

/// The cells of a parameter that has one of these values, or none, in each op.
std::string cells(const std::vector<std::optional<ParamValue>>& values, ClassRules rules) {
    std::vector<Params> ops;
    for (const std::optional<ParamValue>& value : values) {
        ops.emplace_back();
        if (value) ops.back().push_back({"p", *value});
    }
    return column_text(table_of(ops, rules), "param: p");
}

std::string reference(const std::vector<std::optional<ParamValue>>& values) {
    return cells(values, ClassRules::reference);
}
std::string full(const std::vector<std::optional<ParamValue>>& values) {
    return cells(values, ClassRules::full);
}

const ParamValue one = ParamValue::integer(1.0);
const ParamValue many = ParamValue::integer(788.0);
const ParamValue half = ParamValue::real(1.5);
const ParamValue two = ParamValue::real(2);
const ParamValue yes = ParamValue::flag(true);
const ParamValue no = ParamValue::flag(false);
const ParamValue none = ParamValue::none();
const ParamValue word = ParamValue::word("conv2d");
const ParamValue tuple = ParamValue::tuple(Shape{8, 16});
const ParamValue list = ParamValue::list(Shape{8, 16});
constexpr std::nullopt_t missing = std::nullopt;

std::string joined(std::initializer_list<std::string_view> parts) {
    std::string out;
    for (const std::string_view part : parts) out += part;
    return out;
}

constexpr std::string_view rates =
    "GFLOPS_first | Data Moved (MB)_first | FLOPS/Byte_first | "
    "TB/s_mean | TB/s_median | TB/s_std | TB/s_min | TB/s_max | "
    "TFLOPS/s_mean | TFLOPS/s_median | TFLOPS/s_std | TFLOPS/s_min | TFLOPS/s_max | ";
constexpr std::string_view places =
    "process_name_first | process_label_first | thread_name_first | Compute Spec | ";
constexpr std::string_view rooflines =
    "Roofline Time (\xc2\xb5s)_first | Roofline Bound_first | Pct Roofline_mean | Pct Roofline_median | "
    "Pct Roofline_std | Pct Roofline_min | Pct Roofline_max | ";
constexpr std::string_view last =
    "kernel_details__summarize_kernel_stats | trunc_kernel_details | Input Dims_first | Input type_first | "
    "Input Strides_first | Concrete Inputs_first | Kernel Time (\xc2\xb5s)_mean | "
    "Kernel Time (\xc2\xb5s)_median | Kernel Time (\xc2\xb5s)_std | Kernel Time (\xc2\xb5s)_min | "
    "Kernel Time (\xc2\xb5s)_max | Kernel Time (\xc2\xb5s)_sum | name_count | UID_first";
constexpr std::string_view mm_params =
    "name | param: M | param: N | param: K | param: bias | param: stride_A | param: stride_B | "
    "param: dtype_A_B | param: B | ";

TraceFixture products() {
    TraceFixture file;
    add_mm(file, 0, 40);
    add_mm(file, 200, 44);
    add_mm(file, 400, 30);
    return file;
}

}  // namespace

TEST_CASE("sheet table: the columns in their order") {
    const Platform platform = platform_of(708, 5300);
    for (const ClassRules rules : both_rules) {
        CHECK(header_text(sheet_named(sheets_of(products(), rules), "GEMM")) ==
              joined({mm_params, rates, places, last}));
        CHECK(header_text(sheet_named(sheets_on(products(), rules, platform), "GEMM")) ==
              joined({mm_params, rates, places, rooflines, last}));
    }
}

TEST_CASE("sheet table: the count of kernels and the mark are keys behind the parameters") {
    for (const ClassRules rules : both_rules) {
        PerfTrace trace(products(), rules);
        std::vector<bool> marks(trace.tree.node_count(), false);
        marks[trace.launchers.rows[1].node] = true;
        PerfInputs inputs = trace.inputs();
        inputs.recompute = &marks;
        const Table table = sheet_named(category_sheets(inputs, {.group_by_num_kernels = true}), "GEMM");
        CHECK(header_text(table).starts_with(joined({mm_params, "num_kernels | is_recompute | ", rates})));
        CHECK(column_text(table, "num_kernels") == "1 | 1");
        CHECK(column_text(table, "is_recompute") == "False | True");
        CHECK(column_text(table, "name_count") == "2 | 1");
    }
}

TEST_CASE("sheet table: launches with other numbers of kernels are one row without the option") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        add_mm(file, 0, 10);
        add_mm(file, 200, 10);
        file.op("my::op", us(600), us(601));
        fixture::mm_shapes(file).op("aten::mm", us(700), us(750)).launched("a", us(801), us(805));
        file.launched("b", us(806), us(807));
        PerfTrace trace(std::move(file), rules);
        const Table whole = sheet_named(category_sheets(trace.inputs()), "GEMM");
        CHECK(column_text(whole, "name_count") == "3");
        const Table parted =
            sheet_named(category_sheets(trace.inputs(), {.group_by_num_kernels = true}), "GEMM");
        CHECK(column_text(parted, "num_kernels") == "1 | 2");
        CHECK(column_text(parted, "name_count") == "2 | 1");
    }
}

TEST_CASE("sheet table: statistics of one group") {
    const Platform platform = platform_of(708, 5300);
    for (const ClassRules rules : both_rules) {
        const Table table = sheet_named(sheets_on(products(), rules, platform), "GEMM");
        REQUIRE(table.row_count() == 1);
        CHECK(column_text(table, "name_count") == "3");
        CHECK(column_text(table, "UID_first") == "0");
        CHECK(column_text(table, "Kernel Time (\xc2\xb5s)_sum") == "114.0");
        CHECK(column_text(table, "Kernel Time (\xc2\xb5s)_mean") == "38.0");
        CHECK(number_at(table, "Kernel Time (\xc2\xb5s)_std", 0) == doctest::Approx(7.211102550927978));
        CHECK(number_at(table, "GFLOPS_first", 0) == doctest::Approx(6.5536e-05));
        CHECK(number_at(table, "TFLOPS/s_max", 0) == doctest::Approx(65536 / 1e12 / 30e-6));
        CHECK(number_at(table, "TB/s_median", 0) == doctest::Approx(7168 / 1e12 / 40e-6));
        CHECK(column_text(table, "Compute Spec") == "matrix_bf16");
        CHECK(column_text(table, "Roofline Bound_first") == "MEMORY_BOUND");
        CHECK(column_text(table, "Input Dims_first") == "[[64,32],[32,16]]");
        CHECK(column_text(table, "Concrete Inputs_first") == "-");
        CHECK(cell_text(table, "kernel_details__summarize_kernel_stats", 0)
                  .find("\"std_dev_duration_us\":5.8878405775518") != std::string::npos);
    }
}

TEST_CASE("sheet table: arguments are lists, not tuples") {
    const Table table = sheet_named(sheets_of(products(), ClassRules::reference), "GEMM");
    CHECK(table.column(*table.find_column("Input Dims_first")).type == ColumnType::nested);
}

TEST_CASE("sheet table: longest first, then by number") {
    for (const ClassRules rules : both_rules) {
        ModelRegistry registry;
        const CostFunction cost = registry.find("aten::mm")->cost;
        for (const char* const name : {"b", "a", "c"}) registry.add(name, {cost, "x", "", "GEMM", false});
        TraceFixture file;
        for (const auto& [name, at] : {std::pair{"b", 0}, std::pair{"a", 100}, std::pair{"c", 200}})
            add_op(fixture::mm_shapes(file), name, at, at == 200 ? 30 : 10);
        CHECK(sheet_rows(sheets_of(std::move(file), {.rules = rules, .registry = registry}), "GEMM") ==
              "c 30.0 | b 10.0 | a 10.0");
    }
}

TEST_CASE("sheet table: equal parameters are one row, whatever the arguments") {
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        add_mm(file, 0, 10);
        add_op(bf16(file, "[[64,32],[32,16],[64,16]]", 3), "aten::mm", 200, 10);
        add_op(bf16(file, "[[64,32],[32,8]]", 2), "aten::mm", 400, 10);
        const Table table = sheet_named(sheets_of(std::move(file), rules), "GEMM");
        CHECK(column_text(table, "name_count") == "2 | 1");
        CHECK(column_text(table, "param: N") == "16 | 8");
        CHECK(column_text(table, "Input Dims_first") == "[[64,32],[32,16]] | [[64,32],[32,8]]");
    }
}

TEST_CASE("sheet table: missing values of a parameter are equal") {
    ModelRegistry registry;
    const auto model = [](const OpArguments& args, Pass, CostRules) {
        Cost cost;
        cost.flops = 1;
        if (args.list("Concrete Inputs") != nullptr) cost.params.push_back({"p", one});
        return cost;
    };
    registry.add("my::op", {model, "mine", "", "mine", false});
    for (const ClassRules rules : both_rules) {
        TraceFixture file;
        add_op(file, "my::op", 0, 10);
        add_op(file.with_arg("Concrete Inputs", R"(["1"])"), "my::op", 200, 15);
        add_op(file, "my::op", 400, 10);
        const Table table =
            sheet_named(sheets_of(std::move(file), {.rules = rules, .registry = registry}), "mine_fwd");
        CHECK(column_text(table, "name_count") == "2 | 1");
    }
}

TEST_CASE("sheet table: parameters come in the order in which rows show them first") {
    for (const ClassRules rules : both_rules) {
        const Table table =
            table_of({{{"b", one}}, {{"a", one}, {"b", one}}, {{"c", one}, {"a", one}}}, rules);
        CHECK(header_text(table).starts_with("name | param: b | param: a | param: c | GFLOPS_first"));
    }
}

TEST_CASE("sheet table: batched products first show their batch first (spec 03, section 3.19)") {
    TraceFixture file;
    add_op(bf16(file, "[[2,64,32],[2,32,16]]", 2), "aten::bmm", 0, 10);
    add_mm(file, 200, 10, "nvjet_tst_128x8_TNT");
    const Table table = sheet_named(sheets_of(std::move(file)), "GEMM");
    CHECK(
        header_text(table).starts_with("name | param: B | param: M | param: N | param: K | param: bias | "
                                       "param: stride_A | param: stride_B | param: dtype_A_B | "
                                       "param: transpose | GFLOPS_first"));
    CHECK(column_text(table, "param: transpose") == "- | [true,false]");
}

// --- the text of parameters in the reference ---

TEST_CASE("parameters as text: whole numbers") {
    CHECK(reference({one, many}) == "1 | 788");
    CHECK(reference({ParamValue::integer(1e18), one}) == "1000000000000000000 | 1");
}

TEST_CASE("parameters as text: whole numbers beside missing ones and None get a decimal point") {
    CHECK(reference({one, missing}) == "1.0 | nan");
    CHECK(reference({many, none}) == "788.0 | nan");
    CHECK(reference({one, none, missing, many}) == "1.0 | nan | nan | 788.0");
}

TEST_CASE("parameters as text: numbers with a fraction make all others floating") {
    CHECK(reference({half, two}) == "1.5 | 2.0");
    CHECK(reference({half, many}) == "1.5 | 788.0");
    CHECK(reference({half, missing, none}) == "1.5 | nan | nan");
}

TEST_CASE("parameters as text: booleans") {
    CHECK(reference({yes, no}) == "True | False");
    CHECK(reference({yes, none}) == "True | None");
    CHECK(reference({yes, missing}) == "True | nan");
    CHECK(reference({yes, one}) == "True | 1");
}

TEST_CASE("parameters as text: None alone, and beside missing ones") {
    CHECK(reference({none, none}) == "None | None");
    CHECK(reference({none, missing}) == "nan | nan");
}

TEST_CASE("parameters as text: each its own text where strings, tuples and lists are among them") {
    CHECK(reference({word, tuple}) == "conv2d | (8, 16)");
    CHECK(reference({word, one, half, none, missing, yes}) == "conv2d | 1 | 1.5 | None | nan | True");
    CHECK(reference({tuple, none, missing}) == "(8, 16) | None | nan");
    CHECK(reference({list, many, missing}) == "[8, 16] | 788 | nan");
    CHECK(reference({ParamValue::types({"c10::Half", std::nullopt}), none}) == "('c10::Half', None) | None");
}

// --- in full ---

TEST_CASE("parameters with their own types: missing ones and None are empty, whole numbers stay whole") {
    CHECK(full({one, many}) == "1 | 788");
    CHECK(full({one, missing, none}) == "1 | - | -");
    CHECK(full({half, many, missing}) == "1.5 | 788.0 | -");
    CHECK(full({yes, none, missing}) == "True | - | -");
    CHECK(full({none, missing}) == "- | -");
    CHECK(full({tuple, none, list}) == "[8,16] | - | [8,16]");
}
