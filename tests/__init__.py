"""Tests; the folders mirror those of ``src/dragoman``."""
