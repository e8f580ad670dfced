/// Which call launched which GPU work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/core/ascii.hpp>
#include <tracelens/core/sort.hpp>
#include <tracelens/core/table.hpp>
#include <tracelens/model/trace.hpp>

namespace tracelens {

enum class LinkRule : std::uint8_t {
    /// By correlation id within one rank; flows where ids are missing (spec 11, section 7). A trace whose
    /// calls have no
    /// correlation ids at all is linked by `External id`.
    correlation,
    /// By `ac2g` flows, as the reference does (spec 01, sections 5 and 7).
    reference_flows,
};

/// Launches of GPU work, both ways. Index by EventId; events that are neither have empty entries.
class Links {
  public:
    /// The call that launched a GPU event (a runtime call, or an op in traces without runtime calls), or
    /// `no_event`.
    EventId launch_of(EventId gpu_event) const noexcept {
        return gpu_event < launch_.size() ? launch_[gpu_event] : no_event;
    }

    /// The GPU events that a call launched, in file order.
    std::span<const EventId> launched_by(EventId call) const noexcept {
        const auto at = std::lower_bound(calls_.begin(), calls_.end(), call);
        if (at == calls_.end() || *at != call) return {};
        const auto index = static_cast<std::size_t>(at - calls_.begin());
        return {gpu_events_.data() + starts_[index], starts_[index + 1] - starts_[index]};
    }

    /// Calls that launched something, ascending.
    std::span<const EventId> calls() const noexcept { return calls_; }

    /// GPU events with a launch.
    std::size_t size() const noexcept { return gpu_events_.size(); }

    /// `launch[e]` is the call that launched event e, or `no_event`.
    static Links from(const Trace& trace, std::vector<EventId> launch) {
        Links links;
        for (EventId event = 0; event < launch.size(); ++event) {
            if (launch[event] != no_event) links.gpu_events_.push_back(event);
        }
        std::sort(links.gpu_events_.begin(), links.gpu_events_.end(), [&](EventId a, EventId b) {
            if (launch[a] != launch[b]) return launch[a] < launch[b];
            return trace.file_index[a] < trace.file_index[b];
        });
        for (std::uint32_t i = 0; i < links.gpu_events_.size(); ++i) {
            const EventId call = launch[links.gpu_events_[i]];
            if (!links.calls_.empty() && links.calls_.back() == call) continue;
            links.calls_.push_back(call);
            links.starts_.push_back(i);
        }
        links.starts_.push_back(static_cast<std::uint32_t>(links.gpu_events_.size()));
        links.launch_ = std::move(launch);
        return links;
    }

  private:
    std::vector<EventId> launch_;
    std::vector<EventId> calls_;
    std::vector<std::uint32_t> starts_;
    std::vector<EventId> gpu_events_;
};

namespace detail {

/// Position of every (process, rank) pair among the distinct ones, by track.
inline std::vector<std::uint32_t> processes_of_tracks(const Trace& trace) {
    KeyGrouper parts;
    KeyGrouper processes;
    std::vector<std::uint32_t> result(trace.tracks.size());
    for (std::uint32_t i = 0; i < result.size(); ++i) {
        const Track& track = trace.tracks[TrackId{i}];
        const std::uint32_t pid = parts.group_of(static_cast<std::uint64_t>(track.pid.value),
                                                 static_cast<std::uint64_t>(track.pid.form));
        result[i] = processes.group_of(pid, static_cast<std::uint64_t>(track.rank));
    }
    return result;
}

/// Links by correlation id, or by `External id` where no call has a correlation. Ids of 0 and below are no
/// ids.
class CorrelationLinker {
  public:
    explicit CorrelationLinker(const Trace& trace) : trace_(trace), processes_(processes_of_tracks(trace)) {}

    std::vector<EventId> link() {
        launch_.assign(trace_.size(), no_event);
        collect_calls();
        collect_gpu_events();
        vote();
        for_each_id([this](std::span<const EventId> gpu_events, std::span<const EventId> calls) {
            choose(gpu_events, calls);
        });
        link_by_flows();
        return std::move(launch_);
    }

