// Tables put together and taken apart: columns and rows of other tables, selected rows.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/core/table.hpp>

#include "unit/analyze/table_support.hpp"

using namespace tracelens;
using fixture::column_text;
using fixture::header_text;

namespace {

/// Columns `name` (text) and `time` (real).
Table named_times(std::initializer_list<std::pair<std::string_view, double>> rows) {
    Table table;
    table.add_column("name", ColumnType::text);
    table.add_column("time", ColumnType::real);
    for (const auto& [name, time] : rows) table.append_row({Cell{name}, Cell{time}});
    return table;
}

/// Columns `count` (integer), `list` (nested) and `flag` (boolean).
Table counts(std::size_t rows) {
    Table table;
    table.add_column("count", ColumnType::integer);
    table.add_column("list", ColumnType::nested);
    table.add_column("flag", ColumnType::boolean);
    for (std::size_t row = 0; row < rows; ++row) {
        const std::string list = "[" + std::to_string(row) + "]";
        if (row % 2 == 0)
            table.append_row({static_cast<std::int64_t>(row), std::string_view(list), row == 0});
        else
            table.append_row(std::initializer_list<Cell>{});
    }
    return table;
}

}  // namespace

TEST_CASE("append_columns: behind the others, with types, texts and missing values") {
    Table table = named_times({{"a", 1}, {"b", 2}, {"c", 3}});
    table.append_columns(counts(3));
    CHECK(header_text(table) == "name | time | count | list | flag");
    CHECK(table.row_count() == 3);
    CHECK(column_text(table, "time") == "1.0 | 2.0 | 3.0");
    CHECK(column_text(table, "count") == "0 | - | 2");
    CHECK(column_text(table, "list") == "[0] | - | [2]");
    CHECK(column_text(table, "flag") == "True | - | False");
    CHECK(table.column(2).type == ColumnType::integer);
    CHECK(table.column(3).type == ColumnType::nested);
    CHECK(table.column(4).type == ColumnType::boolean);
}

TEST_CASE("append_columns: texts outlive the other table") {
    Table table = named_times({{"a", 1}});
    {
        Table other;
        other.add_column("text", ColumnType::text);
        const std::string long_text(1000, 'x');
        other.append_row({Cell{std::string_view(long_text)}});
        table.append_columns(other);
    }
    CHECK(column_text(table, "text") == std::string(1000, 'x'));
}

TEST_CASE("append_columns: of tables without rows or columns") {
    Table empty;
    empty.append_columns(named_times({}));
    CHECK(header_text(empty) == "name | time");
    CHECK(empty.row_count() == 0);
    Table table = named_times({{"a", 1}});
    table.append_columns(Table{});
    CHECK(header_text(table) == "name | time");
    CHECK(table.row_count() == 1);
}

TEST_CASE("append_rows: by the names of columns, whatever their order") {
    Table table = named_times({{"a", 1}});
    Table other;
    other.add_column("time", ColumnType::real);
    other.add_column("name", ColumnType::text);
    other.append_row({Cell{2.0}, Cell{std::string_view("b")}});
    table.append_rows(other);
    CHECK(header_text(table) == "name | time");
    CHECK(column_text(table, "name") == "a | b");
    CHECK(column_text(table, "time") == "1.0 | 2.0");
}

TEST_CASE("append_rows: new columns are missing before, lacking ones behind") {
    Table table = named_times({{"a", 1}, {"b", 2}});
    Table other;
    other.add_column("time", ColumnType::real);
    other.add_column("extra", ColumnType::integer);
    other.append_row({Cell{3.0}, Cell{std::int64_t{7}}});
    other.append_row({Cell{4.0}, Cell{}});
    table.append_rows(other);
    CHECK(header_text(table) == "name | time | extra");
    CHECK(table.column(2).type == ColumnType::integer);
    CHECK(column_text(table, "name") == "a | b | - | -");
    CHECK(column_text(table, "time") == "1.0 | 2.0 | 3.0 | 4.0");
    CHECK(column_text(table, "extra") == "- | - | 7 | -");
}

TEST_CASE("append_rows: into a table without columns, and of one") {
    Table table;
    table.append_rows(named_times({{"a", 1}, {"b", 2}}));
    CHECK(column_text(table, "name") == "a | b");
    table.append_rows(Table{});
    CHECK(table.row_count() == 2);
}

TEST_CASE("append_rows: of a table without rows, only the columns") {
    Table table = named_times({{"a", 1}});
    table.append_rows(counts(0));
    CHECK(header_text(table) == "name | time | count | list | flag");
    CHECK(table.row_count() == 1);
    CHECK(column_text(table, "flag") == "-");
}

TEST_CASE("append_rows: rows can be grouped with those before") {
    Table table = named_times({{"a", 1}, {"b", 2}});
    table.append_rows(named_times({{"b", 3}}));
    constexpr std::array<std::string_view, 1> keys = {"name"};
    CHECK(table.group_by(keys).group_of_row == std::vector<std::uint32_t>{0, 1, 1});
}

TEST_CASE("with_rows: the given rows in the given order, also twice; the table stays as it is") {
    const Table table = named_times({{"a", 1}, {"b", 2}, {"c", 3}});
    constexpr std::array<std::uint32_t, 3> rows = {2, 0, 2};
    const Table picked = table.with_rows(rows);
    CHECK(column_text(picked, "name") == "c | a | c");
    CHECK(column_text(picked, "time") == "3.0 | 1.0 | 3.0");
    CHECK(column_text(table, "name") == "a | b | c");
}

TEST_CASE("with_rows: types and missing values stay") {
    constexpr std::array<std::uint32_t, 2> rows = {1, 0};
    const Table picked = counts(2).with_rows(rows);
    CHECK(column_text(picked, "count") == "- | 0");
    CHECK(column_text(picked, "list") == "- | [0]");
    CHECK(column_text(picked, "flag") == "- | True");
    CHECK(picked.column(1).type == ColumnType::nested);
}

TEST_CASE("with_rows: no rows leave the columns") {
    const Table picked = counts(2).with_rows({});
    CHECK(header_text(picked) == "count | list | flag");
    CHECK(picked.row_count() == 0);
}

TEST_CASE("has_values") {
    Table table = counts(2);
    CHECK(table.has_values("count"));
    CHECK(table.has_values("flag"));
    CHECK_FALSE(table.has_values("unknown"));
    CHECK_FALSE(counts(0).has_values("count"));
    constexpr std::array<std::uint32_t, 1> without = {1};
    CHECK_FALSE(table.with_rows(without).has_values("count"));
    CHECK_FALSE(table.with_rows(without).has_values("list"));
    constexpr std::array<std::uint32_t, 2> behind = {1, 0};
    CHECK(table.with_rows(behind).has_values("count"));
    CHECK_FALSE(Table{}.has_values("count"));
}
