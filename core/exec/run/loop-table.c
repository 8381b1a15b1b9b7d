#include "config.h"

#include "core/exec/run/loop-table.h"

#include "core/exec/run/iteration-name.h"

#include <string.h>

static void
row_clear (gpointer data)
{
  IrLoopRow *row = data;

  g_array_unref (row->line);
  g_clear_pointer (&row->series, g_array_unref);
  g_free (row->points);
}

static guint
round_hash (gconstpointer data)
{
  const IrLoopRound *round = data;

  return g_str_hash (round->frame) ^ (guint) round->iteration * 2654435761u;
}

static gboolean
round_equal (gconstpointer a, gconstpointer b)
{
  const IrLoopRound *x = a, *y = b;

  return x->iteration == y->iteration && strcmp (x->frame, y->frame) == 0;
}

/* The outermost loop of "outer@3/inner", and which iteration of it; 0: it cannot be played again. @iteration: of the
 * innermost */
static IrNodeId
outermost_of (const IrFlowLog *log, const char *frame, gint64 iteration, gint64 *outermost)
{
  const GArray *frames = ir_flow_log_frames (log);

  for (guint i = 0; i < frames->len; i++)
    {
      const char *name = g_array_index (frames, IrFlowFrame, i).name;
      const char *rest = frame + strlen (name);
      char *end = NULL;

      if (!g_str_has_prefix (frame, name) || (*rest != '\0' && *rest != '@'))
        continue;
      *outermost = *rest == '@' ? g_ascii_strtoll (rest + 1, &end, 10) : iteration;
      const IrNodeId node = end == NULL || *end == '/' ? ir_flow_log_outer_loop (log, name) : 0;
      if (node != 0)
        return node;
    }
  return 0;
}

/* Of the loop by itself: by the frame that any of its values has. 0: it cannot be played again, or is a frame in another,
 * whose iterations come in no order by which one could count them */
static IrNodeId
loop_to_replay (const IrFlowLog *log, const char *loop, const GArray *line)
{
  gint64 iteration;
  const IrNodeId own = ir_flow_log_outer_loop (log, loop),
                 outermost = line->len == 0
                                 ? own
                                 : outermost_of (log, g_array_index (line, IrSeriesPoint, 0).frame,
                                                 0, &iteration);

  return outermost != own && ir_flow_log_moves_tokens (log, outermost) ? 0 : outermost;
}

/* Whether @loop is the innermost of "outer@3/inner"; names may have / in them */
static gboolean
is_innermost (const char *frame, const char *loop)
{
  const char *rest = frame + strlen (frame) - MIN (strlen (loop), strlen (frame));

  if (strcmp (rest, loop) != 0)
    return FALSE;
  if (rest == frame)
    return TRUE;
  if (*--rest != '/')
    return FALSE;
  const char *digits = rest;
  while (digits > frame && g_ascii_isdigit (digits[-1]))
    digits--;
  return digits < rest && digits > frame && digits[-1] == '@';
}

/* Functions may be called in several loops, and outside. (transfer full): those points that are in @loop */
static GArray *
points_in (GArray *points, const char *loop)
{
  g_autoptr (GArray) some = g_array_new (FALSE, FALSE, sizeof (IrSeriesPoint));
  const char *frame = NULL;
  gboolean is_in = FALSE;

  for (guint i = 0; i < points->len; i++)
    {
      const IrSeriesPoint *point = &g_array_index (points, IrSeriesPoint, i);
      is_in = point->frame == frame ? is_in : is_innermost (point->frame, loop);
      frame = point->frame;
      if (is_in)
        g_array_append_val (some, *point);
    }
  return g_array_ref (some->len == points->len ? points : some);
}

