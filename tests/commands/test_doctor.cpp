// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "tests/commands/small_job.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Doctor : public SmallJob {
 protected:
  std::string here() const { return shell_word(directory_.path("")); }
};

TEST_F(Doctor, LooksAtOneProcess) {
  const Outcome report = triax("doctor " + here());
  EXPECT_EQ(report.status, report.text.find("PROBLEM") == std::string::npos ? 0 : 3) << report.text;
  EXPECT_THAT(report.text, AllOf(HasSubstr("1 on 1 node(s)"), HasSubstr("locks hold")));
}

TEST_F(Doctor, ComparesTheRanks) {
  const Outcome report = triax_on(2, "doctor --json " + here());
  const auto json = nlohmann::json::parse(report.text.substr(report.text.find('{')));
  EXPECT_EQ(json.at("ranks").size(), 2U);
}

TEST_F(Doctor, ExitsWith3WhereADirectoryIsNotThere) {
  const Outcome report = triax("doctor " + shell_word(directory_.path("absent")));
  EXPECT_EQ(report.status, 3);
  EXPECT_THAT(report.text,
              AllOf(HasSubstr("PROBLEM"), HasSubstr("cannot be written: No such file")));
}

}  // namespace
}  // namespace triax::test
