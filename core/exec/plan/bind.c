/* Binding of steps: where every type is known before a run, the call of a node is laid out,
 * adapted, checked and inferred when the first run begins, its outputs get tensors for good, in the
 * arena or, for values that are kept, in memory that lasts, and each tensor is written into the
 * calls that read it. steps.c runs what has been bound. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/exec/kernel/device-stats.h"
#include "core/exec/kernel/stats-blocks.h"
#include "core/exec/plan/plan.h"
#include "core/exec/memory/ranges.h"
#include "core/exec/schedule/places-keep.h"
#include "core/op/infer.h"

typedef struct
{
  IrPrepared *prepared;
  const IrRunOptions *options;
  guint64 budget;     /* bytes that tensors of their own may still take */
  guint64 limit;      /* bytes of one value */
  guint8 *persistent; /* by value id: its memory is not of the arena and there before it is read */
} Binder;

/* -- which calls can be bound -- */

static gboolean
has_plain_types (const IrNode *node)
{
  gboolean some = FALSE;

  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && !ir_step_is_plain (node->inputs[i]->type))
      return FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      {
        some = TRUE;
        if (!ir_step_is_plain (node->outputs[i]->type) ||
            ir_step_bytes (node->outputs[i]->type) == 0)
          return FALSE;
      }
  return some;
}

/* Inference from types and constants alone must give the very types that the plan was made for. */
static gboolean
infers_types (IrCall *call)
{
  for (guint i = 0; i < call->n_outputs; i++)
    call->outputs[i].type = NULL;
  if (!call->op->infer (call, NULL))
    return FALSE;
  for (guint i = 0; i < call->node->n_outputs; i++)
    if (call->node->outputs[i] != NULL &&
        (i >= call->n_outputs || call->outputs[i].type != call->node->outputs[i]->type))
      return FALSE;
  return TRUE;
}

/* Which operands are in NCHWc; their types are those of the graph all the same. */
static void
bind_blocks (const IrPrepared *prepared, IrRunStep *step)
{
  const IrNode *node = step->node;

  for (guint i = 0; i < node->n_inputs; i++) /* of old forms some are put in place of inputs */
    if (node->inputs[i] != NULL && step->call.inputs[i].type == node->inputs[i]->type)
      step->call.inputs[i].block = (guint8) ir_schedule_block (prepared->schedule, node->inputs[i]);
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      step->call.outputs[i].block = (guint8) ir_schedule_block (prepared->schedule,
                                                                node->outputs[i]);
}

static gboolean
lay_out (const IrPrepared *prepared, IrRunStep *step)
{
  const IrNode *node = step->node;
  IrCall *call = &step->call;

  if (step->choice->kernel == NULL || node->op == NULL || node->op->infer == NULL ||
      (node->op->flags & (IR_OP_RANDOM | IR_OP_SUBGRAPHS)) || !has_plain_types (node))
    return FALSE;
  ir_call_init (call, node);
  gboolean done = call->n_inputs >= node->n_inputs && call->n_outputs == node->n_outputs;
  for (guint i = 0; i < call->n_inputs; i++)
    done = done && call->inputs[i].align_axis == 0 &&
           (!call->inputs[i].present || call->inputs[i].type != NULL);
  done = done && ir_call_check (call, NULL) && infers_types (call);
  if (!done)
    {
      ir_call_clear (call);
      return FALSE;
    }
  call->shape_static = ir_step_is_shape_static (call);
  bind_blocks (prepared, step);
  step->n_owned = ir_call_n_owned (call);
  return TRUE;
}

/* -- where outputs go -- */

static IrTensor *
new_placed (const IrPrepared *prepared, const IrPlace *place, const IrType *type)
{
  return ir_tensor_new_static (type->dtype, (guint) type->rank, type->dims,
                               (guint8 *) prepared->arena + place->offset, place->size);
}

