// SPDX-License-Identifier: Apache-2.0
#pragma once
// Methods of distributed training by the names that people use, each a set of layouts.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/planner/search.hpp"

namespace triax {

struct Method {
  const char* name;                      // "ZeRO-3"
  const char* sentence;                  // its idea, for those who do not know it
  bool (*has)(const Candidate& layout);  // whether the layout is of the method
};

/// From the simplest to the most involved: data parallelism alone, ZeRO-1, ZeRO-2, ZeRO-3, ZeRO
/// with offload, tensor (with data) parallelism, 3D.
std::span<const Method> methods();

/// Quickest layout of a method; `search.best` is empty if none fits.
struct MethodResult {
  const Method* method = nullptr;
  Search search;
};

/// Searches the layouts of every method that has any.
std::vector<MethodResult> compare_methods(
    const std::vector<Candidate>& layouts, const Config& job, const Machine& machine,
    const std::function<Evaluation(const Candidate&)>& evaluate);

/// The simplest method within 5% of the quickest; null if nothing fits.
const MethodResult* recommended(const std::vector<MethodResult>& results);

/// Plain sentences: what the state of the model takes beside the memory, what each method costs or
/// lacks, and for which the numbers speak.
std::string explanation(const std::vector<MethodResult>& results, const JobToPlan& job,
                        const Machine& machine, int ranks);

}  // namespace triax
