# What redis-py makes of CF.INSERT and CF.INSERTNX of a full key. Arguments: port, protocol.
import sys
import redis

port, protocol = map(int, sys.argv[1:])
cf = redis.Redis(port=port, protocol=protocol).cf()
print("Python: redis-py", redis.__version__)
print(cf.insert("insert", ["kept", "new"]))
print(cf.insertnx("insertnx", ["kept", "kept", "new"]))
