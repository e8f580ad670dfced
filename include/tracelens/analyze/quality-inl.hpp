/// Bodies of analyze/quality.hpp: one member function a check, each one pass or one sort.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/analyze/quality.hpp>
#include <tracelens/analyze/timeline.hpp>
#include <tracelens/core/ascii.hpp>
#include <tracelens/core/decimal.hpp>
#include <tracelens/core/statistics.hpp>
#include <tracelens/core/text.hpp>

namespace tracelens {

namespace detail {

/// What the checks look at, and where they report.
class QualityChecker {
  public:
    QualityChecker(const Trace& trace, const Links& links, const CallTree& tree,
                   std::span<const GpuClass> classes, const QualityLimits& limits)
        : trace_(trace), links_(links), tree_(tree), classes_(classes), limits_(limits) {}

    Quality run() {
        for (const Diagnostic& entry : trace_.diagnostics.entries()) quality_.diagnostics.add(entry);
        collect();
        check_size();
        check_gpu_presence();
        check_corrupt_durations();
        check_shapes();
        check_call_stack();
        check_links();
        check_graphs();
        check_lost_launches();
        check_timeline();
        check_collection_stopped();
        check_clock_skew();
        check_stream_overlap();
        check_devices_and_ranks();
        check_instability();
        check_warmup();
        check_dropped_records();
        const Verdict worst = quality_.diagnostics.worst();
        quality_.outcome = worst == Verdict::note ? Verdict::ok : worst;
        return std::move(quality_);
    }

  private:
    struct Raise {
        const char* code;
        Verdict verdict;
        std::uint64_t count;
        std::string first;
        const char* remedy;
        std::optional<double> value = {};
        const char* unit = "";
        std::optional<double> limit = {};
        const char* area = "trace_quality";
    };

    void raise(const Raise& what) {
        quality_.diagnostics.add({what.area, what.code, what.verdict, what.count, what.first, what.remedy,
                                  what.value, what.unit, what.limit});
    }

    static double percent(double share) noexcept { return std::round(share * 1000) / 10; }

    /// The verdict of a share against ascending limits; nothing below the first.
    struct Step {
        double limit;
        Verdict verdict;
    };
    static std::optional<Step> reached(double share, std::initializer_list<Step> steps) {
        std::optional<Step> result;
        for (const Step& step : steps) {
            if (share > step.limit) result = step;
        }
        return result;
    }

    std::string name_of(EventId event) const { return shortened(trace_.name_of(event), 100); }

    std::string at_us(EventId event) const {
        return name_of(event) + " at " + fixed_decimals(trace_.to_us(trace_.start[event]), 3) + " us";
    }

    bool is_counted(EventId event) const { return quality_.excluded.empty() || !quality_.excluded[event]; }

    void collect() {
        for (EventId event = 0; event < trace_.size(); ++event) {
            const EventKind kind = trace_.kind[event];
            if (is_gpu_work(kind)) {
                gpu_.push_back(event);
                gpu_ticks_ = saturated_sum(gpu_ticks_, trace_.duration(event));
                if (links_.launch_of(event) != no_event) ++quality_.linked_gpu_events;
                const bool proper =
                    classes_[event] == GpuClass::computation || classes_[event] == GpuClass::communication;
                if (kind == EventKind::kernel && proper) ++quality_.kernels;
            } else if (is_runtime_call(kind)) {
                calls_.push_back(event);
            } else if (kind == EventKind::cpu_op) {
                ++ops_;
            } else if (kind == EventKind::python_function) {
                ++frames_;
            }
        }
        quality_.gpu_events = gpu_.size();
    }

    void check_size() {
        const char* const remedy = "record a longer window, after warm-up";
        if (trace_.size() == 0) {
            raise({"TRACE_SIZE", Verdict::fallback, 1, "the event array holds no complete event", remedy, 0,
                   "events", static_cast<double>(limits_.few_events), "profiling"});
        } else if (trace_.size() < limits_.few_events) {
            raise({"TRACE_SIZE", Verdict::degraded, 1, std::to_string(trace_.size()) + " complete events",
                   remedy, static_cast<double>(trace_.size()), "events",
                   static_cast<double>(limits_.few_events), "profiling"});
        } else if (trace_.stored_bytes != 0 && trace_.stored_bytes < limits_.small_file_bytes) {
            raise({"TRACE_SIZE", Verdict::note, 1, std::to_string(trace_.stored_bytes) + " bytes as stored",
                   remedy, static_cast<double>(trace_.stored_bytes), "bytes",
                   static_cast<double>(limits_.small_file_bytes), "profiling"});
        }
    }

