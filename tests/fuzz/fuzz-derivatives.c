/* Each row's derivative on random applications of it: every floating-point input by differences, in
 * double, at ordinary numbers and far from zero (+-1e4). So no row derives in some forms of its
 * attributes only, or leaves an input out in silence; what it cannot derive it refuses.
 *
 *   fuzz-derivatives [--trials N] [--op NAME] [--seed S] [--trial K] [-v] */
#include "config.h"

#include "core/exec/kernel/backend.h"
#include "core/grad/vjp.h"
#include "core/op/infer.h"
#include "passes/pipeline/derive.h"
#include "passes/proof/gradcheck.h"
#include "tests/fuzz/op-trial.h"

#include <math.h>
#include <string.h>

#define MOST     60 /* applications that are tried for one that fits */
#define FAR      1e4
#define ROUNDING 1e-13 /* of sums that cancel, beside what is left of them */

static gint n_trials = 4;
static gint64 first_seed = 1, only_trial = -1;
static char *only;
static gboolean verbose;

static const GOptionEntry entries[] = {
  { "trials", 0, 0, G_OPTION_ARG_INT, &n_trials, "Applications of each row that are compared",
    "N" },
  { "op", 0, 0, G_OPTION_ARG_STRING, &only, "This operator alone", "NAME" },
  { "seed", 0, 0, G_OPTION_ARG_INT64, &first_seed, "Of the first application", "S" },
  { "trial", 0, 0, G_OPTION_ARG_INT64, &only_trial, "This application alone", "K" },
  { "verbose", 'v', 0, G_OPTION_ARG_NONE, &verbose, "Say what is refused", NULL },
  { NULL }
};

typedef struct
{
  guint compared, refused, failed;
  gint done[2]; /* applications that were compared: near zero, and far from it */
} Tally;

/* Elements of floating-point inputs off whole numbers, where kinks are; or to both sides of zero, far from it */
static void
move_inputs (Trial *trial, gboolean far, GRand *rand)
{
  for (guint i = 0; i < trial->n; i++)
    {
      const IrTensor *old = trial->tensors[i];
      if (old == NULL || ir_tensor_is_container (old) || !ir_dtype_is_float (ir_tensor_dtype (old)))
        continue;
      IrTensor *moved = ir_tensor_new_copy (ir_tensor_dtype (old), ir_tensor_rank (old),
                                            ir_tensor_dims (old), ir_tensor_data (old));
      for (guint64 k = 0; k < ir_tensor_n_elements (moved); k++)
        {
          double part = g_rand_double (rand),
                 place = ir_tensor_get_double (old, k) + 0.05 + 0.1 * part;
          if (far)
            place = (place < 0 ? -FAR : FAR) * (0.5 + 0.5 * part);
          ir_dtype_set_double (ir_tensor_dtype (moved), ir_tensor_data_writable (moved), k, place);
        }
      IrValue *value = trial->node->inputs[i];
      if (value->initializer != NULL)
        ir_edit_set_initializer (trial->edit, value, moved);
      ir_tensor_unref (trial->tensors[i]);
      trial->tensors[i] = moved;
    }
}

/* How large the outputs are, all together: what differences of their sum are rounded by */
static double
size_of_outputs (const Trial *trial, GHashTable *inputs, GError **error)
{
  const IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
  g_autoptr (IrRun) run = ir_model_run (trial->model, inputs, &options, NULL, error);
  double sum = 0;

  for (guint i = 0; run != NULL && i < trial->node->n_outputs; i++)
    {
      const IrTensor *y = trial->node->outputs[i] != NULL
                              ? ir_run_value (run, trial->node->outputs[i]->id)
                              : NULL;
      for (guint64 k = 0; y != NULL && !ir_tensor_is_container (y) && k < ir_tensor_n_elements (y);
           k++)
        sum += fabs (ir_tensor_get_double (y, k));
    }
  return run != NULL ? sum : NAN;
}

static GHashTable *
inputs_of (const Trial *trial)
{
  GHashTable *inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);

  for (guint i = 0; i < trial->n; i++)
    if (trial->tensors[i] != NULL && trial->node->inputs[i]->initializer == NULL)
      g_hash_table_insert (inputs, GUINT_TO_POINTER (trial->node->inputs[i]->id),
                           ir_tensor_ref (trial->tensors[i]));
  return inputs;
}

static void
report (const Trial *trial, guint32 seed, gboolean far, const IrGradcheckItem *item)
{
  g_autofree char *text = trial_to_string (trial);

  g_print ("# --op %s --trial %u%s: by %s[%d] %.9g, by differences %.9g (left %.6g, right %.6g)\n",
           trial->node->op_type, seed, far ? " --far" : "", item->input, (int) item->index,
           item->analytic, item->numeric, item->left, item->right);
  for (char **lines = g_strsplit (text, "\n", -1), **line = lines; *line != NULL; line++)
    g_print ("#   %s\n", *line);
}

