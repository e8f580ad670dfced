// Writes the inputs that the fuzzers start from: a few linked events of generated traces and of the field
// cases, gzip files of several shapes, JSON values.
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>
#include <zlib.h>

#include "synth/synth.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using tracelens::synth::JsonStyle;
using tracelens::synth::Options;
using tracelens::synth::Vendor;
using tracelens::synth::WorkloadKind;

void write(const fs::path& path, std::string_view bytes) {
    fs::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file) throw std::runtime_error("cannot write " + path.string());
}

std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
}

std::string text_of(const json& event, const char* key) {
    const auto found = event.find(key);
    return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

double number_of(const json& event, const char* key) {
    const auto found = event.find(key);
    return found != event.end() && found->is_number() ? found->get<double>() : 0;
}

/// The number that ties a launch, its GPU work and its flow together; nothing for other events.
json link_of(const json& event) {
    const auto args = event.find("args");
    if (args != event.end() && args->is_object() && args->contains("correlation"))
        return (*args)["correlation"];
    return event.value("cat", "") == "ac2g" ? event.value("id", json()) : json();
}

/// The first GPU events of different sorts with their launches and flows, the calls around those, and the
/// first event of every other sort; in the file's order.
json few_events(const json& events) {
    constexpr std::size_t most_launches = 2;
    std::set<json> links;
    std::set<std::string> seen;
    for (const json& event : events) {
        const std::string category = text_of(event, "cat");
        if (category != "kernel" && category != "gpu_memcpy" && category != "gpu_memset") continue;
        const bool is_new = seen.insert(category + text_of(event, "name").substr(0, 4)).second;
        if (is_new && links.size() < most_launches) links.insert(link_of(event));
    }
    links.erase(json());
    std::set<std::size_t> kept;
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (links.count(link_of(events[i])) != 0) kept.insert(i);
    }
    for (const std::size_t call : std::set<std::size_t>(kept)) {
        std::map<std::string, std::size_t> innermost;
        for (std::size_t i = 0; i < events.size(); ++i) {
            const double start = number_of(events[i], "ts");
            const double at = number_of(events[call], "ts");
            const bool around = start <= at && at < start + number_of(events[i], "dur");
            if (around && text_of(events[i], "ph") == "X") innermost[text_of(events[i], "cat")] = i;
        }
        for (const auto& [category, i] : innermost) kept.insert(i);
    }
    seen.clear();
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (seen.insert(text_of(events[i], "ph") + text_of(events[i], "cat")).second) kept.insert(i);
    }
    json few = json::array();
    for (const std::size_t i : kept) few.push_back(events[i]);
    return few;
}

/// A small file like `trace`; `indent` as in json::dump.
std::string small_trace(const json& trace, int indent) {
    if (trace.is_array()) return few_events(trace).dump(indent);
    json small = json::object();
    for (const auto& [key, value] : trace.items()) {
        if (key != "traceEvents" && value.dump().size() < 200) small[key] = value;
    }
    if (trace.contains("deviceProperties") && !trace["deviceProperties"].empty())
        small["deviceProperties"] = json::array({trace["deviceProperties"].front()});
    if (trace.contains("traceEvents")) small["traceEvents"] = few_events(trace["traceEvents"]);
    return small.dump(indent);
}

/// Damaged files cannot be taken apart: their beginning and their end.
std::string head_and_tail(const std::string& text) {
    constexpr std::size_t head = 3000;
    constexpr std::size_t tail = 1000;
    if (text.size() <= head + tail) return text;
    return text.substr(0, head) + text.substr(text.size() - tail);
}

