/* Steps that have been bound once (bind.c): a step then is its kernel and little else. Views of
 * memory that lasts are made before the nodes run.
 *
 * What is kept is handed out; a buffer that its receiver has let go is filled again by the next
 * run, another one is left to him and replaced. Where a node without a bound call gives another
 * shape than inference said, the rest of that run goes the long way (state->diverged). */
#include "config.h"

#include <string.h>

#include "core/exec/kernel/stats.h"
#include "core/exec/run/chain.h"
#include "core/exec/run/plan-check.h"
#include "core/exec/memory/ranges.h"

/* -- once per run -- */

static gboolean
load_source (IrRunState *state, const IrValue *value, GHashTable *inputs, GError **error)
{
  IrTensor *given = g_hash_table_lookup (inputs, GUINT_TO_POINTER (value->id));
  IrTensor *tensor;

  if (given != NULL)
    state->tensors[value->id] = ir_tensor_ref (given);
  else if (value->initializer != NULL && ir_tensor_sparse_values (value->initializer) != NULL)
    {
      state->tensors[value->id] = ir_tensor_densify (value->initializer, error);
      if (state->tensors[value->id] == NULL)
        return FALSE;
    }
  tensor = ir_run_state_tensor (state, value);
  if (tensor != NULL)
    ir_steps_feed (state, value, tensor);
  if (state->prepared->values[value->id].keep && tensor != NULL)
    ir_run_keep (state->run, value->id, ir_tensor_ref (tensor));
  if (state->options->capture == IR_CAPTURE_STATS && given != NULL)
    {
      IrTensorStats *stats = g_new (IrTensorStats, 1);
      ir_tensor_stats (given, G_N_ELEMENTS (stats->bins), stats);
      g_hash_table_insert (state->run->stats, GUINT_TO_POINTER (value->id), stats);
    }
  return TRUE;
}

static gboolean
make_views (IrRunState *state, GError **error)
{
  IrPrepared *prepared = state->prepared;

  for (guint i = 0; i < prepared->views->len; i++)
    {
      const IrNode *node = prepared->steps[g_array_index (prepared->views, guint, i)].node;
      const IrValue *in = node->inputs[0], *out = node->outputs[0];
      IrTensor *base = prepared->values[in->id].binding.tensor;
      base = base != NULL ? base : ir_run_state_tensor (state, in);
      IrTensor *view = base != NULL
                           ? ir_tensor_reshape (base, (guint) out->type->rank, out->type->dims)
                           : NULL;
      ir_steps_rebind (prepared, out->id, view);
      if (view == NULL)
        {
          g_autofree char *label = ir_exec_label (node);
          g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_KERNEL,
                       "%s: the input has no contents of the shape that was inferred", label);
          return FALSE;
        }
    }
  return TRUE;
}

/**
 * ir_steps_forget_views:
 * @prepared: a plan that no run follows
 *
 * Lets go of views of what the last run was given.
 */
void
ir_steps_forget_views (IrPrepared *prepared)
{
  for (guint i = 0; prepared->views != NULL && i < prepared->views->len; i++)
    ir_steps_rebind (
        prepared, prepared->steps[g_array_index (prepared->views, guint, i)].node->outputs[0]->id,
        NULL);
}

/**
 * ir_steps_begin:
 * @state: a run that begins, with room for tensors
 * @inputs: value id -> #IrTensor
 * @error: return location for an error
 *
 * Gives inputs, constants and bound values their tensors. Sparse constants become dense ones; kept
 * values without a producer are results already.
 *
 * Fails where there is not enough memory.
 *
 * Returns: %TRUE if the nodes can run
 */
gboolean
ir_steps_begin (IrRunState *state, GHashTable *inputs, GError **error)
{
  IrPrepared *prepared = state->prepared;

  ir_steps_forget_views (prepared);
  if (!ir_output_slab_renew (prepared, error))
    return FALSE;
  for (guint i = 0; i < prepared->sources->len; i++)
    {
      IrValueId id = g_array_index (prepared->sources, IrValueId, i);
      if (!load_source (state, ir_model_value (prepared->model, id), inputs, error))
        return FALSE;
    }
  if (!make_views (state, error))
    return FALSE;
  for (guint id = 0; id < prepared->n_values; id++)
    if (prepared->values[id].binding.tensor != NULL &&
        (prepared->places == NULL || !prepared->places->values[id].made_there))
      state->tensors[id] = prepared->values[id].binding.tensor;
  return TRUE;
}

