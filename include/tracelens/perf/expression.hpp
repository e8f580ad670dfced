/// Formulas given as text, such as `2 * M * N * K`: parsed once, evaluated often. Numbers, names, + - * / //
/// %
/// ** (also ^), parentheses and a few functions; never code.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/core/ascii.hpp>
#include <tracelens/core/decimal.hpp>
#include <tracelens/core/error.hpp>

namespace tracelens {

namespace detail {

enum class FormulaOp : std::uint8_t {
    number,
    name,
    add,
    subtract,
    multiply,
    divide,
    floor_divide,
    modulo,
    power,
    negate,
    min,
    max,
    ceil,
    floor,
    round,
    abs,
    sqrt,
    log2,
};

struct FormulaFunction {
    std::string_view name;
    FormulaOp op;
    bool takes_several;  ///< one argument or more, else exactly one
};

inline constexpr std::array formula_functions = {
    FormulaFunction{"min", FormulaOp::min, true},       FormulaFunction{"max", FormulaOp::max, true},
    FormulaFunction{"ceil", FormulaOp::ceil, false},    FormulaFunction{"floor", FormulaOp::floor, false},
    FormulaFunction{"round", FormulaOp::round, false},  FormulaFunction{"abs", FormulaOp::abs, false},
    FormulaFunction{"sqrt", FormulaOp::sqrt, false},    FormulaFunction{"log2", FormulaOp::log2, false},
    FormulaFunction{"prod", FormulaOp::multiply, true},
};

/// One step of a formula in reverse Polish order.
struct FormulaStep {
    FormulaOp op;
    std::uint32_t at = 0;    ///< of its text in the formula
    std::uint32_t name = 0;  ///< of a name: which
    double number = 0;       ///< of a number
};

inline constexpr std::size_t longest_formula = 4096;
inline constexpr int deepest_formula = 64;  ///< brackets, signs and powers within each other
inline constexpr std::size_t most_operands = 64;

inline Failure formula_failure(std::string_view formula, std::string_view what, std::size_t at) {
    return {ErrorCode::invalid_argument,
            std::string(formula),
            std::string(what) + " at character " + std::to_string(at + 1),
            {},
            {},
            {}};
}

class FormulaParser;

}  // namespace detail

/// A parsed formula. Whole numbers are exact up to 2^53, as everything is computed in double.
///
/// Operators and their order are Python's: `-2 ** 2` is -4, `2 ** 3 ** 2` is 2 ** 9, `//` rounds down, `%`
/// has the sign of the divisor; `^` is another spelling of `**`. `round` rounds halves to even; `min`, `max`
/// and `prod` take one argument or more. A default one is 0.
class Expression {
  public:
    /// Parses a formula. Fails (`invalid_argument`, with the place) on anything that is none, on unknown
    /// functions, beyond 4096 characters, and on nesting that is too deep. O(length).
    static Result<Expression> parse(std::string_view text);

    /// The names that it uses, each once, by first use.
    std::span<const std::string> names() const noexcept { return names_; }

    /// Its value, with `lookup(std::string_view name)` as the values of names, a `std::optional<double>`.
    /// Fails (`invalid_argument`, with the place) on names without a value, on division by zero, and where
    /// the result is no finite number. O(length); allocates nothing but the failure.
    template <class Lookup>
    Result<double> evaluate(const Lookup& lookup) const;

  private:
    friend class detail::FormulaParser;

    std::string text_;
    std::vector<detail::FormulaStep> steps_;
    std::vector<std::string> names_;
};

namespace detail {

class FormulaParser {
  public:
    explicit FormulaParser(std::string_view text) : text_(text) {}

    Result<Expression> parse() {
        if (text_.size() > longest_formula)
            return formula_failure(text_.substr(0, 40), "the formula is too long", longest_formula);
        sum(0);
        skip_space();
        if (at_ < text_.size()) fail("an operator is missing", at_);
        if (failure_) return *std::move(failure_);
        result_.text_ = std::string(text_);
        return std::move(result_);
    }

  private:
    void sum(int depth) {
        product(depth);
        while (!failure_) {
            skip_space();
            const std::size_t at = at_;
            if (take("+"))
                binary(FormulaOp::add, at, [&] { product(depth); });
            else if (take("-"))
                binary(FormulaOp::subtract, at, [&] { product(depth); });
            else
                return;
        }
    }

