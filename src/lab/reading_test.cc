// SPDX-License-Identifier: Apache-2.0
// Event streams read as the HTML standard says, however they are cut into pieces.
#include "lab/answer_reader.h"
#include "lab/sse_parser.h"
#include "lab/test_ask.h"

namespace pawl::lab {
namespace {

using tests::delta_event;
using tests::event;
using tests::finish_event;
using tests::kDone;
using tests::role_event;
using tests::text_event;
using tests::usage_event;
using tests::with_line_ends;

// The stream in pieces of the given sizes (the last one repeats), a millisecond apart.
RequestRecord read_pieces(std::string_view stream, std::vector<size_t> sizes) {
  RequestRecord record;
  record.http_status = 200;
  record.sent_ns = 0;
  AnswerReader reader(record, true);
  for (int32_t read = 0; !stream.empty(); ++read) {
    const size_t size = sizes[std::min(static_cast<size_t>(read), sizes.size() - 1)];
    reader.feed(stream.substr(0, size), {(read + 1) * int64_t{1'000'000}, read});
    stream.remove_prefix(std::min(size, stream.size()));
  }
  reader.end({});
  return record;
}
RequestRecord read_whole(std::string_view stream) {
  return read_pieces(stream, {stream.size()});
}

std::string thirty_events() {
  std::string stream = role_event();
  for (int i = 0; i < 27; ++i) stream += text_event(fmt::format("w{} ", i));
  return stream + finish_event() + usage_event(7, 27) + kDone;
}

std::vector<EventKind> kinds(const RequestRecord& record) {
  std::vector<EventKind> kinds;
  for (const RawEvent& one : record.events) kinds.push_back(one.kind);
  return kinds;
}

TEST(Reading, S134_LineEndsOfEveryKindGiveTheSameEvents) {
  const RequestRecord expected = read_whole(thirty_events());
  ASSERT_EQ(expected.state, RequestState::kSuccess) << expected.error;
  ASSERT_EQ(expected.events.size(), 31U);
  std::string mixed;
  int count = 0;
  for (const char c : thirty_events()) {
    // No "\r" before a "\n": together they would be one line end.
    constexpr const char* kEnds[] = {"\n", "\r\n", "\r", "\r\n"};
    mixed += c == '\n' ? kEnds[count++ % 4] : std::string(1, c);
  }
  for (const std::string& stream :
       {with_line_ends(thirty_events(), "\r\n"), with_line_ends(thirty_events(), "\r"), mixed}) {
    for (const size_t size : {stream.size(), size_t{1}, size_t{2}, size_t{7}}) {
      const RequestRecord record = read_pieces(stream, {size});
      EXPECT_EQ(record.text, expected.text);
      EXPECT_EQ(kinds(record), kinds(expected));
      EXPECT_EQ(record.output.usage, 27);
      EXPECT_EQ(record.state, RequestState::kSuccess);
    }
  }
}

TEST(Reading, S135_ACarriageReturnAndItsLineFeedInTwoReadsAreOneLineEnd) {
  const std::string stream = with_line_ends(thirty_events(), "\r\n");
  std::vector<size_t> sizes;
  size_t from = 0;
  for (size_t at = stream.find("\r\n"); at != std::string::npos; at = stream.find("\r\n", at + 1)) {
    sizes.push_back(at + 1 - from);
    from = at + 1;
  }
  sizes.push_back(stream.size());
  const RequestRecord record = read_pieces(stream, sizes);
  EXPECT_EQ(kinds(record), kinds(read_whole(thirty_events())));
}

TEST(Reading, S136_CommentsAreLifeAndNoContent) {
  const std::string alone = ":\n\n" + text_event("a") + finish_event() + kDone;
  const RequestRecord first = read_pieces(alone, {3, alone.size()});
  EXPECT_EQ(kinds(first), (std::vector{EventKind::kComment, EventKind::kContent, EventKind::kOther,
                                       EventKind::kDone}));
  EXPECT_EQ(ttft_ms(first), 2);
  EXPECT_EQ(ttft_first_event_ms(first), 2);

  const RequestRecord block = read_whole(": hi\n" + text_event("a") + finish_event() + kDone);
  EXPECT_EQ(block.text, "a");
  EXPECT_EQ(block.state, RequestState::kSuccess);

  // Between two halves of an event: in the middle of its lines, as the standard allows.
  const std::string data = text_event("a");
  const std::string split = "event: message\n: ping\n" + data + finish_event() + kDone;
  const RequestRecord middle = read_pieces(split, {15, 7, data.size(), split.size()});
  EXPECT_EQ(middle.text, "a");
  EXPECT_EQ(ttft_ms(middle), 3);
}

TEST(Reading, S137_NoByteIsTouchedAtTheEdgeOfARead) {
  std::string stream = text_event("hello world");
  while (stream.size() < 2000) stream += text_event("  two spaces  ");
  stream += finish_event() + kDone;
  const std::string expected = read_whole(stream).text;
  for (size_t at = 1; at < stream.size(); ++at) {
    ASSERT_EQ(read_pieces(stream, {at, stream.size()}).text, expected) << at;
  }
}

TEST(Reading, S138_OtherFieldsAreToleratedAndDataLinesJoined) {
  const std::string stream =
      "\xEF\xBB\xBF"
      "retry: 1000\nevent: message\nid: 7\nwhat: else\nnocolon\n"
      "data: {\"choices\":[{\"delta\":\ndata:{\"content\":\"a\"}}]}\n\n"
      "event: message\n\n" +
      finish_event() + kDone;
  for (const size_t size : {stream.size(), size_t{1}}) {
    const RequestRecord record = read_pieces(stream, {size});
    EXPECT_EQ(record.text, "a");
    EXPECT_EQ(record.state, RequestState::kSuccess) << record.error;
  }
  SseParser parser;
  std::vector<SseEvent> events;
  ASSERT_TRUE(parser
                  .feed("data:  a\ndata:b\ndata\n\n", {},
                        [&](SseEvent one) { events.push_back(std::move(one)); })
                  .ok());
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].data, " a\nb\n");
  EXPECT_EQ(events[0].type, "message");
}

