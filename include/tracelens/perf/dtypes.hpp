/// Element types as PyTorch's profiler names them: their size and the precision that they compute in.
/// (Spec 03, section 3.3.)
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <tracelens/core/ascii.hpp>

namespace tracelens {

/// Whether figures are the reference's, its known faults included, or the mended ones.
enum class CostRules : std::uint8_t { full, reference };

struct DtypeFacts {
    std::string_view name;       ///< lower case
    int bytes = 0;               ///< an element takes
    std::string_view precision;  ///< `fp64 fp32 fp16 bf16 fp8 fp4 int8`; empty for none
};

/// Types that the reference knows.
inline constexpr std::array reference_dtypes = {
    DtypeFacts{"double", 8, "fp64"},
    DtypeFacts{"long int", 8, ""},
    DtypeFacts{"float", 4, "fp32"},
    DtypeFacts{"scalar", 4, ""},
    DtypeFacts{"int", 4, ""},
    DtypeFacts{"c10::half", 2, "fp16"},
    DtypeFacts{"c10::bfloat16", 2, "bf16"},
    DtypeFacts{"c10::float8_e4m3fnuz", 1, "fp8"},
    DtypeFacts{"c10::float8_e4m3fn", 1, "fp8"},
    DtypeFacts{"c10::float8_e5m2", 1, ""},
    DtypeFacts{"c10::float8_e8m0fnu", 1, ""},
    DtypeFacts{"unsigned char", 1, "fp8"},
    DtypeFacts{"signed char", 1, ""},
    DtypeFacts{"fp8", 1, "fp8"},
    DtypeFacts{"c10::float4_e2m1fn_x2", 1, "fp4"},
    DtypeFacts{"fp4", 1, "fp4"},
    DtypeFacts{"mxfp4", 0, "fp4"},
};

/// What is mended: types that the reference does not know, or gives no precision.
inline constexpr std::array further_dtypes = {
    DtypeFacts{"c10::float8_e5m2", 1, "fp8"},
    DtypeFacts{"c10::float8_e5m2fnuz", 1, "fp8"},
    DtypeFacts{"signed char", 1, "int8"},
    DtypeFacts{"int8", 1, "int8"},
    DtypeFacts{"bool", 1, ""},
    DtypeFacts{"short int", 2, ""},
    DtypeFacts{"short", 2, ""},
    DtypeFacts{"half", 2, "fp16"},
    DtypeFacts{"bfloat16", 2, "bf16"},
    DtypeFacts{"c10::float", 4, "fp32"},
    DtypeFacts{"c10::double", 8, "fp64"},
    DtypeFacts{"c10::complex<float>", 8, ""},
    DtypeFacts{"c10::complex<double>", 16, ""},
    DtypeFacts{"c10::complex<c10::half>", 4, ""},
};

/// The facts of a type, or nothing for an unknown one. Letter case does not count.
constexpr const DtypeFacts* find_dtype(std::string_view name, CostRules rules = CostRules::full) noexcept {
    if (rules == CostRules::full) {
        for (const DtypeFacts& facts : further_dtypes) {
            if (detail::equal_ignoring_case(name, facts.name)) return &facts;
        }
    }
    for (const DtypeFacts& facts : reference_dtypes) {
        if (detail::equal_ignoring_case(name, facts.name)) return &facts;
    }
    return nullptr;
}

/// Bytes of an element; nothing for unknown types.
constexpr std::optional<int> bytes_per_element(std::string_view type,
                                               CostRules rules = CostRules::full) noexcept {
    const DtypeFacts* const facts = find_dtype(type, rules);
    if (facts == nullptr || facts->bytes == 0) return std::nullopt;
    return facts->bytes;
}

/// The precision that a type computes in; empty when it has none or is not known.
constexpr std::string_view precision_of(std::string_view type, CostRules rules = CostRules::full) noexcept {
    const DtypeFacts* const facts = find_dtype(type, rules);
    return facts == nullptr ? std::string_view{} : facts->precision;
}

/// The type that stands for a precision where none is given (spec 03, section 3.3.2); empty for others.
constexpr std::string_view type_of_precision(std::string_view precision) noexcept {
    struct Row {
        std::string_view precision;
        std::string_view type;
    };
    constexpr std::array rows = {Row{"fp32", "float"}, Row{"fp64", "double"}, Row{"fp16", "c10::half"},
                                 Row{"bf16", "c10::bfloat16"}, Row{"fp8", "c10::float8_e4m3fnuz"}};
    for (const Row& row : rows) {
        if (row.precision == precision) return row.type;
    }
    return {};
}

}  // namespace tracelens
