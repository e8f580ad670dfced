/// JSON as text: finding values, decoding and writing strings. This is the tolerant, scalar side: it accepts
/// what profilers really write (raw control characters, stray backslashes, bare inf and nan, trailing commas)
/// and says what it had to accept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracelens/core/ascii.hpp>
#include <tracelens/core/decimal.hpp>

namespace tracelens {

/// Departures from strict JSON that were met, as bits.
enum JsonFlaw : std::uint8_t {
    json_control_character = 1,  ///< a raw byte below 0x20 inside a string
    json_bad_escape = 2,         ///< a backslash that starts no valid escape; kept as a backslash
    json_bad_utf8 = 4,           ///< bytes that are not UTF-8; replaced by U+FFFD
    json_lone_surrogate = 8,     ///< half a surrogate pair; replaced by U+FFFD
    json_trailing_comma = 16,    ///< a comma before a closing bracket
    json_bare_word = 32,         ///< inf, nan and the like where a number belongs
    json_structure = 64,         ///< brackets that do not match, or a value that is none
};

namespace detail {

constexpr int hex_value(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

constexpr std::int32_t hex4(std::string_view text, std::size_t at) noexcept {
    if (text.size() - at < 4 || at > text.size()) return -1;
    std::int32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        const int digit = hex_value(text[at + i]);
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

inline void append_utf8(std::string& out, std::uint32_t code) {
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xc0 | code >> 6);
        out += static_cast<char>(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        out += static_cast<char>(0xe0 | code >> 12);
        out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (code & 0x3f));
    } else {
        out += static_cast<char>(0xf0 | code >> 18);
        out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
        out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (code & 0x3f));
    }
}

inline constexpr std::string_view replacement_character = "\xef\xbf\xbd";

/// Length of the well-formed UTF-8 sequence at `at` (RFC 3629: no overlong forms, no surrogates, at most
/// U+10FFFF); 0 when there is none.
constexpr std::size_t utf8_length(std::string_view text, std::size_t at) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const std::size_t left = text.size() - at;
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
    if (lead >= 0xc2 && lead <= 0xdf) return left >= 2 && continues(1) ? 2 : 0;
    if (lead >= 0xe0 && lead <= 0xef) {
        if (left < 3 || !continues(1) || !continues(2)) return 0;
        if (lead == 0xe0 && byte(1) < 0xa0) return 0;
        if (lead == 0xed && byte(1) >= 0xa0) return 0;
        return 3;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        if (left < 4 || !continues(1) || !continues(2) || !continues(3)) return 0;
        if (lead == 0xf0 && byte(1) < 0x90) return 0;
        if (lead == 0xf4 && byte(1) >= 0x90) return 0;
        return 4;
    }
    return 0;
}

/// What is wrong with a value that is neither string, list nor object.
inline unsigned word_flaws(std::string_view word) noexcept {
    if (word == "true" || word == "false" || word == "null") return 0;
    if (is_not_finite_word(word)) return json_bare_word;
    NumberText number;
    return split_number(word, number) ? 0 : json_structure;
}

}  // namespace detail

/// Decodes the inside of a JSON string (without its quotes) into `out`, replacing what cannot be decoded.
/// Returns the flaws met, as `JsonFlaw` bits. O(length).
inline unsigned decode_json_string(std::string_view raw, std::string& out) {
    out.clear();
    unsigned flaws = 0;
    for (std::size_t at = 0; at < raw.size();) {
        const char c = raw[at];
        if (c != '\\') {
            const auto byte = static_cast<unsigned char>(c);
            if (byte < 0x20) flaws |= json_control_character;
            const std::size_t length = byte < 0x80 ? 1 : detail::utf8_length(raw, at);
            if (length == 0) {
                flaws |= json_bad_utf8;
                out += detail::replacement_character;
                ++at;
            } else {
                out.append(raw, at, length);
                at += length;
            }
            continue;
        }
        const char escape = at + 1 < raw.size() ? raw[at + 1] : '\0';
        char plain = '\0';
        switch (escape) {
            case '"': plain = '"'; break;
            case '\\': plain = '\\'; break;
            case '/': plain = '/'; break;
            case 'b': plain = '\b'; break;
            case 'f': plain = '\f'; break;
            case 'n': plain = '\n'; break;
            case 'r': plain = '\r'; break;
            case 't': plain = '\t'; break;
            default: break;
        }
        if (plain != '\0') {
            out += plain;
            at += 2;
            continue;
        }
        const std::int32_t code = escape == 'u' ? detail::hex4(raw, at + 2) : -1;
        if (code < 0) {
            flaws |= json_bad_escape;
            out += '\\';
            ++at;
            continue;
        }
        at += 6;
        if (code < 0xd800 || code > 0xdfff) {
            detail::append_utf8(out, static_cast<std::uint32_t>(code));
            continue;
        }
        const bool pair_follows =
            code < 0xdc00 && at + 1 < raw.size() && raw[at] == '\\' && raw[at + 1] == 'u';
        const std::int32_t low = pair_follows ? detail::hex4(raw, at + 2) : -1;
        if (low >= 0xdc00 && low <= 0xdfff) {
            const auto high_bits = static_cast<std::uint32_t>(code - 0xd800) << 10;
            detail::append_utf8(out, 0x10000 + high_bits + static_cast<std::uint32_t>(low - 0xdc00));
            at += 6;
        } else {
            flaws |= json_lone_surrogate;
            out += detail::replacement_character;
        }
    }
    return flaws;
}

