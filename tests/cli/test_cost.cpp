// `tracelens cost`, models of the user's own, and the example of a model in C++.
#include <algorithm>
#include <fstream>

#include <nlohmann/json.hpp>

#include <tracelens/perf/registry.hpp>

#include "support.hpp"

using nlohmann::json;
using support::driver;
using support::quoted;

namespace {

const std::string platforms = std::string(TRACELENS_SOURCE_DIR) + "/agents/platforms/";

constexpr const char* recipe = "cost gemm --M 40960 --N 6144 --K 1536 --dtype bf16";

void write_text(const support::fs::path& path, std::string_view text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
}

json priced(const std::string& arguments) {
    const support::CommandResult result = driver("cost --json " + arguments);
    CHECK_MESSAGE(result.exit_code == 0, arguments << ": " << result.err);
    return result.exit_code == 0 ? json::parse(result.out) : json();
}

/// What a wrong use prints on stderr.
std::string refused(const std::string& arguments) {
    const support::CommandResult result = driver("cost " + arguments);
    CHECK_MESSAGE(result.exit_code == 2, arguments);
    CHECK_MESSAGE(result.out.empty(), arguments);
    return result.err;
}

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

constexpr std::string_view models = R"({
    "aten::silu_backward": {
        "category": "my_gradients", "unit": "vector", "dtype": 0,
        "flops": "7 * n0", "bytes": "3 * n0 * b0", "params": ["n0"]
    },
    "my_lib::fused_swiglu": {
        "category": "my_fused", "unit": "vector", "dims": {"T": [0, 0], "W": "d0_1 // 2"}, "dtype": 0,
        "flops": "6 * T * W", "bytes": "n0 * b0 + T * W * b0",
        "backward_category": "my_fused_bwd", "backward_flops": "11 * T * W", "backward_bytes": "2 * n0 * b0"
    }
})";

/// A trace of one op that launches one kernel of 10 us.
constexpr std::string_view trace_of_one_op = R"({"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "my_lib::fused_swiglu", "pid": 1, "tid": 1, "ts": 0, "dur": 20,
 "args": {"External id": 1, "Input Dims": [[4096, 8192]], "Input type": ["c10::BFloat16"],
          "Input Strides": [[8192, 1]], "Concrete Inputs": [""]}},
{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 1, "tid": 1, "ts": 5, "dur": 5,
 "args": {"External id": 1, "correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "swiglu_kernel", "pid": 0, "tid": 3, "ts": 30, "dur": 40,
 "args": {"External id": 1, "correlation": 7, "device": 0, "stream": 3}}
]})";

}  // namespace

TEST_CASE("cost: the documented recipe (spec 03, section 3.17.1)") {
    const support::CommandResult text = driver(std::string(recipe) + " --platform MI300X");
    CHECK(text.exit_code == 0);
    CHECK(text.err.empty());
    for (const char* line :
         {"gemm (GEMM)\n", "  FLOPs           773094113280\n", "  bytes           648019968\n",
          "  intensity       1193.01 FLOPs/byte\n", "  compute spec    matrix_bf16\n",
          "M=40960  N=6144  K=1536", "  roofline time   1091.94 us (compute 1091.94 us, memory 122.268 us)\n",
          "  bound           COMPUTE_BOUND\n", "  knee            133.585 FLOPs/byte\n"}) {
        CHECK_MESSAGE(has(text.out, line), text.out);
    }
    const support::CommandResult as_json = driver(std::string(recipe) + " --platform mi300x --json");
    const json cost = json::parse(as_json.out);
    CHECK(cost.at("flops").is_number_integer());
    CHECK(cost.at("flops") == 773094113280);
    CHECK(cost.at("bytes") == 648019968);
    CHECK(cost.at("flops_per_byte").get<double>() == doctest::Approx(1193.01).epsilon(1e-5));
    CHECK(cost.at("knee_flops_per_byte").get<double>() == doctest::Approx(133.58).epsilon(1e-4));
    CHECK(cost.at("roofline_time_us").get<double>() == doctest::Approx(1091.94).epsilon(1e-5));
    CHECK(cost.at("roofline_bound") == "COMPUTE_BOUND");
    CHECK(cost.at("platform") == "MI300X");
    CHECK(cost.at("params") == json{{"B", 1}, {"M", 40960}, {"N", 6144}, {"K", 1536}, {"bias", false}});
}

