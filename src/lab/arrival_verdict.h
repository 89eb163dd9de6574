// SPDX-License-Identifier: Apache-2.0
// Whether something on the way held a stream back and let it go in blocks. Speed is no evidence: a
// fast stream has few events in a read, and a bundle of a step has a few more; a buffer lets go of
// many at once, each time about as many bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "lab/record.h"
#include "lab/verdicts.h"

namespace pawl::lab {

struct ArrivalVerdict {
  Verdict verdict;  // named "held back"; kUnclear for streams too short to tell
  // Size of the blocks, where they are alike: of the stream's bytes, or of its text alone.
  std::optional<int64_t> block_bytes;
  bool is_of_text = false;
};

// Of a stream that came to its end. Stamps are the client's: a server's own word about its times
// says nothing about when text arrived.
ArrivalVerdict judge_arrival(const RequestRecord& record);

// Of a measurement: what most of the streams show that are long enough to tell.
Verdict judge_held_back(std::span<const RequestRecord> records);

}  // namespace pawl::lab
