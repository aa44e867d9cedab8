"""Benchmarks run to their end, on models too small to measure anything."""
