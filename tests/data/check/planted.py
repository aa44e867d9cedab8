"""A corpus of 600 clean pairs, and faults planted at known lines."""

from collections.abc import Iterable
from pathlib import Path

from dragoman.data.corpus import Files
from dragoman.data.sample import sample_corpus

Texts = list[tuple[str, str]]

# One line number, source and target for each kind of fault that a single line can have.
PLANTED: dict[str, tuple[int, str, str]] = {
    "blank": (20, " ", ""),
    "one-sided": (25, "der hund schläft", "\u200b"),
    "replacement": (30, "der h\ufffdnd schläft", "the dog sleeps"),
    "control": (35, "der hund \x08schläft tief", "the dog sleeps soundly"),
    "zero-width": (40, "der hu\u200bnd schläft hier", "the dog sleeps here"),
    "byte-order-mark": (45, "\ufeffder hund schläft dort", "the dog sleeps there"),
    "bidi": (50, "der hund schläft \u202enie", "the dog never sleeps"),
    "line-separator": (55, "der hund\u2028schläft lange", "the dog sleeps for long"),
    "carriage-return": (60, "der hund schläft gern", "the dog likes\rto sleep"),
    "tab": (65, "der hund schläft\tkurz", "the dog sleeps briefly"),
    "entity": (70, "der hund &amp; die katze", "the dog and the cat"),
    "normal-form": (75, "der hund schla\u0308ft laut", "the dog sleeps loudly"),
    "wrong-script": (80, "собака громко спит", "the dog sleeps noisily"),
    "wrong-language": (82, "the small dog sleeps under the big table", "a dog sleeps under it"),
    "length": (85, "hund " * 200 + "schläft", "dog " * 200 + "sleeps"),
    "length-ratio": (90, "der hund schläft jetzt auf dem alten roten sofa im zimmer", "dog"),
    "copied-source": (95, "das ist nicht übersetzt", "das ist nicht übersetzt"),
    "digits": (100, "der hund ist 35 jahre alt", "the dog is 53 years old"),
    "addresses": (105, "siehe https://a.org/x heute", "see https://a.org/y today"),
}


def clean(count: int = 600) -> Texts:
    """Draw pairs of the embedded corpus that all differ, even in their near forms."""
    corpus = sample_corpus(train=3 * count, validation=1, test=1)
    seen: set[str] = set()
    texts: Texts = []
    for german, english in corpus.train:
        keys = {"".join(filter(str.isalnum, text.casefold())) for text in (german, english)}
        if not keys & seen:
            seen |= keys
            texts.append((german, english))
    return texts[:count]


def write(folder: Path, texts: Iterable[tuple[str | bytes, str | bytes]]) -> Files:
    """Write two files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = Files(source=folder / "a.de", target=folder / "a.en")
    pairs = list(texts)
    files.source.write_bytes(b"".join(_bytes(source) + b"\n" for source, _ in pairs))
    files.target.write_bytes(b"".join(_bytes(target) + b"\n" for _, target in pairs))
    return files


def planted() -> list[tuple[str | bytes, str | bytes]]:
    """Plant one fault of each kind, bad bytes at 110, duplicates at 115 and 120."""
    texts: list[tuple[str | bytes, str | bytes]] = list(clean())
    for line, source, target in PLANTED.values():
        texts[line - 1] = source, target
    texts[109] = b"der h\xfcnd schl\xc3\xa4ft", "the dog sleeps badly"
    texts[114] = texts[9]
    german, english = clean()[9]
    texts[119] = german.upper(), f"{english} !"
    return texts


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()
