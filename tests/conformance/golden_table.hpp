// Comparison of our tables with the reference's CSV files, by the rules of the shared compare_tables.py in
// its strict form: integers equal, other numbers within 1e-9 + 1e-6 of the golden value, text equal, rows in
// order.
#pragma once

#include <cctype>
#include <cmath>
#include <cstdlib>
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

/// The text of a cell taken apart: what stands between the numbers, and the numbers.
struct Pieces {
    std::string skeleton;
    std::vector<std::string> numbers;
};

inline Pieces pieces_of(std::string_view text) {
    Pieces pieces;
    const auto is_digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
    const auto is_word = [&](std::size_t i) {
        return is_digit(i) || (i < text.size() &&
                               (std::isalpha(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_'));
    };
    for (std::size_t at = 0; at < text.size();) {
        const bool starts = is_digit(at) && (at == 0 || (!is_word(at - 1) && text[at - 1] != '.'));
        std::size_t end = at;
        if (starts) {
            while (is_digit(end)) ++end;
            if (end < text.size() && text[end] == '.') {
                ++end;
                while (is_digit(end)) ++end;
            }
            if (end < text.size() && text[end] == 'e') {
                std::size_t power = end + 1;
                if (power < text.size() && (text[power] == '-' || text[power] == '+')) ++power;
                if (is_digit(power)) {
                    end = power;
                    while (is_digit(end)) ++end;
                }
            }
        }
        if (!starts || is_word(end)) {
            pieces.skeleton += text[at++];
            continue;
        }
        pieces.skeleton += '#';
        pieces.numbers.emplace_back(text.substr(at, end - at));
        at = end;
    }
    return pieces;
}

inline bool close(const std::string& golden, const std::string& ours) {
    const std::optional<std::int64_t> golden_integer = tracelens::parse_integer(golden);
    const std::optional<std::int64_t> our_integer = tracelens::parse_integer(ours);
    if (golden_integer && our_integer) return *golden_integer == *our_integer;
    const double a = std::strtod(golden.c_str(), nullptr);
    const double b = std::strtod(ours.c_str(), nullptr);
    return std::fabs(a - b) <= 1e-9 + 1e-6 * std::fabs(a);
}

inline bool agree(const std::string& golden, const std::string& ours) {
    if (golden == ours) return true;
    const Pieces a = pieces_of(golden);
    const Pieces b = pieces_of(ours);
    if (a.skeleton != b.skeleton || a.numbers.size() != b.numbers.size()) return false;
    for (std::size_t i = 0; i < a.numbers.size(); ++i) {
        if (!close(a.numbers[i], b.numbers[i])) return false;
    }
    return true;
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
