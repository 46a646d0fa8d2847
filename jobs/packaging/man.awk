# Writes the man page of triax from the records of help.awk. Variables: date, version.
BEGIN { FS = "\t" }

# Text as roff, in lines of at most 78 bytes; hyphens that may begin an option stay hyphens.
function roff(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  return text
}
function line_of(text) { return (text ~ /^[.']/ ? "\\&" : "") text }
function paragraph(text, words, count, i, line) {
  count = split(roff(text), words, / +/)
  for (i = 1; i <= count; i++) {
    if (line != "" && length(line) + length(words[i]) > 77) {
      print line_of(line)
      line = ""
    }
    line = line (line == "" ? "" : " ") words[i]
  }
  if (line != "") print line_of(line)
}
function sentence(text) { return text ~ /[.:;?!]$/ || text == "" ? text : text "." }

function listed(words) {
  gsub(/ /, ", ", words)
  return words
}

function names_all(text, words, word, count, i) {
  count = split(words, word, " ")
  for (i = 1; i <= count; i++)
    if (index(text, word[i]) == 0) return 0
  return 1
}

function entry(i, text, names) {
  print ".TP"
  names = roff(field[i, 3])
  gsub(/,/, "\\fR, \\fB", names)
  print "\\fB" names "\\fR" (field[i, 4] == "" ? "" : " \\fI" roff(field[i, 4]) "\\fR")
  text = sentence(field[i, 9])
  if (field[i, 5] != "" && !names_all(text, field[i, 5])) text = text " One of " listed(field[i, 5]) "."
  if (field[i, 6] != "") text = text " Default: " field[i, 6] "."
  if (field[i, 7] != "") text = text " Required."
  if (field[i, 8] != "") text = text " Not with " listed(field[i, 8]) "."
  paragraph(text)
}

# The notes of a command as they stand; commands have those of the program where they have none of their own.
function notes(command, i, text, lines) {
  for (i = 1; i <= records; i++)
    if (field[i, 1] == "note" && field[i, 2] == command) lines = lines line_of(roff(field[i, 3])) "\n"
  sub(/^\n+/, "", lines)
  sub(/\n+$/, "", lines)
  if (lines == "" || lines == program_notes) return
  print ".PP\n.nf\n" lines "\n.fi"
}

{
  records++
  for (i = 1; i <= 9; i++) field[records, i] = $i
}

END {
  print ".\\\" Written by jobs/packaging/command_line.sh from the --help of triax " version "."
  print ".TH TRIAX 1 \"" date "\" \"triax " version "\" \"User Commands\""
  for (i = 1; i <= records; i++) {
    if (field[i, 2] != "triax") continue
    if (field[i, 1] == "about") about = field[i, 3]
    if (field[i, 1] == "note") program_notes = program_notes line_of(roff(field[i, 3])) "\n"
    if (field[i, 1] == "note" && field[i, 3] ~ /^Exit status: /) exit_status = field[i, 3]
    else if (field[i, 1] == "note" && exit_status != "") exit_status = exit_status " " field[i, 3]
    else if (field[i, 1] == "note") description = description " " field[i, 3]
  }
  sub(/\n+$/, "", program_notes)
  sub(/^triax /, "", about)
  sub(/[.]$/, "", about)
  print ".SH NAME"
  print "triax \\- " roff(about)
  print ".SH SYNOPSIS"
  for (i = 1; i <= records; i++)
    if (field[i, 1] == "usage" && field[i, 3] !~ / SUBCOMMAND$/) {
      name = field[i, 2]
      print (usages++ ? ".br\n" : "") "\\fB" roff(name) "\\fR " roff(substr(field[i, 3], length(name) + 2))
    }
  print ".br\n\\fBtriax\\fR \\fB\\-\\-version\\fR"
  print ".SH DESCRIPTION"
  sub(/^ +/, "", description)
  paragraph(description)
  for (i = 1; i <= records; i++) {
    if (field[i, 1] == "option" && field[i, 2] == "triax") entry(i)
    if (field[i, 1] != "about" || field[i, 2] == "triax") continue
    command = field[i, 2]
    if (!headed++) print ".SH COMMANDS"
    print ".SS " roff(command)
    paragraph(field[i, 3])
    for (j = 1; j <= records; j++)
      if (field[j, 2] == command && (field[j, 1] == "argument" || (field[j, 1] == "option" && field[j, 3] !~ /--help/))) entry(j)
    notes(command)
  }
  if (exit_status != "") {
    print ".SH \"EXIT STATUS\""
    sub(/^Exit status: /, "", exit_status)
    paragraph(exit_status)
  }
}