    void product(int depth) {
        sign(depth);
        while (!failure_) {
            skip_space();
            const std::size_t at = at_;
            if (text_.substr(at_, 2) == "**") return;
            if (take("*"))
                binary(FormulaOp::multiply, at, [&] { sign(depth); });
            else if (take("//"))
                binary(FormulaOp::floor_divide, at, [&] { sign(depth); });
            else if (take("/"))
                binary(FormulaOp::divide, at, [&] { sign(depth); });
            else if (take("%"))
                binary(FormulaOp::modulo, at, [&] { sign(depth); });
            else
                return;
        }
    }

    /// All recursion passes here.
    void sign(int depth) {
        skip_space();
        const std::size_t at = at_;
        if (depth >= deepest_formula) return fail("the formula is nested too deep", at);
        if (take("-")) {
            sign(depth + 1);
            emit({FormulaOp::negate, place(at)}, 0);
        } else if (take("+")) {
            sign(depth + 1);
        } else {
            operand(depth);
            skip_space();
            const std::size_t power_at = at_;
            if (!failure_ && (take("**") || take("^")))
                binary(FormulaOp::power, power_at, [&] { sign(depth + 1); });
        }
    }

    void operand(int depth) {
        skip_space();
        const std::size_t at = at_;
        const char first = at < text_.size() ? text_[at] : '\0';
        if (is_digit(first) || first == '.') {
            number();
        } else if (is_name_character(first)) {
            const std::string_view word = name();
            if (take("("))
                function(word, at, depth);
            else
                emit({FormulaOp::name, place(at), index_of(word)}, 1);
        } else if (take("(")) {
            sum(depth + 1);
            close(at);
        } else {
            fail("an operand is missing", at);
        }
    }

    void number() {
        const std::size_t begin = at_;
        const auto digits = [&] {
            while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
        };
        digits();
        if (take_here('.')) digits();
        if (take_here('e') || take_here('E')) {
            if (!take_here('+')) take_here('-');
            digits();
        }
        std::string digits_text(text_.substr(begin, at_ - begin));
        if (digits_text.front() == '.') digits_text.insert(0, 1, '0');
        const std::optional<double> value = parse_double(digits_text);
        if (!value || !std::isfinite(*value) || (at_ < text_.size() && text_[at_] == '.'))
            return fail("this is no number", begin);
        emit({FormulaOp::number, place(begin), 0, *value}, 1);
    }

    std::string_view name() noexcept {
        const std::size_t begin = at_;
        while (at_ < text_.size() && (is_name_character(text_[at_]) || is_digit(text_[at_]))) ++at_;
        const std::string_view word = text_.substr(begin, at_ - begin);
        skip_space();
        return word;
    }

    void function(std::string_view word, std::size_t at, int depth) {
        const auto known = std::find_if(formula_functions.begin(), formula_functions.end(),
                                        [&](const FormulaFunction& each) { return each.name == word; });
        if (known == formula_functions.end())
            return fail("\"" + std::string(word) + "\" is no function (known are " + function_names() + ")",
                        at);
        const bool folds = known->takes_several;
        sum(depth + 1);
        if (!folds) emit({known->op, place(at)}, 0);
        // Arguments are folded one by one, so that they need no room of their own.
        while (!failure_ && take_after_space(",")) {
            if (!folds)
                return fail("\"" + std::string(word) + "\" takes one argument; there are more", at_ - 1);
            binary(known->op, at, [&] { sum(depth + 1); });
        }
        close(at);
    }

    template <class Right>
    void binary(FormulaOp op, std::size_t at, const Right& right) {
        right();
        emit({op, place(at)}, -1);
    }

    void close(std::size_t opened_at) {
        if (!failure_ && !take_after_space(")")) {
            fail(at_ < text_.size() ? "a closing bracket or an operator is missing"
                                    : "a closing bracket is missing, of the one",
                 at_ < text_.size() ? at_ : opened_at);
        }
    }

    /// Adds a step that leaves `growth` more operands waiting.
    void emit(const FormulaStep& step, int growth) {
        if (failure_) return;
        operands_ += growth;
        if (operands_ > static_cast<int>(most_operands))
            return fail("the formula is nested too deep", step.at);
        result_.steps_.push_back(step);
    }

    std::uint32_t index_of(std::string_view word) {
        const auto known = std::find(result_.names_.begin(), result_.names_.end(), word);
        const auto index = static_cast<std::uint32_t>(known - result_.names_.begin());
        if (known == result_.names_.end()) result_.names_.emplace_back(word);
        return index;
    }