static gboolean
is_constant_output (const IrNode *node)
{
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && ir_value_constant (node->outputs[i]) == NULL)
      return FALSE;
  return TRUE;
}

/* Where a value lies, or is going to: in the arena (root 0), or among the bytes of a kept value. */
static gboolean
find_place (const IrPrepared *prepared, const IrValue *value, IrValueId *root, guint64 *at)
{
  *root = 0;
  *at = prepared->values[value->id].place.offset;
  if (ir_prepared_in_arena (prepared, value))
    return TRUE;
  *root = ir_capture_root (prepared, value->id, at);
  return prepared->values[*root].slab_place.chunk != 0;
}

/* The same of one that has its tensor there. */
static gboolean
find_bound (const IrPrepared *prepared, const IrValue *value, IrValueId *root, guint64 *at)
{
  return prepared->values[value->id].binding.tensor != NULL &&
         (ir_prepared_in_arena (prepared, value) ||
          prepared->values[value->id].slab_place.chunk != 0) &&
         find_place (prepared, value, root, at);
}

/* TRUE: nothing to run; every part lies in its place in the whole already: the inputs of a Concat,
 * or the outputs of what cuts. */
static gboolean
is_in_place (const IrPrepared *prepared, const IrNode *node)
{
  gboolean joins = ir_op_is (node, IR_OP_CONCAT), some = FALSE;
  const IrValue *whole = joins ? ir_node_output (node, 0) : ir_node_input (node, 0);
  IrValueId root;
  guint64 from;

  if (!ir_slice_is_possible (node) || whole == NULL ||
      !(joins ? find_place : find_bound) (prepared, whole, &root, &from))
    return FALSE;
  g_autofree guint64 *at = (joins ? ir_slices_of_whole : ir_slices_of_input) (prepared->schedule,
                                                                              node);
  for (guint i = 0; i < (joins ? node->n_inputs : node->n_outputs); i++)
    {
      const IrValue *part = joins ? node->inputs[i] : node->outputs[i];
      guint64 there;
      IrValueId other;
      if (part == NULL && !joins)
        continue;
      if (at[i] == IR_SLICE_NOWHERE ||
          !(joins ? find_bound : find_place) (prepared, part, &other, &there) || other != root ||
          there != from + at[i])
        return FALSE;
      some = TRUE;
    }
  return some;
}

/* TRUE: nothing to run; the output is the input under another shape: in its own place already
 * (@bound), or made so when a run begins. */
static gboolean
bind_view (Binder *binder, IrRunStep *step, guint index, gboolean *bound)
{
  IrPrepared *prepared = binder->prepared;
  const IrValue *in = step->node->inputs[0], *out = step->node->outputs[0];
  IrValueId root, other;
  guint64 at, from;

  *bound = find_bound (prepared, in, &root, &at) && find_place (prepared, out, &other, &from) &&
           root == other && at == from;
  if (*bound || ir_prepared_in_arena (prepared, out) || !binder->persistent[in->id] ||
      (prepared->without & IR_DECISION_SHARING) ||
      ir_plan_is_excepted (prepared->except, IR_DECISION_SHARING, out->id))
    return *bound;
  binder->persistent[out->id] = TRUE;
  g_array_append_val (prepared->views, index);
  return TRUE;
}

static gboolean
bind_output (Binder *binder, IrRunStep *step, guint slot, GError **error)
{
  IrPrepared *prepared = binder->prepared;
  const IrValue *value = step->node->outputs[slot];
  const IrType *type = ir_schedule_kept_type (prepared->schedule, value);
  IrTensor *tensor = NULL;

  if (step->there && !ir_prepared_in_arena (prepared, value) &&
      prepared->values[value->id].keep == IR_KEEP_NOT)
    return TRUE; /* nobody wants it in the host's memory */
  if (ir_prepared_in_arena (prepared, value))
    tensor = new_placed (prepared, &prepared->values[value->id].place, type);
  else if (step->constant)
    {
      tensor = ir_output_slab_constant (prepared, value, error);
      binder->persistent[value->id] = TRUE;
      binder->budget -= ir_step_bytes (type);
      step->kept_bytes += ir_step_bytes (type);
    }
  else
    {
      guint64 bytes = ir_output_slab_needs (prepared, value);
      tensor = ir_output_slab_tensor (prepared, value, error);
      binder->persistent[value->id] = TRUE;
      binder->budget -= bytes;
      step->kept_bytes += bytes;
    }
  prepared->values[value->id].binding.tensor = tensor;
  if (!step->there)
    step->outputs[slot] = tensor;
  return tensor != NULL;
}

