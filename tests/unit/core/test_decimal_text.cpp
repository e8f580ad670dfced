#include <tracelens/core/decimal.hpp>

// Numbers as text: Python's float form (spec 02, section 5.1) and fixed decimals.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace tracelens;

namespace {

std::string text_of(double value) {
    std::string text;
    append_double(text, value);
    return text;
}

double random_double(std::mt19937_64& random) {
    while (true) {
        const std::uint64_t word = random();
        double value = 0;
        std::memcpy(&value, &word, sizeof value);
        if (std::isfinite(value)) return value;
    }
}

}  // namespace

TEST_CASE("append_double: the forms of spec 02, section 5.1") {
    struct Row {
        double value;
        std::string_view expected;
    };
    const std::vector<Row> rows = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {100.0, "100.0"},
        {-1.0, "-1.0"},
        {0.1, "0.1"},
        {-7.211102550927978, "-7.211102550927978"},
        {1e-07, "1e-07"},
        {1e22, "1e+22"},
        {1e15, "1000000000000000.0"},
        {9999999999999998.0, "9999999999999998.0"},
        {1e16, "1e+16"},
        {-1e16, "-1e+16"},
        {12345678901234567.0, "1.2345678901234568e+16"},
        {123456789012345680000.0, "1.2345678901234568e+20"},
        {1e-4, "0.0001"},
        {-1e-4, "-0.0001"},
        {0.00012345, "0.00012345"},
        {0.000099999, "9.9999e-05"},
        {1.5e-300, "1.5e-300"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {4102336718204.517, "4102336718204.517"},
        {9007199254740993.0, "9007199254740992.0"},
        {2.0 / 3.0, "0.6666666666666666"},
        {std::numeric_limits<double>::infinity(), "inf"},
        {-std::numeric_limits<double>::infinity(), "-inf"},
        {std::numeric_limits<double>::quiet_NaN(), "nan"},
        {-std::numeric_limits<double>::quiet_NaN(), "nan"},
    };
    for (const Row& row : rows) CHECK(text_of(row.value) == row.expected);
    std::string text = "a,";
    append_double(text, 1.5);
    CHECK(text == "a,1.5");
}

TEST_CASE("append_double: random doubles read back, in the right form and with no digit too many") {
    std::mt19937_64 random(17);
    int wrong = 0;
    for (int round = 0; round < 60'000; ++round) {
        double value = random_double(random);
        if (round % 3 == 1) value = static_cast<double>(random() >> 11) / 1e4;  // the sizes that reports hold
        if (round % 3 == 2)
            value = std::ldexp(static_cast<double>(random() >> 11), -static_cast<int>(random() % 80));
        const std::string text = text_of(value);
        const double size = std::fabs(value);
        const bool scientific = size != 0 && (size < 1e-4 || size >= 1e16);
        bool right = parse_double(text) == value && std::strtod(text.c_str(), nullptr) == value;
        right = right && (text.find('e') != std::string::npos) == scientific;
        right = right && (scientific || text.find('.') != std::string::npos);

        // No shorter correctly rounded form reads back.
        std::string digits;
        for (const char c : text.substr(0, text.find('e'))) {
            if (c >= '0' && c <= '9') digits += c;
        }
        digits.erase(0, digits.find_first_not_of('0'));
        digits.erase(digits.find_last_not_of('0') + 1);
        if (digits.size() > 1) {
            char shorter[64];
            std::snprintf(shorter, sizeof shorter, "%.*e", static_cast<int>(digits.size()) - 2, value);
            right = right && std::strtod(shorter, nullptr) != value;
        }
        if (!right && ++wrong == 1) MESSAGE("first wrong: " << text);
    }
    CHECK(wrong == 0);
}

TEST_CASE("append_integer") {
    std::string text = "n=";
    append_integer(text, 0);
    append_integer(text, -12);
    append_integer(text, std::numeric_limits<std::int64_t>::max());
    append_integer(text, std::numeric_limits<std::int64_t>::min());
    CHECK(text == "n=0-129223372036854775807-9223372036854775808");
}

TEST_CASE("fixed_decimals") {
    struct Row {
        double value;
        int decimals;
        std::string_view expected;
    };
    const std::vector<Row> rows = {
        {0, 0, "0"},
        {0, 2, "0.00"},
        {-1.5, 1, "-1.5"},
        {123.456, 1, "123.5"},
        {99.996, 2, "100.00"},
        {2.675, 2, "2.67"},  // the double is below the half
        {0.125, 2, "0.12"},  // exact halves go to even
        {0.375, 2, "0.38"},
        {1e22, 1, "10000000000000000000000.0"},
        {0.1, 20, "0.10000000000000000555"},
        {std::numeric_limits<double>::quiet_NaN(), 2, "nan"},
        {std::numeric_limits<double>::infinity(), 2, "inf"},
        {-std::numeric_limits<double>::infinity(), 2, "-inf"},
    };
    for (const Row& row : rows) CHECK(fixed_decimals(row.value, row.decimals) == row.expected);
}

TEST_CASE("fixed_decimals: random doubles agree with printf, which rounds correctly") {
    std::mt19937_64 random(23);
    int wrong = 0;
    for (int round = 0; round < 20'000; ++round) {
        const double value =
            round % 2 == 0 ? random_double(random) : static_cast<double>(random() >> 30) / 1e5;
        const int decimals = static_cast<int>(random() % 8);
        char expected[400];
        std::snprintf(expected, sizeof expected, "%.*f", decimals, value);
        wrong += fixed_decimals(value, decimals) != expected;
    }
    CHECK(wrong == 0);
}

TEST_CASE("fixed_decimals: a long result is complete") {
    char expected[500];
    std::snprintf(expected, sizeof expected, "%.*f", 100, 1e308);
    CHECK((fixed_decimals(1e308, 100) == expected));
}
