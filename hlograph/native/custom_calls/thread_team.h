// Threads that share one short piece of work after the other, and stay ready in between.
#ifndef HLOGRAPH_NATIVE_CUSTOM_CALLS_THREAD_TEAM_H_
#define HLOGRAPH_NATIVE_CUSTOM_CALLS_THREAD_TEAM_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>

#include "xla/ffi/api/ffi.h"

namespace hlograph {

// A team of the handler's own thread, which leads it, and tasks of the pool. Between pieces of work
// the others wait in a loop, as starting a task takes longer than a piece does. Each thread takes
// parts of its own range, so that what it reads stays in its cache, and then what is left of the
// others' ranges: the leader never waits for a thread that has not begun a part.
class ThreadTeam {
 public:
  // A team for as long as it is kept. It has fewer threads if the pool takes no task.
  ThreadTeam(xla::ffi::ThreadPool pool, int64_t threads) : threads_(std::min(threads, kMost)) {
    if (threads_ < 2) return;
    shared_ = std::make_shared<Shared>();
    try {
      for (int64_t i = 1; i < threads_; ++i) {
        pool.Schedule([shared = shared_, threads = threads_, i] { Follow(*shared, threads, i); });
      }
    } catch (const std::exception&) {  // this thread does the work that no other one does
    }
  }

  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  ~ThreadTeam() {
    if (shared_ != nullptr) shared_->ended.store(true, std::memory_order_relaxed);
  }

  // Calls work(part) for the parts 0 .. parts; it must not throw.
  template <typename Work>
  void Run(int64_t parts, const Work& work) {
    if (shared_ == nullptr) {
      for (int64_t part = 0; part < parts; ++part) work(part);
      return;
    }
    shared_->work = [](const void* context, int64_t part) {
      (*static_cast<const Work*>(context))(part);
    };
    shared_->context = &work;
    shared_->done.store(0, std::memory_order_relaxed);
    for (int64_t i = 0; i < threads_; ++i) {
      shared_->ranges[i].left.store(Pack(i * parts / threads_, (i + 1) * parts / threads_),
                                    std::memory_order_release);
    }
    Take(*shared_, threads_, 0);
    for (Waiting waiting; shared_->done.load(std::memory_order_acquire) < parts;) waiting.Wait();
  }

 private:
  static constexpr int64_t kMost = 8;  // threads, whose ranges all have to be looked at

  // The next part of a range and its end, in one word.
  struct alignas(64) Range {
    std::atomic<uint64_t> left{0};
  };

  struct Shared {
    Range ranges[kMost];
    alignas(64) std::atomic<int64_t> done{0};
    alignas(64) std::atomic<bool> ended{false};
    void (*work)(const void* context, int64_t part) = nullptr;
    const void* context = nullptr;
  };

  // Waits that are short at first, and then leave the CPU to others.
  class Waiting {
   public:
    void Wait() {
      constexpr int kShort = 400;
      if (++times_ < kShort) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
      } else {
        std::this_thread::yield();
      }
    }

   private:
    int times_ = 0;
  };

  static uint64_t Pack(int64_t next, int64_t end) {
    return static_cast<uint64_t>(end) << 32 | static_cast<uint64_t>(next);
  }

  // Returns false if no part was left.
  static bool Take(Shared& shared, int64_t threads, int64_t thread) {
    bool any = false;
    for (int64_t i = 0; i < threads; ++i) {
      std::atomic<uint64_t>& left = shared.ranges[(thread + i) % threads].left;
      uint64_t word = left.load(std::memory_order_acquire);
      while (static_cast<uint32_t>(word) < word >> 32) {
        // A part that is taken is of the work that is set now: it is not over before the part is.
        if (!left.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel)) continue;
        shared.work(shared.context, static_cast<uint32_t>(word));
        shared.done.fetch_add(1, std::memory_order_release);
        any = true;
        word = left.load(std::memory_order_acquire);
      }
    }
    return any;
  }

  static void Follow(Shared& shared, int64_t threads, int64_t thread) {
    Waiting waiting;
    while (!shared.ended.load(std::memory_order_relaxed)) {
      if (Take(shared, threads, thread)) {
        waiting = Waiting();
      } else {
        waiting.Wait();
      }
    }
  }

  const int64_t threads_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_CUSTOM_CALLS_THREAD_TEAM_H_
