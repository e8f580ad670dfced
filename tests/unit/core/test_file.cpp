#include <tracelens/core/file.hpp>

// Plain files in and out: sources, whole files, and files that appear only when they are complete.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "unit/core/file_support.hpp"

using namespace tracelens;
using namespace std::string_literals;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
        names.push_back(entry.path().filename());
    return names;
}

std::string content_of(const std::string& path) {
    Result<std::string> content = read_file(path);
    REQUIRE(content.ok());
    return *std::move(content);
}

}  // namespace

TEST_CASE("memory_source gives its bytes once, from front to back") {
    const std::string bytes = "abc\0def"s;
    for (const std::size_t step : {1U, 3U, 7U, 100U}) {
        const auto source = memory_source(bytes);
        CHECK(source->stored_size() == 7);
        CHECK(source->stored_position() == 0);
        CHECK(read_all(*source, step) == bytes);
        CHECK(source->stored_position() == 7);
        char more = '?';
        CHECK(source->read(&more, 1) == 0);
        CHECK(more == '?');
        CHECK(source->damage().empty());
        CHECK_FALSE(source->torn());
        CHECK(source->trailing_bytes() == 0);
    }
    CHECK(read_all(*memory_source(""), 10).empty());
}

TEST_CASE("open_source reads a plain file, whatever its first bytes") {
    const TempFolder folder;
    for (const std::string& content :
         {""s, "{"s, "{}"s, "\x1f"s, "\x1f\x8a gzip almost"s, "\x8b\x1f"s, std::string(700'001, 'x')}) {
        const std::string path = folder.file("plain.json.gz");  // the name says nothing
        write_bytes(path, content);
        for (const std::size_t step : {1U, 4096U, 1U << 20}) {
            if (step == 1 && content.size() > 1000) continue;
            Result<std::unique_ptr<ByteSource>> source = open_source(path);
            REQUIRE(source.ok());
            CHECK((*source)->stored_size() == content.size());
            CHECK(read_all(**source, step) == content);
            CHECK((*source)->stored_position() == content.size());
            CHECK((*source)->damage().empty());
            CHECK_FALSE((*source)->torn());
        }
    }
}

TEST_CASE("open_source: a missing path and a folder") {
    const TempFolder folder;
    write_bytes(folder.file("file"), "x");
    for (const std::string& path : {folder.file("absent.json"), folder.file("absent/x.json"),
                                    folder.file("file/x.json"), folder.path(), ""s}) {
        CAPTURE(path);
        const Result<std::unique_ptr<ByteSource>> source = open_source(path);
        REQUIRE_FALSE(source.ok());
        CHECK(source.failure().code == ErrorCode::file_missing);
        CHECK(source.failure().subject == path);
        CHECK_FALSE(source.failure().reason.empty());
    }
}

TEST_CASE("read_file") {
    const TempFolder folder;
    for (const std::string& content : {""s, "text"s, "a\0b\n"s, std::string(300'000, 'y')}) {
        write_bytes(folder.file("f"), content);
        CHECK(content_of(folder.file("f")) == content);
    }
    for (const std::string& path : {folder.file("absent"), folder.path(), folder.file("f/g")}) {
        CAPTURE(path);
        const Result<std::string> content = read_file(path);
        REQUIRE_FALSE(content.ok());
        CHECK(content.failure().code == ErrorCode::file_missing);
        CHECK(content.failure().subject == path);
    }
}

#if defined(__linux__)
TEST_CASE("read_file: a file whose size is not known beforehand") {
    CHECK_FALSE(content_of("/proc/self/status").empty());
}
#endif

TEST_CASE("write_file writes any bytes and leaves nothing else behind") {
    const TempFolder folder;
    const std::string path = folder.file("out.csv");
    for (const std::string& content : {"a,b\n1,2\n"s, ""s, "\0\xff"s, std::string(3'000'000, 'z')}) {
        REQUIRE(write_file(path, content).ok());
        CHECK((content_of(path) == content));
        CHECK(names_in(folder.path()) == std::vector<std::string>{"out.csv"});
    }
}

TEST_CASE("write_file makes missing folders") {
    const TempFolder folder;
    const std::string path = folder.file("a/b/c/out.txt");
    REQUIRE(write_file(path, "x").ok());
    CHECK(content_of(path) == "x");
    CHECK(names_in(folder.file("a/b/c")) == std::vector<std::string>{"out.txt"});
}

TEST_CASE("write_file replaces the name, not the bytes: who has the old file open keeps it") {
    const TempFolder folder;
    const std::string path = folder.file("out.txt");
    REQUIRE(write_file(path, "old content").ok());
    Result<std::unique_ptr<ByteSource>> old = open_source(path);
    REQUIRE(old.ok());
    REQUIRE(write_file(path, "new").ok());
    CHECK(read_all(**old, 100) == "old content");
    CHECK(content_of(path) == "new");
}

TEST_CASE("a reader never sees half a file") {
    const TempFolder folder;
    const std::string path = folder.file("out.txt");
    const std::string a(100'000, 'a');
    const std::string b(100'000, 'b');
    REQUIRE(write_file(path, a).ok());
    bool all_written = true;
    std::thread writer([&] {
        for (int i = 0; i < 200; ++i) all_written = write_file(path, i % 2 == 0 ? b : a).ok() && all_written;
    });
    int wrong = 0;
    for (int i = 0; i < 200; ++i) {
        const Result<std::string> content = read_file(path);
        wrong += !content.ok() || (*content != a && *content != b);
    }
    writer.join();
    CHECK(all_written);
    CHECK(wrong == 0);
}

TEST_CASE("write_file: an unwritable target is an error and nothing is left behind") {
    const TempFolder folder;
    write_bytes(folder.file("file"), "regular");
    fs::create_directory(folder.file("folder"));
    for (const std::string& path : {folder.file("file/out.txt"), folder.file("file/deep/out.txt"),
                                    folder.file("folder"), folder.file("folder/")}) {
        CAPTURE(path);
        const Result<Done> result = write_file(path, "x");
        REQUIRE_FALSE(result.ok());
        CHECK(result.failure().code == ErrorCode::file_unwritable);
        CHECK(result.failure().subject == path);
        CHECK_FALSE(result.failure().reason.empty());
    }
    CHECK(content_of(folder.file("file")) == "regular");
    CHECK(names_in(folder.path()).size() == 2);
    CHECK(names_in(folder.file("folder")).empty());
}