    void check_gpu_presence() {
        if (quality_.kernels == 0) {
            raise({"NO_GPU_KERNELS",
                   Verdict::fallback,
                   1,
                   "no kernel among " + std::to_string(trace_.size()) + " complete events",
                   "enable the CUDA or ROCm activity in the profiler, together with CPU activity",
                   0,
                   "kernels",
                   {},
                   "profiling"});
        }
        if (!gpu_.empty() && ops_ == 0) {
            raise({"GPU_ONLY", Verdict::fallback, 1, "GPU events, but no op of the host",
                   "record CPU activity too, so that kernels can be tied to ops"});
        }
    }

    /// Spec 11.7: per stream, overrun of the next later start by an event of non-zero duration.
    void check_corrupt_durations() {
        std::vector<Ticks> stream_ticks(trace_.tracks.size(), 0);
        for (const EventId event : gpu_) {
            Ticks& sum = stream_ticks[to_index(trace_.track[event])];
            sum = saturated_sum(sum, trace_.duration(event));
        }
        struct Next {
            Ticks start = std::numeric_limits<Ticks>::max();  // of the nearest later event with a length
            Ticks later = std::numeric_limits<Ticks>::max();  // the same, behind equal starts
        };
        std::vector<Next> next(trace_.tracks.size());
        for (auto it = gpu_.rbegin(); it != gpu_.rend(); ++it) {
            const EventId event = *it;
            Next& stream = next[to_index(trace_.track[event])];
            const Ticks start = trace_.start[event];
            const Ticks following = stream.start > start ? stream.start : stream.later;
            if (following != std::numeric_limits<Ticks>::max()) {
                const Ticks over = trace_.end[event] - following;
                const double share =
                    static_cast<double>(over) /
                    static_cast<double>(std::max<Ticks>(1, stream_ticks[to_index(trace_.track[event])]));
                if (trace_.to_us(over) > limits_.corrupt_overrun_us &&
                    share > limits_.corrupt_overrun_share) {
                    quality_.corrupt.push_back(event);
                }
            }
            if (trace_.duration(event) > 0 && start < stream.start) stream = {start, stream.start};
        }
        if (quality_.corrupt.empty()) return;
        std::reverse(quality_.corrupt.begin(), quality_.corrupt.end());
        quality_.excluded.assign(trace_.size(), false);
        for (const EventId event : quality_.corrupt) quality_.excluded[event] = true;
        gpu_ticks_ = 0;
        for (const EventId event : gpu_) {
            if (is_counted(event)) gpu_ticks_ = saturated_sum(gpu_ticks_, trace_.duration(event));
        }
        const EventId first = quality_.corrupt.front();
        const double us = trace_.to_us(trace_.duration(first));
        raise({"CORRUPT_DURATION", Verdict::degraded, quality_.corrupt.size(),
               at_us(first) + " lasts " + fixed_decimals(us, 3) +
                   " us, across later work of its stream; left out of times",
               "profile again", us, "us", limits_.corrupt_overrun_us});
    }

    /// The op that launched a GPU event: the innermost one above its launch, or `no_node`.
    NodeId launching_op(EventId event) const noexcept {
        const EventId launch = links_.launch_of(event);
        if (launch == no_event) return no_node;
        NodeId op = trace_.kind[launch] == EventKind::cpu_op ? launch : tree_.enclosing_op(launch);
        while (op != no_node && tree_.name_text(op) == "execute") op = tree_.enclosing_op(op);
        return op;
    }

    void check_shapes() {
        Ticks under_ops = 0;
        Ticks without = 0;
        std::vector<std::uint8_t> has_dims(trace_.signatures.size(), 2);  // 2: not looked at yet
        for (const EventId event : gpu_) {
            if (!is_counted(event)) continue;
            const NodeId op = launching_op(event);
            if (op == no_node) continue;
            std::uint8_t& known = has_dims[to_index(tree_.args(op))];
            if (known == 2)
                known = find_arg(trace_.signatures, trace_.strings, tree_.args(op), "Input Dims") ? 1 : 0;
            under_ops = saturated_sum(under_ops, trace_.duration(event));
            if (known == 0) without = saturated_sum(without, trace_.duration(event));
        }
        if (under_ops == 0) return;
        const double share = static_cast<double>(without) / static_cast<double>(under_ops);
        const auto step = reached(
            share, {{limits_.shapes_note, Verdict::note}, {limits_.shapes_degraded, Verdict::degraded}});
        if (!step) return;
        raise({"MISSING_CPU_OP_SHAPES", step->verdict, 1,
               fixed_decimals(share * 100, 1) + "% of GPU time is launched by ops without Input Dims",
               "record with record_shapes=True", percent(share), "% of GPU time", percent(step->limit)});
    }

