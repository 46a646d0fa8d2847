// SPDX-License-Identifier: Apache-2.0
// Ends a job in the way its argument names; see test_mpi_session.cpp.
#include <stdexcept>
#include <string_view>

#include "kernels/base/check.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/comm/launch/launcher.hpp"
#include "src/comm/launch/mpi_session.hpp"

namespace {

// The pattern of main(): the session outlives the catch block.
int run(int argc, char** argv) {
  const std::string_view way = argc > 1 ? argv[1] : "";
  triax::MpiSession session(&argc, &argv);
  const bool last = session.rank() == session.size() - 1;
  try {
    if (way == "launch") triax::check_launch(MPI_COMM_WORLD);
    triax::ProcessGrid grid(MPI_COMM_WORLD, {.data = session.size()});
    if (way == "abort" && last) throw triax::Error("one rank fails");
    if (way == "escape" && last) throw std::runtime_error("one rank fails in an unforeseen way");
    if (way == "all-fail" || way == "one-is-asked" || way == "none-is-asked" ||
        (way == "last-fails-alone" && last))
      throw triax::Error(way.data());
    grid.data()
        .barrier(triax::Stream{})
        .wait(triax::Stream{});  // the others wait here for the last
    if (way.ends_with("at-the-end") && last) throw triax::Error(way.data());
    return 0;
  } catch (const triax::UsageError&) {
    return 2;
  } catch (const triax::Error&) {
    const bool all = way != "abort" && session.all_arrive();
    if (way == "one-is-asked") return all && session.any(last) ? 4 : 1;
    if (way == "none-is-asked") return all && !session.any(false) ? 4 : 1;
    if (way == "last-asks-at-the-end") session.abort(all && session.any(false, 0.5) ? 4 : 1);
    if (all) return 3;
    session.abort(3);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception&) {
    return 1;
  }
}
