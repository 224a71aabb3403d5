"""Text columns in normal form: valid UTF-8, plain or dictionary-encoded, overlong texts null.

Readers hand over text in several layouts. A value whose bytes are not UTF-8 is missing, and so is a text of more
than ``MAX_TEXT_BYTES``: no user's texts may decide whether the memory suffices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

MAX_TEXT_BYTES = 2_048
"""The longest text that Headcount reads, in bytes of UTF-8: as long as web addresses usually get."""

Offsets = NDArray[np.int64]


def flat_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows with flat columns."""
    return _mapped(flat, batch)


def sound_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows with sound columns."""
    return _mapped(sound, batch)


def _mapped(change: Callable[[pa.Array], pa.Array], batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [change(column) for column in batch.columns]
    if all(new is old for new, old in zip(columns, batch.columns, strict=True)):
        return batch
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def flat(column: pa.Array) -> pa.Array:
    """Return a column in a layout that all of Arrow's functions take, and whose codes stand for entries.

    Arrow judges the digits of short decimals where it compares them, so they become long ones.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = sound_codes(column)
        entries = column.dictionary
        plainer = flat(entries)
        return column if plainer is entries else pa.DictionaryArray.from_arrays(column.indices, plainer)
    if pa.types.is_string_view(kind):
        return flat(as_bytes(column)).view(pa.large_string())
    if pa.types.is_binary_view(kind):
        return _cut_views(column).cast(pa.large_binary())
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return column.cast(pa.decimal128(38, kind.scale))
    return column


def sound(column: pa.Array) -> pa.Array:
    r"""Return a flat column whose texts are UTF-8; the others are missing.

    >>> sound(pa.array([b"tea", b"\xff"]).view(pa.string())).to_pylist()
    ['tea', None]
    """
    column = flat(column)
    if pa.types.is_dictionary(column.type):
        values = column.dictionary
        if not _has_bytes(values.type):
            return column.dictionary_decode()
        kept = sound(values)
        if kept.null_count:  # a missing value among the entries: let the codes say so
            codes = pc.if_else(pc.is_valid(kept).take(column.indices), column.indices, None)
            column = pa.DictionaryArray.from_arrays(codes, pc.fill_null(kept, pa.scalar("", kept.type)))
        elif kept is not values:
            column = pa.DictionaryArray.from_arrays(column.indices, kept)
        return column if is_text(kept.type) else column.dictionary_decode()
    if not _has_bytes(column.type) or not len(column):
        return column
    try:
        column.validate()
        column = _without_long(column)
        if is_text(column.type) and not _is_ascii(column):
            column.validate(full=True)
    except pa.ArrowInvalid:
        return _without_damage(column)
    return column


def sizes(column: pa.Array) -> NDArray[np.int64]:
    """Return how many bytes each text of a flat column has; a missing one has none.

    >>> sizes(pa.array(["tea", None, "thé"]).dictionary_encode()).tolist()
    [3, 0, 4]
    """
    if pa.types.is_dictionary(column.type):
        lengths = pa.array(sizes(column.dictionary)).take(column.indices)
    else:
        lengths = pc.binary_length(as_bytes(column) if is_text(column.type) else column)
    return np.asarray(pc.fill_null(lengths, 0), dtype=np.int64)


def _has_bytes(kind: pa.DataType) -> bool:
    return is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _without_long(column: pa.Array) -> pa.Array:
    """Return texts or bytes of which the too long ones are missing; their bytes stay where they are, uncopied."""
    places = _places(column)
    long = np.diff(places) > MAX_TEXT_BYTES
    if not long.any():
        return column
    _, offsets, data = column.buffers()
    kept = np.packbits(np.asarray(pc.is_valid(column)) & ~long, bitorder="little")
    offsets = offsets.slice(column.offset * places.itemsize)
    return pa.Array.from_buffers(column.type, len(column), [pa.py_buffer(kept), offsets, data])


def _cut_views(column: pa.Array) -> pa.Array:
    """Return bytes of which the too long ones end a byte after the limit: many rows can share one text."""
    valid, views, *data = column.buffers()
    lengths = np.frombuffer(views, dtype=np.int32).reshape(-1, 4).copy()
    lengths[:, 0] = np.minimum(lengths[:, 0], MAX_TEXT_BYTES + 1)
    buffers = [valid, pa.py_buffer(lengths), *data]
    return pa.Array.from_buffers(column.type, len(column), buffers, offset=column.offset)


def _places(column: pa.Array) -> NDArray[Any]:
    """Return where each text of a plain column begins, and where the last one ends."""
    is_large = pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type)
    places = np.frombuffer(column.buffers()[1], dtype=np.int64 if is_large else np.int32)
    return places[column.offset : column.offset + len(column) + 1]