/* @all: also those whose sizes the plan does not know */
static gboolean
has_planned_inputs (const IrPrepared *prepared, const IrCall *call, gboolean all)
{
  const IrNode *node = call->node;

  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrType *type = node->inputs[i] != NULL
                               ? ir_schedule_kept_type (prepared->schedule, node->inputs[i])
                               : NULL;
      if (node->inputs[i] != NULL && (all || ir_step_is_plain (type)) &&
          !ir_step_has_type (call->inputs[i].tensor, type))
        return FALSE;
    }
  return TRUE;
}

/**
 * ir_steps_may_place:
 * @prepared: a plan
 * @call: a call whose inputs have contents
 *
 * Parts lie in wholes at offsets that follow from inferred shapes, and what is written over an
 * input has its elements; where shapes turn out to be others, a kernel would write over what it
 * still has to read.
 *
 * Returns: whether the call may write where the memory plan wants its outputs
 */
gboolean
ir_steps_may_place (const IrPrepared *prepared, const IrCall *call)
{
  return has_planned_inputs (prepared, call, ir_slice_is_possible (call->node));
}

/**
 * ir_steps_may_block:
 * @prepared: a plan
 * @call: a call whose inputs have contents, as it was laid out
 *
 * NCHWc is planned by the shapes that the graph declares, which contents may not
 * have.
 *
 * Returns: whether all inputs are of the types that the plan was made for
 */
gboolean
ir_steps_may_block (const IrPrepared *prepared, const IrCall *call)
{
  return has_planned_inputs (prepared, call, TRUE);
}

/**
 * ir_steps_feed:
 * @state: a run under way
 * @value: a value that a node without a bound call has just computed
 * @tensor: its contents
 *
 * Gives them to the bound calls that read @value, or, where they are not of the type that the plan
 * was made for, sends the rest of the run the long way.
 */
void
ir_steps_feed (IrRunState *state, const IrValue *value, IrTensor *tensor)
{
  const IrPrepared *prepared = state->prepared;

  if (value->id >= prepared->n_values)
    return;
  if (prepared->places != NULL && prepared->places->values[value->id].made_there &&
      !ir_copies_give (state, value, tensor, NULL))
    state->diverged = TRUE; /* the next call of the device says why */
  if (prepared->values[value->id].binding.n == 0)
    return;
  if (ir_step_has_type (tensor, ir_schedule_kept_type (prepared->schedule, value)))
    ir_steps_tell (prepared, value->id, tensor);
  else
    state->diverged = TRUE;
}

/* -- one step -- */

static IrTensor *
give_bound (
    IrCall *call, guint output, IrDtype dtype, guint rank, const gint64 *dims, GError **error)
{
  IrRunStep *step = call->alloc_data;
  IrTensor *tensor = step->outputs[output];

  if (tensor != NULL && ir_tensor_dtype (tensor) == dtype && ir_tensor_rank (tensor) == rank &&
      memcmp (ir_tensor_dims (tensor), dims, sizeof (gint64) * rank) == 0)
    return ir_tensor_ref (tensor);
  IrTensor *own = ir_tensor_new_alloc (dtype, rank, dims, error);
  ir_run_count_bytes (&step->allocated_bytes, own != NULL ? ir_tensor_n_bytes (own) : 0);
  return own;
}

/* A kernel may have given a tensor of its own. */
static gboolean
take_bound (IrRunState *state, IrRunStep *step, guint slot, GError **error)
{
  const IrValue *value = step->node->outputs[slot];
  g_autoptr (IrTensor) tensor = g_steal_pointer (&step->call.outputs[slot].tensor);
  IrTensor *wanted = step->outputs[slot];

  if (tensor == wanted || value == NULL)
    return TRUE;
  if (tensor == NULL)
    return ir_call_fail (&step->call, error, IR_OP_ERROR_UNSUPPORTED,
                         "the kernel does not compute output %u (%s)", slot, value->name);
  if (ir_step_has_type (tensor, ir_schedule_kept_type (state->prepared->schedule, value)))
    {
      gconstpointer from = ir_tensor_data (tensor);
      gpointer to = ir_tensor_data_writable (wanted);
      if (from != to)
        memmove (to, from, ir_tensor_n_bytes (wanted));
      return TRUE;
    }
  if (state->concurrent)
    return ir_call_fail (&step->call, error, IR_OP_ERROR_SHAPE,
                         "output %u (%s) is of another shape than was inferred", slot, value->name);
  state->diverged = TRUE;
  return ir_run_state_publish (state, value, tensor, error);
}

