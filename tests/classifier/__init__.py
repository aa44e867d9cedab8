"""Tests of dragoman.classifier."""
