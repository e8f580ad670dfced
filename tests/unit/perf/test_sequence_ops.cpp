#include <tracelens/perf/sequence_ops.hpp>

// Causal convolution, rotary embedding, cross entropy and Mamba's scan (spec 03, sections 3.13 and 3.20 rows
// 56 to 59).
#include <array>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cost_support.hpp"

using namespace tracelens;
using namespace tracelens::cost_test;

namespace {

constexpr std::string_view bf16 = R"(["c10::BFloat16"])";
constexpr std::array both_rules = {CostRules::reference, CostRules::full};

const std::string mamba_dims = "[[4,2048,4384],[2304,4],[2304],[32],[32],[32]]";
const std::string mamba_values = R"(["","","","","","","128","","","","","","","","","64","8"])";

/// The scan of Mamba 370M.
OpText mamba_370m() {
    return {mamba_dims, bf16, mamba_values};
}

void check_bad(const Cost& cost, std::string_view reason) {
    CHECK(cost.status == CostStatus::bad_arguments);
    CHECK(cost.reason.substr(0, reason.size()) == reason);
}

/// Types, dims and values that are of no use, for every model.
const std::array malformed = {
    OpText{"", bf16},         OpText{"[]", bf16},         OpText{"[[]]", bf16},
    OpText{"[null]", bf16},   OpText{R"([["x"]])", bf16}, OpText{"[7]", bf16},
    OpText{"{}", bf16},       OpText{R"("text")", bf16},  OpText{"[[[1,2,3,4]]]", bf16},
    OpText{"[[1.5,2]]", bf16}};

}  // namespace

TEST_CASE("Causal convolution with a bias") {
    for (const CostRules rules : both_rules) {
        const Cost cost = cost_of(causal_conv1d_fwd, {"[[8,3072,8192],[3072,4],[3072]]", bf16}, rules);
        check_cost(cost, 1610612736, 805337088);
        CHECK(params(cost) == "batch=8 channels=3072 seq_len=8192 kernel_size=4 has_bias=True");
        CHECK(cost.compute_spec() == "matrix_bf16");
    }
}

TEST_CASE("Causal convolution without a bias") {
    for (const std::string_view dims : {"[[2,128,512],[128,4]]", "[[2,128,512],[128,4],[]]",
                                        "[[2,128,512],[128,4],null]", "[[2,128,512],[128,4],3]"}) {
        const Cost cost = cost_of(causal_conv1d_fwd, {dims, bf16});
        check_cost(cost, 1048576, (2 * 2 * 128 * 512 + 128 * 4) * 2);
        CHECK(param(cost, "has_bias") == "False");
    }
}

TEST_CASE("Rotary embedding") {
    for (const CostRules rules : both_rules) {
        const Cost cost = cost_of(fused_rope_fwd, {"[[4096,4,32,128]]", bf16}, rules);
        check_cost(cost, 201326592, 268435456);
        CHECK(params(cost) == "seq_len=4096 batch=4 heads=32 head_dim=128 num_elements=67108864");
        CHECK(cost.compute_spec() == "vector_bf16");
    }
    CHECK(cost_of(fused_rope_fwd, {"[[128,2,8,64]]", bf16}).flops == 393216);
}

TEST_CASE("Cross entropy") {
    for (const CostRules rules : both_rules) {
        const Cost cost = cost_of(cross_entropy_fwd, {"[[4096,1,163840]]", bf16}, rules);
        check_cost(cost, 3355443200, 1342226432);
        CHECK(params(cost) == "batch=4096 vocab_size=163840 logits_shape=[4096, 1, 163840]");
        CHECK(cost.compute_spec() == "vector_bf16");
    }
    CHECK(cost_of(cross_entropy_fwd, {"[[4,1,32000]]", bf16}).flops == 640000);
}

