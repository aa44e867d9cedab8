"""What text goes through before pieces are found: a normal form, then cuts no piece may cross."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast, get_args

from tokenizers import Regex, normalizers, pre_tokenizers

from dragoman.errors import ModelError

NormalForm = Literal["NFC", "NFD", "NFKC", "NFKD", "none"]

# Merging stays inside these. Letters keep their marks and joiners, which many scripts and emoji
# need. A run ends after 256 characters: learning is quadratic in its length.
_LETTER, _JOINER = r"\p{L}\p{M}", r"\x{200C}\x{200D}"
_WORDS = "|".join(
    (
        rf" ?[{_LETTER}{_JOINER}]{{1,256}}",
        r" ?\p{N}",  # digits one by one, so that numbers are copied rather than memorised
        r"<",
        rf" ?[^\s\p{{N}}<{_LETTER}{_JOINER}][^\s\p{{N}}<\p{{L}}]{{0,255}}",
        r"\s",
    )
)


def text_normalizer(form: NormalForm, *, lead: str = " ") -> normalizers.Normalizer:
    """Bring text to a Unicode normal form, then put ``lead`` before it unless it is empty."""
    steps = form_steps(form)
    return normalizers.Sequence([*steps, normalizers.Prepend(lead)] if lead else steps)


def word_splitter(whole: Sequence[str] = ()) -> pre_tokenizers.PreTokenizer:
    """Cut normalised text into the stretches that a piece may not cross; nothing is lost."""
    return splitter(_WORDS, whole=whole)


def splitter(*patterns: str, whole: Sequence[str] = ()) -> pre_tokenizers.PreTokenizer:
    """Cut text by each pattern in turn; nothing is lost.

    Args:
        patterns: expressions of Oniguruma; each match becomes a stretch, and what is between too.
        whole: strings that are cut out before all else and never cut; the longest first.
    """
    if whole:
        any_whole = literal_choice(whole)
        patterns = (any_whole, *(rf"\A(?:{any_whole})\z|{pattern}" for pattern in patterns))
    cuts = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
    return cuts[0] if len(cuts) == 1 else pre_tokenizers.Sequence(cuts)


def literal_choice(strings: Iterable[str]) -> str:
    """Match any of the strings, the longest that fits, in the syntax of Oniguruma."""
    longest_first = sorted(strings, key=len, reverse=True)
    spelled = ("".join(f"\\x{{{ord(each):X}}}" for each in text) for text in longest_first)
    return "|".join(spelled)


def form_steps(form: NormalForm) -> list[normalizers.Normalizer]:
    """Give the steps of the library that bring text to a Unicode normal form."""
    match form:
        case "NFC":
            return [normalizers.NFC()]
        case "NFD":
            return [normalizers.NFD()]
        case "NFKC":
            return [normalizers.NFKC()]
        case "NFKD":
            return [normalizers.NFKD()]
        case "none":
            return []


def normal_form_of(normalizer: dict[str, Any] | None) -> tuple[NormalForm, str]:
    """Find the form and the lead again in what ``text_normalizer`` became in the file."""
    for form in cast("tuple[NormalForm, ...]", get_args(NormalForm)):
        for lead in (" ", ""):
            steps = [] if form == "none" else [{"type": form}]
            steps += [{"type": "Prepend", "prepend": lead}] if lead else []
            if normalizer == {"type": "Sequence", "normalizers": steps}:
                return form, lead
    raise ModelError("changes text in a way this version does not know")
