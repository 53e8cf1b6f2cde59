/**
 * Completion for bash, from 3.2 on. Bash shows no descriptions, so none are written. It cuts words at = and : before it
 * calls the function, so `--sink=redis` comes as three words. `compgen -W` is not used: it expands what it is given.
 */
import { commandPaths, knownOperands, knownOptionValues, valueOptions } from './patterns.ts';
import type { Place, Values } from './places.ts';
import { quotedForSh } from './quoting.ts';

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
${knownOptionValues(places)
  .map(({ on, values }) => `      ${anyOf(on)}) ${offer(values)} ;;`)
  .join('\n')}
    esac
  elif [[ -z $operands_only && $cur == -* ]]; then
    case "$place" in
${places
  .filter(({ options }) => options.length > 0)
  .map(({ path, options }) => `      ${quotedForSh(path)}) ${offer(options.flatMap(({ flags }) => flags))} ;;`)
  .join('\n')}
    esac
  else
    case "$place $nth" in
${[
  ...places
    .filter(({ commands }) => commands.length > 0)
    .map(({ path, commands }) => `      ${quotedForSh(`${path} 0`)}) ${offer(commands.map(({ name }) => name))} ;;`),
  ...knownOperands(places).map(
    ({ path, nth, values }) => `      ${quotedForSh(`${path} `)}${nth}) ${offer(values)} ;;`,
  ),
].join('\n')}
    esac
  fi
}

complete -F _rag_serving rag-serving
`;
}

function anyOf(texts: readonly string[]): string {
  return texts.map(quotedForSh).join(' | ');
}

function offer(values: Values): string {
  if (values === 'file') return '_rag_serving_paths -f';
  if (values === 'folder') return '_rag_serving_paths -d';
  return values === 'none' ? ':' : `_rag_serving_words ${values.map(quotedForSh).join(' ')}`;
}
