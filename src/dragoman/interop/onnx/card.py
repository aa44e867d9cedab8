"""The card of an ONNX folder: what it is, and a program that uses it without Dragoman."""

from collections.abc import Mapping

from dragoman.bundle import Bundle
from dragoman.interop.onnx.graph import Graph
from dragoman.models import ModelConfig
from dragoman.nn import CausalLM, EncoderDecoder

_CARD = """# TITLE in ONNX

Written by Dragoman. This program needs `pip install onnxruntime tokenizers numpy` and nothing else:

```python
PROGRAM```

`config.json` names every input and output of FILES with its
shape and meaning, the ids of all symbols (`special_ids`), what stands around a text (`frame`), and
every choice of the model (`dragoman`). MORE
"""
_STEP = """A step takes one or more new pieces of each row;
keep what it gives as `present.*`, and give it back as `past.*`. Sizes with a name may differ from
call to call."""
_BATCH = "Sizes with a name may differ from call to call; pad texts\non the right."
_BEGIN = """\
import json
import sys

import numpy as np
from onnxruntime import InferenceSession
from tokenizers import Tokenizer

config = json.load(open("config.json", encoding="utf-8"))
SPECIAL


def run(graph, feed):
    wanted = {put.name for put in graph.get_inputs()} & feed.keys()
    names = [put.name for put in graph.get_outputs()]
    return dict(zip(names, graph.run(names, {name: feed[name] for name in wanted})))
"""
_SPECIAL = """\
special = config["special_ids"]
never = {special.get(name) for name in ("padding", "start", "unknown")} - {special["end"], None}
"""
_FOLLOW = """

def follow(new, memory):  # the most probable piece, again and again
    past = {
        put.name: np.zeros([{"rows": 1, "past": 0}.get(n, n) for n in put.shape], np.float32)
        for put in step.get_inputs()
        if put.name.startswith("past.")
    }
    position, most = 0, config["longest"]["target"] or 200
    while position + len(new) <= most:
        feed = {"ids": np.array([new]), "position": np.array(position), **memory, **past}
        given = run(step, feed)
        past = {name.replace("present", "past"): x for name, x in given.items()}
        position += len(new)
        scores = given["logits"][0, -1]
        scores[[*never]] = -np.inf
        best = int(scores.argmax())
        if best == special["end"]:
            break
        yield best
        new = [best]

"""
_TRANSLATE = """

encoder, step = InferenceSession("encoder.onnx"), InferenceSession("decoder_step.onnx")
source_tokenizer = Tokenizer.from_file("SOURCE")
target_tokenizer = Tokenizer.from_file("TARGET")
frame = config["frame"]
FOLLOW

for line in sys.stdin:
    pieces = source_tokenizer.encode(line.rstrip("\\n"), add_special_tokens=False).ids
    source = np.array([[*frame["source_before"], *pieces, *frame["source_after"]]])
    memory = run(encoder, {"source": source})
    print(target_tokenizer.decode([*follow(frame["target_before"], memory)]))
"""
_CONTINUE = """

step = InferenceSession("decoder_step.onnx")
tokenizer = Tokenizer.from_file("SOURCE")
FOLLOW

for line in sys.stdin:
    pieces = tokenizer.encode(line.rstrip("\\n"), add_special_tokens=False).ids
    pieces += follow([*config["frame"]["target_before"], *pieces], {})
    print(tokenizer.decode(pieces))
"""
_READ = """

encoder = InferenceSession("encoder.onnx")
tokenizer = Tokenizer.from_file("SOURCE")
frame = config["frame"]

for line in sys.stdin:
    pieces = tokenizer.encode(line.rstrip("\\n"), add_special_tokens=False).ids
    ids = np.array([[*frame["source_before"], *pieces, *frame["source_after"]]])
    for name, numbers in run(encoder, {"ids": ids, "segments": np.zeros_like(ids)}).items():
        print(name, numbers[0].tolist())
"""
_LOOK = """

encoder = InferenceSession("encoder.onnx")

for line in sys.stdin:  # names of files that numpy.save wrote: height, width, channels
    image = np.load(line.rstrip("\\n"))
    for name, numbers in run(encoder, {"images": image[None].astype(np.float32)}).items():
        print(name, numbers[0].tolist())
"""


def card(bundle: Bundle, graphs: Mapping[str, Graph]) -> str:
    """Write the card as Markdown."""
    more, begin = _STEP, _BEGIN.replace("SPECIAL\n", _SPECIAL)
    match bundle.model:
        case EncoderDecoder():
            title, program = "Translation model", _TRANSLATE
        case CausalLM():
            title, program = "Language model", _CONTINUE
        case _:
            images = isinstance(bundle.config, ModelConfig) and bundle.config.images is not None
            title, program, more = "Encoder", _LOOK if images else _READ, _BATCH
            begin = _BEGIN.replace("SPECIAL\n", "")
    if not bundle.tokenizers:
        begin = begin.replace("from tokenizers import Tokenizer\n", "")
    joint = len(bundle.tokenizers) == 1
    return _filled(
        _CARD,
        {
            "TITLE": title,
            "PROGRAM": begin + program,
            "FOLLOW\n": _FOLLOW,
            "SOURCE": "tokenizer.json" if joint else "source.tokenizer.json",
            "TARGET": "tokenizer.json" if joint else "target.tokenizer.json",
            "FILES": " and ".join(f"`{name}.onnx`" for name in graphs),
            "MORE": more,
        },
    )


def _filled(text: str, parts: Mapping[str, str]) -> str:
    for name, part in parts.items():
        text = text.replace(name, part)
    return text
