// SPDX-License-Identifier: Apache-2.0
// Predictions of triax plan beside published runs, with one set of constants for all of them.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "benchmarks/plan/published.hpp"
#include "benchmarks/support/arguments.hpp"
#include "benchmarks/support/report.hpp"
#include "kernels/parallel/runtime.hpp"
#include "src/comm/launch/mpi_session.hpp"
#include "src/machine/description.hpp"
#include "src/planner/enumerate.hpp"
#include "src/planner/search.hpp"

namespace triax::benchmark {
namespace {

nlohmann::json job_of(const PublishedRun& run) {
  return {{"model",
           {{"architecture", "gpt2"},
            {"n_layer", run.layers},
            {"n_head", run.heads},
            {"n_embd", run.hidden},
            {"n_positions", run.sequence},
            {"vocab_size", run.vocabulary},
            {"tie_word_embeddings", false},
            {"attn_pdrop", 0.0},
            {"resid_pdrop", 0.0},
            {"embd_pdrop", 0.0}}},
          {"data", {{"train", {"absent.bin"}}, {"seq_length", run.sequence}}},
          {"train_batch_size", run.batch},
          {"optimizer", {{"type", "AdamW"}, {"params", {{"lr", 1e-4}}}}},
          {"bf16", {{"enabled", true}}}};
}

// Whether the layout is one that the run may have had.
bool like(const Candidate& layout, const PublishedRun& run) {
  const bool chunks = run.chunks == 0 || (run.chunks == 1 ? layout.chunks == 1 : layout.chunks > 1);
  return layout.tensor == run.tensor && layout.pipeline == run.pipeline && chunks &&
         layout.zero == (run.data > 1 ? 1 : 0) && (run.micro == 0 || layout.micro == run.micro) &&
         layout.offload == Offload::none && (layout.recompute == Recompute::layer) == run.recompute;
}

void print_run(const PublishedRun& run, const Evaluation& best) {
  const double ranks = static_cast<double>(run.tensor) * run.pipeline * run.data;
  const double flops =
      best.price.utilisation.square_flops / 1e12 * (run.recompute ? 4.0 / 3.0 : 1.0);
  const double predicted = run.samples ? run.batch / best.price.seconds / ranks : flops;
  print_result("plan", run.name, {best.price.seconds, 0.0},
               {{"predicted", predicted},
                {"published", run.measured},
                {"ratio", predicted / run.measured},
                {"bubble", best.price.bubble},
                {"data", best.price.data},
                {"memory_gb", static_cast<double>(best.memory.scarce().total()) / 1e9}},
               {{"layout", best.candidate.text()}});
}

void predict(const PublishedRun& run, const std::string& folder, const std::string& machine_name) {
  const std::string path = folder + "/job.json";
  std::ofstream(path) << job_of(run) << std::flush;
  const Machine machine = find_machine(machine_name.empty() ? run.machine : machine_name);
  const int ranks = run.tensor * run.pipeline * run.data;
  const JobToPlan job = job_to_plan(path, {}, ranks, machine);
  std::vector<Candidate> layouts = enumerate(job.base, machine, ranks);
  std::erase_if(layouts, [&](const Candidate& one) { return !like(one, run); });
  const LayoutEvaluator evaluator(job, machine);
  const Search found = search(layouts, job.base, machine, 1,
                              [&](const Candidate& one) { return evaluator.evaluate(one); });
  if (!found.best.empty()) return print_run(run, found.best.front());
  fmt::print(stderr, "{}: no layout fits: {}\n", run.name, found.leanest.reason);
}

int run(int argc, char** argv) {
  std::string match, machine;
  CLI::App app{"Predicted beside published utilisation."};
  app.add_option("--match", match, "Only runs whose name contains this");
  app.add_option("--machine", machine, "Price all of them on this machine instead");
  if (const auto status = refused(app, argc, argv)) return *status;
  std::string folder = (std::filesystem::temp_directory_path() / "bench-plan-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  const KernelRuntime runtime(1);
  for (const PublishedRun& one : published_runs())
    if (std::string_view(one.name).find(match) != std::string_view::npos)
      predict(one, folder, machine);
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace triax::benchmark

int main(int argc, char** argv) {
  const triax::MpiSession session(&argc, &argv);
  return triax::benchmark::run(argc, argv);
}
