"""`python -m tests.openapi` writes the examples of both documents anew."""

import asyncio

from tests.openapi.examples import written
from tests.openapi.files import FILES

for path, answers in FILES.items():
    path.write_text(written(asyncio.run(answers())), encoding="utf-8")
