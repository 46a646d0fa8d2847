// SPDX-License-Identifier: Apache-2.0
// Rows of serve: the HTTP server of `triax serve`.
#include "src/config/keys/key_table.hpp"

namespace triax {
namespace {
using enum KeyType;
using Keys = std::vector<Key>;

void add_address(Keys& k) {
  k.push_back(obeyed("serve.host", string, "127.0.0.1", anything(),
                     "address that triax serve listens on: a name or an address of this machine; "
                     "127.0.0.1: reached from this machine alone; 0.0.0.0: from everywhere"));
  k.push_back(obeyed("serve.port", integer, 8000, from_to(0, 65535),
                     "port that triax serve listens on; 0: any free one, which endpoint.json in "
                     "run.directory names"));
  k.push_back(obeyed("serve.name", strings, nullptr, anything(),
                     "names of the model for clients, the first its own and the others aliases; "
                     "default: the last part of its path"));
  k.push_back(obeyed("serve.api_keys", path, nullptr, anything(),
                     "file of keys, one per line, of which clients must send one; default: none, "
                     "but in a Slurm job, and where others can reach serve.host, a new key that "
                     "endpoint.json names"));
}

void add_limits(Keys& k) {
  k.push_back(obeyed("serve.context", integer, 0, from_to(0, 1e9),
                     "longest prompt with its answer; 0: what the model was trained on")
                  .in("tokens"));
  k.push_back(obeyed("serve.queue", integer, 1000, from_to(1, 1e9),
                     "most answers that wait; a request beyond it gets status 429")
                  .in("answers"));
  k.push_back(obeyed("serve.queue_tokens", integer, 1 << 22, from_to(1, 1e12),
                     "most tokens of prompts under way; a request beyond it gets status 429")
                  .in("tokens"));
  k.push_back(obeyed("serve.answers", integer, 128, from_to(1, 1e6),
                     "most answers of one request: its prompts times n")
                  .in("answers"));
  k.push_back(obeyed("serve.connections", integer, 1024, from_to(1, 1e6),
                     "most connections at a time; others wait until one closes"));
  k.push_back(obeyed("serve.body_bytes", integer, 1 << 24, from_to(1024, 1e9),
                     "largest body of a request; a larger one gets status 413")
                  .in("bytes"));
}

void add_times(Keys& k) {
  k.push_back(obeyed("serve.grace", duration, "30s", from_to(0, 1e9),
                     "time that answers under way have after SIGTERM or SIGUSR1, before they are "
                     "broken off")
                  .in("s"));
  k.push_back(obeyed("serve.deadline", duration, 0, from_to(0, 1e9),
                     "longest time of a request, after which it fails with status 504; 0: none")
                  .in("s"));
  k.push_back(obeyed("serve.stall", duration, "60s", from_to(1, 1e9),
                     "time without a finished step, while requests wait, after which /health says "
                     "stalled")
                  .in("s"));
}

}  // namespace

Keys serve_keys() {
  Keys k;
  add_address(k);
  add_limits(k);
  add_times(k);
  return k;
}

}  // namespace triax
