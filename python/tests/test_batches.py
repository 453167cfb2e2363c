"""Batches from all sources: the same as one call per item."""

from __future__ import annotations

import array
import contextlib
import ctypes
import gc
import mmap
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from guira_filter import ExpiringFilter, Filter, FullError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

try:
    import polars as pl
except ImportError:
    # It has no wheels for CPython without the GIL.
    pl = None

SIZES = [0, 1, 31, 255, 256, 1023, 1024, 1025, 3000]

NUMPY_INTS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]


def numbers(count: int, dtype: str) -> Any:
    return np.random.default_rng(5).integers(-(2**62), 2**62, count).astype(dtype)


def rows(count: int, width: int) -> Any:
    return np.random.default_rng(6).integers(0, 4, (count, width), dtype=np.uint8)


def full(count: int) -> Any:
    """Return byte strings that fill their width and are no text."""
    return np.random.default_rng(7).integers(128, 256, (count, 4), np.uint8).view("S4").ravel()


ARRAYS: dict[str, Callable[[int], tuple[Any, Iterable[Any]]]] = {
    **{dtype: lambda n, dtype=dtype: (a := numbers(n, dtype), a.tolist()) for dtype in NUMPY_INTS},
    "strided": lambda n: (a := numbers(2 * n, "i4")[::-2], a.tolist()),
    "column": lambda n: (a := numbers(3 * n, "u2").reshape(n, 3)[:, 1], a.tolist()),
    "repeated": lambda n: (a := np.broadcast_to(np.int64(7), (n,)), a.tolist()),
    "unaligned": lambda n: (
        a := np.frombuffer(b"." + numbers(n, "i8").tobytes(), "i8", n, 1),
        a.tolist(),
    ),
    "read-only": lambda n: (a := np.frombuffer(numbers(n, "u4").tobytes(), "u4"), a.tolist()),
    "rows": lambda n: (a := rows(n, 5), [row.tobytes() for row in a]),
    "rows of columns": lambda n: (a := rows(n, 8)[:, ::-3], [row.tobytes() for row in a]),
    "Fortran": lambda n: (a := np.asfortranarray(rows(n, 5)), [row.tobytes() for row in a]),
    "no columns": lambda n: (rows(n, 5)[:, :0], [b""] * n),
    "wide rows": lambda n: (a := rows(n % 7, 100_000), [row.tobytes() for row in a]),
    "S": lambda n: (a := np.array([b"%d" % (i % 999) for i in range(n)], "S7"), a.tolist()),
    "S with padding": lambda n: (a := np.array([b"a\xc3\xa9\t"] * n, "S6"), a.tolist()),
    "S of bytes": lambda n: (a := full(n), a.tolist()),
    "U": lambda n: (a := np.array([f"ü{i % 999}" for i in range(n)], "U7"), a.tolist()),
    "V": lambda n: (a := rows(n, 6).view("V6").ravel(), [row.tobytes() for row in a]),
    "object": lambda n: (a := np.array([f"{i}" for i in range(n)], object), a.tolist()),
    "StringDType": lambda n: (
        a := np.array([f"{i}" for i in range(n)], np.dtypes.StringDType()),
        a.tolist(),
    ),
    "array.array": lambda n: (a := array.array("h", numbers(n, "i2")), a.tolist()),
    "memoryview": lambda n: (a := memoryview(numbers(n, "u4")), a.tolist()),
    "ctypes": lambda n: (a := (ctypes.c_int32 * n)(*numbers(n, "i4").tolist()), list(a)),
    "Arrow int16": lambda n: (a := pa.array(numbers(n, "i2")), a.to_pylist()),
    "Arrow uint64": lambda n: (a := pa.array(numbers(n, "u8")), a.to_pylist()),
    "Arrow slice": lambda n: (a := pa.array(numbers(n + 9, "i8"))[9:], a.to_pylist()),
    **{
        f"Arrow {kind}": lambda n, kind=kind: (
            a := pa.array([f"{i}-{'é' * (i % 20)}" for i in range(n)]).cast(kind),
            a.to_pylist(),
        )
        for kind in (
            pa.string(),
            pa.large_string(),
            pa.string_view(),
            pa.binary(),
            pa.large_binary(),
        )
    },
    "Arrow fixed": lambda n: (
        a := pa.array([row.tobytes() for row in rows(n, 4)], pa.binary(4)),
        a.to_pylist(),
    ),
    "Arrow dictionary": lambda n: (
        a := pa.array([f"{i % 99}" for i in range(n)], pa.string()).dictionary_encode(),
        a.to_pylist(),
    ),
    "Arrow dictionary of int": lambda n: (
        a := pa.array(numbers(n, "i1")).dictionary_encode()[::-1],
        a.to_pylist(),
    ),
    "Arrow chunks": lambda n: (
        a := pa.chunked_array([["x"], [f"{i}" for i in range(n)], []], pa.string()),
        a.to_pylist(),
    ),
}
if pl:
    ARRAYS["polars str"] = lambda n: (
        a := pl.Series([f"é{i}" for i in range(n)], dtype=pl.String),
        a.to_list(),
    )
    ARRAYS["polars Categorical"] = lambda n: (
        a := pl.Series([f"é{i % 99}" for i in range(n)], dtype=pl.Categorical),
        a.to_list(),
    )
    ARRAYS["polars int"] = lambda n: (a := pl.Series(numbers(n, "i8")), a.to_list())

