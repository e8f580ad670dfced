#include <tracelens/perf/attention.hpp>

// Attention: figures and parameters of spec 03, section 3.8, its known faults and their mends.
#include <cmath>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "unit/perf/cost_support.hpp"

using namespace tracelens;
using namespace tracelens::cost_test;

namespace {

constexpr auto reference = CostRules::reference;
constexpr auto full = CostRules::full;
constexpr auto forward = Pass::forward;
constexpr auto backward = Pass::backward;

const std::string bf16 = types("c10::BFloat16", 16);
const std::string fp32 = types("float", 16);

/// Queries, keys and values of the size that the spec's examples have.
constexpr std::string_view qkv = "[2,512,16,64],[2,512,16,64],[2,512,16,64]";
constexpr std::string_view grouped = "[2,512,16,64],[2,512,4,64],[2,512,4,128]";

std::string list(std::string_view items) {
    return "[" + std::string(items) + "]";
}

/// Concrete inputs with `dropout` and `causal` at their places, and nothing else.
std::string concrete(std::size_t dropout_at, std::string_view dropout, std::size_t causal_at,
                     std::string_view causal) {
    std::string text = "[";
    for (std::size_t i = 0; i <= causal_at; ++i) {
        const std::string_view value = i == dropout_at ? dropout : i == causal_at ? causal : "";
        text += (i == 0 ? "\"" : ",\"") + std::string(value) + "\"";
    }
    return text + "]";
}

/// A model with the places of its tensors and scalars.
struct Op {
    std::string_view name;
    CostModel model;
    std::size_t q;
    std::size_t dropout;
    std::size_t causal;
    bool is_backward;
};

constexpr Op flash_forward = {"flash", flash_attention, 0, 3, 5, false};
constexpr Op flash_backward = {"flash backward", flash_attention_backward, 1, 8, 10, true};

/// Flash models of the [batch, length, heads, head dimension] layout.
constexpr Op flash_ops[] = {
    flash_forward,
    flash_backward,
    {"aiter forward", aiter_attention, 0, 3, 5, false},
    {"aiter v3 forward", aiter_wrapper_v3_fwd, 1, 4, 6, false},
    {"aiter v3 backward", aiter_wrapper_v3_bwd, 1, 7, 9, true},
    {"aiter mha backward", aiter_mha_bwd, 1, 6, 8, true},
    {"aiter backward", aiter_flash_bwd, 1, 10, 12, true},
    {"flash 3", flash_attn_v3_forward, 0, 23, 24, false},
};

struct Call {
    std::string_view tensors = qkv;
    std::string_view causal = "True";
    std::string_view dropout = "0.";
    std::string_view types = bf16;
};

/// Cost of an op called so. A backward op has a gradient of the output, as large as Q, before the tensors.
Cost cost(const Op& op, const Call& call, CostRules rules = reference, Pass pass = forward) {
    const std::string tensors(call.tensors);
    const std::string gradient = op.q == 0 ? "" : tensors.substr(0, tensors.find(']') + 1) + ",";
    const std::string dims = list(gradient + tensors);
    const std::string values = concrete(op.dropout, call.dropout, op.causal, call.causal);
    return cost_of(op.model, {.dims = dims, .types = call.types, .concrete = values}, rules, pass);
}

constexpr Op torch_biased = {"cudnn", sdpa_biased, 0, 5, 6, false};
constexpr Op torch_flash = {"flash", sdpa_flash, 0, 3, 4, false};

/// Tokens, sequences and longest sequences of a variable-length attention.
struct Varlen {
    std::string_view tensors;
    std::string_view ends;
    std::string_view longest;
    std::string_view causal = "False";
};
constexpr Varlen mixed_varlen = {"[100,8,64],[150,2,64],[150,2,64]", "[4],[4]", R"("64","80")"};
constexpr Varlen even_varlen = {"[128,8,64],[128,8,64],[128,8,64]", "[5],[5]", R"("64","64")", "True"};

Cost varlen_forward(const Varlen& call, CostRules rules = reference, Pass pass = forward) {
    const std::string dims = list(std::string(call.tensors) + "," + std::string(call.ends));
    const std::string values = R"(["","","","","",)" + std::string(call.longest) + R"(,"0.5","1.0",")" +
                               std::string(call.causal) + "\"]";
    return cost_of(flash_attention_varlen_forward, {.dims = dims, .types = bf16, .concrete = values}, rules,
                   pass);
}

