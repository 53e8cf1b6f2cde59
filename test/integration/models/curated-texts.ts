/**
 * More than two thousand texts, each there for a rule of tokenizers that it is on the edge of: every script, marks, emoji
 * sequences, private use, controls, blanks, special tokens, letters without a simple lower case, words of any length.
 */
import { disputedTexts } from './tokenizer-texts.ts';

const SCRIPTS =
  'Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki Bopomofo Brahmi ' +
  'Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Common Coptic ' +
  'Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan ' +
  'Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Han Hangul Hanifi_Rohingya ' +
  'Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi ' +
  'Kannada Katakana Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Linear_A Linear_B ' +
  'Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek ' +
  'Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean Nandinagari ' +
  'New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Old_Hungarian Old_Italic Old_North_Arabian Old_Permic ' +
  'Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau ' +
  'Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala Sogdian ' +
  'Sora_Sompeng Soyombo Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut ' +
  'Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square';

const everyScalar = Array.from({ length: 0x110000 }, (_, point) => point)
  .filter((point) => point < 0xd800 || point > 0xdfff)
  .map((point) => String.fromCodePoint(point));
const everyText = everyScalar.join('');

/** At most `count` of the characters that a property names, spread evenly, its first and last among them. */
function characters(property: string, count: number): string[] {
  const all = everyText.match(new RegExp(`\\p{${property}}`, 'gu')) ?? [];
  if (all.length <= count) return all;
  return Array.from({ length: count }, (_, at) => all[Math.round((at * (all.length - 1)) / (count - 1))]!);
}

function scripts(): string[] {
  return SCRIPTS.split(' ').flatMap((name) => {
    const some = characters(`Script=${name}`, 24);
    return [some.join(''), some.join(' '), `pre${some.slice(0, 5).join('')}fix, ${some.slice(-4).join('')}s`];
  });
}

function marks(): string[] {
  const bases = ['a', 'É', 'ก', 'к', '한', '海'];
  return characters('M', 90).flatMap((mark, at, all) => {
    const other = all[(at * 7 + 1) % all.length]!;
    const base = bases[at % bases.length]!;
    return [`x${base}${mark}y`, `${mark}${base} ${base}${other}${mark}${other}`, `${base} ${mark} ${mark}`];
  });
}

function emoji(): string[] {
  const people = ['👩', '👨', '🧑', '👶', '🧔', '🏃', '🤝', '👮'];
  const tones = ['', '🏻', '🏼', '🏽', '🏾', '🏿'];
  const joined = ['💻', '🚀', '⚕️', '🦰', '♂️', '♀️'];
  const letter = (at: number) => String.fromCodePoint(0x1f1e6 + at);
  const tags = [...'gbeng'].map((char) => String.fromCodePoint(0xe0000 + char.charCodeAt(0))).join('');
  return [
    ...people.flatMap((person) => tones.map((tone) => `${person}${tone}`)),
    ...people.flatMap((person, at) => joined.map((thing) => `a ${person}${tones[at % 6]}\u200d${thing}z`)),
    ...Array.from({ length: 26 }, (_, at) => `${letter(at)}${letter((at * 5) % 26)}${letter(25 - at)}`),
    ...[...'0123456789#*'].map((key) => `${key}\ufe0f\u20e3 ${key}\u20e3`),
    ...['❤', '☺', '✈', '©', 'ㄱ', '字'].flatMap((char) => [`${char}\ufe0e`, `${char}\ufe0f`, `${char}\ufe00x`]),
    `🏴${tags}\u{e007f} 🏴${tags}`,
    '👨‍👩‍👧‍👦👩‍❤️‍💋‍👨'.repeat(40),
  ];
}

/** Each character by itself, within a word, between words, and twice beside a special token. */
function inEveryPlace(chars: readonly string[]): string[] {
  return chars.flatMap((char) => [char, `tide${char}s ${char}x`, `a ${char} b${char}`, `[SEP]${char}${char}[CLS`]);
}

function literals(): string[] {
  const special = ['[CLS]', '[SEP]', '[PAD]', '[MASK]', '[UNK]'];
  const around = ['', ' ', 'a', '#', '[', ']', '\0', '\u200b', '\u0301', '海', '\ue001', '👍'];
  return special.flatMap((one, at) => [
    ...special.map((other) => `${one}${other} ${other}x${one}`),
    ...around.flatMap((side) => [`${side}${one}${side}`, `${one.slice(0, 3)}${side}${one.slice(3)}`]),
    one.toLowerCase(),
    `##${one}##`,
    one.repeat(600),
    `${one[0]}${special[(at + 1) % 5]}${one.slice(1)}`,
  ]);
}

function casing(): string[] {
  const odd = [...'İıſKÅΣςßẞŉǰΐΰևﬀﬃﬗǅǈᾳῌꞋℌ𝐀Ⓐ𐐀Ꭰꭰ'];
  const latin = everyScalar.slice(0xc0, 0x250);
  const words = Array.from({ length: Math.ceil(latin.length / 8) }, (_, at) =>
    latin.slice(at * 8, at * 8 + 8).join(''),
  );
  const forms = [...odd.map((char) => `o${char}${char}a`), ...words, 'ΟΔΟΣ ΟΔΟΣ', '각각', 'ḍ̇ḍ̇'];
  return forms.flatMap((text) => [text, text.normalize('NFD'), text.normalize('NFKC'), text.toUpperCase()]);
}

function longWords(): string[] {
  const parts = [
    'x',
    'é',
    'e\u0301',
    'ж',
    '海',
    '한',
    '👩🏽‍💻',
    '\u0301',
    '#',
    '0',
    'ﬁ',
    '\ue000',
    '\u200b',
    '[CLS]',
    '𐐀',
  ];
  return [
    ...parts.map((part) => part.repeat(Math.ceil(20_000 / part.length))),
    ...parts.flatMap((part) => [98, 99, 100, 101, 102].map((count) => `a ${part.repeat(count)} b`)),
    ...[505, 508, 509, 510, 511, 512, 513, 2_045, 2_048].map((count) => 'tide '.repeat(count)),
  ];
}

/** The first and the last of each block of Chinese characters, and their neighbours, which are none. */
function ideographs(): string[] {
  const ends = [
    ...[0x4e00, 0x9fff, 0x3400, 0x4dbf, 0x20000, 0x2a6df, 0x2a700, 0x2b73f, 0x2b740, 0x2b81f],
    ...[0x2b820, 0x2ceaf, 0x2ceb0, 0x2ebe0, 0xf900, 0xfaff, 0x2f800, 0x2fa1f, 0x30000, 0x3134a],
  ];
  return ends.flatMap((point) => [-1, 0, 1].map((by) => `a${String.fromCodePoint(point + by)}b`));
}

const PRIVATE = [
  0xe000, 0xe001, 0xe005, 0xf8ff, 0xf0000, 0xffffd, 0xffffe, 0x100000, 0x10fffd, 0x10ffff, 0xfffe, 0xfdd0,
];

export const curatedTexts: readonly string[] = [
  ...new Set([
    ...disputedTexts,
    ...scripts(),
    ...marks(),
    ...emoji(),
    ...inEveryPlace(PRIVATE.map((point) => String.fromCodePoint(point))),
    ...inEveryPlace(characters('Cc', 65)),
    ...inEveryPlace(characters('Cf', 60)),
    ...inEveryPlace(characters('White_Space', 25)),
    ...inEveryPlace(characters('P', 100)),
    ...literals(),
    ...casing(),
    ...longWords(),
    ...ideographs(),
  ]),
];