def _is_ascii(column: pa.Array) -> bool:
    """Whether texts lie one after the other and all are ASCII: then they are sound, which is seen quickly.

    >>> _is_ascii(pa.array(["tea", None])), _is_ascii(pa.array(["thé"]))
    (True, False)
    """
    data, places = column.buffers()[2], _places(column)
    if data is None:
        return False
    if places[0] < 0 or (places[1:] < places[:-1]).any():
        return False
    return bool(np.frombuffer(data, dtype=np.uint8)[places[0] : places[-1]].max(initial=0) < 128)


def _without_damage(column: pa.Array) -> pa.Array:
    raw = as_bytes(column)
    raw.validate(full=True)  # offsets that go back point nowhere: that is no row's text, and no row can write it
    texts = (None if value is None else _text(value) for value in raw.to_pylist())
    return pa.array(texts, column.type)


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def plain(column: pa.Array) -> pa.Array:
    """Return a text column with each text written out."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def bytes_of(texts: pa.Array) -> tuple[NDArray[np.uint8], Offsets]:
    """Return the bytes of plain texts, and where each of them begins and ends."""
    texts = texts if pa.types.is_large_string(texts.type) else texts.cast(pa.large_string())
    _, offsets, data = texts.buffers()
    if not len(texts):
        return np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    places = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    content = np.empty(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    return content, places


def by_text(column: pa.Array) -> tuple[pa.Array, NDArray[np.int64] | None]:
    """Return texts to be read one by one, and where each row finds its own; no places if each row has its own."""
    if not pa.types.is_dictionary(column.type):
        return column, None
    codes = pc.fill_null(column.indices.cast(pa.int64()), len(column.dictionary))
    return pa.concat_arrays([column.dictionary, pa.nulls(1, column.dictionary.type)]), codes.to_numpy()


def is_textual(kind: pa.DataType) -> bool:
    """Whether values of a declared type are read from text; a column that is always missing counts as text."""
    return is_text(kind) or pa.types.is_null(value_type(kind))


def plain_type(kind: pa.DataType) -> str:
    """Name a column type as a reader would: text is text, however it is stored."""
    kind = value_type(kind)
    return "text" if is_text(kind) else str(kind)


def value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a column, dictionary-encoded or not."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_text(kind: pa.DataType) -> bool:
    """Whether a column type is text, in any of Arrow's layouts."""
    kind = value_type(kind)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _unjudged(kind: pa.DataType) -> pa.DataType:
    """Return a type of the same layout, of which Arrow's full validation judges no value.

    >>> _unjudged(pa.list_(pa.date64())), _unjudged(pa.decimal128(4, 2))
    (ListType(list<item: int64>), FixedSizeBinaryType(fixed_size_binary[16]))
    """
    if pa.types.is_string_view(kind):
        return pa.binary_view()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.binary() if pa.types.is_string(kind) else pa.large_binary()
    if pa.types.is_decimal(kind):
        return pa.binary(kind.byte_width)
    if pa.types.is_date64(kind) or pa.types.is_time(kind):
        return pa.int64() if kind.bit_width == 64 else pa.int32()
    fields = [kind.field(place) for place in range(kind.num_fields)]
    fields = [field.with_type(_unjudged(field.type)) for field in fields]
    if pa.types.is_struct(kind):
        return pa.struct(fields)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(fields[0]) if pa.types.is_list(kind) else pa.large_list(fields[0])
    return pa.list_(fields[0], kind.list_size) if pa.types.is_fixed_size_list(kind) else kind


def sound_codes(column: pa.Array) -> pa.Array:
    """Return a dictionary column in which a code that stands for no entry is missing, in its own row alone.

    >>> codes = pa.DictionaryArray.from_arrays(pa.array([1, 0, -1, 7]), pa.array(["tea", "rye"]), safe=False)
    >>> sound_codes(codes).to_pylist()
    ['rye', 'tea', None, None]
    """
    extremes = pc.min_max(column.indices)
    low, high = extremes["min"].as_py(), extremes["max"].as_py()
    if low is None or 0 <= low <= high < len(column.dictionary):
        return column
    codes = pc.fill_null(column.indices, 0).to_numpy(zero_copy_only=False)
    inside = np.asarray(pc.is_valid(column.indices)) & (codes >= 0) & (codes < len(column.dictionary))
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=~inside), column.dictionary)


def as_bytes(column: pa.Array) -> pa.Array:
    """Return a text column as the bytes it is made of."""
    return column.view(_unjudged(column.type))
