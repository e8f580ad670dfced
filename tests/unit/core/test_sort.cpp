#include <tracelens/core/sort.hpp>

// The stable order of integer columns against std::stable_sort.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <doctest/doctest.h>

using namespace tracelens;

namespace {

using Keys = std::vector<std::int64_t>;
using Order = std::vector<std::uint32_t>;

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

Order expected_order(const Keys& keys) {
    Order order(keys.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
    return order;
}

bool agrees(const Keys& keys) {
    return stable_order(keys) == expected_order(keys);
}

}  // namespace

TEST_CASE("small columns") {
    CHECK(stable_order(Keys{}).empty());
    CHECK(stable_order(Keys{5}) == Order{0});
    CHECK(stable_order(Keys{2, 1}) == Order{1, 0});
    CHECK(stable_order(Keys{3, -1, 3, -1, 0}) == Order{1, 3, 4, 0, 2});
}

TEST_CASE("sorted, reversed and equal columns") {
    Keys ascending(10'000);
    std::iota(ascending.begin(), ascending.end(), -5000);
    CHECK(agrees(ascending));
    CHECK(agrees(Keys(ascending.rbegin(), ascending.rend())));
    CHECK(agrees(Keys(1000, 7)));
    Keys nearly = ascending;
    std::swap(nearly.front(), nearly.back());
    CHECK(agrees(nearly));
}

TEST_CASE("the extremes of int64") {
    CHECK(agrees({highest, lowest}));
    CHECK(agrees({0, highest, -1, lowest, 1, lowest + 1, highest - 1, highest, lowest}));
    CHECK(agrees({highest, highest - 1, highest - 2}));
    CHECK(agrees({lowest + 2, lowest + 1, lowest}));
}

TEST_CASE("every width of key range, around each power of two") {
    std::mt19937_64 random(64);
    for (unsigned bits = 1; bits < 64; ++bits) {
        for (const std::int64_t base :
             {std::int64_t{0}, std::int64_t{-12345}, lowest, std::int64_t{1} << 40}) {
            const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
            Keys keys(200);
            for (std::int64_t& key : keys) {
                key = static_cast<std::int64_t>(static_cast<std::uint64_t>(base) + (random() & mask));
            }
            CAPTURE(bits);
            CAPTURE(base);
            CHECK(agrees(keys));
        }
    }
}

TEST_CASE("random columns with many ties, with few, and over the whole of int64") {
    std::mt19937_64 random(99);
    for (const std::uint64_t distinct :
         {std::uint64_t{2}, std::uint64_t{50}, std::uint64_t{3000}, ~std::uint64_t{0}}) {
        Keys keys(50'000);
        for (std::int64_t& key : keys) key = static_cast<std::int64_t>(random() % distinct) - 25;
        CAPTURE(distinct);
        CHECK(agrees(keys));
    }
}

TEST_CASE("event times: large, close together, almost in order") {
    std::mt19937_64 random(5);
    Keys keys(50'000);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        keys[i] = 1'760'000'000'000'000'000 + static_cast<std::int64_t>(i * 100 + random() % 1000);
    }
    CHECK(agrees(keys));
}
