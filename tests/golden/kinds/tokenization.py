"""Byte-pair encoding and WordPiece, step by step."""

from itertools import islice
from typing import Any

from dragoman.tokenization import (
    apply_merges,
    apply_wordpiece_merges,
    best_pair,
    encode_word,
    learn_merges,
    learn_wordpiece,
    learn_wordpiece_fast,
    pair_score,
    split_word,
)
from tests.golden.case import Case

Found = dict[str, Any]  # Any: strings and numbers, nested


def bpe_train(case: Case) -> Found:
    words, end = case.inputs["word_counts"], case.inputs["end_symbol"]
    log = learn_merges(words, case.inputs["merges"], end_symbol=end)
    pairs = [merge.pair for merge in log]
    return {
        "merge_log": [
            {"pair": merge.pair, "count": merge.count, "tied_pairs": merge.tied_pairs}
            for merge in log
        ],
        "segmentation": {word: apply_merges(word, pairs, end_symbol=end) for word in words},
        "encoded": {
            word: apply_merges(word, pairs, end_symbol=end) for word in case.inputs["encode"]
        },
    }


def wordpiece_train(case: Case) -> Found:
    words = {split_word(word): count for word, count in case.inputs["word_counts"].items()}
    log = list(islice(learn_wordpiece(words), case.inputs["merges"]))
    assert log == list(islice(learn_wordpiece_fast(words), case.inputs["merges"]))
    pairs = [merge.pair for merge in log]
    return {
        "merge_log": [
            {
                "pair": merge.pair,
                "joined": merge.joined,
                "score": merge.score,
                "tied_pairs": merge.tied_pairs,
            }
            for merge in log
        ],
        "segmentation": [
            apply_wordpiece_merges(word, pairs) for word in case.inputs["word_counts"]
        ],
    }


def wordpiece_score(case: Case) -> Found:
    given = {
        tuple(name.split()): score for name, score in case.inputs.get("given_scores", {}).items()
    }
    counted = {(row["left"], row["right"]): row for row in case.inputs["pairs"]}
    counts = {pair: row["pair_count"] for pair, row in counted.items()}
    scores = {
        pair: pair_score(row["pair_count"], row["left_count"], row["right_count"])
        for pair, row in counted.items()
    }
    return {
        "scores": list(scores.values()),
        "bpe_would_merge": best_pair(counts)[0],
        "wordpiece_merges": best_pair(scores | given)[0],
    }


def wordpiece_encode(case: Case) -> Found:
    vocabulary = set(case.inputs["vocab"])
    return {"pieces": {word: encode_word(word, vocabulary) for word in case.inputs["words"]}}


KINDS = {
    "bpe_train": bpe_train,
    "wordpiece_encode": wordpiece_encode,
    "wordpiece_score": wordpiece_score,
    "wordpiece_train": wordpiece_train,
}
