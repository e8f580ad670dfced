// Turns records into JSON text, section by section, through a buffer and a sink.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "event_templates.hpp"
#include "event_type.hpp"
#include "text_faults.hpp"
#include "timeline.hpp"

namespace tracelens::synth {

/// The parts of a file, in file order; all events of one part of a process come before any of the next. A
/// legacy file has only one part.
enum class Section : std::uint8_t { autograd_ops, main_ops, memory, frames, device, legacy };

class TraceWriter {
  public:
    using Sink = std::function<void(std::string_view)>;

    /// `faults` may be null.
    TraceWriter(const Catalogue& catalogue, const Device& device, const Options& options, Sink sink,
                TextFaults* faults);

    /// Starts the document, or, for any but the first rank of a merged trace, the next process.
    void begin(int rank);
    /// Writes those of a step's records that belong to `section`.
    void write(Section section, const std::vector<Record>& records);
    /// What follows the sections of a process.
    void end_process(const std::vector<Record>& work_annotations, std::int64_t begin_ns, std::int64_t end_ns);
    void end();

    /// Whether a fault has ended the file; nothing more is written then.
    [[nodiscard]] bool is_cut() const { return is_cut_; }
    [[nodiscard]] std::uint64_t bytes() const { return flushed_ + used_; }
    [[nodiscard]] const EventCounts& counts() const { return counts_; }
    [[nodiscard]] Summary summary() const;

  private:
    struct WorkTotal {
        std::uint64_t count = 0;
        std::int64_t total_ns = 0;
    };
    using Cache = std::vector<std::optional<Template>>;
    /// The texts of one process.
    struct Texts {
        Texts(const Catalogue& catalogue, const Device& device, const Options& options,
              const Process& process);

        EventTemplates make;
        Cache ops, frames, calls, inner_calls, works, unlinked_works, legacy_starts, legacy_finishes;
        Template memory, launch_start, launch_finish, fwdbwd_start, fwdbwd_finish;
        std::array<Template, 2> device_flows;
        std::array<Template, sync_names.size()> syncs, overheads;
        std::array<std::string, 2> threads;
    };

    void write_ops(const std::vector<Record>& records, std::uint8_t thread);
    void write_device(const std::vector<Record>& records);
    void write_legacy(const std::vector<Record>& records);
    void write_call(const Record& record);
    void write_work(const Record& record);
    void write_metadata(std::int64_t time);
    template <class Make>
    static const Template& cached(Cache& cache, std::size_t index, Make make);
    void count_work(const Record& record);
    void emit(const Template& text, const Record& record, EventType type);
    void put_faults(std::size_t begin);
    char* put(Slot slot, const Record& record, char* out);
    void append(std::string_view text);
    void reserve(std::size_t size);
    void flush();

    const Catalogue& catalogue_;
    const Device& device_;
    const Options& options_;
    Sink sink_;
    TextFaults* faults_;
    bool has_duplicate_flows_;
    Process process_;
    std::optional<Texts> texts_;

    std::vector<char> buffer_;
    std::size_t used_ = 0;
    std::uint64_t flushed_ = 0;
    bool is_first_event_ = true;
    bool is_cut_ = false;
    std::int64_t event_index_ = 0;
    EventCounts counts_{};
    std::vector<WorkTotal> work_totals_;
};

}  // namespace tracelens::synth