/* FALSE: @id is no value of @loop, or nothing of it was kept. */
static gboolean
row_init (IrLoopRow *row, const IrFlowLog *log, IrValueId id, const char *loop)
{
  const IrRun *run = ir_flow_log_get_run (log);
  GArray *line = (GArray *) ir_run_series (run, id),
         *series = (GArray *) ir_flow_log_part_series (log, id);
  const IrValue *value = line != NULL ? ir_model_live_value (run->model, id) : NULL;
  g_autofree char *own = value != NULL ? ir_value_loop (value) : NULL;
  const gboolean is_called = value != NULL && own == NULL && ir_value_is_called (value);

  if (!is_called && (own == NULL || strcmp (own, loop) != 0))
    return FALSE;
  *row = (IrLoopRow){ .value = id,
                      .line = is_called ? points_in (line, loop) : g_array_ref (line) };
  if (is_called && row->line->len == 0)
    {
      row_clear (row);
      return FALSE;
    }
  if (series != NULL)
    row->series = is_called ? points_in (series, loop) : g_array_ref (series);
  return TRUE;
}

/* A function may be called again in the same one. */
static guint
count_rounds (const GArray *series)
{
  const IrSeriesPoint *points = (const IrSeriesPoint *) (gconstpointer) series->data;
  guint n = 0;

  for (guint i = 0; i < series->len; i++)
    n += i == 0 || points[i].iteration != points[i - 1].iteration ||
         points[i].frame != points[i - 1].frame;
  return n;
}

/* Values of the loop */
static void
find_rows (IrLoopTable *table, const IrFlowLog *log, const char *loop)
{
  const IrRun *run = ir_flow_log_get_run (log);

  for (IrValueId id = 1; run != NULL && id < run->n_values; id++)
    {
      IrLoopRow row;
      if (row_init (&row, log, id, loop))
        g_array_append_val (table->rows, row);
    }
}

/* (nullable) The series of the one that came in most iterations, which says which there were. Where none can be played
 * again, or none has to be, each has its whole line: several in one are better than none. */
static const GArray *
find_longest (IrLoopTable *table)
{
  const GArray *longest = NULL;
  guint most = 0;

  for (guint i = 0; i < table->rows->len; i++)
    {
      IrLoopRow *row = &g_array_index (table->rows, IrLoopRow, i);
      if (table->loop == 0)
        {
          g_clear_pointer (&row->series, g_array_unref);
          row->series = g_array_ref (row->line);
        }
      const guint n = row->series != NULL ? count_rounds (row->series) : 0;
      if (n > most)
        longest = row->series;
      most = MAX (most, n);
    }
  return longest;
}

/* Each once, in the order of @longest, which stays: @index points to them. */
static void
find_rounds (IrLoopTable *table, const GArray *longest, GHashTable *index)
{
  g_array_set_size (table->rounds, longest->len);
  g_array_set_size (table->rounds, 0);
  for (guint i = 0; i < longest->len; i++)
    {
      const IrSeriesPoint *point = &g_array_index (longest, IrSeriesPoint, i);
      const IrLoopRound round = { .frame = point->frame, .iteration = point->iteration };
      if (g_hash_table_contains (index, &round))
        continue;
      g_array_append_val (table->rounds, round);
      g_hash_table_insert (index,
                           &g_array_index (table->rounds, IrLoopRound, table->rounds->len - 1),
                           GUINT_TO_POINTER (table->rounds->len));
    }
}

/* Of a loop in no other: all from the first to the last that some value has, as tokens of one may overtake those of another. */
static void
fill_rounds (IrLoopTable *table, GHashTable *index)
{
  IrLoopRound round = { NULL };
  gint64 first = G_MAXINT64, last = -1;

  for (guint i = 0; i < table->rows->len; i++)
    {
      const GArray *series = g_array_index (table->rows, IrLoopRow, i).series;
      for (guint k = 0; series != NULL && k < series->len; k++)
        {
          const IrSeriesPoint *point = &g_array_index (series, IrSeriesPoint, k);
          first = MIN (first, point->iteration);
          last = MAX (last, point->iteration);
          round.frame = point->frame;
        }
    }
  g_array_set_size (table->rounds, last >= first ? (guint) (last - first + 1) : 0);
  for (guint i = 0; i < table->rounds->len; i++)
    {
      round.iteration = first + i;
      g_array_index (table->rounds, IrLoopRound, i) = round;
      g_hash_table_insert (index, &g_array_index (table->rounds, IrLoopRound, i),
                           GUINT_TO_POINTER (i + 1));
    }
}

