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

EventType type_of(const WorkInfo& info) {
    static constexpr std::array types{EventType::kernel, EventType::gpu_memcpy, EventType::gpu_memset};
    return info.is_legacy ? EventType::kernel : types[static_cast<std::size_t>(info.kind)];
}

}  // namespace

TraceWriter::Texts::Texts(const Catalogue& catalogue, const Device& device, const Options& options,
                          const Process& process)
    : make(catalogue, device, options, process),
      memory(make.memory()),
      launch_start(make.host_flow("ac2g", true)),
      launch_finish(make.host_flow("ac2g", false)),
      fwdbwd_start(make.host_flow("fwdbwd", true)),
      fwdbwd_finish(make.host_flow("fwdbwd", false)),
      device_flows{make.device_flow(0), make.device_flow(1)} {
    for (std::size_t i = 0; i < syncs.size(); ++i) {
        syncs[i] = make.sync(sync_names[i]);
        overheads[i] = make.overhead(overhead_names[i]);
    }
    const bool is_legacy = has(options, Defect::legacy_array);
    for (std::size_t i = 0; i < threads.size(); ++i)
        threads[i] = std::to_string(is_legacy ? static_cast<int>(i) + 1 : process.threads[i]);
}

TraceWriter::TraceWriter(const Catalogue& catalogue, const Device& device, const Options& options, Sink sink,
                         TextFaults* faults)
    : catalogue_(catalogue),
      device_(device),
      options_(options),
      sink_(std::move(sink)),
      faults_(faults),
      has_duplicate_flows_(has(options, Defect::duplicate_flows)),
      buffer_(buffer_size) {}

void TraceWriter::begin(int rank) {
    const bool is_first = !texts_;
    process_ = process_of(device_, rank);
    texts_.emplace(catalogue_, device_, options_, process_);
    event_index_ = 0;
    if (is_first) append(texts_->make.document_begin());
}

void TraceWriter::write(Section section, const std::vector<Record>& records) {
    switch (section) {
        case Section::autograd_ops: write_ops(records, autograd_thread); break;
        case Section::main_ops: write_ops(records, main_thread); break;
        case Section::memory:
            if (!options_.memory_events) break;
            for (const Record& record : records)
                if (record.kind == RecordKind::memory) emit(texts_->memory, record, EventType::memory);
            break;
        case Section::frames:
            for (const Record& record : records) {
                if (record.kind != RecordKind::frame) continue;
                emit(cached(texts_->frames, record.what,
                            [&] { return texts_->make.frame(catalogue_.frames()[record.what]); }),
                     record, EventType::python_function);
            }
            break;
        case Section::device: write_device(records); break;
        case Section::legacy: write_legacy(records); break;
    }
}

void TraceWriter::write_ops(const std::vector<Record>& records, std::uint8_t thread) {
    for (const Record& record : records) {
        if (record.lane != thread || (record.kind != RecordKind::op && record.kind != RecordKind::annotation))
            continue;
        const OpInfo& info = catalogue_.ops()[record.what];
        emit(cached(texts_->ops, record.what, [&] { return texts_->make.op(info); }), record,
             info.is_annotation ? EventType::user_annotation : EventType::cpu_op);
        if (info.sequence == SequenceUse::forward_flow)
            emit(texts_->fwdbwd_start, record, EventType::fwdbwd_start);
        if (info.sequence == SequenceUse::backward_flow)
            emit(texts_->fwdbwd_finish, record, EventType::fwdbwd_finish);
    }
}

