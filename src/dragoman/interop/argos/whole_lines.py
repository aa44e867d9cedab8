"""A model for MiniSBD that leaves every line whole, so that a package needs no network.

Argos Translate cuts lines into sentences by a neural model of the library MiniSBD, which it
fetches when a package brings none. The smallest such model is this one: an ONNX graph whose scores
of a character are one number, so that its best class is always the first, "nothing ends here". The
last character of a line ends a sentence whatever the model says.

Numbers of fields are those of ``onnx.proto``.
"""

import json

from dragoman.protobuf import bytes_field, integer_field

_FLOAT, _INT64 = 1, 7  # element types
_SETTINGS = {
    "lang_code": "",
    "config": {"feat_funcs": ["space_before"], "max_seqlen": 1000, "no_ssplit": True},
    "vocab": {
        "lang": "",
        "idx": 0,
        "cutoff": 0,
        "lower": False,
        "_unit2id": {"<PAD>": 0, "<UNK>": 1},
        "_id2unit": ["<PAD>", "<UNK>"],
    },
}


def whole_lines() -> bytes:
    """Write the ONNX file: from ids (B, L) and features (B, L, 1), scores (B, L, 1)."""
    metadata = b"".join(
        bytes_field(14, bytes_field(1, name) + bytes_field(2, _text(value)))
        for name, value in _SETTINGS.items()
    )
    operators = bytes_field(8, bytes_field(1, "") + integer_field(2, 13))
    version = integer_field(1, 8)
    return version + bytes_field(2, "dragoman") + bytes_field(7, _graph()) + operators + metadata


def _graph() -> bytes:
    """Turn ids into floats with one more dimension."""
    to_float = integer_field(3, _FLOAT) + bytes_field(1, "to") + integer_field(20, 2)
    return b"".join(
        [
            _node("Cast", ["units"], "numbers", bytes_field(5, to_float)),
            _node("Unsqueeze", ["numbers", "last"], "scores"),
            bytes_field(2, "whole lines"),
            bytes_field(5, _axis("last", 2)),
            bytes_field(11, _value("units", _INT64, ("batch", "length"))),
            bytes_field(11, _value("features", _FLOAT, ("batch", "length", 1))),
            bytes_field(12, _value("scores", _FLOAT, ("batch", "length", 1))),
        ]
    )


def _node(operator: str, inputs: list[str], output: str, attributes: bytes = b"") -> bytes:
    names = b"".join(bytes_field(1, name) for name in inputs) + bytes_field(2, output)
    return bytes_field(1, names + bytes_field(4, operator) + attributes)


def _axis(name: str, axis: int) -> bytes:
    """Write a tensor that holds one integer."""
    return (
        integer_field(1, 1)
        + integer_field(2, _INT64)
        + bytes_field(8, name)
        + bytes_field(9, axis.to_bytes(8, "little"))
    )


def _value(name: str, element: int, shape: tuple[str | int, ...]) -> bytes:
    """Say of what type and shape an input or output is; a string is a size that may vary."""
    sizes = b"".join(
        bytes_field(1, bytes_field(2, size) if isinstance(size, str) else integer_field(1, size))
        for size in shape
    )
    tensor = integer_field(1, element) + bytes_field(2, sizes)
    return bytes_field(1, name) + bytes_field(2, bytes_field(1, tensor))


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
