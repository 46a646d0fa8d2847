// SPDX-License-Identifier: Apache-2.0
#include "src/serve/batch/batch_line.hpp"

#include <fmt/format.h>

#include "kernels/random/random.hpp"
#include "src/serve/answer/reply_format.hpp"
#include "src/serve/api/fields.hpp"

namespace triax {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* completions = "/v1/completions";
constexpr const char* chats = "/v1/chat/completions";
constexpr const char* embeddings = "/v1/embeddings";

// The body and the route of OpenAI's form.
void take_body(const Fields& fields, BatchLine& line) {
  if (const std::string method = fields.text("method", "POST"); method != "POST")
    throw bad_request("'method' is " + method + "; it must be POST", "method");
  line.url = fields.text("url", "");
  if (line.url != completions && line.url != chats && line.url != embeddings)
    throw bad_request(fmt::format("'url' is \"{}\"; a batch takes {}, {} and {}", line.url,
                                  completions, chats, embeddings),
                      "url");
  const json* body = fields.find("body");
  if (body == nullptr || !body->is_object())
    throw bad_request("'body' must be an object: the request", "body");
  line.body = *body;
}

void take_plain(json&& object, BatchLine& line) {
  line.body = std::move(object);
  line.body.erase("custom_id");
  if (line.body.contains("messages"))
    line.url = chats;
  else if (line.body.contains("prompt"))
    line.url = completions;
  else if (line.body.contains("input"))
    line.url = embeddings;
  else
    throw bad_request(
        "the line has neither a body (OpenAI's form: custom_id, method, url, body) nor a prompt "
        "or messages");
}

std::uint64_t seed_of(std::uint64_t seed, const std::string& custom_id) {
  return mix_key(seed, custom_id) >> 1U;  // a seed of a request is a signed number
}

}  // namespace

BatchLine read_batch_line(std::int64_t number, std::string_view text, std::uint64_t seed) {
  BatchLine line;
  line.number = number;
  line.custom_id = fmt::format("line-{}", number);
  try {
    json object = parse_request(std::string(text));
    const Fields fields(object);
    line.custom_id = fields.text("custom_id", line.custom_id);
    if (object.contains("url") || object.contains("body"))
      take_body(fields, line);
    else
      take_plain(std::move(object), line);
    if (Fields(line.body).flag("stream", false))
      throw bad_request("'stream' must be false in a batch", "stream");
    if (Fields(line.body).find("seed") == nullptr)
      line.body["seed"] = seed_of(seed, line.custom_id);
  } catch (const ApiError& error) {
    line.error = error;
  }
  return line;
}

std::string answer_json(std::int64_t number, const std::string& custom_id, const HttpReply& reply) {
  const std::string id = fmt::format("batch_req_{}", number);
  std::string error = "null";
  if (reply.status != 200) {
    const json body = json::parse(reply.body);
    const json& of = body.at("error");
    const json code = of.at("code").is_string() ? of.at("code") : of.at("type");
    error = dump(
        {{"code", code},
         {"message", fmt::format("line {}: {}", number, of.at("message").get<std::string>())}});
  }
  return fmt::format(
      R"({{"id":"{}","custom_id":{},"line":{},"response":{{"status_code":{},"request_id":"{}","body":{}}},"error":{}}})",
      id, dump(custom_id), number, reply.status, id, reply.body, error);
}

}  // namespace triax
