// Memory that a thread keeps between the rows that it works on.
#ifndef HLOGRAPH_NATIVE_CUSTOM_CALLS_SCRATCH_H_
#define HLOGRAPH_NATIVE_CUSTOM_CALLS_SCRATCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>

namespace hlograph {

// Memory of at least that many bytes for one caller at a time. A thread keeps up to 4 MiB of it:
// new memory of such sizes costs a page fault for each 4 KiB. More is freed with this object.
class Scratch {
 public:
  explicit Scratch(size_t bytes) {
    thread_local std::unique_ptr<std::byte[]> kept;
    thread_local size_t kept_bytes = 0;
    if (bytes > kMostKept) {
      own_.reset(new std::byte[bytes]);
      data_ = own_.get();
      return;
    }
    if (bytes > kept_bytes) {
      kept.reset(new std::byte[bytes]);
      kept_bytes = bytes;
    }
    data_ = kept.get();
  }

  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  static constexpr size_t kMostKept = size_t{4} << 20;

  std::unique_ptr<std::byte[]> own_;
  std::byte* data_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_CUSTOM_CALLS_SCRATCH_H_
