// write_file(): a plain or gzip file that appears under its name only when complete.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

#include <zlib.h>

#include "generator.hpp"

namespace tracelens::synth {
namespace {

class OutputFile {
  public:
    explicit OutputFile(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "wb")) {
        if (file_ == nullptr) fail("cannot create");
    }
    ~OutputFile() {
        if (file_ != nullptr) std::fclose(file_);
    }
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    void write(std::string_view text) {
        if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail("cannot write");
    }
    void close() {
        std::FILE* file = file_;
        file_ = nullptr;
        if (std::fclose(file) != 0) fail("cannot write");
    }

  private:
    [[noreturn]] void fail(const char* what) const {
        throw std::runtime_error(std::string(what) + ' ' + path_ + ": " + std::strerror(errno));
    }

    std::string path_;
    std::FILE* file_;
};

class Gzip {
  public:
    explicit Gzip(OutputFile& file, bool has_extra_field = false) : file_(file) {
        constexpr int level = 6;
        constexpr int gzip_window = 15 + 16;  // zlib's default header has neither name nor time
        if (deflateInit2(&stream_, level, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
            throw std::runtime_error("zlib cannot start");
        if (!has_extra_field) return;
        header_.extra = extra_.data();
        header_.extra_len = static_cast<uInt>(extra_.size());
        header_.os = 255;  // unknown
        deflateSetHeader(&stream_, &header_);
    }
    ~Gzip() { deflateEnd(&stream_); }
    Gzip(const Gzip&) = delete;
    Gzip& operator=(const Gzip&) = delete;

    void write(std::string_view text, int flush = Z_NO_FLUSH) { deflate_to(text, flush, SIZE_MAX); }
    void finish() { write({}, Z_FINISH); }
    /// Ends the stream in the middle of a block: all that was written can be read, but nothing tells that it
    /// is all.
    void tear() {
        write({}, Z_FULL_FLUSH);
        std::string more;
        for (int i = 0; i < 400; ++i) more += std::to_string(i * i);
        deflate_to(more, Z_FINISH, 9);
    }

  private:
    void deflate_to(std::string_view text, int flush, std::size_t most) {
        // zlib's interface wants a mutable pointer but does not write through it.
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
        stream_.avail_in = static_cast<uInt>(text.size());
        do {
            stream_.next_out = reinterpret_cast<Bytef*>(output_.data());
            stream_.avail_out = static_cast<uInt>(output_.size());
            if (deflate(&stream_, flush) == Z_STREAM_ERROR) throw std::runtime_error("zlib failed");
            file_.write({output_.data(), std::min(output_.size() - stream_.avail_out, most)});
        } while (stream_.avail_out == 0);
    }

    OutputFile& file_;
    z_stream stream_{};
    gz_header header_{};
    std::array<Bytef, 8> extra_{'I', 'G', 4, 0, 0, 0, 0, 0};
    std::array<char, 1U << 16> output_{};
};

/// Splits text into gzip members: one of a single byte, an empty one, then two for each piece of text, every
/// other one with a field more in its header.
class Members {
  public:
    explicit Members(OutputFile& file) : file_(file) {}

    void write(std::string_view text) {
        if (count_ == 0 && !text.empty()) {
            add(text.substr(0, 1));
            add({});
            text.remove_prefix(1);
        }
        const std::size_t half = text.size() / 2;
        add(text.substr(0, half));
        add(text.substr(half));
    }

  private:
    void add(std::string_view text) {
        const auto member = std::make_unique<Gzip>(file_, count_++ % 2 == 1);
        member->write(text);
        member->finish();
    }

    OutputFile& file_;
    std::size_t count_ = 0;
};

Summary write_to(Generator& generator, int rank, const std::string& path) {
    const Options& options = generator.options();
    OutputFile file(path);
    Summary summary;
    if (has(options, Defect::gzip_members)) {
        Members members(file);
        summary = generator.write(rank, [&](std::string_view text) { members.write(text); });
    } else if (options.gzip) {
        const auto gzip = std::make_unique<Gzip>(file);
        summary = generator.write(rank, [&](std::string_view text) { gzip->write(text); });
        has(options, Defect::truncated_gzip) ? gzip->tear() : gzip->finish();
    } else {
        summary = generator.write(rank, [&](std::string_view text) { file.write(text); });
    }
    file.close();
    return summary;
}

Summary write_complete(Generator& generator, int rank, const std::string& path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    // Devices and pipes are written in place; a file of that name must never be replaced by a rename.
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
        return write_to(generator, rank, path);
    const std::string partial = path + ".part";
    try {
        Summary summary = write_to(generator, rank, partial);
        std::filesystem::rename(partial, path);
        return summary;
    } catch (...) {
        std::filesystem::remove(partial, error);
        throw;
    }
}

}  // namespace

Summary write_file(const Options& options, const std::string& path) {
    Generator generator(options);
    return write_complete(generator, generator.options().rank, path);
}

std::vector<Summary> write_rank_files(const Options& options, const std::string& path) {
    Generator generator(options);
    const Options& all = generator.options();
    if (all.ranks == 1 || all.merged) return {write_complete(generator, all.rank, path)};
    std::vector<Summary> summaries;
    for (int rank = 0; rank < all.ranks; ++rank)
        summaries.push_back(write_complete(generator, rank, rank_path(path, rank)));
    return summaries;
}

}  // namespace tracelens::synth
