// SPDX-License-Identifier: Apache-2.0
#include "src/state/weights/quantized/quantization.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>

#include "io/files/mapped_file.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A section of a file. Keys have several spellings.
struct Section {
  std::string source;
  json object;

  const json* find(std::initializer_list<const char*> names) const {
    for (const char* name : names)
      if (const auto found = object.find(name); found != object.end() && !found->is_null())
        return &*found;
    return nullptr;
  }
  template <class T>
  T get(std::initializer_list<const char*> names, T otherwise) const {
    const json* found = find(names);
    if (found == nullptr) return otherwise;
    try {
      return found->get<T>();
    } catch (const json::exception&) {
      throw UsageError(fmt::format("{}: {} is {}", source, *names.begin(), found->dump()),
                       "that is not a value of it", "Fetch the model again");
    }
  }
  std::string text(std::initializer_list<const char*> names, const std::string& otherwise) const {
    std::string value = get<std::string>(names, otherwise);
    std::ranges::transform(value, value.begin(), [](unsigned char c) { return std::tolower(c); });
    return value;
  }
  [[noreturn]] void refuse(const std::string& what, const std::string& why) const {
    throw UsageError(fmt::format("{}: {} is not supported", source, what), why,
                     "Use the model's original weights, or quantize those with triax checkpoint "
                     "quantize");
  }
};

std::optional<json> parse_file(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  const MappedFile file(path.string());
  const auto* const text = reinterpret_cast<const char*>(file.data());
  json parsed = json::parse(text, text + file.size(), nullptr, false);
  if (!parsed.is_object()) return {};  // whoever reads the model's config.json says so
  return parsed;
}

std::optional<Section> find_section(const fs::path& directory) {
  if (const auto config = parse_file(directory / "config.json"))
    if (const auto found = config->find("quantization_config"); found != config->end())
      if (found->is_object())
        return Section{(directory / "config.json").string() + ": quantization_config", *found};
  if (const auto config = parse_file(directory / "quantize_config.json"))
    return Section{(directory / "quantize_config.json").string(), *config};
  return {};
}

void read_bitsandbytes(const Section& section, Quantization& made) {
  const bool four = section.get({"load_in_4bit", "_load_in_4bit"}, false);
  const bool eight = section.get({"load_in_8bit", "_load_in_8bit"}, false);
  if (four == eight)
    throw UsageError(fmt::format("{} does not say how many bits the weights have", section.source),
                     fmt::format("load_in_4bit and load_in_8bit are both {}", four),
                     "Fetch config.json again");
  made.bits = four ? 4 : 8;
  if (!four) return;
  made.four_bit = section.text({"bnb_4bit_quant_type"}, "fp4");
  if (made.four_bit != "nf4" && made.four_bit != "fp4")
    section.refuse(fmt::format("bnb_4bit_quant_type {}", made.four_bit),
                   "types of 4 bits are nf4 and fp4");
}

// GPTQ's overrides of single modules: only those that leave a module as it was.
void refuse_overrides(const Section& section) {
  const json* overrides = section.find({"dynamic"});
  if (overrides == nullptr || !overrides->is_object()) return;
  for (const auto& entry : overrides->items())
    if (!entry.key().starts_with("-:"))
      section.refuse(fmt::format("dynamic \"{}\"", entry.key()),
                     "modules with settings of their own are not decoded");
}

void read_gptq(const Section& section, Quantization& made) {
  made.bits = section.get({"bits", "wbits", "w_bit"}, 4);
  if (made.bits != 2 && made.bits != 3 && made.bits != 4 && made.bits != 8)
    section.refuse(fmt::format("bits {}", made.bits), "GPTQ has 2, 3, 4 or 8");
  made.group = section.get<std::int64_t>({"group_size", "q_group_size"}, 128);
  made.symmetric = section.get({"sym"}, true);
  made.reordered = section.get({"desc_act"}, false);
  const std::string format = section.text({"checkpoint_format", "format"}, "gptq");
  if (format != "gptq" && format != "gptq_v2")
    section.refuse(fmt::format("checkpoint_format {}", format),
                   "its words are packed for one kernel");
  made.zero_less_one = format == "gptq";
  if (const std::string words = section.text({"pack_dtype"}, "int32"); words != "int32")
    section.refuse(fmt::format("pack_dtype {}", words), "words have 32 bits");
  refuse_overrides(section);
}

void read_awq(const Section& section, Quantization& made) {
  made.bits = section.get({"bits", "w_bit"}, 4);
  if (made.bits != 4) section.refuse(fmt::format("bits {}", made.bits), "AWQ has 4");
  made.group = section.get<std::int64_t>({"group_size", "q_group_size"}, 128);
  if (const std::string version = section.text({"version"}, "gemm"); version != "gemm")
    section.refuse(fmt::format("version {}", version), "the layout that is read is gemm");
  if (!section.get({"zero_point"}, true))
    section.refuse("zero_point false", "the layout gemm has zero points");
}

}  // namespace

Quantization read_quantization(const std::string& directory) {
  const std::optional<Section> section = find_section(directory);
  Quantization made;
  if (!section) return made;
  made.source = section->source;
  const bool by_bits = section->find({"load_in_4bit", "load_in_8bit"}) != nullptr;
  const std::string method = section->text({"quant_method"}, by_bits ? "bitsandbytes" : "gptq");
  if (method == "bitsandbytes") {
    made.method = QuantMethod::bitsandbytes;
    read_bitsandbytes(*section, made);
  } else if (method == "gptq") {
    made.method = QuantMethod::gptq;
    read_gptq(*section, made);
  } else if (method == "awq") {
    made.method = QuantMethod::awq;
    read_awq(*section, made);
  } else {
    section->refuse(fmt::format("quant_method {}", method),
                    "methods are bitsandbytes, gptq and awq");
  }
  if (made.method != QuantMethod::bitsandbytes && made.group != -1 && made.group <= 0)
    section->refuse(fmt::format("group_size {}", made.group), "it is -1 or a number of inputs");
  return made;
}

}  // namespace triax
