#include "hlograph/native/parsing/proto_structure.h"

#include <cstddef>
#include <cstdint>

#include "absl/algorithm/container.h"
#include "hlograph/native/parsing/usual_opcodes.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/service/hlo.pb.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using xla::HloOpcode;

// An id is the number of its computation and, in as many bits, a number in it. Where numbers are
// larger than any module in use has instructions, the ids are not from XLA.
constexpr int kLowerBits = 32;
constexpr size_t kLargestId = size_t{1} << 24;

bool IsArray(const xla::ShapeProto& shape) {
  switch (shape.element_type()) {
    case xla::PRIMITIVE_TYPE_INVALID:
    case xla::TUPLE:
    case xla::OPAQUE_TYPE:
    case xla::TOKEN:
    case xla::BUFFER:
      return false;
    default:
      return xla::PrimitiveType_IsValid(shape.element_type());
  }
}

// True unless XLA demands another shape of the instruction: a device's number is a u32 scalar.
bool HasShapeOfItsOwn(HloOpcode opcode, const xla::ShapeProto& shape) {
  if (opcode != HloOpcode::kPartitionId && opcode != HloOpcode::kReplicaId) return true;
  return shape.element_type() == xla::U32 && shape.dimensions().empty();
}

// XLA reports attributes of products on calls through a null pointer.
bool HasProductAttributesOfItsOwn(HloOpcode opcode, const xla::HloInstructionProto& instruction) {
  return (!instruction.has_precision_config() && !instruction.has_dot_dimension_numbers()) ||
         opcode == HloOpcode::kDot || opcode == HloOpcode::kConvolution ||
         opcode == HloOpcode::kCustomCall;
}

// Parameters that each computation must have which the instruction calls; -1 for any number.
int ParametersOfCalled(HloOpcode opcode, int operands) {
  switch (opcode) {
    case HloOpcode::kCall:
    case HloOpcode::kFusion:
    case HloOpcode::kMap:
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
      return operands;
    case HloOpcode::kConditional:
    case HloOpcode::kWhile:
      return 1;
    case HloOpcode::kSelectAndScatter:
      return 2;
    case HloOpcode::kScatter:
      return operands - 1;
    case HloOpcode::kSort:
      return 2 * operands;
    default:
      return -1;
  }
}

// Computations that the instruction must call; -1 for any number.
int CalledBy(HloOpcode opcode, int operands) {
  switch (opcode) {
    case HloOpcode::kAllReduce:
    case HloOpcode::kCall:
    case HloOpcode::kFusion:
    case HloOpcode::kMap:
    case HloOpcode::kReduce:
    case HloOpcode::kReduceScatter:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kScatter:
    case HloOpcode::kSort:
      return 1;
    case HloOpcode::kSelectAndScatter:
    case HloOpcode::kWhile:
      return 2;
    case HloOpcode::kConditional:
      return operands - 1;
    case HloOpcode::kCustomCall:
      return -1;
    default:
      return 0;
  }
}

}  // namespace

void ProtoStructure::Add(const xla::HloInstructionProto& instruction) {
  if (!is_regular_) return;
  const UsualOpcode usual = FindUsualOpcode(instruction.opcode());
  const bool is_array = IsArray(instruction.shape());
  if (usual.opcode == HloOpcode::kParameter) parameters_.push_back(instruction.parameter_number());
  is_regular_ = usual.kind != OpcodeKind::kRare && (is_array || usual.kind != OpcodeKind::kArray) &&
                HasShapeOfItsOwn(usual.opcode, instruction.shape()) &&
                HasProductAttributesOfItsOwn(usual.opcode, instruction) &&
                CheckOperands(usual, instruction) && CheckCalls(usual.opcode, instruction) &&
                AddId(instruction.id(), is_array);
}

void ProtoStructure::Add(const xla::HloComputationProto& computation) {
  absl::c_sort(parameters_);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i] != static_cast<int64_t>(i)) is_regular_ = false;
  }
  if (Find(computation.root_id()) == nullptr) is_regular_ = false;
  Computation facts;
  facts.parameters = static_cast<int>(parameters_.size());
  if (!computations_.try_emplace(computation.id(), facts).second) is_regular_ = false;
  parameters_.clear();
  upper_ = -1;
  ++number_;
}

bool ProtoStructure::IsRegular(const xla::HloModuleProto& module) const {
  const auto entry = computations_.find(module.entry_computation_id());
  return is_regular_ && entry != computations_.end() && !entry->second.has_caller &&
         entry->second.parameters == module.host_program_shape().parameters_size();
}

const uint32_t* ProtoStructure::Find(int64_t id) const {
  const size_t lower = static_cast<uint32_t>(id);
  if (id >> kLowerBits != upper_ || lower >= marks_.size()) return nullptr;
  return marks_[lower] / 2 == number_ ? &marks_[lower] : nullptr;
}

bool ProtoStructure::AddId(int64_t id, bool is_array) {
  const size_t lower = static_cast<uint32_t>(id);
  if (upper_ < 0) upper_ = id >> kLowerBits;
  if (upper_ < 0 || id >> kLowerBits != upper_ || lower > kLargestId || Find(id) != nullptr) {
    return false;
  }
  if (lower >= marks_.size()) marks_.resize(2 * lower + 64);
  marks_[lower] = 2 * number_ + (is_array ? 1 : 0);
  return true;
}

bool ProtoStructure::CheckOperands(const UsualOpcode& usual,
                                   const xla::HloInstructionProto& instruction) const {
  if (!MayHaveOperands(usual, instruction.operand_ids_size())) return false;
  for (int64_t id : instruction.operand_ids()) {
    const uint32_t* operand = Find(id);
    if (operand == nullptr) return false;
    if (usual.kind != OpcodeKind::kAny && *operand % 2 == 0) return false;
  }
  return absl::c_all_of(instruction.control_predecessor_ids(),
                        [this](int64_t id) { return Find(id) != nullptr; });
}

bool ProtoStructure::CheckCalls(HloOpcode opcode, const xla::HloInstructionProto& instruction) {
  const int operands = instruction.operand_ids_size();
  const int count = CalledBy(opcode, operands);
  const int called = instruction.called_computation_ids_size();
  if (count >= 0 && called != count) return false;
  if (called == 0) return opcode != HloOpcode::kConditional;
  const int parameters = ParametersOfCalled(opcode, operands);
  // XLA stores the one caller of each of these in the computation.
  const bool is_sole = opcode == HloOpcode::kFusion || opcode == HloOpcode::kCustomCall ||
                       opcode == HloOpcode::kWhile;
  for (int64_t id : instruction.called_computation_ids()) {
    const auto found = computations_.find(id);
    if (found == computations_.end()) return false;
    Computation& computation = found->second;
    if (parameters >= 0 && computation.parameters != parameters) return false;
    if (computation.has_sole_caller || (is_sole && computation.has_caller)) return false;
    computation.has_caller = true;
    computation.has_sole_caller = is_sole;
  }
  return true;
}

}  // namespace hlograph
