"""Memory of an idle socket in the web process. Streams, starts and a soak: benchmarks/against_relay.py.

python benchmarks/delivery.py
"""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import aiohttp

from benchmarks.stage import Stage, machine, memory_kb, stage
from benchmarks.watchers import Address, opened

# Sockets before the memory is read first, and in all.
WARM, ALL = 100, 1100


async def hold(running: Stage) -> None:
    address, pid = Address(running.url, running.cookies), running.processes[0].pid
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        sockets, sizes = [], []
        for count in (WARM, ALL):
            while len(sockets) < count:
                socket = await address.connect(http, len(sockets))
                await opened(socket)
                sockets.append(socket)
            await asyncio.sleep(2)
            sizes.append(memory_kb(pid))
        size = (sizes[1] - sizes[0]) / (ALL - WARM)
        print(f"an idle socket: {size:.1f} kB  goal ≤ 30 kB  {'reached' if size <= 30 else 'missed'}")
        for socket in sockets:
            await socket.close()


if __name__ == "__main__":
    print(machine())
    with stage(people=20) as running:
        asyncio.run(hold(running))