TEST_CASE("cost: worked examples of real traces (spec 03, section 3.19)") {
    struct Case {
        const char* arguments;
        double gflops;
        double mib;
        const char* spec;
        double roofline_us;
        const char* bound;
    };
    const Case cases[] = {
        {R"(aten::mm --dims "[[8944,1024],[1024,2816]]" --dtype bf16)", 51.581550592, 71.0078125,
         "matrix_bf16", 72.85529744632768, "COMPUTE_BOUND"},
        {R"(mm --dims "[[10,1000],[1000,512]]" --dtype c10::BFloat16)", 0.01024, 1.005401611328125,
         "matrix_bf16", 0.19891320754716982, "MEMORY_BOUND"},
        {R"(_scaled_dot_product_flash_attention --dims "[[16,16,559,64],[16,16,559,64],[16,16,559,64],[],[]]"
            --dtype bf16 --concrete '["","","","0.","True"]')",
         10.239377408, 69.875, "matrix_bf16", 14.462397468926554, "COMPUTE_BOUND"},
        {R"(convolution --dims "[[4,3,224,224],[768,3,16,16],[768],[],[],[],[],[],[]]" --dtype bf16
            --concrete '["","","","[16, 16]","[0, 0]","[1, 1]","False","[0, 0]","1"]')",
         0.924844032, 3.421875, "matrix_bf16", 1.3062768813559322, "COMPUTE_BOUND"},
        {R"(mul --dims "[[16,559,1024],[16,559,1]]" --dtype float)", 0.009158656, 69.90911865234375,
         "vector_fp32", 13.831136603773585, "MEMORY_BOUND"},
        {R"(copy_ --dims "[[16,559,1024],[16,559,1024],[]]" --dtype '["fp32","bf16","Scalar"]')", 0.009158656,
         52.40625, "vector_fp32", 10.368289811320754, "MEMORY_BOUND"},
        {R"(mean --dims "[[16,559,1024],[],[],[]]" --dtype float --concrete '["","[-1]","False",""]')",
         0.009158656, 34.937503814697266, "vector_fp32", 6.912193962264151, "MEMORY_BOUND"},
        {R"(layer_norm --dims "[[4,197,768],[],[768],[768],[],[]]" --dtype bf16
            --concrete '["","[768]","","","1e-12","True"]')",
         0.003030528, 2.3173828125, "vector_bf16", 0.45848150943396226, "MEMORY_BOUND"},
        {R"(convolution_backward --dims "[[10,64,56,56],[10,64,56,56],[64,64,3,3],[],[],[],[],[],[],[],[]]"
            --dtype bf16 --concrete '["","","","[0]","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1",
            "[True, True, False]"]')",
         4.62422016, 15.453125, "matrix_bf16", 6.531384406779661, "COMPUTE_BOUND"},
    };
    for (const Case& each : cases) {
        std::string arguments = each.arguments;
        std::replace(arguments.begin(), arguments.end(), '\n', ' ');
        CAPTURE(arguments);
        const json cost = priced(arguments + " --platform MI300X --compat reference");
        CHECK(cost.at("flops").get<double>() / 1e9 == each.gflops);
        CHECK(cost.at("bytes").get<double>() / 1048576 == each.mib);
        CHECK(cost.at("compute_spec") == each.spec);
        CHECK(cost.at("roofline_time_us").get<double>() == doctest::Approx(each.roofline_us).epsilon(1e-12));
        CHECK(cost.at("roofline_bound") == each.bound);
    }
}

