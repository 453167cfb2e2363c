"""A rate limit with redis-py: each request is one command, for guira-server and guira-module.

    python3 server/examples/rate_limit.py 127.0.0.1 6379
"""

import sys

import redis


class RateLimit:
    """Up to 256 requests, say, of each client within a window."""

    def __init__(self, server, key, limit, seconds, clients):
        self.server, self.key, self.limit = server, key, limit
        self.options = [clients, "WINDOW", seconds, "COUNTERS", 8, "ERROR", 0.001]
        self.create()

    def create(self):
        try:
            self.server.execute_command("CF.RESERVE", self.key, *self.options)
        except redis.ResponseError as error:
            # Another process was faster.
            if "item exists" not in str(error):
                raise

    def allows(self, client):
        """Refused requests count, too: a client has to pause."""
        try:
            return self.server.execute_command("CF.ADDCOUNT", self.key, client) <= self.limit
        except redis.ResponseError as error:
            if "full of copies" in str(error):
                return False
            if "not found" not in str(error):
                raise
        # Somebody has deleted the key.
        self.create()
        return self.allows(client)


def main():
    if len(sys.argv) != 3:
        sys.exit("say where the server is: 127.0.0.1 6379")
    server = redis.Redis(host=sys.argv[1], port=int(sys.argv[2]))
    limit = RateLimit(server, "requests", limit=3, seconds=60, clients=100_000)
    for client in ["ani", "ani", "koel", "ani", "ani", "koel"]:
        print(client, "is served" if limit.allows(client) else "has to wait")


if __name__ == "__main__":
    main()
