/// Which event arguments have columns of their own in the trace model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tracelens {

namespace detail {

/// Arguments that differ from event to event and therefore have columns of their own.
enum class ArgSlot : std::uint8_t {
    external_id,
    record_function_id,
    sequence_number,
    forward_thread,
    ev_idx,
    python_id,
    parent_id,
    module_id,
    correlation,
    device,
    stream,
    rank,
    bytes,
    address,
    total_allocated,
    total_reserved,
    device_id,
    device_type,
    shared,  ///< none of these: part of the signature
};

struct ArgSlotName {
    std::string_view key;
    ArgSlot slot;
};

inline constexpr std::array arg_slots = {
    ArgSlotName{"External id", ArgSlot::external_id},
    ArgSlotName{"Record function id", ArgSlot::record_function_id},
    ArgSlotName{"Sequence number", ArgSlot::sequence_number},
    ArgSlotName{"Fwd thread id", ArgSlot::forward_thread},
    ArgSlotName{"Ev Idx", ArgSlot::ev_idx},
    ArgSlotName{"Python id", ArgSlot::python_id},
    ArgSlotName{"Python parent id", ArgSlot::parent_id},
    ArgSlotName{"Python module id", ArgSlot::module_id},
    ArgSlotName{"correlation", ArgSlot::correlation},
    ArgSlotName{"device", ArgSlot::device},
    ArgSlotName{"stream", ArgSlot::stream},
    ArgSlotName{"rank", ArgSlot::rank},
    ArgSlotName{"Bytes", ArgSlot::bytes},
    ArgSlotName{"Addr", ArgSlot::address},
    ArgSlotName{"Total Allocated", ArgSlot::total_allocated},
    ArgSlotName{"Total Reserved", ArgSlot::total_reserved},
    ArgSlotName{"Device Id", ArgSlot::device_id},
    ArgSlotName{"Device Type", ArgSlot::device_type},
};

/// A perfect hash of the keys above, checked at compile time.
constexpr std::size_t arg_slot_hash(std::string_view key) noexcept {
    const auto byte = [&](std::size_t i) {
        return static_cast<std::size_t>(static_cast<unsigned char>(key[i]));
    };
    return (byte(0) * 3 + byte(key.size() / 2) * 5 + byte(key.size() - 1) + key.size() * 11) & 127;
}

constexpr auto make_arg_slot_index() {
    std::array<std::uint8_t, 128> index{};
    for (std::uint8_t i = 0; i < arg_slots.size(); ++i)
        index[arg_slot_hash(arg_slots[i].key)] = static_cast<std::uint8_t>(i + 1);
    return index;
}

inline constexpr auto arg_slot_index = make_arg_slot_index();

constexpr ArgSlot arg_slot(std::string_view key) noexcept {
    if (key.empty()) return ArgSlot::shared;
    const std::uint8_t entry = arg_slot_index[arg_slot_hash(key)];
    if (entry == 0 || arg_slots[entry - 1U].key != key) return ArgSlot::shared;
    return arg_slots[entry - 1U].slot;
}

constexpr bool all_arg_slots_found() {
    for (const ArgSlotName& each : arg_slots) {
        if (arg_slot(each.key) != each.slot) return false;
    }
    return true;
}
static_assert(all_arg_slots_found(), "two keys share a hash: change the factors in arg_slot_hash");

}  // namespace detail

}  // namespace tracelens
