/// What a kernel's name says about it: the library that it comes from and, for matrix products, how the
/// operands are laid out and how the result is cut into tiles (spec 03, section 3.5).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <tracelens/classify/gpu_class.hpp>
#include <tracelens/core/ascii.hpp>

namespace tracelens {

enum class KernelLibrary : std::uint8_t {
    none,     ///< not known
    tensile,  ///< hipBLASLt, rocBLAS
    cublas,   ///< its nvjet kernels, too
    cublas_xmma,
    cutlass,
    composable_kernel,
    flash_attention,
    aiter,
    miopen,
    triton,
    pytorch,  ///< kernels of ATen itself
    cub,      ///< and rocPRIM
    nccl,     ///< and RCCL
};

constexpr std::string_view to_string(KernelLibrary library) noexcept {
    switch (library) {
        case KernelLibrary::none: return "";
        case KernelLibrary::tensile: return "Tensile";
        case KernelLibrary::cublas: return "cuBLAS";
        case KernelLibrary::cublas_xmma: return "cuBLAS xmma";
        case KernelLibrary::cutlass: return "CUTLASS";
        case KernelLibrary::composable_kernel: return "Composable Kernel";
        case KernelLibrary::flash_attention: return "FlashAttention";
        case KernelLibrary::aiter: return "AITER";
        case KernelLibrary::miopen: return "MIOpen";
        case KernelLibrary::triton: return "Triton";
        case KernelLibrary::pytorch: return "PyTorch";
        case KernelLibrary::cub: return "CUB";
        case KernelLibrary::nccl: return "NCCL";
    }
    return "";
}

/// What one workgroup computes at a time: `m` x `n` elements of the result, `k` deep. BLAS works on the
/// transposed product: `m` runs along the op's N, `n` along its M.
struct KernelTile {
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    friend bool operator==(const KernelTile&, const KernelTile&) = default;
};

struct KernelName {
    KernelLibrary library = KernelLibrary::none;
    bool is_gemm = false;             ///< the name tells the layout of a matrix product
    bool is_malformed = false;        ///< the reference fails on the name; never under the full rules
    bool splits_k = false;            ///< Split-K or Stream-K: several workgroups share a tile
    std::optional<bool> transpose_a;  ///< BLAS flags
    std::optional<bool> transpose_b;
    std::optional<KernelTile> tile;
    friend bool operator==(const KernelName&, const KernelName&) = default;
};

struct LibraryPrefix {
    std::string_view prefix;  ///< of the name, or of what follows `void `
    KernelLibrary library;
};

/// First match wins: longer prefixes stand before shorter ones. Only beginnings count, because template
/// arguments name other libraries' types.
inline constexpr std::array kernel_library_prefixes = {
    LibraryPrefix{"cutlass::device_kernel<flash::", KernelLibrary::flash_attention},
    LibraryPrefix{"pytorch_flash::", KernelLibrary::flash_attention},
    LibraryPrefix{"flash::", KernelLibrary::flash_attention},
    LibraryPrefix{"flash_fwd", KernelLibrary::flash_attention},
    LibraryPrefix{"flash_bwd", KernelLibrary::flash_attention},
    LibraryPrefix{"_ZN13pytorch_flash", KernelLibrary::flash_attention},
    LibraryPrefix{"_ZN5flash", KernelLibrary::flash_attention},
    LibraryPrefix{"aiter", KernelLibrary::aiter},
    LibraryPrefix{"_ZN5aiter", KernelLibrary::aiter},
    LibraryPrefix{"ck::", KernelLibrary::composable_kernel},
    LibraryPrefix{"ck_", KernelLibrary::composable_kernel},
    LibraryPrefix{"_ZN2ck", KernelLibrary::composable_kernel},
    LibraryPrefix{"_ZN7ck_tile", KernelLibrary::composable_kernel},
    LibraryPrefix{"MIOpen", KernelLibrary::miopen},
    LibraryPrefix{"miopen", KernelLibrary::miopen},
    LibraryPrefix{"igemm_fwd_gtc", KernelLibrary::miopen},
    LibraryPrefix{"igemm_bwd_gtc", KernelLibrary::miopen},
    LibraryPrefix{"igemm_wrw_gtc", KernelLibrary::miopen},
    LibraryPrefix{"gridwise_convolution", KernelLibrary::miopen},
    LibraryPrefix{"naive_conv_", KernelLibrary::miopen},
    LibraryPrefix{"cublas", KernelLibrary::cublas},
    LibraryPrefix{"rocblas", KernelLibrary::tensile},
    LibraryPrefix{"fmha_cutlass", KernelLibrary::cutlass},
    LibraryPrefix{"cutlass", KernelLibrary::cutlass},
    LibraryPrefix{"_ZN7cutlass", KernelLibrary::cutlass},
    LibraryPrefix{"at_cuda_detail::cub::", KernelLibrary::cub},
    LibraryPrefix{"cub::", KernelLibrary::cub},
    LibraryPrefix{"hipcub::", KernelLibrary::cub},
    LibraryPrefix{"rocprim::", KernelLibrary::cub},
    LibraryPrefix{"_ZN3cub", KernelLibrary::cub},
    LibraryPrefix{"_ZN7rocprim", KernelLibrary::cub},
    LibraryPrefix{"at::", KernelLibrary::pytorch},
    LibraryPrefix{"_ZN2at", KernelLibrary::pytorch},
};

struct LibraryWord {
    std::string_view word;  ///< anywhere in the name, without regard to case
    KernelLibrary library;
};

/// Looked for when no prefix matches.
inline constexpr std::array kernel_library_words = {
    LibraryWord{"nccl", KernelLibrary::nccl},
    LibraryWord{"rccl", KernelLibrary::nccl},
    LibraryWord{"triton", KernelLibrary::triton},
};

/// Signs of Split-K and Stream-K anywhere in a name, without regard to case.
inline constexpr std::array<std::string_view, 4> split_k_words = {"splitk", "split_k", "streamk", "stream_k"};

struct SplitKField {
    std::string_view field;  ///< a part of a Tensile name, with a number behind it
    std::int64_t least;      ///< from which number on it splits K
};

inline constexpr std::array split_k_fields = {SplitKField{"SK", 1}, SplitKField{"GSU", 2}};

struct TensileLayout {
    std::string_view plain;
    std::string_view transposed;
};

inline constexpr TensileLayout tensile_layout_a{"_Ailk_", "_Alik_"};
inline constexpr TensileLayout tensile_layout_b{"_Bljk_", "_Bjlk_"};

namespace detail {

constexpr bool is_name_character(char c) noexcept {
    return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z');
}

/// A name's runs of letters and digits, one after another.
class NameParts {
  public:
    constexpr explicit NameParts(std::string_view name) noexcept : rest_(name) {}