  private:
    void collect_calls() {
        std::vector<EventId> runtime;
        for (EventId event = 0; event < trace_.size(); ++event) {
            if (is_runtime_call(trace_.kind[event])) runtime.push_back(event);
        }
        by_external_id_ = std::none_of(runtime.begin(), runtime.end(), [this](EventId call) {
            return trace_.launch_fields(call).correlation > 0;
        });
        for (const EventId call : runtime) {
            if (id_of(call) > 0) calls_.push_back(call);
        }
        sort_by(calls_, [this](EventId call) { return id_of(call); });
    }

    void collect_gpu_events() {
        for (EventId event = 0; event < trace_.size(); ++event) {
            if (is_gpu_work(trace_.kind[event]) && id_of(event) > 0) gpu_events_.push_back(event);
        }
        sort_by(gpu_events_, [this](EventId event) { return trace_.track_of(event).rank; });
        sort_by(gpu_events_, [this](EventId event) { return id_of(event); });
    }

    /// Stable, so that equal keys stay in order of time.
    template <class Key>
    static void sort_by(std::vector<EventId>& events, const Key& key) {
        std::vector<std::int64_t> keys(events.size());
        for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = key(events[i]);
        const std::vector<std::uint32_t> order = stable_order(keys);
        std::vector<EventId> sorted(events.size());
        for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = events[order[i]];
        events = std::move(sorted);
    }

    std::int64_t id_of(EventId event) const noexcept {
        const LaunchFields& fields = trace_.launch_fields(event);
        return by_external_id_ ? fields.external_id : fields.correlation;
    }

    /// Calls `use(gpu_events, calls)` for the GPU events of every id and rank and the calls that may have
    /// launched them: those with the id that are not of another rank. Both are in order of time.
    template <class Use>
    void for_each_id(const Use& use) {
        std::size_t first_call = 0;
        std::vector<EventId> same_rank;
        for (std::size_t begin = 0, end = 0; begin < gpu_events_.size(); begin = end) {
            const std::int64_t id = id_of(gpu_events_[begin]);
            const std::int64_t rank = trace_.track_of(gpu_events_[begin]).rank;
            const auto belongs = [&](EventId event) {
                return id_of(event) == id && trace_.track_of(event).rank == rank;
            };
            while (end < gpu_events_.size() && belongs(gpu_events_[end])) ++end;
            while (first_call < calls_.size() && id_of(calls_[first_call]) < id) ++first_call;
            std::size_t last_call = first_call;
            while (last_call < calls_.size() && id_of(calls_[last_call]) == id) ++last_call;
            std::span<const EventId> calls(calls_.data() + first_call, last_call - first_call);
            if (rank != no_number) {
                same_rank.clear();
                for (const EventId call : calls) {
                    const std::int64_t of_call = trace_.track_of(call).rank;
                    if (of_call == rank || of_call == no_number) same_rank.push_back(call);
                }
                calls = same_rank;
            }
            if (!calls.empty()) use(std::span(gpu_events_).subspan(begin, end - begin), calls);
        }
    }

    /// Which process launches on which device: ids that only one process uses decide. Where every id is used
    /// by several, the last call before the event in the file counts, for merged files hold one rank after
    /// the other.
    void vote() {
        std::vector<std::uint64_t> certain;
        std::vector<std::uint64_t> likely;
        std::vector<EventId> in_file;
        for_each_id([&](std::span<const EventId> gpu_events, std::span<const EventId> calls) {
            const std::uint32_t process = process_of(calls.front());
            const bool one_process = std::all_of(calls.begin(), calls.end(),
                                                 [&](EventId call) { return process_of(call) == process; });
            ambiguous_ = ambiguous_ || !one_process;
            if (!one_process) {
                in_file.assign(calls.begin(), calls.end());
                std::sort(in_file.begin(), in_file.end(), [this](EventId a, EventId b) {
                    return trace_.file_index[a] < trace_.file_index[b];
                });
            }
            for (const EventId event : gpu_events) {
                const std::uint32_t device =
                    devices_.group_of(static_cast<std::uint64_t>(trace_.track_of(event).device));
                std::vector<std::uint64_t>& votes = one_process ? certain : likely;
                const EventId call = one_process ? calls.front() : last_before(event, in_file, calls.front());
                votes.push_back(std::uint64_t{device} << 32 | process_of(call));
            }
        });
        if (!ambiguous_) return;
        process_of_device_.assign(devices_.size(), no_process);
        elect(likely);
        elect(certain);
    }

