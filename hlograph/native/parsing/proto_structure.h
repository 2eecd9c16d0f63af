// Checks how the parts of an HloModuleProto refer to each other.
#ifndef HLOGRAPH_NATIVE_PARSING_PROTO_STRUCTURE_H_
#define HLOGRAPH_NATIVE_PARSING_PROTO_STRUCTURE_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "hlograph/native/parsing/usual_opcodes.h"

namespace xla {
class HloComputationProto;
class HloInstructionProto;
class HloModuleProto;
}  // namespace xla

namespace hlograph {

// Finds out if the structure of a proto is regular, as proto_check.h defines it. It is given each
// instruction and then its computation, in the order of the proto, and the module at last.
class ProtoStructure {
 public:
  void Add(const xla::HloInstructionProto& instruction);
  void Add(const xla::HloComputationProto& computation);
  bool IsRegular(const xla::HloModuleProto& module) const;

 private:
  struct Computation {
    int parameters = 0;
    bool has_caller = false;
    bool has_sole_caller = false;  // which no other may join
  };

  bool CheckOperands(const UsualOpcode& usual, const xla::HloInstructionProto& instruction) const;
  bool CheckCalls(xla::HloOpcode opcode, const xla::HloInstructionProto& instruction);

  // Returns the mark of an instruction of this computation; null if there is none before.
  const uint32_t* Find(int64_t id) const;
  bool AddId(int64_t id, bool is_array);

  bool is_regular_ = true;  // so far
  absl::flat_hash_map<int64_t, Computation> computations_;

  // Of this computation: parameter numbers, and the upper half of the ids of all instructions.
  std::vector<int64_t> parameters_;
  int64_t upper_ = -1;
  // By the lower half of an id: twice the number of the last computation that has an instruction of
  // that id, plus one if its shape is an array's. XLA counts instructions from 0.
  std::vector<uint32_t> marks_;
  uint32_t number_ = 1;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_PARSING_PROTO_STRUCTURE_H_
