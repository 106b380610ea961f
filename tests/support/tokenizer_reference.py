#!/usr/bin/env python3
"""Vocabularies and expected ids of tests/tokenizer, by an implementation of its own.

usage: tokenizer_reference.py   (from the top of the repository; Python 3.11, whose Unicode is 14)

Byte-level BPE follows openai/gpt-2 encoder.py with its pattern in the regular expressions of the
standard library (letters and numbers as explicit ranges); WordPiece follows google-research/bert
tokenization.py. The vocabularies are trained on alice.txt, from the public domain.
"""
import collections
import json
import pathlib
import random
import re
import sys
import unicodedata

HERE = pathlib.Path("tests/tokenizer")


def ranges(test):
    """A character class of all code points that pass."""
    out, start = [], None
    for c in range(sys.maxunicode + 2):
        ok = c <= sys.maxunicode and test(chr(c))
        if ok and start is None:
            start = c
        if not ok and start is not None:
            out.append(f"\\U{start:08x}-\\U{c - 1:08x}")
            start = None
    return "".join(out)


LETTER = ranges(lambda c: unicodedata.category(c)[0] == "L")
NUMBER = ranges(lambda c: unicodedata.category(c)[0] == "N")
SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # White_Space
PATTERN = re.compile(rf"'s|'t|'re|'ve|'m|'ll|'d| ?[{LETTER}]+| ?[{NUMBER}]+|"
                     rf" ?[^{SPACE}{LETTER}{NUMBER}]+|[{SPACE}]+(?![^{SPACE}])|[{SPACE}]+")