/* Of a loop in a loop: a value that was computed in each of its rounds tells which round a point is. */
static void
find_line (IrLoopTable *table, const IrRun *run)
{
  for (guint i = 0; i < table->rows->len; i++)
    {
      const IrLoopRow *row = &g_array_index (table->rows, IrLoopRow, i);
      const guint step = ir_run_series_step (run, row->value);
      if ((guint64) row->line->len * step >= table->n_rounds &&
          (guint64) (row->line->len - 1) * step < table->n_rounds)
        {
          table->line = row->line;
          table->step = step;
          return;
        }
    }
}

/* Whether the rounds that there are are not all. */
static void
find_others (IrLoopTable *table, const IrFlowLog *log, const char *loop)
{
  const GArray *frames = ir_flow_log_frames (log);
  const IrRun *run = ir_flow_log_get_run (log);
  gboolean is_thin = FALSE;

  for (guint i = 0; i < table->rows->len; i++)
    {
      const IrLoopRow *row = &g_array_index (table->rows, IrLoopRow, i);
      if (!is_thin && ir_run_series_step (run, row->value) > 1)
        table->loop = loop_to_replay (log, loop, row->line);
      is_thin |= ir_run_series_step (run, row->value) > 1;
    }
  for (guint i = 0; table->loop != 0 && i < frames->len; i++)
    if (strcmp (g_array_index (frames, IrFlowFrame, i).name, loop) == 0)
      table->n_rounds = (guint) MIN (g_array_index (frames, IrFlowFrame, i).n_iterations, G_MAXINT);
  if (table->loop != 0 && ir_flow_log_outer_loop (log, loop) == 0)
    {
      find_line (table, run);
      table->loop = table->line != NULL ? table->loop : 0;
    }
}

/* Where what there is of a loop in a loop begins: a round that is a point of the line says it. */
static void
find_first (IrLoopTable *table, GHashTable *index)
{
  for (guint i = 0; table->line != NULL && i < table->line->len; i++)
    {
      const IrSeriesPoint *point = &g_array_index (table->line, IrSeriesPoint, i);
      const IrLoopRound key = { .frame = point->frame, .iteration = point->iteration };
      const guint round = GPOINTER_TO_UINT (g_hash_table_lookup (index, &key));
      if (round == 0)
        continue;
      table->first = i * table->step - (round - 1);
      return;
    }
}

static void
place_points (IrLoopRow *row, GHashTable *index, guint n_rounds)
{
  row->points = g_new0 (guint32, n_rounds + 1);
  for (guint i = 0; row->series != NULL && i < row->series->len; i++)
    {
      const IrSeriesPoint *point = &g_array_index (row->series, IrSeriesPoint, i);
      const IrLoopRound key = { .frame = point->frame, .iteration = point->iteration };
      const guint round = GPOINTER_TO_UINT (g_hash_table_lookup (index, &key));
      if (round > 0)
        row->points[round - 1] = i + 1;
    }
}

/**
 * ir_loop_table_new:
 * @log: the log of a run with %IR_ITERATIONS_SERIES or %IR_ITERATIONS_OVERVIEW, or a part of it; has to live as long as
 *   the table
 * @loop: name of a loop, as ir_value_loop() has it
 *
 * Returns: (transfer full): its values by its iterations; without rows if nothing of it was kept
 */
IrLoopTable *
ir_loop_table_new (const IrFlowLog *log, const char *loop)
{
  IrLoopTable *table = g_new0 (IrLoopTable, 1);
  g_autoptr (GHashTable) index = g_hash_table_new (round_hash, round_equal);
  const GArray *longest;

  table->rounds = g_array_new (FALSE, FALSE, sizeof (IrLoopRound));
  table->rows = g_array_new (FALSE, FALSE, sizeof (IrLoopRow));
  g_array_set_clear_func (table->rows, row_clear);
  table->name = g_strdup (loop);
  table->log = log;
  find_rows (table, log, loop);
  find_others (table, log, loop);
  longest = find_longest (table);
  if (table->loop != 0 && table->line == NULL)
    fill_rounds (table, index);
  else if (longest != NULL)
    find_rounds (table, longest, index);
  find_first (table, index);
  for (guint i = 0; i < table->rows->len; i++)
    place_points (&g_array_index (table->rows, IrLoopRow, i), index, table->rounds->len);
  return table;
}

