"""The fixtures for a merchant's tests: an emulator for the run, and an account for each test.

Pytest loads `entry`, which is installed as `etb_payments_emulator_pytest`. The other modules are
loaded when a fixture is used, from their files and as part of a package `etb_payments_emulator`,
because a merchant may have a package `emulator`. So all imports here are relative, of this package,
of `domain` and of `http`.
"""
