# What coredis makes of CF.INSERT and CF.INSERTNX of a full key. It speaks RESP3 only.
# Argument: port.
import asyncio
import sys
import coredis


async def main(port):
    async with coredis.Redis(port=port) as client:
        print("Python: coredis", coredis.__version__)
        print(list(await client.cf.insert("insert", ["kept", "new"])))
        print(list(await client.cf.insertnx("insertnx", ["kept", "kept", "new"])))


asyncio.run(main(int(sys.argv[1])))
