/* Every operator on random inputs that fit, while one allocation, or one primitive of oneDNN, after the other is refused: the
 * result is that of before, or an error says what was missing; without primitives it is that of before. And a CPU kernel
 * that does not refuse its node beforehand leaves less than half of them to the reference. */
#include "config.h"

#include "core/op/infer.h"
#include "tests/exec/refusals.h"
#include "tests/fuzz/op-trial.h"

#include <math.h>
#include <string.h>

#define TRIALS 40 /* of an operator */
#ifdef __SANITIZE_ADDRESS__
#define REFUSED 12 /* of these, with refusals */
#else
#define REFUSED TRIALS
#endif
#define MOST 60 /* refusals of each kind in a run */
#define SIZE 4

const char *__asan_default_options (void);

/* Kernels ask for absurd amounts of memory on purpose, and live with getting none. */
const char *
__asan_default_options (void)
{
  return "allocator_may_return_null=1";
}

typedef struct
{
  Trial trial;
  GHashTable *inputs;
  IrRunOptions options;
  IrRun *expected;
} Case;

static void
case_clear (Case *c)
{
  g_clear_pointer (&c->inputs, g_hash_table_unref);
  g_clear_pointer (&c->expected, ir_run_unref);
  trial_clear (&c->trial);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Case, case_clear)

static void
case_init (Case *c, const IrOp *op, guint32 seed)
{
  *c = (Case){ .inputs = g_hash_table_new (NULL, NULL) };
  trial_init (&c->trial, op, seed, SIZE);
  IrNode *node = c->trial.node;
  for (guint i = 0; i < c->trial.n && i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && node->inputs[i]->initializer == NULL)
      g_hash_table_insert (c->inputs, GUINT_TO_POINTER (node->inputs[i]->id), c->trial.tensors[i]);
  ir_edit_set_graph_outputs (c->trial.edit, c->trial.model->main, node->outputs, node->n_outputs);
  ir_infer_model (c->trial.edit, IR_INFER_DEFAULT, NULL);
}

static IrRun *
run_case (const Case *c, GError **error)
{
  return ir_model_run (c->trial.model, c->inputs, &c->options, NULL, error);
}

/* Of numbers, none of them so large that the order of a sum tells. */
static gboolean
is_moderate (const IrTensor *tensor)
{
  IrDtypeKind kind = ir_tensor_is_container (tensor) ? IR_DTYPE_KIND_STRING
                                                     : ir_dtype_kind (ir_tensor_dtype (tensor));

  if (kind == IR_DTYPE_KIND_STRING || kind == IR_DTYPE_KIND_COMPLEX)
    return FALSE;
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    if (!(fabs (ir_tensor_get_double (tensor, i)) < 1e4))
      return FALSE;
  return TRUE;
}

/* Whether what it gives can be compared */
static gboolean
is_plain (const Case *c)
{
  const IrNode *node = c->trial.node;

  for (guint i = 0; i < c->trial.n; i++)
    if (c->trial.tensors[i] != NULL && !ir_tensor_is_container (c->trial.tensors[i]) &&
        ir_dtype_is_float (ir_tensor_dtype (c->trial.tensors[i])) &&
        !is_moderate (c->trial.tensors[i]))
      return FALSE;
  for (guint k = 0; k < node->n_outputs; k++)
    {
      const IrTensor *tensor = ir_run_value (c->expected, node->outputs[k]->id);
      if (tensor == NULL || !is_moderate (tensor))
        return FALSE;
    }
  return TRUE;
}

