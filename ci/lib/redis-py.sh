# Sourced, after pinned.sh, by scripts that run redis-py's own tests of cuckoo filters.

# redis_py_tests VENV WORK PORT: runs the tests against the server on that port, with the redis-py
# that is installed in VENV and its source under WORK. Succeeds if at least one test ran and all
# passed, or if the source no longer contains them. It does not rely on `set -e`, which callers may
# have disabled.
redis_py_tests() {
    local venv=$1 work=$2 port=$3 number suite
    number=$("$venv/bin/python" -c 'import redis; print(redis.__version__)')
    local source=$work/source-$number
    [ -d "$source" ] || {
        rm -rf "$source.part"
        "$venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary redis \
            --require-hashes --requirement "$pins/python/redis.txt" --dest "$source.part" &&
            tar -xzf "$source.part"/redis-*.tar.gz -C "$source.part" &&
            mv "$source.part" "$source"
    } || return
    suite=$(find "$source" -path '*tests/test_bloom.py' | head -n 1)
    if [ -z "$suite" ]; then
        echo "they do not come with the source of redis-py $number"
        return
    fi
    # redis-py checks for a module called RedisBloom before each test, even if no test needs it.
    sed -i 's/raise AttributeError(f"No redis module named {module_name}")/return pytest.mark.skipif(False, reason="")/' \
        "$(dirname "$suite")/conftest.py" || return
    pinned_python "$venv" redis-tests || return
    (cd "$(dirname "$(dirname "$suite")")" &&
        "$venv/bin/python" -m pytest -q --disable-warnings -p no:cacheprovider -k 'cf or cuckoo' tests/test_bloom.py \
            --redis-url "redis://127.0.0.1:$port" --redis-mod-url "redis://127.0.0.1:$port") | tee "$work/suite" || return
    grep -q '[1-9][0-9]* passed' "$work/suite"
}
