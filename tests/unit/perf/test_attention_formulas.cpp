#include <tracelens/perf/attention.hpp>

// Attention: the formulas of spec 03, section 3.8.1 and 3.8.3, from sizes alone.
#include <doctest/doctest.h>

using namespace tracelens;

namespace {

constexpr auto reference = CostRules::reference;
constexpr auto full = CostRules::full;

AttentionShape square(double n, double heads) {
    AttentionShape shape;
    shape.n_q = shape.n_kv = n;
    shape.heads_q = shape.heads_kv = heads;
    shape.dim_qk = shape.dim_v = 64;
    return shape;
}

}  // namespace

TEST_SUITE("attention formulas") {
    TEST_CASE("cost grows with each size") {
        const AttentionShape base = square(128, 8);
        for (double AttentionShape::*const size :
             {&AttentionShape::batch, &AttentionShape::n_q, &AttentionShape::heads_q, &AttentionShape::n_kv,
              &AttentionShape::dim_qk, &AttentionShape::dim_v}) {
            AttentionShape larger = base;
            larger.*size *= 2;
            CHECK(*sdpa_flops(larger) > *sdpa_flops(base));
            CHECK(*sdpa_backward_flops(larger) > *sdpa_backward_flops(base));
            CHECK(sdpa_bytes(larger, 2) > sdpa_bytes(base, 2));
            CHECK(sdpa_backward_bytes(larger, 2) > sdpa_backward_bytes(base, 2));
        }
    }

    TEST_CASE("bytes scale with the element") {
        const AttentionShape shape = square(128, 8);
        CHECK(sdpa_bytes(shape, 4) == 2 * sdpa_bytes(shape, 2));
        CHECK(sdpa_backward_bytes(shape, 4) == 2 * sdpa_backward_bytes(shape, 2));
    }

    TEST_CASE("a causal mask of equal lengths halves the operations") {
        AttentionShape shape = square(128, 8);
        const double all = *sdpa_flops(shape);
        shape.causal = true;
        CHECK(*sdpa_flops(shape, reference) == all / 2);
        CHECK(*sdpa_flops(shape, full) == all / 2);
    }

    TEST_CASE("a causal mask of other lengths: the reference has no figure") {
        AttentionShape shape = square(4, 8);
        shape.n_kv = 8;
        shape.causal = true;
        CHECK(!sdpa_flops(shape, reference).has_value());
        // Query 0 sees 5 keys, query 3 all 8: 26 of 32 scores.
        CHECK(*sdpa_flops(shape, full) == 2 * 8 * 26 * 128);
        shape.n_q = 1;
        CHECK(*sdpa_flops(shape, full) == 2 * 8 * 8 * 128);
        shape.n_q = 64;
        CHECK(!sdpa_flops(shape, full).has_value());
        CHECK(!sdpa_backward_flops(shape, reference).has_value());
        CHECK(!sdpa_backward_flops(shape, full).has_value());
        shape.n_q = -1;
        shape.n_kv = 0;
        CHECK(!sdpa_flops(shape, full).has_value());
    }

    TEST_CASE("flash attention computes the scores once more in the backward pass") {
        AttentionShape shape = square(128, 8);
        const double plain = *sdpa_backward_flops(shape);
        shape.flash = true;
        CHECK(*sdpa_backward_flops(shape) == plain + 2.0 * 8 * 128 * 128 * 64);
    }

    TEST_CASE("without heads of K and V there are no gradients") {
        AttentionShape shape = square(128, 8);
        shape.heads_kv = 0;
        CHECK(sdpa_flops(shape).has_value());
        CHECK(!sdpa_backward_flops(shape).has_value());
    }

    TEST_CASE("sequences of variable length: the longest, and the others equal") {
        const AttentionShape tokens = square(100, 8);
        const VarlenSequences sequences = {3, 3, 50, 50};
        const double expected = *sdpa_flops(square(50, 8)) + 2 * *sdpa_flops(square(25, 8));
        CHECK(*sdpa_varlen_flops(tokens, sequences, Pass::forward) == expected);
        CHECK(*sdpa_varlen_flops(tokens, {1, 1, 100, 100}, Pass::forward) == *sdpa_flops(tokens));
        CHECK(!sdpa_varlen_flops(tokens, {3, 1, 50, 50}, Pass::forward).has_value());
    }
}
