/// Descriptive statistics over a column of numbers, in both conventions of the standard deviation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace tracelens {

/// The divisor of a variance: n - ddof.
enum class Ddof : unsigned char {
    population = 0,  ///< n; NumPy's default
    sample = 1,      ///< n - 1; pandas' default
};

/// Sum from left to right.
inline double sum(std::span<const double> values) {
    double total = 0;
    for (const double value : values) total += value;
    return total;
}

/// Arithmetic mean; NaN for no value.
inline double mean(std::span<const double> values) {
    if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
    return sum(values) / static_cast<double>(values.size());
}

/// Standard deviation in two passes; NaN when n - ddof is not positive.
inline double standard_deviation(std::span<const double> values, Ddof ddof) {
    const std::size_t divisor_loss = static_cast<std::size_t>(ddof);
    if (values.size() <= divisor_loss) return std::numeric_limits<double>::quiet_NaN();
    const double centre = mean(values);
    double squares = 0;
    for (const double value : values) squares += (value - centre) * (value - centre);
    return std::sqrt(squares / static_cast<double>(values.size() - divisor_loss));
}

/// Quantile `q` in [0, 1] of ascending values, linear between neighbours (NumPy's default); NaN for no value.
inline double quantile_sorted(std::span<const double> ascending, double q) {
    if (ascending.empty()) return std::numeric_limits<double>::quiet_NaN();
    const double position = q * static_cast<double>(ascending.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    if (below + 1 >= ascending.size()) return ascending.back();
    const double part = position - static_cast<double>(below);
    return ascending[below] + (ascending[below + 1] - ascending[below]) * part;
}

/// Median; reorders its argument.
inline double median_in_place(std::span<double> values) {
    if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

/// Median; NaN for no value.
inline double median(std::span<const double> values) {
    std::vector<double> copy(values.begin(), values.end());
    return median_in_place(copy);
}

}  // namespace tracelens
