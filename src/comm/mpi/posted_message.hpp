// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages to and from ranks that may never answer.
#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace triax {

/// Bytes under way. MPI uses their memory until the message is complete; if it is not when the
/// object is destroyed, the memory is left to MPI.
class PostedMessage {
 public:
  static PostedMessage sent(MPI_Comm comm, int to, int tag, std::string text);
  /// Receives at most `most` bytes.
  static PostedMessage received(MPI_Comm comm, int from, int tag, std::size_t most);
  ~PostedMessage();
  PostedMessage(PostedMessage&& other) noexcept;
  PostedMessage& operator=(PostedMessage&&) = delete;

  /// Tests for completion and lets MPI make progress.
  bool complete();
  /// The received bytes, once complete.
  const std::string& text() const { return *text_; }

 private:
  explicit PostedMessage(std::string text, bool receives);

  std::unique_ptr<std::string> text_;
  bool receives_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// Waits at most `seconds` for all messages; false on timeout. Time in which this process was
/// stopped does not count.
bool complete_within(std::span<PostedMessage> messages, double seconds);

}  // namespace triax
