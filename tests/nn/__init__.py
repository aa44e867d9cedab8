"""Tests of the parts."""