static void
keep_outputs (IrRunState *state, const IrRunStep *step)
{
  const IrNode *node = step->node;

  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrValue *value = node->outputs[i];
      if (value == NULL)
        continue;
      IrTensor *tensor = state->tensors[value->id];
      if (tensor == NULL || !ir_steps_holds (state->prepared, value->id, tensor))
        continue; /* in another memory, or published already */
      ir_run_capture (state, value, tensor);
    }
}

/* From the next run on its outputs are there. */
static void
fix_step (IrPrepared *prepared, IrRunStep *step)
{
  IrTraceItem *item = &prepared->trace[step - prepared->steps];

  step->no_op = TRUE;
  item->kernel = "kept from the first run, as only constants lead to it";
  item->flops = item->bytes = 0;
}

static gboolean
run_chain (
    IrRunState *state, IrRunStep *head, IrThreads threads, IrScratch *scratch, GError **error)
{
  if (!ir_run_begin_kernel (state, error))
    return FALSE;
  gboolean done = ir_chain_run (state, head, threads, scratch, error);
  return ir_run_end_kernel (state, error) && done;
}

/**
 * ir_step_compute:
 * @state: a run under way
 * @step: a bound step that has something to compute
 * @threads: for its kernel
 * @scratch: for its kernel alone
 * @error: return location for an error
 *
 * Runs the kernel. Several threads may do so for steps of one run at once; the run's account is
 * kept by ir_step_finish().
 *
 * Returns: %TRUE if its outputs have contents
 */
gboolean
ir_step_compute (
    IrRunState *state, IrRunStep *step, IrThreads threads, IrScratch *scratch, GError **error)
{
  IrCall *call = &step->call;

  if (step->chain > 0)
    return run_chain (state, step, threads, scratch, error);
  ir_run_enter_call (state, call, threads, scratch);
  call->alloc = give_bound;
  call->alloc_data = step;
  ir_plan_check_watch (state, call);
  /* One that has seen that it is to stop may leave its outputs incomplete. */
  gboolean done = ir_run_kernel (state, step->choice->kernel, call, error) &&
                  !ir_call_fail_if_cut (call, error);
  for (guint i = 0; done && i < call->n_outputs; i++)
    done = take_bound (state, step, i, error);
  ir_call_disown (call, step->n_owned);
  if (!done)
    for (guint i = 0; i < call->n_outputs; i++)
      g_clear_pointer (&call->outputs[i].tensor, ir_tensor_unref);
  return done;
}

/**
 * ir_step_finish:
 * @state: a run under way
 * @step: a bound step that has run
 *
 * Counts its memory and keeps of its outputs what the options ask for.
 */
void
ir_step_finish (IrRunState *state, IrRunStep *step)
{
  state->placed_bytes = step->placed_bytes;
  state->live_bytes += step->kept_bytes;
  state->peak_bytes = MAX (state->peak_bytes, state->live_bytes + step->placed_bytes);
  if (step->observed)
    keep_outputs (state, step);
  if (step->constant && !step->no_op)
    fix_step (state->prepared, step);
}

/**
 * ir_step_run:
 * @state: a run under way
 * @step: a bound step
 * @index: its place in the schedule
 * @error: return location for an error
 *
 * Returns: %TRUE if its outputs have contents
 */
gboolean
ir_step_run (IrRunState *state, IrRunStep *step, guint index, GError **error)
{
  if (!ir_device_clock_note (state, step, FALSE, error) ||
      (!step->no_op &&
       !ir_step_compute (state, step, state->threads, &state->prepared->scratch, error)) ||
      !ir_device_clock_note (state, step, TRUE, error))
    return FALSE;
  if (step->there)
    {
      state->ran[step->node->id] = TRUE;
      if (!ir_copies_run (state, index, TRUE, error) || !ir_copies_observe (state, step, error))
        return FALSE;
    }
  ir_step_finish (state, step);
  return TRUE;
}
