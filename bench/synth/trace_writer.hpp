// Turns records into JSON text, section by section, through a buffer and a sink.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "event_templates.hpp"
#include "timeline.hpp"

namespace tracelens::synth {

/// The parts of a Kineto file, in file order. All events of one part come before any of the next.
enum class Section : std::uint8_t { autograd_ops, main_ops, memory, frames, device };

class TraceWriter {
  public:
    using Sink = std::function<void(std::string_view)>;

    TraceWriter(const Catalogue& catalogue, const Device& device, const Options& options, Sink sink);

    void begin();
    /// Writes those of a step's records that belong to `section`.
    void write(Section section, const std::vector<Record>& records);
    void end(const std::vector<Record>& work_annotations, std::int64_t begin_ns, std::int64_t end_ns);

    [[nodiscard]] std::uint64_t bytes() const { return flushed_ + used_; }
    [[nodiscard]] Summary summary() const;

  private:
    enum class Count : std::uint8_t {
        cpu_op,
        user_annotation,
        python_function,
        runtime,
        driver,
        kernel,
        gpu_memcpy,
        gpu_memset,
        launch_start,
        launch_finish,
        fwdbwd_start,
        fwdbwd_finish,
        gpu_user_annotation,
        memory,
        trace,
        metadata,
        instant,
        size
    };
    struct WorkTotal {
        std::uint64_t count = 0;
        std::int64_t total_ns = 0;
    };
    using Cache = std::vector<std::optional<Template>>;

    void write_ops(const std::vector<Record>& records, std::uint8_t thread);
    void write_call(const Record& record);
    void write_work(const Record& record);
    void write_metadata(std::int64_t time);
    template <class Make>
    const Template& cached(Cache& cache, std::size_t index, Make make);
    void emit(const Template& text, const Record& record, Count kind);
    char* put(Slot slot, const Record& record, char* out);
    void append(std::string_view text);
    void reserve(std::size_t size);
    void flush();

    const Catalogue& catalogue_;
    const Device& device_;
    const Options& options_;
    Sink sink_;
    EventTemplates templates_;
    Cache ops_, frames_, calls_, works_, unlinked_works_;
    Template memory_, launch_start_, launch_finish_, fwdbwd_start_, fwdbwd_finish_;
    std::array<Template, 2> device_flows_;
    std::array<std::string, 2> thread_texts_;

    std::vector<char> buffer_;
    std::size_t used_ = 0;
    std::uint64_t flushed_ = 0;
    bool is_first_event_ = true;
    std::int64_t event_index_ = 0;
    std::array<std::uint64_t, static_cast<std::size_t>(Count::size)> counts_{};
    std::vector<WorkTotal> work_totals_;
};

}  // namespace tracelens::synth
