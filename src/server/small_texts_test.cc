// SPDX-License-Identifier: Apache-2.0
// The small parts: paths, origins, heads, JSON texts, keys.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "server/api_error.h"
#include "policy/policy.h"
#include "server/api_keys.h"
#include "server/fields.h"
#include "server/http_head.h"
#include "server/json_text.h"
#include "server/origins.h"
#include "server/routes.h"

namespace pawl::server {
namespace {

std::string quoted(std::string_view text) {
  std::string out;
  append_quoted(text, out);
  return out;
}

TEST(JsonText, EscapesWhatTheStandardWants) {
  EXPECT_EQ(quoted("a\"b\\c\n\r\t\x01\x1f/"), R"("a\"b\\c\n\r\t\u0001\u001f/")");
  EXPECT_EQ(quoted("日本 🙂\x7f"), "\"日本 🙂\x7f\"");
}

TEST(JsonText, S028_BytesThatAreNoTextBecomeReplacementCharacters) {
  EXPECT_EQ(quoted("\xED\xA0\x80"), "\"\uFFFD\uFFFD\uFFFD\"");
  EXPECT_EQ(quoted("\xE2\x80\x41"), "\"\uFFFDA\"");
  EXPECT_EQ(quoted("\xC0\xAF\x42"), "\"\uFFFD\uFFFDB\"");
}

TEST(JsonText, S034_NoLogprobIsSomethingJsonCannotHold) {
  for (const double value : {-std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN(), -1e300}) {
    std::string out;
    append_logprob(value, out);
    EXPECT_EQ(out, "-9999");
  }
  std::string out;
  append_logprob(-0.25, out);
  EXPECT_EQ(out, "-0.25");
}

std::string page(const char* name) {
  std::ifstream file(std::string(PAWL_SOURCE_DIR "/docs/") + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Documents, NameEveryPathAndField) {
  const std::string text = page("server.md");
  for (const FieldRow& row : field_table()) {
    EXPECT_NE(text.find("| `" + std::string(row.name) + "` |"), std::string::npos) << row.name;
  }
  for (const RouteRow& row : route_table()) {
    EXPECT_NE(text.find(std::string(row.method) + " " + std::string(row.pattern)),
              std::string::npos)
        << row.pattern;
    EXPECT_NE(page("openapi.yaml").find("\n  " + std::string(row.pattern) + ":\n"),
              std::string::npos)
        << row.pattern;
  }
}

TEST(Fields, EachThatIsTakenIsInTheInterfaceForPrograms) {
  const std::string interface = page("openapi.yaml");
  const auto is_there = [&](std::string_view name) {
    return interface.find(" " + std::string(name) + ":") != std::string::npos;
  };
  for (const FieldRow& row : field_table()) {
    EXPECT_EQ(is_there(row.name), row.handling != Handling::kRefused) << row.name;
  }
  for (const policy::Knob& knob : policy::knobs()) EXPECT_TRUE(is_there(knob.name)) << knob.name;
}

TEST(Routes, PathsAreComparedAsSent) {
  EXPECT_EQ(match_route("POST", "/v1/completions").row->endpoint, Endpoint::kCompletion);
  EXPECT_EQ(match_route("DELETE", "/v1/requests/abc").id, "abc");
  EXPECT_EQ(match_route("HEAD", "/health").row->endpoint, Endpoint::kHealth);
  EXPECT_EQ(match_route("GET", "/v1/completions").row, nullptr);
  EXPECT_EQ(match_route("GET", "/v1/completions").allowed, "POST");
  EXPECT_EQ(match_route("GET", "/v1/requests/a").allowed, "GET, HEAD, DELETE");
  for (const char* path : {"//", "", "/web", "/web/", "/v1/requests/", "/V1/models", "/v1/models/", "//health",
                           "/health/", "/v1/../health", "/%68ealth"}) {
    EXPECT_EQ(match_route("GET", path).allowed, "") << path;
  }
}

HttpRequest request_of(std::string method, Headers headers) {
  HttpRequest request;
  request.method = std::move(method);
  request.headers = std::move(headers);
  return request;
}

TEST(Origins, S063_OnlyThisMachinesNamesOnALoopbackAddress) {
  const Origins origins({}, true);
  for (const char* host :
       {"localhost", "LOCALHOST:80", "127.0.0.1:8080", "[::1]:8080", "a.localhost"}) {
    EXPECT_EQ(origins.refusal(request_of("GET", {{"host", host}})), "") << host;
  }
  for (const char* host :
       {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "127.evil", "[::2]"}) {
    EXPECT_NE(origins.refusal(request_of("GET", {{"host", host}})), "") << host;
  }
  EXPECT_EQ(Origins({}, false).refusal(request_of("GET", {{"host", "my.server"}})), "");
}

TEST(Origins, S063_ForeignPagesChangeNothingAndReadNothing) {
  const Origins origins({"https://good.example"}, true);
  const auto from = [](std::string method, const char* origin) {
    return request_of(std::move(method), {{"host", "localhost:80"}, {"origin", origin}});
  };
  EXPECT_NE(origins.refusal(from("POST", "https://evil.example")), "");
  EXPECT_NE(origins.refusal(from("DELETE", "null")), "");
  EXPECT_EQ(origins.refusal(from("POST", "https://good.example")), "");
  EXPECT_EQ(origins.refusal(from("POST", "http://localhost:80")), "");
  Headers headers;
  origins.add_headers(from("GET", "https://evil.example"), headers);
  ASSERT_EQ(headers.size(), 1u);
  EXPECT_EQ(headers[0].first, "Vary");
  origins.add_headers(from("GET", "https://good.example"), headers);
  EXPECT_EQ(headers[2].second, "https://good.example");
}

TEST(HttpHead, ValuesCannotBeginALineOfTheirOwn) {
  HeadParts parts;
  parts.body_bytes = 2;
  parts.content_type = "text/plain";
  const std::string head = http_head(parts, {{"x-request-id", "a\r\nSet-Cookie: b"}});
  EXPECT_EQ(head.find("\r\nSet-Cookie"), std::string::npos);
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200 OK\r\nDate: ")) << head;
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
}

TEST(ApiError, EveryCodeHasAStatus) {
  using base::ErrorCode;
  EXPECT_EQ(to_api_error({ErrorCode::kInvalidArgument, "m", "top_p"}).status, 400);
  EXPECT_EQ(to_api_error({ErrorCode::kOverloaded, "m", ""}).status, 429);
  EXPECT_EQ(to_api_error({ErrorCode::kUnavailable, "m", ""}).status, 503);
  const HttpReply reply = error_reply(to_api_error({ErrorCode::kOverloaded, "m", ""}));
  EXPECT_EQ(reply.headers[0], (std::pair<std::string, std::string>("Retry-After", "1")));
  EXPECT_EQ(error_json(bad_request("m", "p")),
            R"({"error": {"message": "m", "type": "invalid_request_error", "param": "p", )"
            R"("code": null}})");
}

class KeyFile : public testing::Test {
 protected:
  void SetUp() override {
    path_ =
        std::filesystem::temp_directory_path() /
        (std::string("pawl-keys-") + testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  void TearDown() override { std::filesystem::remove(path_); }
  base::Result<ApiKeys> load(std::string_view text) {
    std::ofstream(path_) << text;
    return ApiKeys::load(path_.string());
  }
  std::filesystem::path path_;
};

TEST_F(KeyFile, NamesAndKeys) {
  const auto keys = load("# who\r\nana : first-key \nsecond-key # x\n\n");
  ASSERT_TRUE(keys.ok());
  EXPECT_EQ(keys->size(), 2u);
  EXPECT_EQ(keys->find("first-key"), "ana");
  EXPECT_EQ(keys->find("second-key"), "key-2");
  for (const char* wrong : {"", "first-ke", "first-key ", "First-key", "ana"}) {
    EXPECT_EQ(keys->find(wrong), std::nullopt) << wrong;
  }
}

TEST_F(KeyFile, ErrorsNameTheLineAndNeverTheKey) {
  for (const char* text : {"", "short\n", "a: 12345678\na: 23456789\n",
                           "a: 12345678\nb: 12345678\n", ": 12345678\n", "two words-here\n"}) {
    const auto keys = load(text);
    ASSERT_FALSE(keys.ok()) << text;
    EXPECT_EQ(keys.error().message.find("12345678"), std::string::npos);
  }
}

}  // namespace
}  // namespace pawl::server
