/**
 * Completion for zsh, with descriptions. In an entry of `_describe` a colon ends the name and a backslash takes the next
 * character literally, in the description too. The array `path` is the search path in zsh, hence `place`.
 */
import { commandPaths, knownOperands, knownOptionValues, valueOptions } from './patterns.ts';
import type { Place, Values } from './places.ts';
import { quotedForSh } from './quoting.ts';

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
${knownOptionValues(places)
  .map(({ on, values }) => `      ${anyOf(on)}) ${offer(values)} ;;`)
  .join('\n')}
    esac
  elif [[ -z $operands_only && $PREFIX == -* ]]; then
    case "$place" in
${places
  .filter(({ options }) => options.length > 0)
  .map(({ path, options }) => `      ${quotedForSh(path)}) ${described('option', options.flatMap(entries))} ;;`)
  .join('\n')}
    esac
  else
    case "$place $nth" in
${[
  ...places
    .filter(({ commands }) => commands.length > 0)
    .map(({ path, commands }) => `      ${quotedForSh(`${path} 0`)}) ${described('command', commands)} ;;`),
  ...knownOperands(places).map(
    ({ path, nth, values }) => `      ${quotedForSh(`${path} `)}${nth}) ${offer(values)} ;;`,
  ),
].join('\n')}
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

function anyOf(texts: readonly string[]): string {
  return texts.map(quotedForSh).join(' | ');
}

function offer(values: Values): string {
  if (values === 'file') return '_files';
  if (values === 'folder') return '_files -/';
  return values === 'none' ? ':' : `compadd -- ${values.map(quotedForSh).join(' ')}`;
}