/* What random applications hardly ever are */
static const struct
{
  const char *op, *inputs, *attrs;
} fitting[] = {
  { "FlexAttention", "f1x2x3x4 f1x2x5x4 f1x2x5x3", "" },
  { "ConvSilu", "f2x3x6x5 f4x3x3x3 f4", "" },
  { "ConvHardSwish", "f2x3x6x5 f4x3x3x3 f4", "" },
  { "SafeMaskedAttention", "f1x2x3x4 f1x2x5x4 f1x2x5x3 f3x5", "scale=0.5" },
};

static void
init_trial (Trial *trial, const IrOp *op, guint32 seed)
{
  for (guint i = 0; i < G_N_ELEMENTS (fitting); i++)
    if (g_str_equal (fitting[i].op, op->name))
      {
        trial_init_as (trial, op, seed, fitting[i].inputs, fitting[i].attrs);
        return;
      }
  trial_init (trial, op, seed, 1);
}

/* What differences in double cannot say: which of equal indices wins, and what is computed in float32
 * alone. Angles of rotations are inputs that random applications always have, and no rule takes. */
static gboolean
is_judged (const IrOp *op)
{
  static const char *const others[] = { "EngramGate", "LinearAttentionGate", "RotaryEmbedding",
                                        "MRotaryEmbedding", NULL };
  const IrGradRow *row = ir_grad_row (op);

  return row != NULL && row->opaque == NULL && !row->zero && !g_strv_contains (others, op->name) &&
         (row->kink == NULL || strstr (row->kink, "not defined") == NULL);
}

static GArray *
compare (Trial *trial, guint32 seed, gboolean far, GError **error)
{
  const double eps = far ? 1e-3 : 1e-6;
  g_autofree char *wrt = g_strdup ("all");
  g_autoptr (GHashTable) inputs = inputs_of (trial);
  const double size = size_of_outputs (trial, inputs, error);
  IrGradcheckOptions how = { .of = "",
                             .wrt = "all",
                             .node = trial->node,
                             .eps = eps,
                             .atol = 1e-5 + ROUNDING * size / eps,
                             .rtol = 1e-3,
                             .seed = seed,
                             .n_directions = 2 };

  if (!isfinite (size) || !ir_prepare_to_derive (trial->model, &wrt, NULL, error))
    return NULL;
  return ir_gradcheck (trial->model, inputs, &how, error);
}

static void
check (const IrOp *op, guint32 seed, gboolean far, Tally *tally)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_auto (Trial) trial = { 0 };

  init_trial (&trial, op, seed);
  if (trial.node->op != op)
    return;
  move_inputs (&trial, far, rand);
  ir_infer_model (trial.edit, IR_INFER_DEFAULT, NULL);
  ir_edit_set_graph_outputs (trial.edit, trial.model->main, trial.node->outputs,
                             trial.node->n_outputs);
  g_clear_pointer (&trial.edit, ir_edit_free);
  g_autoptr (GArray) items = compare (&trial, seed, far, &error);
  if (items == NULL)
    {
      tally->refused++;
      if (verbose)
        g_print ("# --op %s --trial %u%s: %s\n", op->name, seed, far ? " --far" : "",
                 error != NULL ? error->message : "what it gives is not finite");
      return;
    }
  tally->done[far]++;
  for (guint i = 0; i < items->len; i++)
    {
      const IrGradcheckItem *item = &g_array_index (items, IrGradcheckItem, i);
      tally->compared++;
      if (item->verdict != IR_GRADCHECK_FAILED || !isfinite (item->left + item->right))
        continue;
      if (tally->failed++ == 0 || verbose)
        report (&trial, seed, far, item);
    }
}

static void
check_row (const IrOp *op, Tally *tally)
{
  for (gint k = 0; k < MOST * n_trials && MIN (tally->done[0], tally->done[1]) < n_trials; k++)
    for (guint far = 0; far < 2; far++)
      if ((only_trial < 0 || only_trial == k) && tally->done[far] < n_trials)
        check (op, (guint32) (first_seed + k), far != 0, tally);
}

int
main (int argc, char **argv)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  guint n = 0, n_wrong = 0;

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, NULL))
    return 2;
  for (guint id = 1; id < ir_op_n (); id++)
    {
      const IrOp *op = ir_op_by_id ((IrOpId) id);
      Tally tally = { 0 };
      if ((only != NULL && strcmp (op->name, only) != 0) || !is_judged (op))
        continue;
      check_row (op, &tally);
      /* Without a comparison nothing is held; bodies have to be, at both places. */
      gboolean missed = only_trial < 0 && ir_grad_has_body (ir_grad_row (op)) &&
                        MIN (tally.done[0], tally.done[1]) == 0;
      n_wrong += tally.failed > 0 || missed;
      g_print (
          "%s %u - %s%s%s: %u compared of %d and %d applications, %u did not fit or are refused%s\n",
          tally.failed > 0 || missed ? "not ok" : "ok", ++n, op->domain != NULL ? op->domain : "",
          op->domain != NULL ? " " : "", op->name, tally.compared, tally.done[0], tally.done[1],
          tally.refused, missed ? "; no application of a body was compared" : "");
    }
  g_print ("1..%u\n", n);
  return n_wrong > 0;
}
