// write_file(): a plain or gzip file that appears under its name only when complete.
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <system_error>

#include <zlib.h>

#include "synth.hpp"

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
    explicit Gzip(OutputFile& file) : file_(file) {
        constexpr int level = 6;
        constexpr int gzip_window = 15 + 16;  // zlib's default header has neither name nor time
        if (deflateInit2(&stream_, level, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
            throw std::runtime_error("zlib cannot start");
    }
    ~Gzip() { deflateEnd(&stream_); }
    Gzip(const Gzip&) = delete;
    Gzip& operator=(const Gzip&) = delete;

    void write(std::string_view text, int flush = Z_NO_FLUSH) {
        // zlib's interface wants a mutable pointer but does not write through it.
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
        stream_.avail_in = static_cast<uInt>(text.size());
        do {
            stream_.next_out = reinterpret_cast<Bytef*>(output_.data());
            stream_.avail_out = static_cast<uInt>(output_.size());
            if (deflate(&stream_, flush) == Z_STREAM_ERROR) throw std::runtime_error("zlib failed");
            file_.write({output_.data(), output_.size() - stream_.avail_out});
        } while (stream_.avail_out == 0);
    }

  private:
    OutputFile& file_;
    z_stream stream_{};
    std::array<char, 1U << 16> output_{};
};

Summary write_to(const Options& options, const std::string& path) {
    OutputFile file(path);
    Summary summary;
    if (options.gzip) {
        const auto gzip = std::make_unique<Gzip>(file);
        summary = generate(options, [&](std::string_view text) { gzip->write(text); });
        gzip->write({}, Z_FINISH);
    } else {
        summary = generate(options, [&](std::string_view text) { file.write(text); });
    }
    file.close();
    return summary;
}

}  // namespace

Summary write_file(const Options& options, const std::string& path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    // Devices and pipes are written in place; a file of that name must never be replaced by a rename.
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
        return write_to(options, path);
    const std::string partial = path + ".part";
    try {
        Summary summary = write_to(options, partial);
        std::filesystem::rename(partial, path);
        return summary;
    } catch (...) {
        std::filesystem::remove(partial, error);
        throw;
    }
}

}  // namespace tracelens::synth
