#include <tracelens/perf/expression.hpp>

// Formulas as text: values, order of operators, failures and their places.
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace tracelens;

namespace {

std::optional<double> sizes(std::string_view name) {
    if (name == "M") return 8;
    if (name == "N_2") return 3;
    if (name == "zero") return 0;
    if (name == "huge") return std::numeric_limits<double>::infinity();
    return std::nullopt;
}

double value(std::string_view text) {
    const Result<Expression> parsed = Expression::parse(text);
    REQUIRE_MESSAGE(parsed.ok(), text);
    const Result<double> result = parsed->evaluate(sizes);
    REQUIRE_MESSAGE(result.ok(), text);
    return *result;
}

std::string parse_failure(std::string_view text) {
    const Result<Expression> parsed = Expression::parse(text);
    REQUIRE_FALSE_MESSAGE(parsed.ok(), text);
    CHECK(parsed.failure().code == ErrorCode::invalid_argument);
    return parsed.failure().reason;
}

std::string failure(std::string_view text) {
    const Result<Expression> parsed = Expression::parse(text);
    REQUIRE_MESSAGE(parsed.ok(), text);
    const Result<double> result = parsed->evaluate(sizes);
    REQUIRE_FALSE_MESSAGE(result.ok(), text);
    CHECK(result.failure().subject == text);
    return result.failure().reason;
}

std::string repeated(std::string_view text, int times) {
    std::string result;
    for (int i = 0; i < times; ++i) result += text;
    return result;
}

struct Case {
    std::string_view text;
    double value;
};

}  // namespace

TEST_CASE("numbers and names") {
    for (const Case& each :
         {Case{"7", 7}, Case{" 1.5 ", 1.5}, Case{".5", 0.5}, Case{"2e3", 2000}, Case{"2.5E-1", 0.25},
          Case{"1e+2", 100}, Case{"M", 8}, Case{"N_2", 3}, Case{"9007199254740991", 9007199254740991.0}}) {
        CHECK_MESSAGE(value(each.text) == each.value, each.text);
    }
    CHECK(*Expression().evaluate(sizes) == 0);
}

TEST_CASE("operators bind as in Python") {
    for (const Case& each : {Case{"2 * M * N_2 + 1", 49}, Case{"1 + 2 * 3", 7},  Case{"(1 + 2) * 3", 9},
                             Case{"10 - 4 - 3", 3},       Case{"24 / 4 / 2", 3}, Case{"2 ** 3 ** 2", 512},
                             Case{"2 ^ 3 ^ 2", 512},      Case{"2*3**2", 18},    Case{"-2 ** 2", -4},
                             Case{"2 ** -1", 0.5},        Case{"(-2) ** 2", 4},  Case{"- - 3", 3},
                             Case{"+3 - -3", 6},          Case{"4 * -2", -8},    Case{"7 // 2", 3},
                             Case{"-7 // 2", -4},         Case{"7 // -2", -4},   Case{"7 % 3", 1},
                             Case{"-7 % 3", 2},           Case{"7 % -3", -2},    Case{"7.5 % 2", 1.5},
                             Case{"2 * 7 // 4", 3},       Case{"1 / 4", 0.25},   Case{"-6 % 3", 0},
                             Case{"1 // 0.1", 9}}) {
        CHECK_MESSAGE(value(each.text) == each.value, each.text);
    }
}

TEST_CASE("functions") {
    for (const Case& each :
         {Case{"min(3, 1, 2)", 1}, Case{"max(3, M, 2)", 8}, Case{"min(5)", 5}, Case{"prod(2, 3, M)", 48},
          Case{"prod(2)", 2}, Case{"ceil(7 / 2)", 4}, Case{"floor(-7 / 2)", -4}, Case{"abs(2 - 5)", 3},
          Case{"sqrt(16)", 4}, Case{"log2(M)", 3}, Case{"round(0.5)", 0}, Case{"round(1.5)", 2},
          Case{"round(2.5)", 2}, Case{"round(-1.5)", -2}, Case{"round(2.4)", 2},
          Case{"2 * ceil(M / 32) ** 2 + max(1, min(2, 3))", 4}, Case{"sqrt (4)", 2}}) {
        CHECK_MESSAGE(value(each.text) == each.value, each.text);
    }
    // Without a bracket a word is a name, whatever functions there are.
    CHECK(failure("min + 1") == "\"min\" has no value at character 1");
}

TEST_CASE("rounding down and the rest fit together") {
    for (const double a : {-7.5, -6.0, -0.25, 0.0, 0.3, 5.0, 1e15 + 0.5}) {
        for (const double b : {-3.0, -0.1, 0.1, 0.7, 4.0}) {
            const auto lookup = [&](std::string_view name) { return std::optional(name == "a" ? a : b); };
            const double rest = *Expression::parse("a % b")->evaluate(lookup);
            const double whole = *Expression::parse("a // b")->evaluate(lookup);
            CHECK(whole == std::floor(whole));
            CHECK(std::fabs(rest) < std::fabs(b));
            CHECK((rest == 0 || std::signbit(rest) == std::signbit(b)));
            CHECK(whole * b + rest == doctest::Approx(a).epsilon(1e-12));
        }
    }
}

