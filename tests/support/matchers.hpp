// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matchers that most tests use.
#include <gmock/gmock.h>

namespace triax::test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

}  // namespace triax::test
