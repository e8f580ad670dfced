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

/// Sum from left to right with Kahan's compensation, as pandas sums groups.
inline double compensated_sum(std::span<const double> values) {
    double total = 0;
    double lost = 0;
    for (const double value : values) {
        const double corrected = value - lost;
        const double next = total + corrected;
        lost = (next - total) - corrected;
        total = next;
    }
    return total;
}

/// Sum by halves, with eight running sums at the leaves, as NumPy sums arrays. O(n).
inline double pairwise_sum(std::span<const double> values) {
    constexpr std::size_t lanes = 8;
    constexpr std::size_t leaf = 128;
    const std::size_t n = values.size();
    if (n < lanes) return sum(values);
    if (n > leaf) {
        const std::size_t half = n / 2 - n / 2 % lanes;
        return pairwise_sum(values.first(half)) + pairwise_sum(values.subspan(half));
    }
    double r[lanes];
    std::copy_n(values.begin(), lanes, r);
    std::size_t at = lanes;
    for (; at + lanes <= n; at += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) r[lane] += values[at + lane];
    }
    double total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; at < n; ++at) total += values[at];
    return total;
}

/// Arithmetic mean of the pairwise sum; NaN for no value.
inline double mean(std::span<const double> values) {
    if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
    return pairwise_sum(values) / static_cast<double>(values.size());
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
    if (below >= ascending.size() - 1) return ascending.back();
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
