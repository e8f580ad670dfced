/// JSON output: a streaming writer with fixed key order, so that equal data give equal bytes.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tracelens/core/decimal.hpp>
#include <tracelens/core/diagnostics.hpp>
#include <tracelens/core/json_text.hpp>
#include <tracelens/core/table.hpp>

namespace tracelens {

/// Writes one JSON value, indented by two spaces a level. The caller opens and closes objects and arrays in
/// order and calls `key` before every member of an object.
class JsonWriter {
  public:
    JsonWriter& begin_object() { return open('{'); }
    JsonWriter& end_object() { return close('}'); }
    JsonWriter& begin_array() { return open('['); }
    JsonWriter& end_array() { return close(']'); }

    JsonWriter& key(std::string_view name) {
        separate();
        append_json_string(out_, name);
        out_ += ": ";
        after_key_ = true;
        return *this;
    }

    JsonWriter& string(std::string_view text) {
        separate();
        append_json_string(out_, text);
        return *this;
    }
    JsonWriter& integer(std::int64_t value) {
        separate();
        append_integer(out_, value);
        return *this;
    }
    /// Shortest decimal that reads back; null when it is not finite.
    JsonWriter& number(double value) {
        if (!std::isfinite(value)) return null();
        separate();
        append_double(out_, value);
        return *this;
    }
    JsonWriter& boolean(bool value) {
        separate();
        out_ += value ? "true" : "false";
        return *this;
    }
    /// Compact JSON text as it is; text that is no strict JSON becomes a string.
    JsonWriter& raw(std::string_view json) {
        std::string copy;
        if (append_compact_json(copy, json) != 0) return string(json);
        separate();
        out_ += copy;
        return *this;
    }
    JsonWriter& null() {
        separate();
        out_ += "null";
        return *this;
    }

    /// The text, with a line end. The writer must have been closed as often as opened.
    std::string take() {
        out_ += '\n';
        return std::move(out_);
    }

  private:
    JsonWriter& open(char bracket) {
        separate();
        out_ += bracket;
        counts_.push_back(0);
        return *this;
    }

    JsonWriter& close(char bracket) {
        const bool filled = counts_.back() != 0;
        counts_.pop_back();
        if (filled) break_line();
        out_ += bracket;
        return *this;
    }

    void separate() {
        if (after_key_) {
            after_key_ = false;
            return;
        }
        if (counts_.empty()) return;
        if (counts_.back()++ != 0) out_ += ',';
        break_line();
    }

    void break_line() {
        out_ += '\n';
        out_.append(2 * counts_.size(), ' ');
    }

    std::string out_;
    std::vector<std::size_t> counts_;  // members so far of each open bracket
    bool after_key_ = false;
};

/// Writes a table as an array of objects, one a row, with the columns as keys; missing cells are null.
/// O(cells).
inline void write_table(JsonWriter& json, const Table& table) {
    json.begin_array();
    for (std::size_t row = 0; row < table.row_count(); ++row) {
        json.begin_object();
        for (std::size_t column = 0; column < table.column_count(); ++column) {
            json.key(table.column(column).name);
            const Cell cell = table.cell(column, row);
            if (const auto* integer = std::get_if<std::int64_t>(&cell))
                json.integer(*integer);
            else if (const auto* real = std::get_if<double>(&cell))
                json.number(*real);
            else if (const auto* boolean = std::get_if<bool>(&cell))
                json.boolean(*boolean);
            else if (const auto* text = std::get_if<std::string_view>(&cell)) {
                if (table.column(column).type == ColumnType::text)
                    json.string(*text);
                else
                    json.raw(*text);
            } else {
                json.null();
            }
        }
        json.end_object();
    }
    json.end_array();
}

/// Writes diagnostics as an array of objects with the keys of spec 11, section 7, and the area.
inline void write_diagnostics(JsonWriter& json, const Diagnostics& diagnostics) {
    json.begin_array();
    for (const Diagnostic& entry : diagnostics.entries()) {
        json.begin_object();
        json.key("code").string(entry.code);
        json.key("area").string(entry.area);
        json.key("verdict").string(to_string(entry.verdict));
        json.key("count").integer(static_cast<std::int64_t>(entry.count));
        json.key("first").string(entry.first);
        json.key("remedy").string(entry.remedy);
        json.key("value");
        if (entry.value)
            json.number(*entry.value);
        else
            json.null();
        json.key("unit").string(entry.unit);
        json.key("limit");
        if (entry.limit)
            json.number(*entry.limit);
        else
            json.null();
        json.end_object();
    }
    json.end_array();
}

}  // namespace tracelens
