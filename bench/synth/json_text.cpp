#include "json_text.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace tracelens::synth {

JsonText::JsonText(JsonStyle style, int level) : style_(style), level_(level) {}

void JsonText::new_line() {
    if (style_ == JsonStyle::compact) return;
    result_.literals += '\n';
    result_.literals.append(static_cast<std::size_t>(level_) * 2, ' ');
}

void JsonText::separator() {
    result_.literals += ',';
    new_line();
}

void JsonText::before_value() {
    if (after_key_) {
        after_key_ = false;
        return;
    }
    // Depth 1 is the text itself, which is an element of someone else's list.
    if (has_elements_.size() == 1) return;
    if (has_elements_.back()) result_.literals += ',';
    has_elements_.back() = true;
    new_line();
}

void JsonText::open(char bracket) {
    before_value();
    result_.literals += bracket;
    has_elements_.push_back(false);
    ++level_;
}

void JsonText::close(char bracket) {
    --level_;
    if (has_elements_.back()) new_line();
    has_elements_.pop_back();
    result_.literals += bracket;
}

void JsonText::key(std::string_view name) {
    before_value();
    result_.literals += '"';
    append_escaped(name);
    result_.literals += style_ == JsonStyle::pretty ? "\": " : "\":";
    after_key_ = true;
}

void JsonText::string(std::string_view text) {
    before_value();
    result_.literals += '"';
    append_escaped(text);
    result_.literals += '"';
}

void JsonText::integer(std::int64_t value) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    raw({digits.data(), static_cast<std::size_t>(end - digits.data())});
}

void JsonText::raw(std::string_view text) {
    before_value();
    result_.literals += text;
}

void JsonText::slot(Slot which) {
    before_value();
    const auto end = static_cast<std::uint32_t>(result_.literals.size());
    result_.segments.push_back({segment_begin_, end - segment_begin_, which});
    segment_begin_ = end;
}

void JsonText::string_with_slot(std::string_view prefix, Slot which) {
    before_value();
    result_.literals += '"';
    append_escaped(prefix);
    after_key_ = true;  // the slot continues the string, so nothing may come before it
    slot(which);
    result_.literals += '"';
}

Template JsonText::take() {
    const auto end = static_cast<std::uint32_t>(result_.literals.size());
    result_.segments.push_back({segment_begin_, end - segment_begin_, Slot::none});
    return std::move(result_);
}

void JsonText::append_escaped(std::string_view text) {
    for (const char c : text) {
        if (c == '"' || c == '\\') result_.literals += '\\';
        result_.literals += c;
    }
}

}  // namespace tracelens::synth
