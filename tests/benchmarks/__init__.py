"""The benchmark: `python -m tests.benchmarks`, the emulator as a ratio of a bare Starlette route.

Run it on a machine that does nothing else. Only ratios count, and only those of one run: both
servers are up together and take turns in short bursts, so that what else the machine does meets
both alike. Exit code 0: every gate holds; 1: a gate was missed or a server failed; 3: inconclusive,
because the limit against itself was outside its band.
"""
