// SPDX-License-Identifier: Apache-2.0
#include "server/connection.h"

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <utility>

namespace pawl::server {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

constexpr size_t kReadPiece = 16 * 1024;

bool is_usable_id(std::string_view id, size_t limit) {
  if (id.empty() || id.size() > limit) return false;
  for (const char c : id) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.' || c == ':';
    if (!is_plain) return false;
  }
  return true;
}

ApiError error_of_reading(const boost::system::error_code& failure, const Limits& limits) {
  if (failure == http::error::header_limit) {
    return too_large(431, "the request line and headers have more than " +
                              std::to_string(limits.header_bytes) + " bytes");
  }
  if (failure == http::error::body_limit) {
    return too_large(413, "the body has more than " + std::to_string(limits.body_bytes) + " bytes");
  }
  return bad_request("the request is not HTTP/1.1: " + failure.message());
}

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, Ways ways)
    : socket_(std::move(socket)),
      deadline_(socket_.get_executor()),
      ping_(socket_.get_executor()),
      ways_(std::move(ways)),
      limits_(ways_.api->limits()),
      buffer_(std::max(limits_.early_bytes, limits_.header_bytes) + 2 * kReadPiece) {}

Connection::~Connection() {
  close();
}

void Connection::start() {
  Code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
  const auto peer = socket_.remote_endpoint(ignored);
  request_.peer = peer.address().to_string();
  set_deadline(limits_.header_ms, [this] { close(); });
  watch();
}

void Connection::turn_away(const ApiError& error) {
  Code ignored;
  socket_.non_blocking(true, ignored);
  refuse(error);
}

void Connection::drain() {
  is_draining_ = true;
  closes_ = true;
  if (state_ == State::kIdle || state_ == State::kReading) close();
}

void Connection::close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  Code ignored;
  socket_.close(ignored);
  deadline_.cancel();
  ping_.cancel();
  stream_.reset();  // cancels what is still computed
  if (ways_.on_closed) std::exchange(ways_.on_closed, nullptr)(*this);
}

void Connection::set_deadline(int64_t ms, std::function<void()> action) {
  deadline_.expires_after(std::chrono::milliseconds(ms));
  deadline_.async_wait([self = shared_from_this(), action = std::move(action)](Code failure) {
    if (!failure && self->state_ != State::kClosed) action();
  });
}

// -- Reading

void Connection::watch() {
  if (is_watching_ || state_ == State::kClosed) return;
  is_watching_ = true;
  socket_.async_read_some(
      buffer_.prepare(kReadPiece),
      [self = shared_from_this()](Code failure, size_t bytes) { self->on_watch(failure, bytes); });
}

void Connection::on_watch(Code failure, size_t bytes) {
  is_watching_ = false;
  if (state_ == State::kClosed) return;
  const bool is_interrupted = failure == asio::error::operation_aborted;
  if (failure && !is_interrupted) return close();  // the peer is gone
  buffer_.commit(bytes);
  if (state_ == State::kIdle && buffer_.size() > 0) return read_header();
  if (state_ == State::kEnding) buffer_.clear();
  if (buffer_.size() > limits_.early_bytes) return close();
  watch();
}

void Connection::read_header() {
  state_ = State::kReading;
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
  parser_->body_limit(limits_.body_bytes);
  set_deadline(limits_.header_ms, [this] {
    refuse({408, "the header did not come within " + std::to_string(limits_.header_ms) + " ms",
            "invalid_request_error", "timeout", "", 0});
  });
  http::async_read_header(
      socket_, buffer_, *parser_,
      [self = shared_from_this()](Code failure, size_t) { self->on_header(failure); });
}

void Connection::on_header(Code failure) {
  if (state_ != State::kReading) return;
  if (failure == http::error::end_of_stream || failure == asio::error::connection_reset ||
      failure == asio::error::eof || failure == http::error::partial_message) {
    return close();
  }
  if (failure) return refuse(error_of_reading(failure, limits_));
  request_.received_ns = ways_.api->clock().now_ns();
  const auto length = parser_->content_length();
  if (length && *length > limits_.body_bytes) {
    return refuse(error_of_reading(http::make_error_code(http::error::body_limit), limits_));
  }
  if (parser_->get()[http::field::expect] == "100-continue") {
    // 25 bytes into an empty socket buffer: this does not block.
    Code ignored;
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::write(socket_, asio::buffer(kContinue), ignored);
  }
  read_body();
}

void Connection::read_body() {
  set_deadline(limits_.body_ms, [this] {
    refuse({408, "the body did not come within " + std::to_string(limits_.body_ms) + " ms",
            "invalid_request_error", "timeout", "", 0});
  });
  http::async_read(socket_, buffer_, *parser_,
                   [self = shared_from_this()](Code failure, size_t) { self->on_body(failure); });
}

void Connection::on_body(Code failure) {
  if (state_ != State::kReading) return;
  if (failure == http::error::partial_message || failure == asio::error::connection_reset) {
    return close();
  }
  if (failure) return refuse(error_of_reading(failure, limits_));
  deadline_.cancel();
  request_ = take_request();
  handle();
}

// What cannot be read further: the reply is sent and the connection ends.
void Connection::refuse(const ApiError& error) {
  if (state_ == State::kClosed) return;
  Code ignored;
  socket_.cancel(ignored);  // the read that is under way
  std::string peer = std::move(request_.peer);
  request_ = HttpRequest();
  request_.peer = std::move(peer);
  request_.request_id = "req-" + random_id();
  request_.received_ns = ways_.api->clock().now_ns();
  admission_ = {};
  closes_ = true;
  send_reply(error_reply(error));
}

HttpRequest Connection::take_request() {
  auto message = parser_->release();
  HttpRequest request;
  request.peer = std::move(request_.peer);
  request.received_ns = request_.received_ns;
  request.method = std::string(message.method_string());
  const std::string_view target(message.target().data(), message.target().size());
  const size_t question = target.find('?');
  request.path = target.substr(0, question);
  if (question != std::string_view::npos) request.query = target.substr(question + 1);
  for (const auto& field : message) {
    std::string name(field.name_string());
    for (char& c : name) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    request.headers.emplace_back(std::move(name), std::string(field.value()));
  }
  request.is_http_1_0 = message.version() < 11;
  request.is_keep_alive = message.keep_alive();
  request.body = std::move(message.body());
  const std::string_view id = request.header("x-request-id");
  request.request_id = is_usable_id(id, limits_.id_bytes) ? std::string(id) : "req-" + random_id();
  parser_.reset();
  return request;
}

}  // namespace pawl::server
