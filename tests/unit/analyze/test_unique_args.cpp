// Ops by name, place and arguments, without and with what runs beside them (spec 02, sections 8.5 and 17.3).

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "unit/analyze/op_tables_support.hpp"

using namespace tracelens;
using fixture::add_op;
using fixture::both_rules;
using fixture::cell_text;
using fixture::column_text;
using fixture::header_text;
using fixture::number_at;
using fixture::OpTables;
using fixture::table_by;
using fixture::TraceFixture;
using fixture::us;

namespace {

constexpr std::string_view keys = "name | op category | process_name | process_label | thread_name | ";
constexpr std::string_view shapes = "Input Dims | Input type | Input Strides | Concrete Inputs | ";
constexpr std::string_view times =
    "total_direct_kernel_time_mean | total_subtree_kernel_time_mean | "
    "total_direct_kernel_time_median | total_subtree_kernel_time_median | "
    "total_direct_kernel_time_std | total_subtree_kernel_time_std | "
    "total_direct_kernel_time_min | total_subtree_kernel_time_min | "
    "total_direct_kernel_time_max | total_subtree_kernel_time_max | "
    "total_direct_kernel_time_sum | total_subtree_kernel_time_sum | "
    "ex_UID | kernel_details_summary | trunc_kernel_details | ";
constexpr std::string_view shares = "Percentage (%) | Cumulative Percentage (%)";

std::string joined(std::initializer_list<std::string_view> parts) {
    std::string out;
    for (const std::string_view part : parts) out += part;
    return out;
}

/// `my::two` launched twice: a_k 10 us beside b_k 20 us (busy 25 us), then a_k 12 us (section 22.5).
TraceFixture unequal_launches() {
    TraceFixture file;
    file.op("my::two", 0, us(50)).launched("a_k", us(101), us(111));
    file.on_stream(0, 8).launched("b_k", us(106), us(126)).on_stream(0, 7);
    add_op(file, "my::two", 500, 12, "a_k");
    return file;
}

/// Two launches of one op, 40 and 44 us, and a collective that lies beside 20 us of each (section 22.4).
TraceFixture beside_a_collective() {
    TraceFixture file;
    add_op(file, "aten::mm", 1000, 40, "gemm_k");
    add_op(file, "aten::mm", 1050, 44, "gemm_k");
    file.on_stream(0, 20).op("nccl:all_reduce", us(1018), us(1030));
    file.launched("ncclDevKernel", us(1120), us(1170));
    return file;
}

}  // namespace

TEST_CASE("unique args: the columns in their order") {
    TraceFixture file;
    add_op(file, "aten::mm", 0, 30);
    const OpTables tables(file);
    CHECK(header_text(tables.unique_args()) == joined({keys, shapes, "operation_count | ", times, shares}));
    const std::vector<bool> marks = tables.marks(0);
    const OpTableOptions options{
        .recompute = &marks, .first_occurrence = true, .group_by_num_kernels = true, .rules = {}};
    CHECK(header_text(tables.unique_args(options)) ==
          joined({keys, shapes, "num_kernels | is_recompute | operation_count | first_occurrence_time | ",
                  times, shares}));
    CHECK(header_text(tables.unique_args_overlap()) ==
          joined({"name | overlapping_kernel_names | ", keys.substr(7), shapes, "operation_count | ", times,
                  "overlapping_kernels_details_summary | trunc_overlapping_kernels_details | "
                  "overlap_pct_mean | overlap_pct_median | overlap_pct_std | overlap_pct_min | "
                  "overlap_pct_max | ",
                  shares}));
}

TEST_CASE("unique args: statistics of one group (spec 02, section 4.2)") {
    TraceFixture file;
    add_op(file, "aten::mm", 0, 40);
    add_op(file, "aten::mm", 100, 44);
    add_op(file, "aten::mm", 200, 30);
    const Table table = OpTables(file).unique_args();
    REQUIRE(table.row_count() == 1);
    CHECK(column_text(table, "operation_count") == "3");
    CHECK(column_text(table, "total_direct_kernel_time_mean") == "38.0");
    CHECK(column_text(table, "total_direct_kernel_time_median") == "40.0");
    CHECK(number_at(table, "total_direct_kernel_time_std", 0) == doctest::Approx(7.211102550927978));
    CHECK(column_text(table, "total_direct_kernel_time_min") == "30.0");
    CHECK(column_text(table, "total_direct_kernel_time_max") == "44.0");
    CHECK(column_text(table, "total_direct_kernel_time_sum") == "114.0");
    CHECK(column_text(table, "total_subtree_kernel_time_sum") == "114.0");
    CHECK(column_text(table, "Percentage (%)") == "100.0");
    CHECK(cell_text(table, "kernel_details_summary", 0).find("\"std_dev_duration_us\":5.8878405775518") !=
          std::string::npos);
}