TEST_CASE("cost: strides are contiguous unless given") {
    const std::string mm = R"(mm --dims "[[8,16],[16,32]]" --dtype bf16)";
    CHECK(priced(mm).at("params").at("stride_A") == json{16, 1});
    CHECK(priced(mm + R"( --strides "[[1,8],[32,1]]")").at("params").at("stride_A") == json{1, 8});
    CHECK(has(driver("cost " + mm).out, "stride_A=[16,1]"));
    CHECK(has(driver("cost " + mm + " --compat reference").out, "stride_A=(16, 1)"));
    const json huge = priced(R"(mm --dims "[[4000000000,4000000000],[4000000000,4000000000]]" --dtype bf16)");
    CHECK(huge.at("flops").get<double>() == 2 * 4e9 * 4e9 * 4e9);
}

TEST_CASE("cost: gemm and sdpa from sizes") {
    const json plain = priced("gemm --M 8 --N 32 --K 16 --dtype fp32");
    const json batched = priced("gemm --M 8 --N 32 --K 16 --B 3 --dtype fp32");
    CHECK(plain.at("flops") == 2 * 8 * 32 * 16);
    CHECK(plain.at("bytes") == 4 * (8 * 16 + 16 * 32 + 8 * 32));
    CHECK(batched.at("flops") == 3 * plain.at("flops").get<int>());
    CHECK(batched.at("bytes") == 3 * plain.at("bytes").get<int>());
    CHECK_FALSE(plain.contains("roofline_time_us"));
    CHECK(priced("gemm --M 8 --N 32 --K 16 --bias --dtype fp32").at("flops") == 8192 + 8 * 32);
    CHECK(priced("gemm --M 8 --N 32 --K 16 --dtype fp32 --backward").at("flops") == 2 * 8192);
    CHECK(priced("--op gemm --M 8 --N 32 --K 16 --dtype int8").at("compute_spec") == "matrix_int8");

    const std::string sizes = "sdpa --B 2 --H_Q 8 --N_Q 64 --N_KV 64 --d_h 32 --dtype bf16";
    const json sdpa = priced(sizes);
    CHECK(sdpa.at("flops") == 4 * 2 * 8 * 64 * 64 * 32);
    CHECK(sdpa.at("bytes") == 2 * 4 * 2 * 8 * 64 * 32);
    CHECK(sdpa.at("category") == "SDPA_fwd");
    CHECK(sdpa.at("params").at("H_KV") == 8);
    CHECK(priced(sizes + " --causal").at("flops") == 2 * 2 * 8 * 64 * 64 * 32);
    CHECK(priced(sizes + " --H-KV 2").at("bytes") == 2 * 2 * 2 * (8 + 2) * 64 * 32);
    CHECK(priced("sdpa --H-Q 8 --N-Q 64 --N-KV 64 --d-h 32 --dtype int8").at("bytes") == 4 * 8 * 64 * 32);
    const json backward = priced(sizes + " --backward");
    CHECK(backward.at("flops") == 10 * 2 * 8 * 64 * 64 * 32);
    CHECK(backward.at("category") == "SDPA_bwd");
    CHECK(backward.at("pass") == "backward");
}

TEST_CASE("cost: what is not known is said, and null in JSON") {
    const std::string mm = R"(mm --dims "[[8,16],[16,32]]" --dtype )";
    const std::string mxfp4 = driver("cost " + mm + "mxfp4 --platform MI300X").out;
    CHECK(has(mxfp4, "  bytes           not known"));
    CHECK(has(mxfp4, "  roofline time   not known without the bytes"));
    CHECK(has(driver("cost " + mm + "fp4 --platform MI300X").out, "MI300X lists no peak for matrix_fp4"));
    CHECK(has(driver("cost " + mm + "int64 --platform MI300X").out, "not known for this type"));
    const json unknown = priced(mm + "mxfp4 --platform MI300X");
    for (const char* key :
         {"bytes", "flops_per_byte", "roofline_time_us", "roofline_bound", "memory_time_us"})
        CHECK_MESSAGE(unknown.at(key).is_null(), key);
    // Without arithmetic memory is the limit; the reference has no figure for that.
    const std::string dispatch =
        R"(MoEDispatch --dims "[[1024,4096],[1024,8]]" --dtype bf16 --platform MI300X)";
    CHECK(priced(dispatch).at("roofline_bound") == "MEMORY_BOUND");
    CHECK(priced(dispatch + " --compat reference").at("roofline_bound").is_null());
}

