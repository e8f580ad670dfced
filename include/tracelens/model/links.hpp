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
        vote();
        for (EventId event = 0; event < trace_.size(); ++event) {
            if (!is_gpu_work(trace_.kind[event])) continue;
            const std::span<const EventId> candidates = candidates_of(event);
            if (!candidates.empty()) launch_[event] = choose(event, candidates);
        }
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
        // Equal ids stay in order of time.
        std::vector<std::int64_t> ids(calls_.size());
        for (std::size_t i = 0; i < calls_.size(); ++i) ids[i] = id_of(calls_[i]);
        const std::vector<std::uint32_t> order = stable_order(ids);
        std::vector<EventId> sorted(calls_.size());
        for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = calls_[order[i]];
        calls_ = std::move(sorted);
    }

    std::int64_t id_of(EventId event) const noexcept {
        const LaunchFields& fields = trace_.launch_fields(event);
        return by_external_id_ ? fields.external_id : fields.correlation;
    }

    /// Calls with the event's id that are not of another rank.
    std::span<const EventId> candidates_of(EventId event) {
        const std::int64_t id = id_of(event);
        if (id <= 0) return {};
        const auto first =
            std::lower_bound(calls_.begin(), calls_.end(), id,
                             [this](EventId call, std::int64_t wanted) { return id_of(call) < wanted; });
        auto last = first;
        while (last != calls_.end() && id_of(*last) == id) ++last;
        const std::span<const EventId> all(first, last);
        const std::int64_t rank = trace_.track_of(event).rank;
        if (rank == no_number) return all;
        same_rank_.clear();
        for (const EventId call : all) {
            const std::int64_t of_call = trace_.track_of(call).rank;
            if (of_call == rank || of_call == no_number) same_rank_.push_back(call);
        }
        return same_rank_;
    }

    /// Which process launches on which device: ids that only one process uses decide. Where every id is used
    /// by several, the last call before the event in the file counts, for merged files hold one rank after
    /// the other.
    void vote() {
        std::vector<std::uint64_t> certain;
        std::vector<std::uint64_t> likely;
        for (EventId event = 0; event < trace_.size(); ++event) {
            if (!is_gpu_work(trace_.kind[event])) continue;
            const std::span<const EventId> candidates = candidates_of(event);
            if (candidates.empty()) continue;
            const std::uint32_t process = process_of(candidates.front());
            const bool one_process = std::all_of(candidates.begin(), candidates.end(),
                                                 [&](EventId call) { return process_of(call) == process; });
            ambiguous_ = ambiguous_ || !one_process;
            const std::uint32_t device =
                devices_.group_of(static_cast<std::uint64_t>(trace_.track_of(event).device));
            if (one_process)
                certain.push_back(std::uint64_t{device} << 32 | process);
            else
                likely.push_back(std::uint64_t{device} << 32 |
                                 process_of(last_before_in_file(event, candidates)));
        }
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

    EventId last_before_in_file(EventId event, std::span<const EventId> candidates) const {
        EventId best = candidates.front();
        bool best_before = false;
        for (const EventId call : candidates) {
            const bool before = trace_.file_index[call] < trace_.file_index[event];
            const bool later = trace_.file_index[call] > trace_.file_index[best];
            if ((before && !best_before) || (before == best_before && before && later)) {
                best = call;
                best_before = before;
            }
        }
        return best;
    }

    /// The nearest call that starts before the event, in the device's process if that has any; else the first
    /// call.
    EventId choose(EventId event, std::span<const EventId> candidates) {
        std::uint32_t process = no_process;
        if (ambiguous_) {
            const std::uint32_t device =
                devices_.group_of(static_cast<std::uint64_t>(trace_.track_of(event).device));
            if (device < process_of_device_.size()) process = process_of_device_[device];
        }
        const auto eligible = [&](EventId call) {
            return process == no_process || process_of(call) == process;
        };
        if (std::none_of(candidates.begin(), candidates.end(), eligible)) process = no_process;
        EventId best = no_event;
        for (const EventId call : candidates) {
            if (!eligible(call)) continue;
            if (best == no_event || trace_.start[call] <= trace_.start[event]) best = call;
        }
        return best;
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
        std::sort(unlinked.begin(), unlinked.end(), [&](EventId a, EventId b) {
            return place(trace_.track[a], trace_.start[a]) < place(trace_.track[b], trace_.start[b]);
        });
        std::vector<EventId> hosts;
        for (EventId event = 0; event < trace_.size(); ++event) {
            if (is_runtime_call(trace_.kind[event]) || trace_.kind[event] == EventKind::cpu_op)
                hosts.push_back(event);
        }
        std::stable_sort(hosts.begin(), hosts.end(), [&](EventId a, EventId b) {
            return place(trace_.track[a], trace_.start[a]) < place(trace_.track[b], trace_.start[b]);
        });
        const auto find_all = [&](const std::vector<EventId>& events, const Flow& flow) {
            const auto key = place(flow.track, flow.time);
            const auto first =
                std::lower_bound(events.begin(), events.end(), key, [&](EventId event, const auto& wanted) {
                    return place(trace_.track[event], trace_.start[event]) < wanted;
                });
            auto last = first;
            while (last != events.end() && place(trace_.track[*last], trace_.start[*last]) == key) ++last;
            return std::pair{first, last};
        };
        for (const Flow& flow : trace_.flows) {
            if (flow.phase != 'f' || !is_launch_flow(flow)) continue;
            const auto [gpu_first, gpu_last] = find_all(unlinked, flow);
            if (gpu_first == gpu_last) continue;
            const auto start =
                std::lower_bound(starts.begin(), starts.end(), key_of(flow),
                                 [](const Start& each, const auto& key) { return each.key < key; });
            if (start == starts.end() || start->key != key_of(flow)) continue;
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
    std::vector<EventId> calls_;  // by id, then time
    std::vector<EventId> same_rank_;
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
        for (const EventId call : calls) {
            const std::int64_t id = id_of(call);
            if (id == no_number) continue;
            const std::string_view name = trace_.name_of(call);
            if (name == "cudaGraphLaunch" || name == "hipGraphLaunch") {
                const std::uint32_t group = graph_ids.group_of(static_cast<std::uint64_t>(id));
                if (group >= known_ids) continue;
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
