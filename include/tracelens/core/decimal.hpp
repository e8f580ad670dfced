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

namespace detail {

/// A JSON number taken apart: `digits` stands for 0.d1d2d3... * 10^`point`. The digits are those before and
/// behind the decimal point, in two pieces.
struct NumberText {
    bool negative = false;
    std::string_view whole;
    std::string_view fraction;
    int exponent = 0;  ///< within +-10^8

    constexpr std::size_t digit_count() const noexcept { return whole.size() + fraction.size(); }
    constexpr int digit(std::size_t index) const noexcept {
        if (index < whole.size()) return whole[index] - '0';
        return index < digit_count() ? fraction[index - whole.size()] - '0' : 0;
    }
};

/// Splits a JSON number; false for anything else. Accepts a leading + and leading zeros.
constexpr bool split_number(std::string_view token, NumberText& number) noexcept {
    std::size_t at = 0;
    const auto digits = [&] {
        const std::size_t begin = at;
        while (at < token.size() && is_digit(token[at])) ++at;
        return token.substr(begin, at - begin);
    };
    if (at < token.size() && (token[at] == '-' || token[at] == '+')) number.negative = token[at++] == '-';
    number.whole = digits();
    if (number.whole.empty()) return false;
    if (at < token.size() && token[at] == '.') {
        ++at;
        number.fraction = digits();
        if (number.fraction.empty()) return false;
    }
    if (at < token.size() && (token[at] == 'e' || token[at] == 'E')) {
        ++at;
        bool down = false;
        if (at < token.size() && (token[at] == '-' || token[at] == '+')) down = token[at++] == '-';
        const std::string_view power = digits();
        if (power.empty()) return false;
        for (const char c : power) {
            if (number.exponent < 10'000'000) number.exponent = number.exponent * 10 + (c - '0');
        }
        if (down) number.exponent = -number.exponent;
    }
    return at == token.size();
}

}  // namespace detail

/// Reads a JSON number (also with a leading +) and multiplies it by 10^`scale_digits`, exactly; digits beyond
/// the scale round to nearest, halves away from zero. O(length).
constexpr ScaledDecimal parse_scaled(std::string_view token, int scale_digits) noexcept {
    detail::NumberText number;
    if (!detail::split_number(token, number)) {
        return {0, is_not_finite_word(token) ? DecimalStatus::not_finite : DecimalStatus::not_a_number};
    }
    constexpr std::size_t digits_that_fit = 18;
    const std::size_t padding = static_cast<std::size_t>(scale_digits) - number.fraction.size();
    const bool simple = number.exponent == 0 &&
                        static_cast<std::size_t>(scale_digits) >= number.fraction.size() &&
                        number.whole.size() + static_cast<std::size_t>(scale_digits) <= digits_that_fit;
    if (simple) {  // nearly every time in a trace
        std::int64_t sum = 0;
        for (const char c : number.whole) sum = sum * 10 + (c - '0');
        for (const char c : number.fraction) sum = sum * 10 + (c - '0');
        for (std::size_t i = 0; i < padding; ++i) sum *= 10;
        return {number.negative ? -sum : sum, DecimalStatus::ok};
    }
    // The result's digits are the first `kept` digits of the number; the next one rounds.
    const std::int64_t kept = static_cast<std::int64_t>(number.whole.size()) + number.exponent + scale_digits;
    constexpr auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const std::uint64_t most = number.negative ? limit + 1 : limit;
    std::uint64_t value = 0;
    for (std::int64_t i = 0; i < kept; ++i) {
        const auto index = static_cast<std::size_t>(i);
        if (value == 0 && index >= number.digit_count()) break;  // nothing but zeros
        if (value > most / 10) return {0, DecimalStatus::too_large};
        value = value * 10 + static_cast<std::uint64_t>(number.digit(index));
        if (value > most) return {0, DecimalStatus::too_large};
    }
    if (kept >= 0 && number.digit(static_cast<std::size_t>(kept)) >= 5 && ++value > most)
        return {0, DecimalStatus::too_large};
    return {static_cast<std::int64_t>(number.negative ? ~value + 1 : value), DecimalStatus::ok};
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

/// Reads a JSON number (also with a leading +) or a not-finite word as the nearest double; nothing for other
/// text.
inline std::optional<double> parse_double(std::string_view token) noexcept {
    const double infinity = std::numeric_limits<double>::infinity();
    if (is_not_finite_word(token)) {
        const bool negative = token.front() == '-';
        const char first = detail::to_lower(token[token.front() == '-' || token.front() == '+' ? 1 : 0]);
        if (first == 'n') return std::numeric_limits<double>::quiet_NaN();
        return negative ? -infinity : infinity;
    }
    detail::NumberText number;
    if (!detail::split_number(token, number)) return std::nullopt;
    if (token.front() == '+') token.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (error != std::errc::result_out_of_range) return value;
    // Out of range on which side: by the power of ten of the first digit that is not zero.
    std::size_t zeros = 0;
    while (zeros < number.digit_count() && number.digit(zeros) == 0) ++zeros;
    const std::int64_t power =
        static_cast<std::int64_t>(number.whole.size()) - static_cast<std::int64_t>(zeros) + number.exponent;
    const double size = zeros == number.digit_count() || power <= 0 ? 0 : infinity;
    return number.negative ? -size : size;
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

/// `value` with exactly `decimals` decimals, correctly rounded. Precondition: `decimals` is not negative.
inline std::string fixed_decimals(double value, int decimals) {
    if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    constexpr std::size_t longest_whole_part = 312;  // digits of the largest double, sign and point
    std::string text(longest_whole_part + static_cast<std::size_t>(decimals), '\0');
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, decimals).ptr;
    text.resize(static_cast<std::size_t>(end - text.data()));
    return text;
}

}  // namespace tracelens