    void check_call_stack() {
        if (frames_ != 0) return;
        raise({"NO_CALL_STACK", Verdict::note, 1, "no Python frames",
               "record with with_stack=True to get module names and launch sites"});
    }

    void check_links() {
        if (gpu_.empty() || gpu_ticks_ == 0) return;
        EventId first_linked = no_event;
        for (const EventId event : gpu_) {
            if (links_.launch_of(event) == no_event) continue;
            first_linked = event;
            break;
        }
        Ticks leading = 0;
        Ticks interleaved = 0;
        std::uint64_t count = 0;
        EventId first = no_event;
        for (const EventId event : gpu_) {
            if (!is_counted(event) || links_.launch_of(event) != no_event) continue;
            ++count;
            if (first == no_event) first = event;
            Ticks& part = first_linked != no_event && event < first_linked ? leading : interleaved;
            part = saturated_sum(part, trace_.duration(event));
        }
        const auto share = [&](Ticks part) {
            return static_cast<double>(part) / static_cast<double>(gpu_ticks_);
        };
        quality_.unlinked_share = share(saturated_sum(leading, interleaved));
        if (count == 0) return;
        const auto step = reached(share(interleaved), {{limits_.unlinked_note, Verdict::note},
                                                       {limits_.unlinked_degraded, Verdict::degraded},
                                                       {limits_.unlinked_fallback, Verdict::fallback}});
        const bool spill = share(leading) > limits_.leading_unlinked_note;
        if (!step && !spill) return;
        std::string what = fixed_decimals(quality_.unlinked_share * 100, 1) +
                           "% of GPU time has no launch in the trace (" +
                           fixed_decimals(share(leading) * 100, 1) + "% before the first linked event, " +
                           fixed_decimals(share(interleaved) * 100, 1) + "% between linked ones)";
        if (first_linked == no_event) what += "; no GPU event has one, so the window is all GPU events";
        raise({"UNLINKED_KERNELS", step ? step->verdict : Verdict::note, count,
               what + ", first " + at_us(first),
               "start the profiler after a device synchronisation, with CPU and GPU activity on",
               percent(quality_.unlinked_share), "% of GPU time",
               percent(step ? step->limit : limits_.leading_unlinked_note)});
    }

    static bool is_graph_launch(std::string_view name) noexcept {
        return name.find("GraphLaunch") != std::string_view::npos;
    }

    void check_graphs() {
        std::uint64_t launches = 0;
        EventId first = no_event;
        EventId last = no_event;
        for (const EventId call : calls_) {
            if (!is_graph_launch(trace_.name_of(call))) continue;
            if (first == no_event) first = call;
            last = call;
            ++launches;
        }
        if (launches == 0) return;
        Ticks in_graphs = 0;
        for (const EventId event : gpu_) {
            const EventId launch = links_.launch_of(event);
            if (is_counted(event) && launch != no_event && is_graph_launch(trace_.name_of(launch))) {
                in_graphs = saturated_sum(in_graphs, trace_.duration(event));
            }
        }
        if (gpu_ticks_ != 0)
            quality_.graph_share = static_cast<double>(in_graphs) / static_cast<double>(gpu_ticks_);
        const std::string share = fixed_decimals(quality_.graph_share * 100, 1) + "% of GPU time";
        const char* const remedy = "supply the capture traces of the graphs, or profile eager mode";
        raise({"GPU_GRAPH_REPLAY", Verdict::degraded, launches,
               share + " is launched by graph launches, first " + at_us(first), remedy,
               percent(quality_.graph_share), "% of GPU time", 0});
        if (quality_.graph_share > limits_.graph_fallback) {
            raise({"GRAPH_UNDER_RECORDED", Verdict::fallback, 1,
                   share + " runs inside graph replays, whose ops, shapes and launch sites are not recorded",
                   remedy, percent(quality_.graph_share), "% of GPU time", percent(limits_.graph_fallback)});
        }
        const std::optional<GpuTimeline> times = linked_timeline();
        if (!times || times->total == 0) return;
        const double idle = static_cast<double>(times->idle) / static_cast<double>(times->total);
        const double cover =
            static_cast<double>(trace_.end[last] - trace_.start[first]) / static_cast<double>(times->total);
        if (idle > limits_.graph_idle && cover > limits_.graph_launch_cover) {
            raise({"IDLE_UNRELIABLE", Verdict::degraded, 1,
                   fixed_decimals(idle * 100, 1) + "% idle while graph launches span the window",
                   "kernels inside graph replays were not recorded; idle time is not used", percent(idle),
                   "% of the window", percent(limits_.graph_idle)});
        }
    }