void TraceWriter::write_device(const std::vector<Record>& records) {
    // AMD's tracer hands over the host's calls first; NVIDIA's mixes both sides, the device's first.
    if (device_.is_amd())
        for (const Record& record : records)
            if (record.kind == RecordKind::call) write_call(record);
    for (std::size_t i = 0; i < records.size(); ++i) {
        switch (records[i].kind) {
            case RecordKind::work: write_work(records[i]); break;
            case RecordKind::sync:
                emit(texts_->syncs[records[i].what], records[i], EventType::sync);
                emit(texts_->device_flows[compute_stream], records[i], EventType::launch_finish);
                break;
            case RecordKind::overhead:
                emit(texts_->overheads[records[i].what], records[i], EventType::overhead);
                break;
            case RecordKind::call: {
                if (device_.is_amd()) break;
                const Record& call = records[i];
                for (; i + 1 < records.size() && records[i + 1].kind == RecordKind::work; ++i)
                    write_work(records[i + 1]);
                write_call(call);
                break;
            }
            default: break;
        }
    }
}

void TraceWriter::write_legacy(const std::vector<Record>& records) {
    std::vector<const Record*> opened;  // ops and annotations, whose external ids count up
    for (const Record& record : records) {
        if (record.kind == RecordKind::op || record.kind == RecordKind::annotation) {
            opened.push_back(&record);
            if (record.kind == RecordKind::annotation) continue;
            const std::string& name = catalogue_.ops()[record.what].name;
            emit(cached(texts_->ops, record.what, [&] { return texts_->make.legacy_event(name, false); }),
                 record, EventType::cpu_op);
        } else if (record.kind == RecordKind::work) {
            const WorkInfo& info = catalogue_.works()[record.what];
            const Record* op = opened.empty() || record.first < opened.front()->first
                                   ? nullptr
                                   : opened[static_cast<std::size_t>(record.first - opened.front()->first)];
            if (op != nullptr && op->kind == RecordKind::op) {
                Record flow = *op;
                flow.second = record.second;
                const std::string& name = catalogue_.ops()[op->what].name;
                emit(cached(texts_->legacy_starts, op->what,
                            [&] { return texts_->make.legacy_flow(name, true); }),
                     flow, EventType::launch_start);
            }
            emit(cached(texts_->legacy_finishes, record.what,
                        [&] { return texts_->make.legacy_flow(info.name, false); }),
                 record, EventType::launch_finish);
            emit(cached(texts_->works, record.what,
                        [&] { return texts_->make.legacy_event(info.name, true); }),
                 record, type_of(info));
            count_work(record);
        }
    }
}

void TraceWriter::write_call(const Record& record) {
    const CallInfo& info = catalogue_.calls()[record.what];
    const ApiFacts api = device_.api(info.api);
    emit(cached(texts_->calls, record.what, [&] { return texts_->make.call(info); }), record,
         api.is_driver ? EventType::driver : EventType::runtime);
    if (api.starts_flow) emit(texts_->launch_start, record, EventType::launch_start);
    // Without device work, or without a start on the call, the flow ends on the host.
    if (!api.starts_flow || info.work == no_index)
        emit(texts_->launch_finish, record, EventType::launch_finish);
    if (!has_duplicate_flows_ || !api.starts_flow || info.work == no_index) return;
    constexpr std::int64_t margin = 400;
    Record inner = record;
    inner.start += margin;
    inner.duration -= 2 * margin;
    emit(cached(texts_->inner_calls, record.what,
                [&] {
                    CallInfo inner_info = info;
                    inner_info.api = Api::launch_gemm;
                    return texts_->make.call(inner_info);
                }),
         inner, EventType::runtime);
    emit(texts_->launch_start, inner, EventType::launch_start);
}

void TraceWriter::write_work(const Record& record) {
    const WorkInfo& info = catalogue_.works()[record.what];
    const bool is_linked = record.first != 0;
    emit(cached(is_linked ? texts_->works : texts_->unlinked_works, record.what,
                [&] { return texts_->make.work(info, is_linked); }),
         record, type_of(info));
    emit(texts_->device_flows[record.lane], record, EventType::launch_finish);
    count_work(record);
}

void TraceWriter::count_work(const Record& record) {
    if (work_totals_.size() <= record.what) work_totals_.resize(catalogue_.works().size());
    ++work_totals_[record.what].count;
    work_totals_[record.what].total_ns += record.duration;
}