    void elect(std::vector<std::uint64_t>& votes) {
        std::sort(votes.begin(), votes.end());
        std::vector<std::size_t> best(process_of_device_.size(), 0);
        for (std::size_t i = 0; i < votes.size();) {
            std::size_t end = i;
            while (end < votes.size() && votes[end] == votes[i]) ++end;
            const auto device = static_cast<std::size_t>(votes[i] >> 32);
            if (end - i > best[device]) {
                best[device] = end - i;
                process_of_device_[device] = static_cast<std::uint32_t>(votes[i]);
            }
            i = end;
        }
    }

    std::uint32_t process_of(EventId event) const noexcept {
        return processes_[to_index(trace_.track[event])];
    }

    /// The last of `in_file` (calls in file order) that stands before the event in the file, else
    /// `otherwise`.
    EventId last_before(EventId event, std::span<const EventId> in_file, EventId otherwise) const {
        const auto after = std::lower_bound(
            in_file.begin(), in_file.end(), event,
            [this](EventId call, EventId of) { return trace_.file_index[call] < trace_.file_index[of]; });
        return after == in_file.begin() ? otherwise : *(after - 1);
    }

    /// The nearest call that starts before an event, in the device's process if that has any; else the first
    /// call.
    void choose(std::span<const EventId> gpu_events, std::span<const EventId> calls) {
        const auto nearest = [this](EventId event, std::span<const EventId> eligible) {
            const auto after = std::upper_bound(
                eligible.begin(), eligible.end(), event,
                [this](EventId of, EventId call) { return trace_.start[of] < trace_.start[call]; });
            return after == eligible.begin() ? eligible.front() : *(after - 1);
        };
        if (!ambiguous_) {
            for (const EventId event : gpu_events) launch_[event] = nearest(event, calls);
            return;
        }
        std::vector<EventId> by_process(calls.begin(), calls.end());
        std::stable_sort(by_process.begin(), by_process.end(),
                         [this](EventId a, EventId b) { return process_of(a) < process_of(b); });
        for (const EventId event : gpu_events) {
            const std::uint32_t process = process_of_device_[devices_.group_of(
                static_cast<std::uint64_t>(trace_.track_of(event).device))];
            const auto first = std::partition_point(by_process.begin(), by_process.end(),
                                                    [&](EventId call) { return process_of(call) < process; });
            const auto last = std::partition_point(first, by_process.end(),
                                                   [&](EventId call) { return process_of(call) == process; });
            launch_[event] = nearest(event, first == last ? calls : std::span<const EventId>(first, last));
        }
    }

