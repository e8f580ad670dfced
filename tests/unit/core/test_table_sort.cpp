#include <tracelens/core/table.hpp>

// Tables: the order of rows.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

using namespace tracelens;

namespace {

using Keys = std::vector<SortKey>;
using Rows = std::vector<std::int64_t>;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// What stands in one row of the tables here; `missing` flags blank the cells out.
struct Record {
    std::string s;
    std::int64_t n = 0;
    double x = 0;
    bool s_missing = false;
    bool n_missing = false;
    bool x_missing = false;
};

/// Columns s, n, x and `row`, the number of the record.
Table make_table(const std::vector<Record>& records) {
    Table table;
    table.add_column("s", ColumnType::text);
    table.add_column("n", ColumnType::integer);
    table.add_column("x", ColumnType::real);
    table.add_column("row", ColumnType::integer);
    std::int64_t row = 0;
    for (const Record& record : records) {
        table.append_row({record.s_missing ? Cell{} : Cell(std::string_view(record.s)),
                          record.n_missing ? Cell{} : Cell(record.n),
                          record.x_missing ? Cell{} : Cell(record.x), Cell(row++)});
    }
    return table;
}

Rows rows_of(const Table& table) {
    const auto& numbers = table.column(3).integers;
    return {numbers.begin(), numbers.end()};
}

Rows sorted_rows(const std::vector<Record>& records, const Keys& keys) {
    Table table = make_table(records);
    table.stable_sort(keys);
    return rows_of(table);
}

Rows top_rows(const std::vector<Record>& records, const Keys& keys, std::size_t k) {
    Table table = make_table(records);
    table.top_k(keys, k);
    return rows_of(table);
}

/// Negative, zero or positive; both missing and NaN come last whatever the direction.
int naive_compare(const Record& a, const Record& b, const SortKey& key) {
    const auto last = [&](const Record& r) {
        if (key.column == "s") return r.s_missing;
        if (key.column == "n") return r.n_missing;
        return r.x_missing || std::isnan(r.x);
    };
    if (last(a) || last(b)) return last(a) && last(b) ? 0 : last(a) ? 1 : -1;
    int difference = 0;
    if (key.column == "s") difference = a.s < b.s ? -1 : a.s > b.s ? 1 : 0;
    if (key.column == "n") difference = a.n < b.n ? -1 : a.n > b.n ? 1 : 0;
    if (key.column == "x") difference = a.x < b.x ? -1 : a.x > b.x ? 1 : 0;
    return key.descending ? -difference : difference;
}

Rows naive_rows(const std::vector<Record>& records, const Keys& keys) {
    Rows rows(records.size());
    std::iota(rows.begin(), rows.end(), 0);
    std::stable_sort(rows.begin(), rows.end(), [&](std::int64_t a, std::int64_t b) {
        for (const SortKey& key : keys) {
            const int difference = naive_compare(records[static_cast<std::size_t>(a)],
                                                 records[static_cast<std::size_t>(b)], key);
            if (difference != 0) return difference < 0;
        }
        return false;
    });
    return rows;
}

std::vector<Record> random_records(std::mt19937& random, std::size_t count) {
    constexpr double reals[] = {0.0, -0.0, 1.5, -3, infinity, -infinity, not_a_number, 1e-300, 2};
    constexpr std::string_view texts[] = {"", "a", "A", "b", "ab", "\xc3\xa9", "z"};
    std::vector<Record> records(count);
    for (Record& record : records) {
        record.s = texts[random() % std::size(texts)];
        record.n = static_cast<std::int64_t>(random() % 5) - 2;
        record.x = reals[random() % std::size(reals)];
        record.s_missing = random() % 6 == 0;
        record.n_missing = random() % 6 == 0;
        record.x_missing = random() % 6 == 0;
    }
    return records;
}

}  // namespace

TEST_CASE("one key, both directions, equal rows in their order") {
    const std::vector<Record> records = {{"b", 2, 0.5}, {"a", 1, 2.5}, {"b", 1, 0.5}, {"C", 2, -1}};
    CHECK(sorted_rows(records, {{"n", false}}) == Rows{1, 2, 0, 3});
    CHECK(sorted_rows(records, {{"n", true}}) == Rows{0, 3, 1, 2});
    CHECK(sorted_rows(records, {{"s", false}}) == Rows{3, 1, 0, 2});  // by code point: C before a
    CHECK(sorted_rows(records, {{"s", true}}) == Rows{0, 2, 1, 3});
    CHECK(sorted_rows(records, {{"x", false}}) == Rows{3, 0, 2, 1});
    CHECK(sorted_rows(records, {{"x", true}}) == Rows{1, 0, 2, 3});
}

TEST_CASE("several keys, each with its direction; unknown keys and no keys change nothing") {
    const std::vector<Record> records = {{"b", 2, 0}, {"a", 1, 0}, {"b", 3, 0}, {"a", 2, 0}, {"b", 2, 0}};
    CHECK(sorted_rows(records, {{"s", false}, {"n", true}}) == Rows{3, 1, 2, 0, 4});
    CHECK(sorted_rows(records, {{"n", true}, {"s", false}}) == Rows{2, 3, 0, 4, 1});
    CHECK(sorted_rows(records, {}) == Rows{0, 1, 2, 3, 4});
    CHECK(sorted_rows(records, {{"unknown", true}}) == Rows{0, 1, 2, 3, 4});
    CHECK(sorted_rows(records, {{"unknown", true}, {"n", false}}) == Rows{1, 0, 3, 4, 2});
}

