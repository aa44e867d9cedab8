"""Requests that are wrong, as bytes: answered 4xx, or not at all where they are no HTTP."""

import gzip
import random
import zlib
from collections.abc import Iterator

from tests.serving.raw import request

GOOD = {
    "/v1/translate": {
        "text": '"der hund ."',
        "model": '"de-en"',
        "target_language": "null",
        "beam": "2",
        "alpha": "0.6",
        "n_best": "1",
        "max_length": "9",
        "sentences": "false",
        "stream": "false",
    },
    "/v1/score": {"source": '["der hund ."]', "target": '["the dog ."]'},
    "/v1/attention": {"source": '"der hund ."', "target": '"the dog ."'},
    "/v1/alternatives": {
        "source": '"der hund ."',
        "target": '"the dog ."',
        "position": "4",
        "count": "2",
    },
    "/translate": {
        "q": '"der hund ."',
        "source": '"de"',
        "target": '"en"',
        "format": '"text"',
        "alternatives": "1",
    },
    "/detect": {"q": '"der hund ."'},
}
_BROKEN = [
    "NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 5000, "undefined", "0x10", "01", "+1",
    "1_000", "'a'", '"a', '"\\x41"', '"\\u12"', '"\\ud83d"', '"\\ude00\\ud83d"', '"a\nb"', '"a\0b"',
    '"a\x1fb"', "", "{", "[", "]", "{}", '{"a": "b"}', "[[[]]]", '[["a"]]', "[null]", "[5]", "[{}]",
    '["a", "\\udc00"]', "true", "-0.5",
]  # fmt: skip  # none of these is a text, a list of texts, or a number that is asked for
_FIELDS = {
    "alpha": ["null", '"a"', "10.5", "-1e9", "[0.6]"],
    "beam": ["null", '"4"', "2.5", "0", "17", "1" + "0" * 100, "1" + "0" * 4000],
    "n_best": ["null", '"1"', "1.5", "0", "3", "1" + "0" * 4000],
    "max_length": ['"9"', "9.5", "0", "10001", "1" + "0" * 4000],
    "position": ["null", '"4"', "4.5", "-1"],
    "count": ["null", '"4"', "4.5", "0", "21", "1" + "0" * 4000],
    "sentences": ["null", "0", "1", '"true"'],
    "stream": ["null", "0", "1", '"true"'],
    "alternatives": ["null", '"a"', "1.5", "-1"],
    "format": ["5", '"xml"', '["text"]'],
    "model": ["5", '"other"', '"../../etc/passwd"', '["de-en"]'],
    "target_language": ["5", '"fr"', '["en"]'],
}
_RIGHT = {("true", "sentences"), ("true", "stream"), ("-0.5", "alpha")}  # which is no mistake


def fields() -> Iterator[bytes]:
    """Give what is wrong in one field; and without a field, and with one more."""
    for path, good in GOOD.items():
        for name in good:
            for wrong in [*_BROKEN, *_FIELDS.get(name, ["null", "5", "7e5"])]:
                if (wrong, name) not in _RIGHT:
                    yield request(path, _object({**good, name: wrong}))
        for name in good.keys() & {"text", "source", "target", "position", "q"}:
            yield request(path, _object({key: good[key] for key in good if key != name}))
        if path.startswith("/v1"):
            yield request(path, _object({**good, "unknown": "1"}))
            yield request(path, _object({**good, "k" * 50_000: "1"}))


def _object(pairs: dict[str, str]) -> bytes:
    inside = ", ".join(f'"{name}": {value}' for name, value in pairs.items())
    return f"{{{inside}}}".encode("utf-8", "surrogatepass")


