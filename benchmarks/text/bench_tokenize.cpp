// SPDX-License-Identifier: Apache-2.0
// Text to token ids on one core. Prints one JSON line per tokenizer and text; peak_fraction is
// relative to reading the text (a sum of its words).
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "benchmarks/support/arguments.hpp"
#include "benchmarks/support/report.hpp"
#include "io/files/mapped_file.hpp"
#include "src/text/tokenizer.hpp"

namespace {

struct Arguments {
  std::vector<std::string> tokenizers, texts;
  std::size_t document = 1 << 16;  // bytes
};

std::string name_of(const std::string& path) {
  const std::filesystem::path whole = std::filesystem::path(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

// Documents of about `bytes` that end at a newline where there is one, else between characters.
std::vector<std::string_view> documents(std::string_view text, std::size_t bytes) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    std::size_t end = std::min(bytes, text.size());
    if (end < text.size()) {
      const std::size_t newline = text.substr(0, end).rfind('\n');
      if (newline != text.npos) end = newline + 1;
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) ++end;
    }
    all.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return all;
}

void measure(const Arguments& arguments, const std::string& path, const std::string& file) {
  const auto tokenizer = triax::open_tokenizer(path);
  const auto encoder = tokenizer->encoder();
  const triax::MappedFile mapped(file);
  const std::string text(reinterpret_cast<const char*>(mapped.data()), mapped.size());
  const auto parts = documents(text, arguments.document);
  std::vector<std::int32_t> ids;
  const auto encode = triax::benchmark::time_median([&] {
    ids.clear();
    for (const std::string_view part : parts) encoder->encode(part, {}, ids);
  });
  volatile std::uint64_t sink = 0;
  const auto read = triax::benchmark::time_median([&] {
    std::uint64_t sum = 0, word = 0;
    for (std::size_t at = 0; at + 8 <= text.size(); at += 8) {
      std::memcpy(&word, text.data() + at, 8);
      sum += word;
    }
    sink = sum;
  });
  const auto bytes = static_cast<double>(text.size());
  triax::benchmark::print_result("tokenize", name_of(path) + " " + name_of(file), encode,
                                 {{"bytes_per_second", bytes / encode.seconds},
                                  {"bytes_per_token", bytes / static_cast<double>(ids.size())},
                                  {"peak_fraction", read.seconds / encode.seconds}});
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Text to token ids on one core: one JSON line per tokenizer and text."};
  Arguments arguments;
  app.add_option("--tokenizer", arguments.tokenizers, "Directories or files of tokenizers")
      ->required();
  app.add_option("--text", arguments.texts, "Files of UTF-8 text")->required();
  app.add_option("--document", arguments.document, "Bytes that are encoded at once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  if (const auto status = triax::benchmark::refused(app, argc, argv)) return *status;
  try {
    for (const std::string& path : arguments.tokenizers)
      for (const std::string& file : arguments.texts) measure(arguments, path, file);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
