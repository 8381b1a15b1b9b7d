/* The check of a plan by a run that follows it. When a kernel is about to run, layout and address
 * of its inputs are compared with what it declares. When a step has run, the tensors that its
 * values have got are compared with the plan: their layouts, their places in the arena, and the
 * bytes that an output shares with values that live, which nothing but a view, a part of a whole,
 * or an input that the kernel declares to be overwritten may do. Nothing of how the memory plan
 * came about is asked for: it may be wrong. */
#include "config.h"

#include "core/exec/run/plan-check.h"

#include "core/exec/memory/ranges.h"

#define MOST_FOUND 1000 /* contradictions that are told */

struct _IrPlanCheck
{
  GMutex lock;
  GArray *found;              /* of IrContradiction */
  const IrPrepared *prepared; /* of the run */
  guint n_nodes;
  guint *last;     /* (nullable) by value id: the last step that reads it; G_MAXUINT: it stays */
  guint *step_of;  /* by node id */
  IrValueId *live; /* values that have been made and are read by a later step, or stay */
  guint n_live;
};

static void
contradiction_clear (gpointer data)
{
  IrContradiction *contradiction = data;

  g_free (contradiction->value);
  g_free (contradiction->found);
  g_free (contradiction->declared);
}

/* A check without anything found */
IrPlanCheck *
ir_plan_check_new (const IrPrepared *prepared)
{
  IrPlanCheck *check = g_new0 (IrPlanCheck, 1);

  g_mutex_init (&check->lock);
  check->prepared = prepared;
  check->found = g_array_new (FALSE, FALSE, sizeof (IrContradiction));
  g_array_set_clear_func (check->found, contradiction_clear);
  return check;
}

void
ir_plan_check_free (IrPlanCheck *check)
{
  if (check == NULL)
    return;
  g_array_unref (check->found);
  g_mutex_clear (&check->lock);
  g_free (check->last);
  g_free (check->step_of);
  g_free (check->live);
  g_free (check);
}

/**
 * ir_run_contradictions:
 * @run: a run that was made with %IR_RUN_CHECK_PLAN
 * @n_nodes: (out): how often a node was looked at
 *
 * Returns: (transfer none) (nullable): #IrContradiction, in the order in which they were found;
 *   %NULL: the run was not checked
 */
const GArray *
ir_run_contradictions (const IrRun *run, guint *n_nodes)
{
  *n_nodes = run->plan_check != NULL ? run->plan_check->n_nodes : 0;
  return run->plan_check != NULL ? run->plan_check->found : NULL;
}

/* @found, @declared: (transfer full) */
static void
note (IrPlanCheck *check,
      const IrNode *node,
      guint slot,
      gboolean is_output,
      char *found,
      char *declared)
{
  const IrValue *value = is_output ? ir_node_output (node, slot) : ir_node_input (node, slot);
  IrContradiction row = { .node = node->id,
                          .slot = slot,
                          .is_output = is_output,
                          .value = g_strdup (value != NULL ? value->name : ""),
                          .found = found,
                          .declared = declared };

  g_mutex_lock (&check->lock);
  if (check->found->len < MOST_FOUND)
    g_array_append_val (check->found, row);
  else
    contradiction_clear (&row);
  g_mutex_unlock (&check->lock);
}

/* -- layouts -- */

static char *
describe_layout (guint block)
{
  return g_strdup (block == 0 ? "plain" : ir_nchwc_name (4, block));
}

static const char *
describe_layouts (guint layouts)
{
  return layouts == IR_LAYOUT_PLAIN   ? "plain"
         : layouts == IR_LAYOUT_NCHWC ? "NCHWc"
                                      : "plain or NCHWc";
}

/* Whether the sizes of @tensor are those of @type in blocks of @block channels, as far as those are known. */
static gboolean
has_layout (const IrTensor *tensor, const IrType *type, guint block)
{
  if (type == NULL || !ir_step_is_plain (type) || ir_tensor_is_container (tensor))
    return TRUE;
  const gint64 *dims = ir_tensor_dims (tensor);
  gint64 plain[4] = { 1, 1, 1, 1 };
  if (type->rank > 4 || ir_tensor_rank (tensor) != 5)
    return FALSE;
  for (int k = 0; k < type->rank; k++)
    plain[4 - type->rank + k] = type->dims[k];
  return dims[0] == plain[0] && dims[1] == (plain[1] + block - 1) / block && dims[2] == plain[2] &&
         dims[3] == plain[3] && dims[4] == block;
}

