"""Web pages through a model: taken apart in threads, translated with everybody's texts.

What is translated of a page waits in the queue of its model as plain texts do, and shares batches
with them. Only the thread that takes a page apart waits for it, so the server goes on.
"""

import html
import re
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import Any

from dragoman.documents import fill_documents
from dragoman.errors import DataError
from dragoman.serving.desk import Desk, RefusedError
from dragoman.serving.served import Align, Served, Translate, Way
from dragoman.translator import Fragment, language_tag, split_long, translate_marked

_THREADS = 64  # requests that are in the making; more wait
_TAG = re.compile(r"<[^<>]*>")
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_MARK = "\ufeff"  # says that a page is UTF-8, whatever it claims to be


class WebPages:
    """Translates web pages, or parts of pages.

    Args:
        desk: whose models translate.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._threads = ThreadPoolExecutor(_THREADS, "dragoman-pages")

    async def translate(self, model: Served, way: Translate, pages: Sequence[str]) -> list[str]:
        """Translate what people read of pages; tags, scripts and comments stay as they are.

        Raises:
            RefusedError: a page is not understood, or as in ``Desk.ask``.
        """
        work = _Work(self._desk, model, way)
        try:
            (made,) = await self._desk.answers([self._threads.submit(work.fill, pages)])
        finally:
            work.stop()
        return made


def text_of(page: str) -> str:
    """Give about what people read of a page, to guess its language by.

    References that no character has, such as numbers of thousands of digits, stay as they are.
    """
    text = _TAG.sub(" ", page)
    return _REFERENCE.sub(lambda reference: html.unescape(reference[0]), text)


class _Work:
    """The pages of one request. Runs in a thread; what is no longer waited for is given up."""

    def __init__(self, desk: Desk, model: Served, way: Translate) -> None:
        self._desk, self._model, self._way = desk, model, way
        self._lock, self._stopped = Lock(), False
        self._waiting: list[Future[Any]] = []

    def fill(self, pages: Sequence[str]) -> list[str]:
        named = {f"q {number}": (_MARK + page).encode() for number, page in enumerate(pages)}
        try:
            made = fill_documents(named, "html", self._fragments)
        except DataError as error:
            raise RefusedError(400, str(error)) from None
        return [data.decode().removeprefix(_MARK) for data, _ in made]

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for future in self._waiting:
                future.cancel()

    def _fragments(self, fragments: list[Fragment]) -> list[Fragment]:
        translator, language = self._model.translator, self._way.target_language
        lead = language_tag(translator.bundle.source_tokenizer, language)
        return translate_marked(
            lambda texts: [each.text for each in self._ask(self._way, texts)],
            partial(self._ask, Align(language)),
            fragments,
            split=partial(split_long, translator, len(lead)),
        )

    def _ask(self, way: Way, items: Sequence[Any]) -> list[Any]:
        with self._lock:
            if self._stopped:
                raise RefusedError(503, "nobody waits for it any more")
            self._waiting = self._desk.submit(self._model, way, items)
        return [future.result() for future in self._waiting]
