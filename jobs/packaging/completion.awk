# Writes the bash completion of triax from the records of help.awk. Variable: version.
BEGIN { FS = "\t" }

function kind_of_file(name) {
  if (name ~ /DIR$/) return "@directory"
  if (name ~ /[.]json$/) return "@json"
  return "@file"
}
function quoted(text) {
  gsub(/'/, "'\\''", text)
  return "'" text "'"
}
function add(list, key, word) { list[key] = list[key] (list[key] == "" ? "" : " ") word }

$1 == "usage" && $2 != "reference" { commands[++count] = $2 }
$1 == "command" { add(subcommands, $2, $3) }
$1 == "argument" { add(arguments, $2, kind_of_file($3)) }
$1 == "option" {
  names = split($3, name, ",")
  add(options, $2, name[names])  # the long one, which comes last
  if ($4 == "") next
  what = $5
  if (what == "") what = $4 == "KEY=VALUE" ? "@key" : $4 ~ /^(FILE|DIR)$/ ? kind_of_file($4) : "@none"
  for (i = 1; i <= names; i++) values = values "    " quoted($2 " " name[i]) ") values=" quoted(what) " ;;\n"
}
$1 == "key" {
  if (!($2 in known)) key_order[++keys] = $2
  known[$2] = 1
  if ($3 ~ /^path/) add(choices, $2, $2 ~ /(directory|nvme_path|model[.]from)$/ ? "@directory" : "@file")
  else {
    words = split($4, word, " ")
    for (i = 1; i <= words; i++)
      if (index(" " choices[$2] " ", " " word[i] " ") == 0) add(choices, $2, word[i])
  }
}

END {
  print "# bash completion for triax " version ", written by jobs/packaging/command_line.sh from what triax --help and"
  print "# triax config --reference print.                                                -*- shell-script -*-"
  print "\n# What $command takes: sets subcommands, options and arguments.\n_triax_command() {\n  subcommands='' options='' arguments=''"
  print "  case $command in"
  for (i = 1; i <= count; i++) {
    command = commands[i]
    printf "    %s)\n      subcommands=%s\n      options=%s\n      arguments=%s\n      ;;\n", quoted(command),
      quoted(subcommands[command]), quoted(options[command]), quoted(arguments[command])
  }
  print "  esac\n}"
  print "\n# What option $1 of $command takes: sets values, which stays empty for a flag.\n_triax_option() {\n  values=''"
  print "  case \"$command $1\" in\n" values "  esac\n}"
  print "\n# What key $1 of a job takes: sets values.\n_triax_key() {\n  values=''\n  case $1 in"
  for (i = 1; i <= keys; i++)
    if (choices[key_order[i]] != "") print "    " key_order[i] ") values=" quoted(choices[key_order[i]]) " ;;"
  print "  esac\n}\n\n_triax_keys='"
  for (i = 1; i <= keys; i++) print key_order[i]
  print "'\n"
}
