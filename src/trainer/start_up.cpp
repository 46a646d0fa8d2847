// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/start_up.hpp"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "kernels/base/mpi/agree.hpp"
#include "src/comm/launch/isa_of_job.hpp"
#include "src/comm/mpi/message_tags.hpp"
#include "src/data/chat/prepare.hpp"
#include "src/executor/pipeline_messages.hpp"
#include "src/forecast/memory_check.hpp"
#include "src/forecast/offload_room.hpp"
#include "src/forecast/same_plan.hpp"
#include "src/launch/offload_location.hpp"
#include "src/launch/requeue.hpp"
#include "src/launch/same_job.hpp"
#include "src/launch/shared_directories.hpp"
#include "src/launch/threads.hpp"
#include "src/machine/here/product_rate.hpp"
#include "src/plan/stages_by_speed.hpp"
#include "src/trainer/choose_tokenizer.hpp"
#include "src/trainer/epoch_steps.hpp"

namespace triax {
namespace {

void choose_isa_level(StartUp& start) {
  const std::string level = [&] {
    const WaitScope agreeing(start.grid.watch());
    return agree_on_isa(start.grid.mpi());
  }();
  if (start.grid.rank() != 0) spdlog::set_level(spdlog::level::err);
  spdlog::info("{}; {}", start.cores, level);
}

void start_kernels(StartUp& start) {
  start.kernels.emplace(threads_of_rank(start.grid));
}

void lock_directories(StartUp& start) {
  agreed(start.grid, [&] {
    if (start.grid.rank() == 0) start.lock.emplace(start.config);
  });
}

void check_shared(StartUp& start) {
  check_directories_shared(start.grid, start.config, usual_directory_patience(start.config.run));
}

void share_stall_reports(StartUp& start) {
  start.grid.report_across_nodes(start.config.run.directory);
}

void check_data(StartUp& start) {
  check_same_data(start.grid, start.config);
}

// Only after the lock is held: the run that held it may have written a checkpoint just before.
void resume_requeued(StartUp& start) {
  const JobSurroundings around = surroundings();
  apply_requeue_resume(start.grid, batch_job(around), batch_attempt(around), start.config);
}

void choose_tokens(StartUp& start) {
  const ConversationConfig& lines = start.conversation;
  const bool chats = lines.format == "chat" || lines.format == "preference";
  start.tokenizer =
      choose_tokenizer(start.grid, start.config, chats ? lines.template_file : std::string());
  start.config.data.tokenizer_hash = start.tokenizer.hash;
  start.config.data.end_token = start.tokenizer.end_token;
}

void prepare_data(StartUp& start) {
  const std::string directory =
      (std::filesystem::path(start.config.run.directory) / prepared_directory).string();
  prepare_conversations(start.grid, start.tokenizer.files, start.conversation, directory,
                        threads_of_rank(start.grid), start.config.data);
}

void count_steps(StartUp& start) {
  count_steps_of_epochs(start.grid, start.job, start.config);
}

std::string with_stage_layers(const std::string& job, const std::vector<int>& blocks) {
  auto root = nlohmann::ordered_json::parse(job);
  root["parallel"]["stage_layers"] = blocks;
  return root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// Micro-batches of a block's first MLP product, which a rank computes meanwhile for a third of a
// second.
void share_out_stages(StartUp& start) {
  PlacedConfig& config = start.config;
  if (!config.parallel.stages_by_speed || config.parallel.pipeline == 1) return;
  const ProductSize size{config.batch.micro * config.data.sample_length(), config.model.hidden,
                         config.model.intermediate / config.parallel.tensor};
  double rate = 0.0;
  agreed(start.grid,
         [&] { rate = product_rate(size, config.precision.type, config.place.space, 0.3); });
  const std::vector<double> speeds = stage_speeds(start.grid, rate);
  config.parallel.stage_layers = blocks_by_speed(config, speeds);
  start.job.resolved =
      with_stage_layers(start.job.resolved, config.parallel.stage_layers);  // for job.json
  spdlog::info("parallel.stage_layers by-speed: stages of speed {:.2f} have {} blocks",
               fmt::join(speeds, ", "), fmt::join(config.parallel.stage_layers, ", "));
}

void check_message_tags(StartUp& start) {
  check_tags(start.config, largest_message_tag(start.grid.place()));
}

void make_plan(StartUp& start) {
  start.plan =
      plan_job(start.config, [&](const MemoryPlan& memory) { return fits(memory, start.grid); });
}

void check_memory(StartUp& start) {
  check_fits(start.config, start.plan->memory, start.grid);
}

void compare_plans(StartUp& start) {
  check_same_plan(start.grid, start.config, start.plan->steps);
}

void clear_offload(StartUp& start) {
  remove_left_offload(start.grid, start.config);
}

void check_offload_files(StartUp& start) {
  check_offload_writable(start.config, start.plan->memory, start.grid);
}

void check_offload_space(StartUp& start) {
  check_offload_room(start.config, start.plan->memory, start.grid);
}

constexpr std::array<StartStep, 18> steps = {{
    {"the ISA level that all ranks support", choose_isa_level},
    {"threads of each rank", start_kernels},
    {"locks of the run's directories", lock_directories},
    {"the same directories on all ranks", check_shared},
    {"stall reports across nodes", share_stall_reports},
    {"the same data files on all ranks", check_data},
    {"the checkpoint of a requeued job", resume_requeued},
    {"the tokenizer of the data", choose_tokens},
    {"samples of conversations", prepare_data},
    {"steps of run.epochs", count_steps},
    {"blocks of stages by their speed", share_out_stages},
    {"message tags", check_message_tags},
    {"plan of a step", make_plan},
    {"memory of each rank", check_memory},
    {"the same plan on all ranks", compare_plans},
    {"offload files that killed runs left", clear_offload},
    {"offload files", check_offload_files},
    {"space for offload files", check_offload_space},
}};

}  // namespace

std::span<const StartStep> start_steps() {
  return steps;
}

std::string start_text(int position) {
  if (position < 1 || position > std::ssize(steps)) return "start-up";
  return fmt::format("start-up ({})", steps[static_cast<std::size_t>(position - 1)].name);
}

StartUp::StartUp(LoadedJob loaded, ProcessGrid& ranks, const std::string& used_cores)
    : grid(ranks),
      cores(used_cores),
      job(std::move(loaded)),
      config(on_grid(job.config, ranks)),
      conversation(conversation_config(job.resolved)) {
  ProgressBoard& board = grid.board();
  board.explain_with([](const RankProgress& rank) { return start_text(rank.position); });
  for (std::size_t i = 0; i < steps.size(); ++i) {
    board.set_position(static_cast<int>(i) + 1);
    steps[i].run(*this);
  }
  board.set_position(0);
}

}  // namespace triax
