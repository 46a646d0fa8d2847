// SPDX-License-Identifier: Apache-2.0
#include "src/commands/checkpoint_commands.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "io/checkpoint/tools/checkpoint_diff.hpp"
#include "io/checkpoint/tools/checkpoint_inspect.hpp"
#include "io/checkpoint/tools/checkpoint_list.hpp"
#include "io/checkpoint/tools/checkpoint_verify.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/process/say.hpp"
#include "src/checkpoint/saved_tokenizer.hpp"
#include "src/comm/launch/launcher.hpp"
#include "src/commands/huggingface_commands.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/commands/quantize_command.hpp"
#include "src/commands/weights/weights_commands.hpp"

namespace triax {
namespace {

struct Arguments {
  std::string path, other;
  bool json = false, tensors = false;
};

// The arguments live as long as the callback that reads them.
using Shared = std::shared_ptr<Arguments>;

Shared add_arguments(CLI::App* command, const char* name, const char* meaning) {
  auto arguments = std::make_shared<Arguments>();
  command->add_option(name, arguments->path, meaning)->type_name("")->required();
  command->add_flag("--json", arguments->json, "Print JSON");
  return arguments;
}

void print(const MpiSession& session, const std::string& text) {
  if (session.rank() == 0) print_out(text);
}

// Rank 0's share of a verification as a percentage on a terminal, ten times a second at most.
class Percentage {
 public:
  explicit Percentage(const MpiSession& session)
      : shown_(session.rank() == 0 && isatty(STDERR_FILENO) != 0) {}
  ~Percentage() {
    if (open_) say_text("\r\033[K");
  }
  Percentage(const Percentage&) = delete;
  Percentage& operator=(const Percentage&) = delete;
  void operator()(std::int64_t done, std::int64_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (!shown_ || now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    open_ = true;
    say("\rverifying {:3.0f}%", 100.0 * static_cast<double>(done) / static_cast<double>(total));
  }

 private:
  bool shown_;
  bool open_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

std::string json_of(const std::string& path, const Verification& result, double rate) {
  nlohmann::ordered_json damaged = nlohmann::ordered_json::array();
  for (const DamagedBlock& block : result.damaged)
    damaged.push_back({{"tensor", block.tensor},
                       {"block", block.block},
                       {"begin_byte", block.begin_byte},
                       {"end_byte", block.end_byte}});
  const nlohmann::ordered_json out = {{"file", path},
                                      {"ok", result.damaged.empty()},
                                      {"bytes", result.bytes},
                                      {"seconds", result.seconds},
                                      {"bytes_per_second", rate},
                                      {"damaged", damaged}};
  return out.dump(2) + '\n';
}

int verify(const Arguments& arguments, const MpiSession& session) {
  Verification result;
  {
    Percentage progress(session);
    result = verify_checkpoint(arguments.path, MPI_COMM_WORLD, std::ref(progress));
  }
  if (!result.has_checksums)
    throw Error(fmt::format("cannot verify {}", arguments.path),
                "it has no checksums: an older triax wrote it",
                "Resume it once: the next checkpoint has them");
  const double rate = static_cast<double>(result.bytes) / result.seconds;
  if (arguments.json)
    print(session, json_of(arguments.path, result, rate));
  else if (result.damaged.empty())
    print(session, fmt::format("ok: {}, {} bytes at {:.3g} GB/s\n", arguments.path, result.bytes,
                               rate / 1e9));
  else
    print(session, fmt::format("damaged: {}, {} block(s)\n{}\n", arguments.path,
                               result.damaged.size(), text_of(result.damaged)));
  return result.damaged.empty() ? 0 : found_status;
}

// On rank 0. A damaged one is unknown here: the command ends with the damage.
InspectedTokenizer tokenizer_in(const std::string& path, const MpiSession& session) {
  if (session.rank() != 0) return {};
  try {
    const RunTokenizer saved = saved_tokenizer(CheckpointReader(path));
    return {saved.format, saved.hash, saved.vocabulary};
  } catch (const Error&) {
    return {};
  }
}

int diff(const Arguments& arguments, const MpiSession& session) {
  const CheckpointDifference difference =
      diff_checkpoints(arguments.path, arguments.other, arguments.json, MPI_COMM_WORLD);
  print(session, difference.text);
  for (const std::string& file : {arguments.path, arguments.other})
    require_whole(file, MPI_COMM_WORLD);
  return difference.tensors || (difference.attributes && !arguments.tensors) ? found_status : 0;
}

void add_list(CLI::App* parent, const MpiSession& session, int& status) {
  CLI::App* command = parent->add_subcommand(
      "list", "List the checkpoints of a directory: step, tokens, size, date, grid, type, state.");
  command->footer(
      "State: opens (its data are not read: verify does that), damaged, unreadable (the system "
      "does not\nlet it be read, or it is a link to nothing), unfinished (being written, or the "
      "write was killed),\nsuperseded (a later run continued from an earlier checkpoint).\nExit "
      "status: 0 all that have a checkpoint's name open; 3 one of them is damaged or unreadable, "
      "or\nthe directory is.\n  triax checkpoint list runs/demo");
  const Shared arguments =
      add_arguments(command, "DIR", "The directory, or that of a run, with checkpoints in it");
  command->callback([arguments, &session, &status] {
    // Without a working MPI every process is rank 0: the launcher's number decides as well.
    if (session.rank() != 0 || launched_process().number != 0) return;
    const CheckpointListing listing = list_directory(arguments->path, arguments->json);
    print(session, listing.text);
    status = listing.all_open ? 0 : found_status;
  });
}

void add_inspect(CLI::App* parent, const MpiSession& session) {
  CLI::App* command = parent->add_subcommand(
      "inspect",
      "Show a checkpoint's tokenizer, and its tensors: type, shape, min, max, mean, norm, NaN and "
      "infinite elements.");
  command->footer(
      "Exit status: 0; 3 the file cannot be read, or its data do not match their checksums (the "
      "list is\nprinted anyway).\n  triax checkpoint inspect runs/demo/checkpoints/step-000100.h5");
  const Shared arguments = add_arguments(command, "FILE", "The checkpoint file");
  command->callback([arguments, &session] {
    print(session, inspect_checkpoint(arguments->path, arguments->json, MPI_COMM_WORLD,
                                      tokenizer_in(arguments->path, session)));
    require_whole(arguments->path, MPI_COMM_WORLD);
  });
}

void add_verify(CLI::App* parent, const MpiSession& session, int& status) {
  CLI::App* command = parent->add_subcommand(
      "verify", "Read a checkpoint's data and hold them against its checksums.");
  command->footer(
      "Exit status: 0 all of it is as it was written; 3 damaged, with the first ten damaged blocks "
      "by\nname, or it cannot be read.\n"
      "  triax checkpoint verify runs/demo/checkpoints/step-000100.h5\n"
      "  mpiexec -n 8 triax checkpoint verify FILE    # the ranks share out the reading");
  const Shared arguments = add_arguments(command, "FILE", "The checkpoint file");
  command->callback([arguments, &session, &status] { status = verify(*arguments, session); });
}

void add_diff(CLI::App* parent, const MpiSession& session, int& status) {
  CLI::App* command = parent->add_subcommand(
      "diff", "Compare two checkpoints: the largest difference of each tensor, and attributes.");
  command->footer(
      "Relative difference: |a - b| / max(|a|, |b|). Two NaNs are equal.\nExit status: 0 equal; 3 "
      "different, or a file cannot be read, or its data do not match their checksums\n(the list is "
      "printed anyway).\n  triax checkpoint diff --tensors a/step-000100.h5 b/step-000100.h5");
  const Shared arguments = add_arguments(command, "A", "A checkpoint file");
  command->add_option("B", arguments->other, "Another one")->type_name("")->required();
  command->add_flag("--tensors", arguments->tensors,
                    "Attributes (job, grid, version, ...) do not count for the exit status");
  command->callback([arguments, &session, &status] { status = diff(*arguments, session); });
}

}  // namespace

void add_checkpoint(CLI::App& app, CommandContext& context) {
  const MpiSession& session = context.session;
  int& status = context.status;
  CLI::App* command = app.add_subcommand(
      "checkpoint", "Look into checkpoint files, and turn them into other formats.");
  command->parse_complete_callback([command] {
    if (!command->got_subcommand("list"))
      check_launch(MPI_COMM_WORLD);  // list runs on rank 0 alone
  });
  command->require_subcommand(1);
  add_list(command, session, status);
  add_inspect(command, session);
  add_verify(command, session, status);
  add_diff(command, session, status);
  add_huggingface(*command, session);
  add_quantize(*command, session);
  add_weights_commands(*command, session);
}

}  // namespace triax
