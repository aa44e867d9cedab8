"""Sentences to trees, with a translator that writes trees as tokens (section 6.3)."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict

from dragoman.decoding import BeamSearch
from dragoman.tokenization import Tokenizer
from dragoman.translator.translator import Translator
from dragoman.translator.windows import windows
from dragoman.trees import KnownWords, Parsed, escaped, restore

PARSING = BeamSearch(beam=21, alpha=0.3, max_extra=300)  # the search of section 6.3


def parse(
    translator: Translator,
    sentences: Iterable[str],
    *,
    search: BeamSearch = PARSING,
    batch_tokens: int = 4096,
    at_once: int = 500,
) -> Iterator[Parsed]:
    """Parse sentences, one tree for each, whatever the model writes.

    Args:
        translator: learned to write trees in tokens, as ``dragoman.trees.linearize`` makes them. If
            its vocabulary holds classes of words, it reads those for the words that it lacks.
        sentences: words with white space between, cut as the treebank of the model cuts them.
        search: how tokens are found; as in section 6.3 unless given.
        batch_tokens: most source slots in a batch.
        at_once: sentences translated together.
    """
    known = _known_words(translator.bundle.source_tokenizer)
    for window in windows(sentences, at_once, size=len):
        texts = [[escaped(word) for word in sentence.split()] for sentence in window]
        read = [" ".join(known.read(text) if known.classes else text) for text in texts]
        found = translator.translate(
            read, **asdict(search), batch_tokens=batch_tokens, copy_without_letters=False
        )
        for text, translation in zip(texts, found, strict=True):
            yield restore(" ".join(text), translation.text)


def _known_words(tokenizer: Tokenizer) -> KnownWords:
    """List the words of a vocabulary, where words are its pieces, with classes among them."""
    return KnownWords(
        [piece.removeprefix(" ") for piece in tokenizer.pieces(range(tokenizer.size))]
    )
