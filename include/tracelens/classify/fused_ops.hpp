/// Which ops TorchInductor fused into a Triton kernel, from the kernel's name (spec 02, section 6.5):
/// `triton_poi_fused__unsafe_view_mul_silu_2` holds _unsafe_view, mul and silu.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <tracelens/classify/known_ops.hpp>
#include <tracelens/core/ascii.hpp>

namespace tracelens {

/// Kinds of compiled kernels: pointwise, reduction, reduction within one block.
inline constexpr std::array<std::string_view, 3> compiled_triton_prefixes = {"triton_poi_", "triton_red_",
                                                                             "triton_per_"};

constexpr bool is_compiled_triton_name(std::string_view name) noexcept {
    for (const std::string_view prefix : compiled_triton_prefixes) {
        if (name.starts_with(prefix)) return true;
    }
    return false;
}

/// What stands between `fused_` and the number at the end of a compiled kernel's name; empty for names of
/// another form.
constexpr std::string_view fused_part(std::string_view kernel) noexcept {
    constexpr std::string_view fused = "fused_";
    if (!is_compiled_triton_name(kernel)) return {};
    kernel.remove_prefix(compiled_triton_prefixes.front().size());
    if (!kernel.starts_with(fused)) return {};
    kernel.remove_prefix(fused.size());
    std::size_t number = kernel.size();
    while (number > 0 && detail::is_digit(kernel[number - 1])) --number;
    const bool numbered = number < kernel.size() && number > 1 && kernel[number - 1] == '_';
    return numbered ? kernel.substr(0, number - 1) : std::string_view{};
}

/// The names that fused parts are cut into.
struct FusedOpNames {
    std::span<const std::string_view> known = known_ops;  ///< in byte order
    std::span<const std::string_view> more = {};          ///< a vendor's or program's own, in any order

    bool empty() const noexcept { return known.empty() && more.empty(); }
    bool contains(std::string_view name) const noexcept {
        return std::binary_search(known.begin(), known.end(), name) ||
               std::find(more.begin(), more.end(), name) != more.end();
    }
    std::size_t longest() const noexcept {
        std::size_t size = 0;
        for (const std::string_view name : known) size = std::max(size, name.size());
        for (const std::string_view name : more) size = std::max(size, name.size());
        return size;
    }
};

/// What happens to parts of a name that are no known op.
enum class UnknownParts : std::uint8_t {
    reject,  ///< the whole name yields nothing, as in the reference
    skip,    ///< as few words as possible are left out
};

namespace detail {

/// Where the words of a text begin that `_` separates, and one past the end for the end.
inline std::vector<std::size_t> word_starts(std::string_view text) {
    std::vector<std::size_t> starts = {0};
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '_') starts.push_back(at + 1);
    }
    starts.push_back(text.size() + 1);
    return starts;
}

/// The best way to reach the end of a word.
struct FusedStep {
    static constexpr std::size_t unreachable = std::numeric_limits<std::size_t>::max();
    std::size_t skipped = unreachable;  ///< words left out so far
    std::size_t from = 0;               ///< the step before
    bool is_op = false;                 ///< an op lies between, not a word left out
};

inline std::vector<FusedStep> fused_steps(std::string_view text, const std::vector<std::size_t>& starts,
                                          UnknownParts unknown, const FusedOpNames& names) {
    const std::size_t longest = names.longest();
    std::vector<FusedStep> steps(starts.size());
    steps[0].skipped = 0;
    for (std::size_t end = 1; end < steps.size(); ++end) {
        FusedStep& step = steps[end];
        for (std::size_t begin = end; begin-- > 0;) {
            const std::size_t size = starts[end] - 1 - starts[begin];
            if (size > longest) break;
            const std::size_t skipped = steps[begin].skipped;
            if (skipped == FusedStep::unreachable || skipped > step.skipped) continue;
            if (names.contains(text.substr(starts[begin], size))) step = {skipped, begin, true};
        }
        const std::size_t before = steps[end - 1].skipped;
        if (unknown == UnknownParts::skip && before + 1 < step.skipped) step = {before + 1, end - 1, false};
    }
    return steps;
}

}  // namespace detail

/// The ops in a compiled kernel's name, in order, as views into it. Where several cuts are possible, the
/// longest op from the end wins. Empty for names of another form, and for what cannot be cut. O(length), for
/// the known ops are short.
inline std::vector<std::string_view> fused_ops(std::string_view kernel, UnknownParts unknown,
                                               const FusedOpNames& names = {}) {
    const std::string_view text = fused_part(kernel);
    std::vector<std::string_view> ops;
    if (text.empty()) return ops;
    const std::vector<std::size_t> starts = detail::word_starts(text);
    const std::vector<detail::FusedStep> steps = detail::fused_steps(text, starts, unknown, names);
    std::size_t end = steps.size() - 1;
    if (steps[end].skipped == detail::FusedStep::unreachable) return ops;
    while (end > 0) {
        const std::size_t begin = steps[end].from;
        if (steps[end].is_op) ops.push_back(text.substr(starts[begin], starts[end] - 1 - starts[begin]));
        end = begin;
    }
    std::reverse(ops.begin(), ops.end());
    return ops;
}

}  // namespace tracelens
