"""A translator written for ``transformers``: does its own ``generate`` write the same text?

    python benchmarks/huggingface_client.py MODEL --input test.de --beams 1 4

MODEL is written as a folder of Hugging Face's, read back and compared bit for bit; then
``AutoTokenizer`` and ``AutoModelForSeq2SeqLM`` translate every line of the input, sentences of one
batch of like length, with the settings that lie in the folder but for ``--longest``: the bound of
a search that never stops early looks so far ahead. Our search is the comparable one,
``BeamSearch(length_penalty="average", alpha=1.0)``, as it is and with ``patience=1e6``: only the
best candidates of a step can end then, as there.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from dragoman import Translator, read_lines
from dragoman.bundle import Bundle, load_bundle
from dragoman.interop.huggingface import read_huggingface, write_huggingface

BATCH = 32
WAYS: dict[str, dict[str, Any]] = {"as it is": {}, "with patience": {"patience": 1e6}}


def main() -> None:
    """Write, translate on both sides, compare, print."""
    options = _options()
    torch.set_num_threads(1)
    bundle = load_bundle(options.model)
    texts = list(read_lines(options.input))[: options.sentences]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "huggingface"
        write_huggingface(folder, bundle)
        same = _same_bits(bundle, read_huggingface(folder))
        print(f"read back: {'the same bits' if same else 'OTHER BITS'}")
        for beam in options.beams:
            begin = time.perf_counter()
            theirs = generate(folder, texts, beam, options.longest)
            print(f"beam {beam}: transformers {time.perf_counter() - begin:.0f} s")
            for way, more in WAYS.items():
                ours = _translate(bundle, texts, beam, {"max_length": options.longest, **more})
                other = [
                    n for n, pair in enumerate(zip(ours, theirs, strict=True)) if len({*pair}) > 1
                ]
                print(
                    f"beam {beam}, ours {way}: {len(texts) - len(other)} of {len(texts)} the same"
                )
                for number in other[: options.show]:
                    shown = {"ours": ours[number], "theirs": theirs[number]}
                    print(f"  line {number + 1}: {json.dumps(shown, ensure_ascii=False)}")


def generate(folder: Path, texts: Sequence[str], beam: int, longest: int) -> list[str]:
    """Translate with ``transformers`` alone."""
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model: Any = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32).eval()
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    found = [""] * len(texts)
    for start in range(0, len(order), BATCH):
        group = order[start : start + BATCH]
        given = tokenizer([texts[n] for n in group], return_tensors="pt", padding=True)
        given.pop("token_type_ids", None)
        with torch.inference_mode():
            ids = model.generate(**given, num_beams=beam, max_new_tokens=longest)
        decoded = tokenizer.batch_decode(ids, skip_special_tokens=True)
        for number, text in zip(group, decoded, strict=True):
            found[number] = text
    return found


def _translate(bundle: Bundle, texts: Sequence[str], beam: int, more: dict[str, Any]) -> list[str]:
    how = {"beam": beam, "length_penalty": "average", "alpha": 1.0, **more}
    found = Translator(bundle).translate(texts, copy_without_letters=False, **how)
    return [each.text for each in found]


def _same_bits(one: Bundle, other: Bundle) -> bool:
    weights = dict(other.model.named_parameters())
    same = all(torch.equal(weights[name], each) for name, each in one.model.named_parameters())
    return same and one.config == other.config


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("model", type=Path, help="model or run folder of a translator")
    parser.add_argument("--input", type=Path, required=True, help="sentences, one a line")
    parser.add_argument("--sentences", type=int, default=None, help="at most so many")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--longest", type=int, default=128, help="pieces of a translation")
    parser.add_argument("--show", type=int, default=5, help="lines that differ")
    return parser.parse_args()


if __name__ == "__main__":
    main()
