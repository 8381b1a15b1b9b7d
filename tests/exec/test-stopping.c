/* Runs that are cancelled while a kernel is at work: whoever waits is free soon, nothing that is
 * not whole is handed out, and the same executable then gives what it gave before. */
#include "config.h"

#include "tests/exec/bodies.h"
#include "tests/exec/graphs.h"

#include <string.h>

#define FREE_MS 2000 /* the target is 100; the machine may be busy */

typedef struct
{
  const char *backend, *signature, *body;
} Kind;

static const Kind kinds[] = {
  { "cpu", "(float[1,64,160,160] x, float[64,64,3,3] w) => (float[] y)", "y = Conv (x, w)" },
  { "cpu", "(float[1,64,64,64] x, float[64,64,5,5] w) => (float[] y)", "y = ConvTranspose (x, w)" },
  { "cpu", "(float[1200,1200] x) => (float[] y)", "y = MatMul (x, x)" },
  { "cpu", "(float[1,3000000] x, float[3000000] w) => (float[] y)",
    "y = LayerNormalization (x, w, w)" },
  { "cpu", "(float[400000] x) => (float[] v, int64[] y)",
    "k = Constant <value = int64[1] {400000}> () v, y = TopK (x, k)" },
  { "cpu", "(float[1,30000,1] x, float[1,64,1] w, float[1,64,16] r) => (float[] y)",
    "y = LSTM <hidden_size = 16> (x, w, r)" },
  { "cpu", "(float[3000000] x) => (float[] y)", "a = Exp (x) b = Sin (a) y = Tanh (b)" },
  { "cpu", "(float[1,1,300,64] q, float[1,1,20000,64] x) => (float[] y)", "y = Attention (q, x, x)" },
  { "ref", "(float[300,300] x) => (float[] y)", "y = MatMul (x, x)" },
  { "ref", "(float[1,16,64,64] x, float[16,16,3,3] w) => (float[] y)", "y = Conv (x, w)" },
  { "ref", "(float[1000,1000] x) => (float[] y)", "y = Softmax (x)" },
  { "ref", "(float[300000] x) => (float[] v, int64[] y)",
    "k = Constant <value = int64[1] {300000}> () v, y = TopK (x, k)" },
  { "ref", "(float[300000] x) => (float[] y)", "y = Unique (x)" },
  { "ref", "(float[300,3000] x, float[3000] w) => (float[] y)", "y = LayerNormalization (x, w)" },
  { "ref", "(float[20000] x) => (float[] y)", "s = Cast <to = 8> (x) y = Cast <to = 1> (s)" },
  { "ref", "(float[1,1,100] x, float[1,1600,100] w, float[1,1600,400] r) => (float[] y)",
    "y = LSTM <hidden_size = 400> (x, w, r)" },
};

static IrTensor *
tensor_like (const IrType *type)
{
  IrTensor *tensor = ir_tensor_new_alloc (type->dtype, (guint) type->rank, type->dims, NULL);
  guint64 n = ir_tensor_n_elements (tensor);

  for (guint64 i = 0; i < n; i++)
    ir_dtype_set_double (type->dtype, ir_tensor_data_writable (tensor), i,
                         (double) (i * 7919 % 1009) / 1009);
  return tensor;
}

static GHashTable *
inputs_of (IrModel *model)
{
  GHashTable *inputs = inputs_new ();

  for (guint i = 0; i < model->main->inputs->n; i++)
    {
      const IrValue *value = ir_model_value (model, model->main->inputs->ids[i]);
      inputs_add (inputs, value, tensor_like (value->type));
    }
  return inputs;
}

typedef struct
{
  GCancellable *cancellable;
  gint64 wait_us, cancelled_us;
} Canceller;

static gpointer
cancel (gpointer data)
{
  Canceller *self = data;

  g_usleep ((gulong) self->wait_us);
  self->cancelled_us = g_get_monotonic_time ();
  g_cancellable_cancel (self->cancellable);
  return NULL;
}

/* Returns FALSE if the run was over before. */
static gboolean
is_stopped (IrExecutable *executable, GHashTable *inputs, IrValueId y, gint64 wait_us)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) partial = NULL;
  Canceller canceller = { cancellable, wait_us, 0 };
  GThread *thread = g_thread_new ("canceller", cancel, &canceller);
  g_autoptr (IrRun) run = ir_executable_run (executable, inputs, cancellable, &partial, &error);
  const gint64 end_us = g_get_monotonic_time ();

  g_thread_join (thread);
  if (run != NULL) /* it ended by itself, before who waits would have left */
    {
      g_assert_cmpint (end_us - canceller.cancelled_us, <, FREE_MS * 1000);
      return FALSE;
    }
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
  g_test_message ("free %.1f ms after being cancelled",
                  (double) (end_us - canceller.cancelled_us) / 1000);
  g_assert_cmpint (end_us - canceller.cancelled_us, <, FREE_MS * 1000);
  if (partial != NULL)
    g_assert_null (ir_run_value (partial, y));
  return TRUE;
}

static void
test_stops (gconstpointer data)
{
  const Kind *kind = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = read_graph (23, kind->signature, kind->body);
  g_autoptr (GHashTable) inputs = inputs_of (model);
  const IrRunOptions options = { .backend = ir_backend_find (kind->backend),
                                 .n_threads = 1 + (guint) (kind - kinds) % 2 };
  g_autoptr (IrExecutable) executable = ir_executable_new (model, &options, &error);
  g_assert_no_error (error);
  g_autoptr (IrRun) whole = ir_executable_run (executable, inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  const IrValue *y = ir_graph_find_value (whole->model->main, "y");
  gint64 took_us = whole->trace->duration_ns / 1000;
  gboolean stopped = FALSE;

  for (guint i = 3; i < 40 && !stopped; i += 4)
    stopped = is_stopped (executable, inputs, y->id, took_us / i);
  g_assert_true (stopped || took_us < 3 * FREE_MS * 1000);
  g_autoptr (IrRun) again = ir_executable_run (executable, inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (ir_tensor_equal (ir_run_value (whole, y->id), ir_run_value (again, y->id)));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      const Kind *kind = &kinds[i];
      const char *body = strstr (kind->body, "y = ");
      g_autofree char *inputs = g_strndup (kind->signature, strcspn (kind->signature, ")") + 1);
      g_autofree char *path = g_strdup_printf ("/stopping/%s %.*s of %s", kind->backend,
                                               (int) strcspn (body + 4, " "), body + 4, inputs);

      g_test_add_data_func (path, kind, test_stops);
    }
  return g_test_run ();
}
