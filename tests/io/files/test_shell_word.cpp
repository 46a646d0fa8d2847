// SPDX-License-Identifier: Apache-2.0
#include "io/files/shell_word.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>

namespace triax::test {
namespace {

// The text as a shell reads it.
std::string read_by_shell(const std::string& text) {
  std::string read;
  FILE* const shell = popen(("printf %s " + shell_word(text)).c_str(), "r");
  if (shell == nullptr) return "no shell";
  std::array<char, 256> piece{};
  while (fgets(piece.data(), piece.size(), shell) != nullptr) read += piece.data();
  pclose(shell);
  return read;
}

TEST(ShellWord, APlainPathStaysAsItIs) {
  for (const char* path : {"a.h5", "/data/run-1/step_00@2%+=:,.h5"})
    EXPECT_EQ(shell_word(path), path);
}

TEST(ShellWord, AShellReadsTheSameText) {
  for (const std::string text :
       {"sp ace.h5", "it's", "$HOME", "`id`", "a\"b", "back\\slash", "*?[x]", "a;b&c|d", "~", "",
        "two\nlines", "r\xc3\xa9sum\xc3\xa9", "#x"})
    EXPECT_EQ(read_by_shell(text), text);
}

}  // namespace
}  // namespace triax::test
