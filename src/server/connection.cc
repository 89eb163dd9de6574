// SPDX-License-Identifier: Apache-2.0
#include "server/connection.h"

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <utility>

#include "server/http_head.h"

namespace pawl::server {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

constexpr size_t kReadPiece = 16 * 1024;
constexpr int64_t kLingerMs = 1000;

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

// -- Answering

void Connection::handle() {
  state_ = State::kHandling;
  closes_ = is_draining_ || !request_.is_keep_alive;
  admission_ = ways_.api->admit(request_);
  if (admission_.refusal) return send_reply(std::move(*admission_.refusal));
  if (!admission_.row->is_heavy) return on_outcome(ways_.api->handle(admission_, request_));
  watch();
  // What is shared goes back to the io thread as a whole, so that it also dies there.
  ways_.on_worker([self = shared_from_this(), io = socket_.get_executor()]() mutable {
    // Only the worker touches request_ and admission_ until its outcome is back.
    auto outcome =
        std::make_shared<Outcome>(self->ways_.api->handle(self->admission_, self->request_));
    asio::post(io, [self = std::move(self), outcome = std::move(outcome)] {
      self->on_outcome(std::move(*outcome));
    });
  });
}

void Connection::on_outcome(Outcome outcome) {
  if (state_ == State::kClosed) return;  // outcome.stream goes, and cancels
  if (outcome.stream) return attach(std::move(outcome.stream));
  send_reply(std::move(outcome.reply));
}

void Connection::send_reply(HttpReply reply) {
  state_ = State::kReplying;
  status_ = reply.status;
  closes_ = closes_ || reply.closes;
  const bool has_body = request_.method != "HEAD" && reply.status != 204;
  Headers headers = ways_.api->common_headers(request_);
  headers.insert(headers.end(), reply.headers.begin(), reply.headers.end());
  unsent_ = head_of(reply.status, reply.content_type, headers,
                    reply.status == 204 ? std::nullopt : std::optional<size_t>(reply.body.size()));
  if (has_body) unsent_ += reply.body;
  sent_ = 0;
  has_begun_ = true;
  ends_after_write_ = true;
  ways_.api->log_reply(request_, admission_, status_,
                       stream_ ? std::string_view(stream_->live().id()) : std::string_view());
  if (!closes_) watch();
  write_more();
}

std::string Connection::head_of(int status, std::string_view content_type, const Headers& headers,
                                std::optional<size_t> body_bytes) {
  HeadParts parts;
  parts.status = status;
  parts.content_type = content_type;
  parts.body_bytes = body_bytes;
  parts.is_chunked = !body_bytes && status != 204 && !request_.is_http_1_0;
  if (!body_bytes && status != 204 && request_.is_http_1_0) closes_ = true;
  parts.closes = closes_;
  return http_head(parts, headers);
}

void Connection::attach(std::shared_ptr<ReplyStream> stream) {
  state_ = State::kReplying;
  stream_ = std::move(stream);
  frames_.clear();
  unsent_.clear();
  sent_ = 0;
  has_begun_ = false;
  ends_after_write_ = false;
  stream_->live().set_listener([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->on_events();
  });
  last_write_ns_ = ways_.api->clock().now_ns();
  if (stream_->is_stream()) set_ping();
  on_events();
}

void Connection::on_events() {
  if (state_ != State::kReplying || !stream_ || ends_after_write_) return;
  // Events wait in the request while bytes wait for the peer: there they are counted and bounded.
  if (is_writing_) return;
  stream_->collect(has_begun_, frames_);
  if (!stream_->is_stream()) {
    if (stream_->is_over()) finish_whole();
    return;
  }
  if (stream_->is_over() && stream_->error() && !has_begun_ && frames_.empty()) {
    return send_reply(error_reply(*stream_->error()));
  }
  if (!frames_.empty()) send_frames();
}

// A large reply is put together by a worker.
void Connection::finish_whole() {
  if (stream_->error()) return send_reply(error_reply(*stream_->error()));
  state_ = State::kHandling;
  ways_.on_worker([self = shared_from_this(), io = socket_.get_executor(),
                   stream = stream_]() mutable {
    auto body = std::make_shared<std::string>(stream->whole_reply());
    asio::post(io, [self = std::move(self), body = std::move(body), stream = std::move(stream)] {
      if (self->state_ == State::kClosed) return;
      HttpReply reply;
      reply.body = std::move(*body);
      const int64_t ns = self->ways_.api->clock().now_ns() - self->request_.received_ns;
      reply.headers.emplace_back("openai-processing-ms", std::to_string(ns / 1'000'000));
      self->send_reply(std::move(reply));
    });
  });
}

void Connection::send_frames() {
  const bool is_last = stream_->is_over();
  if (!has_begun_) {
    has_begun_ = true;
    status_ = 200;
    if (stream_->error()) closes_ = true;
    stream_->live().set_status(200);
    Headers headers = ways_.api->common_headers(request_);
    headers.emplace_back("Cache-Control", "no-cache");
    headers.emplace_back("X-Accel-Buffering", "no");
    unsent_ += head_of(200, "text/event-stream; charset=utf-8", headers, std::nullopt);
    ways_.api->log_reply(request_, admission_, 200, stream_->live().id());
  }
  if (request_.is_http_1_0) {
    unsent_ += frames_;
  } else {
    append_http_chunk(frames_, unsent_);
    // After an error the connection ends, and so does the chunked body without its last chunk.
    if (is_last && !stream_->error()) unsent_ += kLastHttpChunk;
  }
  if (is_last && stream_->error()) closes_ = true;
  frames_.clear();
  ends_after_write_ = is_last;
  last_write_ns_ = ways_.api->clock().now_ns();
  write_more();
}

void Connection::set_ping() {
  ping_.expires_after(std::chrono::milliseconds(limits_.ping_ms));
  ping_.async_wait([self = shared_from_this()](Code failure) {
    if (failure || self->state_ != State::kReplying || !self->stream_ || self->ends_after_write_) {
      return;
    }
    const int64_t now_ns = self->ways_.api->clock().now_ns();
    const bool is_silent = now_ns - self->last_write_ns_ >= self->limits_.ping_ms * 900'000;
    if (is_silent && !self->is_writing_) {
      self->stream_->append_ping(now_ns, self->frames_);
      self->send_frames();
    }
    self->set_ping();
  });
}

// The reply is with the socket.
void Connection::end_reply() {
  ping_.cancel();
  if (stream_) {
    stream_->live().set_status(status_);
    stream_.reset();
  }
  if (closes_) return end_connection();
  state_ = State::kIdle;
  has_begun_ = false;
  ends_after_write_ = false;
  set_deadline(limits_.idle_ms, [this] { close(); });
  if (buffer_.size() > 0) {
    // A watch may be under way, and two reads at once must not be.
    if (!is_watching_) return read_header();
    Code ignored;
    socket_.cancel(ignored);
    return;
  }
  watch();
}

// To close a socket that holds unread bytes would take the reply away from the peer, too: so the
// sending half ends, and what still comes is thrown away until the peer has ended as well.
void Connection::end_connection() {
  state_ = State::kEnding;
  Code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  set_deadline(kLingerMs, [this] { close(); });
  buffer_.clear();
  watch();
}

// -- Writing

void Connection::write_more() {
  if (is_writing_ || state_ == State::kClosed) return;
  // Mostly there is room, and the bytes go without waiting for anything.
  Code failure;
  const size_t bytes =
      socket_.write_some(asio::buffer(unsent_.data() + sent_, unsent_.size() - sent_), failure);
  if (failure && failure != asio::error::would_block && failure != asio::error::try_again) {
    return close();
  }
  sent_ += failure ? 0 : bytes;
  if (sent_ == unsent_.size()) return on_written({}, 0);
  is_writing_ = true;
  set_deadline(limits_.write_ms, [this] {
    if (stream_) stream_->live().cancel(CancelCause::kSlowReader);
    close();
  });
  socket_.async_write_some(
      asio::buffer(unsent_.data() + sent_, unsent_.size() - sent_),
      [self = shared_from_this()](Code failed, size_t count) { self->on_written(failed, count); });
}

void Connection::on_written(Code failure, size_t bytes) {
  const bool was_waiting = std::exchange(is_writing_, false);
  if (state_ == State::kClosed) return;
  if (failure) return close();
  sent_ += bytes;
  if (sent_ < unsent_.size()) return write_more();
  unsent_.clear();
  sent_ = 0;
  if (was_waiting) deadline_.cancel();
  if (stream_) stream_->confirm_delivery();
  if (ends_after_write_) return end_reply();
  if (was_waiting) on_events();  // what came meanwhile
}

}  // namespace pawl::server
