#include <tracelens/perf/moe_communication.hpp>

// Exchange of tokens between experts (spec 03, sections 3.13 and 3.20 row 55).
#include <string>

#include <doctest/doctest.h>

#include "cost_support.hpp"

using namespace tracelens;
using namespace tracelens::cost_test;

namespace {

constexpr std::string_view bf16 = R"(["c10::BFloat16"])";

/// A dispatch whose bytes cannot be told.
void check_unknown_bytes(const OpText& text, std::string_view expected_params) {
    for (const Pass pass : {Pass::forward, Pass::backward}) {
        const Cost cost = cost_of(moe_comm, text, CostRules::reference, pass);
        CHECK(cost.ok());
        CHECK(cost.flops == 0);
        CHECK_FALSE(cost.bytes.has_value());
        CHECK(params(cost) == expected_params);
    }
}

}  // namespace

TEST_CASE("A dispatch moves every hidden state once and computes nothing") {
    for (const CostRules rules : {CostRules::reference, CostRules::full}) {
        const Cost cost = cost_of(moe_comm, {"[[4096,7168]]", bf16}, rules);
        check_cost(cost, 0, 58720256);
        CHECK(params(cost) == "num_tokens=4096 hidden_dim=7168 bpe=2");
        CHECK(cost.compute_spec() == "");
    }
}

TEST_CASE("The gradients of a dispatch move as much") {
    const Cost cost = cost_of(moe_comm, {"[[4096,7168]]", bf16}, CostRules::reference, Pass::backward);
    check_cost(cost, 0, 58720256);
}

TEST_CASE("Only the first two dimensions of tokens count") {
    check_cost(cost_of(moe_comm, {"[[16,8,4],[3]]", R"(["float","int"])"}), 0, 512);
}

TEST_CASE("Sizes that are not recorded leave the bytes of a dispatch unknown") {
    check_unknown_bytes({"[[]]", ""}, "num_tokens=None hidden_dim=None bpe=None");
    check_unknown_bytes({"", bf16}, "num_tokens=None hidden_dim=None bpe=2");
    check_unknown_bytes({"[]", bf16}, "num_tokens=None hidden_dim=None bpe=2");
    check_unknown_bytes({"[null]", bf16}, "num_tokens=None hidden_dim=None bpe=2");
    check_unknown_bytes({"[[4096]]", bf16}, "num_tokens=None hidden_dim=None bpe=2");
    check_unknown_bytes({"[[4096,7168]]", "[]"}, "num_tokens=4096 hidden_dim=7168 bpe=None");
    check_unknown_bytes({"[[4096,7168]]", R"(["c10::Posit"])"}, "num_tokens=4096 hidden_dim=7168 bpe=None");
}

TEST_CASE("Types that only the full rules know give a dispatch its bytes") {
    CHECK_FALSE(cost_of(moe_comm, {"[[4,8]]", R"(["bool"])"}, CostRules::reference).bytes.has_value());
    check_cost(cost_of(moe_comm, {"[[4,8]]", R"(["bool"])"}, CostRules::full), 0, 32);
}

TEST_CASE("A dispatch over something else than sizes is malformed") {
    CHECK(cost_of(moe_comm, {R"([["a",2]])", bf16}).status == CostStatus::bad_arguments);
    CHECK(cost_of(moe_comm, {"[[[1,2],[3,4]]]", bf16}).status == CostStatus::bad_arguments);
}

TEST_CASE("Bytes of a dispatch grow with tokens, hidden size and type") {
    const double bytes = *moe_comm_bytes(100, 64, 2);
    CHECK(*moe_comm_bytes(101, 64, 2) > bytes);
    CHECK(*moe_comm_bytes(100, 65, 2) > bytes);
    CHECK(*moe_comm_bytes(100, 64, 4) == 2 * bytes);
    CHECK_FALSE(moe_comm_bytes(std::nullopt, 64, 2).has_value());
}

TEST_CASE("Dispatch and combine are the served names") {
    REQUIRE(moe_communication_models.size() == 2);
    CHECK(moe_communication_models[0].name == "MoEDispatch");
    CHECK(moe_communication_models[1].name == "MoECombine");
}
