// The summaries of ops by name and by category, and their percentages (spec 02, sections 4, 8.3 and 8.4).

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
using fixture::column_text;
using fixture::header_text;
using fixture::number_at;
using fixture::OpTables;
using fixture::table_by;
using fixture::TraceFixture;
using fixture::us;

namespace {

/// Two matrix products of 30 and 10 us, an addition of 40 us and an unknown op of 20 us.
TraceFixture four_ops() {
    TraceFixture file;
    add_op(file, "aten::mm", 0, 30);
    add_op(file, "aten::add", 100, 40);
    add_op(file, "aten::mm", 200, 10);
    add_op(file, "my::op", 300, 20);
    return file;
}

/// `count` ops of 1 us each, in descending order of their names: `op19`, `op18`, ...
TraceFixture equal_ops(int count) {
    TraceFixture file;
    for (int i = count - 1; i >= 0; --i) {
        const std::string name = {'o', 'p', static_cast<char>('0' + i / 10), static_cast<char>('0' + i % 10)};
        add_op(file, name, 10 * (count - i), 1);
    }
    return file;
}

std::string op_names(const std::vector<int>& numbers) {
    std::string out;
    for (const int i : numbers) {
        if (!out.empty()) out += " | ";
        out += {'o', 'p', static_cast<char>('0' + i / 10), static_cast<char>('0' + i % 10)};
    }
    return out;
}

std::string ascending_names(int count) {
    std::vector<int> numbers;
    for (int i = 0; i < count; ++i) numbers.push_back(i);
    return op_names(numbers);
}

Table real_column(std::initializer_list<double> values) {
    Table table;
    table.add_column("time", ColumnType::real);
    for (const double value : values) table.append_row({value});
    return table;
}

}  // namespace

TEST_CASE("by category: columns, counts, times, shares") {
    TraceFixture file = four_ops();
    const OpTables tables(file);
    for (const ClassRules rules : both_rules) {
        const Table table = tables.by_category(table_by(rules));
        CHECK(header_text(table) ==
              "op category | Count | total_direct_kernel_time_ms | Percentage (%) | "
              "Cumulative Percentage (%)");
        // GEMM and elementwise tie: ascending names.
        CHECK(column_text(table, "op category") == "GEMM | elementwise | other");
        CHECK(column_text(table, "Count") == "2 | 1 | 1");
        CHECK(column_text(table, "total_direct_kernel_time_ms") == "0.04 | 0.04 | 0.02");
        CHECK(column_text(table, "Percentage (%)") == "40.0 | 40.0 | 20.0");
        CHECK(column_text(table, "Cumulative Percentage (%)") == "40.0 | 80.0 | 100.0");
    }
}

TEST_CASE("by name: columns, sums, shares; longest first") {
    TraceFixture file = four_ops();
    const OpTables tables(file);
    for (const ClassRules rules : both_rules) {
        const Table table = tables.summary(table_by(rules));
        CHECK(header_text(table) ==
              "name | total_direct_kernel_time_sum | total_subtree_kernel_time_sum | "
              "total_direct_kernel_time_ms | total_subtree_kernel_time_ms | Count | Categories | "
              "Percentage (%) | Cumulative Percentage (%)");
        CHECK(column_text(table, "name") == "aten::add | aten::mm | my::op");
        CHECK(column_text(table, "total_direct_kernel_time_sum") == "40.0 | 40.0 | 20.0");
        CHECK(column_text(table, "total_direct_kernel_time_ms") == "0.04 | 0.04 | 0.02");
        CHECK(column_text(table, "Count") == "1 | 2 | 1");
        CHECK(column_text(table, "Categories") == R"(["elementwise"] | ["GEMM"] | ["other"])");
        CHECK(column_text(table, "Percentage (%)") == "40.0 | 40.0 | 20.0");
        CHECK(column_text(table, "Cumulative Percentage (%)") == "40.0 | 80.0 | 100.0");
    }
}

TEST_CASE("by name: subtree times of nested launchers count twice, direct times do not") {
    TraceFixture file;
    file.op("my::parent", 0, us(50)).launched("own_k", us(101), us(109));
    file.op("aten::mm", us(20), us(40)).launched("gemm", us(125), us(135));
    const Table table = OpTables(file).summary();
    CHECK(column_text(table, "name") == "aten::mm | my::parent");
    CHECK(column_text(table, "total_direct_kernel_time_sum") == "10.0 | 8.0");
    CHECK(column_text(table, "total_subtree_kernel_time_sum") == "10.0 | 18.0");
    CHECK(column_text(table, "total_subtree_kernel_time_ms") == "0.01 | 0.018");
    CHECK(number_at(table, "Percentage (%)", 0) == doctest::Approx(100 * 10.0 / 18));
}

TEST_CASE("by name: the distinct categories of a name, sorted") {
    TraceFixture file;
    add_op(file, "my::op", 0, 5, "void at::native::reduce_kernel<1>(x)");
    add_op(file, "my::op", 100, 5, "void at::native::elementwise_kernel<1>(x)");
    add_op(file, "my::op", 200, 5, "void at::native::reduce_kernel<2>(x)");
    const OpTables tables(file);
    const Table table = tables.summary();
    CHECK(column_text(table, "Categories") == R"(["elementwise","reduce"])");
    CHECK(column_text(table, "Count") == "3");
    CHECK(column_text(tables.by_category(), "op category") == "reduce | elementwise");
}

