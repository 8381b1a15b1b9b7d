/* Runs that are driven: what nobody at a terminal can try. A run is paused from another thread, stands
 * longer than its limit of time, is cancelled while it stands, and is looked at without changing. */
#include "config.h"

#include "core/exec/run/control.h"
#include "tests/exec/graphs.h"

typedef struct
{
  Builder builder;
  IrValue *x, *y;
  GHashTable *inputs;
  IrRunControl *control;
  guint n_stops;
  IrRunStopKind kind;
  IrNodeId node;
  IrRun *seen; /* (nullable) as it was when the run stood first */
  gulong stand_us;
  GCancellable *cancellable;
  gboolean told; /* it is told to go on by another thread */
  gboolean once; /* it is asked to stop but once */
} Case;

static gpointer
go_on_later (gpointer data)
{
  Case *self = data;

  g_usleep (self->stand_us);
  ir_run_control_go (self->control, (IrRunCommand){ .move = IR_RUN_CONTINUE });
  return NULL;
}

static void
on_stopped (IrRunControl *control, const IrRunStop *stop, gpointer data)
{
  Case *self = data;

  self->n_stops++;
  self->kind = stop->kind;
  self->node = stop->node->id;
  if (self->seen == NULL)
    self->seen = ir_run_control_snapshot (control);
  if (self->cancellable != NULL)
    g_cancellable_cancel (self->cancellable);
  else if (self->told)
    g_thread_unref (g_thread_new ("go", go_on_later, self));
  else
    {
      g_usleep (self->stand_us);
      ir_run_control_go (control, (IrRunCommand){ .move = IR_RUN_CONTINUE });
    }
}

static void
on_ran (IrRunControl *control, const IrNode *node, gpointer data)
{
  Case *self = data;

  if (!self->once || self->n_stops == 0)
    ir_run_control_pause (control); /* as another thread would, at any time */
}

/* y = relu (neg (x)), through a view */
static void
case_init (Case *self, IrRunMove first, gboolean pauses)
{
  *self = (Case){ .n_stops = 0 };
  builder_init (&self->builder, 17);
  self->x = build_input (&self->builder, "x", "float[4]");
  IrNode *a = build_node (&self->builder, NULL, "Neg", 1, self->x, END);
  IrNode *b = build_node (&self->builder, NULL, "Abs", 1, a->outputs[0], END);
  IrNode *c = build_node (&self->builder, NULL, "Relu", 1, b->outputs[0], END);
  self->y = c->outputs[0];
  build_output (&self->builder, self->y);
  build_done (&self->builder);
  self->inputs = inputs_new ();
  inputs_add (self->inputs, self->x, tensor_of ("float[4]", "1 -2 3 -4"));
  self->control = ir_run_control_new (
      &(IrRunControlSetup){ on_stopped, pauses ? on_ran : NULL, self, { first, 0 } });
}

static void
case_clear (Case *self)
{
  g_clear_pointer (&self->seen, ir_run_unref);
  g_clear_object (&self->cancellable);
  g_hash_table_unref (self->inputs);
  ir_run_control_free (self->control);
  builder_clear (&self->builder);
}

static IrRun *
run (Case *self, guint time_limit_ms, IrRun **partial, GError **error)
{
  const IrRunOptions options = { .control = self->control,
                                 .capture = IR_CAPTURE_ALL,
                                 .n_threads = 1,
                                 .time_limit_ms = time_limit_ms };
  g_autoptr (IrExecutable) executable = ir_executable_new (self->builder.model, &options, error);

  g_assert_nonnull (executable);
  return ir_executable_run (executable, self->inputs, self->cancellable, partial, error);
}

static void
test_paused (void)
{
  Case self;

  case_init (&self, IR_RUN_CONTINUE, TRUE);
  g_autoptr (IrRun) done = run (&self, 0, NULL, NULL);
  g_assert_nonnull (done);
  g_assert_cmpuint (self.n_stops, ==,
                    2); /* asked for behind each of three nodes; none is behind the last */
  g_assert_cmpint (self.kind, ==, IR_RUN_STOPPED_BY_PAUSE);
  assert_tensor (ir_run_value (done, self.y->id), "float[4]", "1 2 3 4", 0);
  case_clear (&self);
}

static void
test_paused_once (void)
{
  Case self;

  case_init (&self, IR_RUN_CONTINUE, TRUE);
  self.once = TRUE;
  g_autoptr (IrRun) done = run (&self, 0, NULL, NULL);
  g_assert_nonnull (done);
  g_assert_cmpuint (self.n_stops, ==, 1);
  case_clear (&self);
}

static void
test_standing_costs_no_time (void)
{
  Case self;

  case_init (&self, IR_RUN_STEP, FALSE);
  self.stand_us = 300000;
  g_autoptr (IrRun) done = run (&self, 200, NULL, NULL);
  g_assert_nonnull (done);
  g_assert_cmpuint (self.n_stops, ==, 1);
  g_assert_cmpint (done->trace->duration_ns, <, 300000000);
  case_clear (&self);
}

static void
test_told_by_another_thread (void)
{
  Case self;

  case_init (&self, IR_RUN_STEP, FALSE);
  self.stand_us = 20000;
  self.told = TRUE;
  g_autoptr (IrRun) done = run (&self, 0, NULL, NULL);
  g_assert_nonnull (done);
  case_clear (&self);
}

static void
test_cancelled_while_it_stands (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) partial = NULL;
  Case self;

  case_init (&self, IR_RUN_STEP, FALSE);
  self.cancellable = g_cancellable_new ();
  g_autoptr (IrRun) done = run (&self, 0, &partial, &error);
  g_assert_null (done);
  g_assert_nonnull (partial);
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_STOPPED);
  case_clear (&self);
}

static void
test_snapshot_stays (void)
{
  Case self;

  case_init (&self, IR_RUN_CONTINUE, TRUE);
  g_autoptr (IrRun) done = run (&self, 0, NULL, NULL);
  g_assert_nonnull (done);
  g_assert_null (ir_run_value (self.seen, self.y->id));
  for (guint i = 1, n = 0; i < self.seen->n_values; i++)
    {
      IrTensor *kept = ir_run_value (self.seen, i);
      if (kept == NULL || i == self.x->id)
        continue;
      g_assert_cmpuint (n++, ==, 0); /* one node had run */
      assert_tensor (kept, "float[4]", "-1 2 -3 4", 0);
    }
  g_assert_cmpuint (self.seen->trace->items->len, ==, 1);
  case_clear (&self);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/run-control/paused", test_paused);
  g_test_add_func ("/run-control/goes on when it was paused once", test_paused_once);
  g_test_add_func ("/run-control/standing-costs-no-time", test_standing_costs_no_time);
  g_test_add_func ("/run-control/told-by-another-thread", test_told_by_another_thread);
  g_test_add_func ("/run-control/cancelled-while-it-stands", test_cancelled_while_it_stands);
  g_test_add_func ("/run-control/snapshot-stays", test_snapshot_stays);
  return g_test_run ();
}
