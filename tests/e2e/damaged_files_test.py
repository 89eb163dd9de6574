# SPDX-License-Identifier: Apache-2.0
"""Damaged model files given to the program: it answers, or ends with status 2 or 3 and one line; never by a
signal, never with half an answer, never with more memory than the file justifies."""

import json
import pathlib
import random
import struct
import subprocess
import sys

from pawl_testing import PROGRAM, PawlTest, main

TINY = pathlib.Path(__file__).resolve().parent.parent / "golden" / "tiny"
BORDERS = [0, 1, 3, 0x7FFF, 0x7C00, 0x7F800000, 0x7FC00000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32, 1 << 62,
           (1 << 64) - 1]
MOST_SECONDS = 20  # of CPU time; the machine may be busy, and built for sanitizers
# What the program itself takes before any file, with room. Shadow memory of sanitizers does not count here.
BASE_BYTES = 64 << 20

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # of the numbers of the format


def is_sanitized():
    program = pathlib.Path(PROGRAM).read_bytes()
    return b"__asan_init" in program or b"__tsan_init" in program


def after_value(data, at, kind):
    if kind == 8:
        return at + 8 + struct.unpack_from("<Q", data, at)[0]
    if kind != 9:
        return at + SIZES[kind]
    kind, count = struct.unpack_from("<IQ", data, at)
    at += 12
    if kind in SIZES:
        return at + count * SIZES[kind]
    for _ in range(count):
        at = after_value(data, at, kind)
    return at


def table_end(data):
    """Where the tensor table of a whole file ends."""
    tensors, pairs = struct.unpack_from("<QQ", data, 8)
    at = 24
    for _ in range(pairs):
        at = after_value(data, at, 8)
        at = after_value(data, at + 4, struct.unpack_from("<I", data, at)[0])
    for _ in range(tensors):
        at = after_value(data, at, 8)
        at += 4 + 8 * struct.unpack_from("<I", data, at)[0] + 4 + 8
    return at


def with_tensor(data, name):
    """The file with one more tensor, of eight zeros."""
    end = table_end(data)
    tensors = data[end + -end % 32:]
    tensors += bytes(-len(tensors) % 32)
    head = bytearray(data[:end])
    struct.pack_into("<Q", head, 8, struct.unpack_from("<Q", head, 8)[0] + 1)
    head += struct.pack("<Q", len(name)) + name.encode() + struct.pack("<IQIQ", 1, 8, 0, len(tensors))
    return bytes(head) + bytes(-len(head) % 32) + tensors + bytes(32)


def damaged(data, head, source):
    data = bytearray(data)
    for _ in range(source.randint(1, 3)):
        end = head if source.random() < 0.7 else len(data)
        begin = 0
        if end == head and source.random() < 0.5:
            begin, end = source.choice([(0, 2048), (head - 2048, head)])
        at = source.randrange(begin, end)
        kind = source.randrange(4)
        if kind == 0:
            data[at] ^= 1 << source.randrange(8)
        elif kind == 1:
            data[at] = source.randrange(256)
        else:
            value = struct.pack("<Q", source.choice(BORDERS))[:source.choice([2, 4, 8])]
            data[at:at + len(value)] = value[:len(data) - at]
    return bytes(data)


def with_number(data, key, value):
    """The file with another value of a uint32 key."""
    name = struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", 4)
    at = data.index(name) + len(name)
    return data[:at] + struct.pack("<I", value) + data[at + 4:]


# A program starts out with the peak of memory of the process that started it, so a small one does: it
# prints the program's output, then on a line of its own the status, peak bytes and CPU seconds.
MEASURE = """
import os, resource, subprocess, sys
process = subprocess.Popen(sys.argv[2:])
limit = int(sys.argv[1])
resource.prlimit(process.pid, resource.RLIMIT_CPU, (limit, limit))
_, status, usage = os.wait4(process.pid, 0)
print()
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime, end="")
"""


