#include <tracelens/core/chunked.hpp>

// Growing columns: access across block borders, truncation and reuse.
#include <cstddef>
#include <cstdint>
#include <utility>

#include <doctest/doctest.h>

using namespace tracelens;

namespace {

using Numbers = ChunkedColumn<std::uint32_t>;

Numbers filled(std::size_t count) {
    Numbers column;
    for (std::size_t i = 0; i < count; ++i) column.push_back(static_cast<std::uint32_t>(i * 3));
    return column;
}

std::size_t count_wrong(const Numbers& column) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < column.size(); ++i) wrong += column[i] != i * 3;
    return wrong;
}

}  // namespace

TEST_CASE("a column knows its size and elements around block borders") {
    const std::size_t block = Numbers::block_size;
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, block - 1, block, block + 1, 3 * block + 7}) {
        const Numbers column = filled(count);
        CAPTURE(count);
        CHECK(column.size() == count);
        CHECK(count_wrong(column) == 0);
    }
}

TEST_CASE("appending moves nothing") {
    Numbers column = filled(1);
    const std::uint32_t* const first = &column[0];
    for (std::size_t i = 1; i < 5 * Numbers::block_size; ++i)
        column.push_back(static_cast<std::uint32_t>(i * 3));
    CHECK(&column[0] == first);
    CHECK(count_wrong(column) == 0);
}

TEST_CASE("elements can be changed in place") {
    Numbers column = filled(Numbers::block_size + 2);
    column[Numbers::block_size] = 1;
    CHECK(std::as_const(column)[Numbers::block_size] == 1);
    CHECK(column[Numbers::block_size - 1] == (Numbers::block_size - 1) * 3);
    CHECK(column[Numbers::block_size + 1] == (Numbers::block_size + 1) * 3);
}

TEST_CASE("truncate forgets the end, and appending goes on there") {
    const std::size_t block = Numbers::block_size;
    for (const std::size_t kept : {std::size_t{0}, std::size_t{5}, block - 1, block, block + 1, 2 * block}) {
        Numbers column = filled(2 * block + 10);
        column.truncate(kept);
        CAPTURE(kept);
        CHECK(column.size() == kept);
        for (std::size_t i = kept; i < 3 * block + 1; ++i)
            column.push_back(static_cast<std::uint32_t>(i * 3));
        CHECK(column.size() == 3 * block + 1);
        CHECK(count_wrong(column) == 0);
    }
}

TEST_CASE("truncate to a larger size changes nothing") {
    Numbers column = filled(10);
    column.truncate(10);
    CHECK(column.size() == 10);
    column.truncate(1000);
    CHECK(column.size() == 10);
    CHECK(count_wrong(column) == 0);
}

TEST_CASE("release empties the column, which can be filled again") {
    Numbers column = filled(2 * Numbers::block_size);
    column.release();
    CHECK(column.size() == 0);
    for (std::uint32_t i = 0; i < 100; ++i) column.push_back(i * 3);
    CHECK(column.size() == 100);
    CHECK(count_wrong(column) == 0);
}

TEST_CASE("a moved column keeps its elements") {
    Numbers column = filled(Numbers::block_size + 1);
    const std::uint32_t* const last = &column[Numbers::block_size];
    const Numbers moved = std::move(column);
    CHECK(moved.size() == Numbers::block_size + 1);
    CHECK(&moved[Numbers::block_size] == last);
    CHECK(count_wrong(moved) == 0);
}

TEST_CASE("any trivially copyable element type") {
    struct Pair {
        std::int64_t time;
        char tag;
    };
    ChunkedColumn<Pair> column;
    for (int i = 0; i < 40'000; ++i) column.push_back({i, static_cast<char>(i % 100)});
    int wrong = 0;
    for (int i = 0; i < 40'000; ++i) {
        const Pair& pair = column[static_cast<std::size_t>(i)];
        wrong += pair.time != i || pair.tag != i % 100;
    }
    CHECK(wrong == 0);
}
