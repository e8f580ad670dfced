#include <tracelens/core/string_pool.hpp>

// Interned strings: ids, look-ups, growth, and views that outlive everything but the pool.
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace tracelens;

namespace {

/// Texts of all lengths from 0 to 40, many of which differ in one byte only.
std::string nth_text(int n) {
    std::string text = std::to_string(n);
    text.insert(0, static_cast<std::size_t>(n % 35), 'k');
    return text;
}

}  // namespace

TEST_CASE("a new pool holds the empty string as id 0") {
    StringPool pool;
    CHECK(pool.size() == 1);
    CHECK(pool[StringId::empty] == "");
    CHECK(pool.intern("") == StringId::empty);
    CHECK(pool.intern(std::string_view{}) == StringId::empty);
    CHECK(pool.size() == 1);
    StringId id{99};
    CHECK(pool.find("", id));
    CHECK(id == StringId::empty);
}

TEST_CASE("equal text has one id, other text another") {
    StringPool pool;
    const StringId gemm = pool.intern("gemm");
    const StringId relu = pool.intern("relu");
    CHECK(gemm != relu);
    CHECK(gemm != StringId::empty);
    CHECK(pool.intern(std::string("ge") + "mm") == gemm);
    CHECK(pool.size() == 3);
    CHECK(to_index(gemm) == 1);
    CHECK(to_index(relu) == 2);
    CHECK(pool[gemm] == "gemm");
    CHECK(pool[relu] == "relu");
}

TEST_CASE("the text is copied and may hold any byte") {
    StringPool pool;
    std::string text("a\0b\xff", 4);
    const StringId id = pool.intern(text);
    const StringId shorter = pool.intern(std::string_view("a\0b", 3));
    text[0] = 'x';
    CHECK(pool[id] == std::string_view("a\0b\xff", 4));
    CHECK(pool[shorter] == std::string_view("a\0b", 3));
    CHECK(pool.intern("a") != shorter);
}

TEST_CASE("find does not add") {
    StringPool pool;
    StringId id{7};
    CHECK_FALSE(pool.find("absent", id));
    CHECK(pool.size() == 1);
    const StringId added = pool.intern("absent");
    CHECK(pool.find("absent", id));
    CHECK(id == added);
    CHECK_FALSE(pool.find("absen", id));
    CHECK_FALSE(pool.find("absent ", id));
}

TEST_CASE("intern_hashed agrees with intern, and hash with hash_bytes") {
    StringPool pool;
    const std::string_view text = "void cutlass::Kernel<int>(int)";
    const StringId id = pool.intern_hashed(text, hash_bytes(text));
    CHECK(pool.intern(text) == id);
    CHECK(pool.hash(id) == hash_bytes(text));
    CHECK(pool.hash(StringId::empty) == hash_bytes(""));
}

TEST_CASE("different texts with one hash are told apart") {
    StringPool pool;
    const StringId a = pool.intern_hashed("first", 5);
    const StringId b = pool.intern_hashed("second", 5);
    CHECK(a != b);
    CHECK(pool[a] == "first");
    CHECK(pool[b] == "second");
    CHECK(pool.intern_hashed("first", 5) == a);
    CHECK(pool.intern_hashed("second", 5) == b);
}

TEST_CASE("long strings, of the size of a storage block and around it") {
    StringPool pool;
    const std::size_t sizes[] = {16383, 16384, 16385, 65535, 65536, 65537, 1 << 20};
    std::vector<StringId> ids;
    for (const std::size_t size : sizes) {
        ids.push_back(pool.intern(std::string(size, 'x')));
        ids.push_back(pool.intern("short " + std::to_string(size)));
    }
    std::size_t at = 0;
    for (const std::size_t size : sizes) {
        CHECK(pool[ids[at++]] == std::string(size, 'x'));
        CHECK(pool[ids[at++]] == "short " + std::to_string(size));
    }
    CHECK(pool.memory_bytes() >= (std::size_t{1} << 20));
}

TEST_CASE("a hundred thousand strings keep their ids and their views") {
    constexpr int count = 100'000;
    StringPool pool;
    std::vector<std::string_view> views;
    int wrong = 0;
    for (int n = 0; n < count; ++n) {
        const StringId id = pool.intern(nth_text(n));
        wrong += to_index(id) != static_cast<std::uint32_t>(n + 1);
        views.push_back(pool[id]);
    }
    CHECK(wrong == 0);
    CHECK(pool.size() == count + 1);
    for (int n = 0; n < count; ++n) {
        const std::string text = nth_text(n);
        const auto expected = StringId{static_cast<std::uint32_t>(n + 1)};
        StringId id{};
        wrong += !pool.find(text, id) || id != expected;
        wrong += pool.intern(text) != expected;
        wrong += views[static_cast<std::size_t>(n)] != text;  // views do not move when the pool grows
    }
    CHECK(wrong == 0);
    CHECK(pool.size() == count + 1);
}

TEST_CASE("moving the pool keeps views valid") {
    StringPool pool;
    std::vector<std::string_view> views;
    for (int n = 0; n < 5000; ++n) views.push_back(pool[pool.intern(nth_text(n))]);
    const char* const first_byte = views[10].data();

    StringPool moved = std::move(pool);
    StringPool assigned;
    assigned.intern("something else");
    assigned = std::move(moved);

    CHECK(views[10].data() == first_byte);
    CHECK(assigned.size() == 5001);
    int wrong = 0;
    for (int n = 0; n < 5000; ++n) {
        const auto id = StringId{static_cast<std::uint32_t>(n + 1)};
        wrong += views[static_cast<std::size_t>(n)] != nth_text(n);
        wrong += assigned[id].data() != views[static_cast<std::size_t>(n)].data();
        wrong += assigned.intern(nth_text(n)) != id;
    }
    CHECK(wrong == 0);
    CHECK(to_index(assigned.intern("new after the move")) == 5001);
}
