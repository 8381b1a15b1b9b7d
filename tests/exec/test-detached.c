/* Runs that are left: who waits is free although the kernel under way asks nobody, has what nodes
 * have given that had ended, and what is left behind harms nobody. */
#include "config.h"

#include "tests/exec/graphs.h"

#include <pthread.h>
#include <string.h>

#define FREE_MS 100 /* the target; the machine may be busy, so twenty times as much is a failure */

/* A kernel that waits until it may go on; and somebody who cancels when it has begun. */
typedef struct
{
  pthread_mutex_t lock;
  pthread_cond_t changed;
  guint n_begun, n_ended, n_waiting; /* guarded by lock, as what follows */
  gboolean closed;                   /* kernels wait */
  GCancellable *cancellable;         /* (nullable) cancelled when a kernel begins */
  gint64 cancelled_us;
} Gate;

static Gate gate = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void
pass (Gate *self)
{
  pthread_mutex_lock (&self->lock);
  self->n_begun++;
  if (self->closed && self->cancellable != NULL)
    {
      self->cancelled_us = g_get_monotonic_time ();
      g_cancellable_cancel (self->cancellable);
      g_clear_object (&self->cancellable);
    }
  while (self->closed)
    pthread_cond_wait (&self->changed, &self->lock);
  self->n_ended++;
  pthread_cond_broadcast (&self->changed);
  pthread_mutex_unlock (&self->lock);
}

static void
close_gate (GCancellable *cancellable)
{
  pthread_mutex_lock (&gate.lock);
  gate.n_begun = gate.n_ended = gate.n_waiting = 0;
  gate.closed = TRUE;
  gate.cancellable = cancellable != NULL ? g_object_ref (cancellable) : NULL;
  gate.cancelled_us = g_get_monotonic_time ();
  pthread_mutex_unlock (&gate.lock);
}

/* @n: kernels that end by that; 0: nobody waits for them */
static void
open_gate (guint n)
{
  pthread_mutex_lock (&gate.lock);
  gate.closed = FALSE;
  pthread_cond_broadcast (&gate.changed);
  while (gate.n_ended < n)
    pthread_cond_wait (&gate.changed, &gate.lock);
  pthread_mutex_unlock (&gate.lock);
}

static gboolean
gated (IrCall *call, GError **error)
{
  pass (&gate);
  return ir_backend_find ("ref")->kernel (call->node) (call, error);
}

static IrKernelFunc
kernel (const IrNode *node)
{
  IrKernelFunc own = ir_backend_find ("ref")->kernel (node);

  return g_str_equal (node->op_type, "Neg") ? gated : own;
}

/* x -> Exp e -> Neg n -> Tanh y, and Sin s, Cos c beside them */
typedef struct
{
  Builder b;
  IrRunOptions options;
  GHashTable *inputs;
  IrValue *e, *n, *y;
  IrExecutable *executable;
} Chain;

static IrBackend backend; /* what is left behind reads it, too */

static void
on_waiting (gpointer data)
{
  open_gate (0);
  gate.n_waiting++;
}

static void
chain_init (Chain *chain, IrParallelMode parallel)
{
  g_autoptr (GError) error = NULL;
  Builder *b = &chain->b;

  builder_init (b, 17);
  IrValue *x = build_input (b, "x", "float[4]");
  chain->e = build_node (b, NULL, "Exp", 1, x, END)->outputs[0];
  IrValue *s = build_node (b, NULL, "Sin", 1, chain->e, END)->outputs[0];
  chain->n = build_node (b, NULL, "Neg", 1, chain->e, END)->outputs[0];
  IrValue *sum = build_node (b, NULL, "Add", 1, chain->n, s, END)->outputs[0];
  chain->y = build_node (b, NULL, "Tanh", 1, sum, END)->outputs[0];
  build_output (b, chain->y);
  build_done (b);
  chain->inputs = inputs_new ();
  inputs_add (chain->inputs, x, tensor_of ("float[4]", "1 2 3 4"));
  backend = *ir_backend_find ("ref");
  backend.kernel = kernel;
  chain->options = (IrRunOptions){ .backend = &backend,
                                   .n_threads = 2,
                                   .parallel = parallel,
                                   .capture = IR_CAPTURE_ALL,
                                   .waiting = on_waiting };
  chain->executable = ir_executable_new (b->model, &chain->options, &error);
  g_assert_no_error (error);
}

static void
chain_clear (Chain *chain)
{
  g_clear_pointer (&chain->executable, ir_executable_free);
  g_hash_table_unref (chain->inputs);
  builder_clear (&chain->b);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Chain, chain_clear)

