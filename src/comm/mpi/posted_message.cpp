// SPDX-License-Identifier: Apache-2.0
#include "src/comm/mpi/posted_message.hpp"

#include <algorithm>
#include <utility>

#include "kernels/base/mpi/mpi_error.hpp"
#include "kernels/base/wait.hpp"
#include "src/comm/mpi/waited.hpp"

namespace triax {
namespace {

void checked(int code, std::string_view call) {
  check_mpi(code, call, "the start of the job");
}

}  // namespace

PostedMessage::PostedMessage(std::string text, bool receives)
    : text_(std::make_unique<std::string>(std::move(text))), receives_(receives) {}

PostedMessage PostedMessage::sent(MPI_Comm comm, int to, int tag, std::string text) {
  PostedMessage message(std::move(text), false);
  checked(MPI_Isend(message.text_->data(), static_cast<int>(message.text_->size()), MPI_BYTE, to,
                    tag, comm, &message.request_),
          "MPI_Isend");
  return message;
}

PostedMessage PostedMessage::received(MPI_Comm comm, int from, int tag, std::size_t most) {
  PostedMessage message(std::string(most, '\0'), true);
  checked(MPI_Irecv(message.text_->data(), static_cast<int>(most), MPI_BYTE, from, tag, comm,
                    &message.request_),
          "MPI_Irecv");
  return message;
}

PostedMessage::PostedMessage(PostedMessage&& other) noexcept
    : text_(std::move(other.text_)),
      receives_(other.receives_),
      request_(std::exchange(other.request_, MPI_REQUEST_NULL)) {}

// A pending message is freed, not cancelled: only the other rank can complete it, and MPI warns
// about messages that nobody matches. Its buffer is leaked on purpose, since MPI may still use it.
PostedMessage::~PostedMessage() {
  if (request_ == MPI_REQUEST_NULL) return;
  MPI_Request_free(&request_);
  static_cast<void>(text_.release());
}

bool PostedMessage::complete() {
  if (request_ == MPI_REQUEST_NULL) return true;
  int done = 0;
  MPI_Status status;
  checked(MPI_Test(&request_, &done, &status), "MPI_Test");
  if (done == 0) return false;
  if (receives_) {
    int bytes = 0;
    checked(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    text_->resize(static_cast<std::size_t>(bytes));
  }
  return true;
}

bool complete_within(std::span<PostedMessage> messages, double seconds) {
  Waited waited;
  for (Patience patience(WaitPolicy::yield);; patience.pause()) {
    // count_if tests all messages: one to a rank that is there must not wait for one to a rank that
    // is not.
    if (std::ranges::count_if(messages, [](PostedMessage& each) { return !each.complete(); }) == 0)
      return true;
    if (waited.seconds() >= seconds) return false;
  }
}

}  // namespace triax
