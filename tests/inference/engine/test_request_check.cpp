// SPDX-License-Identifier: Apache-2.0
#include "src/inference/engine/request_check.hpp"

#include <gtest/gtest.h>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::int64_t context = 8, vocabulary = 100;

GenerationRequest sound() {
  return {.id = 1, .prompt = {1, 2, 3}};
}

TEST(CheckRequest, AcceptsWhatCanBeServed) {
  EXPECT_NO_THROW(check_request(sound(), context, vocabulary));
  GenerationRequest request = sound();
  request.prompt.assign(7, 1);
  EXPECT_NO_THROW(check_request(request, context, vocabulary)) << "one token of an answer";
  request.prompt.assign(8, 1);
  EXPECT_THROW(check_request(request, context, vocabulary), UsageError);
  request.max_tokens = 0;
  EXPECT_NO_THROW(check_request(request, context, vocabulary)) << "no answer";
}

TEST(CheckRequest, SaysWhatIsWrong) {
  const auto text = [](auto change) {
    GenerationRequest request = sound();
    change(request);
    try {
      check_request(request, context, vocabulary);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(text([](auto& r) { r.prompt.clear(); }),
            "the prompt is empty (a model continues text). Give a token");
  EXPECT_EQ(text([](auto& r) { r.prompt = {100}; }),
            "token 100 of the prompt is not a token of the model (its vocabulary has 100 tokens). "
            "Use the model's tokenizer");
  EXPECT_EQ(text([](auto& r) { r.choice.min_p = 2.0; }),
            "min_p is 2 (it must be from 0 to 1). Correct it");
  EXPECT_NE(text([](auto& r) { r.choice.temperature = -1.0; }), "nothing");
  EXPECT_NE(text([](auto& r) { r.end_tokens = {-1}; }), "nothing");
}

}  // namespace
}  // namespace triax
