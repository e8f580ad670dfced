/// The category of a host op: by its name, and failing that by the first kernel it launches (spec 02,
/// section 6.1).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <tracelens/classify/gpu_class.hpp>
#include <tracelens/classify/op_table.hpp>
#include <tracelens/model/trace.hpp>

namespace tracelens {

struct NameCategory {
    std::string_view word;
    std::string_view category;
};

/// Names that start with these words, after the exact names.
inline constexpr std::array op_name_prefixes = {
    NameCategory{"triton", "triton"},
    NameCategory{"record_param_comms", "record_param_comms"},
};

/// PyTorch's own kernels (`void at::native...`) by words in their names.
inline constexpr std::array native_kernel_words = {
    NameCategory{"elementwise", "elementwise"},
    NameCategory{"reduce", "reduce"},
    NameCategory{"multi_tensor_apply", "multi_tensor_apply"},
};

/// Launchers below the fused attention ops, which the reference calls `other`.
inline constexpr std::array attention_launchers = {
    OpCategoryOnlyRow{"aten::_flash_attention_forward", "SDPA_fwd"},
    OpCategoryOnlyRow{"aten::_flash_attention_backward", "SDPA_bwd"},
};

/// The category by name alone; empty when the name says nothing. O(rows of the tables).
constexpr std::string_view op_category_by_name(std::string_view name,
                                               ClassRules rules = ClassRules::full) noexcept {
    for (const OpCategoryOnlyRow& row : category_only_ops) {
        if (row.name == name) return row.category;
    }
    for (const OpCategoryRow& row : modelled_ops) {
        if (row.name == name) return row.category;
    }
    if (rules == ClassRules::full) {
        for (const OpCategoryOnlyRow& row : attention_launchers) {
            if (row.name == name) return row.category;
        }
    }
    for (const NameCategory& prefix : op_name_prefixes) {
        if (name.substr(0, prefix.word.size()) == prefix.word) return prefix.category;
    }
    return {};
}

/// The category by the first kernel of an op whose name says nothing; `other` as the last resort.
constexpr std::string_view op_category_by_kernel(std::string_view first_kernel) noexcept {
    constexpr std::string_view native = "void at::native";
    if (first_kernel.substr(0, native.size()) == native) {
        for (const NameCategory& each : native_kernel_words) {
            if (first_kernel.find(each.word) != std::string_view::npos) return each.category;
        }
    }
    return "other";
}

/// Categories of one trace's ops; each distinct name is looked up once. The views live forever.
class OpCategorizer {
  public:
    explicit OpCategorizer(const Trace& trace, ClassRules rules = ClassRules::full)
        : trace_(&trace), rules_(rules), by_name_(trace.strings.size()), known_(trace.strings.size(), 0) {}

    /// The category of an op of this name whose first kernel has the given name (`StringId::empty` for none).
    std::string_view operator()(StringId op, StringId first_kernel) {
        const std::size_t index = to_index(op);
        if (known_[index] == 0) {
            by_name_[index] = op_category_by_name(trace_->text(op), rules_);
            known_[index] = 1;
        }
        if (!by_name_[index].empty()) return by_name_[index];
        return op_category_by_kernel(trace_->text(first_kernel));
    }

  private:
    const Trace* trace_;
    ClassRules rules_;
    std::vector<std::string_view> by_name_;
    std::vector<std::uint8_t> known_;
};

}  // namespace tracelens
