// What several test programs need: the shared folder, temporary folders, running the driver.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace support {

namespace fs = std::filesystem;

/// The folder with the corpus and the field cases, which a user's clone does not have.
inline fs::path shared_folder() {
    return TRACELENS_SHARED_DIR;
}

/// Whether `part` of the shared folder is there. Without it the caller's test is skipped, with a message; on
/// CI that is a failure.
inline bool have_shared(const char* part) {
    if (fs::exists(shared_folder() / part)) return true;
    const char* const ci = std::getenv("CI");
    const bool on_ci = ci != nullptr && std::string_view(ci) == "true";
    if (on_ci) FAIL("CI has no ", (shared_folder() / part).string());
    MESSAGE("skipped: no ", (shared_folder() / part).string());
    return false;
}

inline std::string read_text(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// A folder that disappears with the object.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string pattern = (fs::temp_directory_path() / "tracelens-test-XXXXXX").string();
        path_ = mkdtemp(pattern.data());
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    const fs::path& path() const { return path_; }

  private:
    fs::path path_;
};

struct CommandResult {
    int exit_code = -1;
    std::string out;
    std::string err;
};

inline std::string quoted(const std::string& text) {
    std::string result = "'";
    for (const char c : text) {
        if (c == '\'')
            result += "'\\''";
        else
            result += c;
    }
    return result + "'";
}

/// Runs a shell command and captures what it prints.
inline CommandResult run(const std::string& command) {
    const TemporaryFolder folder;
    const fs::path out = folder.path() / "out";
    const fs::path err = folder.path() / "err";
    const int status =
        std::system((command + " >" + quoted(out) + " 2>" + quoted(err) + " </dev/null").c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(out), read_text(err)};
}

/// Runs the driver with arguments as in a shell.
inline CommandResult driver(const std::string& arguments) {
    return run(quoted(TRACELENS_DRIVER) + " " + arguments);
}

}  // namespace support
