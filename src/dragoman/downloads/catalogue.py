"""The public corpora that can be had by name."""

from dragoman.configfile import suggest
from dragoman.downloads.iwslt import IWSLT
from dragoman.downloads.record import PublicCorpus
from dragoman.downloads.small_corpora import MULTI30K, TATOEBA
from dragoman.downloads.wmt14 import WMT14
from dragoman.errors import ConfigError

CATALOGUE: tuple[PublicCorpus, ...] = (*WMT14, *IWSLT, *MULTI30K, *TATOEBA)


def find_corpus(name: str, catalogue: tuple[PublicCorpus, ...] = CATALOGUE) -> PublicCorpus:
    """Find a corpus by name.

    Raises:
        ConfigError: there is none of that name; says which was probably meant.
    """
    for corpus in catalogue:
        if corpus.name == name:
            return corpus
    raise ConfigError(
        "", f"no corpus is called {name!r}", suggest(name, [corpus.name for corpus in catalogue])
    )
