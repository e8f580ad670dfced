/// What all readers understand.
#pragma once

#include <cstddef>

#include <tracelens/core/progress.hpp>
#include <tracelens/model/trace.hpp>

namespace tracelens {

struct ReadOptions {
    Timestamps timestamps = Timestamps::exact;
    unsigned threads = 0;       ///< workers, the calling thread included; 0: one a hardware thread
    ProgressCallback progress;  ///< called about once a window, in stored bytes

    std::size_t window_bytes = std::size_t{1} << 19;  ///< text parsed at a time by one worker
    std::size_t max_event_bytes = std::size_t{1}
                                  << 30;  ///< longer stretches without an event boundary are given up
};

}  // namespace tracelens
