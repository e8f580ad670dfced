// Gzip data for the tests of the reader.
#pragma once

#include <tracelens/config.hpp>

#if TRACELENS_WITH_ZLIB

#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <zlib.h>

#include "read_support.hpp"

namespace tracelens::read_test {

/// One gzip member. `flushed`: everything up to there can be decoded without what follows.
inline std::string gzip(std::string_view text, std::size_t flushed = 0) {
    z_stream stream{};
    REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    std::string packed(deflateBound(&stream, static_cast<uLong>(text.size())) + 64, '\0');
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    const auto feed = [&](std::string_view part, int flush) {
        std::string copy(part);
        stream.next_in = reinterpret_cast<Bytef*>(copy.data());
        stream.avail_in = static_cast<uInt>(copy.size());
        const int status = deflate(&stream, flush);
        REQUIRE((status == Z_OK || status == Z_STREAM_END));
        REQUIRE(stream.avail_in == 0);
    };
    if (flushed != 0) feed(text.substr(0, flushed), Z_FULL_FLUSH);
    feed(text.substr(flushed), Z_FINISH);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

inline Result<Trace> try_read_gzip(std::string_view packed, const ReadOptions& options = one_thread()) {
    Result<std::unique_ptr<ByteSource>> source = gunzip_source(memory_source(packed));
    REQUIRE(source.ok());
    return try_read_kineto(*std::move(source), "test.json.gz", options);
}

inline Trace read_gzip(std::string_view packed, const ReadOptions& options = one_thread()) {
    Result<Trace> result = try_read_gzip(packed, options);
    if (!result) FAIL(result.failure().message());
    return *std::move(result);
}

}  // namespace tracelens::read_test

#endif
