/// How fast an op could run at best: limited by arithmetic or by memory, whichever takes longer (spec 03,
/// section 3.2.2; spec 02, section 10.2). There is no model of caches: bytes are those of `Cost`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include <tracelens/perf/cost.hpp>
#include <tracelens/perf/dtypes.hpp>
#include <tracelens/perf/platform.hpp>

namespace tracelens {

/// Time in us of `flops` operations at `peak_tflops`. Precondition: the peak is not zero.
constexpr double compute_time_us(double flops, double peak_tflops) noexcept {
    // By way of GFLOP, as the reference: reports show every digit.
    const double gflops = flops / 1e9;
    return gflops * 1e9 / (peak_tflops * 1e12) * 1e6;
}

/// Time in us of `bytes` at `bandwidth_gbps` (10^9 bytes a second). Precondition: the bandwidth is not zero.
constexpr double memory_time_us(double bytes, double bandwidth_gbps) noexcept {
    return bytes / (bandwidth_gbps * 1e9) * 1e6;
}

/// Operations a byte from which on arithmetic is the limit: the knee of the roofline. Precondition: the
/// bandwidth is not zero.
constexpr double roofline_knee(double peak_tflops, double bandwidth_gbps) noexcept {
    return peak_tflops * 1e12 / (bandwidth_gbps * 1e9);
}

enum class RooflineBound : std::uint8_t { compute, memory };

constexpr std::string_view to_string(RooflineBound bound) noexcept {
    return bound == RooflineBound::compute ? "COMPUTE_BOUND" : "MEMORY_BOUND";
}

struct Roofline {
    double compute_us = 0;
    double memory_us = 0;
    double time_us = 0;  ///< the longer of both
    RooflineBound bound = RooflineBound::compute;

    /// The share of the roofline that was reached in `kernel_us`; above 100 where data stayed in a cache.
    /// Nothing without a time.
    constexpr std::optional<double> percent(double kernel_us) const noexcept {
        if (!(kernel_us > 0)) return std::nullopt;
        return time_us / kernel_us * 100;
    }
};

/// Ties are bound by compute.
constexpr Roofline make_roofline(double compute_us, double memory_us) noexcept {
    const bool by_compute = compute_us >= memory_us;
    return {compute_us, memory_us, by_compute ? compute_us : memory_us,
            by_compute ? RooflineBound::compute : RooflineBound::memory};
}

namespace detail {

constexpr bool is_positive(std::optional<double> value) noexcept {
    return value && *value > 0;
}

/// Whether the reference works out a roofline at all: everything that it needs is there.
inline bool has_roofline_inputs(const Cost& cost, const Platform& platform) {
    return cost.ok() && cost.bytes && cost.flops > 0 && platform.mem_bw_gbps &&
           platform.peak_tflops(cost.compute_spec());
}

}  // namespace detail

/// Whether the reference divides by a zero of the platform file here, which costs it the whole row.
inline bool roofline_fails(const Cost& cost, const Platform& platform, CostRules rules) {
    if (rules != CostRules::reference || !detail::has_roofline_inputs(cost, platform)) return false;
    return *platform.peak_tflops(cost.compute_spec()) == 0 || *platform.mem_bw_gbps == 0;
}

/// The roofline of a cost. Nothing when bytes, bandwidth or the peak are not known or zero. In full, ops
/// without arithmetic need no peak and take the time of their bytes; the reference has no roofline for them.
inline std::optional<Roofline> roofline_of(const Cost& cost, const Platform& platform, CostRules rules) {
    if (!cost.ok() || !cost.bytes || !detail::is_positive(platform.mem_bw_gbps)) return std::nullopt;
    const double memory_us = memory_time_us(*cost.bytes, *platform.mem_bw_gbps);
    if (cost.flops > 0) {
        const std::optional<double> peak = platform.peak_tflops(cost.compute_spec());
        if (!detail::is_positive(peak)) return std::nullopt;
        return make_roofline(compute_time_us(cost.flops, *peak), memory_us);
    }
    if (rules == CostRules::reference || cost.flops != 0 || !(memory_us > 0)) return std::nullopt;
    return make_roofline(0, memory_us);
}

}  // namespace tracelens
