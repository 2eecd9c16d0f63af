// Names of XLA's enumerations.
#ifndef HLOGRAPH_NATIVE_MODULE_VOCABULARY_H_
#define HLOGRAPH_NATIVE_MODULE_VOCABULARY_H_

#include <string>
#include <vector>

namespace hlograph {

// Names of xla::HloOpcode, by number.
const std::vector<std::string>& OpcodeNames();

// Names of xla::PrimitiveType, by number; empty for numbers that are not used.
const std::vector<std::string>& ElementTypeNames();

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_MODULE_VOCABULARY_H_
