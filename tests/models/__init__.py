"""Tests of records and of the modules built from them."""
