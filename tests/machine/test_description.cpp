// SPDX-License-Identifier: Apache-2.0
#include "src/machine/description.hpp"

#include <gmock/gmock.h>

#include "kernels/base/check.hpp"
#include "src/machine/presets.hpp"

namespace triax {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string error_of(const std::string& text) {
  try {
    parse_machine(text, "lab.json");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

constexpr const char* whole = R"({
  "device": "gpu", "ranks_per_node": 4,
  "flops": {"bf16": 1e14},
  "memory": {"bytes": 24e9, "bandwidth": 1e12},
  "inside_node": {"bandwidth": 2e10, "latency": 5e-6},
  "between_nodes": {"bandwidth": 3e9, "latency": 1e-5}
})";

TEST(MachineFile, IsReadWithItsFigures) {
  const Machine machine = parse_machine(whole, "folder/lab.json");
  EXPECT_EQ(machine.name, "lab");
  EXPECT_EQ(machine.ranks_per_node, 4);
  EXPECT_EQ(machine.space, MemorySpace::device);
  EXPECT_DOUBLE_EQ(machine.bf16_flops, 1e14);
  EXPECT_DOUBLE_EQ(machine.between.bandwidth, 3e9);
  EXPECT_DOUBLE_EQ(machine.watts, 0.0);
}

TEST(MachineFile, PresetsSurviveTheRoundTrip) {
  for (const std::string& name : preset_names()) {
    const std::string text = machine_json(*preset(name));
    EXPECT_EQ(machine_json(parse_machine(text, "x.json")), text);
  }
}

TEST(MachineFile, TakesTheRestFromAPreset) {
  const Machine machine =
      parse_machine(R"({"like": "a100", "memory": {"bytes": 40e9}})", "lab.json");
  EXPECT_DOUBLE_EQ(machine.memory, 40e9);
  EXPECT_DOUBLE_EQ(machine.bf16_flops, preset("a100")->bf16_flops);
  EXPECT_EQ(machine.name, "lab");
}

TEST(MachineFile, MissingFiguresAreNamedTogether) {
  const std::string error = error_of("{\n  \"device\": \"gpu\"\n}");
  EXPECT_THAT(error, AllOf(HasSubstr("memory.bytes: is missing"), HasSubstr("ranks_per_node"),
                           HasSubstr("between_nodes.latency: is missing"), HasSubstr("bytes/s")));
  EXPECT_THAT(error, Not(HasSubstr("watts")));
}

TEST(MachineFile, AbsurdFiguresAreRefusedWithTheirLine) {
  const std::string error = error_of(
      "{\"like\": \"h100\",\n \"memory\": {\n  \"bytes\": 80\n }, \"flops\": {\"bf16\": -1}}");
  EXPECT_THAT(error, AllOf(HasSubstr("lab.json:3"), HasSubstr("memory.bytes: 80 bytes is absurd"),
                           HasSubstr("flops.bf16")));
}

TEST(MachineFile, WrongKeysAndTypesAreRefused) {
  EXPECT_THAT(error_of(R"({"like": "h100", "memory": {"byte": 1e9}})"),
              AllOf(HasSubstr("memory.byte"), HasSubstr("nearest: memory.bytes")));
  EXPECT_THAT(error_of(R"({"like": "h100", "memory": 80e9})"), HasSubstr("is not an object"));
  EXPECT_THAT(error_of(R"({"like": "h101"})"), HasSubstr("is no preset (h100, h200"));
  EXPECT_THAT(error_of(R"({"like": "h100", "device": "tpu"})"), HasSubstr("neither"));
  EXPECT_THAT(error_of(R"({"like": "h100", "watts": "much"})"), HasSubstr("is not a number"));
  EXPECT_THAT(error_of(R"({"like": "h100", "ranks_per_node": 0})"), HasSubstr("ranks_per_node"));
}

TEST(MachineFile, ATypeMustHaveFlops) {
  std::string text = whole;
  text.replace(text.find("1e14"), 4, "0");
  EXPECT_THAT(error_of(text), HasSubstr("no type has FLOP/s"));
}

TEST(FindMachine, NamesThePresetsWhenThereIsNone) {
  EXPECT_EQ(find_machine("h200").name, "h200");
  try {
    find_machine("/nowhere/h1000");
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("h1000"), HasSubstr("a100, v100, cpu")));
  }
}

}  // namespace
}  // namespace triax
