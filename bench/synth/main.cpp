// tracelens-synth: writes a synthetic trace to a file.
#include <charconv>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include "synth.hpp"

namespace {

using tracelens::synth::JsonStyle;
using tracelens::synth::Options;
using tracelens::synth::Summary;
using tracelens::synth::Vendor;
using tracelens::synth::WorkloadKind;

constexpr const char* usage_text =
    "usage: tracelens-synth --out FILE [options]\n"
    "\n"
    "Writes a deterministic, realistic PyTorch profiler trace.\n"
    "\n"
    "  --out FILE                      where to write; a name ending in .gz implies --gzip\n"
    "  --vendor amd|nvidia             default amd\n"
    "  --workload training|inference   default training\n"
    "  --bytes SIZE                    steps are chosen to come near this size of text: 200M, 4G, 65536 "
    "(powers of ten)\n"
    "  --steps N                       profiled steps, default 2\n"
    "  --seed N                        default 1\n"
    "  --layers N                      decoder layers, default 12\n"
    "  --stack-depth N                 deepest nesting of python frames, default 28; 0 for none\n"
    "  --collectives                   collectives on a second stream\n"
    "  --world-size N, --rank N        of the process group, default 8 and 0\n"
    "  --no-copies                     no memcpys and memsets\n"
    "  --no-memory-events              no allocator instants\n"
    "  --compact                       no whitespace\n"
    "  --gzip                          compress\n"
    "  --summary                       print counts and kernel totals\n"
    "  --help                          this text\n";

struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Request {
    Options options;
    std::string path;
    bool wants_summary = false;
    bool wants_help = false;
};

template <class Number>
Number parse_number(std::string_view option, std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        throw UsageError(std::string(option) + " wants a whole number, not '" + std::string(text) + "'");
    return value;
}

std::uint64_t parse_size(std::string_view option, std::string_view text) {
    std::uint64_t unit = 1;
    const auto last = text.empty() ? ' ' : text.back();
    if (last == 'k' || last == 'K') unit = 1'000;
    if (last == 'm' || last == 'M') unit = 1'000'000;
    if (last == 'g' || last == 'G') unit = 1'000'000'000;
    const auto count =
        parse_number<std::uint64_t>(option, unit == 1 ? text : text.substr(0, text.size() - 1));
    if (count == 0 || count > 100'000'000'000'000U / unit)
        throw UsageError(std::string(option) + " must be between 1 and 100000G");
    return count * unit;
}

bool choose(std::string_view option, std::string_view text, std::string_view first, std::string_view second) {
    if (text == first) return true;
    if (text == second) return false;
    throw UsageError(std::string(option) + " is either " + std::string(first) + " or " + std::string(second) +
                     ", not '" + std::string(text) + "'");
}

Request parse(int count, char** arguments) {
    Request request;
    Options& options = request.options;
    bool has_steps = false;
    for (int i = 1; i < count; ++i) {
        const std::string_view option = arguments[i];
        const auto value = [&]() -> std::string_view {
            if (i + 1 >= count) throw UsageError(std::string(option) + " wants a value");
            return arguments[++i];
        };
        if (option == "--help" || option == "-h")
            request.wants_help = true;
        else if (option == "--out")
            request.path = value();
        else if (option == "--vendor")
            options.vendor = choose(option, value(), "amd", "nvidia") ? Vendor::amd : Vendor::nvidia;
        else if (option == "--workload")
            options.workload = choose(option, value(), "training", "inference") ? WorkloadKind::training
                                                                                : WorkloadKind::inference;
        else if (option == "--bytes")
            options.target_bytes = parse_size(option, value());
        else if (option == "--steps")
            options.steps = parse_number<std::uint64_t>(option, value()), has_steps = true;
        else if (option == "--seed")
            options.seed = parse_number<std::uint64_t>(option, value());
        else if (option == "--layers")
            options.layers = parse_number<int>(option, value());
        else if (option == "--stack-depth")
            options.python_depth = parse_number<int>(option, value());
        else if (option == "--collectives")
            options.collectives = true;
        else if (option == "--world-size")
            options.world_size = parse_number<int>(option, value());
        else if (option == "--rank")
            options.rank = parse_number<int>(option, value());
        else if (option == "--no-copies")
            options.copies = false;
        else if (option == "--no-memory-events")
            options.memory_events = false;
        else if (option == "--compact")
            options.style = JsonStyle::compact;
        else if (option == "--gzip")
            options.gzip = true;
        else if (option == "--summary")
            request.wants_summary = true;
        else
            throw UsageError("unknown option '" + std::string(option) + "'");
    }
    if (request.wants_help) return request;
    if (request.path.empty()) throw UsageError("--out is missing");
    if (has_steps && options.target_bytes > 0) throw UsageError("--steps and --bytes exclude each other");
    if (has_steps && options.steps == 0) throw UsageError("--steps must be at least 1");
    if (request.path.ends_with(".gz")) options.gzip = true;
    return request;
}

void print(const Summary& summary) {
    std::printf(
        "%llu events, %llu bytes of text, %llu steps\n", static_cast<unsigned long long>(summary.events),
        static_cast<unsigned long long>(summary.bytes), static_cast<unsigned long long>(summary.steps));
    for (const auto& kind : summary.kinds)
        std::printf("%10llu  %5.1f%%  %s\n", static_cast<unsigned long long>(kind.count),
                    100.0 * static_cast<double>(kind.count) / static_cast<double>(summary.events),
                    kind.kind.c_str());
    for (const auto& kernel : summary.kernels)
        std::printf("%10llu  %12.3f us  %.120s\n", static_cast<unsigned long long>(kernel.count),
                    static_cast<double>(kernel.total_ns) / 1000.0, kernel.name.c_str());
}

}  // namespace

int main(int count, char** arguments) {
    try {
        const Request request = parse(count, arguments);
        if (request.wants_help) {
            std::fputs(usage_text, stdout);
            return 0;
        }
        const Summary summary = tracelens::synth::write_file(request.options, request.path);
        if (request.wants_summary) print(summary);
        return 0;
    } catch (const UsageError& error) {
        std::fprintf(stderr, "tracelens-synth: %s\n%s", error.what(), "try 'tracelens-synth --help'\n");
        return 2;
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "tracelens-synth: %s\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "tracelens-synth: %s\n", error.what());
        return 1;
    }
}