    std::optional<GpuTimeline> linked_timeline() const {
        return gpu_timeline(
            trace_, timeline_events(trace_, links_, quality_.linked_gpu_events == 0, quality_.excluded),
            classes_);
    }

    static bool is_kernel_launch(std::string_view name) noexcept {
        return name.find("LaunchKernel") != std::string_view::npos;
    }

    /// In a file that ends early missing GPU events say nothing about the profiler: some tracers write them
    /// last.
    bool is_cut() const { return trace_.diagnostics.find("TRUNCATED") != nullptr; }
    Verdict unless_cut(Verdict verdict) const { return is_cut() ? Verdict::note : verdict; }
    const char* unless_cut(const char* remedy) const {
        return is_cut() ? "the file is cut; copy it again, whole" : remedy;
    }

    /// Launch calls whose kernel is missing: a capture trace when a capture is seen, else an overflow of the
    /// profiler.
    void check_lost_launches() {
        if (gpu_.empty()) return;
        std::uint64_t launches = 0;
        std::uint64_t lost = 0;
        EventId first = no_event;
        bool captures = false;
        // A call without work of its own may share its id with one that has it: some tracers report a launch
        // twice.
        std::vector<std::int64_t> ids;
        for (const EventId event : gpu_) ids.push_back(trace_.launch_fields(event).correlation);
        std::sort(ids.begin(), ids.end());
        for (const EventId call : calls_) {
            const std::string_view name = trace_.name_of(call);
            if (name.find("StreamBeginCapture") != std::string_view::npos) captures = true;
            if (!is_kernel_launch(name)) continue;
            ++launches;
            const std::int64_t id = trace_.launch_fields(call).correlation;
            const bool shared = id > 0 && std::binary_search(ids.begin(), ids.end(), id);
            if (shared || !links_.launched_by(call).empty()) continue;
            ++lost;
            if (first == no_event) first = call;
        }
        if (lost == 0) return;
        const double share = static_cast<double>(lost) / static_cast<double>(launches);
        const std::string what = std::to_string(lost) + " of " + std::to_string(launches) +
                                 " kernel launches have no GPU event, first " + at_us(first);
        if (captures && share > limits_.lost_launch_fallback) {
            raise({"CAPTURE_TRACE", Verdict::fallback, lost, what + "; a stream capture is recorded",
                   "this is a capture trace: pass it with --capture beside the replay trace", percent(share),
                   "% of launches", percent(limits_.lost_launch_fallback)});
            return;
        }
        if (captures) return;
        const auto step = reached(share, {{limits_.lost_launch_note, Verdict::note},
                                          {limits_.lost_launch_degraded, Verdict::degraded},
                                          {limits_.lost_launch_fallback, Verdict::fallback}});
        if (!step) return;
        raise({"DROPPED_RECORDS", unless_cut(step->verdict), lost, what,
               unless_cut("profile fewer steps, or enlarge the profiler's buffers"), percent(share),
               "% of launches", percent(step->limit)});
    }

    void check_timeline() {
        const std::optional<GpuTimeline> times = linked_timeline();
        if (!times) return;
        const double idle =
            times->total == 0 ? 0 : static_cast<double>(times->idle) / static_cast<double>(times->total);
        if (idle > limits_.high_idle) {
            raise({"HIGH_IDLE", Verdict::note, 1,
                   "the GPU idles for " + fixed_decimals(idle * 100, 1) + "% of the window",
                   "see the system-level items of the report", percent(idle), "% of the window",
                   percent(limits_.high_idle)});
        }
        const double busy_us = trace_.to_us(times->busy);
        if (busy_us < limits_.short_busy_us || quality_.kernels < limits_.few_kernels) {
            raise({"SHORT_WINDOW", Verdict::note, 1,
                   std::to_string(quality_.kernels) + " kernels, " + fixed_decimals(busy_us / 1000, 3) +
                       " ms of GPU time",
                   "profile at least three steady steps", busy_us, "us", limits_.short_busy_us});
        }
    }

