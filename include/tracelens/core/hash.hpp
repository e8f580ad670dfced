/// Hashing of short byte strings and integers for the in-memory tables. Not for persistence, not for
/// security.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tracelens {

namespace detail {

__extension__ using Uint128 = unsigned __int128;

/// The two halves of a 128-bit product, folded: every input bit reaches every output bit.
constexpr std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) noexcept {
    const Uint128 product = static_cast<Uint128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t load_u64(const char* p) noexcept {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    return word;
}

inline std::uint32_t load_u32(const char* p) noexcept {
    std::uint32_t word;
    std::memcpy(&word, p, sizeof word);
    return word;
}

// Odd constants with balanced bits (fractional digits of sqrt(3), sqrt(7), sqrt(11)).
inline constexpr std::uint64_t hash_key_0 = 0xbb67ae8584caa73bULL;
inline constexpr std::uint64_t hash_key_1 = 0xa54ff53a5f1d36f1ULL;
inline constexpr std::uint64_t hash_key_2 = 0x510e527fade682d1ULL;

}  // namespace detail

/// Mixes two integers into one hash.
constexpr std::uint64_t hash_combine(std::uint64_t a, std::uint64_t b) noexcept {
    return detail::folded_product(a ^ detail::hash_key_0, b ^ detail::hash_key_1);
}

/// Hash of `text`, 16 bytes a step.
inline std::uint64_t hash_bytes(std::string_view text) noexcept {
    const char* p = text.data();
    std::size_t left = text.size();
    std::uint64_t state = detail::hash_key_2 ^ left;
    while (left > 16) {
        state = detail::folded_product(detail::load_u64(p) ^ detail::hash_key_0 ^ state,
                                       detail::load_u64(p + 8) ^ detail::hash_key_1);
        p += 16;
        left -= 16;
    }
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    if (left >= 8) {
        low = detail::load_u64(p);
        high = detail::load_u64(p + left - 8);
    } else if (left >= 4) {
        low = detail::load_u32(p);
        high = detail::load_u32(p + left - 4);
    } else if (left > 0) {
        low = static_cast<unsigned char>(p[0]);
        high = static_cast<std::uint64_t>(static_cast<unsigned char>(p[left / 2])) << 8 |
               static_cast<unsigned char>(p[left - 1]);
    }
    return detail::folded_product(low ^ detail::hash_key_0 ^ state, high ^ detail::hash_key_1);
}

}  // namespace tracelens
