// Work on ranges of numbers, on one or several threads.
#ifndef HLOGRAPH_NATIVE_KERNELS_RANGES_H_
#define HLOGRAPH_NATIVE_KERNELS_RANGES_H_

#include <algorithm>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace hlograph {

// Calls work(begin, end) for ranges that are together 0 .. count, each on a thread of its own.
// `rows` are the rows of floats that all of the work visits; few are not worth a thread.
template <typename Work>
void ForRanges(int64_t count, int64_t rows, int64_t threads, const Work& work) {
  constexpr int64_t kWorthAThread = 4096;
  const int64_t most = rows < kWorthAThread ? 1 : threads;
  const int64_t ranges = std::clamp<int64_t>(most, 1, std::max<int64_t>(count, 1));
  const auto begin_of = [&](int64_t range) { return range * count / ranges; };
  std::vector<std::thread> others;
  int64_t started = 0;
  // A machine that has no more threads to give does with fewer.
  try {
    for (; started < ranges - 1; ++started) {
      others.emplace_back(
          [&work, begin = begin_of(started), end = begin_of(started + 1)] { work(begin, end); });
    }
  } catch (const std::system_error&) {
  }
  work(begin_of(started), count);
  for (std::thread& other : others) other.join();
}

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_KERNELS_RANGES_H_