TEST_CASE("cost: --list names every model") {
    const support::CommandResult text = driver("cost --list");
    CHECK(text.exit_code == 0);
    const auto lines = static_cast<std::size_t>(std::count(text.out.begin(), text.out.end(), '\n'));
    CHECK(lines == tracelens::ModelRegistry().size());
    CHECK(has(text.out, "GEMM                    aten::mm\n"));
    const json list = json::parse(driver("cost --list --json").out);
    CHECK(list.size() == lines);
    CHECK(list.front() ==
          json{{"op", "aten::mm"}, {"category", "GEMM"}, {"backward_category", ""}, {"sheet", "GEMM"}});
    for (const json& row : list) CHECK(!row.at("category").get<std::string>().empty());
}

TEST_CASE("cost: --help shows examples that work") {
    const support::CommandResult help = driver("cost --help");
    CHECK(help.exit_code == 0);
    CHECK(help.err.empty());
    std::size_t at = 0;
    int examples = 0;
    while ((at = help.out.find("\n  tracelens cost ", at)) != std::string::npos) {
        at += 3;
        std::size_t end = help.out.find('\n', at);
        while (help.out[end - 1] == '\\') end = help.out.find('\n', end + 1);
        const std::string command = help.out.substr(at + 9, end - at - 9);
        ++examples;
        if (!has(command, "models.json")) CHECK_MESSAGE(driver(command).exit_code == 0, command);
    }
    CHECK(examples == 5);

    // The file of models there, too.
    const support::TemporaryFolder folder;
    const std::string file = quoted((folder.path() / "models.json").string());
    const std::size_t begin = help.out.find("\n  {");
    const std::size_t end = help.out.find("}}\n", begin);
    REQUIRE(end != std::string::npos);
    write_text(folder.path() / "models.json", help.out.substr(begin, end + 2 - begin));
    CHECK(priced("swiglu --dims '[[8,64]]' --dtype bf16 --extension_file " + file).at("flops") == 6 * 8 * 32);
}

