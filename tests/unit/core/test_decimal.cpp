#include <tracelens/core/decimal.hpp>

// Numbers of trace files: reading them, exact scaling against a big-decimal reference.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace tracelens;

namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

/// A number as digits and a power of ten.
struct BigDecimal {
    bool negative = false;
    std::string digits;
    int exponent = 0;

    std::string text(std::mt19937_64& random) const {
        const std::size_t point = random() % (digits.size() + 1);  // digits behind the point
        const std::string padded = point == digits.size() ? "0" + digits : digits;
        std::string result = negative ? "-" : random() % 8 == 0 ? "+" : "";
        result += padded.substr(0, padded.size() - point);
        if (point > 0) result += "." + padded.substr(padded.size() - point);
        const int power = exponent + static_cast<int>(point);
        if (power != 0 || random() % 4 == 0) {
            result += (random() % 2 == 0 ? "e" : "E") +
                      std::string(power > 0 && random() % 2 == 0 ? "+" : "") + std::to_string(power);
        }
        return result;
    }

    /// digits * 10^(exponent + scale), to nearest, halves away from zero; by moving digits only.
    ScaledDecimal scaled(int scale) const {
        std::string whole = digits;
        int power = exponent + scale;
        for (; power > 0 && whole.size() < 100; --power) whole += '0';
        const auto dropped = static_cast<std::size_t>(-power);
        bool up = false;
        if (power < 0) {
            if (dropped > whole.size()) {
                whole.clear();
            } else {
                up = whole[whole.size() - dropped] >= '5';
                whole.resize(whole.size() - dropped);
            }
        }
        whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size()));
        if (whole.size() > 19) return {0, DecimalStatus::too_large};
        std::uint64_t size = std::strtoull(("0" + whole).c_str(), nullptr, 10);
        if (up) ++size;
        if (size > static_cast<std::uint64_t>(highest)) return {0, DecimalStatus::too_large};
        const auto value = static_cast<std::int64_t>(size);
        return {negative ? -value : value, DecimalStatus::ok};
    }
};

/// Number of random texts of `fewest` to `most` digits that parse_scaled reads differently.
int count_wrong_scaled(std::size_t fewest, std::size_t most) {
    std::mt19937_64 random(most);
    int wrong = 0;
    for (int round = 0; round < 50'000; ++round) {
        BigDecimal number;
        number.negative = random() % 2 == 0;
        number.digits = std::to_string(1 + random() % 9);
        const std::size_t size = fewest + random() % (most - fewest + 1);
        while (number.digits.size() < size) {
            number.digits += static_cast<char>(random() % 3 == 0 ? '0' : '0' + random() % 10);
        }
        number.exponent = -static_cast<int>(random() % 45) + 5;
        const int scale = static_cast<int>(random() % 10);
        const std::string text = number.text(random);
        const ScaledDecimal got = parse_scaled(text, scale);
        const ScaledDecimal expected = number.scaled(scale);
        const bool right = got.status == expected.status &&
                           (got.value == expected.value || expected.status != DecimalStatus::ok);
        if (!right && ++wrong == 1) {
            MESSAGE("first wrong: " << text << " scale " << scale << " gives " << got.value << ", expected "
                                    << expected.value);
        }
    }
    return wrong;
}

}  // namespace

