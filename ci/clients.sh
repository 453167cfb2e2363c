#!/usr/bin/env bash
# Runs popular clients against a server on loopback: redis-cli, valkey-cli if a package exists,
# redis-benchmark, redis-py 5 and the newest redis-py (with its own tests of cuckoo filters, if its
# source contains them), valkey-py, coredis, valkey-glide, node-redis, ioredis, fred and rustis.
# Then compares the table of replies in ci/replies/table.txt with what clients of nine languages
# show their callers; with GUIRA_BLESS=1 it writes that table.
# Installs what is missing, as root or with sudo. Takes seven minutes after the build, and at most half
# an hour.
set -euo pipefail
self=$(realpath "$0")
cd "$(dirname "$self")/.."
. ci/lib/pinned.sh
. ci/lib/redis-py.sh
. ci/lib/replies.sh
. ci/lib/server.sh

if [ -z "${GUIRA_CLIENTS_BOUNDED:-}" ]; then
    # The build is not timed, because its duration depends on what is already built.
    cargo build --quiet --release --package guira-server
    cargo build --quiet --locked --manifest-path ci/rust/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}/clients"
    GUIRA_CLIENTS_BOUNDED=1 exec timeout --kill-after=10 1800 "$self" "$@"
fi

own_server

say() { printf '\n== %s\n' "$*"; }
fail() { printf 'clients.sh: %s\n' "$*" >&2; exit 1; }
# equal WHAT EXPECTED FOUND
equal() { [ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'"; }

missing=()
command -v redis-cli >/dev/null && command -v redis-benchmark >/dev/null || missing+=(redis-tools)
command -v node >/dev/null && command -v npm >/dev/null || missing+=(nodejs npm)
command -v python3 >/dev/null && python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3 python3-venv)
# Debian 12 has no package.
if ! command -v valkey-cli >/dev/null && apt-cache show valkey-tools >/dev/null 2>&1; then
    missing+=(valkey-tools)
fi
# The clients that only Debian has here.
for package in "${debian_clients[@]}"; do
    dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
ci/install.sh "${missing[@]}"

say "starting the server"
binary="${CARGO_TARGET_DIR:-target}/release/guira-server"
start_server "$work/out" "$binary" --port 0 --log warn --dir "$work/saves" || fail "the server did not start"
program=redis-cli
cli() { "$program" -p "$port" "$@"; }

programs=(redis-cli)
command -v valkey-cli >/dev/null && programs+=(valkey-cli)
for program in "${programs[@]}"; do
    say "$program $("$program" --version | cut -d' ' -f2)"
    for protocol in -2 -3; do
        yes=1 no=0
        if [ "$protocol" = -3 ]; then yes='(true)' no='(false)'; fi
        cli FLUSHALL >/dev/null
        # Runs the tutorial of the Redis documentation.
        equal CF.RESERVE OK "$(cli $protocol CF.RESERVE bikes:models 1000000)"
        equal CF.ADD $yes "$(cli $protocol CF.ADD bikes:models 'Smoky Mountain Striker')"
        equal CF.EXISTS $yes "$(cli $protocol CF.EXISTS bikes:models 'Smoky Mountain Striker')"
        equal CF.EXISTS $no "$(cli $protocol CF.EXISTS bikes:models 'Terrible Bike Name')"
        equal CF.DEL $yes "$(cli $protocol CF.DEL bikes:models 'Smoky Mountain Striker')"
    done
    equal "an interactive session" "PONG" "$(printf 'PING\n' | cli)"
    equal "a transaction" "OK QUEUED QUEUED 1 1" "$(printf 'MULTI\nCF.ADD t a\nEXPIRE t 100\nEXEC\n' | cli | xargs)"
    equal --scan "bikes:models t" "$(cli --scan | sort | xargs)"
    for item in $(seq 1000); do
        printf '*3\r\n$6\r\nCF.ADD\r\n$4\r\npipe\r\n$%d\r\n%s\r\n' ${#item} "$item"
    done >"$work/pipe"
    equal "redis-cli --pipe" "errors: 0, replies: 1000" "$(cli --pipe <"$work/pipe" | tail -n 1)"
    for tool in --bigkeys --memkeys; do
        cli $tool >"$work/tool" 2>&1 || fail "$program $tool: $(cat "$work/tool")"
        grep -q '^Sampled 3 keys' "$work/tool" || fail "$program $tool: $(cat "$work/tool")"
    done
    # It runs until its output ends.
    (timeout 20 "$program" -p "$port" --stat -i 0.1 || true) 2>/dev/null | head -n 4 >"$work/stat"
    grep -q '^3  ' "$work/stat" || fail "$program --stat: $(cat "$work/stat")"
    equal SAVE OK "$(cli SAVE)"
done
program=redis-cli

say "redis-benchmark"
for options in "" "-3"; do
    for command in "CF.ADD bench __rand_int__" "CF.EXISTS bench __rand_int__"; do
        # shellcheck disable=SC2086
        rate=$(redis-benchmark -p "$port" $options -P 16 -n 100000 -r 1000000000 --csv $command 2>"$work/err" |
            tail -n 1 | cut -d, -f2 | tr -d '"')
        [ ! -s "$work/err" ] || fail "redis-benchmark: $(cat "$work/err")"
        [ "${rate%.*}" -gt 0 ] || fail "redis-benchmark: $command: no rate"
        echo "$command $options: $rate/s"
    done
done

python_test='
import asyncio, sys, redis
import redis.asyncio
port, version = int(sys.argv[1]), redis.__version__
for protocol in (2, 3):
    r = redis.Redis(port=port, protocol=protocol, decode_responses=True)
    r.flushall()
    yes, no = (1, 0) if protocol == 2 else (True, False)
    cf = r.cf()
    assert r.ping()
    assert cf.create("bikes:models", 1000000)
    assert cf.add("bikes:models", "Smoky Mountain Striker") == yes
    assert cf.exists("bikes:models", "Smoky Mountain Striker") == yes
    assert cf.exists("bikes:models", "Terrible Bike Name") == no
    assert cf.mexists("bikes:models", "Smoky Mountain Striker", "x") == [yes, no]
    assert cf.count("bikes:models", "Smoky Mountain Striker") == 1
    assert cf.delete("bikes:models", "Smoky Mountain Striker") == yes
    assert cf.insert("k", ["a", "b"]) == [yes, yes]
    assert cf.insertnx("k", ["a", "c"]) == [0, 1]
    info = cf.info("k")
    assert (info.get("insertedNum") or info.get("Number of items inserted")) == 3
    try:
        cf.create("k", 1000)
    except redis.ResponseError as error:
        assert "item exists" in str(error), error
    else:
        raise AssertionError("two filters of one key")
    binary = redis.Redis(port=port, protocol=protocol)
    position, pieces = 0, []
    while True:
        position, piece = binary.cf().scandump("k", position)
        if position == 0:
            break
        pieces.append((position, piece))
    for position, piece in pieces:
        assert binary.cf().loadchunk("copy", position, piece)
    assert cf.exists("copy", "a") == yes
    with r.pipeline(transaction=False) as pipe:
        for item in range(1000):
            pipe.cf().add("p", item)
        assert pipe.execute() == [yes] * 1000
    # Runs a transaction, which is the default form of a pipeline in this client.
    with r.pipeline() as pipe:
        pipe.cf().add("m", "a")
        pipe.expire("m", 100)
        pipe.cf().exists("m", "a")
        assert pipe.execute() == [yes, True, yes]
    with r.pipeline() as pipe:
        pipe.watch("m")
        r.cf().add("m", "b")
        pipe.multi()
        pipe.cf().add("m", "c")
        try:
            pipe.execute()
        except redis.WatchError:
            pass
        else:
            raise AssertionError("a change of a watched key was not noticed")
    assert 0 < r.ttl("m") <= 100 and r.persist("m") and r.ttl("m") == -1
    assert r.copy("m", "n") and r.rename("n", "o")
    assert sorted(r.scan_iter(match="[mo]", count=1)) == ["m", "o"]
    assert r.client_setname("me")
    assert "me" in [client["name"] for client in r.client_list()]
    assert r.slowlog_len() >= len(r.slowlog_get(128)) and r.slowlog_reset()
    assert r.role()[0] in ("master", b"master")
    assert r.info("replication")["role"] == "master"

    async def together():
        r = redis.asyncio.Redis(port=port, protocol=protocol)
        async with r.pipeline() as pipe:
            pipe.execute_command("CF.ADD", "async", "a")
            pipe.pexpire("async", 100000)
            assert await pipe.execute() == [yes, True]
        await r.aclose()
    asyncio.run(together())
print("redis-py", version, "passed")
'
for name in redis-5 redis; do
    say "pip: $name"
    python3 -m venv "$work/$name"
    pinned_python "$work/$name" "$name"
    "$work/$name/bin/python" -c "$python_test" "$port"
    cli FLUSHALL >/dev/null
    limited="$("$work/$name/bin/python" server/examples/rate_limit.py 127.0.0.1 "$port" | cut -d' ' -f1,2 | xargs)"
    equal "a rate limit" "ani is ani is koel is ani is ani has koel is" "$limited"
done

say "redis-py's own tests of cuckoo filters"
newest="$work/redis"
cli FLUSHALL >/dev/null
redis_py_tests "$newest" "$work" "$port" || fail "no test of redis-py passed"

say "valkey-py and coredis"
cat >"$work/with_others.py" <<'EOF'
import asyncio, sys, coredis, valkey
port = int(sys.argv[1])
for protocol in (2, 3):
    v = valkey.Valkey(port=port, protocol=protocol, decode_responses=True)
    v.flushall()
    yes, no = (1, 0) if protocol == 2 else (True, False)
    assert v.execute_command("CF.RESERVE", "k", 1000) in ("OK", True)
    assert v.execute_command("CF.ADD", "k", "a") == yes
    assert v.execute_command("CF.EXISTS", "k", "b") == no
    assert v.execute_command("CF.INSERTNX", "w", "WINDOW", 60, "ITEMS", "a", "a") == [1, 0]
    with v.pipeline() as pipe:
        pipe.execute_command("CF.ADD", "m", "a")
        pipe.expire("m", 100)
        assert pipe.execute() == [yes, True]
    me = v.client_info()
    assert int(me["id"]) in [int(client["id"]) for client in v.client_list()]
    assert int(me["multi"]) == -1 and int(me["tot-mem"]) >= 0, me
    info = v.info("everything")
    assert info["keyspace_hits"] >= 1 and info["used_cpu_user"] >= 0, info
    assert v.memory_usage("k", samples=5) > 0
    assert [module["name"] for module in v.module_list()] == ["guira"]
    assert v.command_getkeys("CF.ADD", "k", "a") == ["k"]
    assert "cf.add" in v.command()
print("valkey-py", valkey.__version__, "passed")

async def with_coredis():
    client = coredis.Redis(port=port, decode_responses=True)
    async with client:
        await client.flushall()
        assert await client.cf.reserve("k", 1000)
        assert await client.cf.add("k", "a")
        assert await client.cf.exists("k", "a")
        assert not await client.cf.exists("k", "b")
        assert await client.cf.delete("k", "a")
        assert await client.ttl("k") == -1
        me = await client.client_info()
        assert me["id"] in [other["id"] for other in await client.client_list()]
    print("coredis", coredis.__version__, "passed")
asyncio.run(with_coredis())
EOF
python3 -m venv "$work/others"
pinned_python "$work/others" valkey coredis
"$work/others/bin/python" "$work/with_others.py" "$port"

say "valkey-glide"
cat >"$work/with_glide.py" <<'EOF'
import asyncio, importlib.metadata, sys
from glide import Batch, GlideClient, GlideClientConfiguration, NodeAddress, ProtocolVersion
async def main():
    for protocol in (ProtocolVersion.RESP2, ProtocolVersion.RESP3):
        yes = 1 if protocol == ProtocolVersion.RESP2 else True
        configuration = GlideClientConfiguration([NodeAddress("127.0.0.1", int(sys.argv[1]))], protocol=protocol)
        client = await GlideClient.create(configuration)
        await client.flushall()
        assert await client.ping() == b"PONG"
        assert await client.custom_command(["CF.ADD", "k", "a"]) == yes
        assert await client.expire("k", 100) and 0 < await client.ttl("k") <= 100
        assert await client.rename("k", "l") == "OK"
        batch = Batch(is_atomic=True)
        batch.custom_command(["CF.EXISTS", "l", "a"])
        batch.persist("l")
        assert await client.exec(batch, raise_on_error=True) == [yes, True]
        cursor, keys = await client.scan("0")
        assert (cursor, keys) == (b"0", [b"l"]), (cursor, keys)
        await client.close()
    print("valkey-glide", importlib.metadata.version("valkey-glide"), "passed")
asyncio.run(main())
EOF
pinned_python "$newest" valkey-glide
"$newest/bin/python" "$work/with_glide.py" "$port"

say "node-redis and ioredis"
pinned_node "$work/node"
cat >"$work/node/test.mjs" <<'EOF'
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createClient } from 'redis';
import { Redis } from 'ioredis';
for (const RESP of [2, 3]) {
  const client = createClient({ url: `redis://127.0.0.1:${process.argv[2]}`, RESP });
  await client.connect();
  await client.flushAll();
  assert.equal(await client.cf.reserve('bikes:models', 1000000), 'OK');
  assert.equal(await client.cf.add('bikes:models', 'Smoky Mountain Striker'), true);
  assert.equal(await client.cf.exists('bikes:models', 'Smoky Mountain Striker'), true);
  assert.equal(await client.cf.exists('bikes:models', 'Terrible Bike Name'), false);
  assert.equal(await client.cf.count('bikes:models', 'Smoky Mountain Striker'), 1);
  assert.equal(await client.cf.del('bikes:models', 'Smoky Mountain Striker'), true);
  assert.equal(await client.cf.addNX('k', 'a'), true);
  assert.equal(await client.cf.addNX('k', 'a'), false);
  assert.deepEqual([...await client.cf.insert('k', ['b', 'c'])], [true, true]);
  const info = await client.cf.info('k');
  assert.equal(info['Number of items inserted'], 3);
  await assert.rejects(client.cf.reserve('k', 1000), /item exists/);
  const added = await Promise.all(Array.from({ length: 1000 }, (_, item) => client.cf.add('p', `${item}`)));
  assert.ok(added.every((value) => value === true));
  const replies = await client.multi().cf.add('m', 'a').expire('m', 100).cf.exists('m', 'a').exec();
  assert.deepEqual(replies.map(Number), [1, 1, 1]);
  await client.watch('m');
  const other = await client.duplicate().connect();
  await other.cf.add('m', 'b');
  await other.close();
  await assert.rejects(client.multi().cf.add('m', 'c').exec(), /watched keys/i);
  const keys = [];
  for await (const some of client.scanIterator({ COUNT: 1 })) keys.push(...[some].flat());
  assert.deepEqual(keys.sort(), ['bikes:models', 'k', 'm', 'p']);
  await client.close();
}
const io = new Redis(process.argv[2]);
await io.flushall();
const replies = await io.multi().call('CF.ADD', 'k', 'a').pexpire('k', 100000).call('CF.EXISTS', 'k', 'a').exec();
assert.deepEqual(replies, [[null, 1], [null, 1], [null, 1]]);
assert.deepEqual(await io.scan(0), ['0', ['k']]);
await io.quit();
for (const name of ['redis', 'ioredis']) {
  const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`));
  console.log(name, version, 'passed');
}
EOF
(cd "$work/node" && "$node" test.mjs "$port")

say "fred and rustis"
"${CARGO_TARGET_DIR:-target}/clients/debug/clients" "$port"

say "what callers see of a full key"
replies >"$work/replies" || fail "no reply after $(tail -n 1 "$work/replies")"
cat "$work/replies"
compare_replies ci/replies/table.txt || fail "the table of replies differs: GUIRA_BLESS=1 ci/clients.sh writes it"

say "the end"
"$newest/bin/python" -c 'import sys, redis; redis.Redis(port=int(sys.argv[1])).shutdown()' "$port"
wait "$server" || fail "the server did not exit with 0"
server=
echo "all clients passed"
