// Tracks: (process, thread) and (device, stream) pairs.

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <tracelens/model/track.hpp>

using namespace tracelens;

TEST_CASE("process and thread: integer, text and nothing are different") {
    StringPool strings;
    const StringId text = strings.intern("Spans");
    const auto same_number = static_cast<std::int64_t>(to_index(text));
    CHECK(TrackPart::integer(3) == TrackPart::integer(3));
    CHECK_FALSE(TrackPart::integer(3) == TrackPart::integer(4));
    CHECK(TrackPart::text(text) == TrackPart::text(text));
    CHECK_FALSE(TrackPart::text(text) == TrackPart::integer(same_number));
    CHECK_FALSE(TrackPart{} == TrackPart::integer(0));
    CHECK_FALSE(TrackPart{} == TrackPart::text(StringId::empty));
}

TEST_CASE("tracks are numbered by first appearance, equal ones are one") {
    TrackTable table;
    CHECK(table.size() == 0);
    const Track a{.on_device = false, .pid = TrackPart::integer(1), .tid = TrackPart::integer(2)};
    const Track b{.on_device = false, .pid = TrackPart::integer(2), .tid = TrackPart::integer(1)};
    CHECK(to_index(table.intern(a)) == 0);
    CHECK(to_index(table.intern(b)) == 1);
    CHECK(to_index(table.intern(b)) == 1);
    CHECK(to_index(table.intern(a)) == 0);
    CHECK(table.size() == 2);
    CHECK(table[TrackId{0}] == a);
    CHECK(table[TrackId{1}] == b);
}

TEST_CASE("every field tells tracks apart") {
    TrackTable table;
    const Track plain{.on_device = false, .pid = TrackPart::integer(0), .tid = TrackPart::integer(7)};
    std::vector<Track> tracks(8, plain);
    tracks[1].on_device = true;
    tracks[2].pid = {};
    tracks[3].tid = {};
    tracks[4].device = 0;
    tracks[5].stream = 7;
    tracks[6].rank = 0;
    tracks[7].pid = TrackPart::text(StringId::empty);
    for (const Track& track : tracks) table.intern(track);
    REQUIRE(table.size() == tracks.size());
    for (std::uint32_t i = 0; i < tracks.size(); ++i) {
        CHECK(table[TrackId{i}] == tracks[i]);
        CHECK(to_index(table.intern(tracks[i])) == i);
    }
}

TEST_CASE("the table keeps its numbers while it grows") {
    TrackTable table;
    const auto track = [](std::int64_t i) {
        return Track{.on_device = true,
                     .pid = TrackPart::integer(i % 16),
                     .tid = TrackPart::integer(i / 16),
                     .device = i % 16,
                     .stream = i / 16,
                     .rank = i % 3};
    };
    for (std::int64_t i = 0; i < 2000; ++i) CHECK(to_index(table.intern(track(i))) == i);
    for (std::int64_t i = 0; i < 2000; ++i) {
        CHECK(to_index(table.intern(track(i))) == i);
        CHECK(table[TrackId{static_cast<std::uint32_t>(i)}] == track(i));
    }
    CHECK(table.size() == 2000);
}
