#include <tracelens/perf/convolution.hpp>

// Convolutions: figures and parameters of spec 03, section 3.7, its known faults and their mends.
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "unit/perf/cost_support.hpp"

using namespace tracelens;
using namespace tracelens::cost_test;

namespace {

constexpr auto reference = CostRules::reference;
constexpr auto full = CostRules::full;
constexpr auto forward = Pass::forward;
constexpr auto backward = Pass::backward;

const std::string bf16 = types("c10::BFloat16", 11);
const std::string fp32 = types("float", 11);

/// Settings of `aten::convolution` behind input, filter and bias.
constexpr std::string_view padded = R"(["","","","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1"])";
constexpr std::string_view nine_args = "[[2,3,8,8],[4,3,3,3],[4],[],[],[],[],[],[]]";
constexpr std::string_view three_dims = "[[2,3,8,8],[4,3,3,3],[4]]";

OpText conv(std::string_view dims, std::string_view concrete = padded, std::string_view type_list = bf16) {
    return {.dims = dims, .types = type_list, .concrete = concrete};
}

const OpText transposed =
    conv("[[2,8,4,4],[8,3,3,3],[6]]", R"(["","","","[2, 2]","[1, 1]","[1, 1]","True","[1, 1]","2"])");
const OpText strided_1d =
    conv("[[2,4,9],[4,2,3],[],[],[],[],[],[],[]]", R"(["","","","[2]","[0]","[1]","False","[0]","2"])");
const OpText default_1d =
    conv("[[2,4,9],[4,2,3],[],[],[],[],[],[],[]]", R"(["","","","","","","False","","2"])");

/// `aten::convolution_backward` of a layer of resnet, with an output mask.
constexpr std::string_view backward_dims =
    "[[10,64,56,56],[10,64,56,56],[64,64,3,3],[],[],[],[],[],[],[],[]]";
std::string backward_concrete(std::string_view mask) {
    return R"(["","","","","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1",")" + std::string(mask) + "\"]";
}
Cost backward_cost(std::string_view mask, CostRules rules, std::string_view dims = backward_dims) {
    const std::string concrete = backward_concrete(mask);
    return cost_of(aten_conv_bwd, conv(dims, concrete), rules);
}

const OpText fused = conv("[[1,1,4,4],[1,1,3,3],[1],[],[]]", R"(["","","","1","0"])");

Cost fused_backward(const OpText& forward_op, CostRules rules) {
    OpArguments args;
    args.forward = std::make_shared<OpArguments>(arguments(forward_op));
    return conv_bias_backward(args, forward, rules);
}

double flops_of(const Shape& input, const Shape& filter) {
    ConvShape shape;
    shape.input = input;
    shape.filter = filter;
    const std::optional<ConvSizes> sizes = conv_sizes(shape);
    REQUIRE(sizes.has_value());
    return conv_flops(*sizes);
}

void check_bad(const Cost& cost) {
    CHECK(cost.status == CostStatus::bad_arguments);
    CHECK(!cost.reason.empty());
}

}  // namespace

