/// Characters and comparisons of ASCII text, independent of the locale.
#pragma once

#include <string_view>

namespace tracelens {

namespace detail {

constexpr bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

constexpr bool is_space(char c) noexcept {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

constexpr char to_lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (to_lower(a[i]) != to_lower(b[i])) return false;
    }
    return true;
}

constexpr bool contains_ignoring_case(std::string_view text, std::string_view word) noexcept {
    for (std::size_t i = 0; i + word.size() <= text.size(); ++i) {
        if (equal_ignoring_case(text.substr(i, word.size()), word)) return true;
    }
    return false;
}

}  // namespace detail

}  // namespace tracelens
