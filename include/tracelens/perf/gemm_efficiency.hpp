/// How well a matrix product fills the tiles that its kernel cuts it into, and the compute units that work on
/// them (spec 03, section 3.18).
#pragma once

#include <cmath>
#include <optional>

#include <tracelens/classify/kernel_name.hpp>
#include <tracelens/perf/gemm.hpp>

namespace tracelens {

struct GemmEfficiency {
    double tiles = 0;  ///< `num_tiles`: of the result, all batches
    double tile = 0;   ///< `tile_eff`: the part of the tiles' elements that the result needs, up to 1
    double wave = 0;  ///< `wq_eff`: the part of the compute units' turns that have a tile to work on, up to 1

    /// `dim_eff`
    constexpr double dimension() const noexcept { return tile * wave; }
};

/// Tiles run along the transposed product: their `m` along N, their `n` along M. Nothing when a size is not
/// positive. Not defined for Split-K and Stream-K kernels.
inline std::optional<GemmEfficiency> gemm_efficiency(const GemmShape& shape, const KernelTile& tile,
                                                     double compute_units) noexcept {
    const bool positive =
        shape.m > 0 && shape.n > 0 && shape.batch > 0 && tile.m > 0 && tile.n > 0 && compute_units > 0;
    if (!positive) return std::nullopt;
    const double tile_m = static_cast<double>(tile.m);
    const double tile_n = static_cast<double>(tile.n);
    const double tiles_m = std::ceil(shape.n / tile_m);
    const double tiles_n = std::ceil(shape.m / tile_n);
    GemmEfficiency result;
    result.tiles = tiles_m * tiles_n * shape.batch;
    result.tile = (shape.m * shape.n) / (tiles_m * tile_m * tiles_n * tile_n);
    result.wave = result.tiles / (std::ceil(result.tiles / compute_units) * compute_units);
    return result;
}

/// The same from a kernel's name; nothing when that tells no tile, or a split of K.
inline std::optional<GemmEfficiency> gemm_efficiency(const GemmShape& shape, const KernelName& kernel,
                                                     double compute_units) noexcept {
    if (!kernel.tile || kernel.splits_k) return std::nullopt;
    return gemm_efficiency(shape, *kernel.tile, compute_units);
}

}  // namespace tracelens
