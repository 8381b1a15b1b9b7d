/* What a run keeps of iterations. */
#include "config.h"

#include "core/exec/run/iterations.h"

#include "core/exec/kernel/stats.h"
#include "core/exec/run/iteration-name.h"
#include "core/exec/run/state.h"

#include <math.h>
#include <string.h>

/* What is kept of one value, by time from the oldest on. */
typedef struct
{
  GPtrArray *ring; /* of IrKeptIteration */
  guint oldest;
} KeptRounds;

/* Statistics of one value. */
typedef struct
{
  GArray *points; /* of IrSeriesPoint */
  guint step;     /* rounds in one */
  guint n_last;   /* rounds in the last one */
} Series;

struct _IrIterationValues
{
  IrIterations wanted;
  GHashTable *frames; /* set of (owned) char * */
  GHashTable *kept;   /* value id -> KeptRounds */
  GHashTable *series; /* value id -> Series */
  guint64 series_bytes;
  IrCheckpoints *checkpoints;
  GPtrArray *all; /* (nullable) of IrKeptIteration (unowned): made when first asked for */
  guint n_lost;
  guint64 n_noted;
  gboolean found; /* IR_ITERATIONS_ONE: it has come */
};

/* -- names of places -- */

/**
 * ir_loop_name:
 * @node: a node that runs a body again and again
 *
 * Returns: (transfer full): what it is called in names of iterations: its name, else that of its first
 *   output, else its label
 */
char *
ir_loop_name (const IrNode *node)
{
  if (node->name[0] != '\0')
    return g_strdup (node->name);
  return node->n_outputs > 0 && node->outputs[0] != NULL ? g_strdup (node->outputs[0]->name)
                                                         : ir_node_label (node);
}

/**
 * ir_frame_at_path:
 * @at: where a run is
 *
 * Returns: (transfer full): "outer@3/inner", as events have it
 */
char *
ir_frame_at_path (const IrFrameAt *at)
{
  g_autofree char *own = at->path != NULL ? g_strdup (at->path) : ir_loop_name (at->loop);

  if (at->outer == NULL)
    return g_steal_pointer (&own);
  g_autofree char *outer = ir_frame_at_path (at->outer);
  return g_strdup_printf ("%s@%" G_GINT64_FORMAT "/%s", outer, at->outer->iteration, own);
}

/* -- the store -- */

static void
kept_free (gpointer data)
{
  IrKeptIteration *kept = data;

  ir_tensor_unref (kept->tensor);
  g_free (kept);
}

static void
rounds_free (gpointer data)
{
  KeptRounds *self = data;

  g_ptr_array_unref (self->ring);
  g_free (self);
}

static void
series_free (gpointer data)
{
  Series *self = data;

  g_array_unref (self->points);
  g_free (self);
}

/**
 * ir_iteration_values_new:
 * @wanted: which iterations; copied
 *
 * Returns: (transfer full): a store of nothing
 */
IrIterationValues *
ir_iteration_values_new (const IrIterations *wanted)
{
  IrIterationValues *self = g_new0 (IrIterationValues, 1);

  self->wanted = *wanted;
  self->wanted.frame = g_strdup (wanted->frame);
  self->wanted.names = wanted->names != NULL ? g_array_ref (wanted->names) : NULL;
  self->frames = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->kept = g_hash_table_new_full (NULL, NULL, NULL, rounds_free);
  self->series = g_hash_table_new_full (NULL, NULL, NULL, series_free);
  self->checkpoints = ir_checkpoints_new ();
  return self;
}

/**
 * ir_iteration_values_free:
 * @self: (transfer full) (nullable): a store
 */
void
ir_iteration_values_free (IrIterationValues *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->all, g_ptr_array_unref);
  g_hash_table_unref (self->kept);
  g_hash_table_unref (self->series);
  ir_checkpoints_free (self->checkpoints);
  g_hash_table_unref (self->frames);
  g_free ((char *) self->wanted.frame);
  g_clear_pointer (&self->wanted.names, g_array_unref);
  g_free (self);
}

/* (transfer full) @path */
static const char *
intern (IrIterationValues *self, char *path)
{
  gpointer found;

  if (g_hash_table_lookup_extended (self->frames, path, &found, NULL))
    {
      g_free (path);
      return found;
    }
  g_hash_table_add (self->frames, path);
  return path;
}

/* -- values -- */