static char *
describe_sizes (const IrTensor *tensor)
{
  g_autoptr (GString) text = g_string_new ("sizes ");

  for (guint i = 0; i < ir_tensor_rank (tensor); i++)
    g_string_append_printf (text, "%s%" G_GINT64_FORMAT, i > 0 ? "x" : "",
                            ir_tensor_dims (tensor)[i]);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* -- before a kernel -- */

static void
check_address (
    IrPlanCheck *check, const IrCall *call, guint slot, const IrTensor *tensor, IrInputTerms terms)
{
  gconstpointer data = ir_tensor_is_container (tensor) ? NULL : ir_tensor_data (tensor);
  gsize size = 0;

  if (data != NULL && ir_dtype_storage_bytes (ir_tensor_dtype (tensor), 1, &size) && size > 1 &&
      !terms.any_address && GPOINTER_TO_SIZE (data) % size != 0)
    note (check, call->node, slot, FALSE,
          g_strdup_printf ("address %" G_GSIZE_FORMAT " bytes after a multiple of %" G_GSIZE_FORMAT,
                           GPOINTER_TO_SIZE (data) % size, size),
          g_strdup_printf ("an address that is a multiple of %" G_GSIZE_FORMAT, size));
}

static void
check_given (IrPlanCheck *check, const IrCall *call, const IrBackend *backend)
{
  guint block = call->n_outputs > 0 ? call->outputs[0].block : 0;

  if (block != 0 && !(ir_backend_output_terms (backend, call->node).gives & IR_LAYOUT_NCHWC))
    note (check, call->node, 0, TRUE, describe_layout (block), describe_layout (0));
}

/* Called by back ends, from any thread. */
static void
look_at_call (const IrCall *call, gboolean blocks, gpointer data)
{
  IrPlanCheck *check = data;
  const IrBackend *backend = ir_prepared_choice (check->prepared, call->node)->backend;

  g_mutex_lock (&check->lock);
  check->n_nodes++;
  g_mutex_unlock (&check->lock);
  check_given (check, call, backend);
  for (guint i = 0; i < call->n_inputs && i < call->node->n_inputs; i++)
    {
      const IrCallInput *input = &call->inputs[i];
      if (!input->present || input->tensor == NULL || call->node->inputs[i] == NULL ||
          ir_tensor_sparse_values (input->tensor) != NULL)
        continue;
      IrInputTerms terms = ir_backend_input_terms (backend, call->node, i, blocks);
      if (!(terms.layouts & (input->block != 0 ? IR_LAYOUT_NCHWC : IR_LAYOUT_PLAIN)))
        note (check, call->node, i, FALSE, describe_layout (input->block),
              g_strdup (describe_layouts (terms.layouts)));
      else if (input->block != 0 &&
               !has_layout (input->tensor, call->node->inputs[i]->type, input->block))
        note (check, call->node, i, FALSE, describe_sizes (input->tensor),
              describe_layout (input->block));
      check_address (check, call, i, input->tensor, terms);
    }
}

/* Has the back end tell the check of the run, if there is one, what the kernel gets. */
void
ir_plan_check_watch (const IrRunState *state, IrCall *call)
{
  IrPlanCheck *check = state->plan_check;

  call->ready = check != NULL ? look_at_call : NULL;
  call->ready_data = check;
}

/* -- after a step: places and shared bytes -- */

typedef struct
{
  gsize first, end; /* addresses */
} Bytes;

static Bytes
bytes_of (const IrRunState *state, const IrValue *value)
{
  const IrTensor *tensor = state->tensors[value->id];

  if (tensor == NULL)
    tensor = ir_value_constant (value);
  if (tensor == NULL || ir_tensor_is_container (tensor) || ir_tensor_data (tensor) == NULL)
    return (Bytes){ 0 };
  gsize first = GPOINTER_TO_SIZE (ir_tensor_data (tensor));
  return (Bytes){ first, first + ir_tensor_n_bytes (tensor) };
}

static gboolean
overlap (Bytes a, Bytes b)
{
  return a.first < b.end && b.first < a.end;
}

/* The last step that reads each value; what is kept or handed out stays. */
static void
find_last (IrPlanCheck *check, const IrRunState *state)
{
  const IrPrepared *prepared = state->prepared;
  const GArray *items = prepared->schedule->items;

  check->last = g_new0 (guint, prepared->n_values + 1);
  check->live = g_new0 (IrValueId, prepared->n_values + 1);
  for (guint id = 1; id < prepared->n_values; id++)
    {
      const IrValue *value = ir_model_live_value (prepared->model, id);
      if (value != NULL && (prepared->values[id].keep || ir_value_is_graph_output (value)))
        check->last[id] = G_MAXUINT;
      if (value != NULL && value->graph == prepared->model->main && value->producer == NULL &&
          ir_value_constant (value) == NULL)
        {
          check->last[id] = G_MAXUINT; /* what the caller has given is not to be written to */
          check->live[check->n_live++] = id;
        }
    }
  check->step_of = g_new0 (guint, prepared->n_nodes + 1);
  for (guint k = 0; k < items->len; k++)
    check->step_of[g_array_index (items, IrScheduleItem, k).node] = k;
  for (guint id = 1; id < prepared->n_values; id++)
    {
      const IrValue *value = ir_model_live_value (prepared->model, id);
      for (guint i = 0; value != NULL && i < value->n_uses; i++)
        {
          const IrNode *node = ir_use_node_in (prepared->model->main, ir_value_use (value, i));
          if (node != NULL)
            check->last[id] = MAX (check->last[id], check->step_of[node->id]);
        }
    }
}

/* Whether input @input lies where the node puts its contents among those of output @slot: the
 * output is the input under another shape, a range of it, or joins it. */
static gboolean
lies_in_place (const IrRunState *state, const IrNode *node, guint slot, guint input)
{
  const IrSchedule *schedule = state->prepared->schedule;
  Bytes out = bytes_of (state, node->outputs[slot]), in = { 0 };

  if (node->inputs[input] != NULL)
    in = bytes_of (state, node->inputs[input]);
  if (in.end == 0)
    return FALSE;
  if (input == 0 && ir_step_is_view (state->prepared, node))
    return out.first == in.first;
  if (!ir_slice_is_possible (node))
    return FALSE;
  if (ir_op_is (node, IR_OP_CONCAT))
    {
      g_autofree guint64 *at = ir_slices_of_whole (schedule, node);
      return at[input] != IR_SLICE_NOWHERE && in.first == out.first + at[input];
    }
  if (input != 0)
    return FALSE;
  g_autofree guint64 *at = ir_slices_of_input (schedule, node);
  return at[slot] != IR_SLICE_NOWHERE && out.first == in.first + at[slot];
}

/* Whether what @other shares with the output is in an input that lies in place: no byte of it
 * changes. */
static gboolean
is_same_contents (const IrRunState *state, const IrNode *node, guint slot, const IrValue *other)
{
  Bytes out = bytes_of (state, node->outputs[slot]), bytes = bytes_of (state, other);
  Bytes shared = { MAX (out.first, bytes.first), MIN (out.end, bytes.end) };

  for (guint i = 0; i < node->n_inputs; i++)
    if (lies_in_place (state, node, slot, i))
      {
        Bytes in = bytes_of (state, node->inputs[i]);
        if (in.first <= shared.first && shared.end <= in.end)
          return TRUE;
      }
  return FALSE;
}

/* Whether the kernel of @node declares that its output may be written over @other. */
static gboolean
is_overwritten (const IrRunState *state, const IrNode *node, guint slot, const IrValue *other)
{
  const IrBackend *backend = ir_prepared_choice (state->prepared, node)->backend;
  Bytes out = bytes_of (state, node->outputs[slot]), in = bytes_of (state, other);
  gboolean found = FALSE;

  if (slot != 0 || backend == NULL || out.first != in.first || out.end != in.end)
    return FALSE;
  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] == other)
      {
        if (found || !ir_backend_input_terms (backend, node, i, FALSE).overwritten)
          return FALSE;
        found = TRUE;
      }
  return found;
}