    /// Flows tie what ids do not: the finish sits on the GPU event, the start on the call or op.
    void link_by_flows() {
        std::vector<EventId> unlinked;
        for (EventId event = 0; event < trace_.size(); ++event) {
            if (is_gpu_work(trace_.kind[event]) && launch_[event] == no_event) unlinked.push_back(event);
        }
        if (unlinked.empty() || trace_.flows.empty()) return;
        struct Start {
            std::pair<std::int64_t, std::int64_t> key;  // rank, id
            const Flow* flow;
        };
        const auto key_of = [&](const Flow& flow) {
            return std::pair{trace_.tracks[flow.track].rank, flow.id};
        };
        std::vector<Start> starts;
        for (const Flow& flow : trace_.flows) {
            if (flow.phase == 's' && is_launch_flow(flow)) starts.push_back({key_of(flow), &flow});
        }
        std::stable_sort(starts.begin(), starts.end(),
                         [](const Start& a, const Start& b) { return a.key < b.key; });
        const std::vector<std::uint32_t> lanes = lanes_of_tracks(trace_.tracks);
        const auto place = [&](TrackId track, Ticks time) { return std::pair{lanes[to_index(track)], time}; };
        const auto place_of = [&](EventId event) { return place(trace_.track[event], trace_.start[event]); };
        std::sort(unlinked.begin(), unlinked.end(),
                  [&](EventId a, EventId b) { return place_of(a) < place_of(b); });
        std::vector<EventId> hosts;
        for (EventId event = 0; event < trace_.size(); ++event) {
            if (is_runtime_call(trace_.kind[event]) || trace_.kind[event] == EventKind::cpu_op)
                hosts.push_back(event);
        }
        std::stable_sort(hosts.begin(), hosts.end(),
                         [&](EventId a, EventId b) { return place_of(a) < place_of(b); });
        const auto find_all = [&](const std::vector<EventId>& events, const Flow& flow) {
            const auto key = place(flow.track, flow.time);
            const auto first = std::partition_point(events.begin(), events.end(),
                                                    [&](EventId event) { return place_of(event) < key; });
            const auto last = std::partition_point(first, events.end(),
                                                   [&](EventId event) { return place_of(event) == key; });
            return std::pair{first, last};
        };
        // Backwards: of several flows to one place the last one counts.
        for (auto flow = trace_.flows.rbegin(); flow != trace_.flows.rend(); ++flow) {
            if (flow->phase != 'f' || !is_launch_flow(*flow)) continue;
            const auto [gpu_first, gpu_last] = find_all(unlinked, *flow);
            if (gpu_first == gpu_last || launch_[*gpu_first] != no_event) continue;
            const auto start =
                std::lower_bound(starts.begin(), starts.end(), key_of(*flow),
                                 [](const Start& each, const auto& key) { return each.key < key; });
            if (start == starts.end() || start->key != key_of(*flow)) continue;
            const auto [host_first, host_last] = find_all(hosts, *start->flow);
            if (host_first == host_last) continue;
            const EventId host = *(host_last - 1);  // the innermost of those that start together
            for (auto gpu = gpu_first; gpu != gpu_last; ++gpu) launch_[*gpu] = host;
        }
    }

    bool is_launch_flow(const Flow& flow) const noexcept {
        const std::string_view category = trace_.text(flow.category);
        return category == "ac2g" || category == "cpu_to_cuda" || category == "async_cpu_to_gpu";
    }

    static constexpr std::uint32_t no_process = 0xffffffffU;

    const Trace& trace_;
    std::vector<std::uint32_t> processes_;
    std::vector<EventId> calls_;       // by id, then time
    std::vector<EventId> gpu_events_;  // by id, then rank, then time
    KeyGrouper devices_;
    bool by_external_id_ = false;
    bool ambiguous_ = false;
    std::vector<std::uint32_t> process_of_device_;
    std::vector<EventId> launch_;
};

/// Links as the reference does: spec 01, sections 5.3, 5.5 and 7.
class ReferenceLinker {
  public:
    explicit ReferenceLinker(const Trace& trace) : trace_(trace), lanes_(lanes_of_tracks(trace.tracks)) {}

