/// Cost models of normalizations, against spec 03, section 3.11.
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/perf/normalization.hpp>

#include "cost_support.hpp"

using namespace tracelens;
using namespace tracelens::cost_test;

namespace {

constexpr CostRules reference = CostRules::reference;
constexpr CostRules full = CostRules::full;

constexpr double elements = 131072;  // of the spec's examples: 8 x 16 x 32 x 32

/// An op of float tensors; all arguments have a type.
Cost norm(CostModel model, std::string_view dims, std::string_view concrete, CostRules rules = reference,
          std::string_view name = "op") {
    const std::string floats = types("float", 10);
    return cost_of(model, {.dims = dims, .types = floats, .concrete = concrete, .name = name}, rules);
}

/// `[[8,16,32,32],[16],[16],...]`: the input of the examples, and what follows.
std::string input_and(std::string_view others) {
    return "[[8,16,32,32]," + std::string(others) + "]";
}

/// The same after the result's gradient.
std::string gradient_and(std::string_view others) {
    return "[[8,16,32,32],[8,16,32,32]," + std::string(others) + "]";
}

Cost batch(std::string_view others, std::string_view training, CostRules rules = reference) {
    const std::string concrete = R"(["","","","","",)" + std::string(training) + "]";
    return norm(&batch_norm, input_and(others), concrete, rules, "aten::batch_norm");
}

Cost batch_bwd(std::string_view dims, std::string_view training, std::string_view name,
               CostRules rules = reference) {
    const std::string concrete = R"(["","","","","","","",)" + std::string(training) + "]";
    return norm(&batch_norm_backward, dims, concrete, rules, name);
}

constexpr std::string_view native_batch_bwd = "aten::native_batch_norm_backward";

Cost layer(CostRules rules = reference) {
    return norm(&layer_norm, input_and("[],[16,32,32],[16,32,32],[],[]"),
                R"(["","[16, 32, 32]","","","",""])", rules, "aten::layer_norm");
}

Cost layer_bwd(std::string_view mask, CostRules rules = reference) {
    const std::string concrete = R"(["","","[16, 32, 32]","","","","",)" + std::string(mask) + "]";
    return norm(&layer_norm_backward, gradient_and("[],[8,1],[8,1],[16,32,32],[16,32,32],[]"), concrete,
                rules);
}

Cost group(CostRules rules = reference) {
    return norm(&group_norm, input_and("[],[16],[16],[],[]"), R"(["","4","","","1e-05","True"])", rules,
                "aten::group_norm");
}

Cost group_bwd(std::string_view dims, CostRules rules = reference,
               std::string_view mask = R"("[True, True, True]")", std::string_view groups = R"("4")") {
    const std::string concrete =
        R"(["","","","","","8","16","1024",)" + std::string(groups) + "," + std::string(mask) + "]";
    return norm(&group_norm_backward, dims, concrete, rules, "aten::native_group_norm_backward");
}

const std::string group_bwd_dims = gradient_and("[8,4],[8,4],[16],[],[],[],[],[]");

Cost rms(CostRules rules = reference) {
    return norm(&rms_norm, input_and("[],[32,32],[]"), R"(["","[32, 32]","",""])", rules);
}

Cost rms_bwd(std::string_view dims, std::string_view shape, std::string_view mask,
             std::string_view type = "float", CostRules rules = reference) {
    const std::string concrete = R"(["","",)" + std::string(shape) + R"(,"","",)" + std::string(mask) + "]";
    return cost_of(&rms_norm_backward, {.dims = dims, .types = types(type, 6), .concrete = concrete}, rules);
}

const std::string rms_bwd_dims = gradient_and("[],[8,16,1,1],[32,32],[]");

Cost modulate(CostModel model, std::string_view dims, std::string_view strides = "[[1]]") {
    return cost_of(model, {.dims = dims, .types = types("c10::BFloat16", 1), .strides = strides});
}

const std::vector<CostModel> forward_models = {&batch_norm,    &layer_norm, &group_norm,
                                               &instance_norm, &rms_norm,   &fused_ln_modulate};
const std::vector<CostModel> backward_models = {&batch_norm_backward, &layer_norm_backward,
                                                &group_norm_backward, &rms_norm_backward,
                                                &fused_ln_modulate_backward};

}  // namespace

