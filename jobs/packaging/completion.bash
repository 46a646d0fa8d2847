_triax_files() {
  case $1 in
    @file) compgen -f -- "$current" ;;
    @json) compgen -f -X '!*.json' -- "$current"; compgen -d -- "$current" ;;
    @directory) compgen -d -- "$current" ;;
  esac
}

# Sets COMPREPLY to what $current may become, of $1: words, or @file, @json, @directory, @key, @none.
_triax_reply() {
  local key
  case $1 in
    @none) ;;
    @key)
      if [[ $current == *=* ]]; then
        key=${current%%=*} current=${current#*=}
        _triax_key "$key"
        _triax_reply "${values:-@none}"
        return
      fi
      compopt -o nospace
      mapfile -t COMPREPLY < <(compgen -S = -W "$_triax_keys" -- "$current")
      ;;
    @file | @json | @directory)
      compopt -o filenames
      mapfile -t COMPREPLY < <(_triax_files "$1")
      [[ ${#COMPREPLY[@]} -gt 0 ]] || compopt -o default  # names with quotes in them
      ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current") ;;
  esac
}

_triax() {
  local command=triax current='' word values subcommands options arguments waiting=''
  local -a words=() given=()
  local -i i n=0

  # Words that bash has parted at "=" come together again.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((i > 1)) && [[ $word == '=' || ${COMP_WORDS[i - 1]} == '=' ]]; then
      words[n - 1]+=$word
    else
      words[n++]=$word
    fi
  done

  _triax_command
  for ((i = 0; i < n - 1; i++)); do
    word=${words[i]}
    if [[ -n $waiting ]]; then
      waiting=
    elif [[ $word == -* ]]; then
      _triax_option "$word"
      waiting=$values
    elif [[ " $subcommands " == *" $word "* ]]; then
      command+=" $word"
      _triax_command
    else
      given+=("$word")
    fi
  done

  COMPREPLY=()
  current=${words[n - 1]}
  if [[ -n $waiting ]]; then
    _triax_reply "$waiting"
  elif [[ $current == --*=* ]]; then
    _triax_option "${current%%=*}"
    current=${current#*=}
    _triax_reply "${values:-@none}"
  elif [[ $current == -* ]]; then
    _triax_reply "$options"
  elif [[ -n $subcommands ]]; then
    _triax_reply "$subcommands"
  else
    local -a kinds=()
    read -ra kinds <<<"$arguments"
    _triax_reply "${kinds[${#given[@]}]:-@none}"
  fi
}
complete -F _triax triax
