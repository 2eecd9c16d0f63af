// What the processor has, where a kernel has code of its own for it.
#ifndef HLOGRAPH_NATIVE_CUSTOM_CALLS_PROCESSOR_H_
#define HLOGRAPH_NATIVE_CUSTOM_CALLS_PROCESSOR_H_

namespace hlograph {

// Returns true if the processor has AVX2 and fused multiplication and addition.
bool HasFusedMultiplyAdd();

// Returns true if the processor has AVX-512, and HLOGRAPH_VECTOR_BITS does not ask for fewer bits.
bool HasWideVectors();

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_CUSTOM_CALLS_PROCESSOR_H_