class DamagedFiles(PawlTest):
    def ask(self, *words):
        """Result, peak of memory in bytes, CPU time in seconds."""
        result = self.run_program(sys.executable, "-c", MEASURE, str(2 * MOST_SECONDS), PROGRAM, *map(str, words))
        out, _, figures = result.stdout.rpartition(b"\n")
        status, peak, seconds = figures.decode().split()
        measured = subprocess.CompletedProcess(words, int(status), out, result.stderr)
        return measured, int(peak), float(seconds)

    def run_program(self, *command):
        return subprocess.run(command, env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True)

    def check(self, path, *words):
        """The exit status, after everything that must hold whatever it is."""
        result, peak, seconds = self.ask(*words)
        errors = result.stderr.decode()
        self.assertIn(result.returncode, (0, 2, 3), errors)
        lines = [line for line in errors.splitlines() if line.startswith("pawl: error: ")]
        if result.returncode == 0:
            self.assertEqual(lines, [])
            self.assertNotEqual(result.stdout, b"")
            if "--json" in words:
                json.loads(result.stdout)
        else:
            self.assertEqual(len(lines), 1, errors)
            self.assertEqual(errors.splitlines()[-1], lines[0])
            self.assertEqual(result.stdout, b"")
            self.assertLess(len(lines[0]), 1200)
        self.assertLess(seconds, MOST_SECONDS)
        if not self.sanitized:
            self.assertLess(peak, 2 * path.stat().st_size + BASE_BYTES)
        return result

    def setUp(self):
        super().setUp()
        self.sanitized = is_sanitized()
        self.path = self.home / "damaged.gguf"

    def run_and_show(self, data, more=()):
        self.path.write_bytes(data)
        self.check(self.path, "model", "show", self.path, *more)
        return self.check(self.path, "run", "-m", self.path, "-p", "x", "-n", "1", *more)

    def test_truncations_end_in_one_line(self):
        for name in ("qwen3", "llama-spm"):
            whole = (TINY / f"{name}.gguf").read_bytes()
            for i in range(25):
                size = i * len(whole) // 25
                with self.subTest(name=name, size=size):
                    result = self.run_and_show(whole[:size], ("--json",) if i % 5 == 0 else ())
                    self.assertIn(result.returncode, (2, 3))

    def test_mutations_answer_or_end_in_one_line(self):
        statuses = set()
        for name in ("qwen3", "llama-spm"):
            whole = (TINY / f"{name}.gguf").read_bytes()
            head = table_end(whole)
            source = random.Random(20250611)
            for i in range(50):
                with self.subTest(name=name, mutation=i):
                    data = damaged(whole, head, source)
                    statuses.add(self.run_and_show(data, ("--json",) if i % 5 == 0 else ()).returncode)
        # Both must happen, or the mutations do not test what they should.
        self.assertIn(0, statuses)
        self.assertIn(2, statuses)

    def test_S056_sizes_far_beyond_the_file_are_refused_without_memory(self):
        whole = (TINY / "qwen3.gguf").read_bytes()
        for key, value in [("block_count", 0), ("block_count", 513), ("block_count", 100000),
                           ("block_count", (1 << 31) - 1), ("block_count", (1 << 32) - 1),
                           ("attention.head_count", 4096), ("attention.head_count", 0),
                           ("attention.head_count_kv", 0), ("embedding_length", (1 << 32) - 1),
                           ("feed_forward_length", (1 << 32) - 1), ("context_length", 0)]:
            with self.subTest(key=key, value=value):
                result = self.run_and_show(with_number(whole, f"qwen3.{key}", value))
                self.assertEqual(result.returncode, 2)
                named = b"blk." in result.stderr or key.encode() in result.stderr or b"shape" in result.stderr
                self.assertTrue(named, result.stderr)
        # Counts of the header: more than the file can hold.
        for at in (8, 16):
            for value in (1 << 31, 1 << 62, (1 << 64) - 1):
                with self.subTest(at=at, value=value):
                    result = self.run_and_show(whole[:at] + struct.pack("<Q", value) + whole[at + 8:])
                    self.assertEqual(result.returncode, 2)

    def test_a_context_that_is_no_limit_costs_nothing(self):
        whole = with_number((TINY / "qwen3.gguf").read_bytes(), "qwen3.context_length", 1 << 30)
        self.assertEqual(self.run_and_show(whole).returncode, 0)

    def test_S058_a_tensor_that_nobody_reads_is_named(self):
        whole = (TINY / "qwen3.gguf").read_bytes()
        answers = []
        for data in (whole, with_tensor(whole, "v.blk.0.attn_q.weight")):
            self.path.write_bytes(data)
            answers.append(self.check(self.path, "run", "-m", self.path, "-p", "x", "-n", "8", "--greedy"))
        self.assertEqual(answers[0].stdout, answers[1].stdout)
        self.assertNotIn(b"v.blk.0.attn_q.weight", answers[0].stderr)
        self.assertIn(b"v.blk.0.attn_q.weight", answers[1].stderr)


if __name__ == "__main__":
    main()
