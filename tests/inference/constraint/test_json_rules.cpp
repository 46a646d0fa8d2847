// SPDX-License-Identifier: Apache-2.0
#include "src/inference/constraint/json_rules.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "tests/inference/constraint/accepted.hpp"

namespace triax::test {
namespace {

using json = nlohmann::ordered_json;

json some_value(std::mt19937& random, int level) {
  switch (random() % (level > 3 ? 5U : 7U)) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return static_cast<int>(random() % 20000) - 10000;
    case 3:
      return (static_cast<double>(random() % 20000) - 10000) / 1024;
    case 4:
      return std::string("\"\\/\n\t\x01 žluť 中文 \U0001F600").substr(0, random() % 7);
    case 5: {
      json list = json::array();
      for (auto left = random() % 4; left > 0; --left)
        list.push_back(some_value(random, level + 1));
      return list;
    }
    default: {
      json object = json::object();
      for (auto left = random() % 4; left > 0; --left)
        object["key " + std::to_string(left)] = some_value(random, level + 1);
      return object;
    }
  }
}

// Texts of a JSON library are taken, compact and indented; no part of one is a whole object.
TEST(JsonRules, HaveWhatIsJson) {
  Automaton automaton = automaton_of(Kind::json_object);
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const json object = {{"a", some_value(random, 0)}, {"b", some_value(random, 0)}};
    for (const std::string& text :
         {object.dump(-1, ' ', true), object.dump(-1, ' ', false, json::error_handler_t::ignore),
          object.dump(2, ' ', true)}) {
      EXPECT_TRUE(accepts(automaton, text)) << text;
      EXPECT_FALSE(accepts(automaton, text.substr(0, text.size() - 1)));
      EXPECT_FALSE(accepts(automaton, text + " ")) << "it ends at its last brace";
    }
  }
}

// Random walks through the automaton give JSON.
TEST(JsonRules, HaveNothingElse) {
  Automaton automaton = automaton_of(Kind::json_object);
  std::mt19937 random(2);
  const std::string likely = "{}[]\",:0129-.eEtruefalsn\\ud8D \n";
  int ended = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    Automaton::State state = automaton.begin();
    for (int step = 0; step < 60 && !automaton.accepts(state); ++step) {
      for (int tries = 0; tries < 200; ++tries) {
        const char c = random() % 4 == 0 ? static_cast<char>(random() % 256)
                                         : likely[random() % likely.size()];
        const auto next = automaton.next(state, static_cast<unsigned char>(c));
        if (next == Automaton::dead) continue;
        text += c;
        state = next;
        break;
      }
    }
    if (!automaton.accepts(state)) continue;
    ++ended;
    EXPECT_TRUE(json::accept(text)) << text;
    EXPECT_FALSE(automaton.goes_on(state));
  }
  EXPECT_GT(ended, 100);
}

TEST(JsonRules, RefuseWhatIsNone) {
  Automaton automaton = automaton_of(Kind::json_object);
  for (const char* text :
       {"[]", "1", "{\"a\"}", "{\"a\":01}", "{\"a\":1,}", "{'a':1}", "{\"a\":.5}",
        "{\"a\":\"\\x\"}", "{\"a\":\"\\ud83d\"}", "{\"a\":\"\xff\"}", "{\"a\":\"\n\"}", "{\"a\":-}",
        "{\"a\":\"\\udc00\"}", "{\"a\":        1}", "{\"a\":00000000000000000001}"})
    EXPECT_FALSE(accepts(automaton, text)) << text;
  EXPECT_TRUE(accepts(automaton, "{\"a\":\"\\ud83d\\ude00\"}"));
}

}  // namespace
}  // namespace triax::test
