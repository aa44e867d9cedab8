"""What the commands of a page find where they run: small files and models under its names."""

import functools
import gzip
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np

import dragoman
from dragoman.data import SampleCorpus, sample_corpus
from tests.site.pages import ROOT, blocks, shell_blocks

TERMS = "Hund\tdog\nKatze\tcat\n"
PO = """msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

msgid "Die Uhren sind grün."
msgstr ""
"""
XLIFF = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2"><file source-language="de" target-language="en" original="a"
datatype="plaintext"><body><trans-unit id="1"><source>Die Uhren sind grün.</source></trans-unit>
</body></file></xliff>
"""
QT = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de_DE"><context><name>Main</name><message>
<source>Die Uhren sind grün.</source>
<translation type="unfinished"></translation></message></context></TS>
"""
TMX = """<?xml version="1.0" encoding="UTF-8"?>
<tmx version="1.4"><header creationtool="a" creationtoolversion="1" segtype="sentence" o-tmf="a"
adminlang="en" srclang="en" datatype="plaintext"/><body>
<tu><tuv xml:lang="en"><seg>The clocks are green.</seg></tuv>
<tuv xml:lang="de"><seg>Die Uhren sind grün.</seg></tuv></tu></body></tmx>
"""
HTML = (
    "<!DOCTYPE html><html lang=de><title>Uhren</title><p>Die Uhren sind <b>grün</b>.</p></html>\n"
)
MODELS = (
    "MODEL",
    "SMALL",
    "runs/mine",
    "runs/general",
    "runs/multi30k",
    "runs/other",
    "runs/en-zh",
    "runs/large",
    "runs/small",
    "runs/wmt14-en-fr-base",
)
FEW = {  # instead of the numbers of the recipes
    "updates": 4,
    "steps": 6,
    "batch_tokens": 512,
    "warmup": 2,
    "checkpoint_every": 2,
    "log_every": 2,
    "every": 4,
    "size": 400,
}
VARIANTS = 2  # of a comparison
TREES = [
    "( (S (NP-SBJ (DT the) (NN dog)) (VP (VBZ sleeps)) (. .)) )",
    "( (S (NP-SBJ (DT the) (NN cat)) (VP (VBZ sees) (NP (DT the) (NN dog))) (. .)) )",
    "( (S (NP-SBJ (PRP it)) (VP (VBZ sleeps)) (. .)) )",
    "( (S (NP-SBJ (PRP it)) (VP (VBZ sees) (NP (DT the) (NN cat))) (. .)) )",
]
SHAPE = ("model.layers=1", "model.d_model=32", "model.heads=2", "model.d_ff=64")
_SETTINGS = ("training.steps=6", "training.batch_tokens=1024", "training.checkpoint_every=3")
_SETTINGS += ("training.log_every=3", "validation.every=3", "training.warmup=2")


def cut_down(arguments: list[str]) -> list[str]:
    """Make a training a matter of seconds; other commands stay as they are."""
    if arguments[:1] == ["compare"] and "--minutes" in arguments:
        place = arguments.index("--minutes") + 1
        return [*arguments[:place], "0.01", *arguments[place + 1 :]]
    if arguments[:1] not in (["train"], ["verify-resume"]) or "--help" in arguments:
        return arguments
    settings = _SETTINGS if "--from" in arguments else (*_SETTINGS, *SHAPE)
    few = ["--updates", "4", "--stop-at", "2"] if arguments[0] == "verify-resume" else []
    return [*arguments, *few, *(word for each in settings for word in ("--set", each))]


def train_model(folder: Path) -> Path:
    """Train a translator for some seconds; a run folder like any other."""
    write_texts(folder)
    recipe = dragoman.choose_recipe(
        folder / "train.de",
        folder / "train.en",
        ["training.steps=60", "tokenizer.size=400", "training.checkpoint_every=20", *SHAPE],
    )
    for _ in dragoman.train(recipe, folder / "run"):
        pass
    return folder / "run"


@functools.cache
def _corpus() -> SampleCorpus:
    return sample_corpus()