TEST_CASE("Cross entropy over a sequence counts every row in full, the batch in the reference") {
    const OpText text{"[[4,8,100]]", bf16};
    check_cost(cost_of(cross_entropy_fwd, text, CostRules::reference), 5 * 4 * 100, 3200 * 2 + 4 * 12);
    check_cost(cost_of(cross_entropy_fwd, text, CostRules::full), 5 * 32 * 100, 3200 * 2 + 32 * 12);
    CHECK(param(cost_of(cross_entropy_fwd, text, CostRules::full), "batch") == "4");
}

TEST_CASE("Cross entropy of two dimensions is the same in both") {
    for (const CostRules rules : both_rules)
        check_cost(cost_of(cross_entropy_fwd, {"[[8,100]]", bf16}, rules), 4000, 1696);
}

TEST_CASE("Scan of Mamba 370M") {
    for (const CostRules rules : both_rules) {
        for (const Pass pass : {Pass::forward, Pass::backward}) {
            const Cost cost = cost_of(mamba_ssd_fwd, mamba_370m(), rules, pass);
            check_cost(cost, 5788139520, 105405248);
            CHECK(params(cost) ==
                  "B=4 T=2048 H=32 P=64 G=8 N=16 C=128 d_inner=2048 d_conv=4 conv_channels=2304 "
                  "combined_dim=4384");
            CHECK(cost.compute_spec() == "matrix_bf16");
        }
    }
}

TEST_CASE("Scan with a larger state") {
    const Cost cost =
        cost_of(mamba_ssd_fwd, {"[[4,2048,5152],[3072,4],[3072],[32],[32],[32]]", bf16, mamba_values});
    CHECK(cost.ok());
    CHECK(param(cost, "N") == "64");
    CHECK(param(cost, "conv_channels") == "3072");
}

TEST_CASE("A width that leaves no whole state is malformed") {
    for (const std::string_view width : {"4385", "4128", "4000", "0", "-7"}) {
        const std::string dims = "[[4,2048," + std::string(width) + "],[2304,4],[2304],[32],[32],[32]]";
        check_bad(cost_of(mamba_ssd_fwd, {dims, bf16, mamba_values}), "Cannot derive d_state:");
    }
    const std::string no_groups = R"(["","","","","","","128","","","","","","","","","64","0"])";
    check_bad(cost_of(mamba_ssd_fwd, {mamba_dims, bf16, no_groups}), "Cannot derive d_state:");
}

TEST_CASE("A scan whose values are not recorded takes the usual ones") {
    for (const std::string_view values : {"", "[]", R"(["","","","","","","","","","","","","","","","",""])",
                                          "[0,0,0,0,0,0,null,0,0,0,0,0,0,0,0,[],null]"}) {
        const Cost cost = cost_of(mamba_ssd_fwd, {mamba_dims, bf16, values});
        CHECK(cost.ok());
        CHECK(param(cost, "C") == "128");
        CHECK(param(cost, "P") == "64");
        CHECK(param(cost, "G") == "1");
        CHECK(param(cost, "N") == "128");
    }
}

TEST_CASE("Values of a scan may be numbers, but nothing else") {
    CHECK(
        cost_of(mamba_ssd_fwd, {mamba_dims, bf16, R"(["","","","","","",128,"","","","","","","","",64,8])"})
            .flops == 5788139520);
    const std::string words = R"(["","","","","","","many"])";
    check_bad(cost_of(mamba_ssd_fwd, {mamba_dims, bf16, words}), "Concrete Inputs 6 is no whole number");
}

TEST_CASE("The vectors of a scan have types of their own") {
    const auto bytes = [](std::string_view types_text) {
        return *cost_of(mamba_ssd_fwd, {mamba_dims, types_text, mamba_values}).bytes;
    };
    const double usual = bytes(bf16);
    CHECK(bytes(R"(["c10::BFloat16","","","float","float","c10::BFloat16"])") == usual);
    CHECK(bytes(R"(["c10::BFloat16","","","double","float","c10::BFloat16"])") == usual + 32 * 4);
    CHECK(bytes(R"(["c10::BFloat16","","","float","c10::Half","c10::BFloat16"])") == usual - 32 * 2);
    CHECK(bytes(R"(["c10::BFloat16","","","float","float","float"])") == usual + 32 * 2);
    CHECK(bytes(R"(["c10::BFloat16","","","?","?","?"])") == usual);
}

