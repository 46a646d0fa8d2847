// SPDX-License-Identifier: Apache-2.0
#include "src/model/stage/tensor_names.hpp"

#include <algorithm>
#include <utility>

#include "src/config/source/spelling.hpp"
#include "src/model/stage/stage.hpp"

namespace triax {
namespace {

// A name as the tensor has it, and with a * for each number.
struct Name {
  std::string text, starred;
};

// Longest text of a pattern without wildcards.
std::string longest_text(const std::string& pattern) {
  std::string longest, text;
  for (const char c : pattern + "*") {
    if (std::string("*?[]").find(c) == std::string::npos) {
      text += c;
      continue;
    }
    if (text.size() > longest.size()) longest = text;
    text.clear();
  }
  return longest;
}

// Edits from `text` to the part of `name` that is most like it.
std::size_t edits_within(const std::string& text, const std::string& name) {
  std::size_t least = edits(text, name);
  for (std::size_t at = 0; at + text.size() <= name.size(); ++at)
    least = std::min(least, edits(text, name.substr(at, text.size())));
  return least;
}

// The modules above a tensor, outermost first, and the tensor.
std::vector<Name> names_down_to(const std::string& tensor) {
  std::vector<Name> names;
  Name name;
  for (std::size_t begin = 0; begin <= tensor.size();) {
    const std::size_t end = std::min(tensor.find('.', begin), tensor.size());
    const std::string part = tensor.substr(begin, end - begin);
    const bool number = part.find_first_not_of("0123456789") == std::string::npos;
    name.text = tensor.substr(0, end);
    name.starred += (begin == 0 ? "" : ".") + (number ? "*" : part);
    names.push_back(name);
    begin = end + 1;
  }
  return names;
}

}  // namespace

std::vector<std::string> nearest_tensor_names(const std::string& pattern, const ModelConfig& model,
                                              PatternOf of) {
  std::vector<Name> names;
  for (const GlobalTensor& tensor : global_tensors(model)) {
    const std::vector<Name> all = names_down_to(tensor.name);
    for (auto name = of == PatternOf::modules ? all.begin() : all.end() - 1; name != all.end();
         ++name)
      if (std::ranges::find(names, name->starred, &Name::starred) == names.end())
        names.push_back(*name);
  }
  const std::string text = longest_text(pattern);
  using Ranked = std::pair<std::pair<std::size_t, std::size_t>, std::string>;
  std::vector<Ranked> ranked;
  for (const Name& name : names)
    ranked.push_back({{edits_within(text, name.text), edits(pattern, name.starred)}, name.starred});
  std::ranges::stable_sort(ranked, {}, &Ranked::first);
  constexpr std::size_t shown = 3;
  std::vector<std::string> nearest;
  for (std::size_t n = 0; n < std::min(shown, ranked.size()); ++n)
    nearest.push_back(ranked[n].second);
  return nearest;
}

}  // namespace triax