TEST_CASE("parse_scaled: values") {
    struct Row {
        std::string_view text;
        int scale;
        std::int64_t expected;
    };
    const std::vector<Row> rows = {
        {"0", 3, 0},
        {"-0", 3, 0},
        {"-0.0", 3, 0},
        {"7", 3, 7000},
        {"7", 0, 7},
        {"+7.25", 3, 7250},
        {"-7.25", 3, -7250},
        {"4102336718204.517", 3, 4102336718204517},  // a double holds 4102336718204.51708984375
        {"4102336718204.517", 6, 4102336718204517000},
        {"4102336718204.517", 0, 4102336718205},
        {"1760000000123456.789", 3, 1760000000123456789},
        {"-1760000000123456.789", 3, -1760000000123456789},
        {"0.001", 3, 1},
        {"1.0004", 3, 1000},
        {"1.0005", 3, 1001},
        {"-1.0004", 3, -1000},
        {"-1.0005", 3, -1001},
        {"1.00049999999999999999999999999999", 3, 1000},
        {"0.0004", 3, 0},
        {"0.0005", 3, 1},
        {"-0.0005", 3, -1},
        {"2.5", 0, 3},
        {"-2.5", 0, -3},
        {"0.5", 0, 1},
        {"0.49", 0, 0},
        {"999.9996", 3, 1000000},
        {"1e3", 3, 1000000},
        {"1E3", 3, 1000000},
        {"1e+3", 3, 1000000},
        {"1e-3", 3, 1},
        {"5e-4", 3, 1},
        {"4e-4", 3, 0},
        {"1.5e2", 3, 150000},
        {"1.760000000123456789e15", 3, 1760000000123456789},
        {"0e99999999999", 3, 0},
        {"1e-99999999999", 3, 0},
        {"0.000000000000000000000000000001e30", 0, 1},
        {"0.00000000000000000000000000000075e30", 0, 1},
        {"4102336718204.5170000000000000000000000001", 3, 4102336718204517},
        {"4102336718204.5175000000000000000000000000", 3, 4102336718204518},
        {"4102336718204.5174999999999999999999999999", 3, 4102336718204517},
        {"9223372036854775807", 0, highest},
        {"-9223372036854775807", 0, -highest},
        {"9223372036854775.807", 3, highest},
        {"9223372036854775.8074", 3, highest},
    };
    for (const Row& row : rows) {
        CAPTURE(row.text);
        CAPTURE(row.scale);
        const ScaledDecimal got = parse_scaled(row.text, row.scale);
        CHECK(got.status == DecimalStatus::ok);
        CHECK(got.value == row.expected);
    }
}

TEST_CASE("parse_scaled works at compile time") {
    static_assert(parse_scaled("12.3456", 3).value == 12346);
    static_assert(parse_scaled("inf", 3).status == DecimalStatus::not_finite);
}

TEST_CASE("parse_scaled: the lowest int64 is not beyond int64") {
    CHECK(parse_scaled("-9223372036854775808", 0).status == DecimalStatus::ok);
    CHECK(parse_scaled("-9223372036854775808", 0).value == lowest);
    CHECK(parse_scaled("-9223372036854775.808", 3).value == lowest);
}

TEST_CASE("parse_scaled: more integer digits than int64 holds, and an exponent that takes them away") {
    CHECK(parse_scaled("12345678901234567890e-5", 3).value == 123456789012345679);
    CHECK(parse_scaled("1234567890123456789012345678901234567890e-30", 3).value == 1234567890123);
    CHECK(parse_scaled("100000000000000000000000000000000000000.5e-38", 3).value == 1000);
}

TEST_CASE("parse_scaled: too large") {
    for (const std::string_view text :
         {"9223372036854775808", "9223372036854775807.5", "-9223372036854775809", "18446744073709551615",
          "18446744073709551616", "12345678901234567890", "1234567890123456789012345678901234567890", "1e19",
          "1e99999999999", "-1e400", "0.1e21"}) {
        CAPTURE(text);
        CHECK(parse_scaled(text, 0).status == DecimalStatus::too_large);
    }
    CHECK(parse_scaled("9223372036854775.808", 3).status == DecimalStatus::too_large);
    CHECK(parse_scaled("9223372036854775.8075", 3).status == DecimalStatus::too_large);
    CHECK(parse_scaled("9223372036854776", 3).status == DecimalStatus::too_large);
}

TEST_CASE("parse_scaled: words and garbage") {
    for (const std::string_view text :
         {"inf", "-inf", "+inf", "INF", "Infinity", "-Infinity", "INFINITY", "nan", "NaN", "-nan", "+NAN"}) {
        CAPTURE(text);
        CHECK(is_not_finite_word(text));
        CHECK(parse_scaled(text, 3).status == DecimalStatus::not_finite);
    }
    for (const std::string_view text : {"",
                                        "-",
                                        "+",
                                        ".",
                                        "e5",
                                        "abc",
                                        "1x",
                                        " 1",
                                        "1 ",
                                        "1.",
                                        ".5",
                                        "-.5",
                                        "1.e5",
                                        "1e",
                                        "1e+",
                                        "1e5.0",
                                        "1.5.2",
                                        "--1",
                                        "+-1",
                                        "0x10",
                                        "1,5",
                                        "true",
                                        "null",
                                        "1e5e5",
                                        "infx",
                                        "nano",
                                        "in",
                                        "+-inf",
                                        "1_000",
                                        "\"1\"",
                                        "99999999999999999999x"}) {
        CAPTURE(text);
        CHECK_FALSE(is_not_finite_word(text));
        CHECK(parse_scaled(text, 3).status == DecimalStatus::not_a_number);
    }
}

