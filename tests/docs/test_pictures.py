"""The pictures of the documents show the present pages."""

import json

from tests.docs.pictures import DIGESTS, file_digest, pictures


async def test_the_pictures_show_the_present_pages() -> None:
    recorded = json.loads(DIGESTS.read_text(encoding="utf-8"))
    async with pictures() as shown:
        present = {
            name: {"shows": await picture.digest(), "file": file_digest(name)}
            for name, picture in shown.items()
        }
    assert present == recorded, "make them again: python -m tests.docs.pictures"