// --- batch norm ---

TEST_CASE("batch norm of the spec") {
    check_cost(batch("[16],[16],[16],[16]", R"("True")"), 655456, 1048960);
    check_cost(batch("[16],null,[16],[16]", R"("")"), 262240, 1048704);
}

TEST_CASE("batch norm parameters") {
    const Cost cost = batch("[16],[16],[16],[16]", R"("True")");
    CHECK(cost.compute_spec() == "vector_fp32");
    CHECK(params(cost) ==
          "op_shape=(8, 16, 32, 32) dtype_in_out=('float', None) stride_input=(1,) stride_output=None "
          "num_channels=16 has_bias=True is_affine=True is_training=True");
}

TEST_CASE("the reference takes any text for training") {
    for (const std::string_view training : {R"("False")", R"("x")", "true", "1", "[0]"})
        CHECK(param(batch("[16],[16]", training), "is_training") == "True");
    for (const std::string_view training : {R"("")", "null", "false", "0", "[]"})
        CHECK(param(batch("[16],[16]", training), "is_training") == "False");
}

TEST_CASE("mended, the text of training is read") {
    for (const std::string_view training : {R"("True")", R"("true")", R"("1")", "true", "1"})
        CHECK(param(batch("[16],[16]", training, full), "is_training") == "True");
    for (const std::string_view training : {R"("False")", R"("")", "null", "false", "0", R"("0")"})
        CHECK(param(batch("[16],[16]", training, full), "is_training") == "False");
    check_cost(batch("[16],[16]", R"("False")", full), 6 * 16 + 2 * elements, 1048576 + 4 * 16 * 4);
}

TEST_CASE("mended, a weight without shape and type is absent") {
    const OpText op{.dims = "[[8,16,32,32],[],[],[16],[16]]",
                    .types = R"(["float","","","float","float"])",
                    .concrete = R"(["","","","","","True"])"};
    check_cost(cost_of(&batch_norm, op), 655456, 1048960);
    const Cost mended = cost_of(&batch_norm, op, full);
    check_cost(mended, 655456, 1048576 + 4 * 16 * 4);
    CHECK(param(mended, "is_affine") == "False");
    CHECK(param(mended, "has_bias") == "False");
    check_cost(batch("[16],[16],[16],[16]", R"("True")", full), 655456, 1048960);
}

TEST_CASE("batch norm backward of the spec") {
    const std::string dims = gradient_and("[16]");
    check_cost(batch_bwd(dims, R"("True")", native_batch_bwd), 1179648, 1573120);
    check_cost(batch_bwd(dims, R"("")", native_batch_bwd), 524336, 1048640);
    check_cost(batch_bwd("[null,[8,16,32,32],[16]]", R"("True")", native_batch_bwd), 786432, 1048832);
    check_cost(batch_bwd(dims, R"("")", "aten::miopen_batch_norm_backward"), 524336, 1048640);
}

TEST_CASE("batch norm backward of vendors has the input first") {
    for (const std::string_view name :
         {"aten::cudnn_batch_norm_backward", "aten::miopen_batch_norm_backward"}) {
        const Cost cost = norm(&batch_norm_backward, "[[2,4,8],[7],[4]]", "", reference, name);
        CHECK(param(cost, "op_shape") == "(2, 4, 8)");
        CHECK(param(cost, "is_training") == "False");
        CHECK(param(cost, "output_mask") == "[True]");
    }
}