/* Whether @other is read no more when step @index runs, though steps beside it, from @first on,
 * have read it: on the same worker, before. */
static gboolean
is_done_with (const IrPlanCheck *check,
              const IrRunState *state,
              guint first,
              guint index,
              const IrValue *other)
{
  const GArray *items = state->prepared->schedule->items;
  guint worker = g_array_index (items, IrScheduleItem, index).worker;

  if (check->last[other->id] >= index)
    return FALSE;
  for (guint i = 0; i < other->n_uses; i++)
    {
      const IrNode *node = ir_use_node_in (state->prepared->model->main, ir_value_use (other, i));
      guint step = node != NULL ? check->step_of[node->id] : index;
      if (step >= first && g_array_index (items, IrScheduleItem, step).worker != worker)
        return FALSE;
    }
  return TRUE;
}

typedef struct
{
  guint first, index, slot; /* the first step beside it, its step, and which output */
} Output;

static void
check_shared (IrPlanCheck *check, const IrRunState *state, Output output, const IrValue *other)
{
  const IrRunStep *step = &state->prepared->steps[output.index];
  const IrNode *node = step->node;
  const IrValue *value = node->outputs[output.slot];
  guint last = check->last[other->id];

  if (other == value || !overlap (bytes_of (state, value), bytes_of (state, other)) ||
      is_done_with (check, state, output.first, output.index, other) ||
      is_same_contents (state, node, output.slot, other) ||
      (last == output.index && is_overwritten (state, node, output.slot, other)))
    return;
  note (check, node, output.slot, TRUE, g_strdup_printf ("bytes that %s lies in", other->name),
        g_strdup_printf (last == output.index ? "an output that is not written over %s"
                                              : "an output apart from %s, which is read later",
                         other->name));
}

