// SPDX-License-Identifier: Apache-2.0
#pragma once
// The page at "/": text from the model, queue and throughput, in a browser without a network.

namespace triax {

/// HTML that refers to nothing but this server.
extern const char* const page_html;

}  // namespace triax