TEST_CASE("batch norm backward parameters end with the mask") {
    const Cost cost = batch_bwd(gradient_and("[16]"), R"("True")", native_batch_bwd);
    CHECK(params(cost) ==
          "op_shape=(8, 16, 32, 32) dtype_in_out=('float', None) stride_input=(1,) stride_output=None "
          "num_channels=16 has_bias=True is_affine=True is_training=True output_mask=[True]");
    const Cost without = batch_bwd("[null,[8,16,32,32],[16]]", R"("True")", native_batch_bwd);
    CHECK(param(without, "output_mask") == "[False]");
}

TEST_CASE("mended, no input gradient costs nothing") {
    const Cost cost = batch_bwd("[null,[8,16,32,32],[16]]", R"("True")", native_batch_bwd, full);
    check_cost(cost, 4 * elements, 1048832);
}

TEST_CASE("mended, batch norm backward in inference") {
    const std::string dims = gradient_and("[16]");
    CHECK(param(batch_bwd(dims, R"("False")", native_batch_bwd), "is_training") == "True");
    check_cost(batch_bwd(dims, R"("False")", native_batch_bwd, full), 524336, 1048640);
}

// --- layer norm ---

TEST_CASE("layer norm of the spec") {
    const Cost cost = layer();
    check_cost(cost, 753664, 1441792);
    CHECK(param(cost, "num_channels") == "16384");
    CHECK(param(cost, "is_training") == "True");
}

TEST_CASE("layer norm of a real trace") {
    const Cost cost = cost_of(&layer_norm, {.dims = "[[4,197,768],[],[768],[768],[],[]]",
                                            .types = types("c10::BFloat16", 6),
                                            .concrete = R"(["","[768]","","","9.99e-13","True"])"});
    check_cost(cost, 3030528, 2.3173828125 * 1048576);
    CHECK(cost.compute_spec() == "vector_bf16");
}

TEST_CASE("mended, layer norm has statistics for each row") {
    const Cost cost = layer(full);
    check_cost(cost, 6 * 8 + 5 * elements, 1048576 + (8 * 4 + 2 * 16384) * 4);
    CHECK(param(cost, "num_channels") == "16384");
}

TEST_CASE("layer norm without weight and bias") {
    const std::string concrete = R"(["","[16, 32, 32]"])";
    const Cost nulls = norm(&layer_norm, input_and("[],null,null"), concrete);
    CHECK(param(nulls, "is_affine") == "False");
    CHECK(param(nulls, "has_bias") == "False");
    check_cost(nulls, 753664, 1048576 + 4 * 16384 * 4);
    const OpText absent{.dims = "[[8,16,32,32],[],[],[]]",
                        .types = R"(["float","ScalarList","",""])",
                        .concrete = R"(["","[16, 32, 32]"])"};
    CHECK(param(cost_of(&layer_norm, absent), "is_affine") == "True");
    CHECK(param(cost_of(&layer_norm, absent), "has_bias") == "True");
    CHECK(param(cost_of(&layer_norm, absent, full), "is_affine") == "False");
    CHECK(param(cost_of(&layer_norm, absent, full), "has_bias") == "False");
}

TEST_CASE("layer norm backward of the spec") {
    check_cost(layer_bwd(R"("[True, True, True]")"), 1179648, 1835008);
    check_cost(layer_bwd(R"("[True, False, False]")"), 1179648, 1638400);
    const Cost cost = layer_bwd(R"("[False, True, False]")");
    check_cost(cost, 786432, 1245184);
    CHECK(param(cost, "is_affine") == "True");
    CHECK(param(cost, "has_bias") == "False");
    CHECK(param(cost, "output_mask") == "[False, True, False]");
}

TEST_CASE("mended, layer norm backward has statistics for each row") {
    check_cost(layer_bwd(R"("[True, True, True]")", full), 9 * elements, 3 * 524288 + (8 + 3 * 16384) * 4);
    check_cost(layer_bwd(R"("[False, True, False]")", full), 4 * elements, 2 * 524288 + (8 + 2 * 16384) * 4);
}