def write_texts(folder: Path) -> None:
    """Write parallel text in several languages, some of them made up from the others' letters."""
    corpus = _corpus()
    pairs = {"train": corpus.train[:600], "dev": corpus.validation[:40], "test": corpus.test[:40]}
    pairs |= {"medical": corpus.train[600:800], "medical-test": corpus.test[40:60]}
    pairs |= {"news": corpus.test[60:66], "a": corpus.test[70:76], "mine": corpus.train[:200]}
    for name, chosen in pairs.items():
        german, english = ([pair[side] for pair in chosen] for side in (0, 1))
        texts = {"de": german, "en": english, "swa": german, "nl": german}
        for language, lines in (texts | {"zh": map(_chinese, german)}).items():
            write_lines(folder / f"{name}.{language}", lines)
    rows = [f"{german}\t{english}" for german, english in corpus.train[:200]]
    for name in ("pairs.tsv", "genuine.tsv", "made.tsv", "pairs.tsv.gz"):
        write_lines(folder / name, rows)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines, and the folders above them; packed where the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def _chinese(text: str) -> str:
    return "".join(chr(0x4E00 + ord(letter) % 97) for letter in text if letter.isalpha()) + "。"


def set_stage(page: Path, folder: Path, model: Path) -> None:
    """Put into a folder whatever the commands of a page read.

    Args:
        page: whose commands will run there.
        folder: where; empty. Some data comes beside it, as it lies beside the repository.
        model: a trained translator.
    """
    write_texts(folder)
    text = "\n".join(block.text for block in shell_blocks(page))
    made = re.findall(r"--run (\S+)", text)
    for name in {*MODELS} - {*made}:
        shutil.copytree(model, folder / name)
    _write_documents(folder)
    _write_recipes(page, folder)
    _write_other_corpora(folder)
    _write_public_data(folder)
    _write_trees(folder)
    if "DIR data/" not in text:  # of recipes/prepare.py; elsewhere DIR is a folder to write
        shutil.rmtree(folder / "DIR")
    shutil.copytree(ROOT / "benchmarks", folder / "benchmarks")
    (folder / "docs/pictures").mkdir(parents=True)


def _write_documents(folder: Path) -> None:
    texts = {"de.po": PO, "job.xlf": XLIFF, "app_de.ts": QT, "memory.tmx": TMX, "pairs.tmx": TMX}
    texts |= {"page.html": HTML, "terms.tsv": TERMS, "text": "Die Uhren sind grün.\n"}
    texts |= {"keys.txt": "a-key-of-some-length\n", "prompts.txt": "ROMEO:\n"}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def _write_recipes(page: Path, folder: Path) -> None:
    """Write the recipes of the repository, a small one, and those that the page itself shows."""
    shutil.copytree(ROOT / "recipes", folder / "recipes")
    for path in (folder / "recipes").glob("*.toml"):
        path.write_text(_scaled(path.read_text("utf-8")), encoding="utf-8")
    small = 'recipe = "RECIPE"\nupdates = 4\nset = ["training.log_every=2"]\n'
    small += '[[variant]]\nname = "as it is"\n[[variant]]\nname = "no dropout"\n'
    small += 'set = ["model.dropout=0.0"]\n'
    write_lines(folder / "mine.toml", [small])
    recipe = """[data]
train = { source = "train.de", target = "train.en" }
validation = { source = "dev.de", target = "dev.en" }
[tokenizer]
size = 400
[model]
preset = "tiny"
layers = 1
d_model = 32
heads = 2
d_ff = 64
[training]
steps = 6
batch_tokens = 1024
warmup = 2
checkpoint_every = 3
"""
    for name in ("recipe.toml", "my-model.toml", "RECIPE"):
        write_lines(folder / name, [recipe])
    for block in blocks(page):
        named = re.match(r"# (\S+\.toml)\n", block.text)
        if block.language == "toml" and named:
            text = re.sub(r"^updates = \d+", "updates = 4", block.text, flags=re.MULTILINE)
            text = re.sub(r"^seeds = .*", "seeds = [1]", text, flags=re.MULTILINE)
            write_lines(folder / named[1], [text])


