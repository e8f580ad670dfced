/// Nested values as Python literals, the form that the reference's tables have (spec 02, section 5.2).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <tracelens/core/decimal.hpp>
#include <tracelens/core/json_text.hpp>

namespace tracelens {

namespace detail {

/// Appends a string as Python's repr: single quotes, or double quotes when it contains single ones only.
inline void append_python_string(std::string& out, std::string_view text) {
    static constexpr char hex[] = "0123456789abcdef";
    const bool single = text.find('\'') != std::string_view::npos;
    const bool twice = text.find('"') != std::string_view::npos;
    const char quote = single && !twice ? '"' : '\'';
    out += quote;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == quote || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\r') {
            out += "\\r";
        } else if (c == '\t') {
            out += "\\t";
        } else if (byte < 0x20 || byte == 0x7f) {
            out += "\\x";
            out += hex[byte >> 4];
            out += hex[byte & 15];
        } else {
            out += c;
        }
    }
    out += quote;
}

}  // namespace detail

/// Appends compact JSON text (as the trace model keeps it) as a Python literal; with `tuples`, lists become
/// tuples. Text that is no JSON is copied. O(length).
inline void append_python_literal(std::string& out, std::string_view json, bool tuples) {
    struct Open {
        char bracket;
        std::size_t members;
    };
    std::vector<Open> open;
    std::string decoded;
    for (std::size_t at = 0; at < json.size(); ++at) {
        const char c = json[at];
        if (c == '"') {
            std::size_t end = at + 1;
            while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2 : 1;
            decode_json_string(json.substr(at + 1, std::min(end, json.size()) - at - 1), decoded);
            detail::append_python_string(out, decoded);
            at = end;
        } else if (c == '[' || c == '{') {
            open.push_back({c, json.substr(at + 1, 1) == "]" || json.substr(at + 1, 1) == "}" ? 0U : 1U});
            out += c == '[' && tuples ? '(' : c;
        } else if (c == ']' || c == '}') {
            const bool lone = c == ']' && tuples && !open.empty() && open.back().members == 1;
            if (lone) out += ',';
            out += c == ']' && tuples ? ')' : c;
            if (!open.empty()) open.pop_back();
        } else if (c == ',') {
            if (!open.empty()) ++open.back().members;
            out += ", ";
        } else if (c == ':') {
            out += ": ";
        } else {
            const std::size_t end = std::min(json.find_first_of(",:]}", at), json.size());
            const std::string_view word = json.substr(at, end - at);
            if (word == "null")
                out += "None";
            else if (word == "true")
                out += "True";
            else if (word == "false")
                out += "False";
            else if (word.find_first_of(".eEnN") == std::string_view::npos)
                out += word;
            else
                append_double(out, parse_double(word).value_or(0));
            at = end - 1;
        }
    }
}

}  // namespace tracelens
