#include "serving_names.hpp"

namespace tracelens::synth {
namespace {

/// Sums over the requests of a phase: of queries, keys, and their products, as the detailed names give them.
struct Sums {
    std::int64_t sq = 0;
    std::int64_t sk = 0;
    std::int64_t sqsq = 0;
    std::int64_t sqsk = 0;
};

Sums sums_of(std::int64_t requests, std::int64_t queries, std::int64_t keys) {
    return {requests * queries, requests * keys, requests * queries * queries, requests * queries * keys};
}

std::string text(std::int64_t value) {
    return std::to_string(value);
}

std::string vllm_sums(const Sums& s) {
    return "(sq" + text(s.sq) + "sk" + text(s.sk) + "sqsq" + text(s.sqsq) + "sqsk" + text(s.sqsk) + ')';
}

std::string pairs(const Sums& s, const std::string& prefix) {
    return ' ' + prefix + "sq=" + text(s.sq) + ' ' + prefix + "sk=" + text(s.sk) + ' ' + prefix +
           "sqsq=" + text(s.sqsq) + ' ' + prefix + "sqsk=" + text(s.sqsk);
}

}  // namespace

std::string annotation_name(ServingNames form, const Batch& batch) {
    const Sums context = sums_of(batch.context, batch.prompt, batch.prompt);
    const Sums generation = sums_of(batch.generation, 1, batch.past + 1);
    const bool is_decode = batch.context == 0;
    const std::string mode = is_decode ? "DECODE" : batch.generation == 0 ? "EXTEND" : "MIXED";
    const std::string requests = " bs=" + text(batch.context + batch.generation);
    const std::string tokens = is_decode ? "" : " toks=" + text(batch.tokens());
    switch (form) {
        case ServingNames::vllm:
            return "execute_context_" + text(batch.context) + '(' + text(context.sq) + ")_generation_" +
                   text(batch.generation) + '(' + text(generation.sq) + ')';
        case ServingNames::vllm_detailed:
            return "execute_" + text(batch.tokens()) + "_context_" + text(batch.context) +
                   vllm_sums(context) + "_generation_" + text(batch.generation) + vllm_sums(generation);
        case ServingNames::sglang: return "step[" + mode + requests + tokens + ']';
        case ServingNames::sglang_detailed:
            return "step[" + mode + requests + tokens + " c=" + text(batch.context) + pairs(context, "c_") +
                   " g=" + text(batch.generation) + pairs(generation, "g_") + ']';
        case ServingNames::atom_detailed: {
            // The engine runs no mixed steps; the prompts name those that there are.
            const Sums& sums = is_decode ? generation : context;
            return (is_decode ? "decode[" : "prefill[") + requests.substr(1) +
                   " tok=" + text(batch.tokens()) + " sk=" + text(sums.sk) + " sqsq=" + text(sums.sqsq) +
                   " sqsk=" + text(sums.sqsk) + ']';
        }
    }
    return {};
}

}  // namespace tracelens::synth
