/// Sorting of long integer columns.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace tracelens {

/// The stable ascending order of `keys`: element i of the result is the index of the i-th smallest key. Least
/// significant digit first radix sort over the bytes in which keys differ: O(n) passes, 4 bytes a key of
/// scratch. Already sorted input costs one scan. Precondition: fewer than 2^32 keys.
inline std::vector<std::uint32_t> stable_order(std::span<const std::int64_t> keys) {
    const std::size_t n = keys.size();
    std::vector<std::uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0U);
    if (std::is_sorted(keys.begin(), keys.end())) return order;

    constexpr unsigned digit_bits = 11;
    constexpr std::size_t buckets = std::size_t{1} << digit_bits;
    const auto [low, high] = std::minmax_element(keys.begin(), keys.end());
    const auto base = static_cast<std::uint64_t>(*low);
    const std::uint64_t range = static_cast<std::uint64_t>(*high) - base;

    std::vector<std::uint32_t> next(n);
    for (unsigned shift = 0; shift < 64 && (range >> shift) != 0; shift += digit_bits) {
        std::array<std::size_t, buckets> place{};
        const auto digit = [&](std::uint32_t index) {
            return ((static_cast<std::uint64_t>(keys[index]) - base) >> shift) & (buckets - 1);
        };
        for (const std::uint32_t index : order) ++place[digit(index)];
        std::size_t start = 0;
        for (std::size_t& each : place) start += std::exchange(each, start);
        for (const std::uint32_t index : order) next[place[digit(index)]++] = index;
        order.swap(next);
    }
    return order;
}

}  // namespace tracelens
