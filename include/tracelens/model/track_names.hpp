/// Names of processes and threads, from the metadata events of a trace.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/core/json_text.hpp>
#include <tracelens/core/table.hpp>
#include <tracelens/model/trace.hpp>

namespace tracelens {

/// Looks up what `M` events say about a track. What they do not say is `Unknown`; of several, the last one
/// counts. Process names and labels stand on thread 0 of the process (spec 01, section 4.2).
class TrackNames {
  public:
    explicit TrackNames(const Trace& trace) : trace_(trace) {
        for (const MetadataEvent& event : trace.metadata) {
            const std::string_view name = trace.text(event.name);
            if (name == "process_name")
                set(process_names_, event, "name");
            else if (name == "process_labels")
                set(process_labels_, event, "labels");
            else if (name == "thread_name")
                set(thread_names_, event, "name");
        }
    }

    std::string_view process_name(TrackId track) const { return find(process_names_, process_of(track)); }
    std::string_view process_label(TrackId track) const { return find(process_labels_, process_of(track)); }
    std::string_view thread_name(TrackId track) const {
        const Track& where = trace_.tracks[track];
        return find(thread_names_, {where.pid, where.tid});
    }

  private:
    using Place = std::pair<TrackPart, TrackPart>;
    struct Entry {
        Place place;
        std::string text;
    };

    Place process_of(TrackId track) const { return {trace_.tracks[track].pid, TrackPart::integer(0)}; }

    void set(std::vector<Entry>& entries, const MetadataEvent& event, std::string_view key) {
        const std::optional<std::string_view> raw =
            find_arg(trace_.signatures, trace_.strings, event.args, key);
        if (!raw) return;
        std::string text(*raw);
        if (raw->size() >= 2 && raw->front() == '"')
            decode_json_string(raw->substr(1, raw->size() - 2), text);
        const Track& where = trace_.tracks[event.track];
        const Place place{where.pid, where.tid};
        for (Entry& entry : entries) {
            if (entry.place != place) continue;
            entry.text = std::move(text);
            return;
        }
        entries.push_back({place, std::move(text)});
    }

    static std::string_view find(const std::vector<Entry>& entries, const Place& place) {
        for (const Entry& entry : entries) {
            if (entry.place == place) return entry.text;
        }
        return "Unknown";
    }

    const Trace& trace_;
    std::vector<Entry> process_names_;
    std::vector<Entry> process_labels_;
    std::vector<Entry> thread_names_;
};

}  // namespace tracelens
