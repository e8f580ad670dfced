// The gzip layer on any bytes: what comes out must not depend on the sizes in which it is read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tracelens/core/file.hpp>

#include "ensure.hpp"

namespace fuzz {

using namespace tracelens;

/// Hands out memory in pieces of at most `piece` bytes, as a pipe or a socket may.
class PieceSource final : public ByteSource {
  public:
    PieceSource(std::string_view bytes, std::size_t piece) : bytes_(bytes), piece_(piece) {}

    std::size_t read(char* to, std::size_t size) override {
        const std::size_t taken = std::min({size, piece_, bytes_.size() - at_});
        std::copy_n(bytes_.data() + at_, taken, to);
        at_ += taken;
        return taken;
    }
    std::uint64_t stored_position() const noexcept override { return at_; }
    std::uint64_t stored_size() const noexcept override { return bytes_.size(); }

  private:
    std::string_view bytes_;
    std::size_t piece_;
    std::size_t at_ = 0;
};

struct Unpacked {
    std::string text;
    std::string damage;
    bool torn = false;
    std::uint64_t trailing_bytes = 0;
};

/// More output than this is not looked at: a few bytes of gzip can stand for any amount of text.
inline constexpr std::size_t most_output = std::size_t{1} << 17;

/// Unpacks `bytes`, with pieces of at most `in` bytes coming in and `out` bytes asked for.
inline Unpacked unpack(std::string_view bytes, std::size_t in, std::size_t out) {
    Result<std::unique_ptr<ByteSource>> opened = gunzip_source(std::make_unique<PieceSource>(bytes, in));
    ensure(opened.ok(), "gzip data can be opened");
    ByteSource& source = **opened;
    Unpacked result;
    std::string buffer(out, '\0');
    while (result.text.size() < most_output) {
        const std::size_t got = source.read(buffer.data(), buffer.size());
        ensure(got <= buffer.size(), "no more is read than was asked for");
        ensure(source.stored_position() <= source.stored_size(), "no more is consumed than there is");
        if (got == 0) break;
        result.text.append(buffer, 0, got);
    }
    if (result.text.size() >= most_output) {
        result.text.resize(most_output);
        return result;  // the end was not reached, so nothing is known about it
    }
    ensure(source.read(buffer.data(), buffer.size()) == 0, "the end stays the end");
    result.damage = source.damage();
    result.torn = source.torn();
    result.trailing_bytes = source.trailing_bytes();
    ensure(!result.torn || !result.damage.empty(), "torn data is damaged data");
    ensure(result.trailing_bytes <= bytes.size(), "no more trails than there is");
    return result;
}

inline void fuzz_gzip(std::string_view bytes) {
    struct Pieces {
        std::size_t in;
        std::size_t out;
    };
    constexpr std::size_t everything = most_output + 1;
    const Unpacked whole = unpack(bytes, everything, everything);
    for (const Pieces& pieces : {Pieces{1, 1023}, Pieces{3, 257}, Pieces{257, 3}, Pieces{4099, 259}}) {
        if (pieces.out < 16 && whole.text.size() > 4096) continue;  // too slow to be worth it
        const Unpacked parts = unpack(bytes, pieces.in, pieces.out);
        ensure(parts.text == whole.text, "the text does not depend on piece sizes");
        ensure(parts.damage == whole.damage && parts.torn == whole.torn,
               "the damage does not depend on piece sizes");
        ensure(parts.trailing_bytes == whole.trailing_bytes,
               "the bytes behind the end do not depend on piece sizes");
    }
}

}  // namespace fuzz
