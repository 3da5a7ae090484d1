"""`python -m tests.openapi` writes the examples of both documents."""

import asyncio

from tests.openapi.files import FILES
from tests.openapi.recorder import written

for path, answers in FILES.items():
    path.write_text(written(asyncio.run(answers())), encoding="utf-8")
