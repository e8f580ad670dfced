/// UTF-8 text by characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tracelens {

/// `text` cut to `most` characters (code points), with `mark` behind it when something is missing. O(most).
inline std::string shortened(std::string_view text, std::size_t most, std::string_view mark = "...") {
    std::size_t at = 0;
    std::size_t characters = 0;
    for (; at < text.size(); ++at) {
        if ((static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) continue;  // inside a character
        if (characters == most) break;
        ++characters;
    }
    std::string out(text.substr(0, at));
    if (at < text.size()) out += mark;
    return out;
}

}  // namespace tracelens
