/// The order in which pandas 1.5 on NumPy 1.24 sorts by a single key, ties included.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace tracelens {

namespace detail {

/// NumPy's index quicksort: median of three, insertion sort below 16 elements. Not stable. `keys` hold no
/// NaN.
inline std::vector<std::uint32_t> numpy_quicksort_order(std::span<const double> keys) {
    constexpr std::ptrdiff_t small = 15;
    std::vector<std::uint32_t> index(keys.size());
    for (std::uint32_t i = 0; i < index.size(); ++i) index[i] = i;
    const auto at = [&](std::ptrdiff_t i) -> std::uint32_t& { return index[static_cast<std::size_t>(i)]; };
    const auto key = [&](std::ptrdiff_t i) { return keys[at(i)]; };

    std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>> pending;
    std::ptrdiff_t left = 0;
    std::ptrdiff_t right = static_cast<std::ptrdiff_t>(keys.size()) - 1;
    while (true) {
        while (right - left > small) {
            const std::ptrdiff_t middle = left + (right - left) / 2;
            if (key(middle) < key(left)) std::swap(at(middle), at(left));
            if (key(right) < key(middle)) std::swap(at(right), at(middle));
            if (key(middle) < key(left)) std::swap(at(middle), at(left));
            const double pivot = key(middle);
            std::ptrdiff_t i = left;
            std::ptrdiff_t j = right - 1;
            std::swap(at(middle), at(j));
            while (true) {
                do {
                    ++i;
                } while (key(i) < pivot);
                do {
                    --j;
                } while (pivot < key(j));
                if (i >= j) break;
                std::swap(at(i), at(j));
            }
            std::swap(at(i), at(right - 1));
            if (i - left < right - i) {
                pending.emplace_back(i + 1, right);
                right = i - 1;
            } else {
                pending.emplace_back(left, i - 1);
                left = i + 1;
            }
        }
        for (std::ptrdiff_t i = left + 1; i <= right; ++i) {
            const std::uint32_t moved = at(i);
            std::ptrdiff_t j = i;
            for (; j > left && keys[moved] < key(j - 1); --j) at(j) = at(j - 1);
            at(j) = moved;
        }
        if (pending.empty()) return index;
        std::tie(left, right) = pending.back();
        pending.pop_back();
    }
}

}  // namespace detail

/// The rows in pandas' order of `sort_values(ascending=False)` by one key; NaN last (spec 02, appendix B).
inline std::vector<std::uint32_t> reference_descending_order(std::span<const double> keys) {
    std::vector<std::uint32_t> rows;
    std::vector<std::uint32_t> last;
    for (std::uint32_t row = 0; row < keys.size(); ++row)
        (std::isnan(keys[row]) ? last : rows).push_back(row);
    std::reverse(rows.begin(), rows.end());
    std::vector<double> values;
    for (const std::uint32_t row : rows) values.push_back(keys[row]);
    std::vector<std::uint32_t> order;
    for (const std::uint32_t index : detail::numpy_quicksort_order(values)) order.push_back(rows[index]);
    std::reverse(order.begin(), order.end());
    order.insert(order.end(), last.begin(), last.end());
    return order;
}

}  // namespace tracelens
