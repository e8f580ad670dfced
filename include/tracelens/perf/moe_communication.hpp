/// Exchange of tokens between experts: bytes and no arithmetic (spec 03, section 3.13).
#pragma once

#include <array>
#include <optional>
#include <utility>

#include <tracelens/perf/cost_model.hpp>

namespace tracelens {

/// Every token's hidden state once, `bytes` an element.
constexpr std::optional<double> moe_comm_bytes(std::optional<double> tokens, std::optional<double> hidden,
                                               std::optional<double> bytes) noexcept {
    if (!tokens || !hidden || !bytes) return std::nullopt;
    return *tokens * *hidden * *bytes;
}

namespace detail {

inline ParamValue whole_or_none(std::optional<double> value) {
    return value ? ParamValue::integer(*value) : ParamValue::none();
}

}  // namespace detail

/// Dispatch and combine; the gradients move as much. Sizes that are not recorded leave the bytes unknown.
inline Cost moe_comm(const OpArguments& args, Pass, CostRules rules) {
    ArgReader reader(args, rules);
    const Shape shape = reader.has_shape(0) ? reader.shape(0) : Shape{};
    std::optional<double> tokens;
    std::optional<double> hidden;
    if (shape.size() >= 2) {
        tokens = static_cast<double>(shape[0]);
        hidden = static_cast<double>(shape[1]);
    }
    const std::optional<double> element = reader.bytes_per_element(reader.type_if(0));
    Cost cost;
    cost.bytes = moe_comm_bytes(tokens, hidden, element);
    cost.params = {{"num_tokens", detail::whole_or_none(tokens)},
                   {"hidden_dim", detail::whole_or_none(hidden)},
                   {"bpe", detail::whole_or_none(element)}};
    return reader.finish(std::move(cost));
}

inline constexpr std::array moe_communication_models = {
    ModelRow{"MoEDispatch", &moe_comm},
    ModelRow{"MoECombine", &moe_comm},
};

}  // namespace tracelens