TEST_SUITE("convolution") {
    TEST_CASE("the output shape of a convolution") {
        ConvShape shape{.input = {2, 3, 9, 8}, .filter = {4, 3, 3, 2}, .stride = {2, 1}, .padding = {1, 0}};
        CHECK(conv_output_shape(shape) == std::vector<double>{2, 4, 5, 7});
        shape.dilation = {2, 3};
        CHECK(conv_output_shape(shape) == std::vector<double>{2, 4, 4, 5});
    }

    TEST_CASE("the output shape of a transposed convolution counts each group, except in the reference") {
        const ConvShape shape{.input = {2, 8, 4, 4},
                              .filter = {8, 3, 3, 3},
                              .stride = {2, 2},
                              .padding = {1, 1},
                              .output_padding = {1, 1},
                              .transposed = true,
                              .groups = 2};
        CHECK(conv_output_shape(shape, reference) == std::vector<double>{2, 3, 8, 8});
        CHECK(conv_output_shape(shape, full) == std::vector<double>{2, 6, 8, 8});
    }

    TEST_CASE("an output extent rounds towards zero") {
        const ConvShape shape{.input = {1, 1, 1}, .filter = {1, 1, 4}, .stride = {2}};
        CHECK(conv_output_shape(shape) == std::vector<double>{1, 1, 0});
    }

    TEST_CASE("contradictory shapes have no output") {
        CHECK(!conv_output_shape({}).has_value());
        CHECK(!conv_output_shape({.input = {1, 1, 4}, .filter = {1, 1}}).has_value());
        CHECK(!conv_sizes({.input = {1, 1, 4}, .filter = {1, 1, 3}, .stride = {0}}).has_value());
        CHECK(conv_output_shape({.input = {1, 1, 4}, .filter = {1, 1, 3}, .stride = {0}, .transposed = true})
                  .has_value());
    }

    TEST_CASE("without a known element size there are no bytes") {
        CHECK(!conv_bytes({}, std::nullopt).has_value());
        CHECK(!conv_backward_bytes({}, std::nullopt).has_value());
    }

    TEST_CASE("cost grows with each dimension") {
        const Shape input = {2, 3, 8, 8};
        const Shape filter = {4, 3, 3, 3};
        const double base = flops_of(input, filter);
        for (const std::size_t axis : {0U, 2U, 3U}) {
            Shape larger = input;
            ++larger[axis];
            CHECK(flops_of(larger, filter) > base);
        }
        for (std::size_t axis = 0; axis < filter.size(); ++axis) {
            Shape larger = filter;
            ++larger[axis];
            CHECK(flops_of(input, larger) > base);
        }
    }
}