TEST_CASE("layer norm backward needs a mask of three") {
    for (const std::string_view mask :
         {R"("[True, True]")", R"("[]")", R"("")", "null", R"("[True, x, True]")"})
        CHECK(layer_bwd(mask).status == CostStatus::bad_arguments);
    CHECK(layer_bwd(R"("[1, 0, 1]")").ok());
}

// --- group norm ---

TEST_CASE("group norm of the spec") {
    check_cost(group(), 655456, 1048960);
    check_cost(norm(&group_norm, "[[1,512,128,128],[],[512],[512]]", "", reference, "aiter::_groupnorm_run"),
               41946112, 2.0 * 33560576);
}

TEST_CASE("mended, group norm has statistics for each group of each sample") {
    check_cost(group(full), 6 * 32 + 5 * elements, 1048576 + (32 * 4 + 16 * 2) * 4);
    const Cost unknown_groups = norm(&group_norm, input_and("[],[16],[16]"), "", full);
    check_cost(unknown_groups, 655456, 1048960);
}

TEST_CASE("native group norm has the weight at 1") {
    const OpText op{.dims = "[[8,16,32,32],[16],[],[],[],[],[],[]]",
                    .types = R"(["float","float","","Scalar","Scalar","Scalar","Scalar","Scalar"])",
                    .concrete = R"(["","","","8","16","1024","4","1e-05"])",
                    .name = "aten::native_group_norm"};
    check_cost(cost_of(&group_norm, op), 655456, 1048960);
    const Cost mended = cost_of(&group_norm, op, full);
    check_cost(mended, 6 * 32 + 5 * elements, 1048576 + (32 * 4 + 16) * 4);
    CHECK(param(mended, "is_affine") == "True");
    CHECK(param(mended, "has_bias") == "False");
}

TEST_CASE("group norm backward of the spec") {
    const Cost cost = group_bwd(group_bwd_dims);
    check_cost(cost, 1179648, 1572928);
    CHECK(param(cost, "num_channels") == "4.0");
    const std::string ten = "[[8,10,32,32],[8,10,32,32],[8,4],[8,4],[10],[]]";
    check_cost(group_bwd(ten), 737280, 983080);
    CHECK(param(group_bwd(ten), "num_channels") == "2.5");
}

TEST_CASE("mended, group norm backward counts channels, and finds the weight") {
    const Cost cost = group_bwd(group_bwd_dims, full);
    check_cost(cost, 9 * elements, 3 * 524288 + (32 + 3 * 16) * 4);
    CHECK(param(cost, "num_channels") == "16");
    const OpText no_weight{.dims = "[[8,16],[8,16],[8,4],[8,4],[],[]]",
                           .types = R"(["float","float","float","float","","Scalar"])",
                           .concrete = R"(["","","","","","8","16","1","4","[True, True, True]"])"};
    CHECK(param(cost_of(&group_norm_backward, no_weight), "is_affine") == "True");
    CHECK(param(cost_of(&group_norm_backward, no_weight, full), "is_affine") == "False");
}

TEST_CASE("group norm backward needs groups and a mask") {
    for (const std::string_view groups : {R"("0")", R"("")", R"("four")", "null"})
        CHECK(group_bwd(group_bwd_dims, reference, R"("[True]")", groups).status ==
              CostStatus::bad_arguments);
    CHECK(group_bwd(group_bwd_dims, reference, R"("[]")").status == CostStatus::bad_arguments);
    CHECK(group_bwd("[[8,16],[8,16],[8,4]]").reason == "no argument 5");
}

// --- instance norm ---

TEST_CASE("instance norm of the spec") {
    const std::string dims = input_and("[16],[16],[16],[16]");
    check_cost(norm(&instance_norm, dims, R"(["","","","","","True"])"), 655456, 1048960);
    const Cost inference = norm(&instance_norm, dims, R"(["","","","","",""])");
    CHECK(param(inference, "is_training") == "False");
}

