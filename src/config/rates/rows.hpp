// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of the table of rates.hpp, each defined in a file of its own or with its kin.
#include "src/config/rates/rates.hpp"

namespace triax::rates {

extern const RateSchedule constant;
// DeepSpeed's
extern const RateSchedule warmup_lr, warmup_decay_lr, warmup_cosine_lr, one_cycle, lr_range_test;
extern const RateSchedule cosine;  // triax's own
// Hugging Face's
extern const RateSchedule constant_with_warmup, linear, polynomial, inverse_sqrt,
    cosine_with_restarts, cosine_with_min_lr, cosine_warmup_with_min_lr, warmup_stable_decay;

}  // namespace triax::rates
