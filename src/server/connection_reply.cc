// SPDX-License-Identifier: Apache-2.0
// The second half of a connection: a request is answered, at once or as it comes, and the bytes go.
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "server/connection.h"
#include "server/http_head.h"

namespace pawl::server {

namespace asio = boost::asio;

namespace {

constexpr int64_t kLingerMs = 1000;

}  // namespace

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
  const bool has_body = request_.method != "HEAD" && reply.status != 204 && reply.status != 304;
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
  for (FormatCheck& check : stream_->take_checks()) check_format(std::move(check));
  if (!stream_->is_stream()) {
    if (stream_->is_over()) finish_whole();
    return;
  }
  if (stream_->is_over() && stream_->error() && !has_begun_ && frames_.empty()) {
    return send_reply(error_reply(*stream_->error()));
  }
  if (!frames_.empty()) send_frames();
}

// A large schema takes its time: a worker judges, and the reply goes on with what it found.
void Connection::check_format(FormatCheck check) {
  ways_.on_worker([self = shared_from_this(), io = socket_.get_executor(), stream = stream_,
                   check = std::move(check)]() mutable {
    std::string wrong = check.run();
    asio::post(io, [self = std::move(self), stream = std::move(stream), choice = check.choice,
                    wrong = std::move(wrong)]() mutable {
      if (self->stream_ != stream) return;  // the peer is gone
      stream->take_verdict(choice, std::move(wrong));
      self->on_events();
    });
  });
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
