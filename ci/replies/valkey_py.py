# What valkey-py makes of CF.INSERT and CF.INSERTNX of a full key. Arguments: port, protocol.
import sys
import valkey

port, protocol = map(int, sys.argv[1:])
cf = valkey.Valkey(port=port, protocol=protocol).cf()
print("Python: valkey-py", valkey.__version__)
print(cf.insert("insert", ["kept", "new"]))
print(cf.insertnx("insertnx", ["kept", "kept", "new"]))
