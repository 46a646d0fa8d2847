// SPDX-License-Identifier: Apache-2.0
#pragma once
// endpoint.json: where a server listens, for scripts and users of the same account.
#include <string>

namespace triax {

struct Endpoint {
  std::string host;  // that clients use: a name or an address
  int port = 0;
  std::string model;
  std::string key;  // empty: none is needed, or it is in the user's own file
  std::string url() const;
};

/// The name under which clients reach a server that listens on `address`: that of this machine if
/// it listens on all addresses.
std::string client_host(const std::string& address);
bool is_loopback(const std::string& address);

/// Writes DIRECTORY/endpoint.json, readable by its owner alone, and makes the directory. Takes it
/// away at the end, unless another server has written it since.
class EndpointFile {
 public:
  /// Error if it cannot be written.
  EndpointFile(const std::string& directory, const Endpoint& endpoint);
  ~EndpointFile();
  EndpointFile(const EndpointFile&) = delete;
  EndpointFile& operator=(const EndpointFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_, text_;
};

/// Command that brings the port of a server on this machine to the user's own.
std::string ssh_line(const Endpoint& endpoint);

}  // namespace triax
