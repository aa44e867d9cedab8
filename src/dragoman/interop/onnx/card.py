"""The card of an ONNX folder: what it is, and a program that uses it without Dragoman."""

from collections.abc import Mapping

from dragoman.bundle import Bundle
from dragoman.interop.onnx.graph import Graph
from dragoman.nn import CausalLM, EncoderDecoder
from dragoman.tokenization import ImportedTokenizer

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
from pathlib import Path

import numpy as np
from onnxruntime import InferenceSession
from tokenizers import Tokenizer

config = json.loads(Path("config.json").read_text(encoding="utf-8"))


def run(graph, feed):
    wanted = {put.name for put in graph.get_inputs()} & feed.keys()
    names = [put.name for put in graph.get_outputs()]
    return dict(zip(names, graph.run(names, {name: feed[name] for name in wanted})))
"""
_TEXT = """

source_tokenizer = Tokenizer.from_file(config["vocabularies"]["source"]["file"])
target_tokenizer = Tokenizer.from_file(config["vocabularies"]["target"]["file"])


def encode(text):
    return source_tokenizer.encode(text, add_special_tokens=False).ids


def decode(ids):
    return target_tokenizer.decode(ids)
"""
_IMPORTED_TEXT = """

class Vocabulary:  # of another toolkit: its ids may be those of another list of pieces
    def __init__(self, facts):
        self.tokenizer = Tokenizer.from_file(facts["file"])
        self.tokenizer.encode_special_tokens = True  # typed ones are none
        file = json.loads(Path(facts["file"]).read_text(encoding="utf-8"))
        listed = file["model"].get("dragoman", {}).get("names")
        known = {n: name for name, n in self.tokenizer.get_vocab().items()}
        names = dict(enumerate(listed)) if listed else known
        self.names = {n: name for n, name in names.items() if n not in facts["controls"]}
        self.ids = {name: n for n, name in self.names.items()}
        self.unknown = facts["unknown"]

    def encode(self, text):
        tokens = self.tokenizer.encode(text, add_special_tokens=False).tokens
        ids = [self.ids.get(token, self.unknown) for token in tokens]
        return [n for n in ids if n is not None]

    def decode(self, ids):
        tokens = [self.names[n] for n in ids if n in self.names]
        decoder = self.tokenizer.decoder
        return decoder.decode(tokens) if decoder else " ".join(tokens)


encode = Vocabulary(config["vocabularies"]["source"]).encode
decode = Vocabulary(config["vocabularies"]["target"]).decode
"""
_FOLLOW = """

def follow(new, memory):  # the most probable piece, again and again
    past = {
        put.name: np.zeros([{"rows": 1, "past": 0}.get(n, n) for n in put.shape], np.float32)
        for put in step.get_inputs()
        if put.name.startswith("past.")
    }
    position, longest = 0, config["longest"]["target"]
    for _ in range(longest - len(new) + 1 if longest else 200):
        feed = {"ids": np.array([new]), "position": np.array(position), **memory, **past}
        given = run(step, feed)
        past = {name.replace("present", "past"): x for name, x in given.items()}
        position += len(new)
        scores = given["logits"][0, -1]
        scores[config["never_written"]] = -np.inf
        best = int(scores.argmax())
        if best == config["special_ids"]["end"]:
            break
        yield best
        new = [best]
"""
_TRANSLATE = """

encoder, step = InferenceSession("encoder.onnx"), InferenceSession("decoder_step.onnx")
frame = config["frame"]

for line in sys.stdin:
    pieces = encode(line.rstrip("\\n"))
    source = np.array([[*frame["source_before"], *pieces, *frame["source_after"]]])
    memory = run(encoder, {"source": source})
    print(decode([*follow(frame["target_before"], memory)]))
"""
_CONTINUE = """

step = InferenceSession("decoder_step.onnx")

for line in sys.stdin:
    pieces = encode(line.rstrip("\\n"))
    pieces += follow([*config["frame"]["target_before"], *pieces], {})
    print(decode(pieces))
"""
_READ = """

encoder = InferenceSession("encoder.onnx")
frame = config["frame"]

for line in sys.stdin:
    pieces = encode(line.rstrip("\\n"))
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
    more = _STEP
    match bundle.model:
        case EncoderDecoder():
            title, parts = "Translation model", [_text(bundle), _FOLLOW, _TRANSLATE]
        case CausalLM():
            title, parts = "Language model", [_text(bundle), _FOLLOW, _CONTINUE]
        case _:
            read = [_text(bundle), _READ] if bundle.tokenizers else [_LOOK]
            title, parts, more = "Encoder", read, _BATCH
    begin = _BEGIN
    if not bundle.tokenizers:
        begin = begin.replace("from tokenizers import Tokenizer\n", "")
    written = _CARD
    for name, text in {
        "TITLE": title,
        "PROGRAM": begin + "".join(parts),
        "FILES": " and ".join(f"`{name}.onnx`" for name in graphs),
        "MORE": more,
    }.items():
        written = written.replace(name, text)
    return written


def _text(bundle: Bundle) -> str:
    """Choose how text becomes ids."""
    imported = any(isinstance(each, ImportedTokenizer) for each in bundle.tokenizers)
    return _IMPORTED_TEXT if imported else _TEXT
