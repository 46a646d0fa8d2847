// SPDX-License-Identifier: Apache-2.0
// Stubs for a build without NCCL.
#include "src/comm/device/device_messages.hpp"

namespace triax {

bool has_nccl() {
  return false;
}

std::unique_ptr<DeviceMessages> nccl_messages(MpiCommunicator&, WaitPolicy) {
  return nullptr;
}

}  // namespace triax
