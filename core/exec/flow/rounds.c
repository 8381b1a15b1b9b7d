/* What the rounds of a body give, one tensor a round: rows of one shape lie behind each other in memory
 * that grows, so that stacking them along a first axis copies nothing more; other values are a list. */
#include "config.h"

#include "core/exec/flow/subgraph-private.h"

#include "core/exec/kernel/slabs.h"

#include <string.h>

struct _IrRound
{
  guint n;
  IrTensor *first; /* (nullable) (owned) what the first round gave */
  IrTensor *other; /* (nullable) (owned) stacked: the first of another type than that */
  guint other_at;
  GPtrArray *list; /* (nullable) of IrTensor: where they are no rows */
  guint8 *rows;    /* (nullable) of malloc() */
  gsize room;      /* bytes of it */
};

void
ir_rounds_init (IrRounds *rounds, guint n, gboolean stacked)
{
  *rounds = (IrRounds){ .n = n, .stacked = stacked, .of = g_new0 (IrRound, n + 1) };
}

static void
forget (IrRound *of)
{
  g_clear_pointer (&of->first, ir_tensor_unref);
  g_clear_pointer (&of->other, ir_tensor_unref);
  g_clear_pointer (&of->list, g_ptr_array_unref);
  g_clear_pointer (&of->rows, free);
  *of = (IrRound){ 0 };
}

void
ir_rounds_clear (IrRounds *rounds)
{
  for (guint i = 0; i < rounds->n; i++)
    forget (&rounds->of[i]);
  g_clear_pointer (&rounds->of, g_free);
  rounds->n = 0;
}

guint
ir_rounds_length (const IrRounds *rounds, guint index)
{
  return rounds->of[index].n;
}

/* (nullable) What the first round gave */
const IrTensor *
ir_rounds_first (const IrRounds *rounds, guint index)
{
  return rounds->of[index].first;
}

/* (nullable) All of them, where they are not to be stacked; %NULL: none */
const GPtrArray *
ir_rounds_list (const IrRounds *rounds, guint index)
{
  return rounds->of[index].list;
}

static gboolean
is_row (const IrTensor *tensor)
{
  return !ir_tensor_is_container (tensor) && ir_tensor_sparse_values (tensor) == NULL &&
         ir_tensor_dtype (tensor) != IR_DTYPE_STRING && ir_tensor_data (tensor) != NULL &&
         ir_tensor_rank (tensor) < IR_MAX_RANK && ir_tensor_n_bytes (tensor) > 0 &&
         ir_dtype_bits (ir_tensor_dtype (tensor)) % 8 == 0;
}

static gboolean
same_type (const IrTensor *a, const IrTensor *b)
{
  return ir_tensor_dtype (a) == ir_tensor_dtype (b) && ir_tensor_rank (a) == ir_tensor_rank (b) &&
         memcmp (ir_tensor_dims (a), ir_tensor_dims (b), sizeof (gint64) * ir_tensor_rank (a)) == 0;
}

/* FALSE: there is no memory */
static gboolean
add_row (IrRound *of, const IrTensor *tensor)
{
  gsize bytes = ir_tensor_n_bytes (of->first), at = 0, end = 0;

  if (of->other != NULL)
    return TRUE;
  if (!is_row (tensor) || !same_type (of->first, tensor))
    {
      of->other = ir_tensor_ref ((IrTensor *) tensor);
      of->other_at = of->n;
      return TRUE;
    }
  if (!g_size_checked_mul (&at, bytes, of->n) || !g_size_checked_add (&end, at, bytes))
    return FALSE;
  if (end > of->room)
    {
      gsize room = end <= G_MAXSIZE / 2 ? 2 * end : end;
      guint8 *rows = realloc (of->rows, room);
      if (rows == NULL)
        return FALSE;
      of->rows = rows;
      of->room = room;
    }
  memcpy (of->rows + at, ir_tensor_data (tensor), bytes);
  return TRUE;
}

static void
add_to_list (IrRound *of, IrTensor *tensor)
{
  if (of->list == NULL)
    of->list = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  g_ptr_array_add (of->list, ir_tensor_ref (tensor));
}

/* No value holds what the rounds gave; it counts against the memory limit all the same. Returns
 * FALSE with %IR_EXEC_ERROR_MEMORY if there is no room. */
gboolean
ir_rounds_add (IrRounds *rounds,
               guint index,
               IrTensor *tensor,
               const IrRunState *state,
               const IrNode *node,
               GError **error)
{
  IrRound *of = &rounds->of[index];
  gboolean added = TRUE;

  rounds->bytes += ir_tensor_n_bytes (tensor) + sizeof (gpointer);
  if (rounds->bytes > state->memory_limit ||
      state->live_bytes > state->memory_limit - rounds->bytes)
    return ir_subgraph_fail (node, error, IR_EXEC_ERROR_MEMORY,
                             "what the iterations give does not fit into the memory limit");
  if (of->first == NULL)
    of->first = ir_tensor_ref (tensor);
  if (rounds->stacked && of->list == NULL && is_row (of->first))
    added = add_row (of, tensor);
  else
    add_to_list (of, tensor);
  of->n++;
  return added || ir_subgraph_fail (node, error, IR_EXEC_ERROR_MEMORY,
                                    "there is no memory for what the iterations give");
}

