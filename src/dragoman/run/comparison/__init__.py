"""The parts of a comparison: its file, the process of one variant, its table and its picture."""