/// Appends `text` as a JSON string with quotes. Bytes that are not UTF-8 become U+FFFD, so the output is
/// valid.
inline void append_json_string(std::string& out, std::string_view text) {
    static constexpr char hex[] = "0123456789abcdef";
    out += '"';
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else if (c == '\r') {
            out += "\\r";
        } else if (byte < 0x20) {
            out += "\\u00";
            out += hex[byte >> 4];
            out += hex[byte & 15];
        } else if (byte < 0x80) {
            out += c;
        } else {
            const std::size_t length = detail::utf8_length(text, at);
            if (length == 0) {
                out += detail::replacement_character;
            } else {
                out.append(text, at, length);
                at += length - 1;
            }
        }
        ++at;
    }
    out += '"';
}

/// Walks over JSON text from a position. Every step either succeeds and moves on, or fails and says whether
/// the text ended (`incomplete`) or is no JSON.
class JsonScanner {
  public:
    enum class Outcome : std::uint8_t { ok, incomplete, malformed };

    explicit JsonScanner(std::string_view text, std::size_t at = 0) : text_(text), at_(at) {}

    std::string_view text() const noexcept { return text_; }
    std::size_t position() const noexcept { return at_; }
    void seek(std::size_t at) noexcept { at_ = at; }
    bool at_end() const noexcept { return at_ >= text_.size(); }
    unsigned flaws() const noexcept { return flaws_; }
    void add_flaws(unsigned flaws) noexcept { flaws_ |= flaws; }

    void skip_space() noexcept {
        while (at_ < text_.size() && detail::is_space(text_[at_])) ++at_;
    }

    /// The next character that is no white space, or 0 at the end.
    char peek() noexcept {
        skip_space();
        return at_ < text_.size() ? text_[at_] : '\0';
    }

    bool take(char expected) noexcept {
        if (peek() != expected) return false;
        ++at_;
        return true;
    }

    /// A string; `raw` is its inside, undecoded.
    Outcome string(std::string_view& raw) noexcept {
        if (!take('"')) return at_end() ? Outcome::incomplete : Outcome::malformed;
        const std::size_t begin = at_;
        for (; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (c == '"') {
                raw = text_.substr(begin, at_ - begin);
                ++at_;
                return Outcome::ok;
            }
            if (c == '\\') {
                if (at_ + 1 < text_.size()) ++at_;
            } else if (static_cast<unsigned char>(c) < 0x20) {
                flaws_ |= json_control_character;
            }
        }
        return Outcome::incomplete;
    }

    /// Any value; `raw` is its text without surrounding white space. Brackets must match and objects must
    /// have keys. Not recursive: depth costs memory, one byte a level.
    Outcome value(std::string_view& raw) {
        skip_space();
        const std::size_t begin = at_;
        open_.clear();
        bool expect_value = true;  // else: a comma or a closing bracket
        do {
            const char c = peek();
            if (c == '\0' && at_end()) return Outcome::incomplete;
            if (expect_value && (c == '{' || c == '[')) {
                open_.push_back(c);
                ++at_;
                const char close = c == '{' ? '}' : ']';
                if (peek() == close) {
                    ++at_;
                    open_.pop_back();
                    expect_value = false;
                } else if (c == '{') {
                    if (const Outcome outcome = key(); outcome != Outcome::ok) return outcome;
                }
            } else if (expect_value) {
                if (const Outcome outcome = scalar(); outcome != Outcome::ok) return outcome;
                expect_value = false;
            } else if (c == ',') {
                ++at_;
                const char next = peek();
                if (next == (open_.back() == '{' ? '}' : ']')) {
                    flaws_ |= json_trailing_comma;
                } else if (open_.back() == '{') {
                    if (const Outcome outcome = key(); outcome != Outcome::ok) return outcome;
                    expect_value = true;
                } else {
                    expect_value = true;
                }
            } else if (c == (open_.back() == '{' ? '}' : ']')) {
                ++at_;
                open_.pop_back();
            } else {
                return Outcome::malformed;
            }
        } while (!open_.empty());
        raw = text_.substr(begin, at_ - begin);
        return Outcome::ok;
    }