def _scaled(recipe: str) -> str:
    """Make numbers of a recipe small, and keep the first variants of a comparison."""
    for key, few in FEW.items():
        recipe = re.sub(
            rf'^( *"?(?:\w+\.)?{key} ?= ?)[\d_]+', rf"\g<1>{few}", recipe, flags=re.MULTILINE
        )
    return "\n[[variant]]".join(recipe.split("\n[[variant]]")[: 1 + VARIANTS])


def _write_other_corpora(folder: Path) -> None:
    """Write what the recipes of the repository learn from, a little of each."""
    english = [pair[1] for pair in _corpus().train[:300]]
    labelled = [f"{line}\t{'pos' if len(line) % 2 else 'neg'}" for line in english]
    for part in ("train", "validation", "test"):
        write_lines(folder / f"data/polarity/{part}.tsv", labelled)
        write_lines(folder / f"data/shakespeare/{part}.txt", english * 4)
    write_lines(folder / "lines.txt", english[:5])
    write_lines(folder / "play.txt", english * 2)
    (folder / "data/digits").mkdir()
    images = np.random.default_rng(1).integers(0, 255, (400, 8, 8), dtype=np.uint8)
    for part in ("train", "test"):
        np.savez(folder / f"data/digits/{part}.npz", images=images, labels=np.arange(400) % 10)


def _write_public_data(folder: Path) -> None:
    """Write, where recipes and ``recipes/prepare.py`` look for public text, a little of our own."""
    corpus, beside = _corpus(), folder.parent / "shared/data"
    parts = {"train": corpus.train[:300], "val": corpus.validation[:8], "test": corpus.test[:8]}
    parts |= {"dev": parts["val"], "validation": parts["val"], "test_2016_flickr": parts["test"]}
    for part, pairs in parts.items():
        german, english = ([pair[side] for pair in pairs] for side in (0, 1))
        texts = {"de": german, "en": english, "fr": german, "swa": german}
        for language, lines in (texts | {"zh": [*map(_chinese, german)]}).items():
            for place in (folder / "DIR", beside / "multi30k"):
                write_lines(place / f"{part}.{language}.gz", lines)
            for place in ("wmt14-de-en", "wmt14-fr-en", "news", "multi30k"):
                write_lines(folder / f"data/{place}/{part}.{language}", lines)
        rows = [f"{target}\t{source}" for source, target in pairs]
        write_lines(beside / f"tatoeba/eng-deu.{part}.tsv.gz", rows)
        words = sorted({*" ".join(english).split()})
        write_lines(
            folder / f"data/cmudict/{part}.tsv.gz", [f"{word}\t{' '.join(word)}" for word in words]
        )
        for name in (f"{language}-{part}" for language in ("turkish", "finnish")):
            name = name.replace("train", "train-high")
            rows = [f"{word}\t{word}s\tN;PL" for word in words]
            write_lines(folder / f"DIR/{name}.tsv.gz", rows)
    for side, language in enumerate(("de", "en")):
        lines = [pair[side] for pair in parts["train"]]
        write_lines(folder / f"data/news/newstest2013.{language}.gz", lines)
        for ending in ("", ".gz"):
            path = folder / f"test_2016_flickr.{language}{ending}"
            write_lines(path, [pair[side] for pair in parts["test"]])
    english = [pair[1] for pair in parts["train"]]
    write_lines(folder / "input.txt.gz", english * 4)
    for label in ("pos", "neg"):
        write_lines(folder / f"DIR/rt-polarity.{label}.gz", (f"{label} {row}" for row in english))


def _write_trees(folder: Path) -> None:
    """Write a treebank of a few trees, and what a parser would read and write."""
    for part, trees in {"train": TREES * 5, "dev": TREES[:2], "test": TREES[2:]}.items():
        write_lines(folder / f"DIR/{part}.trees.gz", trees)
    for name in ("gold.trees", "found.trees"):
        write_lines(folder / name, TREES[2:])
    for name in ("sentences.txt", "test.words"):
        write_lines(folder / name, ["it sleeps .", "it sees the cat ."])
    write_lines(folder / "test.tokens", ["(S (NP 1 )NP (VP 2 )VP . )S"] * 2)
