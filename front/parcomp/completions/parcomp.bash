# bash completion of parcomp and pargzip.
_parcomp() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  case $before in
    --format) mapfile -t COMPREPLY < <(compgen -W 'gzip zlib raw cf lz4 zstd' -- "$word"); return ;;
    --wait) mapfile -t COMPREPLY < <(compgen -W 'block poll event' -- "$word"); return ;;
    --doorbell) mapfile -t COMPREPLY < <(compgen -W 'batch request' -- "$word"); return ;;
    -p | --provider)
      mapfile -t COMPREPLY < <(compgen -W 'lookaside qat zlib lz4 zstd model' -- "$word")
      return
      ;;
    -x | --csv) mapfile -t COMPREPLY < <(compgen -W '1 2' -- "$word"); return ;;
    -c | --chunk | -l | --level | -t | --threads | -y | --affinity | -a | -w | --window | -j | --jobs | --engines | \
      -n | --iterations | -f | --mhz | --limit) return ;;
  esac
  case $word in
    -*)
      mapfile -t COMPREPLY < <(compgen -W '-i --input -o --output --stdout --to-stdout --test -k --keep --force
        --format -d --decompress --uncompress --limit --verify -p --provider -c --chunk -l --level
        -1 -2 -3 -4 -5 -6 -7 -8 -9 --fast --best -t --threads -y --affinity -a -w --window -s --static
        -j --jobs --engines --wait --doorbell -n --iterations -x --csv --json --stats -f --mhz
        -v --verbose -g --debug -q --quiet --silent -h --help -V --version' -- "$word")
      ;;
    *)
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      [ "$COMP_CWORD" -ne 1 ] || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W 'compare' -- "$word")
      ;;
  esac
}

_pargzip() {
  local word=${COMP_WORDS[COMP_CWORD]}
  case $word in
    -*)
      mapfile -t COMPREPLY < <(compgen -W '-c --stdout --to-stdout -d --decompress --uncompress -f --force
        -h --help -i --independent -k --keep -l --list -L --license -n --no-name -N --name -p --processes
        -q --quiet --silent -r --recursive -S --suffix --synchronous -t --test -v --verbose -V --version
        -1 -2 -3 -4 -5 -6 -7 -8 -9 --fast --best' -- "$word")
      ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
  esac
}

complete -o filenames -F _parcomp parcomp
complete -o filenames -F _pargzip pargzip
