/// 64-byte blocks of text as 64-bit masks, bit i for byte i: with xsimd in the width that the compiler
/// targets, or byte by byte. Both give the same masks.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <tracelens/config.hpp>

#if TRACELENS_WITH_XSIMD
#include <xsimd/xsimd.hpp>
#endif

namespace tracelens {

/// Which bytes of a block are quotes, backslashes, opening brackets ({ and [) and closing brackets (} and ]).
struct StructuralMasks {
    std::uint64_t quotes = 0;
    std::uint64_t backslashes = 0;
    std::uint64_t opens = 0;
    std::uint64_t closes = 0;
};

inline constexpr std::size_t block_bytes = 64;

/// Set bits of a word. Targets without an instruction for it would call a library function for
/// `std::popcount`.
constexpr int count_bits(std::uint64_t word) noexcept {
#if defined(__POPCNT__) || !defined(__x86_64__)
    return std::popcount(word);
#else
    word -= word >> 1 & 0x5555555555555555ULL;
    word = (word & 0x3333333333333333ULL) + (word >> 2 & 0x3333333333333333ULL);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
    return static_cast<int>(word * 0x0101010101010101ULL >> 56);
#endif
}

/// The scalar twin.
inline StructuralMasks structural_masks_scalar(const char* block) noexcept {
    StructuralMasks masks;
    for (std::size_t i = 0; i < block_bytes; ++i) {
        const std::uint64_t bit = std::uint64_t{1} << i;
        // { and [, } and ] differ in the same single bit
        const char folded = static_cast<char>(block[i] | 0x20);
        if (block[i] == '"') masks.quotes |= bit;
        if (block[i] == '\\') masks.backslashes |= bit;
        if (folded == '{') masks.opens |= bit;
        if (folded == '}') masks.closes |= bit;
    }
    return masks;
}

#if TRACELENS_WITH_XSIMD

namespace detail {

using ByteBatch = xsimd::batch<std::uint8_t>;

/// One bit a lane. xsimd before version 9 has no such function.
template <class Lanes>
std::uint64_t lane_mask(const Lanes& lanes) noexcept {
    if constexpr (requires { lanes.mask(); }) {
        return lanes.mask();
    } else {
#if XSIMD_WITH_AVX512BW
        return static_cast<std::uint64_t>(lanes.data);
#elif XSIMD_WITH_AVX2
        return static_cast<std::uint32_t>(_mm256_movemask_epi8(lanes));
#elif XSIMD_WITH_SSE2
        return static_cast<std::uint32_t>(_mm_movemask_epi8(lanes));
#else
        bool flags[ByteBatch::size];
        lanes.store_unaligned(flags);
        std::uint64_t mask = 0;
        for (std::size_t i = 0; i < ByteBatch::size; ++i) mask |= std::uint64_t{flags[i]} << i;
        return mask;
#endif
    }
}

}  // namespace detail

inline StructuralMasks structural_masks_xsimd(const char* block) noexcept {
    using detail::ByteBatch;
    using detail::lane_mask;
    static_assert(block_bytes % ByteBatch::size == 0);
    const ByteBatch quote(std::uint8_t{'"'});
    const ByteBatch backslash(std::uint8_t{'\\'});
    const ByteBatch open(std::uint8_t{'{'});
    const ByteBatch close(std::uint8_t{'}'});
    const ByteBatch fold(std::uint8_t{0x20});
    StructuralMasks masks;
    for (std::size_t at = 0; at < block_bytes; at += ByteBatch::size) {
        const auto text = ByteBatch::load_unaligned(reinterpret_cast<const std::uint8_t*>(block + at));
        const auto folded = text | fold;
        masks.quotes |= lane_mask(text == quote) << at;
        masks.backslashes |= lane_mask(text == backslash) << at;
        masks.opens |= lane_mask(folded == open) << at;
        masks.closes |= lane_mask(folded == close) << at;
    }
    return masks;
}

#endif

/// The masks of 64 readable bytes, by the fastest way of this build.
inline StructuralMasks structural_masks(const char* block) noexcept {
#if TRACELENS_WITH_XSIMD
    return structural_masks_xsimd(block);
#else
    return structural_masks_scalar(block);
#endif
}

}  // namespace tracelens
