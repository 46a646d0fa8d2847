#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training of a byte-level BPE tokenizer: triax and Hugging Face tokenizers in turns on one corpus and the same cores.
Usage: train_tokenizer.py TRIAX CORPUS.jsonl [--vocab-size N] [--pattern gpt2|llama3|qwen2] [--times N] [--ranks N...]
Prints a JSON line per run: wall seconds, CPU seconds and peak memory of the program. Exit status 1 where the files that
they write differ. Documents are the strings "text" of the lines; tokenizers gets them from memory, triax reads them."""
import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

# Beside this file lies one with the name of a module of Python.
sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden")


def with_tokenizers(arguments):
    """Trains in this process, and says how long train_from_iterator took."""
    import make_trained
    with open(arguments.corpus, encoding="utf-8") as file:
        documents = [json.loads(line)["text"] for line in file.read().split("\n") if line]
    start = time.perf_counter()
    tokenizer = make_trained.train(documents, arguments.pattern, arguments.vocab_size)
    seconds = time.perf_counter() - start
    tokenizer.save(arguments.out)
    print(json.dumps({"seconds": seconds}))


def measured(command):
    """Runs a command; its output, wall and CPU seconds, and peak memory of the largest of its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, after.ru_maxrss


def report(program, seconds, cpu, memory, text=""):
    print(json.dumps({"program": program, "seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2),
                      "load": round(os.getloadavg()[0], 1), "largest_so_far_bytes": memory * 1024, "says": text}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("triax")
    parser.add_argument("corpus")
    parser.add_argument("--vocab-size", type=int, default=32768)
    parser.add_argument("--pattern", default="gpt2")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--ranks", type=int, nargs="*", default=[])
    parser.add_argument("--out")  # of this script's own call of tokenizers
    arguments = parser.parse_args()
    if arguments.out:
        return with_tokenizers(arguments)
    same = True
    with tempfile.TemporaryDirectory() as folder:
        theirs = os.path.join(folder, "theirs.json")
        for _ in range(arguments.times):
            files = []
            for ranks in [1] + arguments.ranks:
                ours = os.path.join(folder, "ours")
                shutil.rmtree(ours, ignore_errors=True)
                workers = max(1, arguments.workers // ranks)
                launch = ["mpiexec.mpich", "-n", str(ranks)] if ranks > 1 else []
                text, *numbers = measured([*launch, arguments.triax, "data", "train-tokenizer", arguments.corpus,
                                           "--vocab-size", str(arguments.vocab_size), "--pattern", arguments.pattern,
                                           "--workers", str(workers), "--out", ours])
                report(f"triax, {ranks} ranks of {workers} threads", *numbers, text.strip())
                with open(os.path.join(ours, "tokenizer.json"), "rb") as file:
                    files.append(file.read())
            text, *numbers = measured([sys.executable, __file__, arguments.triax, arguments.corpus, "--out", theirs,
                                       "--vocab-size", str(arguments.vocab_size), "--pattern", arguments.pattern])
            numbers[0] = json.loads(text)["seconds"]
            report("tokenizers", *numbers)
            with open(theirs, "rb") as file:
                want = file.read()
            same = same and all(found == want for found in files)
    print("the files are the same" if same else "the files differ")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