TEST_CASE("unique args: the deviation of one launch is missing") {
    TraceFixture file;
    add_op(file, "aten::mm", 0, 40);
    const Table table = OpTables(file).unique_args();
    CHECK(std::isnan(number_at(table, "total_direct_kernel_time_std", 0)));
    CHECK(column_text(table, "total_direct_kernel_time_median") == "40.0");
}

TEST_CASE("unique args: direct and subtree times are told apart") {
    TraceFixture file;
    file.op("my::parent", 0, us(50)).launched("own_k", us(101), us(109));
    add_op(file, "aten::mm", 20, 10);
    const Table table = OpTables(file).unique_args();
    CHECK(column_text(table, "name") == "aten::mm | my::parent");
    CHECK(column_text(table, "total_direct_kernel_time_mean") == "10.0 | 8.0");
    CHECK(column_text(table, "total_subtree_kernel_time_mean") == "10.0 | 18.0");
}

TEST_CASE("unique args: each of the four arguments tells ops apart, others do not") {
    for (const std::string_view key : {"Input Dims", "Input type", "Input Strides", "Concrete Inputs"}) {
        CAPTURE(key);
        TraceFixture file;
        add_op(file.with_arg(key, "[[2,3]]").with_arg("Ev Idx", "1"), "aten::mm", 0, 30);
        add_op(file.with_arg("Ev Idx", "2").with_arg(key, "[[2,3]]"), "aten::mm", 100, 10);
        add_op(file.with_arg(key, "[[4,3]]"), "aten::mm", 200, 20);
        add_op(file, "aten::mm", 300, 10);
        const Table table = OpTables(file).unique_args();
        CHECK(column_text(table, "operation_count") == "2 | 1 | 1");
        CHECK(column_text(table, key) == "[[2,3]] | [[4,3]] | -");
    }
}

TEST_CASE("unique args: an empty list is not a missing one, null is") {
    TraceFixture file;
    add_op(file, "aten::mm", 0, 30);
    add_op(file.with_arg("Input Dims", "null"), "aten::mm", 100, 10);
    add_op(file.with_arg("Input Dims", "[]"), "aten::mm", 200, 10);
    const Table table = OpTables(file).unique_args();
    CHECK(column_text(table, "operation_count") == "2 | 1");
    CHECK(column_text(table, "Input Dims") == "- | []");
}

TEST_CASE("unique args: categories tell ops of one name apart") {
    TraceFixture file;
    add_op(file, "my::op", 0, 30, "void at::native::reduce_kernel<1>(x)");
    add_op(file, "my::op", 100, 10, "void at::native::elementwise_kernel<1>(x)");
    const Table table = OpTables(file).unique_args();
    CHECK(column_text(table, "op category") == "reduce | elementwise");
}

TEST_CASE("unique args: names of processes and threads are keys, their numbers are not") {
    TraceFixture file;
    file.on_thread(100, 0).with_arg("name", "\"python\"").metadata("process_name");
    file.with_arg("labels", "\"CPU\"").metadata("process_labels");
    file.on_thread(100, 1).with_arg("name", "\"main\"").metadata("thread_name");
    add_op(file, "aten::mm", 0, 40);
    add_op(file.on_thread(100, 2), "aten::mm", 100, 10);
    add_op(file.on_thread(100, 3), "aten::mm", 200, 20);
    add_op(file.on_thread(200, 1), "aten::mm", 300, 20);
    file.on_thread(300, 0).with_arg("name", "\"python\"").metadata("process_name");
    add_op(file, "aten::mm", 400, 5);
    const Table table = OpTables(file).unique_args();
    CHECK(column_text(table, "operation_count") == "1 | 2 | 1 | 1");
    CHECK(column_text(table, "process_name") == "python | python | Unknown | python");
    CHECK(column_text(table, "process_label") == "CPU | CPU | Unknown | Unknown");
    CHECK(column_text(table, "thread_name") == "main | Unknown | Unknown | Unknown");
}