Cost varlen_backward(const Varlen& call, CostRules rules = reference) {
    const std::string dims =
        list("[1]," + std::string(call.tensors) + ",[],[],[],[],[]," + std::string(call.ends));
    const std::string values = R"(["","","","","","","","","","","",)" + std::string(call.longest) +
                               R"(,"0.5","1.0",")" + std::string(call.causal) + "\"]";
    return cost_of(flash_attention_varlen_backward, {.dims = dims, .types = bf16, .concrete = values}, rules);
}

void check_bad(const Cost& cost) {
    CHECK(cost.status == CostStatus::bad_arguments);
    CHECK(!cost.reason.empty());
}

/// A backward op with its concrete inputs and types.
OpText flash_backward_call(std::string_view concrete_inputs, std::string_view type_list = bf16) {
    static const std::string dims = list("[2,512,16,64]," + std::string(qkv));
    return {.dims = dims, .types = type_list, .concrete = concrete_inputs};
}

constexpr std::string_view square_qkv = "[2,8,128,64],[2,8,128,64],[2,8,128,64]";

Cost torch_cost(const Op& op, std::string_view causal, Pass pass, std::string_view tensors) {
    return cost(op, {.tensors = tensors, .causal = causal}, reference, pass);
}

Cost evoformer(std::string_view q, std::string_view type_list = bf16, CostRules rules = reference,
               Pass pass = forward) {
    const std::string dims = list(q);
    return cost_of(evoformer_attention, {.dims = dims, .types = type_list}, rules, pass);
}
constexpr std::string_view protein = "[1,129,256,4,16]";

}  // namespace

