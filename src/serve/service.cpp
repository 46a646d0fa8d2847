// SPDX-License-Identifier: Apache-2.0
#include "src/serve/service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "kernels/base/check.hpp"
#include "src/serve/answer/reply_format.hpp"
#include "src/serve/api/token_requests.hpp"
#include "src/serve/page.hpp"
#include "src/serve/start/endpoint.hpp"
#include "src/version/version.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

constexpr int retry_seconds = 5;
constexpr const char* models_path = "/v1/models/";

// Name or address of a "Host:" header or of the origin behind "http://".
std::string name_of(std::string authority) {
  if (const auto scheme = authority.find("://"); scheme != authority.npos)
    authority.erase(0, scheme + 3);
  if (authority.starts_with('[')) return authority.substr(1, authority.find(']') - 1);
  return authority.substr(0, authority.find(':'));
}

ordered_json model_entry(const ServedModel& model, const std::string& name) {
  return {{"id", name},          {"object", "model"},           {"created", model.created},
          {"owned_by", "triax"}, {"root", model.names.front()}, {"max_model_len", model.context}};
}

}  // namespace

std::string path_of(const std::string& target) {
  std::string path;
  const std::string_view text = std::string_view(target).substr(0, target.find('?'));
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 1] + 2, value, 16).ptr == &text[i + 1] + 2) {
      path += static_cast<char>(value);
      i += 2;
    } else {
      path += text[i];
    }
  }
  return path;
}

HttpReply loading_reply(const HttpRequest& request) {
  if (path_of(request.target) == "/health")
    return {.status = 503, .body = R"({"status":"loading"})"};
  return error_reply(ApiError(503, "the model is being loaded").after(retry_seconds));
}

const Service::Route Service::routes[] = {
    {"GET", "/", true, &Service::page},
    {"GET", "/health", true, &Service::health},
    {"GET", "/metrics", false, &Service::metrics},
    {"GET", "/version", false, &Service::version_of},
    {"GET", "/v1/models", false, &Service::models},
    {"GET", models_path, false, &Service::one_model},
    {"POST", "/v1/completions", false, &Service::generate},
    {"POST", "/v1/chat/completions", false, &Service::generate},
    {"POST", "/v1/embeddings", false, &Service::generate},
    {"POST", "/tokenize", false, &Service::tokenize},
    {"POST", "/detokenize", false, &Service::detokenize},
};

Service::Service(const ServedModel& model, EngineLoop& engine, ServiceOptions options)
    : model_(model),
      options_(std::move(options)),
      generations_(model, engine, metrics_, options_.limits) {}

const Service::Route& Service::route_of(const std::string& method, const std::string& path) const {
  const auto matches = [&](const Route& route) {
    return path == route.path || (path.starts_with(models_path) && path.size() > 11 &&
                                  std::string_view(route.path) == models_path);
  };
  const auto found = std::ranges::find_if(routes, matches);
  if (found == std::end(routes))
    throw ApiError(404, fmt::format("there is no route {} {}", method, path));
  if (method != found->method)
    throw ApiError(405, fmt::format("{} takes {}, not {}", found->path, found->method, method));
  return *found;
}

// Without keys, pages from elsewhere that a browser on this machine shows must not reach the
// server, by its address or by a name that they make point to it.
void Service::check_access(const HttpRequest& request, bool open) const {
  if (open) return;
  if (!options_.keys.allow(request.authorization))
    throw ApiError(401,
                   request.authorization.empty()
                       ? "a key is needed: send \"Authorization: Bearer KEY\""
                       : "Incorrect API key provided",
                   {}, "invalid_api_key");
  if (options_.keys.any()) return;
  const std::string host = name_of(request.host);
  const bool known = host == "localhost" || is_loopback(host) || host == options_.host;
  if (!known || (!request.origin.empty() && name_of(request.origin) != host))
    throw ApiError(403, "a server without keys replies to this machine alone, not to " +
                            (known ? request.origin : request.host) + ". Set serve.api_keys");
}

void Service::handle(const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange) {
  const char* name = "other";
  int status = 500;
  try {
    const Route& route = route_of(request.method, path_of(request.target));
    name = route.path;
    check_access(request, route.open);
    return (this->*route.serve)(request, exchange);
  } catch (const ApiError& error) {
    status = error.status();
    exchange->reply(error_reply(error));
  } catch (const UsageError& error) {
    status = 400;
    exchange->reply(error_reply(bad_request(error.what())));
  } catch (const std::exception& error) {
    exchange->reply(error_reply(ApiError(status, error.what())));
  }
  ++metrics_.replies[{name, status}];
}

void Service::page(const HttpRequest&, const Exchange& exchange) {
  exchange->reply({.status = 200,
                   .body = page_html,
                   .type = "text/html; charset=utf-8",
                   .headers = {{"Content-Security-Policy",
                                "default-src 'none'; connect-src 'self'; script-src "
                                "'unsafe-inline'; style-src 'unsafe-inline'"}}});
}

void Service::health(const HttpRequest&, const Exchange& exchange) {
  const double stalled = generations_.stalled_for(Clock::now());
  const char* status = "ok";
  if (stalled > options_.stall) status = "stalled";
  if (draining_) status = "draining";
  const ordered_json body = {{"status", status},
                             {"steps", metrics_.engine.steps},
                             {"running", metrics_.engine.running},
                             {"waiting", metrics_.engine.waiting},
                             {"seconds_since_step", stalled}};
  exchange->reply({.status = status == std::string_view("ok") ? 200 : 503, .body = dump(body)});
}

void Service::metrics(const HttpRequest&, const Exchange& exchange) {
  exchange->reply(
      {.status = 200, .body = metrics_.text(), .type = "text/plain; version=0.0.4; charset=utf-8"});
}

void Service::version_of(const HttpRequest&, const Exchange& exchange) {
  exchange->reply({.status = 200, .body = dump({{"version", version}})});
}

void Service::models(const HttpRequest&, const Exchange& exchange) {
  ordered_json data = ordered_json::array();
  for (const std::string& name : model_.names) data.push_back(model_entry(model_, name));
  exchange->reply({.status = 200, .body = dump({{"object", "list"}, {"data", data}})});
}

void Service::one_model(const HttpRequest& request, const Exchange& exchange) {
  const std::string name = path_of(request.target).substr(std::string_view(models_path).size());
  if (std::ranges::find(model_.names, name) == model_.names.end())
    throw ApiError(404, "The model `" + name + "` does not exist", "model", "model_not_found");
  exchange->reply({.status = 200, .body = dump(model_entry(model_, name))});
}

void Service::check_open() const {
  if (draining_) throw ApiError(503, "the server is stopping").after(retry_seconds);
}

void Service::generate(const HttpRequest& request, const Exchange& exchange) {
  check_open();
  generations_.open(read_asked(path_of(request.target), parse_request(request.body), model_),
                    exchange);
}

void Service::tokenize(const HttpRequest& request, const Exchange& exchange) {
  exchange->reply(
      {.status = 200, .body = dump(tokenize_reply(parse_request(request.body), model_))});
}

void Service::detokenize(const HttpRequest& request, const Exchange& exchange) {
  exchange->reply(
      {.status = 200, .body = dump(detokenize_reply(parse_request(request.body), model_))});
}

}  // namespace triax
