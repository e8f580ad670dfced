/// Bytes in and out: sequential sources over plain and gzip files, and files that appear under their name
/// only when they are complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <tracelens/config.hpp>
#include <tracelens/core/error.hpp>

namespace tracelens {

/// A sequence of bytes that is read once from front to back.
class ByteSource {
  public:
    virtual ~ByteSource() = default;

    /// Reads up to `size` bytes into `to`. Returns how many; 0 at the end. Fewer than asked for is no sign of
    /// the end.
    virtual std::size_t read(char* to, std::size_t size) = 0;

    /// Bytes of stored input consumed so far and in all (0 when unknown): compressed bytes for compressed
    /// input.
    virtual std::uint64_t stored_position() const noexcept = 0;
    virtual std::uint64_t stored_size() const noexcept = 0;

    /// Why the data ended before its proper end (a torn gzip stream, a read error), or empty.
    virtual std::string_view damage() const noexcept { return {}; }

    /// True when `damage()` means that bytes are missing at the end, false when the bytes themselves are
    /// doubtful.
    virtual bool torn() const noexcept { return false; }

    /// Bytes after the end of compressed data that belong to nothing.
    virtual std::uint64_t trailing_bytes() const noexcept { return 0; }
};

/// A source over memory that the caller keeps alive. Never fails.
std::unique_ptr<ByteSource> memory_source(std::string_view bytes);

/// Opens a file; gzip content (by its first bytes, not by its name) is decompressed on the fly. Errors:
/// `file_missing`, `file_unreadable`, and `unsupported` for gzip content in a build without zlib.
Result<std::unique_ptr<ByteSource>> open_source(const std::string& path);

/// Wraps a source of gzip bytes (RFC 1952, any number of members) as a source of the decompressed bytes.
Result<std::unique_ptr<ByteSource>> gunzip_source(std::unique_ptr<ByteSource> compressed);

/// Writes `content` to `path` through a temporary file in the same folder and a rename, so that the name
/// never holds half a file. Missing folders are made. Error: `file_unwritable`.
Result<Done> write_file(const std::string& path, std::string_view content);

/// The whole content of a small file. Errors: `file_missing`, `file_unreadable`.
Result<std::string> read_file(const std::string& path);

}  // namespace tracelens

#if !defined(TRACELENS_COMPILED)
#include <tracelens/core/file-inl.hpp>
#endif
