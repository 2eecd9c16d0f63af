// Survives XLA's parsers on input that ends them.
#ifndef HLOGRAPH_NATIVE_MODULE_ABORT_GUARD_H_
#define HLOGRAPH_NATIVE_MODULE_ABORT_GUARD_H_

#include "absl/functional/function_ref.h"

namespace hlograph {

// Calls `function` and returns true, or false if this thread aborted, or read
// through a bad pointer, on the way.
//
// XLA's parsers hold some properties of their input for certain (a reshape keeps
// the number of elements, say) and CHECK them or rely on them, which would end the
// process on a typing error in a file. POSIX lets a handler of SIGABRT leave abort()
// by siglongjmp. The frames in between are dropped without their destructors: what
// they own leaks, and a lock that they held would stay locked. So this is done once
// in the life of a process: from then on WasAborted() is true, and what may abort is
// to be done in another process.
bool SurvivesAbort(absl::FunctionRef<void()> function);

// From now on a failed CHECK says where it is, but not what called what: finding the names takes
// 0.3 s, and an input is to blame, not the program. SurvivesAbort does it meanwhile.
void OmitStackTraces();

// Whether SurvivesAbort has returned false in this process.
bool WasAborted();

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_MODULE_ABORT_GUARD_H_