static gboolean
is_one_of (const IrIterations *wanted, gint64 iteration)
{
  return wanted->kind == IR_ITERATIONS_EVERY ? iteration % wanted->first == 0
         : wanted->kind == IR_ITERATIONS_PAIR
             ? iteration == wanted->first || iteration == wanted->last
             : iteration >= wanted->first && iteration <= wanted->last;
}

static gboolean
is_picked (const GArray *picks, IrValueId value, const IrFrameAt *at)
{
  g_autofree char *path = NULL;

  for (guint i = 0; i < picks->len; i++)
    {
      const IrIterationPick *pick = &g_array_index (picks, IrIterationPick, i);

      if (pick->value != value || (pick->iteration >= 0 && pick->iteration != at->iteration))
        continue;
      if (path == NULL)
        path = ir_frame_at_path (at);
      if (ir_iteration_frame_is (pick->frame, path))
        return TRUE;
    }
  return FALSE;
}

/* In nested loops each has to be in one of the iterations that are asked for. Iterations of frames of
 * tokens around the innermost stand in its path alone and are taken whatever they are. */
static gboolean
is_wanted (const IrIterationValues *self, IrValueId value, const IrFrameAt *at)
{
  const IrIterations *wanted = &self->wanted;

  if (wanted->kind == IR_ITERATIONS_NAMED)
    return is_picked (wanted->names, value, at);

  if (wanted->kind == IR_ITERATIONS_ONE)
    {
      g_autofree char *path = at->iteration == wanted->first ? ir_frame_at_path (at) : NULL;
      return path != NULL && strcmp (path, wanted->frame) == 0;
    }
  if (wanted->kind != IR_ITERATIONS_RANGE && wanted->kind != IR_ITERATIONS_EVERY &&
      wanted->kind != IR_ITERATIONS_PAIR)
    return wanted->kind != IR_ITERATIONS_CHECKPOINTS;
  for (; at != NULL; at = at->outer)
    if (!is_one_of (wanted, at->iteration))
      return FALSE;
  return TRUE;
}

/* -- statistics -- */

/* Puts @next, which comes behind it, to @point. */
static void
merge_points (IrSeriesPoint *point, const IrSeriesPoint *next)
{
  const double n = (double) (point->n - point->n_nan - point->n_inf),
               n_next = (double) (next->n - next->n_nan - next->n_inf);

  point->min = fmin (point->min, next->min);
  point->max = fmax (point->max, next->max);
  point->mean = n == 0        ? next->mean
                : n_next == 0 ? point->mean
                              : (n * point->mean + n_next * next->mean) / (n + n_next);
  point->std = NAN;
  point->n += next->n;
  point->n_nan += next->n_nan;
  point->n_inf += next->n_inf;
  point->n_zero += next->n_zero;
}

/* Two points each become one. */
static void
thin_series (IrRunState *state, IrIterationValues *self, Series *series)
{
  const guint before = series->points->len;
  IrSeriesPoint *points = (IrSeriesPoint *) (gpointer) series->points->data;

  for (guint i = 0; i < before; i++)
    if (i % 2 == 0)
      points[i / 2] = points[i];
    else
      merge_points (&points[i / 2], &points[i]);
  series->n_last += before % 2 == 0 ? series->step : 0;
  series->step *= 2;
  g_array_set_size (series->points, (before + 1) / 2);
  const guint64 less = (before / 2) * sizeof (IrSeriesPoint);
  self->series_bytes -= less;
  state->kept_bytes -= less;
}

/* All that are longest get shorter. Half of the budget is for checkpoints. */
static gboolean
make_room (IrRunState *state, IrIterationValues *self)
{
  GHashTableIter iter;
  gpointer data;
  guint longest = 1;

  if (self->wanted.kind != IR_ITERATIONS_OVERVIEW)
    return state->kept_bytes + sizeof (IrSeriesPoint) <= state->capture_budget;
  if (self->series_bytes + sizeof (IrSeriesPoint) <= state->capture_budget / 2)
    return TRUE;
  g_hash_table_iter_init (&iter, self->series);
  while (g_hash_table_iter_next (&iter, NULL, &data))
    longest = MAX (longest, ((const Series *) data)->points->len);
  g_hash_table_iter_init (&iter, self->series);
  while (longest > 1 && g_hash_table_iter_next (&iter, NULL, &data))
    if (((const Series *) data)->points->len > longest / 2)
      thin_series (state, self, data);
  return longest > 1;
}