/* -- stacking -- */

/* No round: the shape is what inference knows of it or the file declares; unknown sizes are 0. */
static IrTensor *
stack_nothing (gint64 axis, const IrValue *like, GError **error)
{
  const IrType *type = ir_value_shown_type (like);
  gint64 dims[IR_MAX_RANK] = { 0 };
  int n = ir_type_is_tensor (type) ? MIN (MAX (type->rank, 0), IR_MAX_RANK - 1) : 0;
  gint64 at = axis < 0 ? axis + n + 1 : axis;
  IrDtype dtype = ir_type_is_tensor (type) ? type->dtype : IR_DTYPE_UNDEFINED;

  for (int i = 0, k = 0; i <= n; i++)
    if (i != at)
      {
        dims[i] = MAX (type->dims[k], 0);
        k++;
      }
  if (at < 0 || at > n)
    {
      g_set_error (error, IR_OP_ERROR, IR_OP_ERROR_SHAPE,
                   "the axis of a scan output is out of range");
      return NULL;
    }
  return ir_slab_none (dtype != IR_DTYPE_UNDEFINED ? dtype : IR_DTYPE_FLOAT, (guint) n + 1, dims,
                       error);
}

static IrTensor *
fail_other (
    const IrTensor *first, const IrTensor *other, guint at, const IrValue *like, GError **error)
{
  IrContext *context = like->graph->model->context;
  g_autofree char *was = ir_type_to_string (context, ir_tensor_type (first, context));
  g_autofree char *is = ir_type_to_string (context, ir_tensor_type (other, context));

  g_set_error (error, IR_OP_ERROR, IR_OP_ERROR_SHAPE,
               "the scan output %s is %s in iteration 0 and %s in iteration %u; it has to have one "
               "shape in all of them, as they are stacked",
               like->name, was, is, at);
  return NULL;
}

/* The rows are the tensor, which has their memory now. */
static IrTensor *
take_rows (IrRound *of, gsize bytes)
{
  gint64 dims[IR_MAX_RANK] = { of->n };
  guint rank = ir_tensor_rank (of->first);
  guint8 *fitted = realloc (of->rows, bytes);

  memcpy (dims + 1, ir_tensor_dims (of->first), sizeof *dims * rank);
  of->rows = fitted != NULL ? fitted : of->rows;
  g_autoptr (GBytes) memory = g_bytes_new_with_free_func (of->rows, bytes, free, of->rows);
  of->rows = NULL;
  return ir_tensor_new (ir_tensor_dtype (of->first), rank + 1, dims, memory);
}

/* @how: another axis than the first, or backward */
static IrTensor *
join_rows (IrRound *of, gsize bytes, const IrSlabJoin *how, GError **error)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  g_autoptr (GBytes) memory = g_bytes_new_with_free_func (of->rows, bytes, free, of->rows);
  const gsize size = ir_tensor_n_bytes (of->first);

  of->rows = NULL;
  for (guint i = 0; i < of->n; i++)
    g_ptr_array_add (rows,
                     ir_tensor_new_within (ir_tensor_dtype (of->first), ir_tensor_rank (of->first),
                                           ir_tensor_dims (of->first), memory, i * size));
  return ir_slabs_join ((IrTensor *const *) rows->pdata, rows->len, how, error);
}

static IrTensor *
stack_list (const GPtrArray *list, const IrSlabJoin *how, const IrValue *like, GError **error)
{
  guint other = 1;

  while (other < list->len && same_type (list->pdata[0], list->pdata[other]))
    other++;
  if (other == list->len)
    return ir_slabs_join ((IrTensor *const *) list->pdata, list->len, how, error);
  return fail_other (list->pdata[0], list->pdata[other], other, like, error);
}

/* Fails with %IR_OP_ERROR_SHAPE if the rounds gave different shapes. Returns all rounds in one
 * tensor, and lets go of them. @axis: of the result: where the new axis is; negative: from the end. */
IrTensor *
ir_rounds_stack (IrRounds *rounds,
                 guint index,
                 gint64 axis,
                 gboolean backward,
                 const IrValue *like,
                 IrRunState *state,
                 GError **error)
{
  IrRound *of = &rounds->of[index];
  IrSlabJoin how = { axis, TRUE, backward, state->output_limit };

  if (of->n == 0)
    return stack_nothing (axis, like, error);
  if (of->list != NULL)
    return stack_list (of->list, &how, like, error);
  if (of->other != NULL)
    return fail_other (of->first, of->other, of->other_at, like, error);
  const gsize bytes = ir_tensor_n_bytes (of->first) * of->n;
  const gint64 rank = ir_tensor_rank (of->first);
  const gboolean in_order = !backward && (axis == 0 || axis == -rank - 1);
  return in_order && bytes <= how.max_bytes ? take_rows (of, bytes)
                                            : join_rows (of, bytes, &how, error);
}