    static std::string function_names() {
        std::string names;
        for (const FormulaFunction& each : formula_functions) {
            if (!names.empty()) names += ", ";
            names += each.name;
        }
        return names;
    }

    static constexpr bool is_name_character(char c) noexcept {
        return c == '_' || (to_lower(c) >= 'a' && to_lower(c) <= 'z');
    }
    static constexpr std::uint32_t place(std::size_t at) noexcept { return static_cast<std::uint32_t>(at); }

    void skip_space() noexcept {
        while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    }
    bool take(std::string_view word) noexcept {
        if (text_.substr(at_, word.size()) != word) return false;
        at_ += word.size();
        return true;
    }
    bool take_after_space(std::string_view word) noexcept {
        skip_space();
        return take(word);
    }
    bool take_here(char c) noexcept {
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    void fail(std::string_view what, std::size_t at) {
        if (!failure_) failure_ = formula_failure(text_, what, at);
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int operands_ = 0;
    Expression result_;
    std::optional<Failure> failure_;
};

/// What an operation cannot be applied to, or null.
constexpr const char* formula_fault(FormulaOp op, double a, double b) noexcept {
    switch (op) {
        case FormulaOp::divide:
        case FormulaOp::floor_divide:
        case FormulaOp::modulo: return b == 0 ? "division by zero" : nullptr;
        case FormulaOp::power: return a == 0 && b < 0 ? "division by zero" : nullptr;
        case FormulaOp::sqrt: return a < 0 ? "square root of a negative number" : nullptr;
        case FormulaOp::log2: return !(a > 0) ? "logarithm of a number that is not positive" : nullptr;
        default: return nullptr;
    }
}

inline double round_half_even(double a) noexcept {
    return a - std::remainder(a, 1.0);
}

/// With the sign of the divisor, and exact: the rounded quotient may be one too large.
inline double python_modulo(double a, double b) noexcept {
    const double rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// `a op b`; of functions with one argument, `a` is it.
inline double formula_value(FormulaOp op, double a, double b) noexcept {
    switch (op) {
        case FormulaOp::add: return a + b;
        case FormulaOp::subtract: return a - b;
        case FormulaOp::multiply: return a * b;
        case FormulaOp::divide: return a / b;
        case FormulaOp::floor_divide: return round_half_even((a - python_modulo(a, b)) / b);
        case FormulaOp::modulo: return python_modulo(a, b);
        case FormulaOp::power: return std::pow(a, b);
        case FormulaOp::negate: return -a;
        case FormulaOp::min: return std::min(a, b);
        case FormulaOp::max: return std::max(a, b);
        case FormulaOp::ceil: return std::ceil(a);
        case FormulaOp::floor: return std::floor(a);
        case FormulaOp::round: return round_half_even(a);
        case FormulaOp::abs: return std::fabs(a);
        case FormulaOp::sqrt: return std::sqrt(a);
        case FormulaOp::log2: return std::log2(a);
        case FormulaOp::number:
        case FormulaOp::name: break;
    }
    return a;
}

constexpr bool takes_two(FormulaOp op) noexcept {
    return (op >= FormulaOp::add && op <= FormulaOp::power) || op == FormulaOp::min || op == FormulaOp::max;
}

}  // namespace detail

inline Result<Expression> Expression::parse(std::string_view text) {
    return detail::FormulaParser(text).parse();
}

template <class Lookup>
Result<double> Expression::evaluate(const Lookup& lookup) const {
    using detail::FormulaOp;
    std::array<double, detail::most_operands + 1> stack{};
    std::size_t height = 0;
    for (const detail::FormulaStep& step : steps_) {
        if (step.op == FormulaOp::number) {
            stack[height++] = step.number;
            continue;
        }
        if (step.op == FormulaOp::name) {
            const std::string& name = names_[step.name];
            const std::optional<double> value = lookup(std::string_view(name));
            if (!value) return detail::formula_failure(text_, "\"" + name + "\" has no value", step.at);
            if (!std::isfinite(*value)) return detail::formula_failure(text_, "no finite number", step.at);
            stack[height++] = *value;
            continue;
        }
        const double right = detail::takes_two(step.op) ? stack[--height] : 0;
        double& left = stack[height - 1];
        if (const char* const fault = detail::formula_fault(step.op, left, right))
            return detail::formula_failure(text_, fault, step.at);
        left = detail::formula_value(step.op, left, right);
        if (!std::isfinite(left)) return detail::formula_failure(text_, "no finite number", step.at);
    }
    return stack[0];
}

}  // namespace tracelens