ITERABLES: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "iterator": iter,
    "generator": lambda items: (item for item in items),
    "dict": dict.fromkeys,
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ARRAYS)
def test_an_array_is_its_items(kind: str, size: int) -> None:
    batch, items = ARRAYS[kind](size)
    items = list(items)
    for many in (Filter(20_000, 1e-8), ExpiringFilter(60, 20_000, 1e-6)):
        before = many.contains_many(batch)
        assert isinstance(before, np.ndarray)
        assert before.dtype == np.bool_
        assert before.shape == (len(items),)
        assert before.flags.writeable
        assert many.add_unique_many(batch).tolist() == first_times(many, items)
        assert len(many) == sum(first_times(many, items))
        assert many.contains_many(batch).all()
        assert all(many.contains_many(items))
        assert all(item in many for item in items)
        assert many.discard_many(batch).tolist() == first_times(many, items)
        assert len(many) == 0


def first_times(f: Filter | ExpiringFilter, items: list[Any]) -> list[bool]:
    """Which items are the first of their hash."""
    seen: set[int] = set()
    first = []
    for item in items:
        value = f.hash_of(item)
        first.append(value not in seen)
        seen.add(value)
    return first


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ITERABLES)
def test_an_iterable_is_its_items(kind: str, size: int) -> None:
    items: list[Any] = [(i, str(i), b"%d" % i, ("a", i))[i % 4] for i in range(size)]
    make = ITERABLES[kind]
    f = Filter(20_000)
    f.update(make(items))
    assert len(f) == size
    answers = f.contains_many(make(items))
    assert answers == [True] * size
    assert f.add_unique_many(make(items)) == [False] * size
    assert f.discard_many(make(items)) == [True] * size
    assert len(f) == 0


def test_hashes() -> None:
    f = Filter(5000)
    items = [f"{i}" for i in range(2000)]
    hashes = np.array([f.hash_of(item) for item in items], np.uint64)
    f.update_hashes(hashes)
    assert f.contains_many(items) == [True] * 2000
    assert f.contains_hashes(hashes).all()
    assert f.contains_hashes(hashes.tolist()) == [True] * 2000
    assert f.contains_hashes(pa.array(hashes)).all()
    assert not f.add_unique_hashes(hashes).any()
    assert f.discard_hashes(hashes).all()
    for wrong in (
        hashes.view("i8"),
        hashes.astype("u4"),
        rows(3, 8),
        np.array(["a"]),
        ["a"],
        [1.5],
    ):
        with pytest.raises(TypeError):
            f.update_hashes(wrong)
    for wrong in ([-1], [2**64]):
        with pytest.raises(OverflowError):
            f.update_hashes(wrong)


