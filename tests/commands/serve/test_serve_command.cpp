// SPDX-License-Identifier: Apache-2.0
// triax serve as a user runs it.
#include <signal.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "tests/commands/small_job.hpp"
#include "tests/serve/http_client.hpp"

namespace triax::test {
namespace {

using json = nlohmann::ordered_json;
using testing::HasSubstr;

// A server of a small model with random weights.
class Serve : public SmallJob {
 protected:
  void SetUp() override {
    SmallJob::SetUp();
    const Outcome outcome = on_job("train", "--set checkpoint.at_end=true");
    ASSERT_EQ(outcome.status, 0) << outcome.text;
  }
  void TearDown() override {
    if (process_ > 0) (void)end(SIGKILL);
  }
  std::string checkpoint() const { return directory_.path("run/checkpoints/step-000002.h5"); }

  // Starts it with a free port, and waits until it is ready.
  void start(const std::string& more = {}, const std::string& environment = {}) {
    const std::string command =
        "exec env OMP_NUM_THREADS=1 " + environment + " " +
        command_of("serve " + shell_word(checkpoint())) +
        " --port 0 --set run.directory=" + shell_word(directory_.path("serve")) + " " + more +
        " 2> " + shell_word(directory_.path("log"));
    process_ = ::fork();
    if (process_ == 0) {
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(1);
    }
    const std::string file = directory_.path("serve/endpoint.json");
    ASSERT_TRUE(comes_true([&] { return ::access(file.c_str(), F_OK) == 0; })) << log();
    endpoint_ = json::parse(contents(file));
    const std::string url = endpoint_["url"];
    port_ = std::atoi(url.c_str() + url.rfind(':') + 1);
  }
  // Sends a signal; the status, or minus the signal that ended it.
  int end(int signal) {
    ::kill(process_, signal);
    return status();
  }
  int status() {
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::string log() const { return contents(directory_.path("log")); }

  pid_t process_ = -1;
  json endpoint_;
  int port_ = 0;
};

TEST_F(Serve, AnswersAndEndsByASignal) {
  start();
  EXPECT_EQ(endpoint_["model"], "step-000002");
  EXPECT_TRUE(comes_true([&] { return log().find("ssh -N -L") != std::string::npos; })) << log();
  const std::string body = R"({"prompt": "line 1", "max_tokens": 8, "seed": 3, "logprobs": 2})";
  const json first = ask(port_, "POST", "/v1/completions", body).json();
  EXPECT_EQ(first["usage"]["prompt_tokens"], 6) << first;
  EXPECT_EQ(first["choices"][0]["logprobs"]["top_logprobs"].size(),
            first["choices"][0]["logprobs"]["tokens"].size());
  EXPECT_EQ(ask(port_, "POST", "/v1/completions", body).json()["choices"], first["choices"])
      << "the same seed";
  EXPECT_EQ(ask(port_, "POST", "/v1/completions", R"({"prompt": "a prompt of 17 toks"})")
                .json()["error"]["code"],
            "context_length_exceeded");
  EXPECT_THAT(ask(port_, "GET", "/").body, HasSubstr("<title>triax serve</title>"));
  EXPECT_EQ(end(SIGTERM), 75) << log();
  EXPECT_NE(::access(directory_.path("serve/endpoint.json").c_str(), F_OK), 0);
}

TEST_F(Serve, ASlurmJobHasAKey) {
  start({}, "SLURM_JOB_ID=7");
  EXPECT_EQ(ask(port_, "GET", "/v1/models").status, 401);
  const std::string key = endpoint_["api_key"];
  EXPECT_EQ(ask(port_, "GET", "/v1/models", "", "Authorization: Bearer " + key + "\r\n").status,
            200);
  struct stat status {};
  ASSERT_EQ(::stat(directory_.path("serve/endpoint.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_EQ(end(SIGINT), 0) << log();
}

// The same text as one rank gives, for several clients at once.
TEST_F(Serve, RanksOfAGridShareAModel) {
  const std::string body = R"({"prompt": "line 1", "max_tokens": 8, "temperature": 0})";
  start();
  const json alone = ask(port_, "POST", "/v1/completions", body).json()["choices"];
  EXPECT_EQ(end(SIGTERM), 75) << log();
  start("--set parallel.tensor=2 --set parallel.pipeline=1", mpiexec(4));
  HttpClient first(port_), second(port_), third(port_);
  for (const HttpClient* client : {&first, &second, &third})
    client->ask("POST", "/v1/completions", body);
  for (HttpClient* client : {&first, &second, &third})
    EXPECT_EQ(client->reply().json()["choices"], alone);
  EXPECT_EQ(ask(port_, "GET", "/health").status, 200);
  ::kill(endpoint_["process"].get<pid_t>(), SIGTERM);
  EXPECT_EQ(status(), 75) << log();
}

TEST_F(Serve, WrongCommandLinesAreRefused) {
  const auto refused = [&](const std::string& more) {
    const Outcome outcome = triax("serve " + shell_word(checkpoint()) + " " + more);
    EXPECT_EQ(outcome.status, 2) << outcome.text;
    return outcome.text;
  };
  EXPECT_THAT(refused("--set serve.prot=1"), HasSubstr("nearest: serve.port"));
  EXPECT_THAT(refused("--set serve.context=17 --port 0"), HasSubstr("16 positions"));
  EXPECT_THAT(refused("--set parallel.tensor=2 --port 0"), HasSubstr("ranks"));
  EXPECT_THAT(refused("--host no.such.host."), HasSubstr("serve.host"));
  const Outcome absent = triax("serve " + shell_word(directory_.path("absent.h5")) + " --port 0");
  EXPECT_EQ(absent.status, 3) << absent.text;
}

}  // namespace
}  // namespace triax::test
