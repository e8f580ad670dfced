#include <tracelens/core/table.hpp>

// Tables: cells, grouping, aggregation and sorting, against hand-made cases and naive implementations.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

using namespace tracelens;

namespace {

using Names = std::vector<std::string_view>;
using Groups = std::vector<std::uint32_t>;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

Cell text(std::string_view value) {
    return value;
}
Cell integer(std::int64_t value) {
    return value;
}
Cell real(double value) {
    return value;
}
Cell boolean(bool value) {
    return value;
}
const Cell missing;

/// A table of the given columns, one row a list.
Table make_table(const std::vector<std::pair<std::string_view, ColumnType>>& columns,
                 const std::vector<std::vector<Cell>>& rows) {
    Table table;
    for (const auto& [name, type] : columns) table.add_column(name, type);
    for (const std::vector<Cell>& row : rows) table.append_row(row);
    return table;
}

/// A cell as text that tells types apart and makes NaN equal to itself.
std::string shown(const Cell& cell) {
    if (const auto* value = std::get_if<std::int64_t>(&cell)) return "i" + std::to_string(*value);
    if (const auto* value = std::get_if<double>(&cell)) return "r" + std::to_string(*value);
    if (const auto* value = std::get_if<std::string_view>(&cell)) return "t" + std::string(*value);
    if (const auto* value = std::get_if<bool>(&cell)) return *value ? "true" : "false";
    return "-";
}

std::string shown_column(const Table& table, std::string_view name) {
    const std::optional<std::size_t> index = table.find_column(name);
    REQUIRE(index.has_value());
    std::string result;
    for (std::size_t row = 0; row < table.row_count(); ++row) {
        if (row > 0) result += ' ';
        result += shown(table.cell(*index, row));
    }
    return result;
}

Table aggregate_all(const Table& table, const Names& keys, const std::vector<AggregateColumn>& aggregates) {
    return table.aggregate(table.group_by(keys), keys, aggregates);
}

}  // namespace

TEST_CASE("columns, rows and cells of each type") {
    Table table = make_table(
        {{"n", ColumnType::integer},
         {"x", ColumnType::real},
         {"s", ColumnType::text},
         {"b", ColumnType::boolean}},
        {{integer(5), real(2.5), text("gemm"), boolean(true)},
         {missing, missing, missing, missing},
         {integer(std::numeric_limits<std::int64_t>::min()), real(not_a_number), text(""), boolean(false)}});
    CHECK(table.column_count() == 4);
    CHECK(table.row_count() == 3);
    CHECK(table.column(2).name == "s");
    CHECK(table.column(2).type == ColumnType::text);
    CHECK(table.find_column("x") == 1);
    CHECK_FALSE(table.find_column("X").has_value());

    CHECK(shown_column(table, "n") == "i5 - i-9223372036854775808");
    CHECK(shown_column(table, "x") == "r2.500000 - rnan");
    CHECK(shown_column(table, "s") == "tgemm - t");  // an empty text is not a missing one
    CHECK(shown_column(table, "b") == "true - false");

    CHECK(table.number(0, 0) == 5);
    CHECK(table.number(1, 0) == 2.5);
    CHECK(std::isnan(table.number(2, 0)));
    CHECK(table.number(3, 0) == 1);
    CHECK(table.number(3, 2) == 0);
    for (std::size_t column = 0; column < 4; ++column) CHECK(std::isnan(table.number(column, 1)));
}

TEST_CASE("an empty table, and one without rows") {
    Table table;
    CHECK(table.row_count() == 0);
    CHECK(table.column_count() == 0);
    table.add_column("n", ColumnType::integer);
    CHECK(table.row_count() == 0);
    CHECK(table.column_count() == 1);
    const Names keys = {"n"};
    CHECK(table.group_by(keys).group_count() == 0);
    CHECK(table.group_by({}).group_count() == 0);
    CHECK(aggregate_all(table, keys, {{"", Aggregate::count, "count"}}).row_count() == 0);
    table.stable_sort(std::vector<SortKey>{{"n", false}});
    table.top_k(std::vector<SortKey>{{"n", false}}, 3);
    table.take_rows({});
    CHECK(table.row_count() == 0);
}

