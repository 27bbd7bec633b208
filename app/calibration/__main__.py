"""`python -m app.calibration`: fit the constants, cross-validate, take ingredients out, write the results."""

import sys

from app.calibration.run import calibrate

if __name__ == "__main__":
    calibrate(say=lambda line: print(line, file=sys.stderr, flush=True))  # noqa: T201
