// SPDX-License-Identifier: Apache-2.0
// What tests of the server share: a small tokenizer, and a client that says one thing.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "text/tokenizer.h"

namespace pawl::server {

// Of tests/golden/tiny/qwen3.gguf; null, and a failure, where that cannot be read.
inline std::unique_ptr<text::Tokenizer> small_tokenizer() {
  auto file = gguf::open(PAWL_SOURCE_DIR "/tests/golden/tiny/qwen3.gguf");
  if (file.ok()) {
    auto tokenizer = text::Tokenizer::create(std::move(*file));
    if (tokenizer.ok()) return std::move(*tokenizer);
  }
  ADD_FAILURE() << "no tokenizer";
  return nullptr;
}

inline std::string completion_request(const std::string& body) {
  return "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
         "Content-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

// Sends a request and reads until the peer ends or `enough` bytes came; then leaves.
inline std::string ask(uint16_t port, const std::string& request,
                       size_t enough = std::numeric_limits<size_t>::max()) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::send(descriptor, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  char piece[4096];
  while (answer.size() < enough) {
    const ssize_t bytes = ::recv(descriptor, piece, sizeof piece, 0);
    if (bytes <= 0) break;
    answer.append(piece, static_cast<size_t>(bytes));
  }
  ::close(descriptor);
  return answer;
}

}  // namespace pawl::server
