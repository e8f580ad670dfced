/// Bodies of core/file.hpp, on POSIX files and zlib.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tracelens/core/file.hpp>
#include <tracelens/core/inline.hpp>

#if TRACELENS_WITH_ZLIB
#include <vector>

#include <zlib.h>
#endif

namespace tracelens {

namespace detail {

class MemorySource final : public ByteSource {
  public:
    explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}

    std::size_t read(char* to, std::size_t size) override {
        const std::size_t taken = std::min(size, bytes_.size() - at_);
        if (taken != 0) std::memcpy(to, bytes_.data() + at_, taken);
        at_ += taken;
        return taken;
    }
    std::uint64_t stored_position() const noexcept override { return at_; }
    std::uint64_t stored_size() const noexcept override { return bytes_.size(); }

  private:
    std::string_view bytes_;
    std::size_t at_ = 0;
};

class FileSource final : public ByteSource {
  public:
    FileSource(int descriptor, std::uint64_t size) : descriptor_(descriptor), size_(size) {}
    FileSource(const FileSource&) = delete;
    FileSource& operator=(const FileSource&) = delete;
    ~FileSource() override { ::close(descriptor_); }

    std::size_t read(char* to, std::size_t size) override {
        while (true) {
            const ssize_t taken = ::read(descriptor_, to, size);
            if (taken >= 0) {
                position_ += static_cast<std::uint64_t>(taken);
                return static_cast<std::size_t>(taken);
            }
            if (errno == EINTR) continue;
            damage_ = std::string("read error: ") + std::strerror(errno);
            return 0;
        }
    }
    std::uint64_t stored_position() const noexcept override { return position_; }
    std::uint64_t stored_size() const noexcept override { return size_; }
    std::string_view damage() const noexcept override { return damage_; }
    bool torn() const noexcept override { return !damage_.empty(); }

  private:
    int descriptor_;
    std::uint64_t size_;
    std::uint64_t position_ = 0;
    std::string damage_;
};

/// Gives back `head` first, then the rest of `tail`: undoes the look at the first bytes.
class JoinedSource final : public ByteSource {
  public:
    JoinedSource(std::string head, std::unique_ptr<ByteSource> tail)
        : head_(std::move(head)), tail_(std::move(tail)) {}

    std::size_t read(char* to, std::size_t size) override {
        if (at_ == head_.size()) return tail_->read(to, size);
        const std::size_t taken = std::min(size, head_.size() - at_);
        std::memcpy(to, head_.data() + at_, taken);
        at_ += taken;
        return taken;
    }
    std::uint64_t stored_position() const noexcept override { return tail_->stored_position(); }
    std::uint64_t stored_size() const noexcept override { return tail_->stored_size(); }
    std::string_view damage() const noexcept override { return tail_->damage(); }
    bool torn() const noexcept override { return tail_->torn(); }
    std::uint64_t trailing_bytes() const noexcept override { return tail_->trailing_bytes(); }

  private:
    std::string head_;
    std::size_t at_ = 0;
    std::unique_ptr<ByteSource> tail_;
};

#if TRACELENS_WITH_ZLIB

/// Inflates member after member. What zlib could decode before an error is handed out before the error
/// counts.
class GunzipSource final : public ByteSource {
  public:
    explicit GunzipSource(std::unique_ptr<ByteSource> compressed)
        : compressed_(std::move(compressed)), input_(std::size_t{1} << 17) {
        stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
        open_ = inflateInit2(&stream_, gzip_only) == Z_OK;
        if (!open_) damage_ = "zlib could not be initialised";
    }
    GunzipSource(const GunzipSource&) = delete;
    GunzipSource& operator=(const GunzipSource&) = delete;
    ~GunzipSource() override {
        if (open_) inflateEnd(&stream_);
    }

