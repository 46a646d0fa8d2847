// SPDX-License-Identifier: Apache-2.0
#pragma once
// Unicode's normalization forms (UAX #15) of the characters of Unicode 9, by utf8proc.
#include <cstdint>
#include <memory>

#include "src/text/normalize/normalizer.hpp"

namespace triax {

enum class NormalForm : std::uint8_t { nfc, nfd, nfkc, nfkd };

/// Text without characters that the form could change is found at the speed of a scan; of other
/// text only the surroundings of such characters are normalized.
std::unique_ptr<const Normalizer> normal_form(NormalForm form);

}  // namespace triax
