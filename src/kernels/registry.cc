// SPDX-License-Identifier: Apache-2.0
// The table's rows, best first, each with what it needs of the CPU.
#include <string>
#include <vector>

#include "kernels/cpu.h"
#include "kernels/entries.h"
#include "kernels/kernels.h"

namespace pawl::kernels {
namespace {

Table join(const char* name, const MatmulEntries& m, const VectorEntries& v) {
  return {
      .name = name,
      .quantize_a8 = m.quantize_a8,
      .matmul_a8 = m.matmul_a8,
      .matmul_f32 = m.matmul_f32,
      .dot_peak = m.dot_peak,
      .splits_well = m.splits_well,
      .rms_norm = v.rms_norm,
      .layer_norm = v.layer_norm,
      .add = v.add,
      .add_scaled = v.add_scaled,
      .multiply = v.multiply,
      .scale = v.scale,
      .clamp = v.clamp,
      .soft_cap = v.soft_cap,
      .activate = v.activate,
      .gate = v.gate,
      .softmax = v.softmax,
      .exp_sum = v.exp_sum,
      .sigmoid = v.sigmoid,
      .rope = v.rope,
      .store_kv = v.store_kv,
      .attention_spans = v.attention_spans,
      .attention_fold = v.attention_fold,
      .attention_finish = v.attention_finish,
      .softplus = v.softplus,
      .exponential = v.exponential,
      .convolve = v.convolve,
      .selective_step = v.selective_step,
      .decay_step = v.decay_step,
      .delta_step = v.delta_step,
  };
}

// The rows this machine can run.
std::vector<Table> runnable_tables() {
  std::vector<Table> tables;
#if defined(__x86_64__)
  const CpuFeatures cpu = cpu_features();
  if (cpu.avx512vnni) tables.push_back(join("avx512vnni", kAvx512VnniMatmul, kAvx512Vector));
  if (cpu.avx512) tables.push_back(join("avx512", kAvx512Matmul, kAvx512Vector));
  if (cpu.avx2) tables.push_back(join("avx2", kAvx2Matmul, kAvx2Vector));
#endif
  tables.push_back(join("scalar", kScalarMatmul, kScalarVector));
  return tables;
}

const std::vector<Table>& tables() {
  static const std::vector<Table> all = runnable_tables();
  return all;
}

}  // namespace

std::string_view variant_names() {
  static const std::string names = [] {
    std::string joined;
    for (const Table& table : tables())
      joined += (joined.empty() ? "" : ",") + std::string(table.name);
    return joined;
  }();
  return names;
}

base::Result<const Table*> choose_table(std::string_view forced) {
  for (const Table& table : tables()) {
    if (forced.empty() || forced == table.name) return &table;
  }
  return base::Error{base::ErrorCode::kInvalidArgument,
                     "no kernel variant '" + std::string(forced) + "' on this machine, which has " +
                         std::string(variant_names()),
                     "PAWL_ISA"};
}

}  // namespace pawl::kernels
