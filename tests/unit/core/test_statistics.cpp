#include <tracelens/core/statistics.hpp>

// Descriptive statistics against NumPy's and pandas' figures, and spec 02, section 4.2.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

using namespace tracelens;

namespace {

using Column = std::vector<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("no value") {
    const Column none;
    CHECK(sum(none) == 0);
    CHECK(std::isnan(mean(none)));
    CHECK(std::isnan(median(none)));
    CHECK(std::isnan(standard_deviation(none, Ddof::population)));
    CHECK(std::isnan(standard_deviation(none, Ddof::sample)));
    CHECK(std::isnan(quantile_sorted(none, 0.5)));
    Column none_to_reorder;
    CHECK(std::isnan(median_in_place(none_to_reorder)));
}

TEST_CASE("one value") {
    const Column one = {42.5};
    CHECK(sum(one) == 42.5);
    CHECK(mean(one) == 42.5);
    CHECK(median(one) == 42.5);
    CHECK(standard_deviation(one, Ddof::population) == 0);
    CHECK(std::isnan(standard_deviation(one, Ddof::sample)));  // n - ddof is not positive
    for (const double q : {0.0, 0.3, 1.0}) CHECK(quantile_sorted(one, q) == 42.5);
}

TEST_CASE("both conventions of the standard deviation") {
    struct Row {
        Column values;
        double population;
        double sample;
    };
    const std::vector<Row> rows = {
        {{40, 44, 30}, 5.887840577551898, 7.211102550927978},  // the worked example of spec 02, section 4.2
        {{2, 4, 4, 4, 5, 5, 7, 9}, 2, 2.138089935299395},
        {{1, 2}, 0.5, std::sqrt(0.5)},
        {{-1, 1}, 1, std::sqrt(2.0)},
        {{3, 3, 3}, 0, 0},
        {{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}, std::sqrt(22.5), std::sqrt(30.0)},  // one pass loses this
    };
    for (const Row& row : rows) {
        CAPTURE(row.population);
        CHECK(standard_deviation(row.values, Ddof::population) ==
              doctest::Approx(row.population).epsilon(1e-12));
        CHECK(standard_deviation(row.values, Ddof::sample) == doctest::Approx(row.sample).epsilon(1e-12));
    }
}

TEST_CASE("sum adds from left to right") {
    CHECK(sum(Column{1, 2, 3.5}) == 6.5);
    CHECK(sum(Column{1e16, 1, 1, -1e16}) ==
          0);  // each 1 is lost; compensation or pairing would keep something
    CHECK(sum(Column{-1e16, 1e16, 1, 1}) == 2);
    CHECK(sum(Column{infinity, 1}) == infinity);
}

TEST_CASE("mean and median") {
    CHECK(mean(Column{1, 2, 6}) == 3);
    CHECK(mean(Column{1, 2}) == 1.5);
    CHECK(median(Column{9, 1, 5}) == 5);
    CHECK(median(Column{9, 1, 5, 3}) == 4);
    CHECK(median(Column{2, 2, 2, 2}) == 2);
    CHECK(median(Column{-3, 7}) == 2);
    CHECK(median(Column{-infinity, 0, infinity}) == 0);
}

TEST_CASE("quantiles are linear between neighbours") {
    const Column values = {1, 2, 3, 4};
    struct Row {
        double q;
        double expected;
    };
    for (const Row& row :
         std::vector<Row>{{0, 1}, {0.25, 1.75}, {0.5, 2.5}, {0.75, 3.25}, {0.9, 3.7}, {1, 4}}) {
        CAPTURE(row.q);
        CHECK(quantile_sorted(values, row.q) == doctest::Approx(row.expected).epsilon(1e-12));
    }
    const Column ten = {0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
    for (int percent = 0; percent <= 100; ++percent) {
        CHECK(quantile_sorted(ten, percent / 100.0) == doctest::Approx(percent).epsilon(1e-12));
    }
}

TEST_CASE("random columns agree with the definitions") {
    std::mt19937 random(31);
    std::normal_distribution<double> normal(50, 12);
    for (std::size_t size = 2; size < 200; ++size) {
        Column values(size);
        for (double& value : values) value = normal(random);
        Column sorted = values;
        std::sort(sorted.begin(), sorted.end());
        CAPTURE(size);

        const double middle = (sorted[(size - 1) / 2] + sorted[size / 2]) / 2;
        CHECK(median(values) == middle);
        CHECK(quantile_sorted(sorted, 0.5) == doctest::Approx(middle).epsilon(1e-12));
        CHECK(quantile_sorted(sorted, 0) == sorted.front());
        CHECK(quantile_sorted(sorted, 1) == sorted.back());

        const double population = standard_deviation(values, Ddof::population);
        const double sample = standard_deviation(values, Ddof::sample);
        const auto n = static_cast<double>(size);
        CHECK(sample * std::sqrt((n - 1) / n) == doctest::Approx(population).epsilon(1e-12));

        Column reordered = values;
        CHECK(median_in_place(reordered) == middle);
        std::sort(reordered.begin(), reordered.end());
        CHECK(reordered == sorted);  // the same values are still there
    }
}