REFUSED: list[tuple[Any, type[Exception], str]] = [
    ("abc", TypeError, "one item"),
    (b"abc", TypeError, "one item"),
    (bytearray(b"abc"), TypeError, "one item"),
    (memoryview(b"abc"), TypeError, "one item"),
    (5, TypeError, "iterable"),
    (None, TypeError, "iterable"),
    (np.arange(3.0), TypeError, r"\.view"),
    (np.arange(3, dtype="f2"), TypeError, r"\.view"),
    (np.zeros(3, complex), TypeError, '"Zd"'),
    (np.zeros(3, "M8[s]"), TypeError, r"datetime64\[s\]"),
    (np.zeros(3, "m8[s]"), TypeError, "timedelta64"),
    (np.arange(3, dtype=">i4"), TypeError, "byte order"),
    (np.array(["a"], ">U1"), TypeError, "byte order"),
    (np.array(5), TypeError, "0-d|dimension"),
    (np.zeros((2, 2), int), TypeError, "ravel"),
    (np.zeros((2, 2, 2), np.uint8), TypeError, "3 dimensions"),
    (np.zeros((2, 2), "S3"), TypeError, "2 dimensions"),
    (np.zeros(2, [("a", "i4")]), TypeError, "T{"),
    (np.array([b"\x01\x00"], "S2"), ValueError, r"item 0 .*\.view\(\"V2\"\).*tolist"),
    (np.array([b"a\0b"], "S4"), ValueError, "zeros"),
    (np.array([b"ab", b"a", b"\xff\xff"]), ValueError, "item 1 "),
    (np.array([b"\xff" * 9] * 5000 + [b"a"]), ValueError, "item 5000 "),
    (np.array([1, 1.5], object), TypeError, "float"),
    (np.array(["a", "\ud800"]), UnicodeEncodeError, "surrogates"),
    (np.array([0x110000], "u4").view("U1"), ValueError, "codec"),
    (pa.array([1.5]), TypeError, "Float64"),
    (pa.array([1.5]).dictionary_encode(), TypeError, "Float64"),
    (pa.nulls(3), TypeError, "Null"),
]
if pl:
    REFUSED += [(pl.DataFrame({"a": [1]}), TypeError, "one column")]


@pytest.mark.parametrize(("batch", "error", "text"), REFUSED)
def test_other_batches_are_refused(batch: Any, error: type[Exception], text: str) -> None:
    for f in (Filter(100), ExpiringFilter(60)):
        calls: list[Any] = [f.update, f.contains_many, f.add_unique_many, f.discard_many]
        for call in calls:
            with pytest.raises(error, match=text):
                call(batch)
        assert len(f) == 0


def test_digests_as_byte_strings_are_refused_and_the_remedy_finds_all() -> None:
    digests = [row.tobytes() for row in np.random.default_rng(9).integers(0, 256, (3000, 20), "u1")]
    f = Filter(4000)
    array = np.array(digests, "S20")
    with pytest.raises(ValueError, match=r'\.view\("V20"\)'):
        f.update(array)
    assert len(f) == 0
    f.update(array.view("V20"))
    assert all(f.contains_many(digests))


def columns_with_nulls(values: list[Any]) -> list[tuple[Any, type[Exception]]]:
    """Return columns of these values, and what they raise if nulls are errors."""
    array = pa.array(values)
    columns: list[tuple[Any, type[Exception]]] = [
        (array, ValueError),
        (pa.array([None, *values])[1:], ValueError),
        (pa.chunked_array([values[:5], values[5:7], values[7:]], array.type), ValueError),
        (array.dictionary_encode(), ValueError),
        (array.dictionary_encode(null_encoding="encode"), ValueError),
        (np.array(values, object), TypeError),
        (np.array([float("nan") if v is None else v for v in values], object), TypeError),
    ]
    if isinstance(values[1], str):
        columns += [(array.cast(kind), ValueError) for kind in (pa.string_view(), "large_string")]
    if isinstance(values[1], bytes):
        columns += [(array.cast(kind), ValueError) for kind in (pa.binary_view(), pa.binary(4))]
    if pl and isinstance(values[1], str):
        columns += [
            (pl.Series(values, dtype=kind), ValueError) for kind in (pl.String, pl.Categorical)
        ]
    return columns


