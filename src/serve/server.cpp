// SPDX-License-Identifier: Apache-2.0
#include "src/serve/server.hpp"

#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "kernels/base/check.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/launch/run_requests.hpp"
#include "src/serve/http/http_server.hpp"
#include "src/serve/service.hpp"
#include "src/serve/start/endpoint.hpp"
#include "src/serve/start/loaded_model.hpp"

namespace triax {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds tick_period{100};
constexpr std::chrono::seconds flush_time{2};  // for replies that have ended

HttpLimits limits_of(const ServeSettings& settings) {
  HttpLimits limits;
  limits.body_bytes = static_cast<std::size_t>(settings.body_bytes);
  limits.connections = static_cast<std::size_t>(settings.connections);
  return limits;
}

// Keys of the user's file; else a new one where strangers may reach the server.
std::vector<std::string> keys_of(const ServeSettings& settings, const std::string& address,
                                 std::string& made) {
  std::string warning;
  if (!settings.api_keys.empty()) {
    auto keys = read_api_keys(settings.api_keys, warning);
    if (!warning.empty()) spdlog::warn("{}", warning);
    return keys;
  }
  if (std::getenv("SLURM_JOB_ID") == nullptr && is_loopback(address)) return {};
  made = new_api_key();
  return {made};
}

// The work of the server's thread, and its end. The members are its own, but for the loop.
class Session {
 public:
  Session(HttpServer& server, const ServeSettings& settings)
      : server_(server), settings_(settings) {}

  void handle(const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange) {
    if (service_)
      service_->handle(request, exchange);
    else
      exchange->reply(loading_reply(request));
  }

  // From the thread that computes.
  void open(const ServedModel& model, EngineLoop& loop, ServiceOptions options) {
    server_.post([this, &model, &loop, options = std::move(options)]() mutable {
      service_.emplace(model, loop, std::move(options));
      loop_ = &loop;
    });
  }
  void report(StepReport report) {
    server_.post([this, report = std::move(report)] { service_->take(report); });
  }
  // Ends all replies and waits until they are sent.
  void fail(const std::string& why) {
    server_.post([this, why] {
      service_->drain();
      service_->fail_all(ApiError(500, why));
      end_by_ = Clock::now() + flush_time;
      failed_ = true;
    });
    while (!flushed_) std::this_thread::sleep_for(tick_period);
  }
  void interrupt() {
    interrupted_ = true;
    drain(Clock::duration::zero());
  }
  bool interrupted() const { return interrupted_; }

  void tick() {
    const auto now = Clock::now();
    if (!service_) return;
    service_->tick(now);
    if (!end_by_ && stops(requests_.take(0)))
      drain(std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(settings_.grace)));
    if (end_by_) finish(now);
  }

 private:
  void drain(Clock::duration grace) {
    if (!service_ || end_by_) return;
    service_->drain();
    end_by_ = Clock::now() + grace;
    spdlog::info("stopping: {} requests under way have {:.3g} s (serve.grace)", service_->open(),
                 std::chrono::duration<double>(grace).count());
  }

  void finish(Clock::time_point now) {
    if (service_->open() > 0 && now < *end_by_) return;
    service_->fail_all(ApiError(503, "the server is stopping").after(1));
    if (server_.open_replies() > 0 && now < *end_by_ + flush_time) return;
    flushed_ = true;
    if (!failed_) loop_->stop();
  }

  HttpServer& server_;
  const ServeSettings& settings_;
  RunRequests requests_;
  std::optional<Service> service_;  // once the model is loaded
  EngineLoop* loop_ = nullptr;
  std::optional<Clock::time_point> end_by_;  // of open answers
  bool failed_ = false;
  std::atomic<bool> flushed_ = false, interrupted_ = false;
};

void say_ready(const Endpoint& endpoint, const std::string& file, const ServedModel& model,
               const ServiceOptions& options) {
  spdlog::info("serving {} at {} (context {} tokens)", endpoint.model, endpoint.url(),
               model.context);
  if (!options.keys.any())
    spdlog::info("no key is needed: every user of this machine can reach it (serve.api_keys)");
  else
    spdlog::info("clients need a key: {}", endpoint.key.empty() ? "one of serve.api_keys" : file);
  spdlog::info("from elsewhere: {}", ssh_line(endpoint));
}

// The server on rank 0: its thread, and what the computing thread tells it.
class Front {
 public:
  // Listens, and replies that the model is being loaded.
  explicit Front(const ServeSettings& settings)
      : settings_(settings),
        server_(std::in_place, settings.host, settings.port, limits_of(settings)),
        session_(*server_, settings_) {
    endpoint_.host = client_host(server_->address());
    endpoint_.port = server_->port();
    options_.keys = ApiKeys(keys_of(settings, server_->address(), endpoint_.key));
    options_.limits = {settings.queue, settings.queue_tokens, settings.deadline};
    options_.host = settings.host;
    options_.stall = settings.stall;
    server_->start(
        [this](const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange) {
          session_.handle(request, exchange);
        },
        [this] { session_.tick(); }, tick_period);
  }
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;
  // The thread ends before what its handlers use.
  ~Front() { server_.reset(); }

  ServeEnd run(const ServedModel& model, Engine& engine) {
    loop_.emplace(engine, [this](StepReport report) { session_.report(std::move(report)); });
    endpoint_.model = model.names.front();
    session_.open(model, *loop_, options_);
    server_->on_interrupt([this] { session_.interrupt(); });
    const EndpointFile file(settings_.directory, endpoint_);
    say_ready(endpoint_, file.path(), model, options_);
    if (const std::int64_t tokens = engine.state().cache_blocks * settings_.engine.block_tokens)
      spdlog::info("KV cache: {} tokens, {} answers of the whole context at once", tokens,
                   tokens / model.context);
    try {
      loop_->run();
    } catch (const std::exception& error) {
      session_.fail(error.what());
      throw;
    }
    return session_.interrupted() ? ServeEnd::interrupted : ServeEnd::signalled;
  }

 private:
  const ServeSettings& settings_;
  Endpoint endpoint_;
  ServiceOptions options_;
  std::optional<EngineLoop> loop_;
  std::optional<HttpServer> server_;
  Session session_;
};

// Rank 0's end, on all ranks.
ServeEnd shared(ProcessGrid& grid, ServeEnd end) {
  auto number = static_cast<std::int32_t>(end);
  const Stream stream(MemorySpace::host);
  grid.world().broadcast(stream, Tensor(&number, {1}), 0).wait(stream);
  return static_cast<ServeEnd>(number);
}

}  // namespace

ServeEnd serve(ProcessGrid& grid, const ServeArguments& arguments,
               const std::function<void()>& ready) {
  std::optional<LoadedModel> model;
  std::optional<Front> front;  // ends before the model, which its replies read
  agreed(Ranks(grid), [&] {
    if (grid.rank() == 0) front.emplace(arguments.settings);
  });
  model.emplace(grid, arguments.model, arguments.tokenizer, arguments.weights, arguments.settings);
  ready();
  ServeEnd end = ServeEnd::signalled;
  model->with_engine(arguments.settings.engine,
                     [&](Engine& engine) { end = front->run(model->served(), engine); });
  return shared(grid, end);
}

}  // namespace triax
