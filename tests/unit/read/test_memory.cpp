// Memory while reading: windows and columns, never the whole text (read/kineto.hpp). Counts every allocation
// of the test program.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <malloc.h>

#include "read_support.hpp"

namespace {

std::atomic<std::size_t> live_bytes{0};
std::atomic<std::size_t> peak_bytes{0};

void* counted_new(std::size_t size) noexcept {
    void* const memory = std::malloc(size == 0 ? 1 : size);
    if (memory == nullptr) return nullptr;
    const std::size_t live = live_bytes.fetch_add(malloc_usable_size(memory)) + malloc_usable_size(memory);
    std::size_t peak = peak_bytes.load();
    while (live > peak && !peak_bytes.compare_exchange_weak(peak, live)) {}
    return memory;
}

void* counted_new_or_throw(std::size_t size) {
    void* const memory = counted_new(size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

void counted_delete(void* memory) noexcept {
    if (memory != nullptr) live_bytes.fetch_sub(malloc_usable_size(memory));
    std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
    return counted_new_or_throw(size);
}
void* operator new[](std::size_t size) {
    return counted_new_or_throw(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return counted_new(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return counted_new(size);
}
void operator delete(void* memory) noexcept {
    counted_delete(memory);
}
void operator delete[](void* memory) noexcept {
    counted_delete(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    counted_delete(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    counted_delete(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
    counted_delete(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
    counted_delete(memory);
}

using namespace tracelens;
using namespace tracelens::read_test;

namespace {

struct Use {
    std::size_t peak = 0;  ///< bytes while reading, beyond what was there before
    std::size_t kept = 0;  ///< bytes of the finished trace
    std::size_t events = 0;
};

Use memory_use(std::string_view text, unsigned threads) {
    ReadOptions options = one_thread(std::size_t{1} << 18);
    options.threads = threads;
    const std::size_t before = live_bytes.load();
    peak_bytes = before;
    Use use;
    {
        const Result<Trace> trace = try_read(text, options);
        REQUIRE(trace.ok());
        use.events = rows(*trace);
        use.kept = live_bytes.load() - before;
    }
    use.peak = peak_bytes.load() - before;
    CHECK(live_bytes.load() == before);
    return use;
}

}  // namespace

TEST_CASE("memory: reading holds windows and columns, not the text") {
    synth::Options options = small_options(synth::Vendor::amd, synth::JsonStyle::pretty);
    options.target_bytes = std::size_t{8} << 20;
    const std::string large = generated(options);
    options.target_bytes = std::size_t{2} << 20;
    const std::string small = generated(options);
    REQUIRE(large.size() > 3 * small.size());
    for (const unsigned threads : {1U, 2U}) {
        CAPTURE(threads);
        const Use few = memory_use(small, threads);
        const Use many = memory_use(large, threads);
        CAPTURE(few.peak);
        CAPTURE(many.peak);
        CAPTURE(many.kept);
        CAPTURE(many.events);
        // What grows are columns: those of the builders and those of the trace.
        CHECK(many.peak < few.peak + (large.size() - small.size()) * 3 / 4);
        CHECK(many.kept < large.size() / 2);
    }
}

TEST_CASE("memory: an endless text without an event boundary is given up") {
    class Endless final : public ByteSource {
      public:
        std::size_t read(char* to, std::size_t size) override {
            static constexpr std::string_view head = R"({"traceEvents": [{"ph": "X", "args": {"x": ")";
            if (given != 0) {
                std::memset(to, 'x', size);
            } else {
                size = head.copy(to, size);
            }
            given += size;
            return given > (std::size_t{64} << 20) ? 0 : size;
        }
        std::uint64_t stored_position() const noexcept override { return given; }
        std::uint64_t stored_size() const noexcept override { return 0; }
        std::uint64_t given = 0;
    };
    ReadOptions options = one_thread(std::size_t{1} << 16);
    options.max_event_bytes = std::size_t{4} << 20;
    const std::size_t before = live_bytes.load();
    peak_bytes = before;
    const Result<Trace> trace = try_read_kineto(std::make_unique<Endless>(), "endless", options);
    CHECK(peak_bytes.load() - before < std::size_t{40} << 20);
    REQUIRE(trace.ok());
    CHECK(trace->size() == 0);
    CHECK(trace->diagnostics.worst() >= Verdict::degraded);
}