    std::size_t read(char* to, std::size_t size) override {
        std::size_t produced = 0;
        while (produced < size && !finished_ && open_) {
            if (stream_.avail_in == 0 && !input_ended_) refill();
            if (between_members_) {
                if (!start_member()) finished_ = true;
                continue;
            }
            const auto room = static_cast<uInt>(std::min<std::size_t>(size - produced, std::size_t{1} << 30));
            stream_.next_out = reinterpret_cast<Bytef*>(to + produced);
            stream_.avail_out = room;
            const int status = inflate(&stream_, Z_NO_FLUSH);
            produced += room - stream_.avail_out;
            if (status == Z_STREAM_END) {
                between_members_ = true;
            } else if (status != Z_OK && status != Z_BUF_ERROR) {
                note_error();
            } else if (input_ended_ && stream_.avail_in == 0 && stream_.avail_out == room) {
                damage_ = "gzip data ends before its end mark";
                torn_ = finished_ = true;  // and zlib holds nothing back
            }
        }
        return produced;
    }

    std::uint64_t stored_position() const noexcept override {
        return compressed_->stored_position() - stream_.avail_in;
    }
    std::uint64_t stored_size() const noexcept override { return compressed_->stored_size(); }
    std::string_view damage() const noexcept override { return damage_; }
    bool torn() const noexcept override { return torn_; }
    std::uint64_t trailing_bytes() const noexcept override { return trailing_; }

  private:
    static constexpr int gzip_only = 15 + 16;
    static constexpr uInt length_bytes = 4;

    /// Reads more input behind what is left of it.
    void refill() {
        std::memmove(input_.data(), stream_.next_in, stream_.avail_in);
        const std::size_t got =
            compressed_->read(input_.data() + stream_.avail_in, input_.size() - stream_.avail_in);
        input_ended_ = got == 0;
        stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
        stream_.avail_in += static_cast<uInt>(got);
    }

    /// A wrong checksum or length comes behind all data of its member, so the next member can still be read;
    /// after any other error nothing can.
    void note_error() {
        const std::string_view message = stream_.msg != nullptr ? stream_.msg : "unknown";
        damage_ = "gzip data is damaged: " + std::string(message);
        if (message == "incorrect data check" || message == "incorrect length check") {
            unread_trailer_ = message == "incorrect data check" ? length_bytes : 0;
            between_members_ = true;
        } else {
            torn_ = finished_ = true;
        }
    }

    /// Another member starts when the gzip magic follows; all else behind a member is no data (padding is
    /// usual).
    bool start_member() {
        while (stream_.avail_in < unread_trailer_ + 2 && !input_ended_) refill();
        const uInt skipped = std::min(stream_.avail_in, std::exchange(unread_trailer_, 0U));
        stream_.next_in += skipped;
        stream_.avail_in -= skipped;
        if (stream_.avail_in < 2 || stream_.next_in[0] != 0x1f || stream_.next_in[1] != 0x8b) {
            while (stream_.avail_in != 0) {
                trailing_ += std::exchange(stream_.avail_in, 0U);
                refill();
            }
            return false;
        }
        inflateReset(&stream_);
        between_members_ = false;
        return true;
    }

    std::unique_ptr<ByteSource> compressed_;
    std::vector<char> input_;
    z_stream stream_{};
    bool open_ = false;
    bool between_members_ = false;
    bool finished_ = false;
    bool input_ended_ = false;
    bool torn_ = false;
    uInt unread_trailer_ = 0;  // bytes of a member's end that zlib did not get to
    std::uint64_t trailing_ = 0;
    std::string damage_;
};

#endif

/// Reads until `size` bytes are there or the source ends.
inline std::size_t read_fully(ByteSource& source, char* to, std::size_t size) {
    std::size_t have = 0;
    while (have < size) {
        const std::size_t more = source.read(to + have, size - have);
        if (more == 0) break;
        have += more;
    }
    return have;
}

}  // namespace detail

TRACELENS_INLINE std::unique_ptr<ByteSource> memory_source(std::string_view bytes) {
    return std::make_unique<detail::MemorySource>(bytes);
}