TEST_CASE("unique args: longest first, ties by the smallest ex_UID under both rules") {
    TraceFixture file;
    add_op(file, "long", 500, 90);
    // Later in time the earlier it stands in the file.
    for (std::int64_t i = 0; i < 20; ++i)
        add_op(file, std::string(1, static_cast<char>('t' - i)), 400 - i, 1);
    const OpTables tables(file);
    for (const ClassRules rules : both_rules) {
        const Table table = tables.unique_args(table_by(rules));
        CHECK(column_text(table, "name") ==
              "long | t | s | r | q | p | o | n | m | l | k | j | i | h | g | f | e | d | c | b | a");
        CHECK(cell_text(table, "ex_UID", 1) == "3");
        CHECK(cell_text(table, "ex_UID", 20) == "60");
    }
}

TEST_CASE("unique args: ex_UID is the earliest launcher, not the first in the file") {
    TraceFixture file;
    add_op(file, "aten::mm", 8000, 10);
    add_op(file, "aten::mm", 3000, 10);
    add_op(file, "aten::mm", 6000, 10);
    CHECK(column_text(OpTables(file).unique_args(), "ex_UID") == "3");
}

TEST_CASE("unique args: first occurrences count from the earliest row") {
    struct Op {
        std::string_view name;
        std::int64_t start;
    };
    const auto occurrences = [](std::initializer_list<Op> ops) {
        TraceFixture file;
        file.annotation("before all ops", 0, 1);
        // Shares fall in the order of the names' first mention, so that rows stand in it.
        std::int64_t length = 90;
        for (const Op& op : ops) add_op(file, op.name, op.start, length /= 3);
        OpTableOptions options;
        options.first_occurrence = true;
        return column_text(OpTables(file).unique_args(options), "first_occurrence_time");
    };
    CHECK(occurrences({{"op", 5000}}) == "0.0");
    CHECK(occurrences({{"mm", 3000}, {"addmm", 5000}}) == "0.0 | 2000.0");
    CHECK(occurrences({{"mm", 8000}, {"mm", 3000}, {"mm", 6000}}) == "0.0");
    CHECK(occurrences({{"mm", 5000}, {"addmm", 9000}, {"copy_", 4000}, {"mm", 2000}, {"addmm", 7000}}) ==
          "0.0 | 5000.0 | 2000.0");
}

TEST_CASE("unique args: first occurrences of one name with two shapes") {
    TraceFixture file;
    add_op(file.with_arg("Input Dims", "[[1]]"), "aten::mm", 1000, 20);
    add_op(file.with_arg("Input Dims", "[[2]]"), "aten::mm", 5000, 10);
    OpTableOptions options;
    options.first_occurrence = true;
    CHECK(column_text(OpTables(file).unique_args(options), "first_occurrence_time") == "0.0 | 4000.0");
}

TEST_CASE("unique args: launches with unlike kernels share the row, not the cell (spec 02, section 22.5)") {
    TraceFixture file = unequal_launches();
    const OpTables tables(file);
    for (const ClassRules rules : both_rules) {
        const Table table = tables.unique_args(table_by(rules));
        CHECK(column_text(table, "operation_count") == "2");
        CHECK(column_text(table, "total_direct_kernel_time_sum") == "37.0");
        CHECK(number_at(table, "total_direct_kernel_time_std", 0) == doctest::Approx(9.192388155425117));
        CHECK(column_text(table, "trunc_kernel_details") ==
              R"([{"name":"a_k","stream":7,"mean_duration_us":10.0},)"
              R"({"name":"b_k","stream":8,"mean_duration_us":20.0}])");
    }
}

TEST_CASE("unique args: rows by the number of kernels on demand") {
    TraceFixture file = unequal_launches();
    OpTableOptions options;
    options.group_by_num_kernels = true;
    const Table table = OpTables(file).unique_args(options);
    CHECK(column_text(table, "num_kernels") == "2 | 1");
    CHECK(column_text(table, "operation_count") == "1 | 1");
    CHECK(column_text(table, "total_direct_kernel_time_sum") == "25.0 | 12.0");
}

TEST_CASE("unique args: kernels in order of execution; the reference puts the longest last") {
    TraceFixture file;
    file.op("op", 0, us(50)).launched("long", us(101), us(131)).launched("short", us(131), us(141));
    const OpTables tables(file);
    constexpr std::string_view long_entry = R"({"name":"long","stream":7,"mean_duration_us":30.0})";
    constexpr std::string_view short_entry = R"({"name":"short","stream":7,"mean_duration_us":10.0})";
    CHECK(column_text(tables.unique_args(), "trunc_kernel_details") ==
          joined({"[", long_entry, ",", short_entry, "]"}));
    CHECK(column_text(tables.unique_args(table_by(ClassRules::reference)), "trunc_kernel_details") ==
          joined({"[", short_entry, ",", long_entry, "]"}));
}

