#pragma once
// Messages to and from ranks that may never be there.
#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace triax {

/// Bytes under way. MPI uses their memory until they are complete: where that is not so as this
/// goes, it is left to MPI.
class PostedMessage {
 public:
  static PostedMessage sent(MPI_Comm comm, int to, int tag, std::string text);
  /// Of `most` bytes at most.
  static PostedMessage received(MPI_Comm comm, int from, int tag, std::size_t most);
  ~PostedMessage();
  PostedMessage(PostedMessage&& other) noexcept;
  PostedMessage& operator=(PostedMessage&&) = delete;

  /// Looks, and lets MPI go on.
  bool complete();
  /// What was received, once it is complete.
  const std::string& text() const { return *text_; }

 private:
  explicit PostedMessage(std::string text, bool receives);

  std::unique_ptr<std::string> text_;
  bool receives_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// Waits for all of them, so many seconds at most; time in which this process was stopped does not
/// count.
bool complete_within(std::span<PostedMessage> messages, double seconds);

}  // namespace triax