void TraceWriter::end_process(const std::vector<Record>& work_annotations, std::int64_t begin_ns,
                              std::int64_t end_ns) {
    if (has(options_, Defect::legacy_array)) return;
    for (const Record& record : work_annotations)
        emit(texts_->make.work_annotation(catalogue_.ops()[record.what], record.lane), record,
             EventType::gpu_user_annotation);
    if (has(options_, Defect::no_header_keys)) return;
    write_metadata(begin_ns + 170'400);
    Record span;
    span.start = begin_ns;
    span.duration = end_ns - begin_ns;
    const EventTemplates& make = texts_->make;
    emit(make.trace_span(), span, EventType::trace);
    emit(make.metadata("process_sort_index", "\"Spans\"", 0, "sort_index", "536870912"), span,
         EventType::metadata);
    emit(make.window_instant("Iteration Start: PyTorch Profiler", "Traces", "Trace PyTorch Profiler"), span,
         EventType::instant);
    span.start = end_ns + 1'900'000;
    emit(make.window_instant("Record Window End", "", ""), span, EventType::instant);
}

void TraceWriter::end() {
    append(texts_->make.document_end());
    append("\n");
    flush();
}

void TraceWriter::write_metadata(std::int64_t time) {
    Record record;
    record.start = time;
    const auto write = [&](const char* name, int process, int thread, const char* key,
                           const std::string& value) {
        emit(texts_->make.metadata(name, std::to_string(process), thread, key, value), record,
             EventType::metadata);
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
    process(process_.host, "CPU", process_.host);
    // Labels for 16 devices are always written, whether or not they exist.
    for (int gpu = 0; gpu < 16; ++gpu) process(gpu, "GPU " + std::to_string(gpu), 5'000'000 + gpu);
    const DeviceFacts& facts = device_.facts();
    const std::size_t streams = has(options_, Defect::cpu_only) ? 0
                                : options_.collectives          ? facts.streams.size()
                                                                : 1;
    for (std::size_t i = 0; i < streams; ++i)
        thread(process_.device, facts.streams[i], "stream " + std::to_string(facts.streams[i]) + ' ');
    const bool is_training = options_.workload == WorkloadKind::training;
    thread(process_.host, process_.threads[0], "thread " + texts_->threads[0] + " (python3)");
    if (is_training)
        thread(process_.host, process_.threads[1], "thread " + texts_->threads[1] + " (pt_autograd_0)");
}

template <class Make>
const Template& TraceWriter::cached(Cache& cache, std::size_t index, Make make) {
    if (cache.size() <= index) cache.resize(std::max(index + 1, cache.size() * 2));
    if (!cache[index]) cache[index] = make();
    return *cache[index];
}

void TraceWriter::emit(const Template& text, const Record& record, EventType type) {
    if (is_cut_) return;
    reserve(text.literals.size() + text.segments.size() * longest_number);
    const std::size_t begin = used_;
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
    ++counts_[static_cast<std::size_t>(type)];
    if (faults_ != nullptr && faults_->is_next(type)) put_faults(begin);
}

void TraceWriter::put_faults(std::size_t begin) {
    std::string text(buffer_.data() + begin, used_ - begin);
    used_ = begin;
    const bool goes_on = faults_->edit(text);
    append(text);
    is_cut_ = !goes_on;
}

char* TraceWriter::put(Slot slot, const Record& record, char* out) {
    switch (slot) {
        case Slot::none: return out;
        case Slot::thread: {
            const std::string& text = texts_->threads[record.lane];
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
    if (is_cut_) return;
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
    Summary result;
    result.bytes = bytes();
    result.events = sum(counts_);
    for (std::size_t i = 0; i < counts_.size(); ++i)
        if (counts_[i] > 0) result.kinds.push_back({std::string(event_type_names[i]), counts_[i]});
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
