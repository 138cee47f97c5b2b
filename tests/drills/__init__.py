"""Drills (./dev drill): a whole starling that people use is broken on purpose."""
