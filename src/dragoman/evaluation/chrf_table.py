"""chrF of every text of a list against every other, as sacreBLEU's ``sentence_chrf`` gives it.

chrF (Popović 2015) is the F-score, beta 2, of the mean precision and mean recall of character
n-grams, n from 1 to 6, white space left out; orders that one of the texts is too short for do not
count. For a table of all pairs each text is cut once, and the n-grams that two texts share,

    matches(a, b) = sum over n-grams g of min(count of g in a, count of g in b)
                  = sum over t = 1, 2, ... of #{g: count in a >= t and count in b >= t}

are a product of matrices of 0 and 1 for each t.

Shapes: N texts, G different n-grams.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.float64]
ORDER = 6  # longest n-gram, sacreBLEU's CHRF.CHAR_ORDER
BETA = 2  # weight of recall, its CHRF.BETA


def chrf_table(texts: Sequence[str]) -> Table:
    """Compare every text with every other.

    Args:
        texts: hypotheses and references at once.

    Returns:
        chrF from 0 to 100, (N, N): row i is text i as a hypothesis, column j text j as its
        reference. To the bit what sacreBLEU gives.
    """
    letters = ["".join(text.split()) for text in texts]
    lengths = np.array([len(each) for each in letters], np.int64)
    precision = np.zeros((len(texts), len(texts)))
    recall, orders = precision.copy(), precision.copy()
    for n in range(1, ORDER + 1):
        grams = np.maximum(lengths - n + 1, 0).astype(np.float64)
        there = (grams[:, None] > 0) & (grams[None, :] > 0)
        shared = _matches(letters, n)
        precision += np.where(there, shared / np.maximum(grams, 1)[:, None], 0.0)
        recall += np.where(there, shared / np.maximum(grams, 1)[None, :], 0.0)
        orders += there
    precision /= np.maximum(orders, 1)
    recall /= np.maximum(orders, 1)
    factor = BETA**2
    below = factor * precision + recall
    above = (1 + factor) * precision * recall
    return 100 * np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _matches(letters: Sequence[str], n: int) -> Table:
    """Count the n-grams that each text shares with each, (N, N)."""
    counts = [Counter(text[i : i + n] for i in range(len(text) - n + 1)) for text in letters]
    found = np.diag([float(each.total()) for each in counts])
    in_texts = Counter(gram for each in counts for gram in each)
    # One that stands in a single text is shared with no other.
    columns = {gram: place for place, gram in enumerate(g for g, k in in_texts.items() if k > 1)}
    table = np.zeros((len(letters), len(columns)), np.int64)
    for row, each in enumerate(counts):
        for gram, count in each.items():
            if gram in columns:
                table[row, columns[gram]] = count
    shared, last = np.zeros_like(found), 0
    for least in np.unique(table[table > 0]):  # between two counts of the table nothing changes
        there = (table[:, (table >= least).any(0)] >= least).astype(np.float64)
        shared += (least - last) * (there @ there.T)
        last = least
    np.fill_diagonal(shared, found.diagonal())
    return shared
