"""HTTP: models answer requests; nothing else in the package knows it."""

from dragoman.serving.app import make_app
from dragoman.serving.limits import Limits
from dragoman.serving.loading import load_served
from dragoman.serving.served import Served
from dragoman.serving.server import serve

__all__ = ["Limits", "Served", "load_served", "make_app", "serve"]
