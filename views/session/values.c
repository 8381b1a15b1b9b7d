/* The values of what is compared on screen, whichever it is: two files, two results or two steps.
 * Both sides are run on the same inputs; the outcome belongs to this pair of graphs and is there
 * again when the pair is. */
#include "config.h"

#include "core/exec/exec.h"
#include "core/io/io.h"
#include "views/session/request.h"
#include "views/session/runs-private.h"

#include <string.h>

typedef struct
{
  IrTimeline *timeline;
  guint from, to;
  gconstpointer other; /* (nullable) the model of a file or the timeline of a result */
  IrTimeline *kept;    /* (nullable) keeps @other, if it is a timeline */
  IrComparedValues *values;
} IrPairValues;

static void
pair_values_free (gpointer data)
{
  IrPairValues *pair = data;

  g_clear_pointer (&pair->values, ir_compared_values_free);
  g_clear_pointer (&pair->timeline, ir_timeline_unref);
  g_clear_pointer (&pair->kept, ir_timeline_unref);
  g_free (pair);
}

typedef struct
{
  IrPairValues *pair; /* (nullable) not always the one on screen */
} Values;

static void
clear (gpointer state)
{
  ir_job_free_later (g_steal_pointer (&((Values *) state)->pair), pair_values_free);
}

IR_SESSION_NOUN (Values, NULL, clear)

void
ir_session_forget_values (IrSession *self)
{
  clear (own (self));
}

gboolean
ir_session_has_values (IrSession *self)
{
  return own (self)->pair != NULL;
}

static gconstpointer
other_of_frame (IrSession *self)
{
  g_autoptr (IrModel) model = ir_session_other_model (self);
  g_autoptr (IrTimeline) timeline = ir_session_other_timeline (self);

  if (!ir_session_get_frame (self)->foreign)
    return NULL;
  return model != NULL ? (gconstpointer) model : timeline;
}

/**
 * ir_session_get_values:
 *
 * Returns: (transfer none) (nullable): how the values of the two graphs on screen differ; %NULL
 * until ir_session_compare_values() has compared this pair
 */
const IrComparedValues *
ir_session_get_values (IrSession *self)
{
  const IrPairValues *pair = own (self)->pair;
  const IrFrame *frame = ir_session_get_frame (self);

  return pair != NULL && frame != NULL && pair->timeline == ir_session_get_timeline (self) &&
                 pair->from == frame->from && pair->to == frame->to &&
                 pair->other == other_of_frame (self)
             ? pair->values
             : NULL;
}

/**
 * ir_session_can_compare_values:
 *
 * Returns: whether there are two graphs on screen
 */
gboolean
ir_session_can_compare_values (IrSession *self)
{
  const IrFrame *frame = ir_session_get_frame (self);

  return frame != NULL && frame->marks == NULL && (frame->foreign || frame->from != frame->to);
}

/* (transfer none) (nullable): what @value, with IR_OTHER_SIDE if it is the other graph's, held on
 * @side when both sides of the frame were run. @compared: whether they were, and it is made by a
 * node, so that nothing else is its content. */
IrTensor *
ir_session_pair_tensor (IrSession *self, IrValueId value, IrSide side, gboolean *compared)
{
  const IrComparedValues *values = ir_session_get_values (self);
  const gboolean is_other = (value & IR_OTHER_SIDE) != 0;
  const IrValueId id = value & ~IR_OTHER_SIDE;
  const IrComparedValue *item = NULL;
  const IrValue *own;
  guint place;

  *compared = FALSE;
  if (values == NULL || !ir_session_get_frame (self)->foreign)
    return NULL;
  own = ir_model_live_value (is_other ? values->a : values->b, id);
  *compared = own != NULL && own->producer != NULL && ir_value_constant (own) == NULL;
  place = GPOINTER_TO_UINT (
      g_hash_table_lookup (is_other ? values->by_a : values->by_b, GUINT_TO_POINTER (id)));
  if (place > 0)
    item = &g_array_index (values->items, IrComparedValue, place - 1);
  if (side == IR_SIDE_BEFORE && (item != NULL || is_other))
    return ir_run_value (values->run_a, item != NULL ? item->a : id);
  if (side == IR_SIDE_AFTER && (item != NULL || !is_other))
    return ir_run_value (values->run_b, item != NULL ? item->b : id);
  return NULL;
}

