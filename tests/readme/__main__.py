"""`python -m tests.readme` writes the generated tables of README.md anew."""

from tests.readme.document import README, readme
from tests.readme.generated import regenerated

README.write_text(regenerated(readme()), encoding="utf-8")
