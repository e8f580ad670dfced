/// Where work was launched from: the frames and ops above a kernel, and the line of the program that called
/// the op. (Spec 02, sections 12.5 and 12.6.)
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/core/ascii.hpp>
#include <tracelens/core/json_text.hpp>
#include <tracelens/model/call_tree.hpp>

namespace tracelens {

using CallStack = std::vector<std::string>;

/// `name` without numbers of instances and versions: every `_` that digits follow, and these.
inline std::string without_numbers(std::string_view name) {
    std::string out;
    for (std::size_t at = 0; at < name.size();) {
        std::size_t end = at + 1;
        if (name[at] == '_')
            while (end < name.size() && detail::is_digit(name[end])) ++end;
        if (end == at + 1) out += name[at];
        at = end;
    }
    return out;
}

/// The ops, modules, Python frames and namespaced calls from the root down to `node`, itself included, in
/// their numberless form. O(depth).
inline CallStack call_stack(const CallTree& tree, NodeId node) {
    CallStack stack;
    for (NodeId at = node; at != no_node; at = tree.parent(at)) {
        const std::string_view name = tree.name_text(at);
        const bool named_place = name.find("nn.Module") != std::string_view::npos ||
                                 name.find("::") != std::string_view::npos ||
                                 name.find('/') != std::string_view::npos;
        if (tree.kind(at) == EventKind::cpu_op || named_place) stack.push_back(without_numbers(name));
    }
    std::reverse(stack.begin(), stack.end());
    return stack;
}

/// What several call stacks share, and how each of them goes on. One stack is all trunk.
struct CallStackTree {
    CallStack trunk;
    std::vector<CallStack> branches;  ///< distinct, in order of first sight
};

/// O(text of the stacks, times the logarithm of their number).
inline CallStackTree merge_call_stacks(std::span<const CallStack> stacks) {
    CallStackTree tree;
    if (stacks.empty()) return tree;
    tree.trunk = stacks.front();
    if (stacks.size() == 1) return tree;
    std::size_t shared = tree.trunk.size();
    for (const CallStack& stack : stacks) {
        const auto differ =
            std::mismatch(tree.trunk.begin(), tree.trunk.begin() + static_cast<std::ptrdiff_t>(shared),
                          stack.begin(), stack.end());
        shared = static_cast<std::size_t>(differ.first - tree.trunk.begin());
    }
    tree.trunk.resize(shared);
    std::set<CallStack> seen;
    for (const CallStack& stack : stacks) {
        CallStack tail(stack.begin() + static_cast<std::ptrdiff_t>(shared), stack.end());
        if (!tail.empty() && seen.insert(tail).second) tree.branches.push_back(std::move(tail));
    }
    return tree;
}

/// The stacks as a JSON list: the trunk, then a list for each branch; empty for no stack.
inline std::string to_json(const CallStackTree& stacks) {
    std::string out;
    const auto append = [&out](const CallStack& frames) {
        for (const std::string& frame : frames) {
            if (out.back() != '[') out += ',';
            append_json_string(out, frame);
        }
    };
    if (stacks.trunk.empty() && stacks.branches.empty()) return out;
    out = "[";
    append(stacks.trunk);
    for (const CallStack& branch : stacks.branches) {
        if (out.back() != '[') out += ',';
        out += '[';
        append(branch);
        out += ']';
    }
    return out + "]";
}

namespace detail {

/// Frames that only pass calls on: how they start, what they contain, and what their function is called.
inline constexpr std::array<std::string_view, 3> wrapper_starts = {"<built-in", "pybind11_builtins",
                                                                   "nn.Module:"};
inline constexpr std::array<std::string_view, 11> wrapper_files = {"torch/_ops.py",
                                                                   "torch/nn/modules/module.py",
                                                                   "torch/utils/_contextlib.py",
                                                                   "torch/utils/_device.py",
                                                                   "torch/_tensor.py",
                                                                   "torch/functional.py",
                                                                   "torch/overrides.py",
                                                                   "torch/_inductor/",
                                                                   "torch/_functorch/",
                                                                   "torch/distributed/c10d_logger.py",
                                                                   "triton/backends/"};
inline constexpr std::array<std::string_view, 10> wrapper_functions = {
    "__torch_function__",    "_call_impl", "_wrapped_call_impl", "decorate_context", "dispatch_wrapper",
    "handle_torch_function", "wrapper",    "custom_wrapper",     "wrapper_custom",   "outer_wrapper"};

/// What follows the last `): ` of a frame, its function.
constexpr std::optional<std::string_view> function_of_frame(std::string_view frame) noexcept {
    constexpr std::string_view mark = "): ";
    const std::size_t at = frame.rfind(mark);
    if (at == std::string_view::npos) return std::nullopt;
    return frame.substr(at + mark.size());
}

constexpr bool is_wrapper_frame(std::string_view frame) noexcept {
    for (const std::string_view start : wrapper_starts) {
        if (frame.substr(0, start.size()) == start) return true;
    }
    for (const std::string_view file : wrapper_files) {
        if (frame.find(file) != std::string_view::npos) return true;
    }
    const std::optional<std::string_view> function = function_of_frame(frame);
    if (!function) return false;
    for (const std::string_view name : wrapper_functions) {
        if (*function == name) return true;
    }
    return false;
}

inline std::string lower_case(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = to_lower(c);
    return out;
}

}  // namespace detail

/// The Python frame from which an op was called: a frame below the op that bears its name, else the nearest
/// frame above it that does not only pass calls on. Nothing when there is none.
inline std::optional<std::string> entry_point(const CallStackTree& stacks, std::string_view op) {
    std::vector<std::string_view> frames(stacks.trunk.begin(), stacks.trunk.end());
    for (const CallStack& branch : stacks.branches) frames.insert(frames.end(), branch.begin(), branch.end());
    const auto last_position = [&](std::string_view name) -> std::optional<std::size_t> {
        for (std::size_t i = frames.size(); i-- > 0;) {
            if (frames[i] == name) return i;
        }
        return std::nullopt;
    };
    std::optional<std::size_t> position = last_position(op);
    if (!position) {
        std::size_t end = op.size();
        while (end > 0 && detail::is_digit(op[end - 1])) --end;
        if (end < op.size() && end > 0 && op[end - 1] == '_') position = last_position(op.substr(0, end - 1));
    }
    if (!position) return std::nullopt;
    const std::size_t colons = op.rfind("::");
    const std::string local =
        detail::lower_case(colons == std::string_view::npos ? op : op.substr(colons + 2));
    const auto is_python = [](std::string_view frame) { return frame.find(".py") != std::string_view::npos; };
    for (std::size_t i = *position + 1; i < frames.size(); ++i) {
        if (!is_python(frames[i])) continue;
        const std::string function =
            detail::lower_case(detail::function_of_frame(frames[i]).value_or(frames[i]));
        if (function.find(local) != std::string::npos) return std::string(frames[i]);
    }
    for (std::size_t i = *position; i-- > 0;) {
        if (is_python(frames[i]) && !detail::is_wrapper_frame(frames[i])) return std::string(frames[i]);
    }
    return std::nullopt;
}

}  // namespace tracelens
