/* Which steps form a chain: nodes that work element by element on large values, one after the
 * other, that run together tile by tile (chain.c). */
#include "config.h"

#include "core/exec/plan/plan.h"

#include <string.h>

#define LEAST_BYTES      (1 << 20)   /* of a value: smaller ones stay in the cache by themselves */
#define LEAST_KEPT_BYTES (128 << 10) /* of one that is kept: it leaves the cache in any case */
#define MOST_LINKS       16          /* of one chain: their tiles together stay in the cache */

/* -- which steps can run in tiles -- */

static guint64
count (const IrType *type, int first)
{
  guint64 n = 1;

  for (int i = first; i < type->rank; i++)
    n *= (guint64) type->dims[i];
  return n;
}

/* The last axes of @out, or the first ones with all others 1; those that lack count as 1. */
static IrOperandForm
form_along (const IrType *type, const IrType *out, guint64 *unit)
{
  int shift = out->rank - type->rank, first = 0, last = 0;

  if (shift < 0)
    return IR_OPERAND_UNFIT;
  while (first < out->rank && (first < shift || type->dims[first - shift] == 1))
    first++;
  *unit = count (out, first);
  if (first >= shift && memcmp (type->dims + (first - shift), out->dims + first,
                                sizeof (IrDim) * (guint) (out->rank - first)) == 0)
    return IR_OPERAND_TAIL;
  while (last < out->rank && (last < shift ? 1 : type->dims[last - shift]) == out->dims[last])
    last++;
  *unit = count (out, last);
  for (int i = last; i < out->rank; i++)
    if (i >= shift && type->dims[i - shift] != 1)
      return IR_OPERAND_UNFIT;
  return IR_OPERAND_LEAD;
}

static IrOperandForm
form_of (const IrPrepared *prepared, const IrValue *value, const IrValue *whole, guint64 *unit)
{
  const IrType *type = value->type, *out = whole->type;
  guint block = ir_schedule_block (prepared->schedule, value);

  *unit = 1;
  if (type == out || (type->rank == out->rank &&
                      memcmp (type->dims, out->dims, sizeof (IrDim) * (guint) out->rank) == 0))
    return block == ir_schedule_block (prepared->schedule, whole) ? IR_OPERAND_FULL
                                                                  : IR_OPERAND_UNFIT;
  if (count (type, 0) == 1)
    return IR_OPERAND_ONE;
  if (block != 0 || ir_schedule_block (prepared->schedule, whole) != 0)
    return IR_OPERAND_UNFIT;
  return form_along (type, out, unit);
}

/* Whether @step can run in tiles of whole @unit elements, which it may make larger. */
static gboolean
fits (const IrPrepared *prepared, IrRunStep *step, guint64 *unit)
{
  const IrNode *node = step->node;
  const IrBackend *backend = step->choice->backend;
  gsize bytes = 0;

  if (!step->bound || step->no_op || step->constant || !step->call.shape_static ||
      backend == NULL || !ir_backend_output_terms (backend, node).tiled ||
      step->call.n_inputs > IR_CHAIN_OPERANDS || step->call.n_outputs != 1 ||
      step->call.n_inputs != node->n_inputs || !ir_type_n_bytes (node->outputs[0]->type, &bytes) ||
      bytes < (prepared->values[node->outputs[0]->id].keep ? LEAST_KEPT_BYTES : LEAST_BYTES) ||
      ir_plan_is_excepted (prepared->except, IR_DECISION_CHAINS, node->outputs[0]->id))
    return FALSE;
  for (guint i = 0; i < node->n_inputs; i++)
    {
      guint64 own = 1;
      step->forms[i] = node->inputs[i] != NULL
                           ? form_of (prepared, node->inputs[i], node->outputs[0], &own)
                           : IR_OPERAND_ABSENT;
      if (step->forms[i] == IR_OPERAND_UNFIT || (own > 1 && *unit > 1 && own != *unit))
        return FALSE;
      *unit = MAX (*unit, own);
    }
  return TRUE;
}