/* A step that has nothing to do has its output where its inputs lie. */
static void
check_no_op (IrPlanCheck *check, const IrRunState *state, guint index, guint slot)
{
  const IrRunStep *step = &state->prepared->steps[index];
  const IrNode *node = step->node;
  gboolean joins = ir_op_is (node, IR_OP_CONCAT);

  if (!step->bound || !step->no_op || step->link != 0 || step->constant ||
      ir_value_constant (node->outputs[slot]) != NULL)
    return;
  for (guint i = 0; i < (joins ? node->n_inputs : MIN (node->n_inputs, 1)); i++)
    if (!lies_in_place (state, node, slot, i))
      note (check, node, slot, TRUE, g_strdup_printf ("bytes apart from input %u", i),
            g_strdup ("the bytes of its inputs, as nothing is copied"));
}

/* A tensor in the arena begins where the plan says, and ends where its place does. */
static void
check_place (IrPlanCheck *check, const IrRunState *state, const IrNode *node, guint slot)
{
  const IrValue *value = node->outputs[slot];
  const IrPrepared *prepared = state->prepared;
  const IrPlace *place = &prepared->values[value->id].place;
  Bytes bytes = bytes_of (state, value);
  gsize arena = GPOINTER_TO_SIZE (prepared->arena), end = arena + prepared->memplan->peak_bytes;

  if (arena == 0 || !overlap (bytes, (Bytes){ arena, end }))
    return;
  if (!ir_prepared_in_arena (prepared, value))
    note (check, node, slot, TRUE,
          g_strdup_printf ("byte %" G_GSIZE_FORMAT " of the arena", bytes.first - arena),
          g_strdup ("memory of its own"));
  else if (bytes.first != arena + place->offset || bytes.end > bytes.first + place->size ||
           bytes.end > end)
    note (check, node, slot, TRUE,
          g_strdup_printf ("bytes %" G_GSIZE_FORMAT " to %" G_GSIZE_FORMAT " of the arena",
                           bytes.first - arena, bytes.end - arena),
          g_strdup_printf ("%" G_GUINT64_FORMAT " bytes from %" G_GUINT64_FORMAT
                           " on, of %" G_GUINT64_FORMAT,
                           place->size, place->offset, prepared->memplan->peak_bytes));
}

/* Tensors that the run has made outside of the arena for want of a plan share by reference. */
static gboolean
is_planned (const IrRunState *state, const IrRunStep *step, const IrValue *value)
{
  gsize arena = GPOINTER_TO_SIZE (state->prepared->arena);

  return (step->bound && !state->diverged) ||
         (arena != 0 && overlap (bytes_of (state, value),
                                 (Bytes){ arena, arena + state->prepared->memplan->peak_bytes }));
}

static void
check_output (IrPlanCheck *check, const IrRunState *state, Output output)
{
  guint index = output.index, slot = output.slot;
  const IrNode *node = state->prepared->steps[index].node;
  const IrValue *value = node->outputs[slot];
  const IrTensor *tensor = state->tensors[value->id];
  guint block = ir_schedule_block (state->prepared->schedule, value);

  if (tensor == NULL || ir_value_constant (value) != NULL)
    return;
  if (block != 0 && !has_layout (tensor, value->type, block))
    note (check, node, slot, TRUE, describe_sizes (tensor), describe_layout (block));
  check_place (check, state, node, slot);
  check_no_op (check, state, index, slot);
  for (guint i = 0; i < check->n_live && is_planned (state, &state->prepared->steps[index], value);
       i++)
    check_shared (check, state, output, ir_model_value (state->prepared->model, check->live[i]));
}

/* Values that nothing reads from step @now on do not live any more. */
static void
forget_dead (IrPlanCheck *check, guint now)
{
  guint n = 0;

  for (guint i = 0; i < check->n_live; i++)
    if (check->last[check->live[i]] >= now)
      check->live[n++] = check->live[i];
  check->n_live = n;
}

/* Compares what the values of the steps have got with the plan. Cost: O(outputs * values that
 * live). @end: behind the last one that has; those from @first on may have run beside each
 * other. */
void
ir_plan_check_steps (IrRunState *state, guint first, guint end)
{
  IrPlanCheck *check = state->plan_check;

  if (check->last == NULL)
    find_last (check, state);
  forget_dead (check, first);
  for (guint index = first; index < end; index++)
    {
      const IrNode *node = state->prepared->steps[index].node;

      for (guint slot = 0; slot < node->n_outputs; slot++)
        if (node->outputs[slot] != NULL)
          check_output (check, state, (Output){ first, index, slot });
      for (guint slot = 0; slot < node->n_outputs; slot++)
        if (node->outputs[slot] != NULL)
          check->live[check->n_live++] = node->outputs[slot]->id;
      if (end == first + 1)
        forget_dead (check, index + 1);
    }
}