def bodies() -> Iterator[bytes]:
    """Give bodies that are no JSON in UTF-8, or no object."""
    for path, good in GOOD.items():
        whole = _object(good)
        text = whole.decode()
        for coding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"):
            yield request(path, text.encode(coding))
        for bad in (
            b"\xff",
            b"\xc3",
            b"\xc0\xaf",
            b"\xe0\x80\xaf",
            b"\xed\xa0\xbd",
            b"\xf5\x80\x80\x80",
        ):
            yield request(path, whole.replace(b"hund", bad))
        for deep in (b"[", b'{"a":', b'[{"a":', b"[]" * 1000 + b"[", b'{"text":['):
            yield request(path, deep * 100_000 if len(deep) < 9 else deep)
        yield request(path, b"[" * 100_000 + b"]" * 100_000)
        yield request(path, b'{"q":' * 20_000 + b'"a"' + b"}" * 20_000)
        for bad in (
            b"",
            b" ",
            b"null",
            b"5",
            b"[]",
            b'"text"',
            b"true",
            b"{}",
            b"{,}",
            b"\0",
            b"\0" * 999,
        ):
            yield request(path, bad)
        for bad in (whole[:-1], whole + b"}", whole + b"x", whole + whole, b"(" + whole + b")"):
            yield request(path, bad)
        yield request(path, b"<text>der hund</text>")
        yield request(path, whole.replace(b'"', b"'"))
        yield request(path, b"a" * 1_500_000)
        yield request(path, _object({**good, next(iter(good)): '"' + "a" * 30_000 + '"'}))


def kinds() -> Iterator[bytes]:
    """Give what is not of the type that its head tells, or of one that is not spoken here."""
    part = b'--x\r\nContent-Disposition: form-data; name="q"\r\n\r\nder hund\r\n--x--\r\n'
    for path, good in GOOD.items():
        whole = _object(good)
        for coding, packed in (
            ("gzip", gzip.compress(whole)),
            ("deflate", zlib.compress(whole)),
            ("br", b"\x8b\x03\x80" + whole),
            ("gzip", gzip.compress(b" " * 10_000_000)),
            ("gzip", whole),
            ("identity, gzip", whole),
            ("x" * 999, whole),
        ):
            yield request(path, packed, also=[f"Content-Encoding: {coding}"])
        parts = () if path == "/detect" else (part, part[:-9])  # which needs no more
        for body in (*parts, b"--x", b"", whole):
            yield request(path, body, kind="multipart/form-data; boundary=x")
        yield request(path, part, kind="multipart/form-data")
        for body in (b"p", b"q=%FF&source=de&target=en", b"q=\xff", b"&" * 900_000, b"q[]=a&q[]=b"):
            yield request(path, body, kind="application/x-www-form-urlencoded")
        if path.startswith("/v1"):
            for kind in (None, "", "text/plain", "json", "application/xml", "\xff", "a/b;" * 999):
                yield request(path, whole, kind=kind)
            yield request(path, whole, kind="application/x-www-form-urlencoded")


def paths() -> Iterator[bytes]:
    """Give methods and paths that are not answered."""
    for path in GOOD:
        for method in ("GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW", "post"):
            yield f"{method} {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
    for path in (
        "/v1/translate/", "/V1/TRANSLATE", "//v1/translate", "/v1//translate", "/v1/translate%00",
        "/v1/translate;a=b", "/translate/", "/translate/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%5c..%5cwindows", "/v1", "/v1/", "/v1/x", "/%", "/%zz", "/%ff%fe", "/%00",
        "/%0d%0aSet-Cookie:a",
        "/" + "a" * 60_000, "/" + "a/" * 20_000, "/" + "%41" * 10_000, "/static/x",
        "/translate_file",
        "/docs", "/redoc", "*", "http://", "http://other/v1/translate/", "localhost:80", "?",
        "#", "\\",
        "/v1/translate?" + "a" * 99_000,
    ):  # fmt: skip
        yield request(path, _object(GOOD["/v1/translate"]))
    for query in ("", "%", "&" * 9999, "a=" + "b" * 50_000, "text=a&beam=%00", "=" * 9999):
        yield f"GET /v1/translate?{query} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
        yield f"GET /translate?q=a&{query} HTTP/1.1\r\nHost: a\r\n\r\n".encode()


