// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "kernels/base/check.hpp"

namespace triax::test {

/// Text of the Error that `action` throws; empty if it throws none.
template <class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

/// Whether `action` throws a UsageError.
template <class Action>
bool is_usage_error(Action&& action) {
  try {
    action();
  } catch (const UsageError&) {
    return true;
  } catch (const Error&) {
  }
  return false;
}

}  // namespace triax::test
