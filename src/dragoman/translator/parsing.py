"""Sentences to trees, with a translator that writes trees as tokens (section 6.3)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from dragoman.decoding import BeamSearch, NoRoom, decode
from dragoman.tokenization import Tokenizer
from dragoman.translator.translator import Translator
from dragoman.translator.tree_grammar import TreeGrammar
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
    valid: bool = False,
) -> Iterator[Parsed]:
    """Parse sentences, one tree for each, whatever the model writes.

    Args:
        translator: learned to write trees in tokens, as ``dragoman.trees.linearize`` makes them. If
            its vocabulary holds classes of words, it reads those for the words that it lacks.
        sentences: words with white space between, cut as the treebank of the model cuts them.
        search: how tokens are found; as in section 6.3 unless given.
        batch_tokens: most source slots in a batch.
        at_once: sentences translated together.
        valid: let nothing be written that makes no tree over the sentence, one sentence after the
            other; see ``TreeGrammar``. Where the vocabulary has no token for a word, or the tree
            does not end in time, it is repaired all the same.
    """
    known = _known_words(translator.bundle.source_tokenizer)
    for window in windows(sentences, at_once, size=len):
        texts = [[escaped(word) for word in sentence.split()] for sentence in window]
        read = [" ".join(known.read(text) if known.classes else text) for text in texts]
        if valid:
            for text, line in zip(texts, read, strict=True):
                yield restore(" ".join(text), _valid_tokens(translator, text, line, search))
            continue
        found = translator.translate(
            read, **asdict(search), batch_tokens=batch_tokens, copy_without_letters=False
        )
        for text, translation in zip(texts, found, strict=True):
            yield restore(" ".join(text), translation.text)


def _valid_tokens(
    translator: Translator, words: Sequence[str], read: str, search: BeamSearch
) -> str:
    """Write the tree of one sentence under a grammar, so far as there is one for it."""
    tokenizer = translator.bundle.target_tokenizer
    pieces = tokenizer.pieces(range(tokenizer.size))
    grammar = TreeGrammar(pieces, tokenizer.special.end, words)
    source = translator.bundle.source_tokenizer.encode(read)
    ban = grammar if grammar.possible else None
    (found,) = decode(translator.engine, [source], search, translator.frame, ban=ban)
    return "" if isinstance(found, NoRoom) or not found else tokenizer.decode(found[0].ids)


def _known_words(tokenizer: Tokenizer) -> KnownWords:
    """List the words of a vocabulary, where words are its pieces, with classes among them."""
    return KnownWords(
        [piece.removeprefix(" ") for piece in tokenizer.pieces(range(tokenizer.size))]
    )
