"""Files on disk: outputs written whole or not at all, and never over a file that is read."""