/* Values outside of the arena that are not kept would stay for good; they go the long way, and so
 * do those for which there is too little memory, which are written to a file. */
static gboolean
fits (const Binder *binder, const IrRunStep *step)
{
  const IrNode *node = step->node;
  guint64 needed = 0;

  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrValue *value = node->outputs[i];
      if (value == NULL)
        continue;
      guint64 bytes = ir_prepared_kept_bytes (binder->prepared, value);
      if (bytes > binder->limit)
        return FALSE;
      if (ir_prepared_in_arena (binder->prepared, value))
        {
          if (bytes > binder->prepared->values[value->id].place.size)
            return FALSE;
        }
      else if (!binder->prepared->values[value->id].keep)
        {
          if (!step->there)
            return FALSE;
        }
      else
        needed += ir_output_slab_needs (binder->prepared, value);
    }
  return needed <= binder->budget;
}

/* Tensors of its own that a step fills, @n_slab_values of them, are handed out with all others when the
 * run ends: see ir_run_adopt(). */
static void
mark_observed (const Binder *binder, IrRunStep *step, guint n_slab_values)
{
  guint n_kept = 0;

  step->observed = binder->options->capture == IR_CAPTURE_STATS;
  for (guint i = 0; i < step->node->n_outputs; i++)
    if (step->node->outputs[i] != NULL)
      {
        n_kept += binder->prepared->values[step->node->outputs[i]->id].keep != IR_KEEP_NOT;
        step->observed = step->observed ||
                         binder->prepared->values[step->node->outputs[i]->id].spill;
      }
  step->observed = step->observed || n_kept != n_slab_values;
}

static void
bind_constants (Binder *binder, IrRunStep *step)
{
  for (guint i = 0; i < step->node->n_outputs; i++)
    {
      const IrValue *value = step->node->outputs[i];
      if (value == NULL)
        continue;
      binder->persistent[value->id] = TRUE;
      step->outputs[i] = (IrTensor *) ir_value_constant (value);
      binder->prepared->values[value->id].binding.tensor = ir_tensor_ref (step->outputs[i]);
    }
}

/* Where the budget sends one of its values to a file, the node runs in every run. */
static gboolean
stays_constant (const IrPrepared *prepared, const IrNode *node)
{
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL &&
        (!prepared->values[node->outputs[i]->id].constant ||
         prepared->values[node->outputs[i]->id].keep != IR_KEEP_PLANNED))
      return FALSE;
  return TRUE;
}

/* A view of a value that lies there already. */
static gboolean
is_view_there (const IrPrepared *prepared, const IrRunStep *step)
{
  return ir_step_is_view (prepared, step->node) && step->call.inputs[0].there &&
         ir_tensor_data (step->call.inputs[0].tensor) == ir_tensor_data (step->outputs[0]);
}

/* The step goes the long way. */
static void
unbind (IrRunStep *step)
{
  g_clear_pointer (&step->outputs, g_free);
  ir_call_clear (&step->call);
  step->there = FALSE;
}