static Series *
series_of (IrIterationValues *self, IrValueId value)
{
  Series *series = g_hash_table_lookup (self->series, GUINT_TO_POINTER (value));

  if (series == NULL)
    {
      series = g_new (Series, 1);
      *series = (Series){ g_array_new (FALSE, FALSE, sizeof (IrSeriesPoint)), 1, 0 };
      g_hash_table_insert (self->series, GUINT_TO_POINTER (value), series);
    }
  return series;
}

/* Of one element without all that larger ones need: loops have many of these. */
static void
measure (const IrTensor *tensor, IrThreads threads, IrTensorStats *stats)
{
  const IrDtypeKind kind = ir_dtype_kind (ir_tensor_dtype (tensor));

  if (ir_tensor_n_elements (tensor) != 1 || ir_tensor_data (tensor) == NULL ||
      (kind != IR_DTYPE_KIND_FLOAT && kind != IR_DTYPE_KIND_SINT && kind != IR_DTYPE_KIND_UINT &&
       kind != IR_DTYPE_KIND_BOOL))
    {
      ir_tensor_stats_with (tensor, 0, threads, stats);
      return;
    }
  const double value = ir_tensor_get_double (tensor, 0);
  *stats = (IrTensorStats){ .n = 1,
                            .n_nan = isnan (value),
                            .n_pos_inf = isinf (value) && value > 0,
                            .n_neg_inf = isinf (value) && value < 0,
                            .n_zero = value == 0,
                            .min = value,
                            .max = value,
                            .mean = value };
}

static void
add_point (IrRunState *state, IrIterationValues *self, IrValueId value, const IrTensor *tensor)
{
  IrTensorStats stats;

  if (!make_room (state, self))
    {
      self->n_lost++;
      return;
    }
  measure (tensor, state->threads, &stats);
  Series *series = series_of (self, value);
  const gboolean some = stats.n > stats.n_nan + stats.n_pos_inf + stats.n_neg_inf;
  IrSeriesPoint point = { NULL,
                          state->frame->iteration,
                          some ? stats.min : NAN,
                          some ? stats.max : NAN,
                          some ? stats.mean : NAN,
                          some ? stats.std : NAN,
                          stats.n,
                          stats.n_nan,
                          stats.n_pos_inf + stats.n_neg_inf,
                          stats.n_zero };
  if (series->points->len > 0 && series->n_last < series->step)
    {
      merge_points (&g_array_index (series->points, IrSeriesPoint, series->points->len - 1),
                    &point);
      series->n_last++;
      return;
    }
  point.frame = intern (self, ir_frame_at_path (state->frame));
  state->kept_bytes += sizeof (IrSeriesPoint);
  self->series_bytes += sizeof (IrSeriesPoint);
  g_array_append_val (series->points, point);
  series->n_last = 1;
}

/* Which iteration of @outer a point is in; -1: in none */
static gint64
round_in (const IrSeriesPoint *point, const char *outer)
{
  const char *rest = point->frame + strlen (outer);

  return !g_str_has_prefix (point->frame, outer) ? -1
         : *rest == '\0'                         ? point->iteration
         : *rest == '@'                          ? g_ascii_strtoll (rest + 1, NULL, 10)
                                                 : -1;
}

/**
 * ir_iteration_values_cut:
 * @self: a store
 * @frame: name of a loop in no other
 * @first: the first of its iterations that stays
 * @last: the last one
 *
 * Lets go of statistics of all others, and of those outside of them.
 */
void
ir_iteration_values_cut (IrIterationValues *self, const char *frame, gint64 first, gint64 last)
{
  GHashTableIter iter;
  gpointer data;

  g_hash_table_iter_init (&iter, self->series);
  while (g_hash_table_iter_next (&iter, NULL, &data))
    {
      GArray *points = ((Series *) data)->points;
      guint n = 0;
      for (guint i = 0; i < points->len; i++)
        {
          const IrSeriesPoint point = g_array_index (points, IrSeriesPoint, i);
          const gint64 round = round_in (&point, frame);
          if (round >= first && round <= last)
            g_array_index (points, IrSeriesPoint, n++) = point;
        }
      g_array_set_size (points, n);
    }
}

/* -- contents -- */

static guint64
bytes_of (const IrTensor *tensor)
{
  return ir_tensor_n_bytes (tensor) + sizeof (IrKeptIteration);
}

/* Whether it has as many of the last rounds as are asked for. */
static gboolean
is_full (const IrIterationValues *self, const KeptRounds *rounds)
{
  return self->wanted.kind == IR_ITERATIONS_LAST && rounds->ring->len > 0 &&
         rounds->ring->len >= (guint64) self->wanted.first;
}

