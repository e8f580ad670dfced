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
    sync,             // what a blocked call waits for; `what` is one of sync_names
    overhead,         // of the profiler; `what` is one of overhead_names
};

inline constexpr std::array sync_names{"Stream Synchronize", "Stream Wait Event", "Context Synchronize"};
inline constexpr std::array overhead_names{"Activity Buffer Request", "Buffer Flush",
                                           "Lazy Function Loading"};

/// When each collective of a trace ends, in order of issue; the same for all ranks of a group.
using CollectiveEnds = std::vector<std::int64_t>;

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
    /// Ranks of one seed share a clock and the numbering of ids, but not their times. `ends` holds the
    /// collectives of a group; without it each collective takes its own time.
    Timeline(const Catalogue& catalogue, const Device& device, const Options& options, int rank,
             const CollectiveEnds* ends);

    /// Opens frames that stay open to the end, outermost first; their durations come from close_frames().
    void open_frames(const std::vector<Index>& frames);
    /// Runs one step's plan and appends its records in order of start, host and device mixed.
    void run(const Program& program, std::vector<Record>& records);
    /// The same action by action; end_step() follows the last.
    void perform(const Action& action, std::vector<Record>& records);
    void end_step(const Program& program);
    /// Whether an action enqueues a collective, whose record is then the last one.
    [[nodiscard]] bool is_collective(const Action& action) const;
    /// Moves the end of the collective that was just enqueued.
    void settle(Record& collective, std::int64_t end);
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
    std::uint64_t draw();
    Thread& thread() { return threads_[thread_]; }
    void open(const Action& action, std::vector<Record>& records);
    void close(std::vector<Record>& records);
    void call(const Action& action, std::vector<Record>& records);
    void blocked_call(const Action& action, std::vector<Record>& records);
    Record enqueue(Index what, const Record& call, std::int64_t earliest);
    void cover(const Record& work);

    const Catalogue& catalogue_;
    const Device& device_;
    const CollectiveEnds* ends_;
    int rank_;
    std::uint64_t random_;
    std::int64_t speed_;  // of the rank's device: its work takes this many 256ths of the nominal time
    std::int64_t begin_;
    std::int64_t now_;
    std::int64_t step_begin_;
    std::uint8_t thread_ = main_thread;
    std::array<Thread, 2> threads_;
    std::array<std::int64_t, 2> stream_end_{};
    Record last_call_;
    std::size_t collective_ = 0;
    std::vector<Record> outer_frames_;
    std::int64_t python_id_ = 0;
    std::int64_t external_id_ = 0;
    std::int64_t correlation_;
    std::int64_t sequence_base_;
    std::int64_t step_ = 6;
    std::int64_t allocated_;
};

}  // namespace tracelens::synth
