"""Vector instructions on rows of k doubles, for the compiled kernels.

Numba compiles loops over a fixed number of classes to scalar code; these intrinsics emit vector code. They must be at
module level: a kernel that closes over one would not be found in numba's cache on disk.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _row(context, builder, array_type, array, start, k):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [start]), ir.VectorType(ir.DoubleType(), k).as_pointer())


@intrinsic(prefer_literal=True)
def scale_row(typing_context, row, source, start, k):  # noqa: ARG001
    """row *= source[start : start + k]."""
    n = k.literal_value

    def generate(context, builder, signature, args):
        zero = ir.Constant(ir.IntType(64), 0)
        target = _row(context, builder, signature.args[0], args[0], zero, n)
        factor = _row(context, builder, signature.args[1], args[1], args[2], n)
        product = builder.fmul(builder.load(target, align=8), builder.load(factor, align=8))
        builder.store(product, target, align=8)
        return context.get_dummy_value()

    return types.void(row, source, types.int64, k), generate


@intrinsic(prefer_literal=True)
def add_row(typing_context, table, start, row, k):  # noqa: ARG001
    """table[start : start + k] += row."""
    n = k.literal_value

    def generate(context, builder, signature, args):
        zero = ir.Constant(ir.IntType(64), 0)
        target = _row(context, builder, signature.args[0], args[0], args[1], n)
        addend = _row(context, builder, signature.args[2], args[2], zero, n)
        builder.store(builder.fadd(builder.load(target, align=8), builder.load(addend, align=8)), target, align=8)
        return context.get_dummy_value()

    return types.void(table, types.int64, row, k), generate


def _prefetch(context, builder, array_type, array, start, offsets):
    """Prefetch the cache lines at these byte offsets from array[start]."""
    byte = ir.IntType(8).as_pointer()
    flag = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
    fetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    data = context.make_array(array_type)(context, builder, array).data
    row = builder.bitcast(builder.gep(data, [start]), byte)
    for offset in offsets:
        address = builder.gep(row, [ir.Constant(ir.IntType(64), offset)])
        builder.call(fetch, [address, flag(0), flag(3), flag(1)])


@intrinsic(prefer_literal=True)
def prefetch_row(typing_context, table, start, k):  # noqa: ARG001
    """Prefetch the cache lines of table[start : start + k]."""
    n = k.literal_value

    def generate(context, builder, signature, args):
        lines = (*range(0, 8 * n - 8, 64), 8 * n - 8)
        _prefetch(context, builder, signature.args[0], args[0], args[1], lines)
        return context.get_dummy_value()

    return types.void(table, types.int64, k), generate


@intrinsic
def prefetch_at(typing_context, table, start):  # noqa: ARG001
    """Prefetch the cache line of table[start]."""

    def generate(context, builder, signature, args):
        _prefetch(context, builder, signature.args[0], args[0], args[1], (0,))
        return context.get_dummy_value()

    return types.void(table, types.int64), generate


@intrinsic(prefer_literal=True)
def product_row(typing_context, row, prior, table, cell, first, last, k):  # noqa: ARG001
    """row = prior * table[cell[e]] * ... for e in first..last, kept in registers; returns its sum."""
    n = k.literal_value

    def generate(context, builder, signature, args):
        target, base, table, cell, first, last = args[:6]
        kinds = signature.args
        zero = ir.Constant(ir.IntType(64), 0)
        vector = ir.VectorType(ir.DoubleType(), n)
        product = cgutils.alloca_once(builder, vector)
        product.align = 8
        builder.store(builder.load(_row(context, builder, kinds[1], base, zero, n), align=8), product, align=8)
        cells = context.make_array(kinds[3])(context, builder, cell).data
        with cgutils.for_range_slice(builder, first, last, ir.Constant(ir.IntType(64), 1), ir.IntType(64)) as (e, _):
            cell_index = builder.sext(builder.load(builder.gep(cells, [e])), ir.IntType(64))
            factor = _row(context, builder, kinds[2], table, builder.mul(cell_index, ir.Constant(ir.IntType(64), n)), n)
            builder.store(builder.fmul(builder.load(product, align=8), builder.load(factor, align=8)), product, align=8)
        done = builder.load(product, align=8)
        builder.store(done, _row(context, builder, kinds[0], target, zero, n), align=8)
        parts = [builder.extract_element(done, ir.Constant(ir.IntType(32), i)) for i in range(n)]
        while len(parts) > 1:
            pairs = [builder.fadd(x, y) for x, y in zip(parts[::2], parts[1::2], strict=False)]
            parts = pairs + ([parts[-1]] if len(parts) % 2 else [])
        return parts[0]

    return types.float64(row, prior, table, cell, types.int64, types.int64, k), generate


@intrinsic(prefer_literal=True)
def finish_row(typing_context, row, scale, q, start, mass, k):  # noqa: ARG001
    """row *= scale; q[start : start + k] = row; mass += row."""
    n = k.literal_value

    def generate(context, builder, signature, args):
        kinds = signature.args
        zero = ir.Constant(ir.IntType(64), 0)
        s = _row(context, builder, kinds[0], args[0], zero, n)
        out = _row(context, builder, kinds[2], args[2], args[3], n)
        total = _row(context, builder, kinds[4], args[4], zero, n)
        vector = ir.VectorType(ir.DoubleType(), n)
        one = builder.insert_element(ir.Constant(vector, ir.Undefined), args[1], ir.Constant(ir.IntType(32), 0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), n), [0] * n)
        splat = builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), mask)
        value = builder.fmul(builder.load(s, align=8), splat)
        builder.store(value, s, align=8)
        builder.store(value, out, align=8)
        builder.store(builder.fadd(builder.load(total, align=8), value), total, align=8)
        return context.get_dummy_value()

    return types.void(row, types.float64, q, types.int64, mass, k), generate