TEST_SUITE("aten::convolution") {
    TEST_CASE("forward and backward of the reference") {
        check_cost(cost_of(aten_conv, conv(nine_args)), 27648, 2008);
        check_cost(cost_of(aten_conv, conv(nine_args), reference, backward), 55296, 4016);
    }

    TEST_CASE("the reference sees a bias when there are three shapes, full rules when the third has one") {
        check_cost(cost_of(aten_conv, conv(three_dims)), 28160, 2016);
        check_cost(cost_of(aten_conv, conv(nine_args), full), 28160, 2016);
        check_cost(cost_of(aten_conv, conv("[[2,3,8,8],[4,3,3,3],[],[],[],[],[],[],[]]"), full), 27648, 2008);
        check_cost(cost_of(aten_conv, conv("[[2,3,8,8],[4,3,3,3]]"), full), 27648, 2008);
        CHECK(param(cost_of(aten_conv, conv(nine_args)), "bias") == "False");
        CHECK(param(cost_of(aten_conv, conv(nine_args), full), "bias") == "True");
    }

    TEST_CASE("the reference counts the bias gradient in elements") {
        check_cost(cost_of(aten_conv, conv(three_dims), reference, backward), 55808, 4532);
        check_cost(cost_of(aten_conv, conv(three_dims), full, backward), 55808, 5048);
    }

    TEST_CASE("transposed") {
        check_cost(cost_of(aten_conv, transposed), 14208, 1718);
        check_cost(cost_of(aten_conv, transposed, reference, backward), 28032, 3811);
        check_cost(cost_of(aten_conv, transposed, full), 14592, 2492);
        check_cost(cost_of(aten_conv, transposed, full, backward), 28416, 6508);
    }

    TEST_CASE("one spatial dimension") {
        check_cost(cost_of(aten_conv, strided_1d), 384, 256);
        check_cost(cost_of(aten_conv, strided_1d, reference, backward), 768, 512);
        check_cost(cost_of(aten_conv, default_1d), 672, 304);
        check_cost(cost_of(aten_conv, default_1d, reference, backward), 1344, 608);
    }

    TEST_CASE("parameters") {
        OpText op = conv(nine_args);
        op.strides = "[[192,64,8,1],[27,9,3,1],[1]]";
        const Cost cost = cost_of(aten_conv, op);
        CHECK(params(cost) ==
              "convNd=conv2d input_shape=(2, 3, 8, 8) filter_shape=(4, 3, 3, 3) "
              "dtype_input_weight=('c10::BFloat16', 'c10::BFloat16') input_stride=(192, 64, 8, 1) "
              "weight_stride=(27, 9, 3, 1) bias=False stride=(1, 1) padding=(1, 1) dilation=(1, 1) "
              "transposed_conv=False output_padding=(0, 0) groups=1");
        CHECK(cost.compute_spec() == "matrix_bf16");
    }

    TEST_CASE("empty settings are written out, single ones repeated") {
        const Cost defaults = cost_of(aten_conv, default_1d);
        CHECK(param(defaults, "convNd") == "conv1d");
        CHECK(param(defaults, "stride") == "(1,)");
        CHECK(param(defaults, "padding") == "(0,)");
        CHECK(param(defaults, "dilation") == "(1,)");
        CHECK(param(defaults, "output_padding") == "(0,)");
        const Cost cube = cost_of(aten_conv, conv("[[1,1,4,4,4],[1,1,3,3,3]]",
                                                  R"-(["","","","(2)","(1,1,1)","[1]","False","","1"])-"));
        CHECK(cube.ok());
        CHECK(param(cube, "convNd") == "conv3d");
        CHECK(param(cube, "stride") == "(2, 2, 2)");
        CHECK(param(cube, "padding") == "(1, 1, 1)");
    }

    TEST_CASE("strides are none without the key, and must be there with it") {
        OpText op = conv(nine_args);
        op.strides = "";
        CHECK(param(cost_of(aten_conv, op), "input_stride") == "None");
        CHECK(cost_of(aten_conv, op).ok());
        op.strides = "[[192,64,8,1]]";
        check_bad(cost_of(aten_conv, op));
    }

    TEST_CASE("bytes follow the type") {
        const std::string unknown = types("unknown", 9);
        check_cost(cost_of(aten_conv, conv(nine_args, padded, fp32)), 27648, 4016);
        const Cost cost = cost_of(aten_conv, conv(nine_args, padded, unknown));
        CHECK(cost.ok());
        CHECK(cost.flops == 27648);
        CHECK(!cost.bytes.has_value());
        CHECK(cost.compute_spec() == "");
        CHECK(!cost_of(aten_conv, conv(nine_args, padded, unknown), full, backward).bytes.has_value());
    }

    TEST_CASE("an op of a real trace") {
        const OpText op = conv("[[4,3,224,224],[768,3,16,16],[768],[],[],[],[],[],[]]",
                               R"(["","","","[16, 16]","[0, 0]","[1, 1]","False","[0, 0]","1"])");
        check_cost(cost_of(aten_conv, op), 924844032, 3.421875 * 1024 * 1024);
        check_cost(cost_of(aten_conv, op, full), 925446144, 3.421875 * 1024 * 1024 + 1536);
    }

    TEST_CASE("malformed shapes and types") {
        for (const std::string_view dims :
             {"", "7", "[]", "[[2,3,8,8]]", "[[2,3],[4,3]]", "[[8],[4]]", "[[2,3,8,8],[4,3,3]]",
              "[[2,3,8,8],null]", "[[2,3,8,\"x\"],[4,3,3,3]]", "[[1,1,1,1,1,1],[1,1,1,1,1,1]]"}) {
            CAPTURE(dims);
            check_bad(cost_of(aten_conv, conv(dims)));
        }
        for (const std::string_view type_list :
             {"", "[]", "[\"float\"]", "[\"c10::BFloat16\",\"c10::Half\"]", "{}"}) {
            CAPTURE(type_list);
            check_bad(cost_of(aten_conv, conv(nine_args, padded, type_list)));
        }
    }

    TEST_CASE("malformed settings") {
        for (const std::string_view concrete :
             {"", "[]", R"(["","","","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]"])",
              R"(["","","","[]","[1, 1]","[1, 1]","False","[0, 0]","1"])",
              R"(["","","","[1, x]","[1, 1]","[1, 1]","False","[0, 0]","1"])",
              R"(["","","","[1, 1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1"])",
              R"(["","","","[0, 0]","[1, 1]","[1, 1]","False","[0, 0]","1"])",
              R"(["","","","[1, 1]","[1, 1]","[1, 1]","","[0, 0]","1"])",
              R"-(["","","","[1, 1]","[1, 1]","[1, 1]","exit()","[0, 0]","1"])-",
              R"(["","","","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]",""])"}) {
            CAPTURE(concrete);
            check_bad(cost_of(aten_conv, conv(nine_args, concrete)));
            check_bad(cost_of(aten_conv, conv(nine_args, concrete), full, backward));
        }
    }

    TEST_CASE("extreme extents give a finite cost") {
        const Cost cost = cost_of(
            aten_conv, conv("[[9223372036854775807,-9223372036854775808,0,5],[-1,9223372036854775807,3,3]]"));
        CHECK(cost.ok());
        CHECK(std::isfinite(cost.flops));
    }
}

