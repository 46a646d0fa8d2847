#pragma once
#include <string>

#include "kernels/base/check.hpp"

namespace triax::test {

/// The text of the Error that `action` throws; empty when it throws none.
template <class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace triax::test
