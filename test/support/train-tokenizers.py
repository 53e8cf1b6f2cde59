"""Trains the kinds of tokenizers that no graph follows, from a few pages of prose.

usage: train-tokenizers.py FOLDER < prose.txt

Writes FOLDER/bpe/tokenizer.json (byte-level, as RoBERTa has it) and FOLDER/unigram/tokenizer.json (as XLM-R has it).
"""

import os
import sys

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
PIECES = 1_000


def byte_level_bpe():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=PIECES, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False)
    return tokenizer, trainer


def unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=PIECES, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False
    )
    return tokenizer, trainer


def main():
    lines = sys.stdin.read().splitlines()
    for name, make in {"bpe": byte_level_bpe, "unigram": unigram}.items():
        tokenizer, trainer = make()
        tokenizer.train_from_iterator(lines, trainer)
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>",
            pair="<s> $A </s> </s> $B </s>",
            special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")],
        )
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(folder, exist_ok=True)
        tokenizer.save(os.path.join(folder, "tokenizer.json"))


main()