TEST_SUITE("aten::convolution_backward") {
    TEST_CASE("an op of a real trace") {
        const Cost cost = backward_cost("[True, True, False]", reference);
        check_cost(cost, 4624220160, 15.453125 * 1024 * 1024);
        CHECK(cost.compute_spec() == "matrix_bf16");
        check_cost(backward_cost("[True, True, False]", full), 4624220160, 15.453125 * 1024 * 1024);
    }

    TEST_CASE("the reference ignores the output mask") {
        check_cost(backward_cost("[False, True, False]", reference), 4624220160, 15.453125 * 1024 * 1024);
        check_cost(backward_cost("[False, True, False]", full), 2312110080, 7.7265625 * 1024 * 1024);
        check_cost(backward_cost("[True, False, False]", full), 2312110080, 7.7265625 * 1024 * 1024);
        check_cost(backward_cost("[False, False, False]", full), 0, 0);
    }

    TEST_CASE("a bias by the output mask") {
        constexpr double output = 10 * 64 * 56 * 56;
        const Cost cost = backward_cost("[True, True, True]", full);
        check_cost(cost, 4624220160 + output, 15.453125 * 1024 * 1024 + (output + 64) * 2);
        CHECK(param(cost, "bias") == "True");
        CHECK(param(backward_cost("[True, True, False]", full), "bias") == "False");
    }

    TEST_CASE("the reference takes a bias from the shape of argument 3, and keeps an empty one") {
        CHECK(param(backward_cost("[True, True, True]", reference), "bias") == "[]");
        constexpr double output = 10 * 64 * 56 * 56;
        const Cost cost =
            backward_cost("[True, True, False]", reference, "[[10,64,56,56],[10,64,56,56],[64,64,3,3],[64]]");
        check_cost(cost, 4624220160 + output, 15.453125 * 1024 * 1024 + output + 64);
        CHECK(param(cost, "bias") == "True");
        CHECK(param(backward_cost("", reference, "[[],[10,64,56,56],[64,64,3,3]]"), "bias") == "False");
    }

    TEST_CASE("an unreadable output mask asks for both gradients, and argument 3 for the bias") {
        for (const std::string_view mask : {"", "[True]", "[a, b, c]", "True"}) {
            CAPTURE(mask);
            check_cost(backward_cost(mask, full), 4624220160, 15.453125 * 1024 * 1024);
            CHECK(param(backward_cost(mask, full), "bias") == "False");
        }
        const Cost biased = backward_cost("", full, "[[],[10,64,56,56],[64,64,3,3],[64]]");
        CHECK(param(biased, "bias") == "True");
    }

    TEST_CASE("parameters are those of input and filter") {
        const std::string concrete = backward_concrete("[True, True, False]");
        OpText op = conv(backward_dims, concrete, fp32);
        op.strides = "[[0],[1],[2]]";
        CHECK(params(cost_of(aten_conv_bwd, op)) ==
              "convNd=conv2d input_shape=(10, 64, 56, 56) filter_shape=(64, 64, 3, 3) "
              "dtype_input_weight=('float', 'float') input_stride=(1,) weight_stride=(2,) bias=[] "
              "stride=(1, 1) padding=(1, 1) dilation=(1, 1) transposed_conv=False output_padding=(0, 0) "
              "groups=1");
    }

    TEST_CASE("malformed arguments") {
        check_bad(backward_cost("", reference, "[[10,64,56,56],[10,64,56,56]]"));
        const std::string concrete = backward_concrete("");
        check_bad(cost_of(aten_conv_bwd, conv(backward_dims, concrete, R"(["","float","double"])")));
        check_bad(cost_of(aten_conv_bwd, conv(backward_dims, concrete, R"(["float","float"])")));
        check_bad(cost_of(aten_conv_bwd, conv(backward_dims, "")));
        check_bad(cost_of(aten_conv_bwd, {}));
    }
}