TEST_CASE("The convolution of a scan is a small part of it") {
    MambaSsdShape shape{8, 8192, 5152, 3072, 4, 32, 64, 8, 128, 64};
    const double all = mamba_ssd_flops(shape);
    shape.d_conv = 0;
    CHECK((all - mamba_ssd_flops(shape)) / all < 0.05);
}

TEST_CASE("Sequence ops without a type count two bytes an element and have no precision") {
    for (const std::string_view no_types : {"", R"(["c10::Posit"])"}) {
        const Cost conv = cost_of(causal_conv1d_fwd, {"[[2,128,512],[128,4]]", no_types});
        const Cost rope = cost_of(fused_rope_fwd, {"[[4096,4,32,128]]", no_types});
        const Cost entropy = cost_of(cross_entropy_fwd, {"[[4096,1,163840]]", no_types});
        const Cost mamba = cost_of(mamba_ssd_fwd, {mamba_dims, no_types, mamba_values});
        check_cost(conv, 1048576, 525312);
        check_cost(rope, 201326592, 268435456);
        check_cost(entropy, 3355443200, 1342226432);
        check_cost(mamba, 5788139520, 105405248);
        for (const Cost* const cost : {&conv, &rope, &entropy, &mamba}) CHECK(cost->compute_spec() == "");
    }
}

TEST_CASE("An empty list of types is malformed for the convolution and the scan only") {
    check_bad(cost_of(causal_conv1d_fwd, {"[[2,128,512],[128,4]]", "[]"}), "Input type is empty");
    check_bad(cost_of(mamba_ssd_fwd, {mamba_dims, "[]", mamba_values}), "Input type is empty");
    CHECK(cost_of(fused_rope_fwd, {"[[4096,4,32,128]]", "[]"}).ok());
    CHECK(cost_of(cross_entropy_fwd, {"[[4,100]]", "[]"}).ok());
}

TEST_CASE("Convolution, embedding and entropy have no backward model") {
    for (const CostModel model : {&causal_conv1d_fwd, &fused_rope_fwd, &cross_entropy_fwd}) {
        check_bad(cost_of(model, {"[[2,2,2,2]]", bf16}, CostRules::full, Pass::backward),
                  "has no backward model");
    }
}

TEST_CASE("Malformed arguments of sequence ops give a reason") {
    for (const ModelRow& row : sequence_models) {
        for (const OpText& text : malformed) {
            for (const CostRules rules : both_rules) {
                const Cost cost = cost_of(row.model, text, rules);
                CHECK(cost.status == CostStatus::bad_arguments);
                CHECK(cost.reason != "");
            }
        }
    }
}

TEST_CASE("Wrong ranks of sequence ops are malformed") {
    check_bad(cost_of(causal_conv1d_fwd, {"[[2,128],[128,4]]", bf16}), "the input of a causal convolution");
    check_bad(cost_of(causal_conv1d_fwd, {"[[2,128,512,1],[128,4]]", bf16}), "the input of a causal");
    CHECK(cost_of(causal_conv1d_fwd, {"[[2,128,512],[128]]", bf16}).status == CostStatus::bad_arguments);
    CHECK(cost_of(causal_conv1d_fwd, {"[[2,128,512]]", bf16}).status == CostStatus::bad_arguments);
    check_bad(cost_of(fused_rope_fwd, {"[[4096,4,32]]", bf16}), "a rotary embedding needs");
    check_bad(cost_of(mamba_ssd_fwd, {"[[4,4384],[2304,4],[1],[32]]", bf16}), "the input of a Mamba scan");
    check_bad(cost_of(mamba_ssd_fwd, {"[[4,2,4384],[2304],[1],[32]]", bf16}), "the filters of a Mamba");
    CHECK(cost_of(mamba_ssd_fwd, {"[[4,2,4384],[2304,4],[1]]", bf16}).status == CostStatus::bad_arguments);
}

