#ifndef HLOGRAPH_NATIVE_MODULE_NEWER_FIELDS_H_
#define HLOGRAPH_NATIVE_MODULE_NEWER_FIELDS_H_

#include "xla/service/hlo.pb.h"

namespace hlograph {

// Writes fields that a newer XLA has, and the linked one does not know, as the fields that this one
// has for the same: the order of comparisons, which since jaxlib 0.12 is in a field of its own.
// Without it a comparison of floating-point values in total order would become one in which NaN
// compares as false.
void ReadNewerFields(xla::HloModuleProto& module);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_MODULE_NEWER_FIELDS_H_