TEST_CASE("each name is listed once, by first use") {
    const Result<Expression> parsed = Expression::parse("2 * M * N + M ** K - min(N, d0_1)");
    REQUIRE(parsed.ok());
    const std::vector<std::string> names(parsed->names().begin(), parsed->names().end());
    CHECK(names == std::vector<std::string>{"M", "N", "K", "d0_1"});
    CHECK(Expression::parse("1 + 1")->names().empty());
}

TEST_CASE("what is no formula is refused with its place") {
    CHECK(parse_failure("") == "an operand is missing at character 1");
    CHECK(parse_failure("2 * ") == "an operand is missing at character 5");
    CHECK(parse_failure("2 * * 3") == "an operand is missing at character 5");
    CHECK(parse_failure("2 M") == "an operator is missing at character 3");
    CHECK(parse_failure("2M") == "an operator is missing at character 2");
    CHECK(parse_failure("(1 + 2") == "a closing bracket is missing, of the one at character 1");
    CHECK(parse_failure("(1 + 2 3)") == "a closing bracket or an operator is missing at character 8");
    CHECK(parse_failure("1 + 2)") == "an operator is missing at character 6");
    CHECK(parse_failure("min()") == "an operand is missing at character 5");
    CHECK(parse_failure("min(1,)") == "an operand is missing at character 7");
    CHECK(parse_failure("sqrt(1, 2)") == "\"sqrt\" takes one argument; there are more at character 7");
    CHECK(parse_failure("1 + exec(2)") ==
          "\"exec\" is no function (known are min, max, ceil, floor, round, abs, sqrt, log2, prod) at "
          "character 5");
    CHECK(parse_failure("1.2.3") == "this is no number at character 1");
    CHECK(parse_failure("1 + 2e") == "this is no number at character 5");
    CHECK(parse_failure(".") == "this is no number at character 1");
    CHECK(parse_failure("1e999") == "this is no number at character 1");
    for (const char* text : {"M > 3", "M == 3", "M = 3", "M; N", "__import__('os')", "M[0]", "M.real",
                             "\"M\"", "lambda: 1", "1 if M else 2", "M and N", "$M", "1,2", "\xc2\xb5"}) {
        CHECK_MESSAGE(!Expression::parse(text).ok(), text);
    }
}

TEST_CASE("values that cannot be worked out are failures with their place") {
    CHECK(failure("M / zero") == "division by zero at character 3");
    CHECK(failure("M // (M - 8)") == "division by zero at character 3");
    CHECK(failure("1 + M % zero") == "division by zero at character 7");
    CHECK(failure("zero ** -1") == "division by zero at character 6");
    CHECK(failure("2 * unheard_of") == "\"unheard_of\" has no value at character 5");
    CHECK(failure("sqrt(0 - M)") == "square root of a negative number at character 1");
    CHECK(failure("log2(zero)") == "logarithm of a number that is not positive at character 1");
    CHECK(failure("10 ** 400") == "no finite number at character 4");
    CHECK(failure("(0 - M) ** 0.5") == "no finite number at character 9");
    CHECK(failure("M + huge") == "no finite number at character 5");
}

TEST_CASE("depth and length have limits, on which nothing breaks") {
    CHECK(value(repeated("(", 60) + "1" + repeated(")", 60)) == 1);
    CHECK(value(repeated("-", 60) + "1") == 1);
    CHECK(value("1" + repeated(" + 1", 1000)) == 1001);
    CHECK(value("max(1" + repeated(", 2", 1000) + ")") == 2);
    for (const std::string& text :
         {repeated("(", 4000), repeated("-", 4000) + "1", repeated("min(", 1000), "2" + repeated("**2", 1000),
          repeated("1+2*3**(", 60) + "1" + repeated(")", 60)}) {
        CHECK(parse_failure(text).find("the formula is nested too deep at character ") == 0);
    }
    CHECK(parse_failure(repeated("1 + ", 2000)) == "the formula is too long at character 4097");
}

TEST_CASE("no text of the alphabet of formulas does harm") {
    constexpr std::string_view alphabet = "1.eM_ +-*/%^(),m";
    std::string text;
    std::uint64_t state = 1;
    int evaluated = 0;
    for (int round = 0; round < 20000; ++round) {
        text.clear();
        state = state * 6364136223846793005U + 1442695040888963407U;
        const std::size_t length = 1 + (state >> 60);
        for (std::size_t i = 0; i < length; ++i) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            text += alphabet[(state >> 33) % alphabet.size()];
        }
        const Result<Expression> parsed = Expression::parse(text);
        if (!parsed) continue;
        const Result<double> result = parsed->evaluate([](std::string_view) { return std::optional(2.0); });
        if (result) CHECK_MESSAGE(std::isfinite(*result), text);
        ++evaluated;
    }
    CHECK(evaluated > 100);
}
