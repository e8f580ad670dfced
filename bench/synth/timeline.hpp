// Lays planned actions out in time: one host clock that moves between threads, one queue a stream.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "device.hpp"
#include "program.hpp"

namespace tracelens::synth {

enum class RecordKind : std::uint8_t {
    op,
    annotation,  // is an op in the catalogue
    frame,
    call,
    work,  // kernel, memcpy, memset
    memory,
    work_annotation,  // the device's side of an annotation
};

/// One event with its numbers. What `first` and `second` mean depends on the kind.
struct Record {
    std::int64_t start = 0;     ///< ns
    std::int64_t duration = 0;  ///< ns; memory: bytes
    std::int64_t first =
        0;  ///< op, call, work: external id; frame: python id; memory: bytes allocated in total
    std::int64_t second = 0;  ///< op: sequence number; annotation: step; frame: parent's id or -1; call,
                              ///< work: correlation; memory: address
    Index what = no_index;
    RecordKind kind = RecordKind::op;
    std::uint8_t lane = 0;  ///< thread or stream
};

class Timeline {
  public:
    Timeline(const Catalogue& catalogue, const Device& device, std::uint64_t seed);

    /// Opens frames that stay open to the end, outermost first; their durations come from close_frames().
    void open_frames(const std::vector<Index>& frames);
    /// Runs one step's plan and appends its records in order of start, host and device mixed.
    void run(const Program& program, std::vector<Record>& records);
    /// The frames of open_frames(), ending now.
    [[nodiscard]] std::vector<Record> close_frames() const;

    [[nodiscard]] std::int64_t now() const { return now_; }
    [[nodiscard]] std::int64_t begin() const { return begin_; }

  private:
    struct Span {  // device time covered by the work launched under an annotation
        std::int64_t begin = 0;
        std::int64_t end = 0;
    };
    struct OpenAnnotation {
        std::size_t record = 0;
        std::array<Span, 2> spans{};
    };
    struct Thread {
        std::vector<std::size_t> open;           // records
        std::vector<std::int64_t> python_ids;    // of open frames
        std::vector<std::int64_t> external_ids;  // of open ops
        std::vector<OpenAnnotation> annotations;
    };

    std::int32_t vary(std::int32_t ns);
    std::int64_t vary_work(const WorkInfo& work);
    Thread& thread() { return threads_[thread_]; }
    void open(const Action& action, std::vector<Record>& records);
    void close(std::vector<Record>& records);
    void call(const Action& action, std::vector<Record>& records);
    Record enqueue(const CallInfo& info, const Record& call);

    const Catalogue& catalogue_;
    const Device& device_;
    std::uint64_t random_;
    std::int64_t begin_;
    std::int64_t now_;
    std::uint8_t thread_ = main_thread;
    std::array<Thread, 2> threads_;
    std::array<std::int64_t, 2> stream_end_{};
    std::vector<Record> outer_frames_;
    std::int64_t python_id_ = 0;
    std::int64_t external_id_ = 0;
    std::int64_t correlation_;
    std::int64_t sequence_base_;
    std::int64_t step_ = 6;
    std::int64_t allocated_;
};

}  // namespace tracelens::synth