/* -- the comparison -- */

typedef struct
{
  IrRequest base;
  IrPairValues *pair; /* without its values */
} ValuesRequest;

static void
clear_request (gpointer data)
{
  g_clear_pointer (&((ValuesRequest *) data)->pair, pair_values_free);
}

static void
on_node (gboolean of_b, guint done, guint total, gpointer data)
{
  const IrRequest *request = data;
  g_autofree char *text = g_strdup_printf ("Running %s: node %u of %u",
                                           of_b ? "this graph" : "the other graph", done, total);

  ir_job_report (request->job, total > 0 ? ((double) done / total + of_b) / 2 : -1, text);
}

static gpointer
run_values (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const IrRequest *request = data;
  const IrFeed *feed = &request->feed;
  IrModel *model = request->frame->model;
  const IrCompareValuesOptions options = { .progress = on_node, .progress_data = data };
  g_autoptr (GHashTable)
      after = ir_matching_inputs (model, feed->given, model, feed->seed, feed->sizes, error);
  g_autoptr (GHashTable) before = NULL;

  if (after != NULL)
    before = ir_matching_inputs (model, after, request->frame->before, feed->seed, feed->sizes,
                                 error);
  return before != NULL
             ? ir_compare_values (request->frame->diff, before, after, &options, cancellable, error)
             : NULL;
}

static void
say_values (IrSession *self, const IrComparedValues *values)
{
  const IrComparedValue *first = ir_compared_values_first (values, TRUE);

  if (first != NULL)
    ir_session_message (self, "First value to differ by more than rounding: %s",
                        ir_model_value (values->b, first->b)->name);
  else if (values->n_differ > 0)
    ir_session_message (self, "All values agree up to rounding, judged as a proof is");
  else if (values->items->len > 0)
    ir_session_message (self, "All values agree bit for bit");
  else
    ir_session_message (self,
                        "No value could be compared: nothing is the same value in both graphs");
}

static void
on_values (IrSession *self, gpointer result, gpointer data)
{
  ValuesRequest *request = data;

  ir_session_forget_values (self);
  own (self)->pair = g_steal_pointer (&request->pair);
  own (self)->pair->values = result;
  ir_session_changed (self, IR_CHANGED_BUSY | IR_CHANGED_VALUES);
  say_values (self, result);
}

static const IrWork values_work = {
  .run = run_values,
  .done = on_values,
  .failure = "The values could not be compared",
  .clear = clear_request,
  .result_free = (GDestroyNotify) ir_compared_values_free,
  .runs = TRUE,
};

/**
 * ir_session_compare_values:
 *
 * Runs both graphs on screen on the same inputs, those given and the rest random, and compares what
 * is the same value in both; %IR_CHANGED_VALUES says when ir_session_get_values() has the outcome.
 */
void
ir_session_compare_values (IrSession *self)
{
  const IrFrame *frame = ir_session_get_frame (self);
  ValuesRequest *request;

  if (!ir_session_can_compare_values (self))
    return;
  request = ir_session_new_request (self, &values_work, sizeof *request);
  request->pair = g_new0 (IrPairValues, 1);
  request->pair->timeline = ir_timeline_ref (request->base.timeline);
  request->pair->from = frame->from;
  request->pair->to = frame->to;
  request->pair->other = other_of_frame (self);
  request->pair->kept = frame->foreign ? ir_session_other_timeline (self) : NULL;
  ir_session_start (self, "Comparing values", request);
}

void
ir_session_save_values (IrSession *self, const char *path, IrValueOrder order)
{
  const IrComparedValues *values = ir_session_get_values (self);
  g_autoptr (GArray) rows = values != NULL ? ir_value_rows (values) : NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autofree char *base = g_path_get_basename (path);
  char *text;

  if (rows == NULL)
    {
      ir_session_message (self, "There is no table: compare the values first");
      return;
    }
  ir_value_rows_sort (rows, order);
  text = ir_value_rows_csv (rows);
  bytes = g_bytes_new_take (text, strlen (text));
  if (ir_file_write_atomic (path, bytes, &error))
    ir_session_message (self, "Saved %u values as %s", rows->len, base);
  else
    ir_session_message (self, "The table could not be saved: %s", error->message);
}
