"""Ids and types that Hugging Face's Rust library gives texts or pairs, each alone.

usage: library-ids.py < request.json > encodings.json

The request has tokenizer (path of tokenizer.json), max_tokens, and rows: lists of one text or of two.
"""

import json
import sys

from tokenizers import Tokenizer


def main():
    request = json.load(sys.stdin)
    tokenizer = Tokenizer.from_file(request["tokenizer"])
    tokenizer.no_padding()
    tokenizer.enable_truncation(request["max_tokens"])
    encodings = [tokenizer.encode(*row) for row in request["rows"]]
    json.dump([{"ids": encoding.ids, "types": encoding.type_ids} for encoding in encodings], sys.stdout)


main()
