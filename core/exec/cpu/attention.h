/* What the attentions of this folder share: where queries, keys and values lie, what a query sees, and
 * the loop over blocks of queries. */
#pragma once

#include "core/exec/cpu/cpu.h"

#define CPU_MOST_KEYS                                                                              \
  (1024 * 1024) /* the scores of a block are held at once; more goes to the reference */

/* CpuRows of one head lie @row apart, heads @head, batches @batch; in elements. */
typedef struct
{
  const float *data;
  gint64 batch, head, row;
} CpuRows;

typedef struct
{
  gint64 batch, q_heads, kv_heads, queries, keys, past, size, v_size;
  CpuRows q, k, v;
  const IrTensor *mask; /* (nullable) */
  const gint64 *valid; /* (nullable) keys that each batch has; its last query is the last of them */
  gint64 left, right;
  gboolean causal, pads_mask;
  gboolean selects; /* a score that the mask does not keep becomes fill */
  float scale, softcap, fill;
  float empty;   /* weights of a query that sees no key */
  gboolean safe; /* weights that are no number are 0 */
} CpuAttention;

gboolean cpu_attend (const IrCall *call, const CpuAttention *a, const CpuRows *y);

/* -- rotary.c -- */
/* Turns the pairs of a head @x of 2 * @half elements, to @y, which is not @x. */
void cpu_turn_head (const float *x,
                    const float *cosines,
                    const float *sines,
                    gint64 half,
                    gboolean neighbours,
                    float *y);
