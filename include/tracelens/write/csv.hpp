/// Tables as CSV (spec 02, section 5.1): UTF-8, comma, `\n`, a header row, no rounding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <tracelens/core/decimal.hpp>
#include <tracelens/core/json_text.hpp>
#include <tracelens/core/python_literal.hpp>
#include <tracelens/core/table.hpp>

namespace tracelens {

/// Appends one field, quoted when it has to be.
inline void append_csv_field(std::string& out, std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
        out += text;
        return;
    }
    out += '"';
    for (const char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    out += '"';
}

/// How nested cells are written.
enum class NestedForm : std::uint8_t {
    json,    ///< compact JSON
    python,  ///< Python literals, as the reference writes them
};

/// Appends the text of a cell that holds text: as it is, or as a Python literal.
inline void append_nested_text(std::string& out, std::string_view text, ColumnType type, NestedForm form) {
    if (type == ColumnType::text || form == NestedForm::json) {
        out += text;
    } else if (text.size() >= 2 && text.front() == '"') {
        std::string decoded;  // a string that stands where a list belongs is written as that string
        decode_json_string(text.substr(1, text.size() - 2), decoded);
        out += decoded;
    } else {
        append_python_literal(out, text, type == ColumnType::nested_tuple);
    }
}

/// Appends a cell's value: shortest decimals, `True` and `False`, nothing for missing values and NaN.
inline void append_csv_cell(std::string& out, const Cell& cell, ColumnType type, NestedForm form) {
    if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
        append_integer(out, *integer);
    } else if (const auto* real = std::get_if<double>(&cell)) {
        if (*real == *real) append_double(out, *real);
    } else if (const auto* text = std::get_if<std::string_view>(&cell)) {
        if (type == ColumnType::text || form == NestedForm::json) {
            append_csv_field(out, *text);
        } else {
            std::string nested;
            append_nested_text(nested, *text, type, form);
            append_csv_field(out, nested);
        }
    } else if (const auto* boolean = std::get_if<bool>(&cell)) {
        out += *boolean ? "True" : "False";
    }
}

/// The whole table; a table without columns is one empty line. O(cells).
inline std::string to_csv(const Table& table, NestedForm form = NestedForm::json) {
    std::string out;
    for (std::size_t column = 0; column < table.column_count(); ++column) {
        if (column != 0) out += ',';
        append_csv_field(out, table.column(column).name);
    }
    out += '\n';
    for (std::size_t row = 0; row < table.row_count(); ++row) {
        const std::size_t begin = out.size();
        for (std::size_t column = 0; column < table.column_count(); ++column) {
            if (column != 0) out += ',';
            append_csv_cell(out, table.cell(column, row), table.column(column).type, form);
        }
        if (out.size() == begin && table.column_count() == 1) out += "\"\"";  // else the row would be no row
        out += '\n';
    }
    return out;
}

}  // namespace tracelens
