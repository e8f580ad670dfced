#include <tracelens/core/simd.hpp>

// Masks of 64-byte blocks: the scalar twin against the definition, the vector form against the scalar twin.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <string_view>

#include <doctest/doctest.h>

using namespace tracelens;

namespace {

using Block = std::array<char, block_bytes>;

bool equal(const StructuralMasks& a, const StructuralMasks& b) {
    return a.quotes == b.quotes && a.backslashes == b.backslashes && a.opens == b.opens &&
           a.closes == b.closes;
}

std::uint64_t mask_of(const Block& block, std::string_view characters) {
    std::uint64_t mask = 0;
    for (std::size_t i = 0; i < block_bytes; ++i) {
        if (characters.find(block[i]) != std::string_view::npos) mask |= std::uint64_t{1} << i;
    }
    return mask;
}

StructuralMasks expected_masks(const Block& block) {
    return {mask_of(block, "\""), mask_of(block, "\\"), mask_of(block, "{["), mask_of(block, "}]")};
}

/// Every form of this build that gives something else than the definition.
int count_wrong(const Block& block) {
    const StructuralMasks expected = expected_masks(block);
    int wrong = 0;
    wrong += !equal(structural_masks_scalar(block.data()), expected);
    wrong += !equal(structural_masks(block.data()), expected);
#if TRACELENS_WITH_XSIMD
    wrong += !equal(structural_masks_xsimd(block.data()), expected);
#endif
    return wrong;
}

}  // namespace

TEST_CASE("a block of a trace, by hand") {
    Block block;
    block.fill(' ');
    constexpr std::string_view text = R"({"a":["\"",1]})";
    std::copy(text.begin(), text.end(), block.begin());
    const StructuralMasks masks = structural_masks(block.data());
    CHECK(masks.opens == 0b100001);
    CHECK(masks.quotes == 0b1101001010);
    CHECK(masks.backslashes == 0b10000000);
    CHECK(masks.closes == 0b11000000000000);
    CHECK(count_wrong(block) == 0);
}

TEST_CASE("each byte value at each position, among spaces and among its like") {
    int wrong = 0;
    for (int value = 0; value < 256; ++value) {
        Block spaces;
        spaces.fill(' ');
        for (char& at : spaces) {
            at = static_cast<char>(value);
            wrong += count_wrong(spaces);
            at = ' ';
        }
        Block alike;
        alike.fill(static_cast<char>(value));
        wrong += count_wrong(alike);
    }
    CHECK(wrong == 0);
}

TEST_CASE("random blocks, of any bytes and of structural characters only") {
    std::mt19937 random(4);
    constexpr std::string_view structural = "{}[]\"\\ \x1b\x1d\x3b\x3d\x02\x7c\xfb\xfd";
    int wrong = 0;
    for (int round = 0; round < 20'000; ++round) {
        Block block;
        for (char& at : block) {
            at = round % 2 == 0 ? static_cast<char>(random()) : structural[random() % structural.size()];
        }
        wrong += count_wrong(block);
    }
    CHECK(wrong == 0);
}

TEST_CASE("a block may start at any address") {
    std::mt19937 random(8);
    std::array<char, 3 * block_bytes> text;
    for (char& at : text) at = "{}[]\"\\ab"[random() % 8];
    int wrong = 0;
    for (std::size_t at = 0; at < 2 * block_bytes; ++at) {
        Block block;
        std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(at), block_bytes, block.begin());
        wrong += !equal(structural_masks(text.data() + at), expected_masks(block));
    }
    CHECK(wrong == 0);
}

TEST_CASE("count_bits") {
    CHECK(count_bits(0) == 0);
    CHECK(count_bits(~std::uint64_t{0}) == 64);
    std::mt19937_64 random(6);
    int wrong = 0;
    for (unsigned bit = 0; bit < 64; ++bit) wrong += count_bits(std::uint64_t{1} << bit) != 1;
    for (int round = 0; round < 10'000; ++round) {
        const std::uint64_t word = random() & random();
        wrong += count_bits(word) != std::popcount(word);
    }
    CHECK(wrong == 0);
}
