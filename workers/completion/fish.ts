/**
 * Completion for fish, from 3.2 on: one function that prints what may come next, each with a tab and its description.
 * Fish reads no paths by itself then (`-f`), so the function asks for them where they belong.
 */
import { commandPaths, knownOperands, knownOptionValues, valueOptions } from './patterns.ts';
import type { Place, Values } from './places.ts';
import { quotedForFish } from './quoting.ts';

type Entry = { readonly name: string; readonly about: string };

export function fishCompletion(places: readonly Place[]): string {
  return `# rag-serving: completion for fish, written by "rag-serving completion fish".

function __rag_serving_values --argument-names place option current
    switch "$place $option"
${knownOptionValues(places)
  .map(({ on, values }) => branch(anyOf(on), offer(values)))
  .join('\n')}
    end
end

function __rag_serving_complete
    set -l place ''
    set -l option ''
    set -l operands_only ''
    set -l nth 0
    set -l current (commandline -ct)
    for word in (commandline -opc)[2..]
        if test -n "$option"
            set option ''
        else if test -z "$operands_only" -a "$word" = --
            set operands_only 1
        else if test -z "$operands_only"; and string match -q -- '-*' "$word"
            switch "$place $word"
                case ${anyOf(valueOptions(places))}
                    set option $word
            end
        else
            switch "$nth$place/$word"
                case ${anyOf(commandPaths(places).map((path) => `0${path}`))}
                    set place "$place/$word"
                case '*'
                    set nth (math $nth + 1)
            end
        end
    end
    if test -n "$option"
        __rag_serving_values "$place" "$option" "$current"
    else if test -z "$operands_only"; and string match -q -- '--*=*' "$current"
        set -l parts (string split -m 1 = -- $current)
        __rag_serving_values "$place" $parts[1] "$parts[2]" | string replace -r -- '^' "$parts[1]="
    else if test -z "$operands_only"; and string match -q -- '-*' "$current"
        switch "$place"
${places
  .filter(({ options }) => options.length > 0)
  .map(({ path, options }) => branch(quotedForFish(path), printed(options.flatMap(entries))))
  .join('\n')}
        end
    else
        switch "$place $nth"
${[
  ...places
    .filter(({ commands }) => commands.length > 0)
    .map(({ path, commands }) => branch(quotedForFish(`${path} 0`), printed(commands))),
  ...knownOperands(places).map(({ path, nth, values }) => branch(quotedForFish(`${path} ${nth}`), offer(values))),
].join('\n')}
        end
    end
end

complete -c rag-serving -f -a '(__rag_serving_complete)'
`;
}

function entries({ flags, about }: Place['options'][number]): readonly Entry[] {
  return flags.map((name) => ({ name, about }));
}

function branch(on: string, then: string): string {
  return `            case ${on}\n                ${then}`;
}

function printed(list: readonly Entry[]): string {
  const words = list.flatMap(({ name, about }) => [name, about]).map(quotedForFish);
  return `printf '%s\\t%s\\n' ${words.join(' ')}`;
}

function anyOf(texts: readonly string[]): string {
  return texts.map(quotedForFish).join(' ');
}

function offer(values: Values): string {
  if (values === 'file') return '__fish_complete_path "$current"';
  if (values === 'folder') return '__fish_complete_directories "$current" \'\'';
  return values === 'none' ? 'true' : `printf '%s\\n' ${values.map(quotedForFish).join(' ')}`;
}