/* Where the next round of a value goes: behind the others, or to the oldest of the last that are asked for, which
 * makes room first. */
static IrKeptIteration *
next_round (IrRunState *state, const IrIterationValues *self, KeptRounds *rounds)
{
  GPtrArray *ring = rounds->ring;

  if (is_full (self, rounds))
    {
      IrKeptIteration *oldest = ring->pdata[rounds->oldest];
      rounds->oldest = (rounds->oldest + 1) % ring->len;
      state->kept_bytes -= bytes_of (oldest->tensor);
      g_clear_pointer (&oldest->tensor, ir_tensor_unref);
      return oldest;
    }
  g_ptr_array_add (ring, g_new0 (IrKeptIteration, 1));
  return ring->pdata[ring->len - 1];
}

/* What the next round would give back first. */
static guint64
bytes_to_spare (const IrIterationValues *self, const KeptRounds *rounds)
{
  const IrKeptIteration *oldest = is_full (self, rounds) ? rounds->ring->pdata[rounds->oldest]
                                                         : NULL;

  return oldest != NULL ? bytes_of (oldest->tensor) : 0;
}

static KeptRounds *
rounds_of (IrIterationValues *self, IrValueId value)
{
  KeptRounds *rounds = g_hash_table_lookup (self->kept, GUINT_TO_POINTER (value));

  if (rounds == NULL)
    {
      rounds = g_new (KeptRounds, 1);
      *rounds = (KeptRounds){ g_ptr_array_new_with_free_func (kept_free), 0 };
      g_hash_table_insert (self->kept, GUINT_TO_POINTER (value), rounds);
    }
  return rounds;
}

/**
 * ir_iterations_note:
 * @state: a run under way, in a loop
 * @value: a value of the body that it has just computed, and that is to be kept
 * @tensor: (transfer none): its contents, not in the arena
 *
 * Keeps it if its iteration is asked for, and the budget has room.
 */
void
ir_iterations_note (IrRunState *state, const IrValue *value, IrTensor *tensor)
{
  IrIterationValues *self = state->run->iterations;
  g_autoptr (IrTensor) plain = NULL;

  if (!is_wanted (self, value->id, state->frame) ||
      (plain = ir_run_state_plain (state, value, tensor, NULL)) == NULL)
    return;
  if (self->wanted.kind == IR_ITERATIONS_SERIES || self->wanted.kind == IR_ITERATIONS_OVERVIEW)
    {
      if (!ir_tensor_is_container (plain))
        add_point (state, self, value->id, plain);
      return;
    }
  KeptRounds *rounds = rounds_of (self, value->id);
  const guint64 bytes = bytes_of (plain), spare = bytes_to_spare (self, rounds);
  if (state->kept_bytes - spare + bytes > state->capture_budget &&
      self->wanted.kind != IR_ITERATIONS_ONE)
    {
      self->n_lost++;
      return;
    }
  IrKeptIteration *kept = next_round (state, self, rounds);
  state->kept_bytes += bytes;
  *kept = (IrKeptIteration){ value->id, intern (self, ir_frame_at_path (state->frame)),
                             state->frame->iteration, g_steal_pointer (&plain), self->n_noted++ };
  self->found = TRUE;
}

/**
 * ir_iteration_values_find:
 * @self: a store
 * @value: id of a value
 * @frame: "outer@3/inner"
 * @iteration: of the innermost loop
 *
 * Returns: (transfer none) (nullable): what is kept of it
 */
IrTensor *
ir_iteration_values_find (const IrIterationValues *self,
                          IrValueId value,
                          const char *frame,
                          gint64 iteration)
{
  const KeptRounds *rounds = g_hash_table_lookup (self->kept, GUINT_TO_POINTER (value));

  for (guint i = 0; rounds != NULL && i < rounds->ring->len; i++)
    {
      const IrKeptIteration *kept = rounds->ring->pdata[i];
      if (kept->iteration == iteration && strcmp (kept->frame, frame) == 0)
        return kept->tensor;
    }
  return NULL;
}

/* -- while a loop runs -- */

static gboolean
takes_checkpoints (const IrIterationValues *self)
{
  return self->wanted.kind != IR_ITERATIONS_ONE && self->wanted.kind != IR_ITERATIONS_SERIES;
}

/**
 * ir_iterations_checkpoint_due:
 * @state: a run under way
 * @loop: a node that runs something again and again, and comes to an iteration
 * @iteration: from 0; of tokens, how many there were
 *
 * Returns: whether what it has now is to be kept by ir_iterations_add_checkpoint()
 */
