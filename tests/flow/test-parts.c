/* Parts of a run, played again from its checkpoints: events, tokens and statistics are those of the run. */
#include "config.h"

#include "core/exec/run/capture.h"
#include "core/exec/run/flow-state.h"
#include "core/exec/run/loop-table.h"
#include "core/io/io.h"
#include "tests/rules/pass-test.h"

#include <string.h>

#define ROUNDS 150

/* Two loops, of which the first has a branch, a loop and a random node in it, and stacks; in between, before and behind
 * them nodes of the graph itself. */
static const char program[] =
    "(double x) => (double y, rows, double z, double u) { [before] w = Mul (x, x) "
    "most = Constant <value_int = 150> () yes = Constant <value = bool {1}> () "
    "y, rows = Loop (most, yes, x) <body = b (int64 i, bool go, double s) => (bool more, double t, double row) { "
    "one = Constant <value = double {1}> () three = Constant <value = int64 {3}> () half = Constant <value = double {0.5}> () "
    "[noise] r = RandomUniformLike <seed = 5.0> (s) times = Mod (i, three) none = Equal (times, three) "
    "odd = Cast <to = 9> (times) "
    "p = If (odd) <then_branch = p () => (q) { [quarter] q = Mul (s, half) }, else_branch = e () => (v) { [less] v = Add (s, r) }> "
    "t = Loop (times, yes, p) <body = c (int64 k, bool on, double a) => (bool again, double d) { again = Identity (on) "
    "[deeper] d = Add (a, one) }> row = Add (t, w) more = Identity (go) }> "
    "[between] z = Add (y, w) few = Constant <value_int = 40> () "
    "u = Loop (few, yes, z) <body = f (int64 j, bool still, double g) => (bool on2, double h) { on2 = Identity (still) "
    "h = Mul (g, g) }> }";

/* The first loop in a branch */
static const char branch[] =
    "(double x) => (double y) { zero = Constant <value = double {0}> () big = Greater (x, zero) w = Mul (x, x) "
    "y = If (big) <then_branch = a () => (l) { most = Constant <value_int = 60> () yes = Constant <value = bool {1}> () "
    "l = Loop (most, yes, w) <body = b (int64 i, bool go, double s) => (bool more, double t) { t = Sub (s, x) "
    "more = Identity (go) }> }, else_branch = e () => (m) { m = Neg (w) }> }";

/* By the axis of what is cut, and by a sequence */
static const char scanned[] =
    "(double x) => (double s, zs, ms) { from = Constant <value = double {0}> () to = Constant <value = double {90}> () "
    "step = Constant <value = double {1}> () rows = Range (from, to, step) "
    "s, zs = Scan (x, rows) <num_scan_inputs = 1, body = b (double h, double r) => (double t, double z) { t = Add (h, r) "
    "z = Mul (t, h) }> q = SplitToSequence <keepdims = 0> (rows) "
    "ms = SequenceMap (q) <body = c (double e) => (double f) { f = Mul (e, x) }> }";