TEST_SUITE("flash attention") {
    TEST_CASE("one size, all flash models") {
        for (const Op& op : flash_ops) {
            CAPTURE(op.name);
            const Cost of_backward = cost(op, {}, reference, backward);
            check_cost(of_backward, 2684354560, 14680064);
            check_cost(cost(op, {}), op.is_backward ? 2684354560 : 1073741824,
                       op.is_backward ? 14680064 : 8388608);
        }
    }

    TEST_CASE("without a causal mask there is twice as much") {
        for (const Op& op : flash_ops) {
            CAPTURE(op.name);
            CHECK(cost(op, {.causal = "False"}).flops == 2 * cost(op, {}).flops);
            CHECK(param(cost(op, {.causal = "False"}), "causal") == "False");
            CHECK(cost(op, {.causal = "False"}).bytes == cost(op, {}).bytes);
        }
    }

    TEST_CASE("heads that share keys") {
        const Call call = {.tensors = grouped, .causal = "False"};
        check_cost(cost(flash_forward, call), 3221225472, 7864320);
        check_cost(cost(flash_forward, call, reference, backward), 7516782592, 11534336);
    }

    TEST_CASE("parameters") {
        const std::string sizes = "B=2 N_Q=512 H_Q=16 N_KV=512 H_KV=16 d_h_qk=64 d_h_v=64 ";
        CHECK(params(cost(flash_forward, {.dropout = "0.1"})) ==
              sizes +
                  "q_stride=(1,) k_stride=(1,) v_stride=(1,) dropout=0.1 causal=True flash_impl=True "
                  "dtype_A_B=('c10::BFloat16', 'c10::BFloat16')");
        CHECK(cost(flash_forward, {}).compute_spec() == "matrix_bf16");
        const Op aiter = {"aiter", aiter_attention, 0, 3, 5, false};
        CHECK(params(cost(aiter, {.dropout = "0.1"})) == sizes + "dropout=0.1 causal=True flash_impl=True");
        CHECK(param(cost({"", flash_attn_v3_forward, 0, 23, 24, false}, {.dropout = "0.1"}), "dropout") ==
              "0.0");
    }

    TEST_CASE("strides are those of Q, K and V, and must be there") {
        const std::string dims = list("[2,512,16,64]," + std::string(qkv));
        OpText op = {.dims = dims, .types = bf16, .strides = "[[0],[1],[2],[3]]"};
        const Cost cost = cost_of(flash_attention_backward, op);
        CHECK(param(cost, "q_stride") == "(1,)");
        CHECK(param(cost, "k_stride") == "(2,)");
        CHECK(param(cost, "v_stride") == "(3,)");
        op.strides = "[[0],[1],[2]]";
        check_bad(cost_of(flash_attention_backward, op));
        op.strides = "";
        check_bad(cost_of(flash_attention_backward, op));
    }

    TEST_CASE("the reference has two bytes for any element, full rules those of Q") {
        CHECK(cost(flash_forward, {.types = fp32}).bytes == 8388608);
        CHECK(cost(flash_forward, {.types = fp32}, full).bytes == 2 * 8388608);
        const std::string unknown = types("unknown", 4);
        CHECK(cost(flash_forward, {.types = unknown}, full).bytes == 8388608);
        CHECK(cost(flash_forward, {.types = unknown}, full).compute_spec() == "");
        const std::string fp8 = types("c10::Float8_e4m3fn", 4);
        CHECK(cost(flash_forward, {.types = fp8}, full).bytes == 4194304);
    }

    TEST_CASE("the reference has no precision of ops whose types it does not report") {
        for (const Op& op : flash_ops) {
            CAPTURE(op.name);
            CHECK(cost(op, {}, full).compute_spec() == "matrix_bf16");
            const bool reported = op.model == &flash_attention || op.model == &flash_attention_backward;
            CHECK(cost(op, {}).compute_spec() == (reported ? "matrix_bf16" : ""));
        }
        const Op aiter = {"aiter", aiter_attention, 0, 3, 5, false};
        CHECK(cost(aiter, {.types = ""}).ok());
        CHECK(cost(aiter, {.types = ""}, full).bytes == 8388608);
        check_bad(cost(flash_forward, {.types = ""}));
        check_bad(cost(flash_forward, {.types = "[]"}));
    }

    TEST_CASE("causal with more keys than queries") {
        const Call call = {.tensors = "[1,1,8,64],[1,512,8,64],[1,512,8,64]"};
        for (const Op& op : flash_ops) {
            CAPTURE(op.name);
            check_bad(cost(op, call, reference));
            const Cost all = cost(op, {.tensors = call.tensors, .causal = "False"}, full);
            CHECK(cost(op, call, full).flops == all.flops);
        }
        check_bad(cost(flash_forward, {.tensors = "[1,64,8,64],[1,32,8,64],[1,32,8,64]"}, full));
    }

    TEST_CASE("contradictory shapes") {
        const auto reason = [](std::string_view tensors) {
            const Cost result = cost(flash_forward, {.tensors = tensors});
            check_bad(result);
            return result.reason;
        };
        CHECK(reason("[2,4,8,64],[3,4,8,64],[2,4,8,64]") == "batch sizes of Q, K and V differ");
        CHECK(reason("[2,4,8,64],[2,4,8,64],[3,4,8,64]") == "batch sizes of Q, K and V differ");
        CHECK(reason("[2,4,8,64],[2,4,8,64],[2,4,4,64]") == "numbers of heads of K and V differ");
        CHECK(reason("[2,4,8,64],[2,4,8,64],[2,5,8,64]") == "lengths of K and V differ");
        CHECK(reason("[2,4,8,64],[2,4,8,32],[2,4,8,64]") == "head dimensions of Q and K differ");
        CHECK(reason("[2,4,8],[2,4,8],[2,4,8]") == "a shape of 3 dimensions has no dimension 3");
    }

    TEST_CASE("malformed arguments") {
        for (const std::string_view tensors :
             {"[]", "7", "null", "[2,4,8,64]", "[2,4,8,64],[2,4,8,64],null", "[2,4,8,\"x\"],[],[]"}) {
            CAPTURE(tensors);
            for (const Op& op : flash_ops) check_bad(cost(op, {.tensors = tensors}, full));
        }
        for (const std::string_view causal : {"", "exit()", "nothing"}) {
            CAPTURE(causal);
            check_bad(cost(flash_forward, {.causal = causal}));
        }
        check_bad(cost(flash_forward, {.dropout = ""}));
        check_bad(cost(flash_forward, {.dropout = "none"}));
        const Call no_heads = {.tensors = "[2,4,8,64],[2,4,0,64],[2,4,0,64]"};
        CHECK(cost(flash_forward, no_heads).ok());
        check_bad(cost(flash_forward, no_heads, reference, backward));
        const Call extreme = {.tensors =
                                  "[9223372036854775807,-9223372036854775808,1,1],[9223372036854775807,"
                                  "-9223372036854775808,1,1],[9223372036854775807,-9223372036854775808,1,1]"};
        CHECK(std::isfinite(cost(flash_forward, extreme, full, backward).flops));
    }

    TEST_CASE("every model fails on an op without arguments") {
        CHECK(attention_models.size() == 17);
        for (const ModelRow& row : attention_models) {
            CAPTURE(row.name);
            check_bad(cost_of(row.model, {}));
            check_bad(cost_of(row.model, {}, full, backward));
        }
    }
}

