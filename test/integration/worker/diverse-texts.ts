/** 100 texts of many scripts, kinds and lengths, from one character to far beyond the model's 512 tokens. None is blank. */
const scripts = [
  'The harbour waits for the morning tide.',
  'Das Gebäude steht seit 1889 am Fluß, gegenüber der Straßenbahn.',
  'La rivière ne s’arrête jamais de couler vers la mer.',
  'El niño comió una manzana muy verde ayer por la mañana.',
  'Кошка сидит на окне и смотрит на улицу.',
  'Η γάτα κάθεται στο παράθυρο.',
  'القطة تجلس على النافذة وتنظر إلى الشارع.',
  'החתול יושב על החלון.',
  'बिल्ली खिड़की पर बैठी है।',
  'แมวนั่งอยู่ที่หน้าต่าง',
  '고양이가 창문에 앉아 있다.',
  '猫坐在窗台上，看着街道。',
  '猫は窓辺に座って通りを見ている。',
  'Con mèo ngồi bên cửa sổ nhìn ra đường phố.',
  'Kissa istuu ikkunalla ja katselee kadulle.',
];
const emoji = [
  '🙂',
  '🚀🚀🚀',
  '👩🏽‍💻 ships the release 🎉',
  'flags: 🇨🇭🇯🇵🇧🇷',
  '❤️ vs ❤',
  '👨‍👩‍👧‍👦'.repeat(20),
  'a🙂b🙂c',
];
const code = [
  'for (let i = 0; i < rows.length; i++) { total += rows[i]!.bytes ?? 0; }',
  'SELECT id, count(*) FROM chunks WHERE tenant_id = $1 GROUP BY id HAVING count(*) > 1;',
  'def f(x):\n\treturn [y ** 2 for y in x if y % 2 == 0]  # squares',
  '<a href="https://example.org/?q=a&amp;b=c#top">link</a>',
  '{"chunk_id":"doc-7#3","metadata":{"lang":"en","tags":[null,true,1e-9]}}',
  '$ kubectl get pods -n ingest --field-selector=status.phase!=Running',
  '\\frac{\\partial L}{\\partial w} = \\sum_i (y_i - \\hat{y}_i) x_i',
];
const odd = [
  // Not blank to the worker, and nothing at all to the tokenizer, which takes control and format characters out.
  '\u200b',
  '\u0000',
  'x',
  '.',
  '?!?!?!',
  'word',
  '  spaces   on\tall \n sides  ',
  'a\u0000b\u0007c',
  'z'.repeat(300),
  'e\u0301 and é are one',
  'ﬁ ligature, ½, №, ㎏',
  '[CLS] [SEP] [MASK] [PAD] [UNK]',
  'ALL CAPITALS SHOUTING',
  '3.14159 2,718 1e10 0xdeadbeef 2026-01-31T23:59:60Z',
  'https://user@example.org:8080/path;p=1?q=%20#f',
  '\ufeffa byte order mark first',
  'lone \ufffd replacement',
];
const LONG_SENTENCE = 'Each offset is committed only after the store has acknowledged every chunk of the message. ';
const long = [
  // About 17 tokens a sentence: around 170, 500 and 2,000 tokens, then 600 of one character each and 700 of one word.
  LONG_SENTENCE.repeat(10),
  LONG_SENTENCE.repeat(29),
  LONG_SENTENCE.repeat(120),
  '海'.repeat(600),
  'tide '.repeat(700),
  `${scripts.join(' ')} `.repeat(4),
];

export function diverseTexts(): string[] {
  const given = [...scripts, ...emoji, ...code, ...odd, ...long];
  const mixed = Array.from({ length: 100 - given.length }, (_, i) => {
    const parts = Array.from({ length: 1 + (i % 5) }, (_, j) => given[(i * 7 + j * 3) % (given.length - long.length)]!);
    return `${i}: ${parts.join(' ')}`;
  });
  return [...given, ...mixed];
}
