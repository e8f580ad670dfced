// Comparison of our tables with the reference's CSV files, by the rules of the shared compare_tables.py in
// its strict form: integers equal, other numbers within 1e-9 + 1e-6 of the golden value, text equal, rows in
// order.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tracelens/core/decimal.hpp>

namespace golden {

using Row = std::vector<std::string>;

inline std::vector<Row> parse_csv(std::string_view text) {
    std::vector<Row> rows;
    Row row;
    std::string field;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            if (c != '"')
                field += c;
            else if (i + 1 < text.size() && text[i + 1] == '"')
                field += text[++i];
            else
                quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == ',' || c == '\n') {
            row.push_back(std::move(field));
            field.clear();
            if (c == '\n') {
                rows.push_back(std::move(row));
                row.clear();
            }
        } else if (c != '\r') {
            field += c;
        }
    }
    return rows;
}

inline bool agree(const std::string& golden, const std::string& ours) {
    if (golden == ours) return true;
    const std::optional<std::int64_t> golden_integer = tracelens::parse_integer(golden);
    const std::optional<std::int64_t> our_integer = tracelens::parse_integer(ours);
    if (golden_integer && our_integer) return *golden_integer == *our_integer;
    const std::optional<double> a = tracelens::parse_double(golden);
    const std::optional<double> b = tracelens::parse_double(ours);
    return a && b && std::fabs(*a - *b) <= 1e-9 + 1e-6 * std::fabs(*a);
}

struct Comparison {
    std::size_t cells = 0;
    std::size_t agreeing = 0;
    std::string first_difference;
    bool whole() const { return cells != 0 && cells == agreeing; }
};

inline Comparison compare(std::string_view golden_csv, std::string_view our_csv) {
    const std::vector<Row> golden = parse_csv(golden_csv);
    const std::vector<Row> ours = parse_csv(our_csv);
    Comparison result;
    for (std::size_t row = 0; row < golden.size(); ++row) {
        for (std::size_t column = 0; column < golden[row].size(); ++column) {
            const std::string* const cell =
                row < ours.size() && column < ours[row].size() ? &ours[row][column] : nullptr;
            ++result.cells;
            if (cell != nullptr && agree(golden[row][column], *cell)) {
                ++result.agreeing;
            } else if (result.first_difference.empty()) {
                result.first_difference = "row " + std::to_string(row) + " column " + std::to_string(column) +
                                          ": golden " + golden[row][column] + ", ours " +
                                          (cell == nullptr ? "nothing" : *cell);
            }
        }
    }
    if (ours.size() != golden.size()) {
        ++result.cells;
        if (result.first_difference.empty()) result.first_difference = "another number of rows";
    }
    return result;
}

}  // namespace golden