    /// A key and its colon.
    Outcome key(std::string_view& raw) noexcept {
        if (const Outcome outcome = string(raw); outcome != Outcome::ok) return outcome;
        if (take(':')) return Outcome::ok;
        return at_end() ? Outcome::incomplete : Outcome::malformed;
    }

  private:
    Outcome key() noexcept {
        std::string_view ignored;
        return key(ignored);
    }

    Outcome scalar() noexcept {
        if (text_[at_] == '"') {
            std::string_view ignored;
            return string(ignored);
        }
        const std::size_t begin = at_;
        while (at_ < text_.size() && is_word(text_[at_])) ++at_;
        if (at_ == text_.size()) return Outcome::incomplete;
        if (at_ == begin) return Outcome::malformed;
        flaws_ |= detail::word_flaws(text_.substr(begin, at_ - begin));
        return Outcome::ok;
    }

    static constexpr bool is_word(char c) noexcept {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
               c == '+' || c == '.';
    }

    std::string_view text_;
    std::size_t at_ = 0;
    unsigned flaws_ = 0;
    std::vector<char> open_;
};

/// Appends `raw` (any JSON value) without white space between tokens and with its strings made valid. Returns
/// the flaws met: bytes that do not fit the grammar are copied as they are, with `json_structure` set.
/// O(length).
inline unsigned append_compact_json(std::string& out, std::string_view raw) {
    enum class Expect : std::uint8_t { value, key, colon, separator, end };
    unsigned flaws = 0;
    std::string open;  // the closing brackets that are still to come
    std::string decoded;
    Expect expect = Expect::value;
    bool after_open = false;  // nothing stands in the innermost brackets yet
    bool after_comma = false;
    const auto after_value = [&] { expect = open.empty() ? Expect::end : Expect::separator; };
    for (std::size_t at = 0; at < raw.size(); ++at) {
        const char c = raw[at];
        if (detail::is_space(c)) continue;
        const bool first = std::exchange(after_open, false);
        const bool follows_comma = std::exchange(after_comma, false);
        if (c == '"') {
            if (expect != Expect::value && expect != Expect::key) flaws |= json_structure;
            const std::size_t begin = at;
            bool plain = true;
            for (++at; at < raw.size() && raw[at] != '"'; ++at) {
                const auto byte = static_cast<unsigned char>(raw[at]);
                plain = plain && raw[at] != '\\' && byte >= 0x20 && byte < 0x80;
                if (raw[at] == '\\') ++at;
            }
            if (at >= raw.size()) {
                out.append(raw, begin, std::string_view::npos);
                return flaws | json_structure;
            }
            if (plain) {
                out.append(raw, begin, at + 1 - begin);
            } else {
                flaws |= decode_json_string(raw.substr(begin + 1, at - begin - 1), decoded);
                append_json_string(out, decoded);
            }
            if (expect == Expect::key)
                expect = Expect::colon;
            else
                after_value();
        } else if (c == '{' || c == '[') {
            if (expect != Expect::value) flaws |= json_structure;
            open += c == '{' ? '}' : ']';
            expect = c == '{' ? Expect::key : Expect::value;
            after_open = true;
            out += c;
        } else if (c == '}' || c == ']') {
            const bool fits = !open.empty() && open.back() == c;
            if (follows_comma && fits)
                flaws |= json_trailing_comma;
            else if (!fits || (expect != Expect::separator && !first))
                flaws |= json_structure;
            if (!open.empty()) open.pop_back();
            after_value();
            out += c;
        } else if (c == ',') {
            if (expect != Expect::separator) flaws |= json_structure;
            expect = !open.empty() && open.back() == '}' ? Expect::key : Expect::value;
            after_comma = true;
            out += c;
        } else if (c == ':') {
            if (expect != Expect::colon) flaws |= json_structure;
            expect = Expect::value;
            out += c;
        } else {
            if (expect != Expect::value) flaws |= json_structure;
            const std::size_t end = std::min(raw.find_first_of(" \n\r\t,:[]{}\"", at), raw.size());
            const std::string_view word = raw.substr(at, end - at);
            flaws |= detail::word_flaws(word);
            // Two words in a row stay two words.
            if (expect == Expect::separator || expect == Expect::end) out += ' ';
            out += word;
            at = end - 1;
            after_value();
        }
    }
    return expect == Expect::end ? flaws : flaws | json_structure;
}

}  // namespace tracelens