static IrFlowLog *
play (IrModel *model, gsize budget)
{
  const IrFlowFilter all = { .to = G_MAXUINT64, .iteration = -1 };
  g_autoptr (GArray) chosen = ir_flow_values (model, ir_backend_find ("ref"));
  const IrRunOptions options = { .backend = ir_backend_find ("ref"),
                                 .capture = IR_CAPTURE_CHOSEN,
                                 .chosen = chosen,
                                 .capture_budget = budget,
                                 .iterations = { .kind = IR_ITERATIONS_OVERVIEW } };
  g_autoptr (GHashTable)
      inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  g_autoptr (GError) error = NULL;
  IrFlowLog *log = ir_flow_log_new (&all);

  g_hash_table_insert (inputs, GUINT_TO_POINTER (ir_graph_input (model->main, 0)->id),
                       ir_tensor_new_scalar (IR_DTYPE_DOUBLE, 1.25));
  g_autoptr (IrRun) run = ir_flow_log_run (log, model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  return log;
}

static IrFlowLog *
part_of (IrFlowLog *log, const char *loop, gint64 first, gint64 last)
{
  g_autoptr (GError) error = NULL;
  const IrNodeId node = ir_flow_log_outer_loop (log, loop);

  g_assert_cmpuint (node, !=, 0);
  IrFlowLog *part = ir_flow_log_replay (log, node, first, last, G_MAXINT, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (ir_flow_log_has_round (part, node, first));
  g_assert_true (ir_flow_log_has_round (part, node, last));
  return part;
}

static void
same_events (const IrFlowLog *part, const IrFlowLog *whole)
{
  const GArray *events = ir_flow_log_events (part), *all = ir_flow_log_events (whole);

  g_assert_cmpuint (events->len, >, 0);
  for (guint i = 0; i < events->len; i++)
    {
      const IrFlowEvent *event = &g_array_index (events, IrFlowEvent, i);
      const IrFlowEvent *as = &g_array_index (all, IrFlowEvent, event->index);
      g_assert_cmpuint (event->index, ==, g_array_index (events, IrFlowEvent, 0).index + i);
      g_assert_cmpint (event->kind, ==, as->kind);
      g_assert_cmpuint (event->node, ==, as->node);
      g_assert_cmpstr (event->frame, ==, as->frame);
      g_assert_cmpstr (event->loop, ==, as->loop);
      g_assert_cmpint (event->iteration, ==, as->iteration);
      g_assert_cmpint (event->slot, ==, as->slot);
    }
}

static gint
compare_tokens (gconstpointer a, gconstpointer b)
{
  const IrFlowToken *x = a, *y = b;

  return x->reader != y->reader         ? (x->reader < y->reader ? -1 : 1)
         : x->value != y->value         ? (x->value < y->value ? -1 : 1)
         : x->iteration != y->iteration ? (x->iteration < y->iteration ? -1 : 1)
                                        : strcmp (x->frame, y->frame);
}

static void
same_tokens (IrFlowLog *part, IrFlowLog *whole)
{
  g_autoptr (IrFlowState) state = ir_flow_state_new (part), all = ir_flow_state_new (whole);
  const GArray *events = ir_flow_log_events (part);

  for (guint i = 0; i < events->len; i++)
    {
      ir_flow_state_go (state, i);
      ir_flow_state_go (all, (guint) g_array_index (events, IrFlowEvent, i).index);
      g_autoptr (GArray) tokens = ir_flow_state_tokens (state), as = ir_flow_state_tokens (all);
      g_array_sort (tokens, compare_tokens);
      g_array_sort (as, compare_tokens);
      g_assert_cmpuint (tokens->len, ==, as->len);
      for (guint k = 0; k < tokens->len; k++)
        {
          const IrFlowToken *x = &g_array_index (tokens, IrFlowToken, k),
                            *y = &g_array_index (as, IrFlowToken, k);
          g_assert_cmpint (compare_tokens (x, y), ==, 0);
          g_assert_cmpint (x->state, ==, y->state);
          g_assert_cmpstr (x->frame, ==, y->frame);
        }
    }
}

/* Each point of the part is one of the run, bit by bit. */
static void
same_series (const IrFlowLog *part, const IrFlowLog *whole)
{
  guint n = 0;

  for (IrValueId id = 1; id < ir_flow_log_model (whole)->values->len; id++)
    {
      const GArray *some = ir_flow_log_series (part, id), *all = ir_flow_log_series (whole, id);
      for (guint i = 0, k = 0; some != NULL && i < some->len; i++, n++)
        {
          const IrSeriesPoint *x = &g_array_index (some, IrSeriesPoint, i), *y = NULL;
          for (; y == NULL && k < all->len; k++)
            if (g_array_index (all, IrSeriesPoint, k).iteration == x->iteration &&
                strcmp (g_array_index (all, IrSeriesPoint, k).frame, x->frame) == 0)
              y = &g_array_index (all, IrSeriesPoint, k);
          g_assert_nonnull (y);
          g_assert_cmpmem (&x->min, 4 * sizeof x->min, &y->min, 4 * sizeof y->min);
        }
    }
  g_assert_cmpuint (n, >, 0);
}

/* None of its iterations lacks an event; that a body has ended is none of them. */
static void
has_all (const IrFlowLog *part, const IrFlowLog *whole, const char *loop, gint64 first, gint64 last)
{
  const GArray *events = ir_flow_log_events (part), *all = ir_flow_log_events (whole);
  const guint64 begin = g_array_index (events, IrFlowEvent, 0).index;
  const IrNodeId node = ir_flow_log_outer_loop (whole, loop);

  for (guint i = 0; i < all->len; i++)
    {
      const IrFlowEvent *event = &g_array_index (all, IrFlowEvent, i);
      if (strcmp (event->frame, loop) == 0 &&
          (event->kind != IR_FLOW_EXITED || event->node != node) && event->iteration >= first &&
          event->iteration <= last)
        g_assert_true (i >= begin && i < begin + events->len);
    }
}

static void
same_part (IrFlowLog *log, const char *loop, gint64 first, gint64 last)
{
  g_autoptr (IrFlowLog) part = part_of (log, loop, first, last);

  has_all (part, log, loop, first, last);
  same_events (part, log);
  same_tokens (part, log);
  same_series (part, log);
}

static void
test_same (void)
{
  g_autoptr (IrModel) model = test_model (program);
  g_autoptr (IrFlowLog) log = play (model, 0);
  const gint64 firsts[] = { 0, 1, 7, 63, 100, ROUNDS - 4 };

  for (guint i = 0; i < G_N_ELEMENTS (firsts); i++)
    same_part (log, "y", firsts[i], firsts[i] + 3);
  same_part (log, "u", 0, 2);
  same_part (log, "u", 38, 39);
  g_assert_cmpuint (ir_flow_log_outer_loop (log, "t"), ==, 0);
}

static void
test_branch (void)
{
  g_autoptr (IrModel) model = test_model (branch);
  g_autoptr (IrFlowLog) log = play (model, 0);

  same_part (log, "l", 0, 3);
  same_part (log, "l", 41, 42);
  same_part (log, "l", 59, 59);
}

/* A function that is called twice has a loop that is entered twice: what one of its iterations began with says nothing
 * of the other. */
static void
test_entered_again (void)
{
  static const char text[] =
      "<ir_version: 10, opset_import: [\"\" : 21, \"irscope.closure\" : 1, \"local\" : 1]>\n"
      "g (double x) => (double y) { f = irscope.closure.Partial <domain = \"local\", function = \"rise\"> () "
      "a = irscope.closure.Call (f, x) b = irscope.closure.Call (f, a) y = Neg (b) }\n"
      "<domain: \"local\", opset_import: [\"\" : 21]>\n"
      "rise (double s) => (double t) { most = Constant <value_int = 50> () yes = Constant <value = bool {1}> () "
      "t = Loop (most, yes, s) <body = b (int64 i, bool go, double u) => (bool more, double v) { v = Add (u, u) "
      "more = Identity (go) }> }";
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_text_read (text, -1, problems, &error);

  g_assert_no_error (error);
  g_autoptr (IrFlowLog) log = play (model, 0);
  g_assert_cmpuint (g_array_index (ir_flow_log_frames (log), IrFlowFrame, 0).n_entered, ==, 2);
  g_assert_cmpuint (ir_run_n_checkpoints (ir_flow_log_get_run (log), NULL), ==, 0);
}

/* Two loops that the same functions make of calls, of which one is called twice in each iteration */
static IrModel *
calling_model (void)
{
  static const char text[] =
      "<ir_version: 10, opset_import: [\"\" : 21, \"irscope.closure\" : 1, \"local\" : 1]>\n"
      "g (double x) => (double y, double z) { most = Constant <value_int = 120> () zero = Constant <value_int = 0> () "
      "few = Constant <value_int = 7> () "
      "h = irscope.closure.Partial <domain = \"local\", function = \"header\"> (most) y = irscope.closure.Call (h, zero, x) "
      "k = irscope.closure.Partial <domain = \"local\", function = \"header\"> (few) z = irscope.closure.Call (k, zero, y) }\n"
      "<domain: \"local\", opset_import: [\"\" : 21, \"irscope.closure\" : 1]>\n"
      "header (int64 n, int64 i, double s) => (double r) { more = Less (i, n) "
      "go = irscope.closure.Partial <domain = \"local\", function = \"body\"> (n, i, s) "
      "stop = irscope.closure.Partial <domain = \"local\", function = \"after\"> (s) "
      "c = irscope.closure.Switch (more, go, stop) r = irscope.closure.Call (c) }\n"
      "<domain: \"local\", opset_import: [\"\" : 21, \"irscope.closure\" : 1, \"local\" : 1]>\n"
      "body (int64 n, int64 i, double s) => (double r) { one = Constant <value_int = 1> () j = Add (i, one) "
      "f = irscope.closure.Partial <domain = \"local\", function = \"rise\"> () "
      "o = irscope.closure.Call (f, s) t = irscope.closure.Call (f, o) "
      "h = irscope.closure.Partial <domain = \"local\", function = \"header\"> (n) r = irscope.closure.Call (h, j, t) }\n"
      "<domain: \"local\", opset_import: [\"\" : 21]>\nrise (double v) => (double w) { m = Sin (v) w = Cos (m) }\n"
      "<domain: \"local\", opset_import: [\"\" : 21]>\nafter (double s) => (double y) { q = Neg (s) y = Abs (q) }";
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  IrModel *model = ir_text_read (text, -1, problems, &error);

  g_assert_no_error (error);
  return model;
}

/* A loop that functions make of calls goes on from a checkpoint, too, with the same events and values. */
static void
test_calls (void)
{
  g_autoptr (IrModel) model = calling_model ();
  g_autoptr (IrFlowLog) log = play (model, 0);

  g_assert_cmpuint (ir_run_n_checkpoints (ir_flow_log_get_run (log), NULL), >, 4);
  for (gint64 first = 0; first <= 116; first += 29)
    same_part (log, "y", first, first + 3);
  same_part (log, "z", 2, 5);
}

static void
test_scanned (void)
{
  g_autoptr (IrModel) model = test_model (scanned);
  g_autoptr (IrFlowLog) log = play (model, 0);

  same_part (log, "s", 0, 3);
  same_part (log, "s", 71, 75);
  same_part (log, "s", 88, 89);
  same_part (log, "ms", 50, 51);
}

/* What the graph gives is not lost by a run that goes on in the middle, which stacks fewer rows. */
static void
test_stacked (void)
{
  g_autoptr (IrModel) model = test_model (program);
  g_autoptr (IrFlowLog) log = play (model, 0);
  g_autoptr (IrFlowLog) part = part_of (log, "y", ROUNDS - 2, ROUNDS - 1);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) rows = ir_run_find (
      ir_flow_log_get_run (log), ir_graph_output (model->main, 1)->id, NULL, NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpint (ir_tensor_n_elements (rows), ==, ROUNDS);
  g_assert_cmpuint (ir_flow_log_events (part)->len, >, 0);
}

/* Where they are too many, several are in one point, and none is lost; a part has them all. */
static void
test_thinned (void)
{
  g_autoptr (IrModel) model = test_model (program);
  g_autoptr (IrFlowLog) log = play (model, 0), thin = play (model, 24000);
  const IrValue *more = ir_flow_log_source (log)->values->pdata[1];
  guint n_thinned = 0;

  g_assert_cmpuint (ir_run_n_checkpoints (ir_flow_log_get_run (thin), NULL), >, 0);
  g_assert_cmpuint (ir_run_n_iterations_lost (ir_flow_log_get_run (thin)), ==, 0);
  for (IrValueId id = more->id; id < ir_flow_log_source (log)->values->len; id++)
    {
      const GArray *all = ir_run_series (ir_flow_log_get_run (log), id),
                   *few = ir_run_series (ir_flow_log_get_run (thin), id);
      const guint step = ir_run_series_step (ir_flow_log_get_run (thin), id);
      if (all == NULL)
        continue;
      n_thinned += step > 1;
      g_assert_cmpuint (few->len, ==, (all->len + step - 1) / step);
      for (guint i = 0; i < all->len; i++)
        {
          const IrSeriesPoint *point = &g_array_index (all, IrSeriesPoint, i),
                              *of = &g_array_index (few, IrSeriesPoint, i / step);
          g_assert_false (of->min > point->min);
          g_assert_false (of->max < point->max);
          g_assert_cmpuint (of->n_inf, >=, point->n_inf);
          g_assert_true (i % step != 0 || of->iteration == point->iteration);
        }
    }
  g_assert_cmpuint (n_thinned, >, 0);
  g_autoptr (IrFlowLog) part = part_of (thin, "y", 97, 99);
  same_events (part, log);
  same_series (part, log);
}

/* By its rounds: those of a part are there, those outside of it are to be asked for. */
static void
test_table (void)
{
  g_autoptr (IrModel) model = test_model (program);
  g_autoptr (IrFlowLog) log = play (model, 0), thin = play (model, 24000);
  g_autoptr (IrFlowLog) part = part_of (thin, "y", 97, 99);
  g_autoptr (IrLoopTable) table = ir_loop_table_new (part, "y"), all = ir_loop_table_new (log, "y");
  guint n = 0;

  g_assert_cmpuint (ir_loop_table_n_rounds (table), ==, ROUNDS);
  g_assert_cmpuint (ir_loop_table_n_rounds (all), ==, ROUNDS);
  g_assert_true (ir_loop_table_has_round (table, 98));
  g_assert_false (ir_loop_table_has_round (table, 3));
  g_assert_true (ir_loop_table_has_round (all, 3));
  g_assert_cmpint (ir_loop_table_round (table, 98).iteration, ==, 98);
  g_assert_cmpuint (table->rows->len, ==, all->rows->len);
  for (guint row = 0; row < table->rows->len; row++)
    {
      const IrSeriesPoint *point = ir_loop_table_point (table, row, 98),
                          *as = ir_loop_table_point (all, row, 98);
      g_assert_true ((point == NULL) == (as == NULL));
      g_assert_null (ir_loop_table_point (table, row, 3));
      n += point != NULL;
      if (point != NULL)
        g_assert_cmpmem (&point->min, sizeof point->min, &as->min, sizeof as->min);
    }
  g_assert_cmpuint (n, >, 3);
}

/* Of a loop in a loop: the part of the loop around has its rounds, by the same numbers. */
static void
test_inner_table (void)
{
  g_autoptr (IrModel) model = test_model (program);
  g_autoptr (IrFlowLog) log = play (model, 0), thin = play (model, 60000);
  g_autoptr (IrLoopTable) all = ir_loop_table_new (log, "t"), few = ir_loop_table_new (thin, "t");
  const guint n = ir_loop_table_n_rounds (all);

  g_assert_cmpuint (n, ==, ROUNDS); /* 0, 1 and 2 in turn */
  g_assert_cmpuint (ir_loop_table_n_rounds (few), ==, n);
  for (guint round = 0; round < n; round += 7)
    {
      const IrLoopRound about = ir_loop_table_round (few, round),
                        exact = ir_loop_table_round (all, round);
      g_assert_cmpuint (about.loop, ==, ir_flow_log_outer_loop (thin, "y"));
      g_assert_cmpint (about.first, <=, exact.first);
      g_assert_cmpint (about.last, >=, exact.first);
      g_assert_false (ir_loop_table_has_round (few, round));
      g_autoptr (IrFlowLog) part = part_of (thin, "y", about.first, MIN (about.last, ROUNDS - 1));
      g_autoptr (IrLoopTable) table = ir_loop_table_new (part, "t");
      g_assert_true (ir_loop_table_has_round (table, round));
      g_assert_cmpint (ir_loop_table_round (table, round).iteration, ==, exact.iteration);
      g_assert_cmpstr (ir_loop_table_round (table, round).frame, ==, exact.frame);
      for (guint row = 0; row < table->rows->len; row++)
        {
          const IrSeriesPoint *point = ir_loop_table_point (table, row, round),
                              *as = ir_loop_table_point (all, row, round);
          g_assert_true (point != NULL && as != NULL);
          g_assert_cmpmem (&point->min, sizeof point->min, &as->min, sizeof as->min);
        }
    }
}

/* (nullable) The last of @value in an iteration: its function may have been called more than once there */
static const IrSeriesPoint *
last_point (const IrFlowLog *log, IrValueId value, const char *frame, gint64 iteration)
{
  const GArray *line = ir_run_series (ir_flow_log_get_run (log), value);
  const IrSeriesPoint *last = NULL;

  for (guint i = 0; line != NULL && i < line->len; i++)
    {
      const IrSeriesPoint *point = &g_array_index (line, IrSeriesPoint, i);
      if (point->iteration == iteration && strcmp (point->frame, frame) == 0)
        last = point;
    }
  return last;
}

static guint
row_named (const IrLoopTable *table, const char *name)
{
  const IrModel *model = ir_flow_log_model (table->log);

  for (guint row = 0; row < table->rows->len; row++)
    if (strcmp (ir_model_value (model, g_array_index (table->rows, IrLoopRow, row).value)->name,
                name) == 0)
      return row;
  g_error ("%s is not in the table of %s", name, table->name);
}

/* A part of the table is as the log of the whole run has it. */
static void
same_rounds (const IrLoopTable *table, const IrFlowLog *log, guint first, guint last)
{
  for (guint row = 0; row < table->rows->len; row++)
    for (guint round = first; round <= last; round++)
      {
        const IrValueId value = g_array_index (table->rows, IrLoopRow, row).value;
        const IrSeriesPoint *point = ir_loop_table_point (table, row, round),
                            *as = last_point (log, value, table->name, round);
        g_assert_true ((point == NULL) == (as == NULL));
        if (point != NULL)
          g_assert_cmpmem (&point->min, 4 * sizeof point->min, &as->min, 4 * sizeof as->min);
      }
}

/* What functions compute is in the loop that called them, and in no other. */
static void
test_calling_table (void)
{
  g_autoptr (IrModel) model = calling_model ();
  g_autoptr (IrFlowLog) log = play (model, 0);
  g_autoptr (IrLoopTable) most = ir_loop_table_new (log, "y"), few = ir_loop_table_new (log, "z"),
                          none = ir_loop_table_new (log, "nothing");
  const guint after = row_named (few, "after/q");

  g_assert_cmpuint (none->rows->len, ==, 0);
  g_assert_cmpuint (ir_loop_table_n_rounds (most), ==,
                    121); /* the last one finds that it is over */
  g_assert_cmpuint (ir_loop_table_n_rounds (few), ==, 8);
  g_assert_nonnull (ir_loop_table_point (few, row_named (few, "rise/m"), 6));
  g_assert_nonnull (ir_loop_table_point (few, row_named (few, "header/s"), 0));
  g_assert_null (ir_loop_table_point (few, after, 6));
  g_assert_nonnull (ir_loop_table_point (few, after, 7));
  same_rounds (most, log, 0, 120);
  same_rounds (few, log, 0, 7);

  g_autoptr (IrFlowLog) thin = play (model, 24000);
  g_autoptr (IrFlowLog) part = part_of (thin, "y", 97, 99);
  g_autoptr (IrLoopTable) table = ir_loop_table_new (part, "y");
  g_assert_cmpuint (ir_loop_table_n_rounds (table), ==, 121);
  g_assert_false (ir_loop_table_has_round (table, 3));
  g_assert_true (ir_loop_table_has_round (table, 98));
  g_assert_nonnull (ir_loop_table_point (table, row_named (table, "rise/m"), 98));
  same_rounds (table, log, 97, 99);
}

/* -- tokens -- */

/* Loops in a loop, a branch, and another loop beside it; what both stack */
static const char nested[] =
    "(double x) => (double y, rows, double z) { most = Constant <value_int = 60> () yes = Constant <value = bool {1}> () "
    "four = Constant <value_int = 4> () none = Constant <value_int = 0> () w = Mul (x, x) "
    "[outer] y, rows = Loop (most, yes, x) <body = b (int64 i, bool go, double s) => (bool more, double t, double row) { "
    "times = Mod (i, four) odd = Greater (times, none) "
    "[inner] d = Loop (times, yes, s) <body = c (int64 k, bool on, double a) => (bool again, double e) { again = Identity (on) "
    "[deeper] e = Cos (a) }> t = If (odd) <then_branch = p () => (q) { [turn] q = Neg (d) }, "
    "else_branch = r () => (v) { [wave] v = Sin (d) }> row = Add (t, w) more = Identity (go) }> "
    "[beside] z = Loop (most, yes, w) <body = f (int64 j, bool still, double g) => (bool on2, double h) { "
    "on2 = Identity (still) h = Sin (g) }> }";

static IrModel *
lowered (const char *text)
{
  IrModel *model = test_model (text);
  const IrPipelineOptions options = { .max_class = IR_CLASS_EXACT };
  g_autoptr (IrPipeline) pipeline = test_pipeline (ir_pass_find ("lower-control-flow"));
  g_autoptr (GError) error = NULL;

  ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error);
  g_assert_no_error (error);
  return model;
}

/* A frame of tokens goes on in the middle with the same events, tokens on edges and values. */
static void
test_tokens (void)
{
  g_autoptr (IrModel) one = lowered (branch), cut = lowered (scanned), several = lowered (nested);
  g_autoptr (IrFlowLog) log = play (one, 0), scan = play (cut, 0), loops = play (several, 0);

  same_part (log, "l", 0, 3);
  same_part (log, "l", 41, 42);
  same_part (log, "l", 58, 59);
  same_part (scan, "s", 0, 3);
  same_part (scan, "s", 71, 75);
  for (gint64 first = 0; first < 58; first += 9)
    {
      same_part (loops, "outer", first, first + 2);
      same_part (loops, "beside", first, first + 1);
    }
  g_assert_cmpuint (ir_flow_log_outer_loop (loops, "inner"), ==, 0);
}

/* Where they are too many a part has those of its iterations, and its table knows which these are. */
static void
test_thin_tokens (void)
{
  g_autoptr (IrModel) model = lowered (nested);
  g_autoptr (IrFlowLog) log = play (model, 0), thin = play (model, 160000);
  g_autoptr (IrFlowLog) part = part_of (thin, "outer", 33, 36);
  g_autoptr (IrLoopTable) table = ir_loop_table_new (part, "outer"),
                          all = ir_loop_table_new (log, "outer");
  guint n = 0;

  g_assert_cmpuint (ir_run_n_checkpoints (ir_flow_log_get_run (thin), NULL), >, 0);
  same_events (part, log);
  same_series (part, log);
  g_assert_cmpuint (ir_loop_table_n_rounds (table), ==, ir_loop_table_n_rounds (all));
  g_assert_cmpuint (ir_loop_table_n_rounds (all), ==, 61); /* of the last the condition alone */
  g_assert_false (ir_loop_table_has_round (table, 32));
  g_assert_false (ir_loop_table_has_round (table, 37));
  for (guint row = 0; row < table->rows->len; row++)
    for (guint round = 33; round <= 36; round++)
      {
        const IrSeriesPoint *point = ir_loop_table_point (table, row, round), *as = NULL;
        g_assert_true (ir_loop_table_has_round (table, round));
        as = last_point (log, g_array_index (table->rows, IrLoopRow, row).value, "outer", round);
        g_assert_true ((point == NULL) == (as == NULL));
        n += point != NULL;
        if (point != NULL)
          g_assert_cmpmem (&point->min, 4 * sizeof point->min, &as->min, 4 * sizeof as->min);
      }
  g_assert_cmpuint (n, >, 20);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/flow-parts/same", test_same);
  g_test_add_func ("/flow-parts/branch", test_branch);
  g_test_add_func ("/flow-parts/calls", test_calls);
  g_test_add_func ("/flow-parts/scanned", test_scanned);
  g_test_add_func ("/flow-parts/entered-again", test_entered_again);
  g_test_add_func ("/flow-parts/stacked", test_stacked);
  g_test_add_func ("/flow-parts/thinned", test_thinned);
  g_test_add_func ("/flow-parts/table", test_table);
  g_test_add_func ("/flow-parts/a loop in a loop", test_inner_table);
  g_test_add_func ("/flow-parts/a loop of calls", test_calling_table);
  g_test_add_func ("/flow-parts/tokens", test_tokens);
  g_test_add_func ("/flow-parts/thinned tokens", test_thin_tokens);
  return g_test_run ();
}
