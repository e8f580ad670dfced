// Plans, times and writes traces of one set of options.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "timeline.hpp"
#include "trace_writer.hpp"
#include "workload.hpp"

namespace tracelens::synth {

class Generator {
  public:
    /// Throws std::invalid_argument for options that make no sense.
    explicit Generator(const Options& options);

    /// The options with what they imply.
    [[nodiscard]] const Options& options() const { return options_; }
    /// Writes the trace of one rank, or the merged one of all.
    Summary write(int rank, const TraceWriter::Sink& sink);

  private:
    /// What a number of steps takes up in the file of one process.
    struct Size {
        EventCounts counts{};
        std::uint64_t bytes = 0;
        std::int64_t span_ns = 0;
    };

    Timeline start(int rank, const CollectiveEnds* ends) const;
    const Program& plan(std::uint64_t step);
    void run(Timeline& timeline, std::uint64_t step, std::vector<Record>& records);
    void write_process(TraceWriter& writer, int rank, std::uint64_t steps);
    void measure();
    [[nodiscard]] Size size(std::uint64_t steps) const;
    [[nodiscard]] bool has_target() const;
    [[nodiscard]] std::uint64_t target() const;
    [[nodiscard]] std::uint64_t least_steps() const;
    [[nodiscard]] std::uint64_t measured(const Size& size) const;
    [[nodiscard]] std::uint64_t choose_steps();
    [[nodiscard]] std::vector<Section> sections() const;
    void meet();

    Options options_;
    Catalogue catalogue_;
    Device device_;
    std::unique_ptr<Workload> workload_;
    std::vector<Index> entry_frames_;
    Program epilogue_;
    std::map<std::pair<bool, std::size_t>, Program> plans_;  // by whether collapsed, and phase
    std::vector<Size> sizes_;                                // by steps, up to one step more than the period
    std::uint64_t steps_ = 0;
    CollectiveEnds ends_;
    std::vector<Record> records_;
};

}  // namespace tracelens::synth
