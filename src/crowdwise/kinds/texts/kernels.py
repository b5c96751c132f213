"""Numba kernels on runs of word codes: edit distances, common n-grams, and alignment of several texts (ROVER)."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def edits(offsets, word, i, j, out):
    """Number of words to insert, delete or replace to turn text i[p] into text j[p]."""
    longest = 0
    for t in range(offsets.size - 1):
        longest = max(longest, offsets[t + 1] - offsets[t])
    row = np.empty(longest + 1, dtype=np.int64)
    for p in range(i.size):
        a0, a1, b0, b1 = offsets[i[p]], offsets[i[p] + 1], offsets[j[p]], offsets[j[p] + 1]
        while a0 < a1 and b0 < b1 and word[a0] == word[b0]:
            a0 += 1
            b0 += 1
        while a0 < a1 and b0 < b1 and word[a1 - 1] == word[b1 - 1]:
            a1 -= 1
            b1 -= 1
        n, m = a1 - a0, b1 - b0
        for k in range(m + 1):
            row[k] = k
        for x in range(n):
            diagonal = row[0]
            row[0] = x + 1
            w = word[a0 + x]
            for k in range(m):
                above = row[k + 1]
                best = diagonal if word[b0 + k] == w else diagonal + 1
                best = min(best, above + 1)
                best = min(best, row[k] + 1)
                row[k + 1] = best
                diagonal = above
        out[p] = row[m]


@njit(cache=True, nogil=True)
def common(offsets, gram, i, j, out):
    """Number of n-grams that texts i[p] and j[p] share, counting multiplicities; grams are sorted."""
    for p in range(i.size):
        a, a1, b, b1 = offsets[i[p]], offsets[i[p] + 1], offsets[j[p]], offsets[j[p] + 1]
        n = 0
        while a < a1 and b < b1:
            if gram[a] == gram[b]:
                n += 1
                a += 1
                b += 1
            elif gram[a] < gram[b]:
                a += 1
            else:
                b += 1
        out[p] = n


@njit(cache=True, nogil=True)
def _align(net, weight, done, n_slots, words, plain):
    """Cheapest alignment with the network, as (slot or -1, word or -1) steps from the end to the beginning.

    Aligning a word with a slot costs the share of the weight without the word there; with `plain`, 0 where any text
    has it, else 1.
    """
    m = words.size
    total = 0.0
    for r in range(done):
        total += weight[r]
    cost = np.empty((n_slots + 1, m + 1))
    null = np.empty(n_slots)
    for s in range(n_slots):
        x = 0.0
        for r in range(done):
            if net[s, r] < 0:
                x += weight[r]
        null[s] = (0.0 if x > 0 else 1.0) if plain else 1.0 - x / total
    cost[0, 0] = 0.0
    for k in range(m):
        cost[0, k + 1] = cost[0, k] + 1.0
    same = np.empty((n_slots, m))
    for s in range(n_slots):
        cost[s + 1, 0] = cost[s, 0] + (1.0 if plain else null[s])
        for k in range(m):
            x = 0.0
            for r in range(done):
                if net[s, r] == words[k]:
                    x += weight[r]
            same[s, k] = (0.0 if x > 0 else 1.0) if plain else 1.0 - x / total
            best = cost[s, k] + same[s, k]
            best = min(best, cost[s, k + 1] + null[s])
            best = min(best, cost[s + 1, k] + 1.0)
            cost[s + 1, k + 1] = best
    steps = np.empty((n_slots + m, 2), dtype=np.int64)
    n, s, k = 0, n_slots, m
    while s > 0 or k > 0:
        cell = cost[s, k]
        if s > 0 and k > 0 and cell == cost[s - 1, k - 1] + same[s - 1, k - 1]:
            s -= 1
            k -= 1
            steps[n, 0], steps[n, 1] = s, k
        elif s > 0 and (k == 0 or cell == cost[s - 1, k] + null[s - 1]):
            s -= 1
            steps[n, 0], steps[n, 1] = s, -1
        else:
            k -= 1
            steps[n, 0], steps[n, 1] = -1, k
        n += 1
    return steps[:n]


@njit(cache=True, nogil=True)
def rover(task_offsets, order, text_offsets, word, weight, plain, out_row, out_place, out_share, out_offsets):
    """Align the texts of each task one after the other, in the given order, and vote slot by slot.

    `order` lists the rows of each task; text_offsets and word are by row. Writes the row and position of each chosen
    word and its share of the weight. `plain` uses the costs of the paper; ties then go to the larger word code.
    """
    n_out = 0
    for t in range(task_offsets.size - 1):
        lo, hi = task_offsets[t], task_offsets[t + 1]
        n = hi - lo
        out_offsets[t] = n_out
        size = 0
        for x in range(lo, hi):
            size += text_offsets[order[x] + 1] - text_offsets[order[x]]
        if n == 0 or size == 0:
            continue
        net = np.full((size, n), -1, dtype=np.int64)
        place = np.full((size, n), -1, dtype=np.int64)
        weights = np.empty(n)
        n_slots = 0
        for x in range(n):
            r = order[lo + x]
            weights[x] = weight[r]
            words = word[text_offsets[r] : text_offsets[r + 1]]
            if x == 0:
                for k in range(words.size):
                    net[k, 0] = words[k]
                    place[k, 0] = k
                n_slots = words.size
                continue
            steps = _align(net, weights, x, n_slots, words, plain)
            new_net = np.full((size, n), -1, dtype=np.int64)
            new_place = np.full((size, n), -1, dtype=np.int64)
            for y in range(steps.shape[0]):
                s, k = steps[steps.shape[0] - 1 - y, 0], steps[steps.shape[0] - 1 - y, 1]
                if s >= 0:
                    for z in range(x):
                        new_net[y, z] = net[s, z]
                        new_place[y, z] = place[s, z]
                if k >= 0:
                    new_net[y, x] = words[k]
                    new_place[y, x] = k
            net, place, n_slots = new_net, new_place, steps.shape[0]
        total = weights.sum()
        for s in range(n_slots):
            best, winner = -1.0, -1
            for x in range(n):
                share = 0.0
                for z in range(n):
                    if net[s, z] == net[s, x]:
                        share += weights[z]
                greater = plain and share > best - 1e-12 and net[s, x] > net[s, winner]
                if share > best + 1e-12 or greater:
                    best, winner = share, x
            if net[s, winner] >= 0:
                out_row[n_out] = order[lo + winner]
                out_place[n_out] = place[s, winner]
                out_share[n_out] = best / total
                n_out += 1
    out_offsets[task_offsets.size - 1] = n_out
    return n_out


@njit(cache=True, nogil=True)
def weighted_means(x, begin, weight, out):
    """Write out[task], the weighted mean of rows begin[task] .. begin[task + 1] of x."""
    for t in range(begin.size - 1):
        total = 0.0
        for e in range(begin[t], begin[t + 1]):
            total += weight[e]
            for d in range(x.shape[1]):
                out[t, d] += weight[e] * x[e, d]
        for d in range(x.shape[1]):
            out[t, d] /= total


@njit(cache=True, nogil=True)
def squared_distances(x, begin, mean, out):
    """Write the squared distance of each row from the mean of its task."""
    for t in range(begin.size - 1):
        for e in range(begin[t], begin[t + 1]):
            s = 0.0
            for d in range(x.shape[1]):
                s += (x[e, d] - mean[t, d]) ** 2
            out[e] = s
