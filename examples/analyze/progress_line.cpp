#include "progress_line.hpp"

#include <chrono>
#include <cstdio>

#include <unistd.h>

namespace driver {

tracelens::ProgressCallback progress_line(bool quiet) {
    if (quiet || isatty(STDERR_FILENO) == 0) return {};
    const auto begin = std::chrono::steady_clock::now();
    auto last = begin;
    return [begin, last](const tracelens::Progress& progress) mutable {
        const auto now = std::chrono::steady_clock::now();
        // Short work stays silent; long work updates a few times a second.
        if (now - begin < std::chrono::milliseconds(300) || now - last < std::chrono::milliseconds(100))
            return;
        last = now;
        const double percent = progress.total == 0 ? 0
                                                   : 100.0 * static_cast<double>(progress.done) /
                                                         static_cast<double>(progress.total);
        std::fprintf(stderr, "\r\033[K%s %3.0f%%", progress.phase, percent);
        std::fflush(stderr);
    };
}

void clear_progress_line(const tracelens::ProgressCallback& progress) {
    if (!progress) return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
}

}  // namespace driver