TRACELENS_INLINE Result<std::unique_ptr<ByteSource>> gunzip_source(std::unique_ptr<ByteSource> compressed) {
#if TRACELENS_WITH_ZLIB
    return std::unique_ptr<ByteSource>(std::make_unique<detail::GunzipSource>(std::move(compressed)));
#else
    (void)compressed;
    return Failure{ErrorCode::unsupported,
                   {},
                   "the content is gzip and this build has no zlib",
                   "unpack the file first, or build with TRACELENS_WITH_ZLIB=1",
                   {},
                   {}};
#endif
}

TRACELENS_INLINE Result<std::unique_ptr<ByteSource>> open_source(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) {
        const bool missing = errno == ENOENT || errno == ENOTDIR;
        return Failure{missing ? ErrorCode::file_missing : ErrorCode::file_unreadable,
                       path,
                       missing ? "no such file" : std::strerror(errno),
                       "check the path",
                       {},
                       {}};
    }
    if (S_ISDIR(info.st_mode)) {
        return Failure{ErrorCode::file_missing,         path, "is a folder, not a file",
                       "name the trace file inside it", {},   {}};
    }
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return Failure{ErrorCode::file_unreadable, path, std::strerror(errno),
                       "check its permissions",    {},   {}};
    }
    const auto size = S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : 0;
    std::unique_ptr<ByteSource> file = std::make_unique<detail::FileSource>(descriptor, size);
    std::string head(2, '\0');
    head.resize(detail::read_fully(*file, head.data(), head.size()));
    const bool gzip = head.size() == 2 && head[0] == '\x1f' && head[1] == '\x8b';
    std::unique_ptr<ByteSource> whole =
        std::make_unique<detail::JoinedSource>(std::move(head), std::move(file));
    if (!gzip) return whole;
    Result<std::unique_ptr<ByteSource>> unpacked = gunzip_source(std::move(whole));
    if (unpacked.ok()) return unpacked;
    Failure failure = unpacked.failure();
    failure.subject = path;
    return failure;
}

TRACELENS_INLINE Result<Done> write_file(const std::string& path, std::string_view content) {
    namespace fs = std::filesystem;
    const fs::path target(path);
    std::error_code error;
    if (target.has_parent_path()) fs::create_directories(target.parent_path(), error);
    // Unique among processes and, by the address of a local, among threads.
    const std::string temporary = path + ".tmp" + std::to_string(::getpid()) + "." +
                                  std::to_string(reinterpret_cast<std::uintptr_t>(&target));
    const auto fail = [&](const char* what) -> Result<Done> {
        const std::string reason = std::string(what) + ": " + std::strerror(errno);
        ::unlink(temporary.c_str());
        return Failure{
            ErrorCode::file_unwritable, path, reason, "choose another output folder with -o", {}, {}};
    };
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) return fail("cannot create it");
    while (!content.empty()) {
        const ssize_t written = ::write(descriptor, content.data(), content.size());
        if (written < 0) {
            if (errno == EINTR) continue;
            const int cause = errno;
            ::close(descriptor);
            errno = cause;
            return fail("cannot write it");
        }
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::close(descriptor) != 0) return fail("cannot write it");
    if (::rename(temporary.c_str(), path.c_str()) != 0) return fail("cannot rename the finished file to it");
    return Done{};
}

TRACELENS_INLINE Result<std::string> read_file(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0 || S_ISDIR(info.st_mode)) {
        return Failure{ErrorCode::file_missing, path, "no such file", "check the path", {}, {}};
    }
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return Failure{ErrorCode::file_unreadable, path, std::strerror(errno),
                       "check its permissions",    {},   {}};
    }
    detail::FileSource file(descriptor, 0);
    std::string content;
    for (std::size_t step = std::size_t{1} << 16;; step *= 2) {
        const std::size_t have = content.size();
        content.resize(have + step);
        const std::size_t got = detail::read_fully(file, content.data() + have, step);
        content.resize(have + got);
        if (got < step) break;
    }
    if (!file.damage().empty()) {
        return Failure{ErrorCode::file_unreadable, path, std::string(file.damage()),
                       "check the disk",           {},   {}};
    }
    return content;
}

}  // namespace tracelens
