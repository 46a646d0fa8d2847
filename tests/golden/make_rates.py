#!/usr/bin/env python3
"""Writes rates.json: the learning rate of every step by Hugging Face's and DeepSpeed's schedules, for tests/config/rates.

For developers only: neither the program nor its tests run this. It needs PyTorch, transformers and DeepSpeed; rates.json
was made with PyTorch 2.15, transformers 5.24 and DeepSpeed 0.19.8. A case that triax calls by another name than Hugging Face has "huggingface".
"""

import json
from pathlib import Path

import torch
from deepspeed.runtime import lr_schedules
from transformers.optimization import TYPE_TO_SCHEDULER_FUNCTION

LR, STEPS, BEYOND = 2e-3, 24, 4  # the steps behind the end have rates, too
WITHOUT_LENGTH = ("constant", "constant_with_warmup", "inverse_sqrt")  # take no num_training_steps

CASES = [
    ("constant", {}),
    ("constant_with_warmup", {"num_warmup_steps": 0}),
    ("constant_with_warmup", {"num_warmup_steps": 6}),
    ("linear", {"num_warmup_steps": 0}),
    ("linear", {"num_warmup_steps": 5}),
    ("linear", {"num_warmup_steps": 24}),
    ("linear", {"num_warmup_steps": 30}),
    ("polynomial", {"num_warmup_steps": 0}),
    ("polynomial", {"num_warmup_steps": 5, "lr_end": 1e-4, "power": 2.0}),
    ("polynomial", {"num_warmup_steps": 3, "lr_end": 0.0, "power": 0.5}),
    ("inverse_sqrt", {"num_warmup_steps": 0}),
    ("inverse_sqrt", {"num_warmup_steps": 7}),
    ("inverse_sqrt", {"num_warmup_steps": 4, "timescale": 10}),
    ("cosine_with_restarts", {"num_warmup_steps": 0, "num_cycles": 1}),
    ("cosine_with_restarts", {"num_warmup_steps": 4, "num_cycles": 3}),
    ("cosine_with_restarts", {"num_warmup_steps": 24, "num_cycles": 2}),
    ("cosine_with_min_lr", {"num_warmup_steps": 0, "min_lr": 2e-4}),
    ("cosine_with_min_lr", {"num_warmup_steps": 6, "min_lr_rate": 0.25, "num_cycles": 1.5}),
    ("cosine_with_min_lr", {"num_warmup_steps": 5, "min_lr": 0.0}, "cosine", {"num_warmup_steps": 5}),
    ("cosine_warmup_with_min_lr", {"num_warmup_steps": 5, "min_lr": 2e-4}),
    ("cosine_warmup_with_min_lr", {"num_warmup_steps": 5, "min_lr_rate": 0.1, "warmup_lr_rate": 0.2}),
    ("cosine_warmup_with_min_lr", {"num_warmup_steps": 1, "min_lr_rate": 0.1, "warmup_lr_rate": 0.2}),
    ("warmup_stable_decay", {"num_warmup_steps": 0, "num_decay_steps": 0}),
    ("warmup_stable_decay", {"num_warmup_steps": 0, "num_decay_steps": 24}),
    ("warmup_stable_decay", {"num_warmup_steps": 5, "num_decay_steps": 8, "min_lr_ratio": 0.1}),
    ("warmup_stable_decay", {"num_warmup_steps": 5, "num_decay_steps": 8, "decay_type": "linear"}),
    ("warmup_stable_decay", {"num_warmup_steps": 5, "num_decay_steps": 8, "decay_type": "1-sqrt", "min_lr_ratio": 0.05}),
    ("warmup_stable_decay", {"num_warmup_steps": 5, "num_decay_steps": 8, "warmup_type": "cosine", "num_cycles": 1.5}),
    ("warmup_stable_decay", {"num_warmup_steps": 5, "num_decay_steps": 8, "warmup_type": "1-sqrt", "min_lr_ratio": 0.2}),
    ("warmup_stable_decay", {"num_warmup_steps": 5, "num_stable_steps": 3, "num_decay_steps": 8, "min_lr_ratio": 0.01}),
    ("WarmupLR", {"warmup_min_lr": 1e-5, "warmup_max_lr": 1e-3, "warmup_num_steps": 7}),
    ("WarmupDecayLR", {"warmup_max_lr": 3e-3, "warmup_num_steps": 5, "warmup_type": "linear", "total_num_steps": 20}),
    ("WarmupCosineLR", {"warmup_num_steps": 5, "total_num_steps": 20, "warmup_min_ratio": 0.1, "cos_min_ratio": 0.05}),
    ("OneCycle", {"cycle_min_lr": 1e-4, "cycle_max_lr": 1e-3, "cycle_first_step_size": 7, "cycle_second_step_size": 9,
                  "decay_step_size": 3, "decay_lr_rate": 0.5}),
    ("OneCycle", {"cycle_min_lr": 1e-4, "cycle_max_lr": 1e-3, "cycle_first_step_size": 8, "cycle_first_stair_count": 4}),
    ("LRRangeTest", {"lr_range_test_min_lr": 1e-4, "lr_range_test_step_size": 5, "lr_range_test_step_rate": 2.0}),
    ("LRRangeTest", {"lr_range_test_min_lr": 1e-4, "lr_range_test_step_size": 5, "lr_range_test_staircase": True}),
]


def rates(name, params):
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=LR)
    if name in lr_schedules.VALID_LR_SCHEDULES:
        schedule = getattr(lr_schedules, name)(optimizer, **params)
    else:
        length = {} if name in WITHOUT_LENGTH else {"num_training_steps": STEPS}
        schedule = TYPE_TO_SCHEDULER_FUNCTION[name](optimizer, **params, **length)
    found = []
    for _ in range(STEPS + BEYOND):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return found


def main():
    lines = []
    for case in CASES:
        name, params = case[:2]
        theirs = case[2:] or (name, params)
        entry = {"type": name, "params": params}
        if theirs[0] != name:
            entry["huggingface"] = theirs[0]
        lines.append(json.dumps(entry | {"rates": rates(*theirs)}))
    head = json.dumps({"lr": LR, "steps": STEPS})[:-1]
    path = Path(__file__).resolve().parent / "rates.json"
    path.write_text(head + ', "cases": [\n' + ",\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    main()