TEST(Reading, S139_DoneWithoutABlankLineIsTheEnd) {
  const std::string whole = text_event("a") + finish_event();
  for (const std::string_view end : {"data: [DONE]", "data: [DONE]\n", "data: [DONE]\r"}) {
    const RequestRecord record = read_whole(whole + std::string(end));
    EXPECT_EQ(record.state, RequestState::kSuccess) << record.error;
    EXPECT_TRUE(record.has_done);
    EXPECT_EQ(record.notes, std::vector<std::string>{"no blank line at the end of the stream"});
  }
}

TEST(Reading, S140_AnEventThatIsNoJsonFailsItsRequestWithNumberAndBytes) {
  std::string stream = role_event();
  for (int i = 0; i < 10; ++i) stream += text_event("a");
  stream += event(R"({"choi)");
  for (int i = 0; i < 18; ++i) stream += text_event("a");
  const RequestRecord record = read_pieces(stream, {40});
  EXPECT_EQ(record.state, RequestState::kFailed);
  EXPECT_EQ(record.failure, FailureKind::kBadEvent);
  EXPECT_NE(record.error.find("event 12 "), std::string::npos) << record.error;
  EXPECT_NE(record.error.find("choi"), std::string::npos) << record.error;
  // The events around it keep their own stamps.
  const RequestRecord good =
      read_pieces(stream.replace(stream.find(R"({"choi)"), 6, "{     "), {40});
  EXPECT_EQ(record.events.at(10).stamp_ns, good.events.at(10).stamp_ns);
  EXPECT_EQ(record.events.at(12).stamp_ns, good.events.at(12).stamp_ns);
}

TEST(Reading, S140_FortyNineOthersCount) {
  tests::ScriptedEndpoint server([](const tests::SeenRequest& request) {
    tests::StreamScript script;
    for (int i = 0; i < 28; ++i) {
      const bool is_bad = request.index == 17 && i == 11;
      script.send(i * 0.5, is_bad ? event(R"({"choi)") : text_event("a"));
    }
    return script.finish(15, 3, 28);
  });
  auto client = testing::client_at(server.url());
  for (int i = 0; i < 50; ++i) client->ask(testing::question(fmt::format("question {}", i)));
  std::vector<RequestRecord> records;
  while (client->in_flight() > 0) client->run(base::SteadyClock().now_ns() + 10'000'000);
  records = client->take_finished();
  ASSERT_EQ(records.size(), 50U);
  const auto count = [&](RequestState state) {
    return std::count_if(records.begin(), records.end(),
                         [&](const auto& record) { return record.state == state; });
  };
  EXPECT_EQ(count(RequestState::kSuccess), 49);
  EXPECT_EQ(count(RequestState::kFailed), 1);
}

TEST(Reading, S141_DeltasWithoutContentAreTolerated) {
  const RequestRecord record = read_whole(
      delta_event(R"("role":"assistant")") + delta_event(R"("content":null)") + text_event("a") +
      delta_event("") + event(R"({"choices":[{"index":0,"finish_reason":null}]})") +
      event(R"({"choices":null,"usage":null})") + event(R"({"choices":[null,7,[]]})") +
      finish_event() + kDone);
  EXPECT_EQ(record.state, RequestState::kSuccess) << record.error;
  EXPECT_EQ(record.text, "a");
  EXPECT_EQ(record.events.size(), 9U);
}

TEST(Reading, AnEventHasTheStampOfItsLastLineNotOfTheBlankOneBehindIt) {
  const std::string data = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n";
  const RequestRecord record =
      read_pieces(data + "\n" + finish_event() + kDone, {10, data.size() - 10, 1, 1000});
  EXPECT_EQ(ttft_ms(record), 2);
}

TEST(Reading, EventsBeyondTheLimitAreRefused) {
  SseParser parser(100);
  const SseParser::Sink drop = [](SseEvent) {};
  EXPECT_TRUE(parser.feed("data: " + std::string(80, 'x') + "\n\n", {}, drop).ok());
  EXPECT_TRUE(parser.feed("data: " + std::string(60, 'x'), {}, drop).ok());
  EXPECT_FALSE(parser.feed(std::string(60, 'x'), {}, drop).ok());
}

TEST(Reading, CompletionsAndWholeAnswersAreReadToo) {
  const RequestRecord stream =
      read_whole(event(R"({"choices":[{"text":"a b"}]})") +
                 event(R"({"choices":[{"text":"","finish_reason":"length"}]})") + kDone);
  EXPECT_EQ(stream.state, RequestState::kSuccess) << stream.error;
  EXPECT_EQ(stream.text, "a b");
  const RequestRecord whole = read_pieces(
      R"({"id":"x","choices":[{"message":{"role":"assistant","content":"a b"},)"
      R"("finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,)"
      R"("prompt_tokens_details":{"cached_tokens":1}},)"
      R"("timings":{"cache_n":1,"prompt_n":2,"prompt_ms":5.5,"predicted_n":2,"predicted_ms":9}})",
      {20});
  EXPECT_EQ(whole.state, RequestState::kSuccess) << whole.error;
  EXPECT_EQ(whole.text, "a b");
  EXPECT_EQ(whole.prompt.usage, 3);
  EXPECT_EQ(whole.prompt.timings, 3);
  EXPECT_EQ(whole.cached_tokens, 1);
  EXPECT_EQ(whole.server.prefill_ms, 5.5);
  EXPECT_EQ(whole.notes.size(), 1U);
}

TEST(Reading, ACachedCountThatIsNotThereIsNotZero) {
  EXPECT_FALSE(read_whole(thirty_events()).cached_tokens.has_value());
  EXPECT_EQ(read_whole(usage_event(9, 1, 0)).cached_tokens, 0);
}

}  // namespace
}  // namespace pawl::lab
