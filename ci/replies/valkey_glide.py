# What valkey-glide makes of CF.INSERT and CF.INSERTNX of a full key. Arguments: port, protocol.
import asyncio
import importlib.metadata
import sys
from glide import GlideClient, GlideClientConfiguration, NodeAddress, ProtocolVersion


async def main(port, protocol):
    protocol = {2: ProtocolVersion.RESP2, 3: ProtocolVersion.RESP3}[protocol]
    addresses = [NodeAddress("127.0.0.1", port)]
    client = await GlideClient.create(GlideClientConfiguration(addresses, protocol=protocol))
    print("Python: valkey-glide", importlib.metadata.version("valkey-glide"))
    print(await client.custom_command(["CF.INSERT", "insert", "ITEMS", "kept", "new"]))
    print(await client.custom_command(["CF.INSERTNX", "insertnx", "ITEMS", "kept", "kept", "new"]))
    await client.close()


asyncio.run(main(*map(int, sys.argv[1:])))
