/// Which ops have a cost model that could not price them, and why.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/analyze/op_costs.hpp>
#include <tracelens/analyze/work_units.hpp>
#include <tracelens/core/diagnostics.hpp>

namespace tracelens {

/// `NO_COST`: units whose model fails or does not cover them; `NO_BYTES`: priced units of which an element's
/// size is not known. Both name the most frequent ops with their counts and reasons. O(units log units).
inline Diagnostics cost_diagnostics(const CallTree& tree, OpCosts& costs, std::span<const WorkUnit> units) {
    using Case = std::pair<std::string, std::string>;  // op, reason
    std::map<Case, std::uint64_t> no_cost;
    std::map<Case, std::uint64_t> no_bytes;
    for (const WorkUnit& unit : units) {
        if (!unit.has_model) continue;
        const bool through_forward = unit.forward != no_node;
        const Cost& cost = through_forward ? costs.cost(unit.forward, Pass::backward) : costs.cost(unit.node);
        const Case what{std::string(tree.name_text(unit.node)), cost.reason};
        if (!cost.ok())
            ++no_cost[what];
        else if (!cost.bytes)
            ++no_bytes[what];
    }
    Diagnostics result;
    const auto raise = [&](const char* code, const std::map<Case, std::uint64_t>& cases, const char* what,
                           const char* remedy) {
        constexpr std::size_t most_named = 5;
        std::vector<std::pair<std::uint64_t, Case>> by_count;
        std::uint64_t total = 0;
        for (const auto& [each, count] : cases) {
            by_count.emplace_back(count, each);
            total += count;
        }
        if (total == 0) return;
        std::stable_sort(by_count.begin(), by_count.end(),
                         [](const auto& a, const auto& b) { return a.first > b.first; });
        std::string text = what;
        for (std::size_t i = 0; i < std::min(by_count.size(), most_named); ++i) {
            const auto& [op, reason] = by_count[i].second;
            text += (i == 0 ? ": " : ", ") + std::to_string(by_count[i].first) + " " + op;
            if (!reason.empty()) text += " (" + reason + ")";
        }
        if (by_count.size() > most_named)
            text += " and " + std::to_string(by_count.size() - most_named) + " more";
        result.add({"perf_model", code, Verdict::note, total, std::move(text), remedy, {}, {}, {}});
    };
    raise("NO_COST", no_cost, "ops that their cost models cannot price, kept with their time",
          "record with record_shapes=True, or add a model");
    raise("NO_BYTES", no_bytes, "ops with elements of unknown size, kept without bytes", "");
    return result;
}

}  // namespace tracelens