TEST_SUITE("flash attention backward") {
    TEST_CASE("without concrete inputs it is causal and has no dropout") {
        for (const std::string_view values : {"", "[]", R"(["","","","","","","","","","",""])",
                                              R"(["","","","","","","","",null,"",null])"}) {
            CAPTURE(values);
            const Cost cost = cost_of(flash_attention_backward, flash_backward_call(values));
            check_cost(cost, 2684354560, 14680064);
            CHECK(param(cost, "causal") == "True");
            CHECK(param(cost, "dropout") == "0.0");
            CHECK(param(cost, "flash_impl") == "True");
        }
    }

    TEST_CASE("bytes of the reference follow the gradient of the output") {
        check_cost(cost_of(flash_attention_backward, flash_backward_call("", fp32)), 2684354560, 29360128);
        const std::string_view mixed = R"(["float","c10::BFloat16"])";
        check_cost(cost_of(flash_attention_backward, flash_backward_call("", mixed)), 2684354560, 29360128);
        check_cost(cost_of(flash_attention_backward, flash_backward_call("", mixed), full), 2684354560,
                   14680064);
        CHECK(cost_of(flash_attention_backward, flash_backward_call("", mixed)).compute_spec() ==
              "matrix_fp32");
        CHECK(cost_of(flash_attention_backward, flash_backward_call("", mixed), full).compute_spec() ==
              "matrix_bf16");
        const std::string unknown = types("unknown", 2);
        CHECK(!cost_of(flash_attention_backward, flash_backward_call("", unknown)).bytes.has_value());
        CHECK(cost_of(flash_attention_backward, flash_backward_call("", unknown), full).bytes == 14680064);
    }

    TEST_CASE("scalars of the newer op: the reference takes the scale for the causal flag") {
        const OpText op = flash_backward_call(R"(["","","","","","","","","","0.1","0.125","False"])");
        const Cost quirk = cost_of(flash_attention_backward, op);
        CHECK(param(quirk, "causal") == "0.125");
        CHECK(param(quirk, "dropout") == "0.0");
        CHECK(quirk.flops == 2684354560);
        const Cost mended = cost_of(flash_attention_backward, op, full);
        CHECK(param(mended, "causal") == "False");
        CHECK(param(mended, "dropout") == "0.1");
        CHECK(mended.flops == 2 * 2684354560.0);
    }

    TEST_CASE("scalars of the older op, by either rules") {
        for (const CostRules rules : {reference, full}) {
            const OpText op = flash_backward_call(R"(["","","","","","","","","0.2","","False",""])");
            const Cost cost = cost_of(flash_attention_backward, op, rules);
            CHECK(param(cost, "causal") == "False");
            CHECK(param(cost, "dropout") == "0.2");
            CHECK(cost.flops == 2 * 2684354560.0);
        }
    }

    TEST_CASE("malformed scalars") {
        check_bad(
            cost_of(flash_attention_backward, flash_backward_call(R"(["","","","","","","","","x","",""])")));
        check_bad(
            cost_of(flash_attention_backward, flash_backward_call(R"(["","","","","","","","","","","x"])")));
    }

    TEST_CASE("AITER: the reference takes the gradient of the output for Q") {
        const Op op = {"aiter backward", aiter_flash_bwd, 1, 10, 12, true};
        const Call call = {.tensors = grouped, .causal = "False"};
        CHECK(cost(op, call).reason == "numbers of heads of K and V differ");
        check_cost(cost(op, call, full), 7516782592, 11534336);
    }
}

