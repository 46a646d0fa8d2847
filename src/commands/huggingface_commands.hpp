// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax checkpoint export and import: to and from model directories of Hugging Face's transformers.
#include "src/comm/launch/mpi_session.hpp"

namespace CLI {
class App;
}

namespace triax {

/// Adds `export` and `import` below the command `checkpoint`. `session` outlives the app.
void add_huggingface(CLI::App& checkpoint, const MpiSession& session);

}  // namespace triax