TEST_CASE("cost: wrong usage ends with 2 and says what to do") {
    struct Case {
        const char* arguments;
        const char* says;
    };
    for (const Case& each : {
             Case{"", "name an op, such as aten::mm, gemm or sdpa; --list names all"},
             Case{"nonsense", "there is no model of \"nonsense\"; `tracelens cost --list` names all"},
             Case{"layernorm", "there is no model of \"layernorm\""},
             Case{"layer_nor", "similar are aten::layer_norm, "},
             Case{"grouped_gemm", "is ambiguous; give one of primus_turbo::grouped_gemm, primus_turbo_cpp"},
             Case{"mm", "aten::mm needs --dims"},
             Case{"mm --dims '[[8,16],[16,32]]'", "aten::mm needs --dtype, such as bf16"},
             Case{"mm --dims '[[8,16],[16,32]]' --dtype bf17", "\"bf17\" is no type; give a precision"},
             Case{"mm --dims '[[8,16],[16,32]]' --dtype '[\"bf16\",5]'", "is no type"},
             Case{"mm --dims '[[8,16],[16,32]' --dtype bf16", "--dims is no JSON list"},
             Case{"mm --dims '8x16' --dtype bf16", "--dims is no JSON list; give one element an argument"},
             Case{"mm --dims '[8,16]' --dtype bf16", "--dims: argument 0 is no list of whole numbers"},
             Case{"mm --dims '[[8,16],[16,-2]]' --dtype bf16", "--dims: argument 1 is no list of whole"},
             Case{"mm --dims '[[8,16],[1.5]]' --dtype bf16", "--dims: argument 1 is no list of whole"},
             Case{"mm --dims '[[8,16]]' --dtype bf16", "cannot be priced: Input Dims has no element 1"},
             Case{"mm --dims '[[8],[16]]' --dtype bf16",
                  "aten::mm cannot be priced: a shape of 1 dimensions"},
             Case{"mm --dims '[[8,16],[16,32]]' --dtype bf16 --strides 5", "--strides is no JSON list"},
             Case{"mm --dims '[[8,16],[16,32]]' --dtype bf16 --concrete x", "--concrete is no JSON list"},
             Case{"mm --dims '[[8,16],[16,32]]' --dtype bf16 --M 8", "give aten::mm its shapes with --dims"},
             Case{"mm --dims '[[8,16],[16,32]]' --dtype bf16 --backward", "cannot be priced: gradients of a"},
             Case{"mm --dims '[[8,16],[16,32]]' --dtype bf16 --platform MI999", "no such platform - known"},
             Case{"mm --dims '[[8,16],[16,32]]' --dtype bf16 --platform ./none.json", "./none.json: "},
             Case{"gemm --M 8 --N 8 --dtype bf16", "gemm needs --M, --N and --K"},
             Case{"gemm --M 8 --N 8 --K 8", "gemm needs --dtype"},
             Case{"gemm --M 8 --N 8 --K 8 --dtype bf16 --causal", "gemm takes --M, --N, --K, --B and --bias"},
             Case{"gemm --dims '[[8]]' --dtype bf16", "gemm takes sizes, not --dims"},
             Case{"gemm --M 0 --N 8 --K 8 --dtype bf16", "--M"},
             Case{"gemm --M x --N 8 --K 8 --dtype bf16", "--M"},
             Case{"gemm --M 1.5 --N 8 --K 8 --dtype bf16", "--M"},
             Case{"sdpa --H_Q 8 --N_Q 8 --dtype bf16", "sdpa needs --H-Q, --N-Q, --N-KV and --d-h"},
             Case{"sdpa --H_Q 8 --N_Q 8 --N_KV 8 --d_h 8 --dtype bf16 --K 1", "sdpa takes --B"},
             Case{"sdpa --H_Q 8 --H_KV 3 --N_Q 8 --N_KV 8 --d_h 8 --dtype bf16", "a multiple of --H-KV"},
             Case{"sdpa --H_Q 8 --N_Q 9 --N_KV 8 --d_h 8 --dtype bf16 --causal", "at least as many keys"},
             Case{"sdpa --H_Q 8 --N_Q 4 --N_KV 8 --d_h 8 --dtype bf16 --causal --compat reference",
                  "as many keys as queries under --compat reference"},
             Case{"mm --nonsense", "--nonsense"},
             Case{"mm --compat sometimes", "--compat"},
             Case{"mm --extension-file none.json", "none.json: "},
             Case{"mm --extension-file my_models.py", "JSON files of formulas, not Python"},
         }) {
        CAPTURE(each.arguments);
        const std::string err = refused(each.arguments);
        CHECK_MESSAGE(has(err, each.says), err);
    }
}

TEST_CASE("--extension-file: models of the user's own, from a file") {
    const support::TemporaryFolder folder;
    const std::string file = quoted((folder.path() / "models.json").string());
    write_text(folder.path() / "models.json", models);
    const std::string swiglu =
        "fused_swiglu --dims '[[8,64]]' --dtype bf16 --platform MI300X --extension-file " + file;
    const json cost = priced(swiglu);
    CHECK(cost.at("op") == "my_lib::fused_swiglu");
    CHECK(cost.at("category") == "my_fused");
    CHECK(cost.at("flops") == 6 * 8 * 32);
    CHECK(cost.at("bytes") == 2 * (8 * 64 + 8 * 32));
    CHECK(cost.at("params") == json{{"T", 8}, {"W", 32}});
    CHECK(cost.at("roofline_bound") == "MEMORY_BOUND");
    CHECK(priced(swiglu + " --backward").at("category") == "my_fused_bwd");
    CHECK(priced(swiglu + " --backward").at("flops") == 11 * 8 * 32);
    CHECK(has(driver("cost --list --extension_file " + file).out,
              "my_fused                my_lib::fused_swiglu"));

    write_text(folder.path() / "broken.json", R"({"x::y": {"category": "a", "unit": "vector", "dtype": 0,
                                                   "flops": "2 * (3", "bytes": "0"}})");
    const std::string broken = (folder.path() / "broken.json").string();
    const std::string message =
        broken + ": op \"x::y\", \"flops\": 2 * (3: a closing bracket is missing, of the one at character 5";
    CHECK(has(refused("--list --extension-file " + quoted(broken)), message));
    const support::CommandResult report =
        driver("report none.json --csv " + quoted((folder.path() / "csv").string()) + " --extension-file " +
               quoted(broken));
    CHECK(report.exit_code == 2);
    CHECK(has(report.err, message));
    CHECK(!support::fs::exists(folder.path() / "csv"));
}