TEST_CASE("parse_scaled: random numbers of up to 18 digits") {
    CHECK(count_wrong_scaled(1, 18) == 0);
}

TEST_CASE("parse_scaled: random numbers of 19 to 40 digits") {
    CHECK(count_wrong_scaled(19, 40) == 0);
}

TEST_CASE("parse_integer") {
    CHECK(parse_integer("0") == 0);
    CHECK(parse_integer("-12") == -12);
    CHECK(parse_integer("9223372036854775807") == highest);
    CHECK(parse_integer("-9223372036854775808") == lowest);
    for (const std::string_view text : {"", "-", "9223372036854775808", "-9223372036854775809", "1.0", "1e3",
                                        "1 ", " 1", "x", "0x1", "--1", "nan"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_integer(text).has_value());
    }
}

TEST_CASE("parse_double: values") {
    struct Row {
        std::string_view text;
        double expected;
    };
    const std::vector<Row> rows = {
        {"0", 0},
        {"1", 1},
        {"-2.5", -2.5},
        {"+2.5", 2.5},
        {"0.1", 0.1},
        {"1e5", 1e5},
        {"1E+5", 1e5},
        {"25e-1", 2.5},
        {"4102336718204.517", 4102336718204.517},
        {"1.7976931348623157e308", std::numeric_limits<double>::max()},
        {"2.2250738585072014e-308", std::numeric_limits<double>::min()},
        {"5e-324", std::numeric_limits<double>::denorm_min()},
        {"12345678901234567890123456789012345678901234567890",
         12345678901234567890123456789012345678901234567890.0},
        {"inf", std::numeric_limits<double>::infinity()},
        {"-Infinity", -std::numeric_limits<double>::infinity()},
        {"+INF", std::numeric_limits<double>::infinity()},
    };
    for (const Row& row : rows) {
        CAPTURE(row.text);
        CHECK(parse_double(row.text) == row.expected);
    }
    CHECK(std::signbit(parse_double("-0.0").value_or(1)));
    for (const std::string_view text : {"nan", "NaN", "-nan", "+NAN"}) {
        CAPTURE(text);
        CHECK(std::isnan(parse_double(text).value_or(0)));
    }
}

TEST_CASE("parse_double: beyond the range of double") {
    CHECK(parse_double("1e-400") == 0.0);  // the nearest double
    CHECK(parse_double("-1e-400") == 0.0);
    CHECK(std::isinf(parse_double("1e400").value_or(std::numeric_limits<double>::infinity())));
    // The digits decide as much as the exponent does.
    const std::string thousand_zeros(1000, '0');
    constexpr double infinity = std::numeric_limits<double>::infinity();
    CHECK(parse_double("0." + thousand_zeros + "1e500") == 0.0);
    CHECK(parse_double("0." + thousand_zeros + "1e1500") == infinity);
    CHECK(parse_double("1" + thousand_zeros + "e-500") == infinity);
    CHECK(parse_double("1" + thousand_zeros + "e-1500") == 0.0);
    CHECK(parse_double("000" + thousand_zeros + "1e-400") == 0.0);
    CHECK(parse_double("0e999999999999") == 0.0);
    CHECK(parse_double("-1e99999999999999999999") == -infinity);
    CHECK(parse_double("1e-99999999999999999999") == 0.0);
}

TEST_CASE("parse_double: nothing for other text") {
    for (const std::string_view text :
         {"",     "-",       "+",         ".",      "abc", "1x",  " 1",    "1 ",  "1e",
          "1e+",  "0x10",    "1.5.2",     "--1",    "++1", "+-5", "+-inf", "1,5", "true",
          "null", "infinit", "infinity1", "nan(1)", ".5",  "-.5", "1."}) {
        CAPTURE(text);
        CHECK_FALSE(parse_double(text).has_value());
    }
}
