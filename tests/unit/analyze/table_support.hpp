/// Tables as text, for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <doctest/doctest.h>

#include <tracelens/core/decimal.hpp>
#include <tracelens/core/table.hpp>

namespace tracelens::fixture {

inline std::size_t column_index(const Table& table, std::string_view name) {
    const std::optional<std::size_t> index = table.find_column(name);
    REQUIRE_MESSAGE(index.has_value(), "no column ", name);
    return *index;
}

/// A cell as a CSV file would have it; `-` for a missing one.
inline std::string cell_text(const Table& table, std::string_view name, std::size_t row) {
    const Cell cell = table.cell(column_index(table, name), row);
    if (const auto* text = std::get_if<std::string_view>(&cell)) return std::string(*text);
    if (const auto* integer = std::get_if<std::int64_t>(&cell)) return std::to_string(*integer);
    if (const auto* truth = std::get_if<bool>(&cell)) return *truth ? "True" : "False";
    if (std::holds_alternative<std::monostate>(cell)) return "-";
    std::string out;
    append_double(out, std::get<double>(cell));
    return out;
}

/// The cells of a column from top to bottom, separated by ` | `.
inline std::string column_text(const Table& table, std::string_view name) {
    std::string out;
    for (std::size_t row = 0; row < table.row_count(); ++row)
        out += (row == 0 ? "" : " | ") + cell_text(table, name, row);
    return out;
}

/// The names of the columns, separated by ` | `.
inline std::string header_text(const Table& table) {
    std::string out;
    for (std::size_t i = 0; i < table.column_count(); ++i) {
        if (i > 0) out += " | ";
        out += table.column(i).name;
    }
    return out;
}

inline double number_at(const Table& table, std::string_view name, std::size_t row) {
    return table.number(column_index(table, name), row);
}

}  // namespace tracelens::fixture