/* Whether @step may run in tiles with the one before it. */
static gboolean
follows (const IrPrepared *prepared, const IrRunStep *before, const IrRunStep *step)
{
  const IrValue *from = before->node->outputs[0], *to = step->node->outputs[0];
  gboolean reads = FALSE;

  for (guint i = 0; i < step->node->n_inputs; i++)
    reads = reads || (step->node->inputs[i] == from && step->forms[i] == IR_OPERAND_FULL);
  if (!reads)
    return FALSE;
  if (!ir_prepared_in_arena (prepared, to))
    return !before->observed || !ir_prepared_in_arena (prepared, from);
  return ir_prepared_in_arena (prepared, from) && !before->observed &&
         prepared->values[from->id].place.offset == prepared->values[to->id].place.offset;
}

static gboolean
is_concurrent (const IrSchedule *schedule, guint step)
{
  for (guint i = 0; schedule->spans != NULL && i < schedule->spans->len; i++)
    {
      const IrScheduleSpan *span = &g_array_index (schedule->spans, IrScheduleSpan, i);
      if (step >= span->first && step <= span->last)
        return TRUE;
    }
  return FALSE;
}

/* -- what is read by the chain alone -- */

/* The member of the chain of @head that runs @node. (nullable) */
static IrRunStep *
find_member (IrRunStep *head, const IrNode *node)
{
  for (guint i = 0; i < head->chain; i++)
    if (head[i].node == node)
      return head[i].link != 0 ? &head[i] : NULL;
  return NULL;
}

static gboolean
stays_inside (IrRunStep *head, const IrValue *value)
{
  for (guint i = 0; i < value->n_uses; i++)
    if (find_member (head, ir_value_use (value, i).node) == NULL)
      return FALSE;
  return value->n_uses > 0;
}

static void
find_streams (const IrPrepared *prepared, IrRunStep *head)
{
  for (IrRunStep *step = head; step < head + head->chain; step++)
    {
      if (step->link == 0)
        continue;
      const IrValue *value = step->node->outputs[0];
      step->streams = !ir_prepared_in_arena (prepared, value) && stays_inside (head, value);
      for (guint k = 0; k < step->node->n_inputs; k++)
        {
          const IrValue *read = step->node->inputs[k];
          const IrRunStep *maker = read != NULL && read->producer != NULL
                                       ? find_member (head, read->producer)
                                       : NULL;
          step->sources[k] = maker != NULL && maker->streams ? (guint) (step - maker) : 0;
        }
    }
}

/* -- finding them -- */

/* What a Constant gives is there before the run. */
static gboolean
is_nothing (const IrRunStep *step)
{
  return step->bound && step->no_op && step->node->n_inputs == 0;
}

/* The step behind the longest chain that begins with @first, and what its tiles consist of;
 * @first itself: there is none. */
static guint
find_end (IrPrepared *prepared, guint first, guint64 *unit)
{
  IrRunStep *steps = prepared->steps, *last = NULL;
  guint n_steps = prepared->schedule->items->len, end = first, n_links = 0;

  for (guint i = first; i < n_steps && n_links < MOST_LINKS; i++)
    {
      guint64 wider = *unit;
      if (last != NULL && is_nothing (&steps[i]))
        continue;
      if (!fits (prepared, &steps[i], &wider) || is_concurrent (prepared->schedule, i) ||
          (last != NULL && !follows (prepared, last, &steps[i])))
        break;
      *unit = wider;
      last = &steps[i];
      end = i + 1;
      n_links++;
    }
  return end;
}

/**
 * ir_chains_find:
 * @prepared: a plan with its steps
 *
 * Lets the first step of every chain run the others, which have nothing left to do.
 */
void
ir_chains_find (IrPrepared *prepared)
{
  guint n_steps = prepared->schedule->items->len, end;

  if (prepared->without & IR_DECISION_CHAINS)
    return;
  for (guint first = 0; first < n_steps; first = MAX (end, first + 1))
    {
      IrRunStep *head = &prepared->steps[first];
      guint64 unit = 1;
      end = find_end (prepared, first, &unit);
      if (end < first + 2 || unit > 8 * IR_CHAIN_TILE)
        continue;
      head->chain = end - first;
      head->unit = unit;
      for (IrRunStep *step = head; step < head + head->chain; step++)
        if (!is_nothing (step))
          {
            step->link = ++head->n_links;
            step->no_op = step != head;
          }
      find_streams (prepared, head);
    }
}
