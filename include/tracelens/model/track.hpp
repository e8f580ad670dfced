/// Tracks: where events happen. A track is a (process, thread) pair on a host, or a (device, stream) pair.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include <tracelens/core/hash.hpp>
#include <tracelens/core/string_pool.hpp>

namespace tracelens {

/// A missing 64-bit id or number.
inline constexpr std::int64_t no_number = std::numeric_limits<std::int64_t>::min();

/// A process or thread as it stands in the file: an integer, a text (`value` is then a `StringId`), or
/// nothing.
struct TrackPart {
    enum class Form : std::uint8_t { missing, integer, text };
    Form form = Form::missing;
    std::int64_t value = 0;

    static TrackPart integer(std::int64_t value) noexcept { return {Form::integer, value}; }
    static TrackPart text(StringId id) noexcept {
        return {Form::text, static_cast<std::int64_t>(to_index(id))};
    }
    friend bool operator==(const TrackPart&, const TrackPart&) = default;
};

/// Names a track of one trace.
enum class TrackId : std::uint32_t {};

constexpr std::uint32_t to_index(TrackId id) noexcept {
    return static_cast<std::uint32_t>(id);
}

struct Track {
    bool on_device = false;
    TrackPart pid;
    TrackPart tid;
    std::int64_t device = no_number;  ///< device ordinal as recorded; device tracks only
    std::int64_t stream = no_number;  ///< device tracks only
    bool stream_is_assumed = false;   ///< the GPU work on it does not say; `stream` is its thread
    std::int64_t rank = no_number;    ///< when the events say (merged traces), else `no_number`

    /// The stream that the events name, or `no_number`.
    std::int64_t recorded_stream() const noexcept { return stream_is_assumed ? no_number : stream; }

    friend bool operator==(const Track&, const Track&) = default;
};

/// All tracks of a trace in order of first appearance.
class TrackTable {
  public:
    TrackId intern(const Track& track) {
        if (last_ < tracks_.size() && tracks_[last_] == track) return TrackId{last_};
        std::size_t slot = hash(track) & (slots_.size() - 1);
        for (; slots_[slot] != none; slot = (slot + 1) & (slots_.size() - 1)) {
            if (tracks_[slots_[slot]] == track) return TrackId{last_ = slots_[slot]};
        }
        last_ = static_cast<std::uint32_t>(tracks_.size());
        tracks_.push_back(track);
        slots_[slot] = last_;
        if (tracks_.size() * 2 > slots_.size()) grow();
        return TrackId{last_};
    }

    const Track& operator[](TrackId id) const noexcept { return tracks_[to_index(id)]; }
    std::size_t size() const noexcept { return tracks_.size(); }

  private:
    static constexpr std::uint32_t none = 0xffffffffU;

    static std::uint64_t hash(const Track& track) noexcept {
        const auto word = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
        const auto forms = static_cast<std::uint64_t>(track.pid.form) << 8 |
                           static_cast<std::uint64_t>(track.tid.form) << 1 | (track.on_device ? 1U : 0U);
        std::uint64_t state = hash_combine(word(track.pid.value), word(track.tid.value));
        state = hash_combine(state ^ forms, word(track.device));
        return hash_combine(state ^ word(track.rank), word(track.stream));
    }

    void grow() {
        slots_.assign(slots_.size() * 2, none);
        for (std::uint32_t id = 0; id < tracks_.size(); ++id) {
            std::size_t slot = hash(tracks_[id]) & (slots_.size() - 1);
            while (slots_[slot] != none) slot = (slot + 1) & (slots_.size() - 1);
            slots_[slot] = id;
        }
    }

    std::vector<Track> tracks_;
    std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(64, none);
    std::uint32_t last_ = 0;
};

/// Position of every (process, thread) pair among the distinct ones, by track; with `ranks`, of every (rank,
/// process, thread). A track on a device and one on a host may share a pair.
inline std::vector<std::uint32_t> lanes_of_tracks(const TrackTable& tracks, bool ranks = false) {
    TrackTable lanes;
    std::vector<std::uint32_t> result;
    for (std::uint32_t i = 0; i < tracks.size(); ++i) {
        Track lane = tracks[TrackId{i}];
        lane.on_device = false;
        lane.device = lane.stream = no_number;
        lane.stream_is_assumed = false;
        if (!ranks) lane.rank = no_number;
        result.push_back(to_index(lanes.intern(lane)));
    }
    return result;
}

}  // namespace tracelens
