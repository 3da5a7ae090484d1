"""The history of an account and mode, as a file."""

from starlette.requests import Request
from starlette.responses import Response

from emulator.control.calls import Calls
from emulator.engine.recording.recorder import Recorder

MEDIA_TYPE = "application/yaml"


class RecordingCalls:
    """`/recording`."""

    def __init__(self, calls: Calls, recording: Recorder) -> None:
        self._calls = calls
        self._recording = recording

    async def read(self, request: Request) -> Response:
        call = await self._calls.decode(request)
        return Response(await self._recording.record(call.owner), media_type=MEDIA_TYPE)