@pytest.mark.parametrize("kind", ["int", "str", "bytes"])
@pytest.mark.parametrize("size", [8, 300, 3000])
def test_a_null_is_absent_or_an_error(kind: str, size: int) -> None:
    item = {"int": int, "str": "{:04}".format, "bytes": lambda i: b"%04d" % i}[kind]
    values = [None if i % 3 == 0 else item(i % 2400) for i in range(size)]
    present = [value for value in values if value is not None]
    # At these rates a bucket has two slots, and an item of the column up to three copies.
    for make in (
        lambda: Filter(400_000, 1e-8, seed=1),
        lambda: ExpiringFilter(60, 400_000, 1e-6, seed=1),
    ):
        for column, error in columns_with_nulls(values):
            f = make()
            once = iter(first_times(f, present))
            first = [value is not None and next(once) for value in values]
            assert not f.contains_many(column).any()
            assert f.add_unique_many(column).tolist() == first
            assert f.contains_many(column).tolist() == [value is not None for value in values]
            f.update(column)
            assert len(f) == sum(first) + len(present)
            assert f.discard_many(column, nulls="absent").tolist() == [
                v is not None for v in values
            ]
            before = len(f)
            calls: list[Any] = [f.update, f.contains_many, f.add_unique_many, f.discard_many]
            for call in calls:
                with pytest.raises(error, match=r"nulls|NoneType|float"):
                    call(column, nulls="error")
            assert len(f) == before
    with pytest.raises(ValueError, match="nulls must be 'absent' or 'error'"):
        Filter(10).update([], nulls="drop")  # type: ignore[arg-type]


def test_nulls_may_hide_anything_and_the_index_counts_them() -> None:
    hidden = pa.StringArray.from_buffers(
        3,
        pa.py_buffer(np.array([0, 1, 3, 4], "i4")),
        pa.py_buffer(b"a\xff\xfeb"),
        pa.py_buffer(b"\x05"),
    )
    assert Filter(100).add_unique_many(hidden).tolist() == [True, False, True]
    keys = pa.array([0, 7, 1], pa.int8(), mask=np.array([False, True, False]))
    column = pa.DictionaryArray.from_arrays(keys, pa.array(["a", None]), safe=False)
    assert Filter(100).add_unique_many(column).tolist() == [True, False, False]
    outside = pa.DictionaryArray.from_arrays(pa.array([0, 7]), pa.array(["a"]), safe=False)
    with pytest.raises(ValueError, match=r"category of item 1 .* is 7"):
        Filter(100).update(outside)
    with pytest.raises(ValueError, match="nulls"):
        Filter(100).update_hashes(pa.array([1, None], pa.uint64()))
    f = Filter(100)
    many = pa.array([None, 1] * 5000)
    with pytest.raises(FullError) as caught:
        f.update(many)
    copies = f.count(1)
    assert caught.value.index == 2 * copies + 1


def test_text_that_is_not_unicode_adds_nothing() -> None:
    f = Filter(5000)
    items = np.array([f"{i}" for i in range(3000)] + ["\ud800"])
    with pytest.raises(UnicodeEncodeError) as caught:
        f.update(items)
    assert caught.value.__notes__ == ["item 3000 of the batch"]
    assert len(f) == 0


def test_invalid_arrow_data_is_refused() -> None:
    invalid = pa.StringArray.from_buffers(
        1, pa.py_buffer(np.array([0, 2], "i4")), pa.py_buffer(b"\xff\xfe")
    )
    columns = [invalid]
    for offsets in ([0, 2, 1], [0, 9999, 2]):
        buffers = [None, pa.py_buffer(np.array(offsets, "i4")), pa.py_buffer(b"ab")]
        columns.append(pa.BinaryArray.from_buffers(pa.binary(), 2, buffers))
    for column in columns:
        with pytest.raises(ValueError, match=r"UTF-?8|offset|Offset|buffer"):
            Filter(10).update(column)