static void
assert_free_soon (void)
{
  const gint64 now_us = g_get_monotonic_time ();

  pthread_mutex_lock (&gate.lock);
  const double ms = (double) (now_us - gate.cancelled_us) / 1000;
  pthread_mutex_unlock (&gate.lock);
  g_test_message ("free after %.1f ms", ms);
  g_assert_cmpfloat (ms, <, 20 * FREE_MS);
}

static void
assert_left (const Chain *chain, const IrRun *part, const GError *error, int code)
{
  assert_free_soon ();
  g_assert_error (error, IR_EXEC_ERROR, code);
  g_assert_nonnull (part);
  g_assert_error (part->error, IR_EXEC_ERROR, code);
  g_assert_cmpuint (part->failed_node, ==, chain->n->producer->id);
  assert_tensor (ir_run_value (part, chain->e->id), "float[4]",
                 "2.7182818 7.3890561 20.0855369 54.5981500", 1e-4);
  g_assert_null (ir_run_value (part, chain->n->id)); /* nothing that is not whole */
  g_assert_cmpuint (part->trace->items->len, >=, 1);
  for (guint i = 0; i < part->trace->items->len; i++)
    g_assert_cmpint (g_array_index (part->trace->items, IrTraceItem, i).end_ns, >, 0);
}

/* In the kernel of Neg. */
static IrRun *
leave (Chain *chain)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  IrRun *part = NULL;

  close_gate (cancellable);
  g_assert_null (ir_executable_run (chain->executable, chain->inputs, cancellable, &part, &error));
  assert_left (chain, part, error, IR_EXEC_ERROR_CANCELLED);
  g_assert_cmpuint (gate.n_ended, ==, 0);
  return part;
}

static void
test_cancelled (void)
{
  g_auto (Chain) chain = { 0 };
  chain_init (&chain, IR_PARALLEL_OFF);
  g_autoptr (IrRun) part = leave (&chain);
  open_gate (1);
}

/* What was handed out, and what is left behind, need nothing of each other. */
static void
test_freed_before (void)
{
  Chain chain = { 0 };
  chain_init (&chain, IR_PARALLEL_OFF);
  ir_run_unref (leave (&chain));
  chain_clear (&chain);
  open_gate (1);
}

static void
test_freed_behind (void)
{
  Chain chain = { 0 };
  chain_init (&chain, IR_PARALLEL_OFF);
  g_autoptr (IrRun) part = leave (&chain);
  open_gate (1);
  const IrValueId e = chain.e->id;
  chain_clear (&chain);
  assert_tensor (ir_run_value (part, e), "float[4]", "2.7182818 7.3890561 20.0855369 54.5981500",
                 1e-4);
}

