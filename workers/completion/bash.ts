/**
 * Completion for bash, from 3.2 on. Bash shows no descriptions, so none are written. It cuts words at = and : before it
 * calls the function, so `--sink=redis` comes as three words. `compgen -W` is not used: it expands what it is given.
 */
import { commandPaths, valueOptions } from './patterns.ts';
import type { Place, Values } from './places.ts';
import { quotedForSh } from './quoting.ts';
import { anyOf, operandBranches, optionBranches, optionValueBranches } from './sh-branches.ts';

export function bashCompletion(places: readonly Place[]): string {
  return `# rag-serving: completion for bash, written by "rag-serving completion bash".

_rag_serving_words() {
  local word quoted
  for word in "$@"; do
    [[ $word == "$cur"* ]] || continue
    printf -v quoted %q "$word"
    COMPREPLY+=("$quoted")
  done
}

# -f: files and folders; -d: folders
_rag_serving_paths() {
  local found
  compopt -o filenames 2>/dev/null
  while IFS= read -r found; do COMPREPLY+=("$found"); done < <(compgen "$1" -- "$cur")
}

_rag_serving() {
  local cur=\${COMP_WORDS[COMP_CWORD]} word place='' option='' operands_only='' nth=0 i
  COMPREPLY=()
  # A part of an address or of partition:offset, which nobody can complete.
  [[ $cur == : || \${COMP_WORDS[COMP_CWORD - 1]} == : ]] && return
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ $word == : ]]; then
      ((i += 1))
    elif [[ -n $option ]]; then
      [[ $word == = ]] || option=''
    elif [[ -z $operands_only && $word == -- ]]; then
      operands_only=1
    elif [[ -z $operands_only && $word == -* ]]; then
      case "$place $word" in
        ${anyOf(valueOptions(places))}) option=$word ;;
      esac
    else
      case "$nth$place/$word" in
        ${anyOf(commandPaths(places).map((path) => `0${path}`))}) place=$place/$word ;;
        *) ((nth += 1)) ;;
      esac
    fi
  done
  if [[ -n $option ]]; then
    [[ $cur == = ]] && cur=''
    case "$place $option" in
${optionValueBranches(places, offer)}
    esac
  elif [[ -z $operands_only && $cur == -* ]]; then
    case "$place" in
${optionBranches(places, (options) => offer(options.flatMap(({ flags }) => flags)))}
    esac
  else
    case "$place $nth" in
${operandBranches(places, (commands) => offer(commands.map(({ name }) => name)), offer)}
    esac
  fi
}

complete -F _rag_serving rag-serving
`;
}

function offer(values: Values): string {
  if (values === 'file') return '_rag_serving_paths -f';
  if (values === 'folder') return '_rag_serving_paths -d';
  return values === 'none' ? ':' : `_rag_serving_words ${values.map(quotedForSh).join(' ')}`;
}