gboolean
ir_iterations_checkpoint_due (IrRunState *state, const IrNode *loop, gint64 iteration)
{
  const IrIterationValues *self = state->run->iterations;

  return self != NULL && state->frame == NULL && takes_checkpoints (self) &&
         ir_checkpoints_due (self->checkpoints, state, loop->id, iteration);
}

/**
 * ir_iterations_add_checkpoint:
 * @state: a run under way
 * @loop: as for ir_iterations_checkpoint_due(), which has said yes
 * @row: iteration, and the state of tokens, which is taken; the rest is filled in
 * @inputs: n_inputs tensors: of the body, or all that tokens hold
 * @n_inputs: length of @inputs
 * @error: return location for an error
 *
 * Returns: %FALSE if there is no memory
 */
gboolean
ir_iterations_add_checkpoint (IrRunState *state,
                              const IrNode *loop,
                              const IrCheckpoint *row,
                              IrTensor *const *inputs,
                              guint n_inputs,
                              GError **error)
{
  return ir_checkpoints_add (state->run->iterations->checkpoints, state, loop->id, row, inputs,
                             n_inputs, error);
}

/**
 * ir_iteration_values_checkpoints:
 *
 * Returns: (transfer none): those of the loops of a run
 */
const IrCheckpoints *
ir_iteration_values_checkpoints (const IrIterationValues *self)
{
  return self->checkpoints;
}

/**
 * ir_iterations_begin:
 * @state: a run under way
 * @loop: a node whose body is about to run
 * @iteration: from 0
 * @inputs: n_inputs tensors: what the body is given
 * @n_inputs: length of @inputs
 * @error: return location for an error
 *
 * Takes a checkpoint where one is due.
 *
 * Returns: %FALSE if there is no memory
 */
gboolean
ir_iterations_begin (IrRunState *state,
                     const IrNode *loop,
                     gint64 iteration,
                     IrTensor *const *inputs,
                     guint n_inputs,
                     GError **error)
{
  return !ir_iterations_checkpoint_due (state, loop, iteration) ||
         ir_iterations_add_checkpoint (state, loop, &(IrCheckpoint){ .iteration = iteration },
                                       inputs, n_inputs, error);
}

/**
 * ir_iterations_end:
 * @state: a run under way
 * @at: the iteration that has just ended
 * @error: return location for an error
 *
 * Returns: %FALSE with %IR_EXEC_ERROR_STOPPED if nothing that comes after it is asked for
 */
gboolean
ir_iterations_end (IrRunState *state, const IrFrameAt *at, GError **error)
{
  const IrResume *resume = state->resume;

  if (resume == NULL || (!state->run->iterations->found &&
                         (at->outer != NULL || at->loop == NULL || at->loop->id != resume->loop ||
                          at->iteration < resume->iteration)))
    return TRUE;
  g_set_error_literal (error, IR_EXEC_ERROR, IR_EXEC_ERROR_STOPPED,
                       "Stopped behind the iteration that is asked for");
  return FALSE;
}

/**
 * ir_iterations_resumed:
 * @state: a run under way
 * @loop: what begins, of the outermost level
 *
 * Returns: (transfer none) (nullable): the checkpoint from which a run again goes on in @loop, whose random nodes do
 *   so from now on; %NULL: it begins
 */
const IrCheckpoint *
ir_iterations_resumed (IrRunState *state, const IrNode *loop)
{
  const IrResume *resume = state->resume;

  if (resume == NULL || resume->loop != loop->id || resume->from == NULL)
    return NULL;
  if (resume->from->draws != NULL)
    {
      g_clear_pointer (&state->draws, g_hash_table_unref);
      state->draws = ir_draws_copy (resume->from->draws);
    }
  return resume->from;
}

/**
 * ir_iterations_first:
 * @state: a run under way
 * @loop: a loop that begins
 * @inputs: (inout): of #IrTensor: what its body is first given; replaced from a checkpoint, as many as
 *   there are
 *
 * Returns: the iteration that it begins with: 0, but for a run again
 */
gint64
ir_iterations_first (IrRunState *state, const IrNode *loop, GPtrArray *inputs)
{
  const IrCheckpoint *from = state->frame == NULL ? ir_iterations_resumed (state, loop) : NULL;

  if (from == NULL)
    return 0;
  for (guint i = 0; i < inputs->len; i++)
    {
      ir_tensor_unref (inputs->pdata[i]);
      inputs->pdata[i] = ir_tensor_ref (from->inputs->pdata[i]);
    }
  return from->iteration;
}

