// What the README shows is what the repository holds.
#include "support.hpp"

namespace {

const support::fs::path root = TRACELENS_SOURCE_DIR;

}  // namespace

TEST_CASE("the README's program is examples/minimal/minimal.cpp, and it runs") {
    const std::string readme = support::read_text(root / "README.md");
    const std::string program = support::read_text(root / "examples/minimal/minimal.cpp");
    CHECK(readme.find("```cpp\n" + program + "```\n") != std::string::npos);
    const support::CommandResult result =
        support::run(support::quoted(TRACELENS_MINIMAL) + " " +
                     support::quoted((root / "examples/data/training_mi300x.json.gz").string()));
    CHECK(result.exit_code == 0);
    CHECK(result.out.find("window ") == 0);
    CHECK(result.out.find("ncclDevKernel") != std::string::npos);
}

TEST_CASE("the README's output is what the tool prints") {
    const std::string readme = support::read_text(root / "README.md");
    const support::CommandResult info =
        support::run("cd " + support::quoted(root.string()) + " && " + support::quoted(TRACELENS_DRIVER) +
                     " info examples/data/inference_h100.json");
    const std::size_t kernels = info.out.find("\nTop kernels");
    REQUIRE(kernels != std::string::npos);
    CHECK(readme.find(info.out.substr(0, kernels)) != std::string::npos);

    const support::TemporaryFolder folder;
    const support::CommandResult analyze = support::run(
        "cd " + support::quoted(folder.path().string()) + " && " + support::quoted(TRACELENS_DRIVER) +
        " analyze " + support::quoted((root / "examples/data/training_mi300x.json.gz").string()) +
        " -o report");
    CHECK(readme.find(analyze.out) != std::string::npos);
}

TEST_CASE("the scripts that the README names are there and explain themselves") {
    for (const char* script : {"examples/quickstart.sh", "tests/run.sh"}) {
        CHECK(support::read_text(root / "README.md").find(script) != std::string::npos);
        const support::CommandResult help =
            support::run(support::quoted((root / script).string()) + " --help");
        CHECK((help.out + help.err).find("usage: ") != std::string::npos);
    }
}