TEST_SUITE("fused convolutions") {
    TEST_CASE("forward and backward of the forward op") {
        check_cost(cost_of(conv_bias, fused), 76, 60);
        check_cost(cost_of(conv_bias, fused, reference, backward), 148, 121);
        check_cost(cost_of(conv_bias, fused, full, backward), 148, 126);
    }

    TEST_CASE("backward op from the forward op's arguments") {
        check_cost(fused_backward(fused, reference), 148, 121);
        check_cost(fused_backward(fused, full), 148, 126);
        CHECK(params(fused_backward(fused, reference)) == params(cost_of(conv_bias, fused)));
    }

    TEST_CASE("backward op without a forward op") {
        check_bad(cost_of(conv_bias_backward, {}));
        const Cost cost = cost_of(conv_bias_backward, {}, full);
        CHECK(cost.ok());
        CHECK(std::isnan(cost.flops));
        CHECK(!cost.bytes.has_value());
        CHECK(cost.compute_spec() == "");
        CHECK(params(cost) ==
              "convNd=None input_shape=None filter_shape=None dtype_input_weight=None input_stride=None "
              "weight_stride=None bias=None stride=None padding=None dilation=None transposed_conv=None "
              "output_padding=None groups=None");
    }

    TEST_CASE("a backward op bears input and filter of different types, a forward op does not") {
        const OpText mixed =
            conv("[[1,1,4,4],[1,1,3,3]]", R"(["","","","1","0"])", R"(["c10::BFloat16","float"])");
        check_bad(cost_of(conv_bias, mixed));
        check_cost(fused_backward(mixed, reference), 148, 121);
        const OpText unknown = conv("[[1,1,4,4],[1,1,3,3]]", "", R"(["","float"])");
        CHECK(fused_backward(unknown, reference).ok());
        CHECK(!fused_backward(unknown, reference).bytes.has_value());
    }

    TEST_CASE("settings that are not recorded") {
        for (const std::string_view concrete :
             {"", "[]", R"(["","",""])", R"(["","","","",""])", R"(["","","",null,null])"}) {
            CAPTURE(concrete);
            const Cost cost = cost_of(conv_bias, conv("[[1,1,4,4],[1,1,3,3]]", concrete));
            check_cost(cost, 76, 60);
            CHECK(param(cost, "stride") == "(1, 1)");
            CHECK(param(cost, "padding") == "(0, 0)");
        }
    }

    TEST_CASE("parameters") {
        OpText op = conv("[[1,1,9],[1,1,3]]", R"(["","","","2","1"])");
        op.strides = "[[9,9,1],[3,3,1]]";
        CHECK(params(cost_of(conv_bias, op)) ==
              "convNd=conv1d input_shape=(1, 1, 9) filter_shape=(1, 1, 3) "
              "dtype_input_weight=('c10::BFloat16', 'c10::BFloat16') input_stride=(9, 9, 1) "
              "weight_stride=(3, 3, 1) bias=True stride=(2,) padding=(1,) dilation=(1,) "
              "transposed_conv=False output_padding=(0,) groups=1");
        op.strides = "[[9,9,1]]";
        CHECK(param(cost_of(conv_bias, op), "input_stride") == "None");
        CHECK(param(cost_of(conv_bias, op), "weight_stride") == "None");
    }

    TEST_CASE("malformed arguments") {
        check_bad(cost_of(conv_bias, {}));
        check_bad(cost_of(conv_bias, conv("[[1,1,4,4]]")));
        check_bad(cost_of(conv_bias, conv("[[4],[3]]")));
        check_bad(cost_of(conv_bias, conv("[[1,1,4,4],[1,1,3,3]]", R"(["","","","x","0"])")));
        check_bad(cost_of(conv_bias, conv("[[1,1,4,4],[1,1,3,3]]", R"(["","","","0","0"])")));
        check_bad(fused_backward({}, full));
        check_bad(fused_backward({}, reference));
    }

    TEST_CASE("six names have a model") {
        CHECK(convolution_models.size() == 6);
        for (const ModelRow& row : convolution_models) {
            CAPTURE(row.name);
            check_bad(cost_of(row.model, {}));
        }
    }
}