std::string gzip(std::string_view text, int level) {
    std::string out(compressBound(static_cast<uLong>(text.size())) + 64, '\0');
    z_stream stream{};
    constexpr int gzip_format = 15 + 16;
    if (deflateInit2(&stream, level, Z_DEFLATED, gzip_format, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::runtime_error("zlib could not be initialised");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

std::vector<std::string> generated_traces() {
    std::vector<std::string> traces;
    for (const Vendor vendor : {Vendor::amd, Vendor::nvidia}) {
        for (const WorkloadKind workload : {WorkloadKind::training, WorkloadKind::inference}) {
            Options options;
            options.vendor = vendor;
            options.workload = workload;
            options.steps = 1;
            options.layers = 1;
            options.python_depth = 3;
            options.collectives = true;
            options.style = JsonStyle::compact;
            std::string text;
            tracelens::synth::generate(options, [&](std::string_view piece) { text += piece; });
            traces.push_back(small_trace(json::parse(text), vendor == Vendor::amd ? 0 : -1));
        }
    }
    return traces;
}

void make_gzip_seeds(const fs::path& folder, std::string_view text) {
    const std::string part = gzip(text.substr(0, 1500), 6);
    const std::string stored = gzip(text.substr(0, 300), 0);
    std::string wrong_sum = part;
    wrong_sum[wrong_sum.size() - 6] ^= 1;
    std::string wrong_length = part;
    wrong_length.back() ^= 1;
    write(folder / "one.gz", part);
    write(folder / "stored.gz", stored);
    write(folder / "fast.gz", gzip(text.substr(0, 4000), 1));
    write(folder / "empty.gz", gzip("", 6));
    write(folder / "two-members.gz", part + stored);
    write(folder / "wrong-sum.gz", wrong_sum + stored);
    write(folder / "wrong-length.gz", wrong_length + stored);
    write(folder / "torn.gz", part.substr(0, part.size() / 2));
    write(folder / "torn-trailer.gz", part.substr(0, part.size() - 3));
    write(folder / "padded.gz", part + std::string(100, '\0'));
    write(folder / "zeros.gz", gzip(std::string(20000, '\0'), 9));
}

void make_json_seeds(const fs::path& folder, const json& trace) {
    std::size_t count = 0;
    for (const json& event : trace["traceEvents"]) {
        if (event.contains("args"))
            write(folder / ("args-" + std::to_string(count++)), event["args"].dump(2));
    }
    write(folder / "numbers",
          "0 -0 +1 01 1.5 -2.5e-3 1e308 1e-400 9223372036854775807 9223372036854775.8075 inf NaN");
    write(folder / "long-numbers", "0." + std::string(330, '0') + "1e5 1" + std::string(330, '0') + "e-5");
    write(folder / "strings", R"(["\u00e9\ud83d\ude00\ud83d\n\\ \" \/","é😀"," "])");
}

void make_field_case_seeds(const fs::path& folder, const fs::path& cases) {
    for (const fs::directory_entry& entry : fs::directory_iterator(cases)) {
        const std::string name = entry.path().filename().string();
        if (const fs::path packed = entry.path() / "trace.json.gz"; fs::exists(packed)) {
            write(folder / "gzip" / name, head_and_tail(read(packed)));
            continue;
        }
        const std::string text = read(entry.path() / "trace.json");
        const json trace = json::parse(text, nullptr, false);
        write(folder / "reader" / name, trace.is_discarded() ? head_and_tail(text) : small_trace(trace, -1));
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2 && argc != 3) {
        std::fprintf(stderr,
                     "usage: fuzz_seeds FOLDER [FIELD_CASES]   (writes FOLDER/reader, /gzip and /json)\n");
        return 2;
    }
    try {
        const fs::path folder = argv[1];
        const std::vector<std::string> traces = generated_traces();
        for (std::size_t i = 0; i < traces.size(); ++i)
            write(folder / "reader" / ("generated-" + std::to_string(i)), traces[i]);
        write(folder / "reader" / "smallest", R"({"traceEvents":[{"ph":"X","ts":1,"dur":1}]})");
        make_gzip_seeds(folder / "gzip", traces.front());
        make_json_seeds(folder / "json", json::parse(traces.front()));
        if (argc == 3) make_field_case_seeds(folder, argv[2]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "fuzz_seeds: %s\n", error.what());
        return 1;
    }
    return 0;
}