TEST_CASE("mended, instance norm has statistics for each channel of each sample") {
    const std::string dims = input_and("[16],[16],[16],[16]");
    check_cost(norm(&instance_norm, dims, R"(["","","","","","True"])", full), 6 * 128 + 5 * elements,
               1048576 + (128 * 4 + 16 * 2) * 4);
}

TEST_CASE("gradients of instance norm are not supported") {
    for (const Pass pass : {Pass::forward, Pass::backward})
        CHECK(cost_of(&instance_norm_backward, {}, full, pass).status == CostStatus::unsupported);
}

// --- RMS norm ---

TEST_CASE("rms norm of the spec") {
    for (const CostRules rules : {reference, full}) {
        const Cost cost = rms(rules);
        check_cost(cost, 524544, 1052672);
        CHECK(param(cost, "num_channels") == "1024");
        CHECK(param(cost, "has_bias") == "False");
        CHECK(param(cost, "is_affine") == "True");
        CHECK(param(cost, "is_training") == "False");
        CHECK(param(cost, "output_mask") == "absent");
    }
}

TEST_CASE("rms norm without a weight") {
    const Cost cost = norm(&rms_norm, input_and("[],null"), R"(["","[32, 32]"])");
    check_cost(cost, 524544 - elements, 1048576);
    CHECK(norm(&rms_norm, input_and("[]"), R"(["","[32, 32]"])").reason == "no argument 2");
}

TEST_CASE("rms norm backward of the spec") {
    const Cost cost = rms_bwd(rms_bwd_dims, R"("[32, 32]")", R"("[True, True]")");
    check_cost(cost, 1310720, 1581056);
    CHECK(param(cost, "output_mask") == "[True, True]");
    CHECK(param(cost, "is_training") == "False");
    check_cost(rms_bwd(rms_bwd_dims, R"("[32, 32]")", R"("[True, False]")"), 1048576, 1581056);
    check_cost(
        rms_bwd("[[1024],[1024],[],[1],[1024],[]]", R"("[1024]")", R"("[False, True]")", "c10::BFloat16"),
        3072, 10240);
}

TEST_CASE("rms norm backward without a weight") {
    const std::string dims = gradient_and("[],[8,16,1,1],null,[]");
    check_cost(rms_bwd(dims, R"("[32, 32]")", R"("[True, True]")"), 7 * elements, 3 * 524288);
}

TEST_CASE("rms norm backward needs a mask of two") {
    CHECK(rms_bwd(rms_bwd_dims, R"("[32, 32]")", R"("[True]")").reason == "the output mask has no element 1");
}

// --- layer norm with modulation ---

TEST_CASE("fused layer norm with modulation of the spec") {
    check_cost(modulate(&fused_ln_modulate, "[[256,40,3072]]"), 377487360, 126402560);
    check_cost(modulate(&fused_ln_modulate_backward, "[[256,40,3072]]"), 471859200, 189562880);
    const double tokens = 512.0 * 40;
    const double weights = 40.0 * 3072;
    check_cost(modulate(&fused_ln_modulate, "[[512,40,3072]]"), 12 * 512 * weights,
               2 * 512 * weights * 2 + 2 * weights * 2 + 8 * tokens);
    check_cost(modulate(&fused_ln_modulate_backward, "[[512,40,3072]]"), 15 * 512 * weights,
               3 * 512 * weights * 2 + 8 * tokens + 3 * weights * 2);
}

TEST_CASE("parameters of fused layer norm with modulation") {
    const std::string common =
        "op_shape=(4, 2, 8) dtype_in_out=('c10::BFloat16', None) stride_input=(1,) stride_output=None "
        "num_channels=8 has_bias=True is_affine=True is_training=True";
    CHECK(params(modulate(&fused_ln_modulate, "[[4,2,8]]")) == common);
    CHECK(params(modulate(&fused_ln_modulate_backward, "[[4,2,8]]")) ==
          common + " output_mask=[True, True, True]");
}

