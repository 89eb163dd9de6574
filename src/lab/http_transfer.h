// SPDX-License-Identifier: Apache-2.0
// One request of an HttpLoop as libcurl sees it: its options, the callbacks that take head and
// bytes with their stamps, and the limits that it may pass.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "lab/curl_library.h"
#include "lab/http_loop.h"

namespace pawl::lab {

struct Piece {
  size_t bytes = 0;
  ReadStamp stamp;
};

// One request while it runs. libcurl calls back into it within a round.
struct Transfer {
  HttpLoop::Id id = 0;
  HttpRequest request;
  HttpReader reader;
  const base::Clock* clock = nullptr;
  const int64_t* round = nullptr;
  const CurlLibrary* curl = nullptr;
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  std::array<char, CURL_ERROR_SIZE> why{};

  AnswerHead head;
  bool is_head_whole = false, is_head_given = false;
  std::string received;  // not given to the reader yet
  std::vector<Piece> pieces;
  int64_t last_round = -1;
  ReadStamp stamp{0, -1};
  int64_t started_ns = 0;
  int64_t last_byte_ns = 0;  // 0: none came
  int32_t sendings = 0;
  ExchangeEnd end;
  bool is_over = false, is_touched = false;

  // The bytes of one round came in one read, whatever pieces libcurl makes of them.
  ReadStamp read_stamp() {
    if (last_round != *round) {
      last_round = *round;
      stamp.ns = clock->now_ns();
      last_byte_ns = stamp.ns;
    }
    return stamp;
  }
};

// Sets all options of `easy`, which is there, and fills `headers`.
void configure(Transfer& transfer);

// Before the request was sent there was no connection; after it, one that broke.
FailureKind failure_of(CURLcode code, const Transfer& transfer);

// The limit that is passed, and what to say of it.
std::optional<std::pair<FailureKind, std::string>> passed_limit(const Transfer& transfer,
                                                                int64_t now_ns);

}  // namespace pawl::lab