static void
test_next_waits (void)
{
  g_auto (Chain) chain = { 0 };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  chain_init (&chain, IR_PARALLEL_OFF);
  g_autoptr (IrRun) part = leave (&chain);

  g_autoptr (IrRun)
      run = ir_executable_run (chain.executable, chain.inputs, cancellable, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (gate.n_waiting, ==, 1);
  g_assert_cmpuint (gate.n_ended, ==, 2);
  assert_tensor (ir_run_value (run, chain.n->id), "float[4]",
                 "-2.7182818 -7.3890561 -20.0855369 -54.5981500", 1e-4);
  assert_tensor (ir_run_value (part, chain.e->id), "float[4]",
                 "2.7182818 7.3890561 20.0855369 54.5981500", 1e-4);
}

/* Whoever does not want to wait for it does not. */
static void
test_waiting_is_left (void)
{
  g_auto (Chain) chain = { 0 };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  chain_init (&chain, IR_PARALLEL_OFF);
  chain.options.waiting = NULL;
  g_clear_pointer (&chain.executable, ir_executable_free);
  chain.executable = ir_executable_new (chain.b.model, &chain.options, &error);
  ir_run_unref (leave (&chain));

  g_cancellable_cancel (cancellable);
  gate.cancelled_us = g_get_monotonic_time ();
  g_assert_null (ir_executable_run (chain.executable, chain.inputs, cancellable, NULL, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
  assert_free_soon ();
  open_gate (1);
}

/* Executables that share a worker wait for each other. */
static void
test_shared_worker (void)
{
  g_autoptr (IrWorker) worker = ir_worker_new ();
  g_auto (Chain) chain = { 0 };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  chain_init (&chain, IR_PARALLEL_OFF);
  chain.options.worker = worker;
  g_clear_pointer (&chain.executable, ir_executable_free);
  chain.executable = ir_executable_new (chain.b.model, &chain.options, &error);
  ir_run_unref (leave (&chain));

  g_clear_pointer (&chain.executable, ir_executable_free);
  chain.executable = ir_executable_new (chain.b.model, &chain.options, &error);
  g_autoptr (IrRun)
      run = ir_executable_run (chain.executable, chain.inputs, cancellable, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (gate.n_waiting, ==, 1);
}

static void
test_time_limit (void)
{
  g_auto (Chain) chain = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) part = NULL;
  chain_init (&chain, IR_PARALLEL_OFF);
  chain.options.time_limit_ms = 50;
  g_clear_pointer (&chain.executable, ir_executable_free);
  chain.executable = ir_executable_new (chain.b.model, &chain.options, &error);

  close_gate (NULL);
  g_assert_null (ir_executable_run (chain.executable, chain.inputs, NULL, &part, &error));
  assert_left (&chain, part, error, IR_EXEC_ERROR_LIMIT);
  g_assert_nonnull (strstr (error->message, "time"));
  open_gate (1);
}

/* Threads beside the one that is in the kernel go on, too. */
static void
test_span (void)
{
  g_auto (Chain) chain = { 0 };
  chain_init (&chain, IR_PARALLEL_ON);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) part = NULL;

  close_gate (cancellable);
  g_assert_null (ir_executable_run (chain.executable, chain.inputs, cancellable, &part, &error));
  assert_free_soon ();
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
  g_assert_nonnull (part);
  assert_tensor (ir_run_value (part, chain.e->id), "float[4]",
                 "2.7182818 7.3890561 20.0855369 54.5981500", 1e-4);
  open_gate (1);
}

static const char *
refuses (const IrNode *node)
{
  if (g_str_equal (node->op_type, "Neg"))
    pass (&gate);
  return NULL;
}

static void
test_planning (void)
{
  g_auto (Chain) chain = { 0 };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  IrRun *part = NULL;
  chain_init (&chain, IR_PARALLEL_OFF);
  backend.refuses = refuses;

  close_gate (cancellable);
  g_assert_null (ir_executable_run (chain.executable, chain.inputs, cancellable, &part, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
  g_assert_null (part);
  assert_free_soon ();
  g_clear_error (&error);
  open_gate (1);
  g_cancellable_reset (cancellable);
  g_assert_true (ir_executable_prepare (chain.executable, chain.inputs, cancellable, &error));
  g_assert_no_error (error);
}

/* -- the worker -- */

static void
work (gpointer data)
{
  *(GThread **) data = g_thread_self ();
}

static gboolean
never (gpointer data)
{
  return FALSE;
}

static void
test_worker (void)
{
  static const IrWorkerTask note = { .run = work, .leave = never };
  g_autoptr (IrWorker) worker = ir_worker_new ();
  GThread *first = NULL, *second = NULL;

  g_assert_true (ir_worker_call (worker, &note, &first));
  g_assert_true (ir_worker_call (worker, &note, &second));
  g_assert_nonnull (first);
  g_assert_true (first == second && first != g_thread_self ());
}

static void
nested (gpointer data)
{
  static const IrWorkerTask note = { .run = work, .leave = never };
  gpointer *both = data;
  GThread *inner = NULL;

  g_assert_true (ir_worker_call (both[0], &note, &inner));
  both[1] = inner == g_thread_self () ? both : NULL;
}

static void
test_worker_inside (void)
{
  static const IrWorkerTask outer = { .run = nested, .leave = never };
  g_autoptr (IrWorker) worker = ir_worker_new ();
  gpointer both[2] = { worker, NULL };

  g_assert_true (ir_worker_call (worker, &outer, both));
  g_assert_nonnull (both[1]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/detached/who cancels is free, and has what had ended", test_cancelled);
  g_test_add_func ("/detached/the executable may be freed before what is left ends",
                   test_freed_before);
  g_test_add_func ("/detached/what was handed out stays behind it", test_freed_behind);
  g_test_add_func ("/detached/the next run waits, says so, and is whole", test_next_waits);
  g_test_add_func ("/detached/waiting can be cancelled", test_waiting_is_left);
  g_test_add_func ("/detached/executables of one worker wait for each other", test_shared_worker);
  g_test_add_func ("/detached/a limit of time is as good as cancelling", test_time_limit);
  g_test_add_func ("/detached/concurrent nodes are left together", test_span);
  g_test_add_func ("/detached/planning is left", test_planning);
  g_test_add_func ("/detached/a worker has one thread", test_worker);
  g_test_add_func ("/detached/works of a worker may call it", test_worker_inside);
  return g_test_run ();
}