/**
 * ir_loop_table_free:
 * @table: (transfer full) (nullable): a table
 */
void
ir_loop_table_free (IrLoopTable *table)
{
  if (table == NULL)
    return;
  g_array_unref (table->rounds);
  g_array_unref (table->rows);
  g_free (table->name);
  g_free (table);
}

/**
 * ir_loop_table_n_rounds:
 *
 * Returns: how many there are, and are to be had
 */
guint
ir_loop_table_n_rounds (const IrLoopTable *table)
{
  return table->loop != 0 ? table->n_rounds : table->rounds->len;
}

/* By a number of ir_loop_table_round(): among those that there are */
static gboolean
find_round (const IrLoopTable *table, guint round, guint *index)
{
  const gint64 first = table->loop == 0 || table->rounds->len == 0 ? 0
                       : table->line != NULL
                           ? table->first
                           : g_array_index (table->rounds, IrLoopRound, 0).iteration;

  *index = (guint) (round - first);
  return round >= first && round - first < table->rounds->len;
}

/* Somewhere from a point of the line to the next one */
static IrLoopRound
round_about (const IrLoopTable *table, guint round)
{
  const guint at = round / table->step;
  const IrSeriesPoint *point = &g_array_index (table->line, IrSeriesPoint, at);
  IrLoopRound about = { .frame = point->frame,
                        .iteration = point->iteration,
                        .last = G_MAXINT64 - 1 };

  about.loop = outermost_of (table->log, point->frame, point->iteration, &about.first);
  if (at + 1 < table->line->len)
    outermost_of (table->log, point[1].frame, point[1].iteration, &about.last);
  return about;
}

/**
 * ir_loop_table_round:
 * @table: a table
 * @round: below ir_loop_table_n_rounds()
 *
 * Returns: which iteration it is; of a loop in a loop one shortly before it, where it is in no part yet
 */
IrLoopRound
ir_loop_table_round (const IrLoopTable *table, guint round)
{
  IrLoopRound exact = { .frame = table->name, .iteration = round };
  guint index;

  if (table->loop == 0 || table->line != NULL)
    {
      if (!find_round (table, round, &index))
        return round_about (table, round);
      exact = g_array_index (table->rounds, IrLoopRound, index);
    }
  exact.loop = outermost_of (table->log, exact.frame, exact.iteration, &exact.first);
  exact.last = exact.first;
  return exact;
}

/**
 * ir_loop_table_has_round:
 * @table: a table
 * @round: below ir_loop_table_n_rounds()
 *
 * Returns: whether what values held there is known; else a part of the run that has it is to be played again
 */
gboolean
ir_loop_table_has_round (const IrLoopTable *table, guint round)
{
  guint index;

  return find_round (table, round, &index);
}

/**
 * ir_loop_table_point:
 * @table: a table
 * @row: index of a row
 * @round: index of a round
 *
 * Returns: (transfer none) (nullable): what the value held there; %NULL: it was not computed, or is not known
 */
const IrSeriesPoint *
ir_loop_table_point (const IrLoopTable *table, guint row, guint round)
{
  const IrLoopRow *of = &g_array_index (table->rows, IrLoopRow, row);

  guint index;

  return find_round (table, round, &index) && of->points[index] > 0
             ? &g_array_index (of->series, IrSeriesPoint, of->points[index] - 1)
             : NULL;
}

/**
 * ir_loop_values:
 * @model: a model; as it runs for those in functions, too
 *
 * Returns: (transfer full) (element-type IrValueId): values that loops compute, and functions that closures name, which
 *   loops may call; constants, and functions that are not where they are called, are left out
 */
GArray *
ir_loop_values (const IrModel *model)
{
  GArray *values = g_array_new (FALSE, FALSE, sizeof (IrValueId));

  for (IrValueId id = 1; id < model->values->len; id++)
    {
      const IrValue *value = ir_model_live_value (model, id);
      if (value == NULL || value->graph == NULL || value->graph->kind == IR_GRAPH_FUNCTION ||
          ir_value_constant (value) != NULL)
        continue;
      g_autofree char *loop = ir_value_loop (value);
      if (loop != NULL || ir_value_is_called (value))
        g_array_append_val (values, id);
    }
  return values;
}
