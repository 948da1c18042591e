"""The mathematics of the papers: arrays in, arrays out. Imports nothing else of veracity."""