def heads() -> Iterator[bytes]:
    """Give heads that break the rules of HTTP (RFC 9112), or are too large."""
    good = _object(GOOD["/v1/translate"])
    start = "POST /v1/translate HTTP/1.1\r\nContent-Type: application/json\r\n"
    stated = f"Content-Length: {len(good)}\r\n"
    for lines in (
        stated,  # no host
        stated + "Host: a\r\nHost: b\r\n",
        "Host: a\r\n" + "Content-Length: -5\r\n",
        "Host: a\r\n" + "Content-Length: +5\r\n",
        "Host: a\r\n" + "Content-Length: 0x5\r\n",
        "Host: a\r\n" + "Content-Length: 5.0\r\n",
        "Host: a\r\n" + "Content-Length: \r\n",
        "Host: a\r\n" + "Content-Length: five\r\n",
        "Host: a\r\n" + "Content-Length: 1 2\r\n",
        "Host: a\r\n" + "Content-Length: 1, 2\r\n",
        "Host: a\r\n" + "Content-Length: " + "9" * 19 + "\r\n",
        "Host: a\r\n" + "Content-Length: " + "9" * 5000 + "\r\n",
        "Host: a\r\n" + stated + "Content-Length: 3\r\n",
        "Host: a\r\n" + stated + "Transfer-Encoding: chunked\r\n",
        "Host: a\r\n" + "Transfer-Encoding: gzip\r\n",
        "Host: a\r\n" + "Transfer-Encoding: chunked, chunked\r\n",
        "Host: a\r\n" + "Transfer-Encoding: xchunked\r\n",
        "Host: a\r\n" + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Host: a\r\n" + stated + "Bad Name: a\r\n",
        "Host: a\r\n" + stated + "Name : a\r\n",
        "Host: a\r\n" + stated + ": a\r\n",
        "Host: a\r\n" + stated + "no colon\r\n",
        "Host: a\r\n" + stated + "A: b\x00c\r\n",
        "Host: a\r\n" + stated + "A: b\rc\r\n",
        " Host: a\r\n" + stated,
        "Host: a\r\n" + stated + "Name\x7f: a\r\n",
        "Host: a\r\n" + stated + "Näme: a\r\n",
        "Host: a\r\n" + stated + "A: " + "b" * 100_000 + "\r\n",
        "Host: a\r\n" + stated + "b" * 100_000 + ": a\r\n",
        "Host: a\r\n" + stated + "".join(f"A{n}: b\r\n" for n in range(20_000)),
        "Host: a\r\n" + stated + "Expect: 100-continue\r\nContent-Length: 2\r\n",
    ):
        yield (start + lines + "\r\n").encode("latin-1") + good
    chunked = (start + "Host: a\r\nTransfer-Encoding: chunked\r\n\r\n").encode()
    size = f"{len(good):x}".encode()
    for body in (
        b"\r\n", b"x\r\n", b"-5\r\nabcde\r\n0\r\n\r\n", size + b"\n" + good + b"\r\n0\r\n\r\n",
        size + b"\r\n" + good + b"0\r\n\r\n", b"5\r\nabcdefgh\r\n0\r\n\r\n", b"f" * 30 + b"\r\nab",
        b"0x5\r\nabcde\r\n0\r\n\r\n", b"5;" + b"a" * 100_000, b"0\r\n\r\n",
        b"1\r\n{\r\n0\r\nBad Name: a\r\n\r\n",
        b"0\r\n" + b"A: b\r\n" * 40_000 + b"\r\n",
    ):  # fmt: skip
        yield chunked + body


def strangers(rng: random.Random) -> Iterator[bytes]:
    """Give what is another protocol, or none."""
    yield from (
        b"GET /\r\n", b"GET /v1/models\r\n\r\n", b"\r\n\r\n\r\n\r\nx\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/\r\nHost: a\r\n\r\n", b"GET / http/1.1\r\nHost: a\r\n\r\n",
        b"GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n", b"GET / HTTP/1.1 x\r\nHost: a\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", b"GET / HTTP/2.0\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: \xff\xff\0\r\n\r\n", b"EHLO a\r\n\r\n", b"SSH-2.0-a\r\n\r\n",
        b"\0" * 200 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)) + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"{}\r\n\r\n", b"A" * 200_000,
        b"GET /v1/translate HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        b"GET /v1/translate HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\n"
        b"Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
        b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
    )  # fmt: skip
    for _ in range(60):
        yield rng.randbytes(rng.randint(1, 3000)) + b"\r\n\r\n"
    good = request("/v1/translate", _object(GOOD["/v1/translate"]))
    line = good.index(b"\r\n")
    for _ in range(40):  # a byte of the first line is one that may not stand there
        place = rng.randrange(line)
        yield good[:place] + bytes([rng.choice([0, 1, 9, 127, 128, 200, 255])]) + good[place + 1 :]
