// Work on ranges of numbers, on the threads of the pool that XLA hands to a handler.
#ifndef HLOGRAPH_NATIVE_CUSTOM_CALLS_POOL_RANGES_H_
#define HLOGRAPH_NATIVE_CUSTOM_CALLS_POOL_RANGES_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "xla/ffi/api/ffi.h"

namespace hlograph {

// Ranges that threads take one after the other. The handler's own thread takes them too, and waits
// for those alone that others have begun: it never waits for a task that a busy pool has not
// started, which might be waiting for this one.
class SharedRanges {
 public:
  SharedRanges(int64_t count, int64_t ranges) : count_(count), ranges_(ranges) {}

  template <typename Work>
  void Take(const Work& work) {
    for (int64_t i = next_.fetch_add(1); i < ranges_; i = next_.fetch_add(1)) {
      std::exception_ptr failure;
      try {
        work(i * count_ / ranges_, (i + 1) * count_ / ranges_);
      } catch (...) {
        failure = std::current_exception();
      }
      std::lock_guard<std::mutex> lock(mutex_);
      if (failure != nullptr) failure_ = std::move(failure);
      if (++done_ == ranges_) all_done_.notify_all();
    }
  }

  // Throws what the work of a range threw.
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    // wait() itself is a symbol that only the libstdc++ of GCC 12 has, and wheels would need it.
    while (!all_done_.wait_for(lock, std::chrono::hours(1), [this] { return done_ == ranges_; })) {
    }
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  const int64_t count_, ranges_;
  std::atomic<int64_t> next_{0};
  std::mutex mutex_;
  std::condition_variable all_done_;
  int64_t done_ = 0;
  std::exception_ptr failure_;
};

// Calls work(begin, end) for ranges that are together 0 .. count, on several threads.
//
// `nanoseconds` is about what one number takes: a range is worth a thread if it takes 20
// microseconds or more.
template <typename Work>
void ForPoolRanges(xla::ffi::ThreadPool pool, int64_t count, double nanoseconds, const Work& work) {
  constexpr double kWorthAThread = 20e3;
  constexpr int64_t kRangesOfAThread = 4;  // so that a late thread is not waited for
  const int64_t worthwhile = static_cast<int64_t>(count * nanoseconds / kWorthAThread);
  const int64_t threads = std::max<int64_t>(pool.num_threads(), 1);
  const int64_t ranges = std::min({count, worthwhile, threads * kRangesOfAThread});
  if (ranges < 2 || threads < 2) {
    if (count > 0) work(0, count);
    return;
  }
  // A task that starts after all ranges are taken finds no more work, which is gone by then.
  auto shared = std::make_shared<SharedRanges>(count, ranges);
  try {
    for (int64_t i = 1; i < std::min(threads, ranges); ++i) {
      pool.Schedule([shared, &work] { shared->Take(work); });
    }
  } catch (const std::exception&) {  // this thread does the work that no other one does
  }
  shared->Take(work);
  shared->Wait();
}

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_CUSTOM_CALLS_POOL_RANGES_H_
