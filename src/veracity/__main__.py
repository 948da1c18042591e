"""The program: `veracity`, or `python -m veracity`."""

import os
import sys


def main() -> None:
    """Run the command line; say what it needs where that is not installed."""
    if "OMP_NUM_THREADS" not in os.environ:  # before NumPy starts a pool of threads that small products only wake
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from veracity.cli import main as run
    except ModuleNotFoundError as missing:
        from veracity.extras import remedy

        if not remedy(missing):
            raise
        print(f"veracity: {remedy(missing)}", file=sys.stderr)
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