TEST_CASE("missing values and NaN come last in both directions, in their order") {
    std::vector<Record> records = {
        {"", 0, not_a_number}, {"", 0, 1}, {"", 0, 0}, {"", 0, infinity}, {"", 0, -infinity},
        {"", 0, not_a_number}, {"", 0, 2}};
    records[2].x_missing = true;
    CHECK(sorted_rows(records, {{"x", false}}) == Rows{4, 1, 6, 3, 0, 2, 5});
    CHECK(sorted_rows(records, {{"x", true}}) == Rows{3, 6, 1, 4, 0, 2, 5});

    std::vector<Record> texts = {{"", 1, 0}, {"b", 2, 0}, {"", 3, 0}, {"a", 4, 0}};
    texts[0].s_missing = true;
    CHECK(sorted_rows(texts, {{"s", false}}) == Rows{2, 3, 1, 0});
    CHECK(sorted_rows(texts, {{"s", true}}) == Rows{1, 3, 2, 0});
}

TEST_CASE("the extremes of int64 sort as numbers") {
    constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
    constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
    const std::vector<Record> records = {
        {"", highest, 0}, {"", -1, 0}, {"", lowest, 0}, {"", highest - 1, 0}};
    CHECK(sorted_rows(records, {{"n", false}}) == Rows{2, 1, 3, 0});
    CHECK(sorted_rows(records, {{"n", true}}) == Rows{0, 3, 1, 2});
}

TEST_CASE("top_k keeps the head of the stable order, ties included") {
    const std::vector<Record> records = {{"a", 5, 0}, {"b", 7, 0}, {"c", 5, 0}, {"d", 7, 0}, {"e", 5, 0}};
    CHECK(top_rows(records, {{"n", true}}, 3) == Rows{1, 3, 0});
    CHECK(top_rows(records, {{"n", false}}, 2) == Rows{0, 2});
    CHECK(top_rows(records, {{"n", true}}, 0).empty());
    CHECK(top_rows(records, {{"n", true}}, 99) == Rows{1, 3, 0, 2, 4});
    CHECK(top_rows(records, {}, 2) == Rows{0, 1});
}

TEST_CASE("random tables: stable_sort and top_k agree with a naive sort") {
    std::mt19937 random(77);
    constexpr std::string_view columns[] = {"s", "n", "x"};
    for (int round = 0; round < 300; ++round) {
        const std::vector<Record> records = random_records(random, random() % 120);
        Keys keys(1 + random() % 3);
        for (SortKey& key : keys) key = {columns[random() % 3], random() % 2 == 0};
        Rows expected = naive_rows(records, keys);
        REQUIRE(sorted_rows(records, keys) == expected);
        const std::size_t k = random() % (records.size() + 3);
        expected.resize(std::min(k, expected.size()));
        REQUIRE(top_rows(records, keys, k) == expected);
    }
}

TEST_CASE("sorting moves whole rows") {
    std::mt19937 random(3);
    const std::vector<Record> records = random_records(random, 500);
    Table table = make_table(records);
    table.stable_sort(Keys{{"x", true}, {"s", false}});
    REQUIRE(table.row_count() == records.size());
    int wrong = 0;
    for (std::size_t row = 0; row < records.size(); ++row) {
        const Record& record = records[static_cast<std::size_t>(table.column(3).integers[row])];
        wrong += std::holds_alternative<std::monostate>(table.cell(0, row)) != record.s_missing;
        if (!record.s_missing) wrong += std::get<std::string_view>(table.cell(0, row)) != record.s;
        wrong += std::holds_alternative<std::monostate>(table.cell(1, row)) != record.n_missing;
        if (!record.n_missing) wrong += std::get<std::int64_t>(table.cell(1, row)) != record.n;
    }
    CHECK(wrong == 0);
}

TEST_CASE("take_rows keeps the given rows in the given order") {
    std::vector<Record> records = {{"a", 1, 0.5}, {"b", 2, 1.5}, {"c", 3, 2.5}};
    records[1].n_missing = true;
    Table table = make_table(records);
    const std::vector<std::uint32_t> picked = {2, 0, 1, 1, 2};
    table.take_rows(picked);
    CHECK(rows_of(table) == Rows{2, 0, 1, 1, 2});
    CHECK(table.row_count() == 5);
    CHECK(std::get<std::string_view>(table.cell(0, 4)) == "c");
    CHECK(std::holds_alternative<std::monostate>(table.cell(1, 3)));
    table.take_rows({});
    CHECK(table.row_count() == 0);
    CHECK(table.column_count() == 4);
    table.append_row({Cell(std::string_view("new"))});
    CHECK(table.row_count() == 1);
    CHECK(std::get<std::string_view>(table.cell(0, 0)) == "new");
}
