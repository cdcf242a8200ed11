"""The library aiohttp as a client: commands as JSON lines on stdin, reports on stdout."""
import asyncio
import json
import sys

import aiohttp


def report(**members):
    print(json.dumps(members), flush=True)


async def commands():
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        yield json.loads(line)


async def receive(socket):
    while True:
        message = await socket.receive()
        if message.type == aiohttp.WSMsgType.TEXT:
            report(frame=message.data)
        elif message.type == aiohttp.WSMsgType.PING:
            report(pinged=True)
            await socket.pong(message.data)
        elif message.type == aiohttp.WSMsgType.PONG:
            report(ponged=True)
        elif message.type == aiohttp.WSMsgType.CLOSE:
            return message.data, message.extra
        else:
            return socket.close_code, ""


async def main(url, protocol):
    async with aiohttp.ClientSession() as session:
        socket = await session.ws_connect(url, protocols=[protocol], autoping=False)
        report(opened=socket.protocol)
        receiving = asyncio.create_task(receive(socket))

        async def obey():
            async for command in commands():
                if "send" in command:
                    await socket.send_str(command["send"])
                elif "ping" in command:
                    await socket.ping()
                elif "close" in command:
                    # Only without a receiver the library waits for the close of the server.
                    receiving.cancel()
                    await socket.close(code=command["close"])
                    report(code=socket.close_code)

        obeying = asyncio.create_task(obey())
        try:
            code, reason = await receiving
            report(code=code, reason=reason)
            obeying.cancel()
        except asyncio.CancelledError:
            await obeying


asyncio.get_event_loop().run_until_complete(main(sys.argv[1], sys.argv[2]))
