// SPDX-License-Identifier: Apache-2.0
// One TCP connection: reads a request, has it answered, and watches the peer meanwhile. While a
// reply is queued, computed or streamed a read stands on the socket: end of file means that nobody
// waits any more (a half-closed client too), and the request is cancelled; bytes that come early
// are kept for the next request, up to a limit.
//
// Threads: the io thread. It lives while an operation on it is under way.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/api.h"

namespace pawl::server {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Ways {
    Api* api = nullptr;                                    // outlives it
    std::function<void(std::function<void()>)> on_worker;  // runs a function on a worker
    std::function<void(Connection&)> on_closed;            // once
  };

  Connection(boost::asio::ip::tcp::socket socket, Ways ways);
  ~Connection();

  void start();

  // In place of start(): answers with this, whatever was asked, and ends.
  void turn_away(const ApiError& error);

  // Closes it now if no request is under way, else after the reply.
  void drain();

  void close();

 private:
  using Code = boost::system::error_code;
  enum class State { kIdle, kReading, kHandling, kReplying, kEnding, kClosed };

  // Reading
  void watch();
  void on_watch(Code failure, size_t bytes);
  void read_header();
  void on_header(Code failure);
  void read_body();
  void on_body(Code failure);
  void refuse(const ApiError& error);
  HttpRequest take_request();

  // Answering
  void handle();
  void on_outcome(Outcome outcome);
  void send_reply(HttpReply reply);
  void attach(std::shared_ptr<ReplyStream> stream);
  void on_events();
  void check_format(FormatCheck check);
  void finish_whole();
  void send_frames();
  void end_reply();
  void end_connection();

  // Writing
  void write_more();
  void on_written(Code failure, size_t bytes);

  void set_deadline(int64_t ms, std::function<void()> action);
  void set_ping();
  std::string head_of(int status, std::string_view content_type, const Headers& headers,
                      std::optional<size_t> body_bytes);

  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer deadline_, ping_;
  Ways ways_;
  const Limits& limits_;
  State state_ = State::kIdle;
  bool is_watching_ = false;
  bool is_draining_ = false;

  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  HttpRequest request_;
  Admission admission_;

  std::shared_ptr<ReplyStream> stream_;
  std::string frames_;  // of a stream, not framed for the socket yet
  std::string unsent_;  // for the socket; the part from `sent_` on
  size_t sent_ = 0;
  bool is_writing_ = false;
  bool has_begun_ = false;  // the status line was given out
  bool ends_after_write_ = false;
  bool closes_ = false;  // after the reply
  int status_ = 0;
  int64_t last_write_ns_ = 0;
};

}  // namespace pawl::server
