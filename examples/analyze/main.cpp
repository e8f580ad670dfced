// The tracelens command line tool.
#include <cstdio>
#include <exception>

#include "command_line.hpp"

int main(int argc, char** argv) {
    try {
        return driver::run_command_line(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "tracelens: internal fault: %s\n", error.what());
        return driver::exit_internal;
    }
}
