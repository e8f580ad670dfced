#include "trace_writer.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <utility>

namespace tracelens::synth {
namespace {

constexpr std::size_t buffer_size = 1U << 20;
constexpr std::size_t longest_number = 32;

char* put_integer(char* out, std::int64_t value) {
    return std::to_chars(out, out + longest_number, value).ptr;
}

/// Nanoseconds as microseconds with three decimals.
char* put_microseconds(char* out, std::int64_t ns) {
    out = put_integer(out, ns / 1000);
    const auto rest = static_cast<int>(ns % 1000);
    *out++ = '.';
    *out++ = static_cast<char>('0' + rest / 100);
    *out++ = static_cast<char>('0' + rest / 10 % 10);
    *out++ = static_cast<char>('0' + rest % 10);
    return out;
}

}  // namespace

TraceWriter::TraceWriter(const Catalogue& catalogue, const Device& device, const Options& options, Sink sink)
    : catalogue_(catalogue),
      device_(device),
      options_(options),
      sink_(std::move(sink)),
      templates_(catalogue, device, options),
      memory_(templates_.memory()),
      launch_start_(templates_.host_flow("ac2g", true)),
      launch_finish_(templates_.host_flow("ac2g", false)),
      fwdbwd_start_(templates_.host_flow("fwdbwd", true)),
      fwdbwd_finish_(templates_.host_flow("fwdbwd", false)),
      device_flows_{templates_.device_flow(0), templates_.device_flow(1)},
      thread_texts_{std::to_string(thread_ids[0]), std::to_string(thread_ids[1])},
      buffer_(buffer_size) {}

void TraceWriter::begin() {
    append(templates_.document_begin());
}

void TraceWriter::write(Section section, const std::vector<Record>& records) {
    switch (section) {
        case Section::autograd_ops: write_ops(records, autograd_thread); break;
        case Section::main_ops: write_ops(records, main_thread); break;
        case Section::memory:
            if (!options_.memory_events) break;
            for (const Record& record : records)
                if (record.kind == RecordKind::memory) emit(memory_, record, Count::memory);
            break;
        case Section::frames:
            for (const Record& record : records) {
                if (record.kind != RecordKind::frame) continue;
                emit(cached(frames_, record.what,
                            [&] { return templates_.frame(catalogue_.frames()[record.what]); }),
                     record, Count::python_function);
            }
            break;
        case Section::device:
            // AMD's tracer hands over the host's calls first; NVIDIA's mixes both sides, the device's first.
            if (device_.is_amd())
                for (const Record& record : records)
                    if (record.kind == RecordKind::call) write_call(record);
            for (std::size_t i = 0; i < records.size(); ++i) {
                if (records[i].kind == RecordKind::work) write_work(records[i]);
                if (device_.is_amd() || records[i].kind != RecordKind::call) continue;
                const bool has_work = catalogue_.calls()[records[i].what].work != no_index;
                if (has_work) write_work(records[i + 1]);
                write_call(records[i]);
                if (has_work) ++i;
            }
            break;
    }
}

void TraceWriter::write_ops(const std::vector<Record>& records, std::uint8_t thread) {
    for (const Record& record : records) {
        if (record.lane != thread || (record.kind != RecordKind::op && record.kind != RecordKind::annotation))
            continue;
        const OpInfo& info = catalogue_.ops()[record.what];
        emit(cached(ops_, record.what, [&] { return templates_.op(info); }), record,
             info.is_annotation ? Count::user_annotation : Count::cpu_op);
        if (info.sequence == SequenceUse::forward_flow) emit(fwdbwd_start_, record, Count::fwdbwd_start);
        if (info.sequence == SequenceUse::backward_flow) emit(fwdbwd_finish_, record, Count::fwdbwd_finish);
    }
}

void TraceWriter::write_call(const Record& record) {
    const CallInfo& info = catalogue_.calls()[record.what];
    const ApiFacts api = device_.api(info.api);
    emit(cached(calls_, record.what, [&] { return templates_.call(info); }), record,
         api.is_driver ? Count::driver : Count::runtime);
    if (api.starts_flow) emit(launch_start_, record, Count::launch_start);
    // Without device work, or without a start on the call, the flow ends on the host.
    if (!api.starts_flow || info.work == no_index) emit(launch_finish_, record, Count::launch_finish);
}

void TraceWriter::write_work(const Record& record) {
    const WorkInfo& info = catalogue_.works()[record.what];
    const bool is_linked = record.first != 0;
    static constexpr std::array kinds{Count::kernel, Count::gpu_memcpy, Count::gpu_memset};
    emit(cached(is_linked ? works_ : unlinked_works_, record.what,
                [&] { return templates_.work(info, is_linked); }),
         record, kinds[static_cast<std::size_t>(info.kind)]);
    emit(device_flows_[record.lane], record, Count::launch_finish);
    if (work_totals_.size() <= record.what) work_totals_.resize(catalogue_.works().size());
    ++work_totals_[record.what].count;
    work_totals_[record.what].total_ns += record.duration;
}

void TraceWriter::end(const std::vector<Record>& work_annotations, std::int64_t begin_ns,
                      std::int64_t end_ns) {
    for (const Record& record : work_annotations)
        emit(templates_.work_annotation(catalogue_.ops()[record.what], record.lane), record,
             Count::gpu_user_annotation);
    write_metadata(begin_ns + 170'400);
    Record span;
    span.start = begin_ns;
    span.duration = end_ns - begin_ns;
    emit(templates_.trace_span(), span, Count::trace);
    emit(templates_.metadata("process_sort_index", "\"Spans\"", 0, "sort_index", "536870912"), span,
         Count::metadata);
    emit(templates_.window_instant("Iteration Start: PyTorch Profiler", "Traces", "Trace PyTorch Profiler"),
         span, Count::instant);
    span.start = end_ns + 1'900'000;
    emit(templates_.window_instant("Record Window End", "", ""), span, Count::instant);
    append(templates_.document_end());
    append("\n");
    flush();
}

void TraceWriter::write_metadata(std::int64_t time) {
    Record record;
    record.start = time;
    const auto write = [&](const char* name, int process, int thread, const char* key,
                           const std::string& value) {
        emit(templates_.metadata(name, std::to_string(process), thread, key, value), record, Count::metadata);
    };
    const auto process = [&](int id, const std::string& label, int sort_index) {
        write("process_name", id, 0, "name", "\"python3\"");
        write("process_labels", id, 0, "labels", '"' + label + '"');
        write("process_sort_index", id, 0, "sort_index", std::to_string(sort_index));
    };
    const auto thread = [&](int of_process, int id, const std::string& name) {
        write("thread_name", of_process, id, "name", '"' + name + '"');
        write("thread_sort_index", of_process, id, "sort_index", std::to_string(id));
    };
    process(host_process, "CPU", host_process);
    // Labels for 16 devices are always written, whether or not they exist.
    for (int gpu = 0; gpu < 16; ++gpu) process(gpu, "GPU " + std::to_string(gpu), 5'000'000 + gpu);
    const DeviceFacts& facts = device_.facts();
    const std::size_t streams = options_.collectives ? facts.streams.size() : 1;
    for (std::size_t i = 0; i < streams; ++i)
        thread(facts.process, facts.streams[i], "stream " + std::to_string(facts.streams[i]) + ' ');
    const bool is_training = options_.workload == WorkloadKind::training;
    thread(host_process, thread_ids[0], "thread " + thread_texts_[0] + " (python3)");
    if (is_training) thread(host_process, thread_ids[1], "thread " + thread_texts_[1] + " (pt_autograd_0)");
}

template <class Make>
const Template& TraceWriter::cached(Cache& cache, std::size_t index, Make make) {
    if (cache.size() <= index) cache.resize(std::max(index + 1, cache.size() * 2));
    if (!cache[index]) cache[index] = make();
    return *cache[index];
}

void TraceWriter::emit(const Template& text, const Record& record, Count kind) {
    reserve(text.literals.size() + text.segments.size() * longest_number);
    char* out = buffer_.data() + used_;
    const char* const literals = text.literals.data();
    // Every event starts with the comma after the one before; the first has none before it.
    std::size_t skip = std::exchange(is_first_event_, false) ? 1 : 0;
    for (const Template::Segment& segment : text.segments) {
        std::memcpy(out, literals + segment.begin + skip, segment.size - skip);
        out = put(segment.slot, record, out + (segment.size - skip));
        skip = 0;
    }
    used_ = static_cast<std::size_t>(out - buffer_.data());
    ++counts_[static_cast<std::size_t>(kind)];
}

char* TraceWriter::put(Slot slot, const Record& record, char* out) {
    switch (slot) {
        case Slot::none: return out;
        case Slot::thread: {
            const std::string& text = thread_texts_[record.lane];
            std::memcpy(out, text.data(), text.size());
            return out + text.size();
        }
        case Slot::start: return put_microseconds(out, record.start);
        case Slot::duration: return put_microseconds(out, record.duration);
        case Slot::event_index: return put_integer(out, event_index_++);
        case Slot::first_id: return put_integer(out, record.first);
        case Slot::second_id: return put_integer(out, record.second);
        case Slot::second_id_or_null:
            if (record.second >= 0) return put_integer(out, record.second);
            std::memcpy(out, "null", 4);
            return out + 4;
        case Slot::duration_value: return put_integer(out, record.duration);
        case Slot::bandwidth: {
            const double rate = static_cast<double>(catalogue_.works()[record.what].bytes) /
                                static_cast<double>(record.duration);
            return std::to_chars(out, out + longest_number, rate).ptr;
        }
    }
    return out;
}

void TraceWriter::append(std::string_view text) {
    reserve(text.size());
    std::memcpy(buffer_.data() + used_, text.data(), text.size());
    used_ += text.size();
}

void TraceWriter::reserve(std::size_t size) {
    if (buffer_.size() - used_ >= size) return;
    flush();
    if (buffer_.size() < size) buffer_.resize(size);
}

void TraceWriter::flush() {
    if (sink_ && used_ > 0) sink_({buffer_.data(), used_});
    flushed_ += used_;
    used_ = 0;
}

Summary TraceWriter::summary() const {
    static constexpr std::array<std::string_view, static_cast<std::size_t>(Count::size)> names{
        "cpu_op",
        "user_annotation",
        "python_function",
        "cuda_runtime",
        "cuda_driver",
        "kernel",
        "gpu_memcpy",
        "gpu_memset",
        "ac2g s",
        "ac2g f",
        "fwdbwd s",
        "fwdbwd f",
        "gpu_user_annotation",
        "cpu_instant_event",
        "Trace",
        "M",
        "i"};
    Summary result;
    result.bytes = bytes();
    for (std::size_t i = 0; i < names.size(); ++i) {
        result.events += counts_[i];
        if (counts_[i] > 0) result.kinds.push_back({std::string(names[i]), counts_[i]});
    }
    // Works with one name may differ in grid or size.
    std::map<std::string_view, WorkTotal> by_name;
    for (std::size_t i = 0; i < work_totals_.size(); ++i) {
        if (work_totals_[i].count == 0) continue;
        WorkTotal& total = by_name[catalogue_.works()[i].name];
        total.count += work_totals_[i].count;
        total.total_ns += work_totals_[i].total_ns;
    }
    for (const auto& [name, total] : by_name)
        result.kernels.push_back({std::string(name), total.count, total.total_ns});
    std::stable_sort(result.kernels.begin(), result.kernels.end(),
                     [](const KernelTotal& a, const KernelTotal& b) { return a.total_ns > b.total_ns; });
    return result;
}

}  // namespace tracelens::synth
