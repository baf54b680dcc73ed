"""Randomness for your own protocols: the public names of ``core.randomness``."""

from .core.randomness import KEY_BYTES, Rng, Seed, Source, Stream, as_generator, as_stream, subkey

__all__ = ["KEY_BYTES", "Rng", "Seed", "Source", "Stream", "as_generator", "as_stream", "subkey"]
