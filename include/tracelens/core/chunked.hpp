/// Growing columns whose length is not known beforehand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace tracelens {

/// A sequence in blocks of equal size: appending never moves what is there, and dropping the column returns
/// its memory at once.
template <class T>
class ChunkedColumn {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    static constexpr unsigned block_bits = 14;
    static constexpr std::size_t block_size = std::size_t{1} << block_bits;

    void push_back(const T& value) {
        if (size_ == blocks_.size() * block_size)
            blocks_.emplace_back(std::allocator<T>().allocate(block_size));
        std::construct_at(&(*this)[size_], value);
        ++size_;
    }

    T& operator[](std::size_t index) noexcept {
        return blocks_[index >> block_bits].get()[index & (block_size - 1)];
    }
    const T& operator[](std::size_t index) const noexcept {
        return blocks_[index >> block_bits].get()[index & (block_size - 1)];
    }

    std::size_t size() const noexcept { return size_; }

    /// Forgets the elements from `size` on.
    void truncate(std::size_t size) noexcept { size_ = size < size_ ? size : size_; }

    void release() noexcept {
        blocks_.clear();
        blocks_.shrink_to_fit();
        size_ = 0;
    }

  private:
    struct Free {
        void operator()(T* block) const noexcept { std::allocator<T>().deallocate(block, block_size); }
    };

    std::vector<std::unique_ptr<T, Free>> blocks_;  // rows come to life one by one, so memory is touched late
    std::size_t size_ = 0;
};

}  // namespace tracelens
