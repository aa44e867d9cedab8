"""Packages of Argos Translate, written for that program and read from it."""

from dragoman.interop.argos.archive import is_package
from dragoman.interop.argos.certificate import certify_argos
from dragoman.interop.argos.client import ArgosClient, as_argos, comparable_search
from dragoman.interop.argos.limits import refuse_beyond_argos
from dragoman.interop.argos.parts import ArgosParts
from dragoman.interop.argos.reading import read_argos
from dragoman.interop.argos.writing import Sentences, write_argos

__all__ = [
    "ArgosClient",
    "ArgosParts",
    "Sentences",
    "as_argos",
    "certify_argos",
    "comparable_search",
    "is_package",
    "read_argos",
    "refuse_beyond_argos",
    "write_argos",
]
