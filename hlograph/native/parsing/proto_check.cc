#include "hlograph/native/parsing/proto_check.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "hlograph/native/parsing/proto_structure.h"
#include "hlograph/native/parsing/tile_check.h"
#include "hlograph/native/parsing/verdict.h"
#include "xla/service/hlo.pb.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

// A byte holds 8 elements of the smallest type.
constexpr int64_t kElementsPerByte = 8;

absl::Status CheckMesh(const xla::MeshProto& mesh) {
  std::vector<int64_t> sizes;
  for (const xla::MeshProto::MeshAxis& axis : mesh.axes()) sizes.push_back(axis.size());
  if (mesh.device_ids().empty()) return CheckIotaTiles(sizes, sizes, {});
  return sizes.empty() ? absl::OkStatus() : CheckTiles(sizes, mesh.device_ids_size());
}

absl::Status CheckSharding(const xla::OpSharding& sharding) {
  if (sharding.has_named_sharding()) return CheckMesh(sharding.named_sharding().mesh());
  for (const xla::OpSharding& part : sharding.tuple_shardings()) {
    if (absl::Status status = CheckSharding(part); !status.ok()) return status;
  }
  if (sharding.iota_reshape_dims().empty()) {
    return sharding.tile_assignment_devices().empty()
               ? absl::OkStatus()
               : CheckTiles(sharding.tile_assignment_dimensions(),
                            sharding.tile_assignment_devices_size());
  }
  const std::vector<int64_t> permutation(sharding.iota_transpose_perm().begin(),
                                         sharding.iota_transpose_perm().end());
  return CheckIotaTiles(sharding.tile_assignment_dimensions(), sharding.iota_reshape_dims(),
                        permutation);
}

absl::Status CheckIotaGroups(const xla::IotaReplicaGroupListProto& groups) {
  const int64_t tiles[] = {groups.num_replica_groups(), groups.num_devices_per_group()};
  const std::vector<int64_t> permutation(groups.iota_transpose_perm().begin(),
                                         groups.iota_transpose_perm().end());
  if (groups.iota_reshape_dims().empty() ||
      permutation.size() != static_cast<size_t>(groups.iota_reshape_dims_size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected replica groups with as many dimensions as their permutation has, got ",
        groups.iota_reshape_dims_size(), " and ", permutation.size()));
  }
  return CheckIotaTiles(tiles, groups.iota_reshape_dims(), permutation);
}

absl::Status CheckLiteral(const xla::ShapeProto& shape, int64_t size) {
  for (const xla::ShapeProto& part : shape.tuple_shapes()) {
    if (absl::Status status = CheckLiteral(part, size); !status.ok()) return status;
  }
  const int64_t limit = kElementsPerByte * size;
  int64_t elements = 1;
  for (int64_t dim : shape.dimensions()) {
    if (dim < 0 || (elements > 0 && dim > limit / elements)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a literal's shape has more elements than its ", size,
                       " bytes can hold, or less than 0"));
    }
    elements *= dim;
  }
  return absl::OkStatus();
}

int64_t CountLeaves(const xla::ShapeProto& shape) {
  if (shape.element_type() != xla::TUPLE) return 1;
  int64_t leaves = 0;
  for (const xla::ShapeProto& part : shape.tuple_shapes()) leaves += CountLeaves(part);
  return leaves;
}

absl::Status CheckReplication(const xla::HloInstructionProto& instruction) {
  const int64_t flags = instruction.parameter_replication().replicated_at_leaf_buffers_size();
  const int64_t leaves = CountLeaves(instruction.shape());
  if (flags == 0 || flags == leaves) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", leaves, " flags in parameter_replication, got ", flags));
}

absl::Status CheckInstruction(const xla::HloInstructionProto& instruction) {
  absl::Status status;
  if (instruction.has_sharding()) status.Update(CheckSharding(instruction.sharding()));
  if (instruction.has_domain_entry_sharding()) {
    status.Update(CheckSharding(instruction.domain_entry_sharding()));
  }
  if (instruction.has_domain_exit_sharding()) {
    status.Update(CheckSharding(instruction.domain_exit_sharding()));
  }
  if (instruction.has_literal()) {
    status.Update(CheckLiteral(instruction.literal().shape(),
                               static_cast<int64_t>(instruction.literal().ByteSizeLong())));
  }
  if (instruction.collective_device_list().has_iota_replica_group_list()) {
    status.Update(CheckIotaGroups(instruction.collective_device_list().iota_replica_group_list()));
  }
  if (instruction.has_parameter_replication()) status.Update(CheckReplication(instruction));
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat("instruction ", instruction.name(), ": ", status.message()));
}

}  // namespace

absl::StatusOr<Verdict> CheckProto(const xla::HloModuleProto& module) {
  ProtoStructure structure;
  for (const xla::HloComputationProto& computation : module.computations()) {
    for (const xla::HloInstructionProto& instruction : computation.instructions()) {
      if (absl::Status status = CheckInstruction(instruction); !status.ok()) return status;
      structure.Add(instruction);
    }
    structure.Add(computation);
  }
  absl::Status status;
  if (module.has_spmd_output_sharding()) {
    status.Update(CheckSharding(module.spmd_output_sharding()));
  }
  for (const xla::OpSharding& sharding : module.spmd_parameters_shardings()) {
    status.Update(CheckSharding(sharding));
  }
  if (!status.ok()) return status;
  return structure.IsRegular(module) ? Verdict::kSound : Verdict::kUnsure;
}

}  // namespace hlograph