TEST_CASE("Sizes beyond all reason do no harm") {
    const std::string huge = "9223372036854775807";
    const std::string least = "-9223372036854775808";
    for (const std::string& size : {huge, least, std::string("0"), std::string("-1")}) {
        const std::string three = "[" + size + "," + size + "," + size + "]";
        const std::string four = "[" + size + "," + size + "," + size + "," + size + "]";
        const std::string dims = "[" + three + ",[" + size + "," + size + "],[1],[" + size + "]]";
        const std::string values = R"(["","","","","","",")" + size + R"(","","","","","","","","",")" +
                                   size + R"(",")" + size + "\"]";
        for (const CostRules rules : both_rules) {
            cost_of(causal_conv1d_fwd, {dims, bf16}, rules);
            cost_of(mamba_ssd_fwd, {dims, bf16, values}, rules);
            cost_of(cross_entropy_fwd, {"[" + four + "]", bf16}, rules);
            CHECK(cost_of(fused_rope_fwd, {"[" + four + "]", bf16}, rules).ok());
        }
    }
}

TEST_CASE("Costs of sequence ops grow with every dimension") {
    const CausalConv1dShape conv{2, 16, 128, 4, false};
    const std::array conv_grown = {
        CausalConv1dShape{3, 16, 128, 4, false}, CausalConv1dShape{2, 17, 128, 4, false},
        CausalConv1dShape{2, 16, 129, 4, false}, CausalConv1dShape{2, 16, 128, 5, false}};
    for (const CausalConv1dShape& grown : conv_grown) {
        CHECK(causal_conv1d_flops(grown) > causal_conv1d_flops(conv));
        CHECK(causal_conv1d_bytes(grown, 2) > causal_conv1d_bytes(conv, 2));
    }
    MambaSsdShape scan{2, 64, 304, 160, 4, 4, 16, 1, 32, 16};
    double flops = mamba_ssd_flops(scan);
    for (double* const size : {&scan.batch, &scan.seq_len, &scan.conv_channels, &scan.d_conv, &scan.heads,
                               &scan.head_dim, &scan.groups, &scan.chunk, &scan.state}) {
        *size += 1;
        CHECK(mamba_ssd_flops(scan) > flops);
        flops = mamba_ssd_flops(scan);
    }
    CHECK(cross_entropy_flops(9, 100) > cross_entropy_flops(8, 100));
    CHECK(rope_flops(11) > rope_flops(10));
}

TEST_CASE("Bytes of sequence ops scale with the type") {
    const CausalConv1dShape conv{2, 16, 128, 4, true};
    CHECK(causal_conv1d_bytes(conv, 4) == 2 * causal_conv1d_bytes(conv, 2));
    CHECK(rope_bytes(64, 4) == 2 * rope_bytes(64, 2));
    CHECK(cross_entropy_bytes(800, 8, 4) - cross_entropy_bytes(800, 8, 2) == 1600);
    const MambaSsdShape scan{2, 64, 304, 160, 4, 4, 16, 1, 32, 16};
    CHECK(mamba_ssd_bytes(scan, {4, 8, 8, 4}) == 2 * mamba_ssd_bytes(scan, {2, 4, 4, 2}));
}

TEST_CASE("The names of the sequence ops") {
    std::vector<std::string_view> names;
    for (const ModelRow& row : sequence_models) names.push_back(row.name);
    CHECK(names == std::vector<std::string_view>{"DaoAILab::_causal_conv1d_fwd_cpp", "FusedRoPEFunc",
                                                 "CrossEntropyFunction", "MambaSplitConv1dScanCombinedFn"});
}