    void check_collection_stopped() {
        if (gpu_.empty()) return;
        Ticks last_end = 0;
        for (const EventId event : gpu_) {
            if (is_counted(event)) last_end = std::max(last_end, trace_.end[event]);
        }
        Ticks last_launch = 0;
        for (const EventId call : calls_) {
            if (is_kernel_launch(trace_.name_of(call)))
                last_launch = std::max(last_launch, trace_.start[call]);
        }
        const Ticks window = std::max(last_end, last_launch) - trace_.start[gpu_.front()];
        if (window <= 0 || last_launch <= last_end) return;
        const double share = static_cast<double>(last_launch - last_end) / static_cast<double>(window);
        const auto step = reached(
            share, {{limits_.stopped_note, Verdict::note}, {limits_.stopped_degraded, Verdict::degraded}});
        if (!step) return;
        raise({"GPU_COLLECTION_STOPPED", unless_cut(step->verdict), 1,
               "kernels are launched for " + fixed_decimals(trace_.to_us(last_launch - last_end), 3) +
                   " us after the last recorded GPU event",
               unless_cut("profile fewer steps, so that the profiler's buffers do not overflow"),
               percent(share), "% of the window", percent(step->limit)});
    }

    void check_clock_skew() {
        if (quality_.linked_gpu_events == 0) return;
        std::uint64_t early = 0;
        EventId first = no_event;
        for (const EventId event : gpu_) {
            const EventId launch = links_.launch_of(event);
            if (launch == no_event ||
                trace_.to_us(trace_.start[launch] - trace_.start[event]) <= limits_.skew_us)
                continue;
            ++early;
            if (first == no_event) first = event;
        }
        const double share = static_cast<double>(early) / static_cast<double>(quality_.linked_gpu_events);
        const auto step =
            reached(share, {{limits_.skew_note, Verdict::note}, {limits_.skew_degraded, Verdict::degraded}});
        if (!step) return;
        raise({"CLOCK_SKEW", step->verdict, early,
               "GPU events start before their launch, first " + at_us(first),
               "update the profiler; host and GPU clocks disagree", percent(share), "% of GPU events",
               percent(step->limit)});
    }

    void check_stream_overlap() {
        std::vector<Ticks> reached_end(trace_.tracks.size(), std::numeric_limits<Ticks>::min());
        std::uint64_t overlaps = 0;
        EventId first = no_event;
        for (const EventId event : gpu_) {
            if (!is_counted(event)) continue;
            Ticks& end = reached_end[to_index(trace_.track[event])];
            if (end != std::numeric_limits<Ticks>::min() &&
                trace_.to_us(std::min(end, trace_.end[event]) - trace_.start[event]) > limits_.overlap_us) {
                ++overlaps;
                if (first == no_event) first = event;
            }
            end = std::max(end, trace_.end[event]);
        }
        if (overlaps == 0) return;
        const double share = static_cast<double>(overlaps) / static_cast<double>(gpu_.size());
        const bool many = share > limits_.overlap_degraded;
        raise({"STREAM_OVERLAP", many ? Verdict::degraded : Verdict::note, overlaps,
               "GPU events overlap earlier ones of their stream, first " + at_us(first),
               "check how the streams were recorded; work of one stream runs in order", percent(share),
               "% of GPU events", percent(limits_.overlap_degraded)});
    }

    void check_devices_and_ranks() {
        std::set<std::pair<std::int64_t, std::int64_t>> devices;
        std::set<std::int64_t> ranks;
        std::set<std::uint32_t> processes;
        const std::vector<std::uint32_t> process_of = processes_of_tracks(trace_);
        for (const EventId event : gpu_) {
            const Track& track = trace_.track_of(event);
            devices.emplace(track.rank, track.device);
            if (track.rank != no_number) ranks.insert(track.rank);
            const EventId launch = links_.launch_of(event);
            if (launch != no_event) processes.insert(process_of[to_index(trace_.track[launch])]);
        }
        if (devices.size() > 1) {
            raise({"MULTI_DEVICE", Verdict::note, devices.size(),
                   std::to_string(devices.size()) + " devices in one trace",
                   "times are given for each device, too"});
        }
        const std::size_t parties = std::max(ranks.size(), processes.size());
        if (parties > 1) {
            raise({"MULTI_RANK", Verdict::note, parties,
                   std::to_string(parties) + " ranks or processes launch GPU work",
                   "ids are matched within a rank only"});
        }
    }

