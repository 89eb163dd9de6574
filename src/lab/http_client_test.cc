// SPDX-License-Identifier: Apache-2.0
// Against a scripted server: it sends exact bytes and keeps what it was asked.
#include "lab/http_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

namespace pawl::lab {
namespace {

// Answers one connection after another with the given texts, each after reading a request head, and
// closes.
class ScriptedServer {
 public:
  explicit ScriptedServer(std::vector<std::string> answers) : answers_(std::move(answers)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    socklen_t size = sizeof(address);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    url_ = fmt::format("http://127.0.0.1:{}", ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~ScriptedServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  const std::string& url() const { return url_; }
  const std::vector<std::string>& requests() const { return requests_; }

 private:
  void serve() {
    for (const auto& answer : answers_) {
      const int peer = ::accept(listener_, nullptr, nullptr);
      if (peer < 0) return;
      std::string request;
      char buffer[4096];
      while (request.find("\r\n\r\n") == std::string::npos) {
        const ssize_t count = ::recv(peer, buffer, sizeof(buffer), 0);
        if (count <= 0) break;
        request.append(buffer, static_cast<size_t>(count));
      }
      requests_.push_back(request);
      ::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
      // An empty script line keeps the peer waiting until it leaves.
      if (answer.empty()) ::recv(peer, buffer, sizeof(buffer), 0);
      ::close(peer);
    }
  }

  std::vector<std::string> answers_;
  std::vector<std::string> requests_;
  int listener_ = -1;
  std::string url_;
  std::thread thread_;
};

struct Received {
  HttpHead head;
  std::string body;
  HttpReceiver receiver() {
    return {[this](const HttpHead& given) -> base::Result<void> {
              head = given;
              return {};
            },
            [this](std::span<const std::byte> bytes) -> base::Result<void> {
              body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
              return {};
            }};
  }
};

TEST(HttpClient, GivesHeadAndBody) {
  ScriptedServer server({"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"});
  Received received;
  auto head = http_get({.url = server.url() + "/a"}, received.receiver(), {});
  ASSERT_TRUE(head.ok()) << head.error().message;
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(received.head.content_length, 5);
  EXPECT_EQ(received.body, "hello");
  EXPECT_TRUE(server.requests().at(0).starts_with("GET /a HTTP/1.1\r\n"));
  EXPECT_EQ(server.requests().at(0).find("Range:"), std::string::npos);
}

TEST(HttpClient, AStatusIsTheReceiversBusiness) {
  ScriptedServer server({"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"});
  Received received;
  auto head = http_get({.url = server.url()}, received.receiver(), {});
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(received.head.status, 404);
}

TEST(HttpClient, AsksForTheRestAndReadsItsRange) {
  ScriptedServer server(
      {"HTTP/1.1 206 Partial\r\nContent-Range: bytes 3-4/5\r\nContent-Length: 2\r\n\r\nlo"});
  Received received;
  auto head = http_get({.url = server.url(), .first_byte = 3}, received.receiver(), {});
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(received.head.range_first, 3);
  EXPECT_EQ(received.head.range_total, 5);
  EXPECT_NE(server.requests().at(0).find("Range: bytes=3-\r\n"), std::string::npos);
}

TEST(HttpClient, ABodyShorterThanPromisedIsAnError) {
  ScriptedServer server({"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello"});
  Received received;
  auto head = http_get({.url = server.url()}, received.receiver(), {});
  ASSERT_FALSE(head.ok());
  EXPECT_EQ(head.error().code, base::ErrorCode::kNetwork);
  EXPECT_EQ(received.body, "hello");
}

TEST(HttpClient, RedirectsAreFollowedAndLimited) {
  ScriptedServer target({"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"});
  const std::string hop = fmt::format(
      "HTTP/1.1 302 Found\r\nContent-Length: 3\r\nLocation: {}/t\r\n\r\nxyz", target.url());
  ScriptedServer server({hop});
  Received received;
  auto head = http_get({.url = server.url()}, received.receiver(), {});
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(received.body, "ok");
  EXPECT_EQ(received.head.content_length, 2);

  const std::string loop = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /\r\n\r\n";
  ScriptedServer endless({loop, loop, loop, loop});
  auto refused = http_get({.url = endless.url(), .max_redirects = 2}, received.receiver(), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "more than 2 redirects");
}

TEST(HttpClient, ARedirectToAnotherProtocolIsRefused) {
  ScriptedServer server(
      {"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: file:///etc/passwd\r\n\r\n"});
  Received received;
  EXPECT_FALSE(http_get({.url = server.url()}, received.receiver(), {}).ok());
  EXPECT_EQ(received.body, "");
}

TEST(HttpClient, OtherProtocolsAreRefused) {
  Received received;
  for (const char* url : {"file:///etc/passwd", "ftp://127.0.0.1/x", "", "http://"}) {
    auto head = http_get({.url = url}, received.receiver(), {});
    ASSERT_FALSE(head.ok()) << url;
    EXPECT_EQ(head.error().code, base::ErrorCode::kInvalidArgument) << url;
  }
}

TEST(HttpClient, ARefusalOfTheReceiverIsTheResult) {
  ScriptedServer server({"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"});
  Received received;
  HttpReceiver receiver = received.receiver();
  receiver.bytes = [](std::span<const std::byte>) -> base::Result<void> {
    return base::Error{base::ErrorCode::kIo, "disk full", ""};
  };
  auto head = http_get({.url = server.url()}, receiver, {});
  ASSERT_FALSE(head.ok());
  EXPECT_EQ(head.error().message, "disk full");
}

TEST(HttpClient, AStopEndsAnAnswerThatNeverComes) {
  ScriptedServer server({""});
  Received received;
  std::stop_source stop;
  std::thread stopper([&] { stop.request_stop(); });
  auto head = http_get({.url = server.url()}, received.receiver(), stop.get_token());
  stopper.join();
  ASSERT_FALSE(head.ok());
  EXPECT_EQ(head.error().code, base::ErrorCode::kCancelled);
}

TEST(HttpClient, ContentRangesAreReadStrictly) {
  EXPECT_EQ(parse_content_range("bytes 5-99/100")->first, 5);
  EXPECT_EQ(parse_content_range("bytes 5-99/*")->total, std::nullopt);
  for (const char* bad : {"", "bytes", "bytes */100", "bytes 9-5/100", "bytes 5-100/100",
                          "items 5-9/100", "bytes -5-9/100", "bytes 5-9/x", "bytes 5-9"}) {
    EXPECT_FALSE(parse_content_range(bad).has_value()) << bad;
  }
}

TEST(HttpClient, PasswordsAreNotShown) {
  EXPECT_EQ(shown_url("https://me:secret@host/a@b"), "https://host/a@b");
  EXPECT_EQ(shown_url("https://host/a@b"), "https://host/a@b");
}

}  // namespace
}  // namespace pawl::lab
