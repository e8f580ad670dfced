/// How long work tells its caller where it is.
#pragma once

#include <cstdint>
#include <functional>

namespace tracelens {

struct Progress {
    const char* phase = "";   ///< static text such as "reading"
    std::uint64_t done = 0;   ///< in the unit of `total`
    std::uint64_t total = 0;  ///< 0 when unknown
};

/// Called now and then from inside a long call, never from two threads at once. May be empty.
using ProgressCallback = std::function<void(const Progress&)>;

}  // namespace tracelens
