// SPDX-License-Identifier: Apache-2.0
#include "src/serve/start/endpoint.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/base/check.hpp"
#include "kernels/base/process/host_name.hpp"

namespace triax {
namespace {

[[noreturn]] void cannot_write(const std::string& path) {
  throw Error(path + " cannot be written", std::strerror(errno),
              "Set run.directory to a directory that you may write");
}

// Readable by the owner alone from its first byte on; complete under its name.
void write_private(const std::string& path, const std::string& text) {
  const std::string fresh = fmt::format("{}.{}", path, ::getpid());
  ::unlink(fresh.c_str());
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) cannot_write(fresh);
  const bool whole = ::write(file, text.data(), text.size()) == std::ssize(text);
  if (::close(file) != 0 || !whole || ::rename(fresh.c_str(), path.c_str()) != 0) {
    ::unlink(fresh.c_str());
    cannot_write(path);
  }
}

}  // namespace

std::string Endpoint::url() const {
  const bool v6 = host.find(':') != host.npos;
  return fmt::format("http://{}{}{}:{}/v1", v6 ? "[" : "", host, v6 ? "]" : "", port);
}

bool is_loopback(const std::string& address) {
  // A name that begins with "127." is no address.
  in_addr four{};
  if (::inet_pton(AF_INET, address.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  return address == "::1";
}

std::string client_host(const std::string& address) {
  return address == "0.0.0.0" || address == "::" ? host_name() : address;
}

EndpointFile::EndpointFile(const std::string& directory, const Endpoint& endpoint)
    : path_(directory + "/endpoint.json") {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  nlohmann::ordered_json value = {{"url", endpoint.url()},
                                  {"model", endpoint.model},
                                  {"node", host_name()},
                                  {"process", ::getpid()}};
  if (const char* job = std::getenv("SLURM_JOB_ID"); job != nullptr) value["job"] = job;
  if (!endpoint.key.empty()) value["api_key"] = endpoint.key;
  text_ = value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  write_private(path_, text_);
}

EndpointFile::~EndpointFile() {
  std::ifstream file(path_);
  std::ostringstream now;
  now << file.rdbuf();
  if (now.str() == text_) ::unlink(path_.c_str());
}

std::string ssh_line(const Endpoint& endpoint) {
  const std::string target = is_loopback(endpoint.host) ? "127.0.0.1" : endpoint.host;
  return fmt::format("ssh -N -L {0}:{1}:{0} {2}", endpoint.port, target,
                     is_loopback(endpoint.host) ? host_name() : "LOGIN_NODE");
}

}  // namespace triax
