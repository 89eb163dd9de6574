// SPDX-License-Identifier: Apache-2.0
#include "model/model.h"

#include <algorithm>

namespace pawl::model {

base::Result<std::shared_ptr<const Model>> Model::open(const std::string& path,
                                                       base::TaskPool& pool) {
  PAWL_TRY(std::shared_ptr<const gguf::File> file, gguf::open(path));
  auto model = create(std::move(file), pool);
  if (!model.ok() && model.error().where.empty()) model.error().where = path;
  return model;
}

base::Result<std::shared_ptr<const Model>> Model::create(std::shared_ptr<const gguf::File> file,
                                                         base::TaskPool& pool,
                                                         std::span<const AdapterSource> adapters,
                                                         bool split_output) {
  PAWL_TRY(ModelConfig config, read_config(*file));
  std::vector<std::string> unused;
  PAWL_TRY(const AdapterFiles adapter_files, AdapterFiles::open(adapters, *file));
  PAWL_TRY(Weights weights, load_weights(*file, config, pool, adapter_files, split_output, unused));
  std::shared_ptr<Model> model(new Model(std::move(file), std::move(config), std::move(weights)));
  model->unused_tensors_ = std::move(unused);
  return std::shared_ptr<const Model>(std::move(model));
}

kv::Layout Model::kv_layout(kernels::KvType type) const {
  std::vector<kv::LayerShape> shapes;
  for (const LayerConfig& layer : config_.layers) {
    shapes.push_back({layer.kv_heads, config_.head_dim, config_.value_dim});
  }
  return kv::Layout(
      shapes, [type](int dim) { return kernels::kv_key_bytes(type, dim); },
      [type](int dim) { return kernels::kv_value_bytes(type, dim); });
}

kernels::KvType Model::kv_type_for(kernels::KvType wanted) const {
  const bool has_key_biases = std::ranges::any_of(
      weights_.layers, [](const LayerWeights& layer) { return !layer.k_bias.empty(); });
  return kernels::has_coded_keys(wanted) && has_key_biases ? kernels::KvType::kF16Q8_0 : wanted;
}

int64_t Model::step_weight_bytes() const {
  const auto feed_forward = [](const FeedForward& w) {
    return w.gate.bytes() + w.up.bytes() + w.down.bytes();
  };
  int64_t bytes = weights_.output.bytes();
  for (const LayerWeights& layer : weights_.layers) {
    for (const Matrix* m : {&layer.q, &layer.k, &layer.v, &layer.output}) bytes += m->bytes();
    const LatentAttention& latent = layer.latent;
    for (const Matrix* m : {&latent.query_down, &latent.query, &latent.latent, &latent.rotated_key,
                            &latent.keys_and_values})
      bytes += m->bytes();
    for (const Matrix& m : latent.query_up) bytes += m.bytes();
    for (const Matrix& m : latent.value_up) bytes += m.bytes();
    const StateWeights& state = layer.state;
    for (const Matrix* m :
         {&state.in, &state.gate, &state.entry, &state.step_down, &state.write_read, &state.step,
          &state.beta, &state.out, &layer.attention_gate})
      bytes += m->bytes();
    bytes += feed_forward(layer.feed_forward);
    const Experts& experts = layer.experts;
    bytes += experts.router.bytes() + feed_forward(experts.shared);
    // Experts are of one size.
    if (!experts.all.empty()) bytes += config_.experts_used * feed_forward(experts.all[0]);
  }
  return bytes;
}

}  // namespace pawl::model
