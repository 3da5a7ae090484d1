"""How a merchant's tests come to an emulator of their own, and what they can do to it.

Pytest loads `entry`, which is installed under a name of its own, and that the rest when a fixture
is used: from its files, as part of a package `etb_payments_emulator`, because a merchant may have a
package `emulator`, too. So modules here import each other, and what little they need of floors
below, by relative imports alone.
"""