static void
assert_close (const Case *c, const IrRun *run)
{
  const IrNode *node = c->trial.node;

  for (guint k = 0; k < node->n_outputs; k++)
    {
      const IrTensor *found = ir_run_value (run, node->outputs[k]->id),
                     *wanted = ir_run_value (c->expected, node->outputs[k]->id);
      double most = 1;
      g_assert_nonnull (found);
      g_assert_cmpuint (ir_tensor_n_elements (found), ==, ir_tensor_n_elements (wanted));
      for (guint64 i = 0; i < ir_tensor_n_elements (wanted); i++)
        most = MAX (most, fabs (ir_tensor_get_double (wanted, i)));
      for (guint64 i = 0; i < ir_tensor_n_elements (wanted); i++)
        if (!(fabs (ir_tensor_get_double (found, i) - ir_tensor_get_double (wanted, i)) <=
              1e-2 * most))
          {
            g_autofree char *text = trial_to_string (&c->trial);
            g_error ("%s\noutput %u, element %u is %g, not %g", text, k, (guint) i,
                     ir_tensor_get_double (found, i), ir_tensor_get_double (wanted, i));
          }
    }
}

static void
refuse_all (const Case *c, Refusals *refusals)
{
  gboolean more = TRUE;

  for (int n = 1; more && n <= MOST; n++)
    {
      g_autoptr (GError) error = NULL;
      refusals_begin (refusals, n);
      g_autoptr (IrRun) run = run_case (c, &error);
      more = refusals_end (refusals);
      if (run != NULL)
        assert_close (c, run);
      else
        g_assert_cmpuint (strlen (error->message), >, 10);
      g_assert_true (run != NULL || refusals == &allocations);
    }
}

/* Whether a kernel of its own did it */
static gboolean
try_case (Case *c, const IrBackend *backend, gboolean refuses)
{
  g_autoptr (GError) error = NULL;

  g_clear_pointer (&c->expected, ir_run_unref);
  c->options = (IrRunOptions){ .backend = backend, .n_threads = 1, .output_limit = 1 << 20 };
  c->expected = run_case (c, &error);
  if (c->expected == NULL)
    return FALSE;
  const GArray *items = c->expected->trace->items;
  gboolean own = items->len > 0 && !g_array_index (items, IrTraceItem, 0).by_ref;
  if (refuses && is_plain (c))
    {
      refuse_all (c, &allocations);
      if (backend == ir_backend_find ("cpu"))
        refuse_all (c, &primitives);
    }
  return own;
}

/* Random inputs are hardly ever what these kernels are for, which only a run knows. */
static gboolean
takes_few (const IrOp *op)
{
  static const char *const names[] = {
    "Min", "Max",  "Sum",    "LayerNormalization",  "SimplifiedLayerNormalization",
    "Pad", "Mean", "Resize", "GroupQueryAttention", NULL
  };

  return g_strv_contains (names, op->name);
}

static void
test_op (gconstpointer data)
{
  const IrOp *op = data;
  const IrBackend *cpu = ir_backend_find ("cpu");
  guint n_taken = 0, n_own = 0;

  for (guint seed = 1; seed <= TRIALS; seed++)
    {
      g_auto (Case) c = { 0 };
      case_init (&c, op, seed);
      if (seed % 4 == 0)
        try_case (&c, ir_backend_find ("ref"), seed <= REFUSED);
      gboolean own = try_case (&c, cpu, seed <= REFUSED);
      if (c.expected == NULL || cpu->refuses (c.trial.node) != NULL)
        continue;
      const char *name = cpu->kernel_name (c.trial.node);
      gboolean takes = name != NULL && strcmp (name, "shared items") != 0; /* the reference's */
      n_taken += takes;
      n_own += takes && own;
    }
  g_test_message ("%u of %u that the CPU kernel takes are its own", n_own, n_taken);
  g_assert_cmpuint ((takes_few (op) ? 12 : 2) * n_own + 3, >=, n_taken); /* so few tell nothing */
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 1; i < ir_op_n (); i++)
    {
      const IrOp *op = ir_op_by_id ((IrOpId) i);
      g_autofree char *path = g_strdup_printf ("/refusals/%s%s%s",
                                               op->domain != NULL ? op->domain : "",
                                               op->domain != NULL ? "." : "", op->name);
      /* no subgraphs, the same twice, and not by a graph around it alone */
      if (op->start == NULL && (op->flags & IR_OP_RANDOM) == 0 && op->tokens == IR_TOKENS_STRICT)
        g_test_add_data_func (path, op, test_op);
    }
  return g_test_run ();
}
