// Files on which a fuzzer once failed, read again through the fuzzers' own functions.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "fuzz/fuzz_gzip.hpp"
#include "fuzz/fuzz_json.hpp"
#include "fuzz/fuzz_reader.hpp"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> crash_files() {
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry :
         fs::directory_iterator(TRACELENS_SOURCE_DIR "/tests/fuzz/crashes")) {
        if (entry.path().filename() != "README.md") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

std::string bytes_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
}

}  // namespace

TEST_CASE("files that once broke a fuzz target do so no more") {
    for (const fs::path& path : crash_files()) {
        const std::string name = path.filename().string();
        CAPTURE(name);
        const std::string bytes = bytes_of(path);
        CHECK_NOTHROW(fuzz::fuzz_reader(bytes));
        CHECK_NOTHROW(fuzz::fuzz_gzip(bytes));
        CHECK_NOTHROW(fuzz::fuzz_json(bytes));
    }
}