    bool has_corrupt_work(NodeId op) const {
        if (quality_.excluded.empty()) return false;
        const std::span<const EventId> below = tree_.gpu_events(op);
        return std::any_of(below.begin(), below.end(),
                           [&](EventId event) { return quality_.excluded[event]; });
    }

    /// Ops of one name and signature whose GPU time varies much from instance to instance.
    void check_instability() {
        struct Group {
            NodeId op;
            std::vector<double> us;
        };
        KeyGrouper keys;
        std::vector<Group> groups;
        std::vector<NodeId> launching;
        for (const EventId call : links_.calls()) {
            const NodeId op = trace_.kind[call] == EventKind::cpu_op ? call : tree_.enclosing_op(call);
            if (op != no_node) launching.push_back(op);
        }
        std::sort(launching.begin(), launching.end());
        launching.erase(std::unique(launching.begin(), launching.end()), launching.end());
        for (const NodeId op : launching) {
            if (has_corrupt_work(op)) continue;
            const std::uint32_t group = keys.group_of(to_index(tree_.name(op)), to_index(tree_.args(op)));
            if (group == groups.size()) groups.push_back({op, {}});
            groups[group].us.push_back(trace_.to_us(tree_.gpu_ticks(op)));
        }
        std::uint64_t unstable = 0;
        const Group* worst = nullptr;
        for (const Group& group : groups) {
            if (group.us.size() < limits_.unstable_instances || mean(group.us) <= 0) continue;
            if (standard_deviation(group.us, Ddof::sample) / mean(group.us) <= limits_.unstable_variation)
                continue;
            ++unstable;
            if (worst == nullptr || sum(group.us) > sum(worst->us)) worst = &group;
        }
        if (unstable == 0) return;
        const double variation = standard_deviation(worst->us, Ddof::sample) / mean(worst->us);
        raise({"RUNTIME_INSTABILITY", Verdict::note, unstable,
               "ops whose GPU time varies; largest by time: " + shortened(tree_.name_text(worst->op), 100) +
                   ", " + std::to_string(worst->us.size()) + " instances, std/mean " +
                   fixed_decimals(variation, 2),
               "compare instances before trusting their mean", variation, "std/mean",
               limits_.unstable_variation});
    }

    void check_warmup() {
        std::vector<double> steps;
        for (EventId event = 0; event < trace_.size(); ++event) {
            const bool step = trace_.kind[event] == EventKind::user_annotation &&
                              trace_.name_of(event).substr(0, 13) == "ProfilerStep#";
            if (step) steps.push_back(trace_.to_us(trace_.duration(event)));
        }
        if (steps.size() < 2) return;
        const double middle = median(steps);
        if (middle <= 0 || steps.front() <= limits_.warmup_factor * middle) return;
        raise({"WARMUP_INCLUDED", Verdict::note, 1,
               "the first step takes " + fixed_decimals(steps.front() / middle, 1) + " times the median step",
               "skip warm-up steps in the profiler's schedule", steps.front() / middle, "times the median",
               limits_.warmup_factor});
    }

    void check_dropped_records() {
        const auto reports = [](std::string_view text) {
            return contains_ignoring_case(text, "dropped") || contains_ignoring_case(text, "overflow");
        };
        std::uint64_t count = 0;
        std::string first;
        const auto look = [&](StringId name) {
            if (!reports(trace_.text(name))) return;
            if (count++ == 0) first = shortened(trace_.text(name), 100);
        };
        for (const Instant& instant : trace_.instants) look(instant.name);
        for (const MetadataEvent& event : trace_.metadata) look(event.name);
        if (count == 0) return;
        raise({"DROPPED_RECORDS", Verdict::degraded, count, "the profiler reports lost records: " + first,
               "enlarge the profiler's buffers, or profile fewer steps"});
    }

    const Trace& trace_;
    const Links& links_;
    const CallTree& tree_;
    std::span<const GpuClass> classes_;
    const QualityLimits& limits_;
    Quality quality_;
    std::vector<EventId> gpu_;
    std::vector<EventId> calls_;
    std::uint64_t ops_ = 0;
    std::uint64_t frames_ = 0;
    Ticks gpu_ticks_ = 0;
};

}  // namespace detail

inline Quality assess_quality(const Trace& trace, const Links& links, const CallTree& tree,
                              std::span<const GpuClass> classes, const QualityLimits& limits) {
    return detail::QualityChecker(trace, links, tree, classes, limits).run();
}

}  // namespace tracelens
