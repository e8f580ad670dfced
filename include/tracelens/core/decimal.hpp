/// Numbers as they stand in trace files, and back. Times are read from their decimal text into integers,
/// never through a double.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <tracelens/core/ascii.hpp>

namespace tracelens {

/// The outcome of reading a time.
enum class DecimalStatus : std::uint8_t {
    ok,
    not_a_number,  ///< no digits, or other characters
    not_finite,    ///< inf, nan and their spellings
    too_large,     ///< beyond int64 after scaling
};

struct ScaledDecimal {
    std::int64_t value = 0;
    DecimalStatus status = DecimalStatus::not_a_number;
};

/// True for the bare words that C and C++ streams write for numbers that are not finite: inf, infinity, nan,
/// with any case and sign.
constexpr bool is_not_finite_word(std::string_view token) noexcept {
    if (!token.empty() && (token.front() == '-' || token.front() == '+')) token.remove_prefix(1);
    return detail::equal_ignoring_case(token, "inf") || detail::equal_ignoring_case(token, "infinity") ||
           detail::equal_ignoring_case(token, "nan");
}

/// Reads a JSON number (also with a leading +) and multiplies it by 10^`scale_digits`, exactly; digits beyond
/// the scale round to nearest, halves away from zero. O(length).
constexpr ScaledDecimal parse_scaled(std::string_view token, int scale_digits) noexcept {
    std::size_t at = 0;
    bool negative = false;
    if (at < token.size() && (token[at] == '-' || token[at] == '+')) negative = token[at++] == '-';
    if (at == token.size()) return {};
    if (!detail::is_digit(token[at])) {
        return {0, is_not_finite_word(token) ? DecimalStatus::not_finite : DecimalStatus::not_a_number};
    }

    // All digits as one integer; `exponent` is the power of ten that it still lacks. Digits that cannot
    // matter any more (mantissa above 10^18 and behind the scale) only move the exponent.
    constexpr std::uint64_t mantissa_limit = 1'000'000'000'000'000'000ULL;
    std::uint64_t mantissa = 0;
    int exponent = scale_digits;
    bool lost_integer_digits = false;
    int round_digit = 0;
    bool rounding = false;
    for (; at < token.size() && detail::is_digit(token[at]); ++at) {
        if (mantissa >= mantissa_limit) {
            lost_integer_digits = true;
            continue;
        }
        mantissa = mantissa * 10 + static_cast<std::uint64_t>(token[at] - '0');
    }
    if (at < token.size() && token[at] == '.') {
        ++at;
        if (at == token.size() || !detail::is_digit(token[at])) return {};
        for (; at < token.size() && detail::is_digit(token[at]); ++at) {
            if (rounding) continue;
            if (mantissa >= mantissa_limit) {
                round_digit = token[at] - '0';
                rounding = true;
                continue;
            }
            mantissa = mantissa * 10 + static_cast<std::uint64_t>(token[at] - '0');
            --exponent;
        }
    }
    if (at < token.size() && (token[at] == 'e' || token[at] == 'E')) {
        ++at;
        bool down = false;
        if (at < token.size() && (token[at] == '-' || token[at] == '+')) down = token[at++] == '-';
        if (at == token.size() || !detail::is_digit(token[at])) return {};
        int power = 0;
        for (; at < token.size() && detail::is_digit(token[at]); ++at) {
            if (power < 10000) power = power * 10 + (token[at] - '0');
        }
        exponent += down ? -power : power;
    }
    if (at != token.size()) return {};
    if (lost_integer_digits) return {0, DecimalStatus::too_large};

    constexpr auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    for (; exponent > 0 && mantissa != 0; --exponent) {
        if (mantissa > limit / 10) return {0, DecimalStatus::too_large};
        mantissa *= 10;
    }
    for (; exponent < 0 && (mantissa != 0 || round_digit != 0); ++exponent) {
        round_digit = static_cast<int>(mantissa % 10);
        mantissa /= 10;
    }
    if (round_digit >= 5) ++mantissa;
    if (mantissa > limit) return {0, DecimalStatus::too_large};
    const auto value = static_cast<std::int64_t>(mantissa);
    return {negative ? -value : value, DecimalStatus::ok};
}

/// Reads a JSON integer; nothing for other text or beyond int64.
inline std::optional<std::int64_t> parse_integer(std::string_view token) noexcept {
    constexpr std::size_t digits_that_fit = 18;
    const bool negative = !token.empty() && token.front() == '-';
    const std::size_t first = negative ? 1 : 0;
    if (token.size() > first && token.size() - first <= digits_that_fit) {
        std::int64_t value = 0;
        for (std::size_t at = first; at < token.size(); ++at) {
            if (!detail::is_digit(token[at])) return std::nullopt;
            value = value * 10 + (token[at] - '0');
        }
        return negative ? -value : value;
    }
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (error != std::errc{} || end != token.data() + token.size()) return std::nullopt;
    return value;
}

/// Reads a JSON number or a not-finite word as the nearest double; nothing for other text.
inline std::optional<double> parse_double(std::string_view token) noexcept {
    if (!token.empty() && token.front() == '+') token.remove_prefix(1);
    if (is_not_finite_word(token)) {
        const bool negative = token.front() == '-';
        if (detail::to_lower(token[negative ? 1 : 0]) == 'n') return std::numeric_limits<double>::quiet_NaN();
        const double infinity = std::numeric_limits<double>::infinity();
        return negative ? -infinity : infinity;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (error == std::errc::result_out_of_range) return std::nullopt;
    if (error != std::errc{} || end != token.data() + token.size()) return std::nullopt;
    return value;
}

/// Appends the shortest decimal that reads back as `value`, in the form that Python prints: at least one
/// decimal, scientific below 1e-4 and from 1e16 on; `nan`, `inf`, `-inf` for the rest. (Spec 02, section 5.)
inline void append_double(std::string& out, double value) {
    if (std::isnan(value)) {
        out += "nan";
        return;
    }
    if (std::isinf(value)) {
        out += value < 0 ? "-inf" : "inf";
        return;
    }
    const double size = std::fabs(value);
    char buffer[64];
    if (size != 0 && (size < 1e-4 || size >= 1e16)) {
        const auto end =
            std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
        out.append(buffer, end);
        return;
    }
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
    out.append(buffer, end);
    if (std::string_view(buffer, static_cast<std::size_t>(end - buffer)).find('.') ==
        std::string_view::npos) {
        out += ".0";
    }
}

/// Appends an integer in decimal.
inline void append_integer(std::string& out, std::int64_t value) {
    char buffer[24];
    out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

/// `value` with exactly `decimals` decimals, correctly rounded.
inline std::string fixed_decimals(double value, int decimals) {
    if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    char buffer[400];
    const auto end =
        std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, decimals).ptr;
    return std::string(buffer, end);
}

}  // namespace tracelens