TEST_CASE("fused layer norm with modulation needs rank 3, but no strides") {
    for (const CostModel model : {&fused_ln_modulate, &fused_ln_modulate_backward}) {
        CHECK(modulate(model, "[[4,8]]").status == CostStatus::bad_arguments);
        CHECK(modulate(model, "[[4,2,8,1]]").status == CostStatus::bad_arguments);
        for (const std::string_view strides : {"", "[]"})
            CHECK(param(modulate(model, "[[4,2,8]]", strides), "stride_input") == "None");
    }
}

// --- all of them ---

TEST_CASE("forward normalizations have no gradients") {
    for (const CostModel model : forward_models)
        CHECK(cost_of(model, {}, reference, Pass::backward).status == CostStatus::unsupported);
    CHECK(cost_of(&fused_ln_modulate_backward, {}, reference, Pass::backward).status ==
          CostStatus::unsupported);
}

TEST_CASE("backward normalizations cost the same in both passes") {
    const OpText op{.dims = "[[8,16],[8,16],[16],[8,1],[16],[16]]",
                    .types = R"(["float","float","float","float","float","float"])",
                    .concrete = R"(["","","[16]","","","[True, True]","","[True, True, True]"])"};
    for (const CostModel model : {&batch_norm_backward, &layer_norm_backward, &rms_norm_backward}) {
        const Cost forward = cost_of(model, op);
        check_cost(cost_of(model, op, reference, Pass::backward), forward.flops, *forward.bytes);
    }
}

TEST_CASE("normalizations fail without strides, types or channels") {
    const std::string floats = types("float", 6);
    const OpText no_strides{.dims = "[[8,16],[16],[16],[16],[16],[16]]",
                            .types = floats,
                            .concrete = R"(["","[16]","","","","True"])",
                            .strides = ""};
    for (const CostModel model : {&batch_norm, &layer_norm, &group_norm, &instance_norm, &rms_norm})
        CHECK(cost_of(model, no_strides).reason == "no Input Strides");
    const OpText unknown{.dims = "[[8,16],[16],[16],[16],[16],[16]]",
                         .types = R"(["mystery","","","","",""])",
                         .concrete = R"(["","[16]","","","","True"])"};
    for (const CostModel model : {&batch_norm, &layer_norm, &group_norm, &instance_norm, &rms_norm})
        CHECK(cost_of(model, unknown).reason == "the element size of the input's type is not known");
    CHECK(norm(&batch_norm, "[[8],[16],[16]]", R"(["","","","","","True"])").status ==
          CostStatus::bad_arguments);
    CHECK(norm(&batch_norm, "[[8,16],[16]]", R"(["","","","","","True"])").reason == "no argument 2");
    CHECK(norm(&batch_norm, "[[8,16],[16],[16]]", R"([""])").reason == "Concrete Inputs has no element 5");
    CHECK(norm(&layer_norm, "[[8,16],[],[16]]", R"(["","[16]"])").reason == "no argument 3");
    CHECK(norm(&layer_norm, "[[8,16],[],[16],[16]]", R"(["","16"])").status == CostStatus::bad_arguments);
}

TEST_CASE("normalizations of nothing") {
    const std::string no_channels = "[[8,0],[8,0],[0],[8,4],[0],[]]";
    CHECK(batch_bwd(no_channels, R"("True")", native_batch_bwd).reason == "there are no channels");
    CHECK(group_bwd(no_channels).reason == "there are no channels");
    CHECK(rms_bwd(no_channels, R"("[0]")", R"("[True, True]")").reason == "the normalized shape is empty");
    CHECK(norm(&rms_norm, "[[8,0],[],[0]]", R"(["","[0]"])").reason == "the normalized shape is empty");
    check_cost(norm(&layer_norm, "[[0,16],[],[16],[16]]", R"(["","[16]"])", full), 0, 2 * 16 * 4);
    const std::string no_rows = "[[0,16],[0,16],[],[0,1],[0,1],[16],[16],[]]";
    check_cost(
        norm(&layer_norm_backward, no_rows, R"(["","","[16]","","","","","[True, True, True]"])", full), 0,
        3 * 16 * 4);
}

