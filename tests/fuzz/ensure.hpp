// How the fuzz functions say that something is wrong.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace fuzz {

/// What the library promises does not hold. A fuzzer never catches it, so the program aborts where it was
/// thrown; the test that replays crash files reports it and goes on with the next file.
struct BrokenPromise : std::logic_error {
    using std::logic_error::logic_error;
};

inline void ensure(bool holds, const char* promise) {
    if (!holds) throw BrokenPromise(promise);
}

}  // namespace fuzz
