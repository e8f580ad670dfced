// How well products fill tiles and compute units (spec 03, section 3.18).

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include <tracelens/perf/gemm_efficiency.hpp>

using namespace tracelens;

namespace {

constexpr double mi300x_units = 304;

/// In the documents' orientation, BLAS-M x BLAS-N.
GemmEfficiency blas(double m, double n, const KernelTile& tile) {
    const auto result = gemm_efficiency(GemmShape{n, m, 1}, tile, mi300x_units);
    REQUIRE(result.has_value());
    return *result;
}

}  // namespace

TEST_CASE("documented efficiencies") {
    const GemmEfficiency wide = blas(10240, 2048, {256, 64, 64});
    CHECK(wide.tiles == 1280);
    CHECK(wide.tile == 1);
    CHECK(wide.wave == doctest::Approx(0.842).epsilon(0.001));
    CHECK(wide.dimension() == doctest::Approx(0.842).epsilon(0.001));
    const GemmEfficiency tall = blas(2048, 10240, {256, 144, 64});
    CHECK(tall.tiles == 576);
    CHECK(tall.tile == doctest::Approx(0.9877).epsilon(0.0001));
    CHECK(tall.wave == doctest::Approx(0.947).epsilon(0.001));
    CHECK(tall.dimension() == doctest::Approx(0.936).epsilon(0.001));
}

TEST_CASE("efficiency of a traced product") {
    const KernelName kernel = parse_kernel_name("Cijk_Alik_Bljk_BBS_BH_MT128x224x64_MI16x16x1_SN");
    const auto result = gemm_efficiency(GemmShape{8944, 2816, 1024}, kernel, mi300x_units);
    REQUIRE(result.has_value());
    CHECK(result->tiles == 880);
    CHECK(result->tile == doctest::Approx(0.998214).epsilon(0.000001));
    CHECK(result->wave == doctest::Approx(0.964912).epsilon(0.000001));
    CHECK(result->dimension() == doctest::Approx(0.963189).epsilon(0.000001));
}

TEST_CASE("batches multiply tiles and leave their filling as it is") {
    const auto one = gemm_efficiency(GemmShape{100, 100, 8}, KernelTile{64, 64, 8}, 4);
    const auto three = gemm_efficiency(GemmShape{100, 100, 8, false, 3}, KernelTile{64, 64, 8}, 4);
    CHECK(one->tiles == 4);
    CHECK(three->tiles == 12);
    CHECK(three->tile == one->tile);
    CHECK(one->wave == 1);
}

TEST_CASE("efficiencies lie between 0 and 1") {
    for (double m = 1; m < 3000; m = m * 3 + 1) {
        for (double n = 1; n < 3000; n = n * 2 + 5) {
            const auto result = gemm_efficiency(GemmShape{m, n, 1}, KernelTile{96, 48, 32}, 7);
            REQUIRE(result.has_value());
            CHECK(result->tile > 0);
            CHECK(result->tile <= 1);
            CHECK(result->wave > 0);
            CHECK(result->wave <= 1);
        }
    }
}

TEST_CASE("there is no efficiency without positive sizes") {
    const KernelTile tile{64, 64, 8};
    CHECK_FALSE(gemm_efficiency(GemmShape{0, 100, 8}, tile, 4).has_value());
    CHECK_FALSE(gemm_efficiency(GemmShape{100, -1, 8}, tile, 4).has_value());
    CHECK_FALSE(gemm_efficiency(GemmShape{100, 100, 8, false, 0}, tile, 4).has_value());
    CHECK_FALSE(gemm_efficiency(GemmShape{100, 100, 8}, KernelTile{0, 64, 8}, 4).has_value());
    CHECK_FALSE(gemm_efficiency(GemmShape{100, 100, 8}, KernelTile{64, 0, 8}, 4).has_value());
    CHECK_FALSE(gemm_efficiency(GemmShape{100, 100, 8}, tile, 0).has_value());
    CHECK_FALSE(
        gemm_efficiency(GemmShape{100, 100, 8}, tile, std::numeric_limits<double>::quiet_NaN()).has_value());
}

TEST_CASE("kernels without a tile, or that split K, have no efficiency") {
    const GemmShape shape{100, 100, 8};
    CHECK_FALSE(gemm_efficiency(shape, parse_kernel_name("Cijk_Ailk_Bljk_only"), 4).has_value());
    CHECK_FALSE(gemm_efficiency(shape, parse_kernel_name("Cijk_Ailk_Bljk_MT64x64x32_SK3_"), 4).has_value());
    CHECK(gemm_efficiency(shape, parse_kernel_name("Cijk_Ailk_Bljk_MT64x64x32_SK0_"), 4).has_value());
    CHECK(gemm_efficiency(shape, parse_kernel_name("nvjet_tst_192x8_64x8_4x1_v_bz_TNT"), 4).has_value());
}