static gboolean
bind_step (Binder *binder, IrRunStep *step, guint index, GError **error)
{
  const IrNode *node = step->node;
  const IrScheduleItem *item = &g_array_index (binder->prepared->schedule->items, IrScheduleItem,
                                               index);
  guint n_before = binder->prepared->slab_values->len;
  gboolean done = TRUE, bound = FALSE;

  if (!lay_out (binder->prepared, step))
    return TRUE;
  step->outputs = g_new0 (IrTensor *, MAX (node->n_outputs, 1));
  if (item->memory != NULL && !is_constant_output (node) &&
      !ir_there_bind (binder->prepared, step, item))
    {
      unbind (step);
      return TRUE;
    }
  if (is_constant_output (node))
    {
      step->no_op = TRUE;
      bind_constants (binder, step);
    }
  else if (!step->there && ir_step_is_view (binder->prepared, node) &&
           bind_view (binder, step, index, &bound))
    {
      step->no_op = TRUE;
      if (bound)
        done = bind_output (binder, step, 0, error);
    }
  else if (!fits (binder, step))
    {
      unbind (step);
      return TRUE;
    }
  else
    {
      step->constant = stays_constant (binder->prepared, node);
      step->no_op = step->there ? is_view_there (binder->prepared, step)
                                : is_in_place (binder->prepared, node);
      for (guint i = 0; i < node->n_outputs && done; i++)
        if (node->outputs[i] != NULL)
          done = bind_output (binder, step, i, error);
    }
  step->bound = TRUE;
  mark_observed (binder, step, binder->prepared->slab_values->len - n_before);
  return done;
}

/* -- who reads what -- */

static void
count_readers (IrPrepared *prepared, gboolean fill)
{
  guint n_steps = prepared->schedule->items->len;

  for (guint k = 0; k < n_steps; k++)
    {
      IrRunStep *step = &prepared->steps[k];
      for (guint i = 0; step->bound && i < step->node->n_inputs; i++)
        {
          const IrValue *value = step->node->inputs[i];
          if (value == NULL || !step->call.inputs[i].present || step->there ||
              ir_value_constant (value) != NULL)
            continue;
          IrBinding *binding = &prepared->values[value->id].binding;
          if (fill)
            prepared->readers[binding->first + binding->n] = &step->call.inputs[i];
          binding->n++;
        }
      for (guint i = 0; fill && step->bound && i < step->node->n_outputs; i++)
        if (step->node->outputs[i] != NULL && !step->there)
          prepared->values[step->node->outputs[i]->id].binding.producer_slot = &step->outputs[i];
    }
}

static void
find_readers (IrPrepared *prepared)
{
  guint n = 0;

  count_readers (prepared, FALSE);
  for (guint id = 0; id < prepared->n_values; id++)
    {
      prepared->values[id].binding.first = n;
      n += prepared->values[id].binding.n;
      prepared->values[id].binding.n = 0;
    }
  prepared->readers = g_new0 (IrCallInput *, MAX (n, 1));
  count_readers (prepared, TRUE);
}

/* -- bytes -- */

typedef struct
{
  guint64 low, high; /* bytes of the arena */
  guint first, last; /* steps */
} Interval;

/* Values that share a place live, together, from the first's first step to the last's last. */
static Interval *
find_intervals (const IrPrepared *prepared)
{
  const GArray *items = prepared->memplan->items;
  guint n_steps = prepared->schedule->items->len;
  Interval *intervals = g_new0 (Interval, prepared->n_values + 1);

  for (guint i = 0; i < items->len; i++)
    {
      const IrMemItem *item = &g_array_index (items, IrMemItem, i);
      Interval *interval = &intervals[item->alias_of != 0 ? item->alias_of : item->value];
      if (item->offset == IR_PLACE_EXTERNAL ||
          prepared->values[item->value].binding.tensor == NULL ||
          !ir_prepared_in_arena (prepared, ir_model_value (prepared->model, item->value)))
        continue;
      if (interval->high == 0)
        *interval = (Interval){ item->offset, 0, item->first, 0 };
      interval->low = MIN (interval->low, item->offset);
      interval->high = MAX (interval->high, item->offset + item->size);
      interval->first = MIN (interval->first, item->first);
      interval->last = MAX (interval->last, MIN (item->last, n_steps - 1));
    }
  return intervals;
}