    /// The next one; empty at the end.
    constexpr std::string_view next() noexcept {
        while (!rest_.empty() && !is_name_character(rest_.front())) rest_.remove_prefix(1);
        std::size_t size = 0;
        while (size < rest_.size() && is_name_character(rest_[size])) ++size;
        const std::string_view part = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return part;
    }

  private:
    std::string_view rest_;
};

/// Takes a number from the front of a text; nothing when there is none or an absurd one.
constexpr std::optional<std::int64_t> take_number(std::string_view& text) noexcept {
    constexpr std::size_t most_digits = 9;
    std::int64_t number = 0;
    std::size_t size = 0;
    for (; size < text.size() && is_digit(text[size]); ++size) {
        if (size == most_digits) return std::nullopt;
        number = number * 10 + (text[size] - '0');
    }
    if (size == 0) return std::nullopt;
    text.remove_prefix(size);
    return number;
}

/// Takes `count` numbers with `x` between them from the front of a text, `128x64` for two of them.
template <std::size_t count>
constexpr std::optional<std::array<std::int64_t, count>> take_sizes(std::string_view& text) noexcept {
    std::array<std::int64_t, count> sizes{};
    for (std::size_t i = 0; i < count; ++i) {
        if (i > 0) {
            if (!text.starts_with('x')) return std::nullopt;
            text.remove_prefix(1);
        }
        const std::optional<std::int64_t> number = take_number(text);
        if (!number) return std::nullopt;
        sizes[i] = *number;
    }
    return sizes;
}

/// The two numbers that a whole part `128x64` consists of.
constexpr std::optional<std::array<std::int64_t, 2>> two_sizes(std::string_view part) noexcept {
    const std::optional<std::array<std::int64_t, 2>> sizes = take_sizes<2>(part);
    return part.empty() ? sizes : std::nullopt;
}

/// `nn`, `nt`, `tn` or `tt`.
constexpr bool is_layout(std::string_view part) noexcept {
    return part.size() == 2 && (part[0] == 't' || part[0] == 'n') && (part[1] == 't' || part[1] == 'n');
}

/// `C`, `_A` and `_B`, each with three small letters behind it, on a single line: the products of Tensile.
constexpr bool is_tensile_name(std::string_view name) noexcept {
    constexpr std::string_view pattern = "C..._A..._B...";
    if (name.ends_with('\n')) name.remove_suffix(1);
    if (name.find('\n') != std::string_view::npos) return false;
    for (std::size_t at = 0; at + pattern.size() <= name.size(); ++at) {
        std::size_t same = 0;
        while (same < pattern.size()) {
            const char c = name[at + same];
            if (pattern[same] == '.' ? c < 'a' || c > 'z' : c != pattern[same]) break;
            ++same;
        }
        if (same == pattern.size()) return true;
    }
    return false;
}

constexpr std::optional<bool> tensile_transpose(std::string_view name, const TensileLayout& layout) noexcept {
    if (name.find(layout.plain) != std::string_view::npos) return false;
    if (name.find(layout.transposed) != std::string_view::npos) return true;
    return std::nullopt;
}

/// `MT128x64x32`.
constexpr std::optional<KernelTile> tensile_tile(std::string_view name) noexcept {
    constexpr std::string_view mark = "MT";
    for (std::size_t at = name.find(mark); at != std::string_view::npos; at = name.find(mark, at + 1)) {
        std::string_view behind = name.substr(at + mark.size());
        if (const auto sizes = take_sizes<3>(behind))
            return KernelTile{(*sizes)[0], (*sizes)[1], (*sizes)[2]};
    }
    return std::nullopt;
}

constexpr bool has_split_k_word(std::string_view name) noexcept {
    for (const std::string_view word : split_k_words) {
        if (contains_ignoring_case(name, word)) return true;
    }
    return false;
}

constexpr bool has_split_k_field(std::string_view name) noexcept {
    NameParts parts(name);
    for (std::string_view part = parts.next(); !part.empty(); part = parts.next()) {
        for (const SplitKField& field : split_k_fields) {
            if (!part.starts_with(field.field)) continue;
            std::string_view behind = part.substr(field.field.size());
            const std::optional<std::int64_t> number = take_number(behind);
            if (number && behind.empty() && *number >= field.least) return true;
        }
    }
    return false;
}

constexpr KernelName parse_tensile_name(std::string_view name) noexcept {
    KernelName result;
    result.library = KernelLibrary::tensile;
    result.is_gemm = true;
    result.splits_k = has_split_k_word(name) || has_split_k_field(name);
    result.transpose_a = tensile_transpose(name, tensile_layout_a);
    result.transpose_b = tensile_transpose(name, tensile_layout_b);
    result.tile = tensile_tile(name);
    return result;
}

/// `nvjet_tst_192x8_64x8_4x1_v_bz_TNT`: the tile, its depth and the stages, and the layout at the end.
constexpr KernelName parse_nvjet_name(std::string_view name, ClassRules rules) noexcept {
    const std::string_view layout = name.substr(name.rfind('_') + 1);  // all of it without a `_`
    const auto is_flag = [](char c) { return c == 'T' || c == 'N'; };
    KernelName result;
    result.library = KernelLibrary::cublas;
    result.is_malformed = rules == ClassRules::reference && layout.size() < 2;
    result.is_gemm =
        layout.size() >= 2 && (rules == ClassRules::reference || (is_flag(layout[0]) && is_flag(layout[1])));
    if (!result.is_gemm) return result;
    result.splits_k = has_split_k_word(name);
    result.transpose_a = layout[0] == 'T';
    result.transpose_b = layout[1] == 'T';
    if (rules == ClassRules::reference) return result;
    NameParts parts(name);
    std::optional<std::array<std::int64_t, 2>> last;
    for (std::string_view part = parts.next(); !part.empty(); part = parts.next()) {
        const std::optional<std::array<std::int64_t, 2>> sizes = two_sizes(part);
        if (last && sizes) {
            result.tile = KernelTile{(*last)[0], (*last)[1], (*sizes)[0]};
            break;
        }
        last = sizes;
    }
    return result;
}

/// What stands behind `sm<digits>_xmma_gemm_`; nothing for other names.
constexpr std::optional<std::string_view> behind_xmma_gemm(std::string_view name) noexcept {
    constexpr std::string_view mark = "_xmma_gemm_";
    const std::size_t at = name.find(mark);
    if (at == std::string_view::npos) return std::nullopt;
    std::size_t digits = at;
    while (digits > 0 && is_digit(name[digits - 1])) --digits;
    if (digits == at || !name.substr(0, digits).ends_with("sm")) return std::nullopt;
    return name.substr(at + mark.size());
}

constexpr KernelName gemm_name(KernelLibrary library, std::string_view layout,
                               const KernelTile& tile) noexcept {
    KernelName result;
    result.library = library;
    result.is_gemm = true;
    result.transpose_a = layout[0] == 't';
    result.transpose_b = layout[1] == 't';
    result.tile = tile;
    return result;
}

/// `..._tn_n_tilesize128x128x64_...`.
constexpr KernelName parse_xmma_gemm(std::string_view text) noexcept {
    constexpr std::string_view mark = "tilesize";
    NameParts parts(text);
    std::string_view layout;
    for (std::string_view part = parts.next(); !part.empty(); part = parts.next()) {
        if (layout.empty() && is_layout(part)) layout = part;
        if (layout.empty() || !part.starts_with(mark)) continue;
        part.remove_prefix(mark.size());
        const auto sizes = take_sizes<3>(part);
        if (sizes && part.empty())
            return gemm_name(KernelLibrary::cublas_xmma, layout, {(*sizes)[0], (*sizes)[1], (*sizes)[2]});
    }
    KernelName result;
    result.library = KernelLibrary::cublas_xmma;
    return result;
}

/// `cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8`, which may stand anywhere in the
/// name: tile, depth and stages, layout. Nothing for other names.
constexpr std::optional<KernelName> parse_cutlass_gemm(std::string_view name) noexcept {
    const std::size_t at = name.find("cutlass_");
    if (at == std::string_view::npos) return std::nullopt;
    NameParts parts(name.substr(at));
    std::optional<std::array<std::int64_t, 2>> tile;
    std::optional<std::array<std::int64_t, 2>> depth;
    for (std::string_view part = parts.next(); !part.empty(); part = parts.next()) {
        if (tile && depth && is_layout(part))
            return gemm_name(KernelLibrary::cutlass, part, {(*tile)[0], (*tile)[1], (*depth)[0]});
        tile = depth;
        depth = two_sizes(part);
    }
    return std::nullopt;
}

}  // namespace detail

/// The library that a kernel comes from, by words of its name; names of matrix products say more
/// (`parse_kernel_name`).
constexpr KernelLibrary kernel_library(std::string_view name) noexcept {
    std::string_view start = name;
    if (start.starts_with("void ")) start.remove_prefix(5);
    for (const LibraryPrefix& row : kernel_library_prefixes) {
        if (start.starts_with(row.prefix)) return row.library;
    }
    for (const LibraryWord& row : kernel_library_words) {
        if (detail::contains_ignoring_case(name, row.word)) return row.library;
    }
    return KernelLibrary::none;
}

/// What a name says. The reference knows Tensile and nvjet only, and fails on nvjet names without a layout.
constexpr KernelName parse_kernel_name(std::string_view name, ClassRules rules = ClassRules::full) noexcept {
    if (detail::is_tensile_name(name)) return detail::parse_tensile_name(name);
    if (name.starts_with("nvjet")) return detail::parse_nvjet_name(name, rules);
    if (rules == ClassRules::reference) return {};
    KernelName result;
    if (const std::optional<std::string_view> behind = detail::behind_xmma_gemm(name))
        result = detail::parse_xmma_gemm(*behind);
    else if (const std::optional<KernelName> cutlass = detail::parse_cutlass_gemm(name))
        result = *cutlass;
    else
        result.library = kernel_library(name);
    result.splits_k = result.is_gemm && detail::has_split_k_word(name);
    return result;
}

/// The first of an op's kernels whose name tells a layout (`is_gemm`), or one before it that the reference
/// fails on (`is_malformed`); neither when no name does.
constexpr KernelName first_gemm_name(std::span<const std::string_view> names,
                                     ClassRules rules = ClassRules::full) noexcept {
    for (const std::string_view name : names) {
        const KernelName parsed = parse_kernel_name(name, rules);
        if (parsed.is_gemm || parsed.is_malformed) return parsed;
    }
    return {};
}

}  // namespace tracelens
