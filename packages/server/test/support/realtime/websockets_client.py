"""The library websockets as a client: commands as JSON lines on stdin, reports on stdout."""
import asyncio
import json
import logging
import sys

import websockets


def report(**members):
    print(json.dumps(members), flush=True)


class PingLog(logging.Handler):
    """Reports the pings that the library receives; it answers them itself."""

    def emit(self, record):
        frame = record.args[0] if record.msg == "< %s" and record.args else None
        if frame is not None and getattr(frame, "opcode", None) == 9:
            report(pinged=True)


async def commands():
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        yield json.loads(line)


async def receive(socket):
    try:
        async for text in socket:
            report(frame=text)
    except websockets.ConnectionClosedError:
        pass


async def main(url, protocol):
    log = logging.getLogger("websockets.client")
    log.setLevel(logging.DEBUG)
    log.addHandler(PingLog())
    log.propagate = False
    socket = await websockets.connect(url, subprotocols=[protocol], ping_interval=None)
    report(opened=socket.subprotocol)
    receiving = asyncio.create_task(receive(socket))

    async def obey():
        async for command in commands():
            if "send" in command:
                await socket.send(command["send"])
            elif "fragments" in command:
                await socket.send(iter(command["fragments"]))
            elif "ping" in command:
                await (await socket.ping())
                report(ponged=True)
            elif "close" in command:
                await socket.close(command["close"])

    obeying = asyncio.create_task(obey())
    await asyncio.wait([receiving])
    report(code=socket.close_code, reason=socket.close_reason)
    obeying.cancel()


asyncio.get_event_loop().run_until_complete(main(sys.argv[1], sys.argv[2]))