TEST_CASE("--extension-file: report prices the user's ops of a generated trace") {
    const support::TemporaryFolder folder;
    const std::string trace = quoted((folder.path() / "trace.json").string());
    write_text(folder.path() / "models.json", models);
    REQUIRE(driver("synth -q --layers 2 -o " + trace).exit_code == 0);
    const auto tables = [&](const std::string& options) {
        const support::fs::path file = folder.path() / "tables.json";
        CHECK(driver("report -q " + trace + " --json " + quoted(file.string()) + options).exit_code == 0);
        return json::parse(support::read_text(file));
    };
    const auto rows_of = [](const json& table, std::string_view op) {
        json rows = json::array();
        for (const json& row : table) {
            if (row.at("name") == op) rows.push_back(row);
        }
        return rows;
    };
    const auto elements_of = [](const json& row, const char* column) {
        double elements = 1;
        for (const json& dim : row.at(column).at(0)) elements *= dim.get<double>();
        return elements;
    };
    const json plain = tables("");
    const json extended = tables(" --extension_file " + quoted((folder.path() / "models.json").string()));
    CHECK(!plain.contains("my_gradients_fwd"));
    const json before = rows_of(plain.at("unified_perf_summary"), "aten::silu_backward");
    const json after = rows_of(extended.at("unified_perf_summary"), "aten::silu_backward");
    REQUIRE(!after.empty());
    CHECK(before.size() == after.size());
    for (const json& row : before) CHECK(row.at("has_perf_model") == false);
    for (const json& row : after) {
        CHECK(row.at("has_perf_model") == true);
        CHECK(row.at("op category") == "my_gradients");
        CHECK(row.at("GFLOPS").get<double>() == doctest::Approx(7 * elements_of(row, "Input Dims") / 1e9));
        CHECK(row.at("Compute Spec") == "vector_bf16");
    }
    const json sheet = rows_of(extended.at("my_gradients_fwd"), "aten::silu_backward");
    REQUIRE(!sheet.empty());
    for (const json& row : sheet) CHECK(row.at("param: n0") == elements_of(row, "Input Dims_first"));
    CHECK(rows_of(plain.at("unified_perf_summary"), "aten::mm") ==
          rows_of(extended.at("unified_perf_summary"), "aten::mm"));
}

TEST_CASE("the example of a model in C++ prices a trace with it") {
    const support::TemporaryFolder folder;
    const std::string trace = (folder.path() / "trace.json").string();
    write_text(trace, trace_of_one_op);
    const std::string program = quoted(TRACELENS_CUSTOM_MODEL);
    const std::string platform = quoted(platforms + "MI300X.json");
    // 3 * 4096 * 4096 * 2 bytes at 5300 GB/s are 18.99 us of the kernel's 40.
    const support::CommandResult one = support::run(program + " " + quoted(trace) + " " + platform);
    CHECK(one.exit_code == 0);
    CHECK(one.out == "  47.5 %  my_lib::fused_swiglu\n");
    const std::string training = std::string(TRACELENS_SOURCE_DIR) + "/examples/data/training_mi300x.json.gz";
    const support::CommandResult all = support::run(program + " " + quoted(training) + " " + platform);
    CHECK(all.exit_code == 0);
    CHECK(has(all.out, " %  aten::mm\n"));
    CHECK(support::run(program).exit_code == 2);
    CHECK(support::run(program + " " + quoted(trace) + " none.json").exit_code == 2);
    CHECK(support::run(program + " none.json " + platform).exit_code == 3);

    const std::string source =
        support::read_text(std::string(TRACELENS_SOURCE_DIR) + "/examples/custom_model/custom_model.cpp");
    CHECK(std::count(source.begin(), source.end(), '\n') < 60);
}
