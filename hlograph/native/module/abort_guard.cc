#include "hlograph/native/module/abort_guard.h"

#include <array>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstddef>

#include "absl/functional/function_ref.h"
#include "absl/log/internal/globals.h"

namespace hlograph {
namespace {

constexpr std::array<int, 5> kSignals = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
std::array<struct sigaction, kSignals.size()> previous_actions;

std::atomic<bool> aborted = false;
thread_local sigjmp_buf* guarded = nullptr;  // where this thread goes on

void OnSignal(int signal) {
  if (guarded != nullptr) siglongjmp(*guarded, 1);
  // Not ours: it is raised again for whoever was there before.
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] == signal) sigaction(signal, &previous_actions[i], nullptr);
  }
  raise(signal);
}

// Handlers that came after ours (faulthandler's, say) are taken as the previous.
void InstallHandlers() {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction current;
    if (sigaction(kSignals[i], nullptr, &current) != 0 || current.sa_handler == OnSignal) continue;
    previous_actions[i] = current;
    struct sigaction action = {};
    action.sa_handler = OnSignal;
    sigemptyset(&action.sa_mask);
    sigaction(kSignals[i], &action, nullptr);
  }
}

}  // namespace

bool SurvivesAbort(absl::FunctionRef<void()> function) {
  static const int frames = absl::log_internal::MaxFramesInLogStackTrace();
  InstallHandlers();
  OmitStackTraces();
  sigjmp_buf here;
  sigjmp_buf* const outer = guarded;
  // The mask is saved: a handler runs with its signal blocked.
  if (sigsetjmp(here, /*savemask=*/1) != 0) {
    guarded = outer;
    aborted = true;
    absl::log_internal::SetMaxFramesInLogStackTrace(frames);
    return false;
  }
  guarded = &here;
  function();
  guarded = outer;
  absl::log_internal::SetMaxFramesInLogStackTrace(frames);
  return true;
}

void OmitStackTraces() { absl::log_internal::SetMaxFramesInLogStackTrace(0); }

bool WasAborted() { return aborted; }

}  // namespace hlograph
