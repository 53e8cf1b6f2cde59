/** The queries and commands that a runbook tells people to run: fenced blocks of `promql` and `bash`. */
export type RunbookBlock = { readonly language: 'promql' | 'bash'; readonly text: string };

export function runbookBlocks(markdown: string): readonly RunbookBlock[] {
  return [...markdown.matchAll(/^```(promql|bash)\n([\s\S]*?)^```$/gm)].map(([, language, text]) => ({
    language: language as RunbookBlock['language'],
    text: text!.trim(),
  }));
}