static void
count_placed (const Binder *binder)
{
  IrPrepared *prepared = binder->prepared;
  guint n_steps = prepared->schedule->items->len;
  g_autofree gint64 *change = g_new0 (gint64, n_steps + 2);
  g_autofree Interval *intervals = find_intervals (prepared);
  gint64 bytes = 0;

  for (guint id = 0; id < prepared->n_values; id++)
    {
      change[intervals[id].first] += (gint64) (intervals[id].high - intervals[id].low);
      change[intervals[id].last + 1] -= (gint64) (intervals[id].high - intervals[id].low);
    }
  guint64 reach = 0;
  for (guint k = 0; k < n_steps; k++)
    {
      IrRunStep *step = &prepared->steps[k];
      bytes += change[k];
      step->placed_bytes = (guint64) bytes;
      for (guint i = 0; step->bound && i < step->node->n_outputs; i++)
        if (step->node->outputs[i] != NULL &&
            ir_prepared_in_arena (prepared, step->node->outputs[i]))
          reach = MAX (reach, prepared->values[step->node->outputs[i]->id].place.offset +
                                  ir_prepared_kept_bytes (prepared, step->node->outputs[i]));
      step->reach_bytes = reach;
    }
}

/* Bound values are let go by nobody, but what was copied to the host's memory for a while. */
static void
shorten_releases (IrPrepared *prepared)
{
  guint n_steps = prepared->schedule->items->len, n = 0;

  for (guint k = 0; k < n_steps; k++)
    {
      guint first = prepared->release_start[k], end = prepared->release_start[k + 1];
      prepared->release_start[k] = n;
      for (guint i = first; i < end; i++)
        {
          const IrValue *value = ir_model_value (prepared->model, prepared->release[i]);
          if (prepared->values[value->id].binding.producer_slot == NULL &&
              (prepared->values[value->id].binding.tensor == NULL ||
               ir_prepared_in_arena (prepared, value)))
            prepared->release[n++] = value->id;
        }
    }
  prepared->release_start[n_steps] = n;
}

/* The first step of a chain does the work of all, and takes their time. */
static void
trace_chain (const IrPrepared *prepared, guint first)
{
  IrTraceItem *head = &prepared->trace[first];

  head->kernel = "tile by tile, with those that follow";
  for (guint k = first + 1; k < first + prepared->steps[first].chain; k++)
    {
      IrTraceItem *item = &prepared->trace[k];
      if (prepared->steps[k].link == 0)
        continue;
      item->kernel = "tile by tile, with those before";
      head->flops += item->flops;
      head->bytes += item->bytes;
      item->flops = item->bytes = 0;
    }
}

static void
make_trace (IrPrepared *prepared)
{
  guint n_steps = prepared->schedule->items->len;

  prepared->trace = g_new0 (IrTraceItem, MAX (n_steps, 1));
  for (guint k = 0; k < n_steps; k++)
    {
      const IrRunStep *step = &prepared->steps[k];
      IrTraceItem *item = &prepared->trace[k];
      gboolean partial = FALSE;
      const guint stream = prepared->places != NULL ? prepared->places->streams->stream[k]
                                                    : IR_STREAM_NONE;
      item->node = step->node->id;
      item->stream = stream != IR_STREAM_NONE ? stream + 1 : 0;
      item->device = g_array_index (prepared->schedule->items, IrScheduleItem, k).device;
      item->kernel = g_array_index (prepared->schedule->items, IrScheduleItem, k).kernel;
      if (step->bound)
        ir_cost_call (&step->call, &item->flops, &item->bytes);
      else
        {
          item->bytes = ir_cost_node_bytes (step->node, &partial);
          item->flops = ir_cost_node_flops (step->node, &partial);
        }
    }
  for (guint k = 0; k < n_steps; k++)
    if (prepared->steps[k].chain > 0)
      trace_chain (prepared, k);
}

