/**
 * Completion for zsh, with descriptions. In an entry of `_describe` a colon ends the name and a backslash takes the next
 * character literally, in the description too. The array `path` is the search path in zsh, hence `place`.
 */
import { commandPaths, valueOptions } from './patterns.ts';
import type { Place, Values } from './places.ts';
import { quotedForSh } from './quoting.ts';
import { anyOf, operandBranches, optionBranches, optionValueBranches } from './sh-branches.ts';

type Entry = { readonly name: string; readonly about: string };

export function zshCompletion(places: readonly Place[]): string {
  return `#compdef rag-serving
# rag-serving: completion for zsh, written by "rag-serving completion zsh".

_rag_serving() {
  local word place='' option='' operands_only=''
  local -i nth=0
  local -a entries
  for word in "\${(@Q)words[2,CURRENT-1]}"; do
    if [[ -n $option ]]; then
      option=''
    elif [[ -z $operands_only && $word == -- ]]; then
      operands_only=1
    elif [[ -z $operands_only && $word == -* ]]; then
      case "$place $word" in
        ${anyOf(valueOptions(places))}) option=$word ;;
      esac
    else
      case "$nth$place/$word" in
        ${anyOf(commandPaths(places).map((path) => `0${path}`))}) place=$place/$word ;;
        *) (( nth += 1 )) ;;
      esac
    fi
  done
  if [[ -z $option$operands_only && $PREFIX == --*=* ]]; then
    option=\${PREFIX%%=*}
    compset -P '*='
  fi
  if [[ -n $option ]]; then
    case "$place $option" in
${optionValueBranches(places, offer)}
    esac
  elif [[ -z $operands_only && $PREFIX == -* ]]; then
    case "$place" in
${optionBranches(places, (options) => described('option', options.flatMap(entries)))}
    esac
  else
    case "$place $nth" in
${operandBranches(places, (commands) => described('command', commands), offer)}
    esac
  fi
}

if [[ $funcstack[1] == _rag_serving ]]; then
  _rag_serving "$@"
else
  compdef _rag_serving rag-serving
fi
`;
}

function entries({ flags, about }: Place['options'][number]): readonly Entry[] {
  return flags.map((name) => ({ name, about }));
}

function described(what: string, list: readonly Entry[]): string {
  const words = list.map(({ name, about }) => quotedForSh(`${escaped(name).replaceAll(':', '\\:')}:${escaped(about)}`));
  return `entries=(${words.join(' ')}); _describe ${what} entries`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\');
}

function offer(values: Values): string {
  if (values === 'file') return '_files';
  if (values === 'folder') return '_files -/';
  return values === 'none' ? ':' : `compadd -- ${values.map(quotedForSh).join(' ')}`;
}
