# Sourced by the scripts beside it.

# The metrics of a run's directory, without what depends on the clock or the machine.
numbers() { sed -E 's/,"(tokens_per_second|step_seconds|peak_memory_bytes)":[^,]*//g; s/,"(bytes|messages)_sent".*//' "$1/metrics.jsonl"; }