/* So much room takes what a device counts of the largest value that it makes. */
static guint64
room_for_stats (const IrPrepared *prepared)
{
  const IrPlaces *places = prepared->places;
  const IrDeviceStats *device = places != NULL ? ir_device_stats_of (places->memory) : NULL;
  guint64 most = 0;

  for (guint id = 1; device != NULL && id < places->n_values; id++)
    {
      const IrType *type = places->values[id].made_there
                               ? ir_model_value (prepared->model, id)->type
                               : NULL;
      IrStatsLayout layout;
      guint64 n;
      if (type == NULL || !ir_step_is_plain (type) || !ir_type_n_elements (type, &n) ||
          !device->has (type->dtype))
        continue;
      ir_stats_layout (n, &layout);
      most = MAX (most, layout.bytes);
    }
  return most;
}

static gboolean
is_on_device (const IrPrepared *prepared, const IrNode *node)
{
  const IrBackend *backend = ir_prepared_choice (prepared, node)->backend;

  return backend != NULL && backend->memory != NULL;
}

/* Whether a step of the host makes or reads it. */
static gboolean
is_of_host (const IrPrepared *prepared, const IrValue *value)
{
  if (value->producer == NULL || !is_on_device (prepared, value->producer))
    return TRUE;
  for (guint i = 0; i < value->n_uses; i++)
    {
      const IrNode *node = ir_use_node_in (value->graph, ir_value_use (value, i));
      if (node != NULL && !is_on_device (prepared, node))
        return TRUE;
    }
  return FALSE;
}

/* How it is kept. What lies in what is kept of a larger value that a device makes is copied with that, and once is
 * enough; but who may stop a run before (@watched) wants it at once. @of_host: by value id, whether steps of the host
 * touch what lies there. */
static IrPlacesKeep
how_kept (const IrPrepared *prepared, IrValueId id, gboolean watched, const guint8 *of_host)
{
  guint64 at;
  IrValueId root = ir_capture_root (prepared, id, &at);
  const IrValue *whole = ir_model_live_value (prepared->model, root);

  if (prepared->values[id].keep == IR_KEEP_NOT)
    return IR_PLACES_LEFT;
  if (root != id && !watched && prepared->values[id].keep == IR_KEEP_PLANNED &&
      prepared->values[root].keep == IR_KEEP_PLANNED && whole->producer != NULL &&
      is_on_device (prepared, whole->producer))
    return IR_PLACES_WITHIN;
  return of_host[root] ? IR_PLACES_AT_ONCE : IR_PLACES_KEPT;
}

/* Which values are in which memory, in runs that keep what these do. */
static gboolean
make_places (IrPrepared *prepared, const IrRunOptions *options, GError **error)
{
  g_autofree guint8 *kept = g_new0 (guint8, (gsize) prepared->n_values + 1);
  g_autofree guint8 *of_host = g_new0 (guint8, (gsize) prepared->n_values + 1);
  guint64 at;

  for (IrValueId id = 1; id < prepared->n_values; id++)
    {
      const IrValue *value = ir_model_live_value (prepared->model, id);
      if (value != NULL && value->graph == prepared->model->main &&
          prepared->values[id].keep != IR_KEEP_NOT && is_of_host (prepared, value))
        of_host[ir_capture_root (prepared, id, &at)] = TRUE;
    }
  for (IrValueId id = 1; id < prepared->n_values; id++)
    kept[id] = (guint8) how_kept (prepared, id, options->control != NULL, of_host);
  prepared->places = ir_places_new (prepared->schedule, prepared->model, kept);
  gboolean counts = options->capture == IR_CAPTURE_STATS || options->control != NULL;
  return ir_there_make (prepared, counts ? room_for_stats (prepared) : 0, error);
}

/* -- once -- */

