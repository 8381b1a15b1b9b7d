/* What the reference makes of each operator: of every recipe (tests/table), with indices, sizes and lengths in them far too
 * small or too large as well, and of random applications. results.txt has a number for each, a sum of all elements with
 * weights, or "x3" where three after each other are refused. Kernels are held against the reference elsewhere, and it against other
 * programs (tests/oracle, tests/table/contrib); this says that it stays what it was then.
 *
 *   test-results --bless        writes results.txt anew; read why before committing it
 *   test-results --show NAME    the applications of an operator, with their outputs */
#include "config.h"

#include "core/op/infer.h"
#include "tests/fuzz/op-trial.h"
#include "tests/table/recipes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DRAWS        40
#define SIZE         4
#define OUTPUT_LIMIT (1 << 20) /* bytes */
#define MAX_OUTPUTS  16
#define NEAR         2e-5 /* of the sum of magnitudes: what a library's last places may change */

typedef struct
{
  double sum, magnitude;
  guint n; /* elements so far */
} Sum;

typedef struct
{
  const IrOp *op;
  GPtrArray *wanted; /* (nullable): each application's own */
  GString *line;     /* what was found */
  guint n, n_refused;
  gboolean shows;
} Row;

static GPtrArray *rows;

/* -- summing up -- */

static void
add_number (Sum *sum, double value)
{
  double whole, weight = 0.5 + modf (++sum->n * 0.6180339887498949, &whole);

  if (isnan (value))
    value = 1.7;
  else if (isinf (value))
    value = value > 0 ? 3.3 : -2.9;
  else
    value = copysign (log1p (fabs (value)), value); /* beside large ones small ones still tell */
  sum->sum += weight * value;
  sum->magnitude += fabs (weight * value);
}

static void
add_tensor (Sum *sum, const IrTensor *tensor)
{
  gboolean strings;

  if (ir_tensor_is_container (tensor))
    {
      add_number (sum, ir_tensor_n_items (tensor));
      for (guint i = 0; i < ir_tensor_n_items (tensor); i++)
        add_tensor (sum, ir_tensor_item (tensor, i));
      return;
    }
  strings = ir_tensor_dtype (tensor) == IR_DTYPE_STRING;
  add_number (sum, ir_tensor_rank (tensor));
  for (guint i = 0; i < ir_tensor_rank (tensor); i++)
    add_number (sum, (double) ir_tensor_dims (tensor)[i]);
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      gsize length = 0;
      const char *text = strings ? g_bytes_get_data (ir_tensor_string (tensor, i), &length) : NULL;
      add_number (sum, strings ? (double) length : ir_tensor_get_double (tensor, i));
      for (gsize k = 0; k < length; k++)
        add_number (sum, text[k]);
    }
}

/* -- applications -- */

static gboolean
is_as_before (Row *row, const Sum *sum, const char *found)
{
  const char *wanted = row->wanted != NULL && row->n < row->wanted->len ? row->wanted->pdata[row->n]
                                                                        : NULL;

  if (wanted == NULL || strcmp (wanted, found) == 0)
    return TRUE;
  return *wanted != 'x' && *found != 'x' &&
         fabs (g_ascii_strtod (wanted, NULL) - sum->sum) <= NEAR * (sum->magnitude + 1);
}

static void
show (const Trial *trial, IrTensor *const *outputs, const char *found)
{
  g_autofree char *text = trial_to_string (trial);

  printf ("%s-> %s\n", text, found);
  for (guint i = 0; i < trial->node->n_outputs; i++)
    if (outputs[i] != NULL)
      {
        g_autofree char *contents = ir_tensor_to_string (outputs[i], 64);
        printf ("  %s\n", contents);
      }
}

/* Ends what was refused before. */
static void
note_refused (Row *row)
{
  if (row->n_refused > 0)
    g_string_append_printf (row->line, " x%u", row->n_refused);
  row->n_refused = 0;
}

static void
note (Row *row, const char *found)
{
  row->n++;
  if (*found == 'x')
    {
      row->n_refused++;
      return;
    }
  note_refused (row);
  g_string_append_printf (row->line, " %s", found);
}

static void
judge (Row *row, Trial *trial)
{
  const IrNode *node = trial->node;
  const IrTensor *inputs[TRIAL_MAX_INPUTS] = { NULL };
  IrTensor *outputs[MAX_OUTPUTS] = { NULL };
  g_autoptr (GError) error = NULL;
  char found[G_ASCII_DTOSTR_BUF_SIZE] = "x";
  Sum sum = { 0 };

  if (node->n_outputs > MAX_OUTPUTS)
    return;
  for (guint i = 0; i < trial->n; i++)
    inputs[i] = trial->tensors[i];
  ir_infer_model (trial->edit, IR_INFER_DEFAULT, NULL);
  if (ir_eval_node (node, inputs, outputs, ir_backend_find ("ref"), OUTPUT_LIMIT, &error))
    {
      for (guint i = 0; i < node->n_outputs; i++)
        if (outputs[i] != NULL)
          add_tensor (&sum, outputs[i]);
      g_ascii_formatd (found, sizeof found, "%.6g", sum.sum);
    }
  if (row->shows)
    show (trial, outputs, found);
  if (!is_as_before (row, &sum, found))
    {
      g_autofree char *text = trial_to_string (trial);
      g_test_message ("%s application %u of %s is %s, and results.txt has %s", text, row->n,
                      row->op->name, found, (char *) row->wanted->pdata[row->n]);
      g_test_fail ();
    }
  note (row, found);
  for (guint i = 0; i < node->n_outputs; i++)
    g_clear_pointer (&outputs[i], ir_tensor_unref);
}

