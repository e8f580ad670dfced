// What a user waits for: `tracelens report` as a process of its own, over generated traces of growing size.
// Prints its speed, its peak memory against the text, and how its time grows with the text; with --reference,
// the same for another command, and the ratios.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "synth/synth.hpp"

namespace {

namespace fs = std::filesystem;

constexpr const char* usage_text =
    "usage: bench_end_to_end [MEGABYTES...] [--rounds N] [--driver FILE] [--reference COMMAND]\n"
    "\n"
    "  MEGABYTES            sizes of the generated traces (default 50 200 1000 4000)\n"
    "  --rounds N           runs of the driver a size, of which the fastest counts (default 3)\n"
    "  --driver FILE        the driver (default: the one built beside this program)\n"
    "  --reference COMMAND  run once a size with the trace's path appended, in the trace's folder, such as\n"
    "                       'TraceLens_generate_perf_report_pytorch --profile_json_path'\n";

struct Request {
    std::vector<std::uint64_t> megabytes;
    int rounds = 3;
    std::string driver = TRACELENS_DRIVER;
    std::optional<std::string> reference;
};

template <class Number>
Number positive(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value <= 0)
        throw std::invalid_argument("not a positive whole number: " + std::string(text));
    return value;
}

Request parse(int argc, char** argv) {
    Request request;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        const auto value = [&] {
            if (++i == argc) throw std::invalid_argument(std::string(argument) + " wants a value");
            return std::string_view(argv[i]);
        };
        if (argument == "--rounds") {
            request.rounds = positive<int>(value());
        } else if (argument == "--driver") {
            request.driver = value();
        } else if (argument == "--reference") {
            request.reference = value();
        } else {
            request.megabytes.push_back(positive<std::uint64_t>(argument));
        }
    }
    if (request.megabytes.empty()) request.megabytes = {50, 200, 1000, 4000};
    return request;
}

/// A folder that disappears with the object.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string pattern = (fs::temp_directory_path() / "tracelens-bench-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
        path_ = pattern;
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    const fs::path& path() const { return path_; }

  private:
    fs::path path_;
};

struct Measurement {
    double seconds = 0;      ///< on the clock
    double cpu_seconds = 0;  ///< of all cores; less upset by what else the machine does
    double peak_bytes = 0;
};

/// Runs `work` in a child, whose peak memory counts from what this program holds itself, so that must stay
/// little.
Measurement measure(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    const pid_t child = fork();
    if (child == 0) {
        work();
        _exit(127);
    }
    int status = 0;
    rusage usage{};
    if (child < 0 || wait4(child, &status, 0, &usage) != child)
        throw std::runtime_error("cannot run a process");
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    if (status != 0) throw std::runtime_error("a measured process failed");
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return {elapsed.count(), seconds(usage.ru_utime) + seconds(usage.ru_stime),
            1024.0 * static_cast<double>(usage.ru_maxrss)};
}

/// Becomes the command. Its output is of no interest; its complaints are.
void become(const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
    arguments.push_back(nullptr);
    const int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    execvp(arguments.front(), arguments.data());
    std::fprintf(stderr, "cannot run %s: %s\n", arguments.front(), std::strerror(errno));
}

Measurement fastest(int rounds, const std::function<void()>& work) {
    Measurement best = measure(work);
    for (int round = 1; round < rounds; ++round) {
        const Measurement next = measure(work);
        best.seconds = std::min(best.seconds, next.seconds);
        best.cpu_seconds = std::min(best.cpu_seconds, next.cpu_seconds);
        best.peak_bytes = std::max(best.peak_bytes, next.peak_bytes);
    }
    return best;
}

struct Row {
    double bytes = 0;
    Measurement own;
    std::optional<Measurement> reference;
};

Row measure_size(const Request& request, std::uint64_t megabytes) {
    const TemporaryFolder folder;
    const std::string trace = folder.path() / "trace.json";
    // In a process of its own, whose memory does not count for the measured ones.
    measure([&] {
        tracelens::synth::Options options;
        options.target_bytes = megabytes * 1'000'000;
        options.collectives = true;
        tracelens::synth::write_file(options, trace);
        _exit(0);
    });
    Row row;
    row.bytes = static_cast<double>(fs::file_size(trace));
    row.own = fastest(request.rounds, [&] {
        become({request.driver, "report", trace, "--csv", folder.path() / "tables", "--enable_kernel_summary",
                "--short_kernel_study", "-q"});
    });
    if (request.reference) {
        row.reference = measure([&] {
            fs::current_path(folder.path());
            become({"/bin/sh", "-c", "exec " + *request.reference + " '" + trace + "'"});
        });
    }
    return row;
}

/// The slope of a straight line through the logarithms, by least squares.
double growth_exponent(const std::vector<Row>& rows, const std::function<double(const Row&)>& seconds) {
    double x_sum = 0;
    double y_sum = 0;
    double xx_sum = 0;
    double xy_sum = 0;
    const auto n = static_cast<double>(rows.size());
    for (const Row& row : rows) {
        const double x = std::log(row.bytes);
        const double y = std::log(seconds(row));
        x_sum += x;
        y_sum += y;
        xx_sum += x * x;
        xy_sum += x * y;
    }
    return (n * xy_sum - x_sum * y_sum) / (n * xx_sum - x_sum * x_sum);
}

void print_heading(bool with_reference) {
    constexpr const char* columns = "   seconds     MB/s    CPU s  memory/text";
    std::printf("%8s%s", "MB", columns);
    if (with_reference) std::printf(" | reference:%s  times time  times memory", columns);
    std::printf("\n");
    std::fflush(stdout);
}

void print(const Row& row) {
    const auto columns = [&](const Measurement& run) {
        std::printf("%10.2f %8.0f %8.2f %12.2f", run.seconds, row.bytes / run.seconds / 1e6, run.cpu_seconds,
                    run.peak_bytes / row.bytes);
    };
    std::printf("%8.0f", row.bytes / 1e6);
    columns(row.own);
    if (row.reference) {
        std::printf(" |           ");
        columns(*row.reference);
        std::printf("%12.1f %13.1f", row.reference->seconds / row.own.seconds,
                    row.reference->peak_bytes / row.own.peak_bytes);
    }
    std::printf("\n");
    std::fflush(stdout);
}

void run(const Request& request) {
    print_heading(request.reference.has_value());
    std::vector<Row> rows;
    for (const std::uint64_t megabytes : request.megabytes) {
        rows.push_back(measure_size(request, megabytes));
        print(rows.back());
    }
    if (rows.size() < 2) return;
    const auto print_growth = [&](const char* whose, const std::function<Measurement(const Row&)>& of) {
        std::printf("%stime grows as size to the power of %.2f, CPU time to %.2f\n", whose,
                    growth_exponent(rows, [&](const Row& row) { return of(row).seconds; }),
                    growth_exponent(rows, [&](const Row& row) { return of(row).cpu_seconds; }));
    };
    print_growth("", [](const Row& row) { return row.own; });
    if (request.reference) print_growth("the reference's ", [](const Row& row) { return *row.reference; });
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run(parse(argc, argv));
        return 0;
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "%s\n%s", error.what(), usage_text);
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_end_to_end: %s\n", error.what());
        return 1;
    }
}
