#include "timeline.hpp"

#include <algorithm>

namespace tracelens::synth {
namespace {

constexpr std::int64_t trace_begin = 2'204'338'329'420'671;  // ns, about where current traces are
constexpr std::int64_t trace_begin_since_1970 = 1'778'572'800'123'456'789;
constexpr std::int64_t first_long_correlation = 1'778'572'800'123'456'701;
constexpr std::int32_t queue_gap = 900;          // between two kernels of one stream, ns
constexpr std::uint64_t latest_start = 400'000;  // of a rank's profiler after another's, ns
constexpr std::uint64_t latest_finish = 1'200;   // of a collective on a rank after another, ns

/// Spreads small numbers over 64 bits; 0 stays 0.
constexpr std::uint64_t scramble(int number) {
    std::uint64_t value = static_cast<std::uint64_t>(number) * 0xbf58476d1ce4e5b9U;
    value ^= value >> 29;
    value *= 0x94d049bb133111ebU;
    return value ^ value >> 32;
}

/// Scales in 1/256, drawn uniformly: mostly near one, now and then a hiccup. A table costs less than a
/// distribution.
constexpr std::array<std::int32_t, 64> host_scales = [] {
    std::array<std::int32_t, 64> scales{};
    for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = 176 + static_cast<std::int32_t>(i) * 2;
    scales[61] = 420;
    scales[62] = 560;
    scales[63] = 900;
    return scales;
}();
constexpr std::array<std::int32_t, 16> work_scales{244, 247, 249, 251, 252, 253, 254, 256,
                                                   257, 258, 260, 262, 265, 269, 276, 300};
constexpr std::array<std::int32_t, 16> collective_scales{216, 226, 236, 244, 250, 256, 262, 270,
                                                         280, 292, 308, 330, 356, 390, 440, 620};

}  // namespace

Timeline::Timeline(const Catalogue& catalogue, const Device& device, const Options& options, int rank,
                   const CollectiveEnds* ends)
    : catalogue_(catalogue),
      device_(device),
      ends_(ends),
      rank_(rank),
      random_(options.seed * 0x9e3779b97f4a7c15U + 0x1234567 + scramble(rank)),
      // Devices of one kind differ by up to two percent; rank 0 has the nominal one.
      speed_(256 + (rank == 0 ? 0 : static_cast<std::int64_t>(scramble(rank) % 11) - 5)),
      begin_(has(options, Defect::string_times)
                 ? trace_begin_since_1970
                 : trace_begin + static_cast<std::int64_t>(options.seed % 1000) * 7'300'000'123),
      correlation_(has(options, Defect::string_times) ? first_long_correlation
                                                      : 4000 + static_cast<std::int64_t>(options.seed % 97)),
      sequence_base_(1100),
      allocated_(18'253'611'008) {
    begin_ += static_cast<std::int64_t>(scramble(rank) % latest_start);
    now_ = begin_ + 168'000;
    step_begin_ = now_;
    stream_end_.fill(now_);
}

std::uint64_t Timeline::draw() {
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    return random_;
}

std::int32_t Timeline::vary(std::int32_t ns) {
    // At least 10 ns, so that starts and ends on one thread never coincide.
    return std::max(ns * host_scales[draw() >> 58] / 256, 10);
}

std::int64_t Timeline::vary_work(const WorkInfo& work) {
    const std::uint64_t drawn = draw();
    const auto& scales = work.collective ? collective_scales : work_scales;
    return work.mean_ns * scales[drawn >> 60] / 256 * speed_ / 256 +
           static_cast<std::int64_t>(drawn >> 40 & 63);
}

void Timeline::open_frames(const std::vector<Index>& frames) {
    for (const Index frame : frames) {
        Record record;
        record.kind = RecordKind::frame;
        record.what = frame;
        record.start = now_;
        record.first = ++python_id_;
        record.second = thread().python_ids.empty() ? -1 : thread().python_ids.back();
        outer_frames_.push_back(record);
        thread().python_ids.push_back(record.first);
        now_ += vary(400);
    }
}

std::vector<Record> Timeline::close_frames() const {
    std::vector<Record> frames = outer_frames_;
    std::int64_t end = now_ + 1000;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame, end += 700)
        frame->duration = end - frame->start;
    return frames;
}

void Timeline::run(const Program& program, std::vector<Record>& records) {
    for (const Action& action : program.actions) perform(action, records);
    end_step(program);
}

void Timeline::perform(const Action& action, std::vector<Record>& records) {
    using Kind = Action::Kind;
    if (action.kind == Kind::graph_node) {
        // Nodes of a graph depend on each other, whichever stream they are on.
        const std::int64_t earliest = *std::max_element(stream_end_.begin(), stream_end_.end());
        records.push_back(enqueue(action.what, last_call_, earliest));
        return;
    }
    now_ += vary(action.before_ns);
    switch (action.kind) {
        case Kind::open_frame:
        case Kind::open_op: open(action, records); break;
        case Kind::close: close(records); break;
        case Kind::call: call(action, records); break;
        case Kind::blocked_call: blocked_call(action, records); break;
        case Kind::switch_thread: thread_ = action.lane; break;
        case Kind::graph_node: break;
        case Kind::leaf_frame: {
            const std::int64_t duration = vary(action.inside_ns);
            const auto& parents = thread().python_ids;
            records.push_back({now_, duration, ++python_id_, parents.empty() ? -1 : parents.back(),
                               action.what, RecordKind::frame, thread_});
            now_ += duration;
            break;
        }
        case Kind::memory:
            allocated_ += action.bytes;
            records.push_back(
                {now_, action.bytes, allocated_, action.address, no_index, RecordKind::memory, thread_});
            break;
    }
}

void Timeline::end_step(const Program& program) {
    sequence_base_ += program.sequences;
    ++step_;
    step_begin_ = now_;
}

void Timeline::open(const Action& action, std::vector<Record>& records) {
    Thread& on = thread();
    Record record;
    record.start = now_;
    record.what = action.what;
    record.lane = thread_;
    if (action.kind == Action::Kind::open_frame) {
        record.kind = RecordKind::frame;
        record.first = ++python_id_;
        record.second = on.python_ids.empty() ? -1 : on.python_ids.back();
        on.python_ids.push_back(record.first);
    } else {
        record.first = ++external_id_;
        record.second = sequence_base_ + action.sequence;
        on.external_ids.push_back(record.first);
        if (catalogue_.ops()[action.what].is_annotation) {
            record.kind = RecordKind::annotation;
            record.second = step_;
            on.annotations.push_back({records.size(), {}});
        }
    }
    on.open.push_back(records.size());
    records.push_back(record);
}

void Timeline::close(std::vector<Record>& records) {
    Thread& on = thread();
    Record& record = records[on.open.back()];
    on.open.pop_back();
    record.duration = now_ - record.start;
    if (record.kind == RecordKind::frame) {
        on.python_ids.pop_back();
        return;
    }
    on.external_ids.pop_back();
    if (record.kind != RecordKind::annotation) return;
    const OpenAnnotation annotation = on.annotations.back();
    on.annotations.pop_back();
    const Record host = record;  // push_back below may move it
    for (std::uint8_t stream = 0; stream < annotation.spans.size(); ++stream) {
        const Span& span = annotation.spans[stream];
        if (span.end == 0) continue;
        // Kineto widens the range by a nanosecond on either side.
        records.push_back({span.begin - 1, span.end - span.begin + 2, host.first, host.second, host.what,
                           RecordKind::work_annotation, stream});
    }
}

void Timeline::call(const Action& action, std::vector<Record>& records) {
    using Effect = Action::Effect;
    const CallInfo& info = catalogue_.calls()[action.what];
    const Thread& on = thread();
    Record record;
    record.kind = RecordKind::call;
    record.what = action.what;
    record.lane = thread_;
    record.start = now_;
    record.duration = vary(action.inside_ns);
    record.first = on.external_ids.empty() ? 0 : on.external_ids.back();
    record.second = ++correlation_;

    last_call_ = record;
    Record work;
    if (info.work != no_index) work = enqueue(info.work, record, 0);
    if (action.effect == Effect::wait_for_device) {
        record.duration = std::max(record.duration,
                                   *std::max_element(stream_end_.begin(), stream_end_.end()) + 2600 - now_);
    } else if (action.effect == Effect::wait_for_work && info.work != no_index) {
        record.duration = std::max(record.duration, work.start + work.duration + 3100 - now_);
    } else if (action.effect == Effect::streams_join) {
        for (const std::int64_t end : stream_end_)
            stream_end_[action.lane] = std::max(stream_end_[action.lane], end);
    }
    records.push_back(record);
    if (info.work != no_index) records.push_back(work);
    now_ += record.duration;
}

void Timeline::blocked_call(const Action& action, std::vector<Record>& records) {
    const std::int64_t duration =
        std::max<std::int64_t>((now_ - step_begin_) * action.inside_ns / 1000, 20'000);
    Record call;
    call.kind = RecordKind::call;
    call.what = action.what;
    call.lane = thread_;
    call.start = now_;
    call.duration = duration;
    call.first = thread().external_ids.empty() ? 0 : thread().external_ids.back();
    call.second = ++correlation_;
    records.push_back(call);
    records.push_back(
        {now_ + 1200, duration - 2400, 0, correlation_, action.lane, RecordKind::sync, compute_stream});
    records.push_back({now_ + 2000, duration / 3, 0, 0, action.lane, RecordKind::overhead, compute_stream});
    now_ += duration;
}

Record Timeline::enqueue(Index what, const Record& call, std::int64_t earliest) {
    const WorkInfo& info = catalogue_.works()[what];
    Record work;
    work.kind = RecordKind::work;
    work.what = what;
    work.lane = info.stream;
    work.first = catalogue_.calls()[call.what].has_external_id ? call.first : 0;
    work.second = call.second;
    const std::int64_t free = std::max(earliest, stream_end_[info.stream]) + vary(queue_gap);
    work.start = std::max(call.start + call.duration + device_.facts().launch_latency_ns, free);
    work.duration = vary_work(info);
    if (info.collective && ends_ != nullptr) {
        settle(work, ends_->at(collective_));
    } else {
        stream_end_[work.lane] = work.start + work.duration;
        cover(work);
    }
    return work;
}

bool Timeline::is_collective(const Action& action) const {
    const Index work = action.kind == Action::Kind::graph_node ? action.what
                       : action.kind == Action::Kind::call     ? catalogue_.calls()[action.what].work
                                                               : no_index;
    return work != no_index && catalogue_.works()[work].collective.has_value();
}

void Timeline::settle(Record& collective, std::int64_t end) {
    // The last ranks of a ring are done a little later than the first.
    const auto lag = static_cast<std::int64_t>((scramble(rank_) ^ scramble(static_cast<int>(collective_))) %
                                               latest_finish);
    ++collective_;
    collective.duration = end + lag - collective.start;
    stream_end_[collective.lane] = end + lag;
    cover(collective);
}

void Timeline::cover(const Record& work) {
    for (Thread& any : threads_) {
        for (OpenAnnotation& annotation : any.annotations) {
            Span& span = annotation.spans[work.lane];
            if (span.end == 0) span.begin = work.start;
            span.end = work.start + work.duration;
        }
    }
}

}  // namespace tracelens::synth
