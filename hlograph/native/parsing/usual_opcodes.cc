#include "hlograph/native/parsing/usual_opcodes.h"

#include <string>

#include "absl/base/no_destructor.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace hlograph {
namespace {

using xla::HloOpcode;

constexpr HloOpcode kArrayOpcodes[] = {
    HloOpcode::kAbs,
    HloOpcode::kAcos,
    HloOpcode::kAcosh,
    HloOpcode::kAdd,
    HloOpcode::kAnd,
    HloOpcode::kAsin,
    HloOpcode::kAsinh,
    HloOpcode::kAtan2,
    HloOpcode::kAtanh,
    HloOpcode::kBatchNormInference,
    HloOpcode::kBitcastConvert,
    HloOpcode::kBroadcast,
    HloOpcode::kCbrt,
    HloOpcode::kCeil,
    HloOpcode::kCholesky,
    HloOpcode::kClamp,
    HloOpcode::kClz,
    HloOpcode::kCompare,
    HloOpcode::kComplex,
    HloOpcode::kConcatenate,
    HloOpcode::kConvert,
    HloOpcode::kConvolution,
    HloOpcode::kCos,
    HloOpcode::kCosh,
    HloOpcode::kDivide,
    HloOpcode::kDot,
    HloOpcode::kDynamicSlice,
    HloOpcode::kDynamicUpdateSlice,
    HloOpcode::kErf,
    HloOpcode::kExp,
    HloOpcode::kExpm1,
    HloOpcode::kFft,
    HloOpcode::kFloor,
    HloOpcode::kGather,
    HloOpcode::kImag,
    HloOpcode::kIota,
    HloOpcode::kIsFinite,
    HloOpcode::kLog,
    HloOpcode::kLog1p,
    HloOpcode::kLogistic,
    HloOpcode::kMap,
    HloOpcode::kMaximum,
    HloOpcode::kMinimum,
    HloOpcode::kMultiply,
    HloOpcode::kNegate,
    HloOpcode::kNot,
    HloOpcode::kOr,
    HloOpcode::kPad,
    HloOpcode::kPartitionId,
    HloOpcode::kPopulationCount,
    HloOpcode::kPower,
    HloOpcode::kReal,
    HloOpcode::kReducePrecision,
    HloOpcode::kRemainder,
    HloOpcode::kReplicaId,
    HloOpcode::kReshape,
    HloOpcode::kReverse,
    HloOpcode::kRoundNearestAfz,
    HloOpcode::kRoundNearestEven,
    HloOpcode::kRsqrt,
    HloOpcode::kSelect,
    HloOpcode::kSelectAndScatter,
    HloOpcode::kShiftLeft,
    HloOpcode::kShiftRightArithmetic,
    HloOpcode::kShiftRightLogical,
    HloOpcode::kSign,
    HloOpcode::kSin,
    HloOpcode::kSinh,
    HloOpcode::kSlice,
    HloOpcode::kSqrt,
    HloOpcode::kSubtract,
    HloOpcode::kTan,
    HloOpcode::kTanh,
    HloOpcode::kTranspose,
    HloOpcode::kXor,
};

constexpr HloOpcode kArraysOpcodes[] = {
    HloOpcode::kAllGather,
    HloOpcode::kAllReduce,
    HloOpcode::kAllToAll,
    HloOpcode::kBatchNormGrad,
    HloOpcode::kBatchNormTraining,
    HloOpcode::kCollectivePermute,
    HloOpcode::kReduce,
    HloOpcode::kReduceScatter,
    HloOpcode::kReduceWindow,
    HloOpcode::kRngBitGenerator,
    HloOpcode::kScatter,
    HloOpcode::kSort,
    HloOpcode::kTopK,
};

constexpr HloOpcode kAnyOpcodes[] = {
    HloOpcode::kAddDependency,
    HloOpcode::kAfterAll,
    HloOpcode::kBitcast,
    HloOpcode::kCall,
    HloOpcode::kConditional,
    HloOpcode::kConstant,
    HloOpcode::kCopy,
    HloOpcode::kCustomCall,
    HloOpcode::kFusion,
    HloOpcode::kGetTupleElement,
    HloOpcode::kOptimizationBarrier,
    HloOpcode::kParameter,
    HloOpcode::kTuple,
    HloOpcode::kWhile,
};

using Table = absl::flat_hash_map<std::string, UsualOpcode>;

Table MakeTable() {
  Table table;
  const auto add = [&](OpcodeKind kind, const auto& opcodes) {
    for (HloOpcode opcode : opcodes) {
      table[xla::HloOpcodeString(opcode)] = {kind, opcode,
                                             xla::HloOpcodeArity(opcode).value_or(-1)};
    }
  };
  add(OpcodeKind::kArray, kArrayOpcodes);
  add(OpcodeKind::kArrays, kArraysOpcodes);
  add(OpcodeKind::kAny, kAnyOpcodes);
  return table;
}

}  // namespace

UsualOpcode FindUsualOpcode(absl::string_view name) {
  static const absl::NoDestructor<Table> table(MakeTable());
  const auto found = table->find(name);
  return found == table->end() ? UsualOpcode() : found->second;
}

bool MayHaveOperands(const UsualOpcode& usual, int operands) {
  if (usual.operands >= 0) return operands == usual.operands;
  switch (usual.opcode) {
    case HloOpcode::kCollectivePermute:
      return operands == 1;  // others have slices, which are rare
    case HloOpcode::kConditional:
    case HloOpcode::kDynamicUpdateSlice:
      return operands >= 2;
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
      return operands >= 2 && operands % 2 == 0;
    case HloOpcode::kScatter:
      return operands >= 3 && operands % 2 == 1;
    case HloOpcode::kAfterAll:
    case HloOpcode::kCall:
    case HloOpcode::kCustomCall:
    case HloOpcode::kFusion:
    case HloOpcode::kTuple:
      return true;
    default:
      return operands >= 1;
  }
}

}  // namespace hlograph