static void
judge_recipe (Row *row, const Recipe *recipe)
{
  guint n = 1;

  for (guint change = 0; change < 1 + 2 * n; change++)
    {
      g_auto (Trial) trial = { 0 };
      trial_init_as (&trial, row->op, 1, recipe->inputs, recipe->attrs);
      n = trial.n;
      if (change == 0 || trial_break_input (&trial, (change - 1) / 2, change % 2 == 0))
        judge (row, &trial);
    }
}

static void
judge_all (Row *row)
{
  for (guint i = 0; i < G_N_ELEMENTS (recipes); i++)
    if (strcmp (recipes[i].op, row->op->name) == 0 && trial_attrs_exist (row->op, recipes[i].attrs))
      judge_recipe (row, &recipes[i]);
  for (guint32 seed = 0; seed < DRAWS; seed++)
    {
      g_auto (Trial) trial = { 0 };
      trial_init (&trial, row->op, seed, SIZE);
      judge (row, &trial);
    }
  note_refused (row);
}

static void
test_row (gconstpointer data)
{
  Row row = *(const Row *) data;

  row.line = g_string_new (NULL);
  judge_all (&row);
  g_string_free (row.line, TRUE);
}

/* -- the file -- */

static char *
name_of (const IrOp *op)
{
  gboolean standard = op->domain == NULL || op->domain[0] == '\0';

  return g_strconcat (standard ? "" : op->domain, standard ? "" : ".", op->name, NULL);
}

/* (transfer full) */
static GPtrArray *
read_line (const char *line)
{
  g_auto (GStrv) words = g_strsplit (line, " ", -1);
  GPtrArray *wanted = g_ptr_array_new ();

  for (guint i = 0; words[i] != NULL; i++)
    for (gint64 n = *words[i] == 'x' ? g_ascii_strtoll (words[i] + 1, NULL, 10) : 1; n > 0; n--)
      g_ptr_array_add (wanted, *words[i] == 'x' ? g_strdup ("x") : g_strdup (words[i]));
  return wanted;
}

static void
read_lines (const char *path)
{
  g_autofree char *text = NULL;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint k = 0; lines[k] != NULL; k++)
    {
      char *colon = strstr (lines[k], ": ");
      for (guint i = 0; colon != NULL && i < rows->len; i++)
        {
          Row *row = rows->pdata[i];
          g_autofree char *name = name_of (row->op);
          if (strlen (name) == (gsize) (colon - lines[k]) && g_str_has_prefix (lines[k], name))
            row->wanted = read_line (colon + 2);
        }
    }
}

static void
write_lines (const char *path)
{
  g_autoptr (GString) all = g_string_new (NULL);

  for (guint i = 0; i < rows->len; i++)
    {
      Row row = { .op = ((const Row *) rows->pdata[i])->op, .line = all };
      g_autofree char *name = name_of (row.op);
      g_string_append_printf (all, "%s:", name);
      judge_all (&row);
      g_string_append_c (all, '\n');
    }
  g_assert_true (g_file_set_contents (path, all->str, -1, NULL));
}

int
main (int argc, char **argv)
{
  gboolean blesses = argc > 1 && strcmp (argv[1], "--bless") == 0;
  const char *shown = argc > 2 && strcmp (argv[1], "--show") == 0 ? argv[2] : NULL;

  g_test_init (&argc, &argv, NULL);
  rows = g_ptr_array_new ();
  for (guint i = 1; i < ir_op_n (); i++)
    {
      const IrOp *op = ir_op_by_id ((IrOpId) i);
      if (ir_ref_kernel (op) == NULL || (op->flags & IR_OP_RANDOM) != 0)
        continue; /* the runner does it, or it throws dice */
      Row *row = g_new0 (Row, 1);
      row->op = op;
      g_ptr_array_add (rows, row);
    }
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "results.txt", NULL);
  if (blesses)
    {
      write_lines (path);
      return 0;
    }
  read_lines (path);
  for (guint i = 0; i < rows->len; i++)
    {
      Row *row = rows->pdata[i];
      g_autofree char *name = name_of (row->op), *test = g_strconcat ("/results/", name, NULL);
      g_test_add_data_func (test, row, test_row);
      if (g_strcmp0 (shown, name) == 0)
        {
          Row copy = *row;
          copy.line = g_string_new (NULL);
          copy.shows = TRUE;
          judge_all (&copy);
          g_string_free (copy.line, TRUE);
        }
    }
  return shown != NULL ? 0 : g_test_run ();
}
