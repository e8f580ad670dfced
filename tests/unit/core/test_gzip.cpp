#include <tracelens/core/file.hpp>

// Gzip input: members, torn tails at every cut, wrong checksums, and what may follow the data.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "unit/core/file_support.hpp"

using namespace tracelens;
using namespace std::string_literals;

#if TRACELENS_WITH_ZLIB

#include <zlib.h>

namespace {

/// One gzip member; `header` adds optional fields.
std::string gzip_member(std::string_view text, int level = 6, gz_header* header = nullptr) {
    z_stream stream{};
    REQUIRE(deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    if (header != nullptr) REQUIRE(deflateSetHeader(&stream, header) == Z_OK);
    std::string input(text);
    std::string out(deflateBound(&stream, static_cast<uLong>(text.size())) + 1000, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(input.data());
    stream.avail_in = static_cast<uInt>(input.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

/// All bytes that zlib can decode from the beginning of one member, in one call.
std::string decodable(std::string_view member) {
    z_stream stream{};
    REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
    std::string input(member);
    std::string out(1 << 16, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(input.data());
    stream.avail_in = static_cast<uInt>(input.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    inflate(&stream, Z_NO_FLUSH);
    out.resize(stream.total_out);
    inflateEnd(&stream);
    return out;
}

struct Unpacked {
    std::string data;
    std::string damage;
    bool torn = false;
    std::uint64_t trailing = 0;
    std::uint64_t stored_position = 0;
};

Unpacked unpack(std::unique_ptr<ByteSource> compressed, std::size_t step) {
    Result<std::unique_ptr<ByteSource>> result = gunzip_source(std::move(compressed));
    REQUIRE(result.ok());
    ByteSource& source = **result;
    Unpacked unpacked;
    unpacked.data = read_all(source, step);
    unpacked.damage = source.damage();
    unpacked.torn = source.torn();
    unpacked.trailing = source.trailing_bytes();
    unpacked.stored_position = source.stored_position();
    return unpacked;
}

Unpacked unpack(std::string_view bytes, std::size_t step = 65536) {
    return unpack(memory_source(bytes), step);
}

void check_intact(const Unpacked& unpacked, std::string_view expected) {
    CHECK((unpacked.data == expected));
    CHECK(unpacked.damage.empty());
    CHECK_FALSE(unpacked.torn);
    CHECK(unpacked.trailing == 0);
}

/// Hands out one to three bytes a call, as a pipe may.
class DribblingSource final : public ByteSource {
  public:
    explicit DribblingSource(std::string_view bytes) : bytes_(bytes) {}
    std::size_t read(char* to, std::size_t size) override {
        const std::size_t taken = std::min({size, bytes_.size() - at_, 1 + at_ % 3});
        bytes_.copy(to, taken, at_);
        at_ += taken;
        return taken;
    }
    std::uint64_t stored_position() const noexcept override { return at_; }
    std::uint64_t stored_size() const noexcept override { return bytes_.size(); }

  private:
    std::string_view bytes_;
    std::size_t at_ = 0;
};

/// Text like that of a trace: compressible, without long runs.
std::string trace_text(std::size_t size) {
    std::mt19937 random(1);
    std::string text = "{\"traceEvents\":[\n";
    while (text.size() < size) {
        text += R"({"ph":"X","cat":"kernel","name":"k)" + std::to_string(random() % 50) + R"(","ts":)" +
                std::to_string(random()) + "},\n";
    }
    text.resize(size);
    return text;
}

std::string random_bytes(std::size_t size) {
    std::mt19937 random(2);
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
}

}  // namespace

TEST_CASE("one member, read in steps of any size") {
    for (const std::string& text : {""s, "x"s, "a\0b"s, trace_text(5000), std::string(100'000, '\0')}) {
        for (const int level : {0, 1, 9}) {
            const std::string gzip = gzip_member(text, level);
            for (const std::size_t step : {1U, 7U, 4096U, 1U << 20}) {
                if (step == 1 && text.size() > 10'000) continue;
                const Unpacked unpacked = unpack(gzip, step);
                check_intact(unpacked, text);
                CHECK(unpacked.stored_position == gzip.size());
            }
        }
    }
}

TEST_CASE("several members, empty ones among them, are one stream") {
    const std::string empty = gzip_member("");
    const std::string first = trace_text(3000);
    check_intact(unpack(gzip_member(first) + gzip_member("second") + gzip_member("third")),
                 first + "secondthird");
    check_intact(unpack(empty + gzip_member("a") + empty + empty + gzip_member("b") + empty), "ab");
    check_intact(unpack(empty + empty), "");
    std::string many;
    std::string expected;
    for (int i = 0; i < 500; ++i) {
        many += gzip_member(std::to_string(i));
        expected += std::to_string(i);
    }
    for (const std::size_t step : {1U, 5U, 65536U}) check_intact(unpack(many, step), expected);
}

TEST_CASE("input that arrives in small pieces, and input larger than any buffer") {
    const std::string two = gzip_member(trace_text(2000)) + gzip_member("end");
    check_intact(unpack(std::make_unique<DribblingSource>(two), 4096), trace_text(2000) + "end");
    const std::string large = random_bytes(700'000);  // does not compress
    check_intact(unpack(gzip_member(large) + gzip_member("+") + gzip_member(large)), large + "+" + large);
}

TEST_CASE("optional header fields are skipped") {
    std::string extra = "BC\2\0\x10\0"s + std::string(300, 'e');
    std::string name = "trace.json";
    std::string comment = "made by a test";
    gz_header header{};
    header.extra = reinterpret_cast<Bytef*>(extra.data());
    header.extra_len = static_cast<uInt>(extra.size());
    check_intact(unpack(gzip_member("only extra", 6, &header)), "only extra");
    header.name = reinterpret_cast<Bytef*>(name.data());
    header.comment = reinterpret_cast<Bytef*>(comment.data());
    header.hcrc = 1;
    const std::string full = gzip_member("all fields", 6, &header);
    REQUIRE(full.size() > 330);
    check_intact(unpack(full), "all fields");
    check_intact(unpack("\x1f\x8b"s + full.substr(2) + gzip_member("+") + full), "all fields+all fields");
    const Unpacked torn = unpack(std::string_view(full).substr(0, 200));
    CHECK(torn.data.empty());
    CHECK(torn.torn);
}

TEST_CASE("a torn tail: everything that can be decoded comes out, at every cut and in steps of any size") {
    const std::vector<std::string> texts = {
        trace_text(800),
        std::string(20'000, 'a'),                   // a few bytes of input stand for thousands of output
        trace_text(300) + std::string(5000, '\0'),  //
        random_bytes(200),
    };
    for (const std::string& text : texts) {
        const std::string whole = gzip_member(text, 9);
        int wrong = 0;
        for (std::size_t cut = 1; cut < whole.size(); ++cut) {
            const std::string_view part = std::string_view(whole).substr(0, cut);
            const std::string expected = decodable(part);
            for (const std::size_t step : {1U, 13U, 65536U}) {
                const Unpacked unpacked = unpack(part, step);
                const bool right = unpacked.data == expected && unpacked.torn && !unpacked.damage.empty() &&
                                   unpacked.trailing == 0;
                if (!right && ++wrong == 1) {
                    MESSAGE("first wrong: cut at " << cut << " of " << whole.size() << ", steps of " << step
                                                   << ": " << unpacked.data.size() << " bytes, expected "
                                                   << expected.size());
                }
            }
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("a tail torn in the second of two members; between them nothing is torn") {
    const std::string text = trace_text(600);
    const std::string first = gzip_member(text);
    const std::string whole = first + gzip_member(trace_text(500));
    check_intact(unpack(std::string_view(whole).substr(0, first.size())), text);
    int wrong = 0;
    for (std::size_t cut = first.size() + 2; cut < whole.size(); ++cut) {
        const std::string_view part = std::string_view(whole).substr(0, cut);
        const Unpacked unpacked = unpack(part);
        wrong += unpacked.data != text + decodable(part.substr(first.size()));
        wrong += !unpacked.torn || unpacked.damage.empty();
    }
    CHECK(wrong == 0);
}

TEST_CASE("a wrong checksum or length: all data comes out and is doubtful, not torn") {
    const std::string text = trace_text(2000);
    for (const std::size_t from_end : {8U, 5U, 4U, 1U}) {
        std::string gzip = gzip_member(text);
        gzip[gzip.size() - from_end] = static_cast<char>(gzip[gzip.size() - from_end] ^ 0x40);
        for (const std::size_t step : {1U, 100U, 65536U}) {
            const Unpacked unpacked = unpack(gzip, step);
            CAPTURE(from_end);
            CHECK(unpacked.data == text);
            CHECK_FALSE(unpacked.damage.empty());
            CHECK_FALSE(unpacked.torn);
        }
    }
}

TEST_CASE("a wrong checksum in the first of two members does not lose the second in silence") {
    std::string first = gzip_member("first");
    first[first.size() - 8] = static_cast<char>(first[first.size() - 8] ^ 1);
    const Unpacked unpacked = unpack(first + gzip_member("second"));
    CHECK(unpacked.data.starts_with("first"));
    CHECK_FALSE(unpacked.damage.empty());
    CHECK((unpacked.data == "firstsecond" || unpacked.torn));
}

TEST_CASE("damage in the middle: what stands before it comes out, the rest is missing") {
    const std::string header = "\x1f\x8b\x08\0\0\0\0\0\0\x03"s;
    const std::string stored = "\0\x09\0\xf6\xff"s + "good data";  // a stored block that is not the last
    const std::string impossible = "\x07 rest";                    // block type 3 does not exist
    for (const std::size_t step : {1U, 65536U}) {
        const Unpacked unpacked = unpack(header + stored + impossible, step);
        CHECK(unpacked.data == "good data");
        CHECK_FALSE(unpacked.damage.empty());
        CHECK(unpacked.torn);
    }
}

TEST_CASE("padding and other bytes after the members belong to nothing") {
    const std::string gzip = gzip_member("data") + gzip_member(" and more");
    const std::string tails[] = {
        "\0"s,       std::string(511, '\0'), std::string(300'000, '\0'), "garbage",
        "{\"a\":1}", "\x1f\0rest"s,          "\0\x1f\x8b\x08"s,
    };
    for (const std::string& tail : tails) {
        CAPTURE(tail.size());
        CAPTURE(static_cast<int>(tail[0]));
        const Unpacked unpacked = unpack(gzip + tail);
        CHECK(unpacked.data == "data and more");
        CHECK(unpacked.trailing == tail.size());
        CHECK(unpacked.damage.empty());
        CHECK_FALSE(unpacked.torn);
    }
    const Unpacked dribbled = unpack(std::make_unique<DribblingSource>(gzip + "\0\0\0\0"s), 100);
    CHECK(dribbled.data == "data and more");
    CHECK(dribbled.trailing == 4);
}

TEST_CASE("not gzip at all") {
    for (const std::string& bytes :
         {"{\"traceEvents\":[]}"s, "\x1f\x8b\x07\0\0\0\0\0\0\x03 unknown method"s}) {
        const Unpacked unpacked = unpack(bytes);
        CHECK(unpacked.data.empty());
        CHECK_FALSE(unpacked.damage.empty());
    }
}

TEST_CASE("open_source unpacks gzip files by their first bytes") {
    const TempFolder folder;
    const std::string text = trace_text(400'000);
    const std::string gzip = gzip_member(text) + gzip_member("tail");
    const std::string path = folder.file("trace.json");  // the name says nothing
    write_bytes(path, gzip);
    Result<std::unique_ptr<ByteSource>> opened = open_source(path);
    REQUIRE(opened.ok());
    ByteSource& source = **opened;
    CHECK(source.stored_size() == gzip.size());
    std::uint64_t last = 0;
    std::string data(1000, '\0');
    std::string all;
    bool in_order = true;
    while (const std::size_t taken = source.read(data.data(), data.size())) {
        all.append(data, 0, taken);
        in_order = in_order && source.stored_position() >= last && source.stored_position() <= gzip.size();
        last = source.stored_position();
    }
    CHECK(in_order);
    CHECK(source.stored_position() == gzip.size());
    CHECK((all == text + "tail"));
    CHECK(source.damage().empty());

    write_bytes(path, std::string_view(gzip).substr(0, gzip.size() / 2));
    opened = open_source(path);
    REQUIRE(opened.ok());
    all = read_all(**opened, 4096);
    CHECK(!all.empty());
    CHECK(text.starts_with(all));
    CHECK((*opened)->torn());
}

#else

TEST_CASE("gzip content is refused without zlib") {
    const TempFolder folder;
    const std::string path = folder.file("trace.json.gz");
    write_bytes(path, "\x1f\x8b\x08\0\0\0\0\0\0\x03"s);
    const Result<std::unique_ptr<ByteSource>> source = open_source(path);
    REQUIRE_FALSE(source.ok());
    CHECK(source.failure().code == ErrorCode::unsupported);
    CHECK(source.failure().subject == path);
    CHECK_FALSE(source.failure().remedy.empty());
}

#endif