TEST_SUITE("flash attention of variable length") {
    TEST_CASE("forward and backward of the forward op") {
        check_cost(varlen_forward(mixed_varlen), 13066240, 281600);
        check_cost(varlen_forward(mixed_varlen, reference, backward), 76857600, 460800);
        check_cost(varlen_forward({"[64,8,64],[64,8,64],[64,8,64]", "[2],[2]", R"("64","64")", "True"}),
                   4194304, 262144);
    }

    TEST_CASE("gradients priced from the forward op: the reference takes all tokens for one sequence") {
        CHECK(varlen_forward(even_varlen).flops == 5549056);
        CHECK(varlen_forward(even_varlen, reference, backward).flops == 41943040);
        CHECK(varlen_forward(even_varlen, full, backward).flops == 13872640);
        CHECK(varlen_backward(even_varlen).flops == 13872640);
        CHECK(varlen_backward(even_varlen, full).flops == 13872640);
        CHECK(varlen_backward(even_varlen).bytes == varlen_forward(even_varlen, full, backward).bytes);
    }

    TEST_CASE("parameters") {
        const std::string expected =
            "B=1 N_Q=100 H_Q=8 N_KV=150 H_KV=2 d_h_qk=64 d_h_v=64 q_stride=(1,) k_stride=(1,) "
            "v_stride=(1,) dropout=0.5 causal=False flash_impl=True "
            "dtype_A_B=('c10::BFloat16', 'c10::BFloat16') num_seqs_q=3 num_seqs_kv=3 max_seqlen_q=64.0 "
            "max_seqlen_kv=80.0";
        CHECK(params(varlen_forward(mixed_varlen)) == expected);
        CHECK(params(varlen_forward(mixed_varlen, reference, backward)) == expected);
        CHECK(params(varlen_backward(mixed_varlen)) == expected);
    }

    TEST_CASE("a causal mask and lengths that differ") {
        Varlen call = mixed_varlen;
        call.causal = "True";
        check_bad(varlen_forward(call));
        CHECK(varlen_forward(call, full).ok());
        CHECK(varlen_forward(call, full).flops < varlen_forward(mixed_varlen).flops);
    }

    TEST_CASE("malformed sequences") {
        Varlen call = mixed_varlen;
        call.ends = "[4],[2]";
        check_bad(varlen_forward(call));
        check_bad(varlen_forward(call, full));
        call.ends = "[2],[2]";
        CHECK(varlen_forward(call).ok());
        for (const std::string_view ends : {"[4]", "[],[]", "null,[4]", "[\"x\"],[4]"}) {
            CAPTURE(ends);
            call.ends = ends;
            check_bad(varlen_forward(call));
            check_bad(varlen_backward(call));
        }
        call = mixed_varlen;
        for (const std::string_view longest :
             {R"("","80")", R"("64","x")", R"("inf","80")", R"("nan","80")"}) {
            CAPTURE(longest);
            call.longest = longest;
            check_bad(varlen_forward(call));
        }
        call.longest = R"("64","80")";
        call.ends = "[-9223372036854775808],[-9223372036854775808]";
        CHECK(varlen_forward(call).ok());
        call.ends = "[4],[4]";
        call.tensors = "[100,8],[150,2],[150,2]";
        check_bad(varlen_forward(call));
        call.tensors = "[100,8,64],[150,2,64],[150,3,64]";
        CHECK(varlen_forward(call).reason == "numbers of heads of K and V differ");
    }
}

