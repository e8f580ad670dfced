/// Nested values as Python literals, the form that the reference's tables have (spec 02, section 5.2).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tracelens/core/decimal.hpp>
#include <tracelens/core/json_text.hpp>

namespace tracelens {

namespace detail {

struct CodeRange {
    std::uint32_t first;
    std::uint32_t last;
};

/// What Python's repr escapes: controls, formats, separators, surrogates, private use and noncharacters of
/// Unicode 15. Unassigned code points are printed as they are.
inline constexpr CodeRange unprintable[] = {
    {0x0, 0x1f},        {0x7f, 0xa0},       {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},
    {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},     {0x1680, 0x1680},
    {0x180e, 0x180e},   {0x2000, 0x200f},   {0x2028, 0x202f},   {0x205f, 0x206f},   {0x3000, 0x3000},
    {0xd800, 0xf8ff},   {0xfdd0, 0xfdef},   {0xfeff, 0xfeff},   {0xfff0, 0xfffb},   {0xfffe, 0xffff},
    {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
    {0xe0001, 0xe0001}, {0xe0020, 0xe007f}, {0xf0000, 0x10ffff}};

constexpr bool is_unprintable(std::uint32_t code) noexcept {
    for (const CodeRange& range : unprintable) {
        if (code <= range.last) return code >= range.first;
    }
    return false;
}

/// The code point that `length` bytes of well-formed UTF-8 stand for.
constexpr std::uint32_t code_point(std::string_view text, std::size_t at, std::size_t length) noexcept {
    const auto byte = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(text[at + i])}; };
    if (length == 1) return byte(0);
    std::uint32_t code = byte(0) & (0xffU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3fU);
    return code;
}

inline void append_python_escape(std::string& out, std::uint32_t code) {
    static constexpr char hex[] = "0123456789abcdef";
    const unsigned digits = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
    out += digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U";
    for (unsigned digit = digits; digit-- > 0;) out += hex[code >> (4 * digit) & 15];
}

/// Appends a string as Python's repr: single quotes, or double quotes when it contains single ones only.
inline void append_python_string(std::string& out, std::string_view text) {
    const bool single = text.find('\'') != std::string_view::npos;
    const bool twice = text.find('"') != std::string_view::npos;
    const char quote = single && !twice ? '"' : '\'';
    out += quote;
    for (std::size_t at = 0, length = 1; at < text.size(); at += length) {
        const char c = text[at];
        length = std::max<std::size_t>(utf8_length(text, at), 1);
        if (c == quote || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\r') {
            out += "\\r";
        } else if (c == '\t') {
            out += "\\t";
        } else if (const std::uint32_t code = code_point(text, at, length); is_unprintable(code)) {
            append_python_escape(out, code);
        } else {
            out.append(text, at, length);
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
            else if (const auto value = parse_double(word);
                     value && word.find_first_of(".eEnN") != std::string_view::npos)
                append_double(out, *value);
            else
                out += word;
            at = end - 1;
        }
    }
}

}  // namespace tracelens