def test_false_capsules_are_refused() -> None:
    class False1:
        def __arrow_c_array__(self, requested_schema: object = None) -> Any:
            return requested_schema

    class False2:
        def __arrow_c_array__(self, requested_schema: object = None) -> Any:
            capsules = pa.array([1]).__arrow_c_array__(requested_schema)
            return capsules[::-1]

    class False3:
        def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
            return pa.array([1]).__arrow_c_array__(requested_schema)[0]

    class Used:
        def __init__(self) -> None:
            self.capsules = pa.array([1]).__arrow_c_array__()

        def __arrow_c_array__(self, requested_schema: object = None) -> Any:
            del requested_schema
            return self.capsules

    for wrong in (False1(), False2(), False3()):
        with pytest.raises((TypeError, ValueError)):
            Filter(10).update(wrong)
    used, f = Used(), Filter(10)
    f.update(used)
    with pytest.raises(ValueError, match="released"):
        f.update(used)
    assert len(f) == 1
    taken = Used()
    pa.Array._import_from_c_capsule(*taken.capsules)  # noqa: SLF001
    with pytest.raises(ValueError, match="released"):
        f.update(taken)


def test_a_stream_is_read_without_the_gil() -> None:
    """A stream may wait for a thread that needs the GIL."""

    class Stream:
        def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
            capsule = pa.chunked_array([[1]]).__arrow_c_stream__(requested_schema)
            pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
            pointer_of.restype = ctypes.c_void_p
            pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
            start = pointer_of(capsule, b"arrow_array_stream")
            assert start is not None
            # Its second field returns the next array: 0 without one at the end of the stream, and
            # another number for an error. PyGILState_Check returns 1 with the GIL, 0 without it.
            get_next = ctypes.c_void_p.from_address(start + ctypes.sizeof(ctypes.c_void_p))
            check = ctypes.cast(ctypes.pythonapi.PyGILState_Check, ctypes.c_void_p)
            get_next.value = check.value
            return capsule

    f = Filter(100)
    f.update(Stream())
    assert len(f) == 0


def test_a_mapped_file_is_a_batch_of_its_bytes() -> None:
    with mmap.mmap(-1, 4096) as memory:
        f = Filter(100)
        f.add(0)
        assert f.contains_many(memory).all()


@pytest.mark.parametrize("make", [list, np.asarray, pa.array])
def test_a_full_filter_says_where_it_stopped(make: Callable[[list[int]], Any]) -> None:
    f = Filter(2000, seed=7)
    items = list(range(10_000))
    with pytest.raises(FullError, match=r"item [0-9]+ of the batch") as caught:
        f.update(make(items))
    index = caught.value.index
    assert 2000 <= index < 10_000
    assert len(f) == index
    assert all(f.contains_many(items[:index]))
    with pytest.raises(FullError) as single:
        f.add(index)
    assert single.value.index == 0


def test_a_list_that_changes_during_its_batch() -> None:
    items: list[Any] = []

    class Clears:
        def __index__(self) -> int:
            items.clear()
            return 1

    items.extend([Clears(), *range(1000)])
    f = Filter(2000)
    f.update(items)
    assert len(f) == 1


def test_a_list_that_a_garbage_collection_clears_during_its_batch() -> None:
    class Clears:
        def __init__(self) -> None:
            self.cycle = self

        def __del__(self) -> None:
            items.clear()

    class Collects:
        def __index__(self) -> int:
            gc.enable()
            return 1

    thresholds = gc.get_threshold()
    gc.disable()
    try:
        gc.set_threshold(1)
        for number in range(10):
            # The exception for this text can start a collection.
            items = [Collects(), f"{number}\ud800"]
            Clears()
            f = Filter(100)
            with contextlib.suppress(UnicodeEncodeError):
                f.update(items)
            gc.disable()
            # The number, if the list was cleared before its text.
            assert f.count(1) == len(f) <= 1
    finally:
        gc.set_threshold(*thresholds)
        gc.enable()


def test_an_iterator_that_fails_adds_nothing() -> None:
    def fails() -> Iterable[int]:
        yield 1
        raise ZeroDivisionError

    f = Filter(100)
    with pytest.raises(ZeroDivisionError):
        f.update(fails())
    assert len(f) == 0
