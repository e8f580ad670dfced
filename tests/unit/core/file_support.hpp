/// Temporary folders and whole reads for the tests of core/file.hpp.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>

#include <tracelens/core/file.hpp>

/// A folder below the system's temporary one, removed with all that is in it.
class TempFolder {
  public:
    TempFolder() {
        std::random_device random;
        do {
            path_ = std::filesystem::temp_directory_path() / ("tracelens_unit_" + std::to_string(random()));
        } while (!std::filesystem::create_directory(path_));
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;
    ~TempFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    std::string path() const { return path_.string(); }
    std::string file(std::string_view name) const { return (path_ / name).string(); }

  private:
    std::filesystem::path path_;
};

inline void write_bytes(const std::string& path, std::string_view bytes) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Reads to the end, `step` bytes a call.
inline std::string read_all(tracelens::ByteSource& source, std::size_t step) {
    std::string result;
    while (true) {
        const std::size_t before = result.size();
        result.resize(before + step);
        const std::size_t taken = source.read(result.data() + before, step);
        result.resize(before + taken);
        if (taken == 0) return result;
    }
}
