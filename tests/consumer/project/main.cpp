#include <cstdio>

#include <tracelens/tracelens.hpp>

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    try {
        const tracelens::Trace trace = tracelens::read_trace(argv[1]);
        std::size_t kernels = 0;
        for (const tracelens::EventKind kind : trace.kind)
            kernels += kind == tracelens::EventKind::kernel ? 1 : 0;
        std::printf("kernels %zu\n", kernels);
    } catch (const tracelens::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