TEST_CASE("unique args: the recompute mark is a key") {
    TraceFixture file;
    add_op(file, "aten::mm", 0, 30);
    add_op(file, "aten::mm", 100, 10);
    const OpTables tables(file);
    const std::vector<bool> marks = tables.marks(1);
    OpTableOptions options;
    options.recompute = &marks;
    CHECK(column_text(tables.unique_args(options), "is_recompute") == "False | True");
    CHECK(column_text(tables.unique_args_overlap(options), "is_recompute") == "False | True");
    CHECK_FALSE(tables.unique_args().find_column("is_recompute").has_value());
}

TEST_CASE("unique args: a pseudo op as the launcher") {
    TraceFixture file;
    file.op("op", us(1), us(50)).launched("k", us(110), us(120));
    add_op(file, "aten::mm", 60, 5);
    OpTables tables(file);
    const NodeId pseudo =
        tables.tree.add_overlay({.name = tables.trace.name[tables.node("k")], .start = us(5), .end = us(9)});
    tables.tree.insert_above(tables.links.launch_of(tables.node("k")), pseudo);
    tables.tree.refresh();
    tables.launchers = find_launchers(tables.tree, tables.links);
    OpTableOptions options;
    options.first_occurrence = true;
    const Table table = tables.unique_args(options);
    CHECK(column_text(table, "name") == "k | aten::mm");
    // The overlay node has its times from the first event on, which starts at 1 us.
    CHECK(column_text(table, "first_occurrence_time") == "0.0 | 54.0");
    CHECK(column_text(table, "ex_UID") == "6 | 3");
}

TEST_CASE("overlap: the worked example of spec 02, section 22.4") {
    TraceFixture file = beside_a_collective();
    const OpTables tables(file);
    for (const ClassRules rules : both_rules) {
        const Table table = tables.unique_args_overlap(table_by(rules));
        REQUIRE(table.row_count() == 1);
        CHECK(column_text(table, "overlapping_kernel_names") == R"(["ncclDevKernel"])");
        CHECK(number_at(table, "overlap_pct_mean", 0) == doctest::Approx(0.475));
        CHECK(number_at(table, "overlap_pct_median", 0) == doctest::Approx(0.475));
        CHECK(number_at(table, "overlap_pct_std", 0) == doctest::Approx(0.03535533905932735));
        CHECK(column_text(table, "overlap_pct_min") == "0.45");
        CHECK(column_text(table, "overlap_pct_max") == "0.5");
        CHECK(column_text(table, "overlapping_kernels_details_summary") ==
              R"([{"name":"ncclDevKernel","stream":20,"overlap_pct":0.5,"count":2,)"
              R"("total_duration_us":100.0,"mean_duration_us":50.0,"median_duration_us":50.0,)"
              R"("std_dev_duration_us":0.0,"min_duration_us":50.0,"max_duration_us":50.0}])");
        CHECK(column_text(table, "trunc_overlapping_kernels_details") ==
              R"([{"name":"ncclDevKernel","stream":20,"mean_duration_us":50.0}])");
        CHECK(column_text(table, "total_direct_kernel_time_sum") == "84.0");
    }
}

TEST_CASE("overlap: launches with nothing beside them are rows of their own, with empty cells") {
    TraceFixture file = beside_a_collective();
    add_op(file.on_stream(0, 7), "aten::mm", 1300, 10, "gemm_k");
    const Table table = OpTables(file).unique_args_overlap();
    CHECK(column_text(table, "operation_count") == "2 | 1");
    CHECK(column_text(table, "overlapping_kernel_names") == R"(["ncclDevKernel"] | -)");
    CHECK(cell_text(table, "overlapping_kernels_details_summary", 1) == "[]");
    CHECK(cell_text(table, "trunc_overlapping_kernels_details", 1) == "-");
    for (const std::string_view column : {"overlap_pct_mean", "overlap_pct_median", "overlap_pct_std",
                                          "overlap_pct_min", "overlap_pct_max"}) {
        CHECK(cell_text(table, column, 1) == "-");
    }
}