TEST_CASE("normalizations take anything without crashing") {
    std::vector<CostModel> models = forward_models;
    models.insert(models.end(), backward_models.begin(), backward_models.end());
    for (const CostModel model : models) {
        for (const std::string_view dims :
             {"", "null", "7", "[]", "[7,7,7,7,7,7]", "[[-4,8],[-4,-8],[],[],[],[]]",
              "[[9223372036854775807,9223372036854775807,3],[-9223372036854775808,1,0],[],[],[],[]]"}) {
            for (const std::string_view concrete :
                 {"", "[]", "[1,2,3,4,5,6,7,8,9,10]", R"([{},[[]],[0],[],[],[true,false],0,[1],0,[null]])",
                  R"(["","[-1]","[0]","","","[True, x]","-4","[False,,]","-9223372036854775808","[1]"])"}) {
                for (const CostRules rules : {reference, full})
                    CHECK(norm(model, dims, concrete, rules).status != CostStatus::unsupported);
            }
        }
    }
}

TEST_CASE("normalizations grow with each dimension and with the type") {
    const auto batch_of = [](std::string_view dims, std::string_view type) {
        const std::string all = types(type, 6);
        return cost_of(&batch_norm, {.dims = dims, .types = all, .concrete = R"(["","","","","","True"])"});
    };
    const Cost small = batch_of("[[8,16,4],[16],[16]]", "c10::Half");
    for (const std::string_view dims :
         {"[[9,16,4],[16],[16]]", "[[8,17,4],[17],[17]]", "[[8,16,5],[16],[16]]"}) {
        const Cost large = batch_of(dims, "c10::Half");
        CHECK(large.flops > small.flops);
        CHECK(*large.bytes > *small.bytes);
    }
    CHECK(*batch_of("[[8,16,4],[16],[16]]", "float").bytes == 2 * *small.bytes);
}

TEST_CASE("a normalization's gradients cost more than it does") {
    for (const CostRules rules : {reference, full}) {
        const Cost forward = layer(rules);
        const Cost backward = layer_bwd(R"("[True, True, True]")", rules);
        CHECK(backward.flops > forward.flops);
        CHECK(*backward.bytes > *forward.bytes);
    }
}

TEST_CASE("normalization formulas work from sizes alone") {
    const NormSize size{elements, 16, 16, true, true, true};
    static_assert(norm_flops(NormSize{4, 2, 2, false, false, false}) == 20);
    CHECK(norm_flops(size) == 655456);
    CHECK(norm_bytes(size, 4) == 1048960);
    CHECK(norm_backward_flops(size, true) == 1179648);
    CHECK(norm_backward_bytes(size, true, 4) == 1573120);
    CHECK(norm_backward_flops({}, true) == 0);
    CHECK(rms_norm_flops({elements, 1024, 0, true, false, false}) == 524544);
    CHECK(rms_norm_flops({}) == 0);
    CHECK(fused_ln_modulate_flops({256, 40, 3072}) == 377487360);
}

TEST_CASE("softmax") {
    CHECK(softmax_flops(4, 8) == 96);
    CHECK(softmax_bytes(4, 8, 2) == 128);
    CHECK(softmax_backward_flops(4, 8) == 192);
    CHECK(softmax_backward_bytes(4, 8, 2) == 256);
}

TEST_CASE("normalizations by name") {
    CHECK(normalization_models.size() == 41);
    CHECK(normalization_models.front().name == "aten::batch_norm");
    CHECK(normalization_models.back().name == "primus::fused_ln_modulate_backward");
}
