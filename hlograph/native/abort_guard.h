// Survives XLA's parsers on input that ends them.
#ifndef HLOGRAPH_NATIVE_ABORT_GUARD_H_
#define HLOGRAPH_NATIVE_ABORT_GUARD_H_

#include "absl/functional/function_ref.h"

namespace hlograph {

// Calls `function` and returns true, or false if this thread aborted, or read
// through a bad pointer, on the way.
//
// XLA's parsers hold some properties of their input for certain (a reshape keeps
// the number of elements, parameters are numbered from 0) and CHECK them or rely
// on them, which would end the process on a typing error in a file. POSIX lets a
// handler of SIGABRT leave abort() by siglongjmp. The frames in between are
// dropped without their destructors: what they own leaks, and a lock that they
// held would stay locked. The parsers hold none, so they are guarded; passes are
// not.
bool SurvivesAbort(absl::FunctionRef<void()> function);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_ABORT_GUARD_H_
