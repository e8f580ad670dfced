// JSON as text and numbers as text, on any bytes.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <tracelens/core/decimal.hpp>
#include <tracelens/core/json_text.hpp>
#include <tracelens/core/python_literal.hpp>

#include "ensure.hpp"
#include "fuzz_parsers.hpp"

namespace fuzz {

using namespace tracelens;

/// `text` with every byte that belongs to no UTF-8 sequence replaced by U+FFFD. Written apart from the
/// library: a sequence is one that reads as a code point and is how that code point is written.
inline std::string with_valid_utf8(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const auto byte = [&](std::size_t i) {
            return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i]));
        };
        const std::size_t length = byte(0) < 0x80 ? 1 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
        std::uint32_t code = length == 1 ? byte(0) : byte(0) & (0xffU >> (length + 1));
        bool good = byte(0) < 0x80 || byte(0) >= 0xc0;
        for (std::size_t i = 1; i < length && good; ++i) {
            good = at + i < text.size() && (byte(i) & 0xc0) == 0x80;
            if (good) code = code << 6 | (byte(i) & 0x3f);
        }
        good = good && (code < 0xd800 || code > 0xdfff) && code <= 0x10ffff;
        const std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        good = good && code >= least[length] && byte(0) < 0xf8;
        if (good) {
            out.append(text, at, length);
            at += length;
        } else {
            out += "\xef\xbf\xbd";
            ++at;
        }
    }
    return out;
}

inline void check_strings(std::string_view text) {
    std::string written;
    append_json_string(written, text);
    const nlohmann::json read = nlohmann::json::parse(written, nullptr, false);
    ensure(read.is_string(), "a string is written as valid JSON");
    ensure(read.get<std::string>() == with_valid_utf8(text), "a written string reads back");
    std::string decoded;
    ensure(decode_json_string(std::string_view(written).substr(1, written.size() - 2), decoded) == 0,
           "a written string has no flaw");
    ensure(decoded == with_valid_utf8(text), "a written string is decoded to what was written");

    decode_json_string(text, decoded);
    ensure(decoded == with_valid_utf8(decoded), "what is decoded is UTF-8");
}

inline void check_values(std::string_view text) {
    const bool strict = is_strict_json(text);
    const std::string followed = std::string(text) + ' ';
    JsonScanner scanner(followed);
    std::string_view raw;
    const JsonScanner::Outcome outcome = scanner.value(raw);
    ensure(scanner.position() <= followed.size(), "a scanner stays within its text");
    ensure(!strict || (outcome == JsonScanner::Outcome::ok && scanner.flaws() == 0),
           "a flawless value is walked over without a flaw");

    std::string compact;
    const unsigned flaws = append_compact_json(compact, text);
    if (strict) {
        ensure(flaws == 0, "a flawless value is made compact without a flaw");
        ensure(nlohmann::json::parse(text) == nlohmann::json::parse(compact, nullptr, false),
               "making a value compact does not change it");
    }
    if ((flaws & json_structure) == 0) {
        ensure(outcome == JsonScanner::Outcome::ok, "what can be made compact can be walked over");
        std::string again;
        append_compact_json(again, compact);
        ensure(again == compact, "a compact value is as compact as can be");
    }
    for (const bool tuples : {false, true}) {
        std::string literal;
        append_python_literal(literal, compact, tuples);
    }
}

inline void check_number(std::string_view token) {
    const std::optional<double> real = parse_double(token);
    const std::optional<std::int64_t> integer = parse_integer(token);
    for (const int digits : {0, 3, 17}) {
        const ScaledDecimal scaled = parse_scaled(token, digits);
        ensure((scaled.status == DecimalStatus::not_a_number) == !real, "both agree on what a number is");
        if (!real) continue;
        ensure((scaled.status == DecimalStatus::not_finite) == is_not_finite_word(token),
               "words are not finite, numbers are");
        if (is_not_finite_word(token)) continue;
        const long double exact = static_cast<long double>(*real) * std::pow(10.0L, digits);
        if (scaled.status == DecimalStatus::ok) {
            const long double slack = 0.5L + std::fabs(exact) * 0x1p-52L;
            ensure(std::fabs(exact - static_cast<long double>(scaled.value)) <= slack,
                   "a scaled number is near the double");
        } else {
            ensure(std::fabs(exact) >= 0x1p63L * (1 - 0x1p-52L), "only large numbers are too large");
        }
    }
    if (integer) {
        const ScaledDecimal scaled = parse_scaled(token, 0);
        ensure(scaled.status == DecimalStatus::ok && scaled.value == *integer, "an integer is a number");
    }
    if (real && !is_not_finite_word(token)) {
        const double expected = std::strtod(std::string(token).c_str(), nullptr);
        ensure(*real == expected && std::signbit(*real) == std::signbit(expected),
               "a number is read as the nearest double");
    }
}

/// Numbers made of the bytes are written and read back.
inline void check_written_numbers(std::string_view bytes) {
    double real = 0;
    std::int64_t integer = 0;
    if (bytes.size() < sizeof real) return;
    std::memcpy(&real, bytes.data(), sizeof real);
    std::memcpy(&integer, bytes.data(), sizeof integer);
    std::string text;
    append_integer(text, integer);
    ensure(parse_integer(text) == integer, "a written integer reads back");
    text.clear();
    append_double(text, real);
    const std::optional<double> read = parse_double(text);
    ensure(read && (*read == real || (std::isnan(*read) && std::isnan(real))), "a written double reads back");
    check_number(text);
    check_number(fixed_decimals(real, 3));
}

inline void fuzz_json(std::string_view bytes) {
    check_strings(bytes);
    check_values(bytes);
    check_number(bytes);
    check_written_numbers(bytes);
    constexpr std::string_view separators = " \n\r\t,:[]{}\"";
    for (std::size_t at = bytes.find_first_not_of(separators); at != std::string_view::npos;) {
        const std::size_t end = std::min(bytes.find_first_of(separators, at), bytes.size());
        check_number(bytes.substr(at, end - at));
        at = bytes.find_first_not_of(separators, end);
    }
}

}  // namespace fuzz
