"""What Hugging Face's BertNormalizer and BertPreTokenizer do with each character, as sets of ranges.

usage: bert-characters.py; what it prints is the object in src/engine/bert-character-sets.ts, which the formatter lays out

Each set lists code points as "first-last" or "one" in hexadecimal. All of them follow the Unicode tables that were
compiled into the Rust library `tokenizers`, which are older than those of Python and of Node. What a decomposition or a
lower case is never changes once a character has one, so it is enough to know which characters have one.
"""

import json
import sys

import tokenizers
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer


def only(**on):
    off = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return BertNormalizer(**{**off, **on}).normalize_str


CLEAN, SPACED = only(clean_text=True), only(handle_chinese_chars=True)
STRIPPED, LOWER = only(strip_accents=True), only(lowercase=True)
SPLIT = BertPreTokenizer().pre_tokenize_str


def words(char):
    return [word for word, _ in SPLIT(f"a{char}b")]


SETS = {
    "removed": lambda char: CLEAN(char) == "",
    "blank": lambda char: CLEAN(char) == " ",
    "ideograph": lambda char: SPACED(char) == f" {char} ",
    "mark": lambda char: STRIPPED(char) == "",
    "decomposed": lambda char: STRIPPED(char) not in ("", char),
    "lowered": lambda char: LOWER(char) != char,
    "separator": lambda char: words(char) == ["a", "b"],
    "punctuation": lambda char: words(char) == ["a", char, "b"],
}


def ranges(points):
    spans = []
    for point in points:
        if spans and spans[-1][1] == point - 1:
            spans[-1][1] = point
        else:
            spans.append([point, point])
    return " ".join(f"{first:x}" if first == last else f"{first:x}-{last:x}" for first, last in spans)


def main():
    points = [point for point in range(0x110000) if not 0xD800 <= point <= 0xDFFF]
    table = {name: ranges(point for point in points if holds(chr(point))) for name, holds in SETS.items()}
    json.dump({"tokenizers": tokenizers.__version__, **table}, sys.stdout, indent=2)
    print()


main()
