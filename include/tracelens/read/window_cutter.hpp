/// Finds where a stretch of trace text may be cut: between two events of the event array. Quote parity and
/// nesting depth decide, not newlines, so pretty and compact files are the same to it. Where damage has upset
/// parity or depth, events are found again by the look of their first key.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

#include <tracelens/core/json_text.hpp>
#include <tracelens/core/simd.hpp>

namespace tracelens {

/// Masks of one 64-byte block: reads at least 64 bytes.
using MaskFunction = StructuralMasks (*)(const char*);

struct Cut {
    enum class Kind : std::uint8_t {
        none,          ///< no event ends in the text
        event,         ///< `end` is just behind an event that another one follows
        end_of_array,  ///< `end` is just behind the last event; `next` is at the closing bracket
        broken,        ///< parity or depth make no sense from `end` on
    };
    Kind kind = Kind::none;
    std::size_t end = 0;   ///< one past the last complete event
    std::size_t next = 0;  ///< where the next event starts, or the closing bracket
    bool trailing_comma = false;
};

namespace detail {

/// Bit i set when the number of set bits in [0, i] is odd.
constexpr std::uint64_t prefix_xor(std::uint64_t bits) noexcept {
    for (unsigned shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
    return bits;
}

/// Characters behind an odd run of backslashes. `carry`: the previous block ended in such a run.
constexpr std::uint64_t escaped_characters(std::uint64_t backslashes, bool& carry) noexcept {
    if (backslashes == 0) {
        const std::uint64_t escaped = carry ? 1 : 0;
        carry = false;
        return escaped;
    }
    std::uint64_t escaped = 0;
    bool pending = carry;
    for (unsigned i = 0; i < 64; ++i) {
        const std::uint64_t bit = std::uint64_t{1} << i;
        if (pending) {
            escaped |= bit;
            pending = false;
        } else if ((backslashes & bit) != 0) {
            pending = true;
        }
    }
    carry = pending;
    return escaped;
}

inline std::size_t skip_space(std::string_view text, std::size_t at) noexcept {
    while (at < text.size() && is_space(text[at])) ++at;
    return at;
}

/// Keys with which events begin in the files of known writers.
inline constexpr std::array<std::string_view, 12> event_keys = {"ph",  "name", "cat", "pid", "tid", "ts",
                                                                "dur", "args", "id",  "bp",  "s",   "tts"};

/// Whether an event starts at the `{` at `at`: its first key is one of `event_keys`.
inline bool looks_like_event(std::string_view text, std::size_t at) noexcept {
    at = skip_space(text, at + 1);
    if (at >= text.size() || text[at] != '"') return false;
    const std::size_t close = text.find('"', at + 1);
    if (close == std::string_view::npos || close - at > 6) return false;
    const std::string_view key = text.substr(at + 1, close - at - 1);
    const std::size_t colon = skip_space(text, close + 1);
    if (colon >= text.size() || text[colon] != ':') return false;
    return std::find(event_keys.begin(), event_keys.end(), key) != event_keys.end();
}

/// The cut behind the bracket at `at` that brings the depth back to that of the array. `none` when the text
/// ends before that can be told.
inline Cut cut_behind(std::string_view text, std::size_t at, bool at_end) noexcept {
    const Cut open_end = {at_end ? Cut::Kind::event : Cut::Kind::none, at + 1, text.size(), false};
    std::size_t next = skip_space(text, at + 1);
    if (next >= text.size()) return open_end;
    const bool comma = text[next] == ',';
    if (comma) next = skip_space(text, next + 1);
    if (next >= text.size()) return {open_end.kind, at + 1, next, true};
    if (text[next] == ']') return {Cut::Kind::event, at + 1, next, comma};
    if (comma && (text[next] == '{' || text[next] == '[')) return {Cut::Kind::event, at + 1, next, false};
    return {Cut::Kind::broken, at + 1, next, false};
}

/// Whether the object at `at` is the value of a key, and so no element of an array.
inline bool is_member_value(std::string_view text, std::size_t at) noexcept {
    const auto skip_space_back = [&] {
        while (at > 0 && is_space(text[at - 1])) --at;
    };
    skip_space_back();
    if (at == 0 || text[at - 1] != ':') return false;
    --at;
    skip_space_back();
    return at > 0 && text[at - 1] == '"';
}

}  // namespace detail

/// The first place at or after `from` that looks like the start of an event, whatever stands before it;
/// `npos` when there is none. O(length).
inline std::size_t find_event_start(std::string_view text, std::size_t from) noexcept {
    for (std::size_t at = text.find('{', from); at != std::string_view::npos; at = text.find('{', at + 1)) {
        if (!detail::is_member_value(text, at) && detail::looks_like_event(text, at)) return at;
    }
    return std::string_view::npos;
}

/// The first object at or after `from` that is an event beyond doubt: it has a phase. `npos` when there is
/// none.
inline std::size_t find_event_with_phase(std::string_view text, std::size_t from) {
    for (std::size_t at = find_event_start(text, from); at != std::string_view::npos;
         at = find_event_start(text, at + 1)) {
        JsonScanner scanner(text, at);
        scanner.take('{');
        std::string_view key;
        std::string_view value;
        while (scanner.key(key) == JsonScanner::Outcome::ok &&
               scanner.value(value) == JsonScanner::Outcome::ok) {
            if (key == "ph" && value.size() == 3 && value.front() == '"') return at;
            if (!scanner.take(',')) break;
        }
    }
    return std::string_view::npos;
}

/// The last place after `from` that looks like the start of an event; `npos` when there is none. O(length).
inline std::size_t find_last_event_start(std::string_view text, std::size_t from) noexcept {
    for (std::size_t at = text.rfind('{'); at != std::string_view::npos && at > from;
         at = text.rfind('{', at - 1)) {
        if (!detail::is_member_value(text, at) && detail::looks_like_event(text, at)) return at;
    }
    return std::string_view::npos;
}

namespace detail {

/// The body of `find_cut`, once for every way to get masks. Always inlined, so that it is compiled for the
/// processor features of its caller.
template <class Masks>
[[gnu::always_inline]] inline Cut find_cut_with(std::string_view text, bool at_end, Masks masks_of) noexcept {
    Cut cut;
    std::int64_t depth = 0;
    std::uint64_t in_string = 0;  // all ones while a string is open at the end of the block before
    bool escape_carry = false;
    for (std::size_t block = 0; block < text.size(); block += block_bytes) {
        const StructuralMasks masks = masks_of(text.data() + block);
        const std::size_t left = text.size() - block;
        const std::uint64_t valid = left >= block_bytes ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
        const std::uint64_t escaped = escaped_characters(masks.backslashes, escape_carry);
        const std::uint64_t quotes = masks.quotes & ~escaped & valid;
        const std::uint64_t strings = prefix_xor(quotes) ^ in_string;
        in_string = static_cast<std::uint64_t>(static_cast<std::int64_t>(strings) >> 63);
        const std::uint64_t opens = masks.opens & ~strings & valid;
        const std::uint64_t closes = masks.closes & ~strings & valid;

        const int close_count = count_bits(closes);
        const std::int64_t after = depth + count_bits(opens) - close_count;
        if (depth > close_count) {  // the depth cannot reach that of the array here
            depth = after;
            continue;
        }
        for (std::uint64_t each = closes; each != 0; each &= each - 1) {
            const std::uint64_t upto = each ^ (each - 1);  // the lowest set bit and all below it
            const std::int64_t here = depth + count_bits(opens & upto) - count_bits(closes & upto);
            if (here > 0) continue;
            const std::size_t at = block + static_cast<std::size_t>(std::countr_zero(each));
            if (here < 0) {
                // Only the array's own bracket may close more than is open.
                if (text[at] != ']') return {Cut::Kind::broken, cut.end, at, false};
                return {Cut::Kind::end_of_array, cut.kind == Cut::Kind::none ? 0 : cut.end, at,
                        cut.trailing_comma};
            }
            const Cut here_cut = cut_behind(text, at, at_end);
            if (here_cut.kind == Cut::Kind::broken) return {Cut::Kind::broken, cut.end, at, false};
            if (here_cut.kind != Cut::Kind::none) cut = here_cut;
        }
        depth = after;
    }
    return cut;
}

}  // namespace detail

/// Walks over `text`, which starts outside strings between two elements of the event array, and returns the
/// last cut in it, or the end of the array when that comes first. `text` must be followed by 64 readable
/// bytes. `at_end`: no more text will follow, so an event at the very end counts as followed. O(length), 64
/// bytes a step. `masks_of` is for tests, which hold the scalar twin against the vector loop.
inline Cut find_cut(std::string_view text, bool at_end, MaskFunction masks_of) noexcept {
    return detail::find_cut_with(text, at_end, masks_of);
}

#if defined(__x86_64__) && !defined(__AVX2__)

namespace detail {

[[gnu::target("avx2,bmi,popcnt")]] inline Cut find_cut_avx2(std::string_view text, bool at_end) noexcept {
    return find_cut_with(text, at_end, [](const char* block) { return structural_masks(block); });
}

}  // namespace detail

/// The same with the fastest masks of this build and processor.
inline Cut find_cut(std::string_view text, bool at_end) noexcept {
    const bool modern =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
    if (modern) return detail::find_cut_avx2(text, at_end);
    return detail::find_cut_with(text, at_end, structural_masks);
}

#else

/// The same with the fastest masks of this build.
inline Cut find_cut(std::string_view text, bool at_end) noexcept {
    return detail::find_cut_with(text, at_end, structural_masks);
}

#endif

}  // namespace tracelens
