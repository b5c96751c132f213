/* The machine's floor for one EM iteration: gather K doubles per label, add them up per task, scatter the sums back.
   No logarithms, no normalisation, no objective, no posterior kept. With AHEAD > 0 it asks for the memory of later
   labels in advance, as our kernel does. */
#include <stdint.h>

#ifndef AHEAD
#define AHEAD 0
#endif

double sweep(int64_t tasks, const int64_t *restrict offset, const int32_t *restrict cell,
             const double *restrict table, double *restrict counts)
{
    double check = 0.0;
#if AHEAD > 0
    const int64_t end = offset[tasks] - 1;
#endif
    for (int64_t i = 0; i < tasks; i++) {
        double s[K];
        for (int k = 0; k < K; k++) s[k] = 1e-3;
#if AHEAD > 0
        for (int64_t e = offset[i]; e < offset[i + 1]; e++) {
            const int64_t later = (int64_t)cell[e + AHEAD < end ? e + AHEAD : end] * K;
            for (int k = 0; k < K; k += 8) {
                __builtin_prefetch(table + later + k);
                __builtin_prefetch(counts + later + k, 1);
            }
            __builtin_prefetch(table + later + K - 1);
            __builtin_prefetch(counts + later + K - 1, 1);
        }
#endif
        for (int64_t e = offset[i]; e < offset[i + 1]; e++) {
            const double *restrict row = table + (int64_t)cell[e] * K;
            for (int k = 0; k < K; k++) s[k] += row[k];
        }
        for (int64_t e = offset[i]; e < offset[i + 1]; e++) {
            double *restrict row = counts + (int64_t)cell[e] * K;
            for (int k = 0; k < K; k++) row[k] += s[k];
        }
        check += s[0];
    }
    return check;
}