    std::vector<EventId> link() {
        choose_key();
        std::vector<EventId> launch(trace_.size(), no_event);
        const auto by_file = [&](EventId a, EventId b) {
            return trace_.file_index[a] < trace_.file_index[b];
        };

        // Last event of a (lane, id), the last flow start and finish of an id: later ones overwrite.
        KeyGrouper places;
        std::vector<EventId> at_place;
        KeyGrouper graph_ids;
        std::vector<std::vector<EventId>> gpu_by_id;
        std::vector<EventId> calls;
        std::vector<EventId> linked_kinds;
        for (EventId event = 0; event < trace_.size(); ++event) {
            const FieldFamily family = field_family(trace_.kind[event]);
            const bool annotates = !by_correlation_ && family == FieldFamily::op;
            if (family == FieldFamily::launch || annotates) linked_kinds.push_back(event);
        }
        std::sort(linked_kinds.begin(), linked_kinds.end(), by_file);
        for (const EventId event : linked_kinds) {
            if (is_runtime_call(trace_.kind[event])) calls.push_back(event);
            const std::int64_t id = id_of(event);
            if (id == no_number) continue;
            put(places, at_place, lanes_[to_index(trace_.track[event])], id, event, no_event);
            if (!is_gpu_work(trace_.kind[event])) continue;
            const std::uint32_t group = graph_ids.group_of(static_cast<std::uint64_t>(id));
            if (group == gpu_by_id.size()) gpu_by_id.emplace_back();
            gpu_by_id[group].push_back(event);
        }
        KeyGrouper flow_ids;
        std::vector<const Flow*> starts;
        std::vector<const Flow*> ends;
        for (const Flow& flow : trace_.flows) {
            if (trace_.text(flow.category) != "ac2g") continue;
            if (flow.phase != 's' && flow.phase != 'f') continue;
            const std::uint32_t group = flow_ids.group_of(static_cast<std::uint64_t>(flow.id));
            if (group == starts.size()) {
                starts.push_back(nullptr);
                ends.push_back(nullptr);
            }
            (flow.phase == 's' ? starts : ends)[group] = &flow;
        }
        const std::size_t known_flows = starts.size();
        const std::size_t known_places = at_place.size();
        const std::size_t known_ids = gpu_by_id.size();
        // Of several graph launches with one id the last one gets the graph's events.
        std::vector<EventId> last_graph_launch(known_ids, no_event);
        for (const EventId call : calls) {
            const std::int64_t id = id_of(call);
            if (id == no_number || !is_graph_launch(trace_.name_of(call))) continue;
            const std::uint32_t group = graph_ids.group_of(static_cast<std::uint64_t>(id));
            if (group < known_ids) last_graph_launch[group] = call;
        }
        for (const EventId call : calls) {
            const std::int64_t id = id_of(call);
            if (id == no_number) continue;
            const std::string_view name = trace_.name_of(call);
            if (is_graph_launch(name)) {
                const std::uint32_t group = graph_ids.group_of(static_cast<std::uint64_t>(id));
                if (group >= known_ids || last_graph_launch[group] != call) continue;
                for (const EventId gpu : gpu_by_id[group]) launch[gpu] = call;
                continue;
            }
            const std::uint32_t group = flow_ids.group_of(static_cast<std::uint64_t>(id));
            if (group >= known_flows || starts[group] == nullptr || ends[group] == nullptr) continue;
            const Flow& end = *ends[group];
            const std::uint32_t place =
                places.group_of(lanes_[to_index(end.track)], static_cast<std::uint64_t>(end.id));
            if (place >= known_places) continue;
            const EventId target = at_place[place];
            if (is_gpu_work(trace_.kind[target])) launch[target] = call;
        }
        return launch;
    }

  private:
    static bool is_graph_launch(std::string_view name) noexcept {
        return name == "cudaGraphLaunch" || name == "hipGraphLaunch";
    }

    static void put(KeyGrouper& keys, std::vector<EventId>& values, std::uint64_t lane, std::int64_t id,
                    EventId event, EventId absent) {
        const std::uint32_t group = keys.group_of(lane, static_cast<std::uint64_t>(id));
        if (group == values.size()) values.push_back(absent);
        values[group] = event;
    }

    /// `correlation` when the first launch call of the file carries it, else `External id`.
    void choose_key() {
        EventId first = no_event;
        for (EventId event = 0; event < trace_.size(); ++event) {
            if (!is_runtime_call(trace_.kind[event]) ||
                !contains_ignoring_case(trace_.name_of(event), "launch"))
                continue;
            if (first == no_event || trace_.file_index[event] < trace_.file_index[first]) first = event;
        }
        by_correlation_ = first != no_event && trace_.launch_fields(first).correlation != no_number;
    }

    std::int64_t id_of(EventId event) const noexcept {
        if (field_family(trace_.kind[event]) == FieldFamily::op) return trace_.op_fields(event).external_id;
        const LaunchFields& fields = trace_.launch_fields(event);
        return by_correlation_ ? fields.correlation : fields.external_id;
    }

    const Trace& trace_;
    std::vector<std::uint32_t> lanes_;
    bool by_correlation_ = true;
};

}  // namespace detail

/// Finds the launch of every GPU event. O(n log n).
inline Links link_launches(const Trace& trace, LinkRule rule = LinkRule::correlation) {
    if (rule == LinkRule::reference_flows) return Links::from(trace, detail::ReferenceLinker(trace).link());
    return Links::from(trace, detail::CorrelationLinker(trace).link());
}

}  // namespace tracelens