/* -- what a run has of them -- */

static gint
compare_kept (gconstpointer a, gconstpointer b)
{
  const IrKeptIteration *x = *(const IrKeptIteration *const *) a,
                        *y = *(const IrKeptIteration *const *) b;

  return x->value < y->value ? -1 : x->value > y->value;
}

static const GPtrArray *
all_kept (const IrRun *run)
{
  IrIterationValues *self = run->iterations;
  GHashTableIter iter;
  gpointer id, data;

  if (self == NULL || self->all != NULL)
    return self != NULL ? self->all : NULL;
  self->all = g_ptr_array_new ();
  g_hash_table_iter_init (&iter, self->kept);
  while (g_hash_table_iter_next (&iter, &id, &data))
    {
      const KeptRounds *rounds = data;
      const guint n = rounds->ring->len;
      for (guint i = 0; i < n; i++)
        g_ptr_array_add (self->all, rounds->ring->pdata[(rounds->oldest + i) % n]);
    }
  g_ptr_array_sort (self->all, compare_kept); /* stable: by time within a value */
  return self->all;
}

/**
 * ir_run_n_iterations_kept:
 * @run: a run that has ended
 *
 * Returns: of how many values of iterations it has contents
 */
guint
ir_run_n_iterations_kept (const IrRun *run)
{
  const GPtrArray *all = all_kept (run);

  return all != NULL ? all->len : 0;
}

/**
 * ir_run_iteration:
 * @run: a run that has ended
 * @index: below ir_run_n_iterations_kept()
 *
 * Returns: (transfer none): one of them; by value, and in the order in which they were computed
 */
const IrKeptIteration *
ir_run_iteration (const IrRun *run, guint index)
{
  return all_kept (run)->pdata[index];
}

/**
 * ir_run_n_iterations_lost:
 * @run: a run
 *
 * Returns: how many values of iterations were asked for and did not fit into the budget
 */
guint
ir_run_n_iterations_lost (const IrRun *run)
{
  return run->iterations != NULL ? run->iterations->n_lost : 0;
}

/**
 * ir_iteration_values_series:
 * @self: a store
 * @value: id of a value
 *
 * Returns: (transfer none) (nullable) (element-type IrSeriesPoint): its statistics, in order
 */
const GArray *
ir_iteration_values_series (const IrIterationValues *self, IrValueId value)
{
  const Series *series = g_hash_table_lookup (self->series, GUINT_TO_POINTER (value));

  return series != NULL ? series->points : NULL;
}

/**
 * ir_run_series:
 * @run: a run with %IR_ITERATIONS_SERIES or %IR_ITERATIONS_OVERVIEW
 * @value: a value that it was to capture
 *
 * Returns: (transfer none) (nullable) (element-type IrSeriesPoint): statistics of each iteration, in order
 */
const GArray *
ir_run_series (const IrRun *run, IrValueId value)
{
  return run->iterations != NULL ? ir_iteration_values_series (run->iterations, value) : NULL;
}

/**
 * ir_run_series_step:
 * @run: a run
 * @value: a value that it was to capture
 *
 * Returns: of how many rounds a point of ir_run_series() is: more than 1 where an overview had to be thinned out
 */
guint
ir_run_series_step (const IrRun *run, IrValueId value)
{
  const Series *series = run->iterations != NULL ? g_hash_table_lookup (run->iterations->series,
                                                                        GUINT_TO_POINTER (value))
                                                 : NULL;

  return series != NULL ? series->step : 1;
}

/**
 * ir_run_has_ended:
 * @run: a run, or what one had kept that had not ended
 * @value: a value of its model
 *
 * Returns: whether what computes @value has ended in @run: its node, or the one that owns the bodies it is in.
 *   Else @run has not come to @value, or has kept its latest round, and not the last
 */
gboolean
ir_run_has_ended (const IrRun *run, const IrValue *value)
{
  const IrNode *node = value->producer;

  if (run->error == NULL && !run->under_way)
    return TRUE;
  for (const IrGraph *graph = value->graph; graph != NULL && graph->kind == IR_GRAPH_SUBGRAPH;
       graph = node != NULL ? node->graph : NULL)
    node = ir_model_live_node (graph->model, graph->owner);
  for (guint i = 0; node != NULL && i < run->trace->items->len; i++)
    if (g_array_index (run->trace->items, IrTraceItem, i).node == node->id)
      return TRUE;
  return node == NULL; /* an input */
}
