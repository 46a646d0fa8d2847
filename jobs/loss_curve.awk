# Draws the loss of a metrics.jsonl: one column per group of steps, with a mark at the mean of its losses.
# Usage: awk -f jobs/loss_curve.awk runs/NAME/metrics.jsonl
BEGIN {
  count = 0
  comma = "0.5" + 0 == 0  # mawk reads numbers as the locale writes them
}

function value(key) {
  return match($0, "\"" key "\":[-+0-9.eE]+") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) : ""
}

{
  loss = value("loss")
  if (loss != "") {
    if (comma) sub(/[.]/, ",", loss)
    losses[count] = loss + 0
    steps[count++] = value("step")
  }
}

END {
  if (count == 0) {
    print "no step with a finite loss"
    exit 1
  }
  columns = count < 64 ? count : 64
  rows = 15
  for (c = 0; c < columns; ++c) {
    sum = n = 0
    for (i = int(c * count / columns); i < int((c + 1) * count / columns); ++i) {
      sum += losses[i]
      ++n
    }
    mean[c] = sum / n
    if (c == 0 || mean[c] < low) low = mean[c]
    if (c == 0 || mean[c] > high) high = mean[c]
  }
  for (r = 0; r < rows; ++r) {
    line = ""
    for (c = 0; c < columns; ++c) {
      at = high > low ? int((high - mean[c]) / (high - low) * (rows - 1) + 0.5) : 0
      line = line (at == r ? "*" : " ")
    }
    sub(/ +$/, "", line)
    printf "%8.3f |%s\n", high - (high - low) * r / (rows - 1), line
  }
  rule = ""
  for (c = 0; c < columns; ++c) rule = rule "-"
  last = steps[count - 1]
  printf "    loss +%s\n          step %-*d%*d\n", rule, columns - 5 - length(last), steps[0], length(last), last
}
