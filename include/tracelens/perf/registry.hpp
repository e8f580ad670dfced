/// Which op has which cost model. The built-in models are tables in the headers of their families; a program
/// adds its own, or replaces built-in ones, in a registry of its own.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <tracelens/classify/op_table.hpp>
#include <tracelens/perf/attention.hpp>
#include <tracelens/perf/convolution.hpp>
#include <tracelens/perf/cost_model.hpp>
#include <tracelens/perf/elementwise.hpp>
#include <tracelens/perf/gemm.hpp>
#include <tracelens/perf/gemm_quantised.hpp>
#include <tracelens/perf/grouped_gemm.hpp>
#include <tracelens/perf/moe_communication.hpp>
#include <tracelens/perf/normalization.hpp>
#include <tracelens/perf/reduce.hpp>
#include <tracelens/perf/sequence_ops.hpp>

namespace tracelens {

/// A cost model with state, or one that is not compiled in.
using CostFunction = std::function<Cost(const OpArguments& args, Pass pass, CostRules rules)>;

struct RegisteredModel {
    CostFunction cost;
    std::string category;           ///< `op category` of the reports
    std::string backward_category;  ///< of its gradient work; empty when that is not priced through it
    std::string sheet;              ///< per-category sheet; empty for none
    /// The names of its kernels tell how the operands lie in memory: a parameter `transpose` is added.
    bool layout_from_kernels = false;
    bool is_added =
        false;  ///< by `ModelRegistry::add`: its category goes before the built-in table of categories
};

class ModelRegistry {
  public:
    /// With all built-in models.
    ModelRegistry() {
        for (const std::span<const ModelRow> family :
             {std::span<const ModelRow>(gemm_models), std::span<const ModelRow>(quantised_gemm_models),
              std::span<const ModelRow>(grouped_gemm_models), std::span<const ModelRow>(convolution_models),
              std::span<const ModelRow>(attention_models), std::span<const ModelRow>(elementwise_models),
              std::span<const ModelRow>(reduce_models), std::span<const ModelRow>(normalization_models),
              std::span<const ModelRow>(moe_communication_models),
              std::span<const ModelRow>(sequence_models)}) {
            for (const ModelRow& row : family) models_[std::string(row.name)].cost = row.model;
        }
        for (const std::span<const ModelRow> family :
             {std::span<const ModelRow>(gemm_models), std::span<const ModelRow>(quantised_gemm_models)}) {
            for (const ModelRow& row : family) models_[std::string(row.name)].layout_from_kernels = true;
        }
        for (const OpCategoryRow& row : modelled_ops) {
            const auto model = models_.find(std::string(row.name));
            if (model == models_.end()) continue;
            model->second.category = row.category;
            model->second.backward_category = row.backward_category;
            model->second.sheet = row.sheet;
        }
    }

    /// Adds the model of an op, or replaces it.
    void add(std::string name, RegisteredModel model) {
        model.is_added = true;
        models_[std::move(name)] = std::move(model);
    }

    /// The model of an op by its exact name, or nothing.
    const RegisteredModel* find(std::string_view name) const {
        const auto found = models_.find(std::string(name));
        return found == models_.end() ? nullptr : &found->second;
    }

    std::size_t size() const noexcept { return models_.size(); }

  private:
    std::unordered_map<std::string, RegisteredModel> models_;
};

}  // namespace tracelens
