// Copies of whole modules.
#ifndef HLOGRAPH_NATIVE_MODULE_CLONE_H_
#define HLOGRAPH_NATIVE_MODULE_CLONE_H_

#include <memory>
#include <utility>

namespace xla {
class HloCloneContext;
class HloModule;
}  // namespace xla

namespace hlograph {

// Returns a copy with all computations, dead ones included, and the map from instructions to
// copies.
std::pair<std::unique_ptr<xla::HloModule>, std::unique_ptr<xla::HloCloneContext>> CloneWithMap(
    const xla::HloModule& module);

std::unique_ptr<xla::HloModule> CloneWhole(const xla::HloModule& module);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_MODULE_CLONE_H_