TEST_CASE("graph replays under one op (spec 01, section 22)") {
    TraceFixture file;
    for (const std::int64_t replay : {0, 1}) {
        const std::int64_t start = us(1000 * replay);
        file.op("op", start, start + us(50)).call("cudaGraphLaunch", start + 1, start + 2, replay + 1);
        const std::int64_t lengths[2][3] = {{20, 30, 40}, {22, 28, 41}};
        std::int64_t at = start + us(100);
        for (const std::int64_t length : lengths[replay]) {
            file.kernel("k", at, at + us(length), replay + 1);
            at += us(length);
        }
    }
    CHECK(column_text(OpTables(file).summary(), "total_direct_kernel_time_sum") == "181.0");
}

TEST_CASE("the recompute mark is a key and a column of both summaries") {
    TraceFixture file;
    add_op(file, "aten::mm", 0, 30);
    add_op(file, "aten::mm", 110, 10);
    const OpTables tables(file);
    const std::vector<bool> marks = tables.marks(1);
    OpTableOptions options;
    options.recompute = &marks;

    const Table names = tables.summary(options);
    CHECK(header_text(names).starts_with("name | is_recompute | total_direct_kernel_time_sum | "));
    CHECK(column_text(names, "name") == "aten::mm | aten::mm");
    CHECK(column_text(names, "is_recompute") == "False | True");
    CHECK(column_text(names, "total_direct_kernel_time_sum") == "30.0 | 10.0");
    CHECK(column_text(names, "Percentage (%)") == "75.0 | 25.0");

    const Table categories = tables.by_category(options);
    CHECK(header_text(categories).starts_with("op category | is_recompute | Count | "));
    CHECK(column_text(categories, "op category") == "GEMM | GEMM");
    CHECK(column_text(categories, "is_recompute") == "False | True");
    CHECK(column_text(categories, "total_direct_kernel_time_ms") == "0.03 | 0.01");

    CHECK_FALSE(tables.summary().find_column("is_recompute").has_value());
    CHECK_FALSE(tables.by_category().find_column("is_recompute").has_value());
}

TEST_CASE("equal times: not recomputed before recomputed, in ascending order of names") {
    TraceFixture file;
    add_op(file, "b", 0, 10);
    add_op(file, "a", 100, 10);
    add_op(file, "b", 200, 10);
    const OpTables tables(file);
    const std::vector<bool> marks = tables.marks(0);
    for (const ClassRules rules : both_rules) {
        OpTableOptions options = table_by(rules);
        options.recompute = &marks;
        const Table table = tables.summary(options);
        CHECK(column_text(table, "name") == "a | b | b");
        CHECK(column_text(table, "is_recompute") == "False | False | True");
    }
}

TEST_CASE("ties of up to 16 rows keep the order of names under both rules") {
    TraceFixture file = equal_ops(16);
    const OpTables tables(file);
    for (const ClassRules rules : both_rules)
        CHECK(column_text(tables.summary(table_by(rules)), "name") == ascending_names(16));
}

TEST_CASE("ties of more rows: stable by default, permuted as in spec 02, appendix B, for the reference") {
    TraceFixture file = equal_ops(20);
    const OpTables tables(file);
    CHECK(column_text(tables.summary(), "name") == ascending_names(20));
    CHECK(column_text(tables.summary(table_by(ClassRules::reference)), "name") ==
          op_names({0, 1, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 19}));
}

TEST_CASE("without launchers the tables have columns and no rows") {
    TraceFixture file;
    file.op("op", 0, us(50)).launched("ncclDevKernel", us(110), us(120));
    const OpTables tables(file);
    REQUIRE(tables.launchers.rows.empty());
    for (const Table& table :
         {tables.by_category(), tables.summary(), tables.unique_args(), tables.unique_args_overlap()}) {
        CHECK(table.row_count() == 0);
        CHECK(table.find_column("Cumulative Percentage (%)").has_value());
    }
}

TEST_CASE("percentages are of the column as it stands, cumulative ones follow the rows") {
    Table table = real_column({10, 30, 60});
    add_percentages(table, "time");
    CHECK(header_text(table) == "time | Percentage (%) | Cumulative Percentage (%)");
    CHECK(column_text(table, "Percentage (%)") == "10.0 | 30.0 | 60.0");
    CHECK(column_text(table, "Cumulative Percentage (%)") == "10.0 | 40.0 | 100.0");
}

TEST_CASE("percentages of a zero total are no numbers") {
    Table table = real_column({0, 0});
    add_percentages(table, "time");
    for (const std::size_t row : {0U, 1U}) {
        CHECK(std::isnan(number_at(table, "Percentage (%)", row)));
        CHECK(std::isnan(number_at(table, "Cumulative Percentage (%)", row)));
    }
}

TEST_CASE("percentages of an unknown column or of no rows") {
    Table table = real_column({1});
    add_percentages(table, "other");
    CHECK(header_text(table) == "time");
    Table empty = real_column({});
    add_percentages(empty, "time");
    CHECK(empty.column_count() == 3);
    CHECK(empty.row_count() == 0);
}

TEST_CASE("launches of length zero are rows without a share") {
    TraceFixture file;
    add_op(file, "aten::mm", 0, 0);
    const Table table = OpTables(file).summary();
    CHECK(column_text(table, "total_direct_kernel_time_sum") == "0.0");
    CHECK(column_text(table, "Count") == "1");
    CHECK(std::isnan(number_at(table, "Percentage (%)", 0)));
}
