"""A server on loopback with two small models that learned four sentences, and a real browser."""

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import uvicorn
from torch.nn import functional

from dragoman.data import pad_rows
from dragoman.serving.app import make_app
from dragoman.serving.limits import Limits
from dragoman.serving.served import Served
from dragoman.translator import Translator
from tests.fixtures import ENGLISH, GERMAN, encoder_decoder, tiny_bundle

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


def taught(seed: int) -> Translator:
    """Teach a tiny model the four sentences of the fixtures by heart."""
    bundle = tiny_bundle(layers=2, seed=seed)
    model, tokenizer = encoder_decoder(bundle), bundle.target_tokenizer
    start, end, padding = tokenizer.special.start, tokenizer.special.end, bundle.config.padding
    sources = pad_rows([[*tokenizer.encode(text), end] for text in GERMAN], padding)
    targets = pad_rows([[start, *tokenizer.encode(text), end] for text in ENGLISH], padding)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(80):
        logits = model(sources, targets[:, :-1]).flatten(0, 1)
        wanted = targets[:, 1:].flatten()
        optimizer.zero_grad()
        functional.cross_entropy(logits, wanted, ignore_index=padding).backward()
        optimizer.step()
    return Translator(bundle)


@contextmanager
def serving(
    translators: dict[str, Translator], limits: Limits | None = None, **options: Any
) -> Iterator[str]:
    """Serve German-English models on a free port of loopback; gives the address."""
    limits = limits or Limits()
    models = [
        Served(name, each, limits, source_language="de", target_languages=["en"])
        for name, each in translators.items()
    ]
    app = make_app(models, limits, **options)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run, name="page-server")
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)
        for model in models:
            assert model.queue.stop(20)