static void
find_sources (Binder *binder)
{
  IrPrepared *prepared = binder->prepared;

  for (guint id = 1; id < prepared->n_values; id++)
    {
      const IrValue *value = ir_model_live_value (prepared->model, id);
      if (value == NULL || value->producer != NULL)
        continue;
      binder->persistent[id] = value->graph == prepared->model->main;
      g_array_append_val (prepared->sources, id);
    }
}

/**
 * ir_steps_make:
 * @prepared: a plan with its arena
 * @options: of its runs
 * @memory_limit: bytes of all values together
 * @cancellable: (nullable): polled between nodes
 * @error: return location for an error
 *
 * Binds what can be bound; only the first call that comes through does something.
 *
 * Fails where there is not enough memory, or it was cancelled.
 *
 * Returns: %TRUE if @prepared is ready for ir_steps_begin()
 */
gboolean
ir_steps_make (IrPrepared *prepared,
               const IrRunOptions *options,
               gsize memory_limit,
               GCancellable *cancellable,
               GError **error)
{
  guint n_steps = prepared->schedule->items->len;

  if (prepared->trace != NULL && !ir_there_is_lost (prepared))
    return TRUE;
  ir_steps_free (prepared); /* what an attempt that failed has left */
  g_autofree guint8 *persistent = g_new0 (guint8, prepared->n_values + 1);
  Binder binder = { prepared, options, memory_limit,
                    options->output_limit != 0 ? options->output_limit
                                               : ir_exec_default_memory_limit (),
                    persistent };
  ir_capture_plan (prepared, options);
  if (!make_places (prepared, options, error))
    return FALSE;
  prepared->steps = g_new0 (IrRunStep, MAX (n_steps, 1));
  prepared->alternate = options->alternate;
  ir_output_slab_init (prepared);
  prepared->views = g_array_new (FALSE, FALSE, sizeof (guint));
  prepared->sources = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  find_sources (&binder);
  for (guint k = 0; k < n_steps; k++)
    {
      IrRunStep *step = &prepared->steps[k];
      step->node = ir_model_node (
          prepared->model, g_array_index (prepared->schedule->items, IrScheduleItem, k).node);
      step->choice = ir_prepared_choice (prepared, step->node);
      if (ir_exec_cancelled (cancellable, k, error) || !bind_step (&binder, step, k, error))
        return FALSE;
      step->n_slab_values = prepared->slab_values->len;
    }
  find_readers (prepared);
  for (guint id = 0; id < prepared->n_values; id++)
    if (prepared->values[id].binding.tensor != NULL)
      ir_steps_tell (prepared, id, prepared->values[id].binding.tensor);
  count_placed (&binder);
  shorten_releases (prepared);
  if (prepared->places == NULL)
    ir_chains_find (prepared);
  make_trace (prepared);
  return TRUE;
}

/**
 * ir_steps_free:
 * @prepared: a plan
 *
 * Takes back what ir_steps_make() has added, except that released values stay shortened.
 */
void
ir_steps_free (IrPrepared *prepared)
{
  ir_output_slab_clear (prepared);
  ir_there_clear (prepared);
  for (guint k = 0; prepared->steps != NULL && k < prepared->schedule->items->len; k++)
    if (prepared->steps[k].bound)
      {
        ir_call_clear (&prepared->steps[k].call);
        g_free (prepared->steps[k].outputs);
      }
  for (guint id = 0; prepared->values != NULL && id < prepared->n_values; id++)
    {
      g_clear_pointer (&prepared->values[id].binding.tensor, ir_tensor_unref);
      prepared->values[id].binding = (IrBinding){ 0 };
    }
  g_clear_pointer (&prepared->steps, g_free);
  g_clear_pointer (&prepared->readers, g_free);
  g_clear_pointer (&prepared->views, g_array_unref);
  g_clear_pointer (&prepared->sources, g_array_unref);
  g_clear_pointer (&prepared->trace, g_free);
}
