// SPDX-License-Identifier: Apache-2.0
// triax data show: a training or validation sample of a job.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <thread>

#include "kernels/base/check.hpp"
#include "src/checkpoint/saved_tokenizer.hpp"
#include "src/commands/data/data_commands.hpp"
#include "src/commands/options/option_checks.hpp"
#include "src/commands/options/shared_options.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/config/load/load.hpp"
#include "src/data/chat/prepare.hpp"
#include "src/data/chat/show.hpp"
#include "src/data/mixture/source_names.hpp"
#include "src/data/mixture/training_data.hpp"

namespace triax {
namespace {

struct ShowArguments {
  std::string job;
  std::vector<std::string> overrides;
  std::int64_t sample = 0;
  bool valid = false, json = false, color = false;
};

// Data of which validation samples are the training samples, in their order.
DataConfig validation_data(DataConfig data, const std::string& job) {
  if (data.valid.empty())
    throw UsageError(fmt::format("{} has no validation samples", job), "it names none",
                     "Set data.valid or data.validation_fraction");
  data.train = std::move(data.valid);
  data.sources.clear();
  data.shuffle = false;
  return data;
}

// Name of the tokenizer of a job that does not resume; empty: none is known.
std::string tokenizer_of(const Config& config) {
  return config.data.tokenizer == "auto" ? config.model.weights : config.data.tokenizer;
}

void show(const ShowArguments& arguments) {
  const LoadedJob job = load_job(arguments.job, arguments.overrides, 0);
  const ConversationConfig conversation = conversation_config(job.resolved);
  Config config = job.config;
  const std::string name = tokenizer_of(config);
  std::shared_ptr<const Tokenizer> tokenizer;
  if (!name.empty()) tokenizer = named_tokenizer(name);
  if (conversation.format != "tokens")
    prepare_conversations(
        MPI_COMM_NULL, named_tokenizer_files(name), conversation,
        (std::filesystem::path(config.run.directory) / prepared_directory).string(),
        static_cast<int>(std::thread::hardware_concurrency()), config.data);
  if (arguments.valid) config.data = validation_data(std::move(config.data), arguments.job);
  std::vector<TokenReader> readers;
  const std::int64_t end_token = tokenizer ? tokenizer->end_token().value_or(-1) : -1;
  for (const auto& files : source_files(config.data)) {
    readers.emplace_back(files, config.data.sample_length(), config.data.shuffle, config.data.seed);
    if (config.data.finds_documents())
      readers.back().find_documents(end_token, config.data.mask_end_token_loss);
  }
  const TrainingData data(config, std::move(readers));
  std::vector<std::int32_t> ids(static_cast<std::size_t>(config.data.sample_length()) + 1),
      labels(ids.size());
  std::vector<std::uint8_t> starts(config.data.mask_documents ? ids.size() : 0);
  data.sample(arguments.sample, ids, labels, starts);
  labels.front() = ignored_label;  // nothing comes before it
  if (labels.back() < 0) {         // the token behind the inputs is there to be a label
    ids.pop_back();
    labels.pop_back();
    if (!starts.empty()) starts.pop_back();
  }
  const bool color = arguments.color || isatty(STDOUT_FILENO) == 1;
  const ShowStyle style = arguments.json ? ShowStyle::json
                          : color        ? ShowStyle::color
                                         : ShowStyle::plain;
  const ShownSample sample{arguments.sample, data.samples(), ids, labels, starts};
  print_out(config.data.rows_per_sample == 1 ? sample_text(sample, tokenizer.get(), style)
                                             : pair_text(sample, tokenizer.get(), style));
}

}  // namespace

void add_data_show(CLI::App& data, const MpiSession& session) {
  const auto arguments = std::make_shared<ShowArguments>();
  CLI::App* command = data.add_subcommand("show",
                                          "Show a training or validation sample of a job: its "
                                          "tokens, which of them train, and its documents.");
  command->footer(
      "  triax data show job.json --sample 3    # *: the loss counts the token\n"
      "Samples are numbered from 0 in the order of training, with --valid in that of the files. "
      "Files of conversations are prepared "
      "in\n"
      "run.directory, as for the run.");
  command->add_option("JOB.json", arguments->job, "The job file (JSON)")->type_name("")->required();
  add_overrides(command, arguments->overrides,
                "Override a key, as data.seq_length=512; repeatable");
  command->add_option("--sample", arguments->sample, "Number of the sample")
      ->type_name("N")
      ->check(whole_number(0, std::int64_t{1} << 62))
      ->capture_default_str();
  command->add_flag("--valid", arguments->valid,
                    "Show a sample of data.valid, or of data.validation_fraction");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->add_flag("--color", arguments->color,
                    "Show tokens that train in green, not on terminals only");
  command->callback([arguments, &session] {
    if (session.rank() == 0) show(*arguments);
  });
}

}  // namespace triax
