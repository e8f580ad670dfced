/// Interned strings: a string is stored once and named by a 32-bit id afterwards.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include <tracelens/core/hash.hpp>

namespace tracelens {

/// Names a string of one `StringPool`. Id 0 is the empty string in every pool.
enum class StringId : std::uint32_t { empty = 0 };

constexpr std::uint32_t to_index(StringId id) noexcept {
    return static_cast<std::uint32_t>(id);
}

/// Owns the text. Views stay valid as long as the pool lives; moving the pool keeps them valid.
/// Not thread-safe for `intern`; concurrent reads are fine.
class StringPool {
  public:
    StringPool() {
        slots_.assign(min_slots, no_slot);
        intern({});
    }

    /// The id of `text`, which is copied when it is new. Amortised O(length).
    StringId intern(std::string_view text) { return intern_hashed(text, hash_bytes(text)); }

    /// As `intern`, for callers that have `hash_bytes(text)` already.
    StringId intern_hashed(std::string_view text, std::uint64_t hash) {
        std::size_t slot = hash & (slots_.size() - 1);
        while (slots_[slot] != no_slot) {
            const Entry& entry = entries_[slots_[slot]];
            if (entry.hash == hash && entry.text == text) return StringId{slots_[slot]};
            slot = (slot + 1) & (slots_.size() - 1);
        }
        const auto id = static_cast<std::uint32_t>(entries_.size());
        entries_.push_back({store(text), hash});
        slots_[slot] = id;
        if (entries_.size() * 2 > slots_.size()) grow();
        return StringId{id};
    }

    /// The id of `text` when it is present.
    bool find(std::string_view text, StringId& id) const noexcept {
        const std::uint64_t hash = hash_bytes(text);
        for (std::size_t slot = hash & (slots_.size() - 1); slots_[slot] != no_slot;
             slot = (slot + 1) & (slots_.size() - 1)) {
            const Entry& entry = entries_[slots_[slot]];
            if (entry.hash == hash && entry.text == text) {
                id = StringId{slots_[slot]};
                return true;
            }
        }
        return false;
    }

    std::string_view operator[](StringId id) const noexcept { return entries_[to_index(id)].text; }
    std::uint64_t hash(StringId id) const noexcept { return entries_[to_index(id)].hash; }
    std::size_t size() const noexcept { return entries_.size(); }

    /// Bytes held: text blocks, entries and the hash table.
    std::size_t memory_bytes() const noexcept {
        return block_bytes_ + entries_.capacity() * sizeof(Entry) + slots_.capacity() * sizeof(std::uint32_t);
    }

  private:
    struct Entry {
        std::string_view text;
        std::uint64_t hash;
    };

    static constexpr std::uint32_t no_slot = 0xffffffffU;
    static constexpr std::size_t min_slots = 64;
    static constexpr std::size_t block_size = std::size_t{1} << 16;

    std::string_view store(std::string_view text) {
        if (text.empty()) return {};
        if (text.size() > block_left_) {
            const std::size_t size = text.size() > block_size / 4 ? text.size() : block_size;
            blocks_.push_back(std::make_unique<char[]>(size));
            block_bytes_ += size;
            if (size !=
                block_size) {  // an oversized string gets a block of its own; the open block stays open
                std::memcpy(blocks_.back().get(), text.data(), text.size());
                return {blocks_.back().get(), text.size()};
            }
            next_ = blocks_.back().get();
            block_left_ = size;
        }
        char* const at = next_;
        std::memcpy(at, text.data(), text.size());
        next_ += text.size();
        block_left_ -= text.size();
        return {at, text.size()};
    }

    void grow() {
        std::vector<std::uint32_t> wider(slots_.size() * 2, no_slot);
        for (std::uint32_t id = 0; id < entries_.size(); ++id) {
            std::size_t slot = entries_[id].hash & (wider.size() - 1);
            while (wider[slot] != no_slot) slot = (slot + 1) & (wider.size() - 1);
            wider[slot] = id;
        }
        slots_ = std::move(wider);
    }

    std::vector<Entry> entries_;
    std::vector<std::uint32_t> slots_;
    std::vector<std::unique_ptr<char[]>> blocks_;
    std::size_t block_bytes_ = 0;
    std::size_t block_left_ = 0;
    char* next_ = nullptr;
};

}  // namespace tracelens