TEST_SUITE("PyTorch attention") {
    TEST_CASE("one size") {
        check_cost(torch_cost(torch_biased, "True", forward, square_qkv), 33554432, 1048576);
        check_cost(torch_cost(torch_biased, "True", backward, square_qkv), 67108864, 1835008);
        check_cost(torch_cost(torch_flash, "True", forward, square_qkv), 33554432, 1048576);
        check_cost(torch_cost(torch_flash, "True", backward, square_qkv), 83886080, 1835008);
    }

    TEST_CASE("fewer keys than queries, no mask") {
        constexpr std::string_view cross = "[2,8,128,64],[2,8,77,64],[2,8,77,64]";
        check_cost(torch_cost(torch_biased, "False", forward, cross), 40370176, 839680);
        check_cost(torch_cost(torch_biased, "False", backward, cross), 80740352, 1417216);
    }

    TEST_CASE("an op of a real trace") {
        const Cost cost =
            torch_cost(torch_flash, "True", forward, "[16,16,559,64],[16,16,559,64],[16,16,559,64]");
        check_cost(cost, 10239377408, 69.875 * 1024 * 1024);
        CHECK(cost.compute_spec() == "matrix_bf16");
    }

    TEST_CASE("parameters") {
        const std::string sizes = "B=2 N_Q=128 H_Q=8 N_KV=128 H_KV=8 d_h_qk=64 d_h_v=64 dropout=0.0 ";
        const std::string type = " dtype_A_B=('c10::BFloat16', 'c10::BFloat16')";
        CHECK(params(torch_cost(torch_biased, "True", forward, square_qkv)) ==
              sizes + "causal=True flash_impl=False" + type);
        CHECK(params(torch_cost(torch_flash, "", forward, square_qkv)) ==
              sizes + "causal=False flash_impl=True" + type);
    }

    TEST_CASE("scalars that are no number or flag count as 0 and False") {
        for (const std::string_view word : {"", "None", "bad"}) {
            CAPTURE(word);
            const Cost result = cost(torch_flash, {.tensors = square_qkv, .causal = word, .dropout = word});
            CHECK(result.ok());
            CHECK(param(result, "dropout") == "0.0");
            CHECK(param(result, "causal") == "False");
        }
        CHECK(param(cost(torch_flash, {.tensors = square_qkv, .dropout = "1.5"}), "dropout") == "1.5");
        CHECK(param(cost(torch_flash, {.tensors = square_qkv, .causal = "true"}), "causal") == "True");
    }

    TEST_CASE("a causal flag must be text; full rules take a boolean") {
        const std::string dims = list(square_qkv);
        OpText op = {.dims = dims, .types = bf16, .concrete = R"(["","","","0.",true])"};
        check_bad(cost_of(sdpa_flash, op));
        CHECK(param(cost_of(sdpa_flash, op, full), "causal") == "True");
        op.concrete = R"(["","","","0.",1])";
        check_bad(cost_of(sdpa_flash, op, full));
        op.concrete = R"(["","","","0."])";
        check_bad(cost_of(sdpa_flash, op));
        op.concrete = "";
        check_bad(cost_of(sdpa_flash, op));
    }
}

TEST_SUITE("Evoformer attention") {
    TEST_CASE("forward and backward") {
        check_cost(evoformer(protein), 2164260864, 16908288);
        check_cost(evoformer(protein, bf16, reference, backward), 4328521728, 29589504);
    }

    TEST_CASE("cost is linear in the number of sequences") {
        CHECK(2 * evoformer(protein).flops == evoformer("[1,258,256,4,16]").flops);
        CHECK(2 * *evoformer(protein).bytes == *evoformer("[2,129,256,4,16]").bytes);
    }

    TEST_CASE("bytes follow the type by full rules only") {
        CHECK(evoformer(protein, fp32).bytes == 16908288);
        CHECK(evoformer(protein, fp32, full).bytes == 2 * 16908288);
    }

    TEST_CASE("parameters") {
        const std::string sizes =
            "B=129 N_Q=256 H_Q=4 N_KV=256 H_KV=4 d_h_qk=16 d_h_v=16 causal=False flash_impl=False ";
        CHECK(params(evoformer(protein)) == sizes + "dtype_A_B=['c10::BFloat16']");
        CHECK(params(evoformer(protein, "")) == sizes + "dtype_A_B=[None]");
        CHECK(params(evoformer(protein, "[]")) == sizes + "dtype_A_B=[None]");
        CHECK(evoformer(protein).compute_spec() == "matrix_bf16");
        CHECK(evoformer(protein, "").compute_spec() == "");
    }

    TEST_CASE("malformed shapes") {
        for (const std::string_view q :
             {"", "[]", "null", "[1,129,256,4]", "[1,129,256,4,16,1]", "[1,2,3,4,true]"}) {
            CAPTURE(q);
            check_bad(evoformer(q));
        }
        CHECK(evoformer("[1,1,4,0,16]").ok());
        check_bad(evoformer("[1,1,4,0,16]", bf16, full, backward));
    }
}
