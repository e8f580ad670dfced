/// What the ops of one trace cost. Each distinct use of an op (name and arguments) is priced once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tracelens/classify/fused_ops.hpp>
#include <tracelens/core/hash.hpp>
#include <tracelens/core/table.hpp>
#include <tracelens/model/call_tree.hpp>
#include <tracelens/perf/registry.hpp>
#include <tracelens/perf/triton_compiled.hpp>

namespace tracelens {

namespace detail {

/// Backward ops that record no shapes, and the forward ops that have them under the same sequence number.
struct FusedBackward {
    std::string_view backward;
    std::string_view forward;
};

inline constexpr std::array fused_backwards = {
    FusedBackward{"ConvBias_Backward", "ConvBias_"},
    FusedBackward{"ConvBiasReLU_Backward", "ConvBiasReLU_"},
};

}  // namespace detail

class OpCosts {
  public:
    /// O(events); costs are worked out when they are asked for. Tree and registry must outlive the object.
    OpCosts(const CallTree& tree, const ModelRegistry& registry, CostRules rules)
        : tree_(tree), registry_(registry), rules_(rules), names_(tree.trace().strings.size()) {
        collect_fused_forwards();
    }

    CostRules rules() const noexcept { return rules_; }
    const ModelRegistry& registry() const noexcept { return registry_; }

    /// The registered model of a node's op, by its exact name, or nothing.
    const RegisteredModel* model_of(NodeId node) {
        NamedModel& known = names_[to_index(tree_.name(node))];
        if (!known.is_known) {
            known.is_known = true;
            known.model = registry_.find(tree_.name_text(node));
            known.is_triton = known.model == nullptr && is_compiled_triton_name(tree_.name_text(node));
        }
        return known.model;
    }

    /// Whether a node can be priced: by its name, or as a compiled Triton kernel that records its arguments.
    bool is_modelled(NodeId node) {
        if (model_of(node) != nullptr) return true;
        return names_[to_index(tree_.name(node))].is_triton && use_of(node).can_model_triton;
    }

    /// The cost of a node. Precondition: `is_modelled`. The reference stays valid.
    const Cost& cost(NodeId node, Pass pass = Pass::forward) {
        Use& use = use_of(node);
        std::optional<Cost>& cost = pass == Pass::forward ? use.forward : use.backward;
        if (!cost) {
            const RegisteredModel* const model = model_of(node);
            cost = model != nullptr ? model->cost(*use.args, pass, rules_)
                                    : triton_compiled(*use.args, pass, rules_);
        }
        return *cost;
    }

    /// How many distinct uses of ops have been looked at.
    std::size_t use_count() const noexcept { return uses_.size(); }

  private:
    struct NamedModel {
        bool is_known = false;
        bool is_triton = false;
        const RegisteredModel* model = nullptr;
    };
    struct Use {
        std::unique_ptr<OpArguments> args;
        std::optional<Cost> forward;
        std::optional<Cost> backward;
        bool can_model_triton = false;
    };

    void collect_fused_forwards() {
        const Trace& trace = tree_.trace();
        std::array<std::optional<StringId>, detail::fused_backwards.size()> names;
        bool any = false;
        for (std::size_t i = 0; i < names.size(); ++i) {
            StringId id{};
            if (!trace.strings.find(detail::fused_backwards[i].forward, id)) continue;
            names[i] = id;
            any = true;
        }
        if (!any) return;
        for (EventId event = 0; event < trace.size(); ++event) {
            if (trace.kind[event] != EventKind::cpu_op) continue;
            const std::int64_t sequence = trace.op_fields(event).sequence_number;
            for (std::size_t i = 0; i < names.size(); ++i) {
                if (sequence == no_number || trace.name[event] != names[i]) continue;
                fused_args(i, sequence) = trace.args[event];
            }
        }
    }

    /// The arguments of the forward op of a fused backward one; empty for all others.
    std::optional<ArgsId> fused_forward(NodeId node) {
        if (fused_args_.empty() || tree_.is_overlay(node)) return std::nullopt;
        const Trace& trace = tree_.trace();
        if (trace.kind[node] != EventKind::cpu_op) return std::nullopt;
        const std::int64_t sequence = trace.op_fields(node).sequence_number;
        for (std::size_t i = 0; i < detail::fused_backwards.size(); ++i) {
            if (sequence == no_number || trace.name_of(node) != detail::fused_backwards[i].backward) continue;
            return fused_args(i, sequence);
        }
        return std::nullopt;
    }

    std::optional<ArgsId>& fused_args(std::size_t kind, std::int64_t sequence) {
        const std::uint32_t key = fused_keys_.group_of(kind, static_cast<std::uint64_t>(sequence));
        if (key == fused_args_.size()) fused_args_.emplace_back();
        return fused_args_[key];
    }

    Use& use_of(NodeId node) {
        const std::optional<ArgsId> forward = fused_forward(node);
        const std::uint64_t second = forward ? std::uint64_t{to_index(*forward)} + 1 : 0;
        const std::uint32_t op = op_keys_.group_of(to_index(tree_.name(node)), to_index(tree_.args(node)));
        const std::uint32_t key = use_keys_.group_of(op, second);
        if (key < uses_.size()) return *uses_[key];
        uses_.push_back(std::make_unique<Use>());
        Use& use = *uses_.back();
        const Trace& trace = tree_.trace();
        use.args =
            std::make_unique<OpArguments>(OpArguments::from(trace, tree_.name(node), tree_.args(node)));
        if (forward)
            use.args->forward =
                std::make_shared<OpArguments>(OpArguments::from(trace, tree_.name(node), *forward));
        use.can_model_triton = names_[to_index(tree_.name(node))].is_triton && can_model_triton(*use.args);
        return use;
    }

    const CallTree& tree_;
    const ModelRegistry& registry_;
    CostRules rules_;
    std::vector<NamedModel> names_;
    KeyGrouper fused_keys_;  // (kind, sequence number)
    std::vector<std::optional<ArgsId>> fused_args_;
    KeyGrouper op_keys_;   // (name, arguments)
    KeyGrouper use_keys_;  // (op, arguments of its forward op)
    std::vector<std::unique_ptr<Use>> uses_;
};

}  // namespace tracelens