TEST_CASE(
    "absent trailing cells are missing; an integer may go into a real column, nothing else crosses types") {
    const Table table = make_table({{"n", ColumnType::integer},
                                    {"x", ColumnType::real},
                                    {"s", ColumnType::text},
                                    {"b", ColumnType::boolean}},
                                   {{},
                                    {integer(1)},
                                    {real(1.5), integer(3), integer(4), integer(1)},
                                    {text("1"), text("1.5"), real(1.5), text("true")},
                                    {boolean(true), boolean(true), boolean(true), real(1)}});
    CHECK(shown_column(table, "n") == "- i1 - - -");
    CHECK(shown_column(table, "x") == "- - r3.000000 - -");
    CHECK(shown_column(table, "s") == "- - - - -");
    CHECK(shown_column(table, "b") == "- - - - -");
}

TEST_CASE("texts are copied and survive moves of the table") {
    Table table;
    table.add_column("s", ColumnType::text);
    std::string name = "ncclDevKernel";
    table.append_row({Cell(std::string_view(name))});
    name.assign(name.size(), '?');
    const Table moved = std::move(table);
    CHECK(shown_column(moved, "s") == "tncclDevKernel");
}

TEST_CASE("KeyGrouper numbers keys in order of first appearance") {
    KeyGrouper grouper;
    CHECK(grouper.group_of(7) == 0);
    CHECK(grouper.group_of(3) == 1);
    CHECK(grouper.group_of(7) == 0);
    CHECK(grouper.group_of(7, 1) == 2);
    CHECK(grouper.group_of(1, 7) == 3);
    for (std::uint64_t i = 0; i < 10'000; ++i) grouper.group_of(i << 32, i);
    int wrong = 0;
    for (std::uint64_t i = 1; i < 10'000; ++i) wrong += grouper.group_of(i << 32, i) != i + 4;
    CHECK(wrong == 0);
    CHECK(grouper.size() == 10'004);
}

TEST_CASE("Grouping::from lists the rows of each group in ascending order") {
    const Grouping grouping = Grouping::from({2, 0, 2, 1, 0, 2}, 4);
    CHECK(grouping.group_count() == 4);
    const auto rows = [&](std::size_t group) {
        return Groups(grouping.members(group).begin(), grouping.members(group).end());
    };
    CHECK(rows(0) == Groups{1, 4});
    CHECK(rows(1) == Groups{3});
    CHECK(rows(2) == Groups{0, 2, 5});
    CHECK(rows(3).empty());
    CHECK(grouping.group_of_row == Groups{2, 0, 2, 1, 0, 2});
}

TEST_CASE("group_by: first-seen order, missing as a key of its own") {
    const Table table =
        make_table({{"s", ColumnType::text}, {"n", ColumnType::integer}}, {{text("b"), integer(1)},
                                                                           {text("a"), integer(1)},
                                                                           {missing, integer(0)},
                                                                           {text("b"), missing},
                                                                           {text(""), integer(0)},
                                                                           {text("b"), integer(1)},
                                                                           {missing, integer(0)},
                                                                           {text("b"), missing},
                                                                           {text("b"), integer(0)}});
    CHECK(table.group_by(Names{"s"}).group_of_row == Groups{0, 1, 2, 0, 3, 0, 2, 0, 0});
    CHECK(table.group_by(Names{"n"}).group_of_row == Groups{0, 0, 1, 2, 1, 0, 1, 2, 1});
    CHECK(table.group_by(Names{"s", "n"}).group_of_row == Groups{0, 1, 2, 3, 4, 0, 2, 3, 5});
    CHECK(table.group_by(Names{"s", "unknown", "n"}).group_of_row == Groups{0, 1, 2, 3, 4, 0, 2, 3, 5});
    CHECK(table.group_by(Names{}).group_of_row == Groups(9, 0));
    CHECK(table.group_by(Names{"unknown"}).group_count() == 1);
}

TEST_CASE("group_by on real and boolean keys") {
    const Table table = make_table({{"x", ColumnType::real}, {"b", ColumnType::boolean}},
                                   {{real(0.0), boolean(false)},
                                    {real(-0.0), boolean(true)},
                                    {real(1.5), missing},
                                    {missing, boolean(false)},
                                    {real(not_a_number), boolean(true)},
                                    {real(not_a_number), missing}});
    CHECK(table.group_by(Names{"x"}).group_of_row == Groups{0, 0, 1, 2, 3, 3});
    CHECK(table.group_by(Names{"b"}).group_of_row == Groups{0, 1, 2, 0, 1, 2});
}

TEST_CASE("aggregates of one group, missing values left out") {
    const Table table =
        make_table({{"n", ColumnType::integer}, {"x", ColumnType::real}, {"s", ColumnType::text}},
                   {{missing, missing, missing},
                    {integer(40), real(40), text("b")},
                    {integer(44), real(44.5), text("a")},
                    {missing, missing, missing},
                    {integer(30), real(30), text("c")}});
    struct Row {
        Aggregate function;
        std::string_view of_integers;
        std::string_view of_reals;
    };
    const std::vector<Row> rows = {
        {Aggregate::count, "i5", "i5"},
        {Aggregate::sum, "i114", "r114.500000"},
        {Aggregate::mean, "r38.000000", "r38.166667"},
        {Aggregate::median, "r40.000000", "r40.000000"},
        {Aggregate::std_sample, "r7.211103", "r7.421815"},
        {Aggregate::std_population, "r5.887841", "r6.059886"},
        {Aggregate::min, "i30", "r30.000000"},
        {Aggregate::max, "i44", "r44.500000"},
        {Aggregate::first, "i40", "r40.000000"},
    };
    for (const Row& row : rows) {
        const Table result = aggregate_all(table, {}, {{"n", row.function, "n"}, {"x", row.function, "x"}});
        CAPTURE(static_cast<int>(row.function));
        CHECK(shown_column(result, "n") == row.of_integers);
        CHECK(shown_column(result, "x") == row.of_reals);
    }
    CHECK(shown_column(aggregate_all(table, {}, {{"s", Aggregate::first, "s"}}), "s") == "tb");
}

TEST_CASE("aggregates of a group without values, and of unknown columns") {
    const Table table = make_table({{"n", ColumnType::integer}, {"x", ColumnType::real}},
                                   {{missing, missing}, {missing, missing}});
    for (const Aggregate function :
         {Aggregate::mean, Aggregate::median, Aggregate::std_sample, Aggregate::std_population,
          Aggregate::min, Aggregate::max, Aggregate::first}) {
        CAPTURE(static_cast<int>(function));
        const Table result = aggregate_all(
            table, {}, {{"n", function, "n"}, {"x", function, "x"}, {"unknown", function, "u"}});
        for (const std::string_view name : {"n", "x", "u"}) CHECK(shown_column(result, name) == "-");
    }
    const Table result = aggregate_all(table, {},
                                       {{"n", Aggregate::sum, "n"},
                                        {"x", Aggregate::sum, "x"},
                                        {"unknown", Aggregate::sum, "u"},
                                        {"", Aggregate::count, "c"}});
    CHECK(shown_column(result, "n") == "i0");
    CHECK(shown_column(result, "x") == "r0.000000");
    CHECK(shown_column(result, "u") == "-");
    CHECK(shown_column(result, "c") == "i2");
}

TEST_CASE("integer sums are exact beyond 2^53; a single value has no sample deviation") {
    const std::int64_t large = (std::int64_t{1} << 53) + 1;
    const Table table = make_table({{"n", ColumnType::integer}}, {{integer(large)}, {integer(2)}});
    CHECK(shown_column(aggregate_all(table, {}, {{"n", Aggregate::sum, "sum"}}), "sum") ==
          "i9007199254740995");
    CHECK(shown_column(aggregate_all(table, {}, {{"n", Aggregate::max, "max"}}), "max") ==
          "i9007199254740993");
    const Table single = make_table({{"n", ColumnType::integer}}, {{integer(3)}});
    const Table result = aggregate_all(
        single, {}, {{"n", Aggregate::std_sample, "sample"}, {"n", Aggregate::std_population, "population"}});
    CHECK(std::isnan(result.number(0, 0)));
    CHECK(result.number(1, 0) == 0);
}

TEST_CASE("aggregate: key columns first, with their types; booleans count as numbers") {
    const Table table =
        make_table({{"s", ColumnType::text}, {"b", ColumnType::boolean}, {"k", ColumnType::boolean}},
                   {{text("y"), boolean(true), boolean(true)},
                    {missing, boolean(false), boolean(true)},
                    {text("y"), boolean(true), boolean(true)}});
    const Table result = aggregate_all(table, {"s", "k", "unknown"},
                                       {{"b", Aggregate::mean, "mean"}, {"b", Aggregate::first, "first"}});
    CHECK(result.column_count() == 4);
    CHECK(result.column(0).name == "s");
    CHECK(result.column(1).type == ColumnType::boolean);
    CHECK(shown_column(result, "s") == "ty -");
    CHECK(shown_column(result, "k") == "true true");
    CHECK(shown_column(result, "mean") == "r1.000000 r0.000000");
    CHECK(shown_column(result, "first") == "true false");
}

TEST_CASE("random rows: group_by and aggregate agree with a naive map") {
    std::mt19937 random(1234);
    for (int round = 0; round < 20; ++round) {
        Table table = make_table({{"s", ColumnType::text},
                                  {"k", ColumnType::integer},
                                  {"n", ColumnType::integer},
                                  {"x", ColumnType::real}},
                                 {});
        struct Naive {
            std::uint32_t number = 0;
            std::int64_t rows = 0;
            std::vector<std::int64_t> n;
            std::vector<double> x;
        };
        std::map<std::pair<std::string, std::string>, Naive> naive;
        std::size_t wrong = 0;
        Groups expected_groups;
        for (int row = 0; row < 500; ++row) {
            const std::string name = "name" + std::to_string(random() % 12);
            const Cell s = random() % 5 == 0 ? missing : text(name);
            const Cell k = random() % 5 == 0 ? missing : integer(static_cast<std::int64_t>(random() % 6) - 3);
            const Cell n =
                random() % 4 == 0 ? missing : integer(static_cast<std::int64_t>(random()) - 2'000'000'000);
            const Cell x = random() % 4 == 0 ? missing : real(static_cast<double>(random() % 1000) / 8);
            table.append_row({s, k, n, x});
            Naive& group = naive[{shown(s), shown(k)}];
            if (group.rows++ == 0) group.number = static_cast<std::uint32_t>(naive.size() - 1);
            if (const auto* value = std::get_if<std::int64_t>(&n)) group.n.push_back(*value);
            if (const auto* value = std::get_if<double>(&x)) group.x.push_back(*value);
            expected_groups.push_back(group.number);
        }
        const Names keys = {"s", "k"};
        const Grouping grouping = table.group_by(keys);
        CHECK(grouping.group_of_row == expected_groups);
        CHECK(grouping.group_count() == naive.size());
        const Table result = aggregate_all(table, keys,
                                           {{"", Aggregate::count, "count"},
                                            {"n", Aggregate::sum, "sum"},
                                            {"n", Aggregate::min, "min"},
                                            {"x", Aggregate::max, "max"},
                                            {"x", Aggregate::median, "median"}});
        REQUIRE(result.row_count() == naive.size());
        for (const auto& [key, group] : naive) {
            const std::size_t row = group.number;
            const std::int64_t sum = std::accumulate(group.n.begin(), group.n.end(), std::int64_t{0});
            const Cell least =
                group.n.empty() ? missing : integer(*std::min_element(group.n.begin(), group.n.end()));
            const Cell most =
                group.x.empty() ? missing : real(*std::max_element(group.x.begin(), group.x.end()));
            const Cell middle = group.x.empty() ? missing : real(median(group.x));
            wrong += shown(result.cell(0, row)) != key.first || shown(result.cell(1, row)) != key.second;
            wrong += shown(result.cell(2, row)) != shown(integer(group.rows));
            wrong += shown(result.cell(3, row)) != shown(integer(sum));
            wrong += shown(result.cell(4, row)) != shown(least);
            wrong += shown(result.cell(5, row)) != shown(most);
            wrong += shown(result.cell(6, row)) != shown(middle);
        }
        CHECK(wrong == 0);
    }
}
