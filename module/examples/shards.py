"""A filter that is split over the nodes of a cluster, with redis-py: see "Sharding" in docs/MODULE.md.

    python3 module/examples/shards.py 127.0.0.1 6379

shards.rs beside it does the same with one connection, and has the same shards.
"""

import sys
import zlib

from redis.cluster import RedisCluster

# A power of two, well above the number of nodes. It cannot change afterwards.
SHARDS = 64


class Shards:
    def __init__(self, name, client):
        self.name = name
        self.client = client

    def key(self, shard):
        """The braces are a hash tag: each number has a slot of its own."""
        return f"{self.name}:{{{shard}}}"

    @staticmethod
    def shard_of(item):
        """Any hash will do that all clients share. It is not that of the filters."""
        return zlib.crc32(item.encode()) % SHARDS

    def reserve(self, capacity):
        """Room for so many items: 5 % more than an equal share, as some shards get more of them."""
        share = max(capacity // SHARDS * 105 // 100, 100)
        for shard in range(SHARDS):
            self.client.execute_command("CF.RESERVE", self.key(shard), share)

    def add(self, item):
        return bool(self.client.execute_command("CF.ADDNX", self.key(self.shard_of(item)), item))

    def exist(self, items):
        """A batch is split by shard, and its answers put together again."""
        by_shard = {}
        for index, item in enumerate(items):
            by_shard.setdefault(self.shard_of(item), []).append(index)
        found = [False] * len(items)
        for shard, own in by_shard.items():
            words = [items[index] for index in own]
            answers = self.client.execute_command("CF.MEXISTS", self.key(shard), *words)
            for index, answer in zip(own, answers):
                found[index] = bool(answer)
        return found


def main():
    if len(sys.argv) != 3:
        sys.exit("say where a node of the cluster is: 127.0.0.1 6379")
    shards = Shards("seen", RedisCluster(host=sys.argv[1], port=int(sys.argv[2])))
    shards.reserve(1_000_000)
    items = [f"order-{item}" for item in range(1000)]
    for item in items:
        shards.add(item)
    print(f"{sum(shards.exist(items))} items are in {SHARDS} filters")


if __name__ == "__main__":
    main()
