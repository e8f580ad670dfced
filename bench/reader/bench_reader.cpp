// The reader beside the bare simdjson pass, on the same generated files in one run: speed with one and two
// threads as ratios, and peak memory against the text. Each measurement runs in a process of its own, the two
// sides in turns.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tracelens/read/open.hpp>

#include "reader/baseline.hpp"
#include "synth/synth.hpp"

namespace {

struct Measurement {
    double seconds = 0;
    double peak_bytes = 0;
};

/// Runs `work` in a child and returns its time and its peak memory. The child repeats the work once, so that
/// the timed pass finds the file cached and the processor warm.
Measurement measure(const std::function<void()>& work) {
    int ends[2];
    if (pipe(ends) != 0) std::exit(1);
    const pid_t child = fork();
    if (child == 0) {
        Measurement result;
        for (int pass = 0; pass < 2; ++pass) {
            const auto begin = std::chrono::steady_clock::now();
            work();
            result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        }
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        result.peak_bytes = 1024.0 * static_cast<double>(usage.ru_maxrss);
        const bool sent = write(ends[1], &result, sizeof result) == sizeof result;
        _exit(sent ? 0 : 1);
    }
    Measurement result;
    close(ends[1]);
    const bool received = read(ends[0], &result, sizeof result) == sizeof result;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (!received || status != 0) {
        std::fprintf(stderr, "a measured process failed\n");
        std::exit(1);
    }
    return result;
}

void read_trace(const std::string& path, unsigned threads) {
    tracelens::ReadOptions options;
    options.threads = threads;
    const tracelens::Result<tracelens::Trace> trace = tracelens::try_read_trace(path, options);
    if (!trace || trace->size() == 0 || !trace->diagnostics.empty()) std::_Exit(1);
}

Measurement best(const std::vector<Measurement>& runs) {
    return *std::min_element(runs.begin(), runs.end(), [](const Measurement& a, const Measurement& b) {
        return a.seconds < b.seconds;
    });
}

void compare(const std::string& path, const char* style, int rounds) {
    const double bytes = static_cast<double>(std::filesystem::file_size(path));
    std::vector<Measurement> baseline;
    std::vector<Measurement> one;
    std::vector<Measurement> two;
    const double idle_bytes = measure([] {}).peak_bytes;
    for (int round = 0; round < rounds; ++round) {
        baseline.push_back(measure([&] { tracelens::bench::baseline_pass(path); }));
        one.push_back(measure([&] { read_trace(path, 1); }));
        two.push_back(measure([&] { read_trace(path, 2); }));
    }
    const auto rate = [&](const Measurement& run) { return bytes / run.seconds / 1e6; };
    std::printf(
        "%-8s %4.0f MB   baseline %5.0f MB/s   reader %5.0f MB/s (%.2f of it)   two threads %5.0f MB/s (%.2f "
        "times one)   "
        "peak memory %.2f of the text\n",
        style, bytes / 1e6, rate(best(baseline)), rate(best(one)), rate(best(one)) / rate(best(baseline)),
        rate(best(two)), rate(best(two)) / rate(best(one)), (best(one).peak_bytes - idle_bytes) / bytes);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t megabytes = 200;
    int rounds = 5;
    const auto number = [](const char* text, auto& value) {
        const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
        return error == std::errc{} && *end == '\0' && value > 0;
    };
    if (argc > 3 || (argc > 1 && !number(argv[1], megabytes)) || (argc > 2 && !number(argv[2], rounds))) {
        std::fprintf(stderr, "usage: bench_reader [MEGABYTES [ROUNDS]]   (default 200 5)\n");
        return 2;
    }
    for (const bool compact : {false, true}) {
        const std::string path = (std::filesystem::temp_directory_path() /
                                  ("tracelens-bench-" + std::to_string(getpid()) + ".json"))
                                     .string();
        tracelens::synth::Options options;
        options.target_bytes = megabytes * 1'000'000;
        options.style = compact ? tracelens::synth::JsonStyle::compact : tracelens::synth::JsonStyle::pretty;
        options.collectives = true;
        tracelens::synth::write_file(options, path);
        compare(path, compact ? "compact" : "pretty", rounds);
        std::filesystem::remove(path);
    }
}
