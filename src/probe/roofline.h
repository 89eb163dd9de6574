// SPDX-License-Identifier: Apache-2.0
// The roofline: what a pass costs at least on a machine of which two numbers are known, and which
// of the two holds it up. Arithmetic only, so that it serves a machine that is not here.
// Williams, Waterman, Patterson, "Roofline: an insightful visual performance model for multicore
// architectures", CACM 52(4), 2009.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::probe {

enum class Bound { kCompute, kBandwidth, kNeither };
std::string_view bound_name(Bound bound);  // "compute", "bandwidth", "neither"

// A machine by what it can do at most.
struct Hardware {
  std::string name;
  double bytes_per_s = 0;       // reading memory
  double operations_per_s = 0;  // 2 per multiply-add
  std::string arithmetic;       // which operations these are
  std::string source;           // where the two numbers come from

  // Operations per byte at which both limits take as long.
  double ridge() const { return operations_per_s / bytes_per_s; }
};

// The entries that are built in, from data/hardware.json, and files of the same form:
//   {"hardware": [{"name", "read_GBps", "TFLOPS", "arithmetic", "source"}]}
// Foreign bytes. Error kBadFile names the entry and the member.
base::Result<std::vector<Hardware>> parse_hardware(std::string_view text);

// A model by its sizes, what it is asked to do, and what it reaches of a machine. The sizes are
// those of Llama 3 8B.
struct Deployment {
  double parameters = 8.03e9;  // in products, all of them for every token
  double weight_bits = 16;     // of one parameter in memory
  double kv_bytes = 131072;    // keys and values of one position
  int64_t batch = 1;           // sequences that decode together
  int64_t prompt = 1024;       // tokens of a prompt, and positions before a decoded token
  double prefill_share = 0.5;  // of the arithmetic, where that is what binds
  double decode_share = 0.75;  // of the bandwidth, likewise
};

// One pass on a machine.
struct RooflinePass {
  double bytes = 0, operations = 0;
  Bound bound = Bound::kCompute;  // by intensity and ridge
  double seconds = 0;             // at the shares of the deployment
  double intensity() const { return operations / bytes; }
};

struct Roofline {
  RooflinePass prefill;  // of the whole prompt, in one pass
  RooflinePass decode;   // of one token for each sequence
  double prefill_tokens_per_s = 0;
  double decode_tokens_per_s = 0;  // of one sequence
  // Prompt tokens that take the machine as long as one output token: the seconds of a decode step
  // divided by its tokens, over those of a prompt token.
  double exchange = 0;
};

// Prefill: 2 · parameters operations per token; decode: the weights once for all sequences, and
// each one's context. Attention's own arithmetic is left out. REQUIRES: all numbers above 0, but
// for kv_bytes, which may be 0
Roofline evaluate(const Hardware& hardware, const Deployment& deployment);

}  // namespace pawl::probe
