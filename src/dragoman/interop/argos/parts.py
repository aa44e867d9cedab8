"""What Argos Translate does with a package, by the libraries that it uses, in this process.

SentencePiece cuts, CTranslate2 translates, with the arguments that the program gives; sentences are
cut as in packages of ours. So a package can be tried where ``argostranslate`` is not installed.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dragoman.errors import MissingExtraError, ModelError
from dragoman.interop.argos.archive import MODEL, PIECES
from dragoman.interop.argos.line_cutter import cut_line

BATCH = 32  # pieces, as the program has it
LONGEST = 256  # pieces of a translation, the default of CTranslate2


class ArgosParts:
    """The libraries on an unpacked package.

    Args:
        folder: where it lies.

    Raises:
        ModelError: a library cannot use it.
        MissingExtraError: one of them is not installed.
    """

    name = "ctranslate2.Translator with sentencepiece, as argostranslate 1.11 runs them"

    def __init__(self, folder: Path, *, compute_type: str = "float32") -> None:
        try:
            import ctranslate2  # pyright: ignore  # optional, and without types
            import sentencepiece  # pyright: ignore  # optional, and without types
        except ImportError:
            raise MissingExtraError("the package of Argos Translate", "argos") from None
        libraries: tuple[Any, Any] = (ctranslate2, sentencepiece)  # Any: they have no types
        try:
            self.translator = libraries[0].Translator(
                str(folder / MODEL), compute_type=compute_type, inter_threads=1, intra_threads=1
            )
            self.cutter = libraries[1].SentencePieceProcessor(model_file=str(folder / PIECES))
        except (RuntimeError, ValueError, OSError) as error:
            raise ModelError(f"{folder}: cannot be used: {error}") from None

    def translate(self, texts: Sequence[str], *, beam: int) -> list[str]:
        """Translate texts, in order."""
        return [self._translate(text, beam) for text in texts]

    def _translate(self, text: str, beam: int) -> str:
        lines = (self._line(line, beam) for line in text.split("\n"))
        return "\n".join(lines).lstrip("\n")

    def _line(self, line: str, beam: int) -> str:
        cut = [self.cutter.encode(sentence, out_type=str) for sentence in cut_line(line)]
        written = self.search(cut, beam=beam, max_length=LONGEST)
        pieces = [piece for found in written for piece in found]
        return changed(str(self.cutter.decode_pieces(pieces)))

    def search(
        self, sources: Sequence[Sequence[str]], *, beam: int, max_length: int
    ) -> list[list[str]]:
        """Translate pieces as the program does, but for the length that a test may ask for."""
        results = self.translator.translate_batch(
            [list(source) for source in sources],
            replace_unknowns=True,
            max_batch_size=BATCH,
            batch_type="tokens",
            beam_size=beam,
            num_hypotheses=1,
            length_penalty=0.2,
            max_decoding_length=max_length,
            return_scores=True,
        )
        return [result.hypotheses[0] for result in results]

    def scores(
        self, sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
    ) -> list[list[float]]:
        """Give the log-probabilities of the pieces of each target and of the end symbol."""
        results = self.translator.score_batch(list(sources), list(targets), max_input_length=0)
        return [list(map(float, result.log_probs)) for result in results]


def changed(line: str) -> str:
    """Change a line as the program changes what its model writes."""
    return line.replace("▁", " ").replace("_", " ").removeprefix(" ")
