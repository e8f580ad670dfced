/// Event arguments as shared *signatures*: the key-value lists that many events have in common (shapes,
/// types, grid sizes, collective fields ...) are stored once and named by an `ArgsId`. What differs from
/// event to event (ids, sequence numbers) lives in columns of the trace instead.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <tracelens/core/hash.hpp>
#include <tracelens/core/string_pool.hpp>

namespace tracelens {

/// Names a signature of one `ArgsTable`. Id 0 is the empty signature.
enum class ArgsId : std::uint32_t { empty = 0 };

constexpr std::uint32_t to_index(ArgsId id) noexcept {
    return static_cast<std::uint32_t>(id);
}

/// One argument. `value` is compact JSON text: strings keep their quotes and escapes, numbers their digits.
struct Arg {
    StringId key;
    StringId value;
    friend bool operator==(const Arg&, const Arg&) = default;
};

/// All signatures of a trace. String ids refer to the string pool that the owner keeps beside it.
class ArgsTable {
  public:
    ArgsTable() {
        slots_.assign(64, none);
        intern({});
    }

    /// The id of a list of arguments in their order. Amortised O(length).
    ArgsId intern(std::span<const Arg> args) {
        std::uint64_t hash = args.size();
        for (const Arg& arg : args) {
            hash =
                hash_combine(hash, static_cast<std::uint64_t>(to_index(arg.key)) << 32 | to_index(arg.value));
        }
        std::size_t slot = hash & (slots_.size() - 1);
        for (; slots_[slot] != none; slot = (slot + 1) & (slots_.size() - 1)) {
            const ArgsId known{slots_[slot]};
            if (hashes_[slots_[slot]] == hash && equal((*this)[known], args)) return known;
        }
        const auto id = static_cast<std::uint32_t>(hashes_.size());
        hashes_.push_back(hash);
        args_.insert(args_.end(), args.begin(), args.end());
        ends_.push_back(static_cast<std::uint32_t>(args_.size()));
        slots_[slot] = id;
        if (hashes_.size() * 2 > slots_.size()) grow();
        return ArgsId{id};
    }

    /// The arguments of a signature, in their order in the file.
    std::span<const Arg> operator[](ArgsId id) const noexcept {
        const std::uint32_t index = to_index(id);
        const std::uint32_t begin = index == 0 ? 0 : ends_[index - 1];
        return {args_.data() + begin, ends_[index] - begin};
    }

    /// How many signatures there are, the empty one included.
    std::size_t size() const noexcept { return ends_.size(); }

  private:
    static constexpr std::uint32_t none = 0xffffffffU;

    static bool equal(std::span<const Arg> a, std::span<const Arg> b) noexcept {
        if (a.size() != b.size()) return false;
        for (std::size_t i = 0; i < a.size(); ++i) {
            if (!(a[i] == b[i])) return false;
        }
        return true;
    }

    void grow() {
        std::vector<std::uint32_t> wider(slots_.size() * 2, none);
        for (std::uint32_t id = 0; id < hashes_.size(); ++id) {
            std::size_t slot = hashes_[id] & (wider.size() - 1);
            while (wider[slot] != none) slot = (slot + 1) & (wider.size() - 1);
            wider[slot] = id;
        }
        slots_ = std::move(wider);
    }

    std::vector<Arg> args_;
    std::vector<std::uint32_t> ends_;
    std::vector<std::uint64_t> hashes_;
    std::vector<std::uint32_t> slots_;
};

/// The JSON text of one argument of a signature, when it has it.
inline std::optional<std::string_view> find_arg(const ArgsTable& table, const StringPool& strings, ArgsId id,
                                                std::string_view key) noexcept {
    for (const Arg& arg : table[id]) {
        if (strings[arg.key] == key) return strings[arg.value];
    }
    return std::nullopt;
}

}  // namespace tracelens
