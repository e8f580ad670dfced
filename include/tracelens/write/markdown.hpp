/// Markdown output: tables and escaped text.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tracelens/core/decimal.hpp>
#include <tracelens/core/table.hpp>
#include <tracelens/core/text.hpp>

namespace tracelens {

/// Text for a table cell: pipes and backslashes are escaped, line ends become spaces, and `<` cannot open an
/// HTML tag.
inline std::string markdown_cell(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '|' || c == '\\')
            (out += '\\') += c;
        else if (c == '\n' || c == '\r' || c == '\t')
            out += ' ';
        else if (c == '<')
            out += "&lt;";
        else
            out += c;
    }
    return out;
}

/// One pipe table from cells of finished text.
class MarkdownTable {
  public:
    /// `numeric` columns are aligned to the right.
    explicit MarkdownTable(std::span<const std::string_view> header, std::span<const bool> numeric = {}) {
        columns_ = header.size();
        line(header);
        out_ += '|';
        for (std::size_t i = 0; i < header.size(); ++i)
            out_ += i < numeric.size() && numeric[i] ? "---:|" : "---|";
        out_ += '\n';
    }

    void row(std::span<const std::string> cells) { line(cells); }
    void row(std::initializer_list<std::string> cells) { line(std::span(cells.begin(), cells.size())); }

    const std::string& text() const noexcept { return out_; }

  private:
    template <class Text>
    void line(std::span<const Text> cells) {
        out_ += '|';
        for (std::size_t i = 0; i < columns_; ++i) {
            out_ += ' ';
            if (i < cells.size()) out_ += cells[i];
            out_ += " |";
        }
        out_ += '\n';
    }

    std::string out_;
    std::size_t columns_ = 0;
};

}  // namespace tracelens
