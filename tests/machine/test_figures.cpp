// SPDX-License-Identifier: Apache-2.0
#include "src/machine/figures.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "src/machine/presets.hpp"

namespace triax {
namespace {

TEST(MachineKeys, EachHasItsOwnNameAndField) {
  Machine machine;
  std::set<std::string> names;
  std::set<const double*> fields;
  for (const MachineKey& key : machine_keys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_TRUE(fields.insert(&key.field(machine)).second) << key.name;
    EXPECT_LT(key.least, key.most) << key.name;
  }
}

TEST(MachineKeys, PresetsAreWithinTheBounds) {
  for (const std::string& name : preset_names()) {
    Machine machine = *preset(name);
    for (const MachineKey& key : machine_keys()) {
      const double value = key.field(machine);
      if (key.optional && value == 0.0) continue;
      EXPECT_GE(value, key.least) << name << " " << key.name;
      EXPECT_LE(value, key.most) << name << " " << key.name;
    }
  }
}

}  // namespace
}  // namespace triax
