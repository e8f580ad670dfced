#include <tracelens/core/parallel.hpp>

// Loops over workers: coverage of all indices, thread counts, and exceptions.
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace tracelens;

namespace {

struct Range {
    std::size_t begin;
    std::size_t end;
    std::thread::id thread;
};

std::vector<Range> ranges_of(std::size_t count, std::size_t grain, unsigned threads) {
    std::mutex guard;
    std::vector<Range> ranges;
    parallel_for(count, grain, threads, [&](std::size_t begin, std::size_t end) {
        const std::lock_guard<std::mutex> lock(guard);
        ranges.push_back({begin, end, std::this_thread::get_id()});
    });
    return ranges;
}

}  // namespace

TEST_CASE("resolve_threads") {
    CHECK(resolve_threads(1) == 1);
    CHECK(resolve_threads(7) == 7);
    CHECK(resolve_threads(0) >= 1);
}

TEST_CASE("parallel_for covers each index once, whatever the count, grain and thread number") {
    for (const std::size_t count : {0U, 1U, 2U, 3U, 7U, 8U, 63U, 64U, 65U, 1000U}) {
        for (const std::size_t grain : {0U, 1U, 3U, 64U, 5000U}) {
            for (const unsigned threads : {0U, 1U, 2U, 3U, 8U}) {
                CAPTURE(count);
                CAPTURE(grain);
                CAPTURE(threads);
                std::vector<int> visits(count, 0);  // ranges are disjoint, so no two threads share an element
                parallel_for(count, grain, threads, [&](std::size_t begin, std::size_t end) {
                    for (std::size_t i = begin; i < end; ++i) ++visits[i];
                });
                CHECK(visits == std::vector<int>(count, 1));
            }
        }
    }
}

TEST_CASE("parallel_for uses at most the asked threads, and no empty ranges") {
    for (const unsigned threads : {1U, 2U, 5U}) {
        std::set<std::thread::id> ids;
        for (const Range& range : ranges_of(1000, 1, threads)) {
            CHECK(range.begin < range.end);
            ids.insert(range.thread);
        }
        CHECK(ids.size() <= threads);
    }
    CHECK(ranges_of(0, 1, 4).empty());
}

TEST_CASE("a loop no longer than its grain stays whole, on the calling thread") {
    for (const std::size_t count : {1U, 99U, 100U}) {
        const std::vector<Range> ranges = ranges_of(count, 100, 8);
        REQUIRE(ranges.size() == 1);
        CHECK(ranges[0].begin == 0);
        CHECK(ranges[0].end == count);
        CHECK(ranges[0].thread == std::this_thread::get_id());
    }
}

TEST_CASE("run_workers calls each worker once, worker 0 on the calling thread") {
    for (const unsigned workers : {1U, 2U, 3U, 8U}) {
        std::vector<std::atomic<int>> calls(workers);
        std::vector<std::thread::id> ids(workers);
        run_workers(workers, [&](unsigned worker) {
            ++calls[worker];
            ids[worker] = std::this_thread::get_id();
        });
        CAPTURE(workers);
        for (const std::atomic<int>& each : calls) CHECK(each.load() == 1);
        CHECK(ids[0] == std::this_thread::get_id());
        CHECK(std::set<std::thread::id>(ids.begin(), ids.end()).size() == workers);
    }
}

TEST_CASE("workers run at the same time") {
    std::atomic<int> arrived{0};
    run_workers(3, [&](unsigned) {
        ++arrived;
        while (arrived.load() < 3)
            std::this_thread::yield();  // never ends when workers run one after the other
    });
    CHECK(arrived.load() == 3);
}

TEST_CASE("an exception reaches the caller after all workers are done") {
    for (const unsigned thrower : {0U, 1U, 3U}) {
        std::atomic<int> finished{0};
        std::string caught;
        try {
            run_workers(4, [&](unsigned worker) {
                if (worker == thrower) throw std::runtime_error("worker failed");
                std::this_thread::yield();
                ++finished;
            });
        } catch (const std::runtime_error& error) {
            caught = error.what();
        }
        CAPTURE(thrower);
        CHECK(caught == "worker failed");
        CHECK(finished.load() == 3);
    }
}

TEST_CASE("exactly one of several exceptions is rethrown, on one worker too") {
    CHECK_THROWS_AS(run_workers(4, [](unsigned worker) { throw std::out_of_range(std::to_string(worker)); }),
                    std::out_of_range);
    CHECK_THROWS_AS(run_workers(1, [](unsigned) { throw std::out_of_range("alone"); }), std::out_of_range);
    CHECK_THROWS_AS(parallel_for(100, 1, 4,
                                 [](std::size_t begin, std::size_t) {
                                     if (begin > 0) throw std::length_error("late range");
                                 }),
                    std::length_error);
}

TEST_CASE("loops nest and follow one another") {
    std::atomic<int> total{0};
    for (int round = 0; round < 20; ++round) {
        parallel_for(4, 1, 2, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                parallel_for(10, 1, 2,
                             [&](std::size_t b, std::size_t e) { total += static_cast<int>(e - b); });
            }
        });
    }
    CHECK(total.load() == 20 * 4 * 10);
}
