# Reads what `triax --help` and the --help of its commands print, with a line "@@ COMMAND" before each, and what
# `triax config --reference` prints after a line "@@ reference". Writes records whose fields are parted by tabs:
#   about COMMAND TEXT    usage COMMAND TEXT    command COMMAND NAME TEXT    note COMMAND LINE
#   argument | option     COMMAND NAMES VALUE CHOICES DEFAULT REQUIRED EXCLUDED TEXT
#   key NAME TYPE CHOICES
# Reads the layouts of CLI11 2.1 and of 2.7, which writes headings in capitals and wraps descriptions.

function trimmed(text) {
  sub(/^ +/, "", text)
  sub(/ +$/, "", text)
  return text
}

function flush() {
  if (kind == "command") print kind, command, names, trimmed(text)
  else if (kind != "") print kind, command, names, value, choices, preset, required, excluded, trimmed(text)
  kind = ""
}

# The words of an entry before its description: "--device DEVICE:{auto,cpu,gpu}=auto Excludes: --seed REQUIRED ...".
function read_words(words, count, i, word, excludes) {
  value = choices = preset = required = excluded = ""
  for (i = 2; i <= count; i++) {
    word = words[i]
    if (word == "REQUIRED") required = "yes"
    else if (word == "Excludes:") excludes = 1
    else if (word == "...") continue
    else if (excludes) excluded = excluded (excluded == "" ? "" : " ") word
    else if (word ~ /^\[.*\]$/) preset = substr(word, 2, length(word) - 2)
    else if (value == "") {
      if (match(word, /\{[^}]*\}/)) {
        choices = substr(word, RSTART + 1, RLENGTH - 2)
        gsub(/,/, " ", choices)
        preset = substr(word, RSTART + RLENGTH + 1)
        word = substr(word, 1, RSTART - 2)  # without its colon
      } else if (word !~ /^[A-Z]+=[A-Z]+$/ && match(word, /=/)) {  # N=200, but not KEY=VALUE
        preset = substr(word, RSTART + 1)
        word = substr(word, 1, RSTART - 1)
      }
      value = word
    }
  }
}

function read_entry(line, whole, words, count) {
  flush()
  whole = line
  sub(/^ +/, "", line)
  sub(/^-h, +--help/, "-h,--help", line)  # aligned by CLI11 2.5 and newer
  text = ""
  if (match(line, /  +/)) {
    text = substr(line, RSTART + RLENGTH)
    line = substr(line, 1, RSTART - 1)
  } else if (substr(whole, 30, 1) == " " && substr(whole, 31) !~ /^(REQUIRED|Excludes:|[.][.][.])/) {
    text = substr(whole, 31)  # an entry that just fits its column
    line = trimmed(substr(whole, 1, 29))
  }
  kind = section
  count = split(trimmed(line), words, / +/)
  names = words[1]
  read_words(words, count)
}

# Columns are parted by two spaces or more; that of allowed values may be empty.
function read_key(line, columns, count, i, allowed, found) {
  count = split(line, columns, /  +/)
  if (count < 5 || line ~ /\[(accepted, without meaning here|any other is refused)/) return
  allowed = count > 5 ? columns[5] : ""
  if (columns[2] == "boolean") found = "true false"
  while (match(allowed, /"[^" ]*"/)) {
    found = found (found == "" ? "" : " ") substr(allowed, RSTART + 1, RLENGTH - 2)
    allowed = substr(allowed, RSTART + RLENGTH)
  }
  print "key", columns[1], columns[2], found
}

BEGIN { OFS = "\t" }

/^@@ / {
  flush()
  command = substr($0, 4)
  section = "about"
  about = ""
  next
}
command == "reference" { if ($1 != "key") read_key($0); next }
section == "about" && /\[OPTIONS\]|^Usage: / {
  sub(/^Usage: /, "")
  print "about", command, trimmed(about)
  print "usage", command, trimmed($0)
  section = ""
  next
}
section == "about" { about = about " " trimmed($0); next }
tolower($0) ~ /^positionals: *$/ { section = "argument"; next }
tolower($0) ~ /^options: *$/ { section = "option"; next }
tolower($0) ~ /^subcommands: *$/ { section = "command"; next }
section == "note" { print "note", command, $0; next }
/^ *$/ { flush(); section = ""; next }
section == "" { section = "note"; print "note", command, $0; next }
/^                    / { text = text " " trimmed($0); next }  # a description goes on
{ read_entry($0) }
END { flush() }