def alphabet():
    keep = [*range(ord("!"), ord("~") + 1), *range(0xa1, 0xad), *range(0xae, 0x100)]
    rest = [b for b in range(256) if b not in keep]
    return {**{b: chr(b) for b in keep}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


ALPHABET = alphabet()


def spelled(text):
    return [ALPHABET[b] for b in text.encode()]


def join(word, pair):
    out, i = [], 0
    while i < len(word):
        if tuple(word[i:i + 2]) == pair:
            out.append(word[i] + word[i + 1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return out


def train_bpe(text, count):
    words = collections.Counter(PATTERN.findall(text))
    split = {w: spelled(w) for w in words}
    merges = []
    for _ in range(count):
        pairs = collections.Counter()
        for w, n in words.items():
            for pair in zip(split[w], split[w][1:]):
                pairs[pair] += n
        best = max(pairs, key=lambda p: (pairs[p], p))
        merges.append(best)
        split = {w: join(s, best) for w, s in split.items()}
    return merges


def bpe(text, vocabulary, ranks):
    ids = []
    for found in PATTERN.findall(text):
        word = spelled(found)
        while len(word) > 1:
            best = min(zip(word, word[1:]), key=lambda p: ranks.get(p, 1 << 60))
            if best not in ranks:
                break
            word = join(word, best)
        ids += [vocabulary[w] for w in word]
    return ids


def is_cjk(c):
    return any(a <= ord(c) <= b for a, b in (
        (0x4e00, 0x9fff), (0x3400, 0x4dbf), (0x20000, 0x2a6df), (0x2a700, 0x2b73f),
        (0x2b740, 0x2b81f), (0x2b820, 0x2ceaf), (0xf900, 0xfaff), (0x2f800, 0x2fa1f)))


def is_punctuation(c):
    o = ord(c)
    return 33 <= o <= 47 or 58 <= o <= 64 or 91 <= o <= 96 or 123 <= o <= 126 or \
        unicodedata.category(c)[0] == "P"


def basic(text, lower):
    clean = ""
    for c in text:
        if c in "\t\n\r" or unicodedata.category(c) == "Zs":
            clean += " "
        elif c == "\ufffd" or unicodedata.category(c)[0] == "C":
            continue
        else:
            clean += f" {c} " if is_cjk(c) else c
    words = []
    for word in clean.split():
        if lower:
            word = "".join(c for c in unicodedata.normalize("NFD", word.lower())
                           if unicodedata.category(c) != "Mn")
        parts, fresh = [], True
        for c in word:
            if is_punctuation(c):
                parts.append(c)
                fresh = True
            elif fresh:
                parts.append(c)
                fresh = False
            else:
                parts[-1] += c
        words += parts
    return words


def wordpiece(text, vocabulary, lower):
    ids = [vocabulary["[CLS]"]]
    for word in basic(text, lower):
        pieces, at = [], 0
        while at < len(word) <= 100:
            end = len(word)
            while end > at and ("##" if at else "") + word[at:end] not in vocabulary:
                end -= 1
            if end == at:
                pieces = None
                break
            pieces.append(vocabulary[("##" if at else "") + word[at:end]])
            at = end
        ids += pieces if pieces else [vocabulary["[UNK]"]]
    return ids + [vocabulary["[SEP]"]]


TEXTS = [
    "", " ", "  ", "\n", "a", " a", "  a", "a ", "a  ", "a \n b", "\t\ta\n\n\nb", "it's we're I've I'm they'll he'd IT'S '",
    "don''t ''s '", "Alice's waistcoat-pocket, 1865; 3.14e-2!", "Ångström naïve café RÉSUMÉ", "İstanbul ıI ǅ ﬁ",
    "ΟΔΥΣΣΕΥΣ ΣΑΣ Σ ΑΣ' ΑΣα", "汉字 and かな and 한국어", "x汉y", "😀👩‍👩‍👧 ok", "½ Ⅷ ٣ ²", "a\u00a0b\u2028c\u2029d\u0085e\u180ef\u3000g",
    "z\u200db\u200c\ufeffq\u00ad", "e\u0301 E\u0301\u0323 \u0301", "\u0000\u0001\u001f\u007f", "a\ufffdb", "\ue000 \U0010ffff \u0378",
    "«guillemets» ¡hola! ¿qué? — – … ‘’“”", "$100 + €5 = <b>^_`~|", "[MASK] [CLS] <|endoftext|> ##ing", "x" * 99, "x" * 100, "x" * 101,
    "the " * 20, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "thethethethe herher ofof", "\u1e9e ß SS ŉ", "\U0001d400\U0001d7ce \U00020000",
]


def random_texts(rng, count):
    corners = "aAbtheshr '’s.,-\n\t  1٣½é\u0301\u0130ΣσςßİǅÅ汉字한😀\u200d\u00a0\u2028\u3000\u0085\u001f\ufffd\u00ad"
    for _ in range(count):
        yield "".join(rng.choice(corners) if rng.random() < 0.9 else
                      chr(rng.choice([rng.randrange(0xd800), rng.randrange(0xe000, 0x110000)]))
                      for _ in range(rng.randrange(1, 20)))


def main():
    text = (HERE / "alice.txt").read_text()
    rng = random.Random(1)
    merges = train_bpe(text, 200)
    tokens = [ALPHABET[b] for b in range(256)] + ["".join(m) for m in merges] + ["<|endoftext|>"]
    vocabulary = {t: i for i, t in enumerate(dict.fromkeys(tokens))}
    shuffled = merges[:]
    rng.shuffle(shuffled)
    for name, order in (("bpe", merges), ("shuffled", shuffled)):
        (HERE / name / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=name == "shuffled"))
        (HERE / name / "merges.txt").write_text(
            "#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in order))

    cased = list(dict.fromkeys(basic(text, False)))
    uncased = list(dict.fromkeys(basic(text, True)))
    characters = sorted(set("".join(cased + uncased)) | set("éßσςå汉字½ıǆ1\u1112\u1161\u11ab"))
    common = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *characters, *("##" + c for c in characters),
              "##ing", "##ed", "##er", "th", "##th", "##he", "of"]
    for name, words in (("wordpiece", uncased), ("cased", cased)):
        (HERE / name / "vocab.txt").write_text("\n".join(dict.fromkeys(common + words[::2])) + "\n")
    (HERE / "cased/tokenizer_config.json").write_text('{"do_lower_case": false}\n')

    ranks = {n: {m: i for i, m in enumerate(o)} for n, o in (("bpe", merges), ("shuffled", shuffled))}
    pieces = {n: {t: i for i, t in enumerate((HERE / n / "vocab.txt").read_text().split("\n")[:-1])}
              for n in ("wordpiece", "cased")}
    rows = []
    for t in [text, *TEXTS, *random_texts(rng, 200)]:
        rows.append({"text": t, **{n: bpe(t, vocabulary, ranks[n]) for n in ranks},
                     **{n: wordpiece(t, pieces[n], n == "wordpiece") for n in pieces}})
    lines = ",\n".join(json.dumps(r, separators=(",", ":")) for r in rows)
    (HERE / "expected.json").write_text(f"[\n{lines}\n]\n")


main()
