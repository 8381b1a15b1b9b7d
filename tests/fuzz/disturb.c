#include "config.h"

#include "tests/fuzz/disturb.h"

#include <math.h>
#include <string.h>

/* So many runs show which elements rounding may flip. */
#define MANY 8

double
disturb_epsilon (IrDtype dtype)
{
  return dtype == IR_DTYPE_DOUBLE     ? 0x1p-50
         : dtype == IR_DTYPE_FLOAT    ? 0x1p-22
         : dtype == IR_DTYPE_BFLOAT16 ? 0x1p-6
         : dtype == IR_DTYPE_FLOAT16  ? 0x1p-9
                                      : 0x1p-2;
}

/* Below them a kernel may have 0: of Sigmoid (-96) as 1 / (1 + exp (96)), for one. Those of float16 are no rarity. */
static double
smallest_normal (IrDtype dtype)
{
  return dtype == IR_DTYPE_DOUBLE                                ? 0x1p-1022
         : dtype == IR_DTYPE_FLOAT || dtype == IR_DTYPE_BFLOAT16 ? 0x1p-126
                                                                 : 0;
}

static IrTensor *
disturbed_tensor (const IrTensor *tensor, GRand *rand, double amount, gboolean factor)
{
  IrDtype dtype = ir_tensor_dtype (tensor);
  IrTensor *copy = ir_tensor_new_alloc (dtype, ir_tensor_rank (tensor), ir_tensor_dims (tensor),
                                        NULL);

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      double by = 1 + (g_rand_boolean (rand) ? amount : -amount) * disturb_epsilon (dtype);
      if (fabs (ir_tensor_get_double (tensor, i)) < smallest_normal (dtype) &&
          g_rand_boolean (rand))
        by = 0;
      ir_dtype_set_double (dtype, ir_tensor_data_writable (copy), i,
                           (factor ? 1 : ir_tensor_get_double (tensor, i)) * by);
    }
  return copy;
}

static gboolean
may_be_disturbed (const IrTensor *tensor)
{
  return tensor != NULL && !ir_tensor_is_container (tensor) &&
         ir_dtype_is_float (ir_tensor_dtype (tensor)) && ir_tensor_n_elements (tensor) > 0;
}

/* Scales of Resize are sizes in another form. */
static gboolean
is_sizes (const IrValue *value)
{
  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);
      if (use.node != NULL && ir_node_is (use.node, "Resize") && use.slot > 0)
        return TRUE;
    }
  return FALSE;
}

/* Behind every node of the main graph each float output is multiplied by numbers next to 1. */
IrModel *
disturb_model (IrModel *original, IrRun *captured, GRand *rand, double amount)
{
  IrModel *model = ir_model_clone (original);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (model->main);
  guint n_values = model->values->len;

  for (guint i = 0; i < nodes->len; i++)
    {
      const IrNode *node = nodes->pdata[i];
      for (guint k = 0; k < node->n_outputs; k++)
        {
          IrValue *value = node->outputs[k];
          const IrTensor *tensor = value != NULL ? ir_run_value (captured, value->id) : NULL;
          if (!may_be_disturbed (tensor) || value->n_uses == 0 || ir_node_is (node, "Constant"))
            continue;
          g_autoptr (IrTensor) factor = disturbed_tensor (tensor, rand, amount, TRUE);
          IrValue *in[] = { value, ir_edit_add_initializer (edit, model->main, NULL, factor) };
          IrNode *mul = ir_edit_add_node (edit, model->main, "Mul", "", "", 2, in, 1);
          ir_edit_replace_uses (edit, value, mul->outputs[0]);
          ir_edit_set_input (edit, mul, 0, value);
        }
    }
  for (guint i = 1; i < n_values; i++)
    {
      IrValue *value = model->values->pdata[i];
      if (value->state != IR_STATE_LIVE || value->initializer == NULL ||
          !may_be_disturbed (value->initializer) ||
          ir_tensor_n_elements (value->initializer) == 1 || is_sizes (value))
        continue;
      g_autoptr (IrTensor) tensor = disturbed_tensor (value->initializer, rand, amount, FALSE);
      ir_edit_set_initializer (edit, value, tensor);
    }
  return model;
}

GHashTable *
disturb_inputs (GHashTable *inputs, GRand *rand, double amount)
{
  GHashTable *copy = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  GHashTableIter iter;
  gpointer key, value;

  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &key, &value))
    g_hash_table_insert (copy, key,
                         may_be_disturbed (value) ? disturbed_tensor (value, rand, amount, FALSE)
                                                  : ir_tensor_ref (value));
  return copy;
}

static char *
differs (const char *name, guint64 i, double wanted, double found)
{
  return g_strdup_printf ("differs: %s[%" G_GUINT64_FORMAT "] is %.9g, was %.9g", name, i, found,
                          wanted);
}

char *
compare_exactly (const char *name, const IrTensor *a, const IrTensor *b)
{
  if (!ir_dtype_is_float (ir_tensor_dtype (a)) || ir_tensor_is_container (a))
    return ir_tensor_equal (a, b) ? NULL : g_strdup_printf ("differs: %s", name);
  for (guint64 i = 0; i < ir_tensor_n_elements (a); i++)
    {
      double x = ir_tensor_get_double (a, i), y = ir_tensor_get_double (b, i);
      if (isnan (x) ? !isnan (y) : x != y || signbit (x) != signbit (y))
        return differs (name, i, x, y);
    }
  return NULL;
}

/* Integers that rounding flips, as the results of quantizing and of comparing are: some run has
 * shown it of those that may. */
static char *
compare_flipped (
    const char *name, const IrTensor *a, const IrTensor *b, const double *spread, double mean)
{
  for (guint64 i = 0; i < ir_tensor_n_elements (a); i++)
    {
      double x = ir_tensor_get_double (a, i), y = ir_tensor_get_double (b, i);
      if (!(fabs (x - y) <= 64 * spread[i] + 32 * mean))
        return differs (name, i, x, y);
    }
  return NULL;
}

char *
compare_roughly (const char *name,
                 const IrTensor *a,
                 const IrTensor *b,
                 IrTensor *const *disturbed,
                 guint n_disturbed,
                 gboolean *sensitive)
{
  guint64 n = ir_tensor_n_elements (a);
  g_autofree double *spread = g_new0 (double, n + 1);
  double mean = 0, scale = 0, epsilon = disturb_epsilon (ir_tensor_dtype (a));

  *sensitive = TRUE;
  if (ir_tensor_dtype (a) == IR_DTYPE_STRING)
    {
      for (guint k = 0; k < n_disturbed; k++)
        if (disturbed[k] == NULL || !ir_tensor_equal (disturbed[k], a))
          return NULL; /* of numbers, written out */
      *sensitive = FALSE;
      return compare_exactly (name, a, b);
    }
  for (guint k = 0; k < n_disturbed; k++)
    if (disturbed[k] == NULL || ir_tensor_n_elements (disturbed[k]) != n)
      return NULL;
  for (guint64 i = 0; i < n; i++)
    {
      double x = ir_tensor_get_double (a, i);
      for (guint k = 0; k < n_disturbed; k++)
        spread[i] = fmax (spread[i], fabs (ir_tensor_get_double (disturbed[k], i) - x));
      mean += spread[i] / (double) n;
      if (isfinite (x))
        scale = fmax (scale, fabs (x));
    }
  double most = n_disturbed < MANY ? 0.01 : fmax (0.01, 8 * epsilon);
  *sensitive = !isfinite (mean) || mean > most * scale;
  if (*sensitive)
    return NULL;
  if (!ir_dtype_is_float (ir_tensor_dtype (a)))
    return mean == 0            ? compare_exactly (name, a, b)
           : n_disturbed < MANY ? NULL
                                : compare_flipped (name, a, b, spread, mean);
  for (guint64 i = 0; i < n; i++)
    {
      double x = ir_tensor_get_double (a, i), y = ir_tensor_get_double (b, i);
      if (x == y) /* infinities, too */
        continue;
      if (!(fabs (x - y) <= 64 * spread[i] + 32 * mean + 8 * epsilon * (fabs (x) + scale)))
        return differs (name, i, x, y);
    }
  return NULL;
}

gboolean
same_form (const IrTensor *a, const IrTensor *b)
{
  return ir_tensor_is_container (a) == ir_tensor_is_container (b) &&
         ir_tensor_dtype (a) == ir_tensor_dtype (b) && ir_tensor_rank (a) == ir_tensor_rank (b) &&
         (ir_tensor_rank (a) == 0 || memcmp (ir_tensor_dims (a), ir_tensor_dims (b),
                                             ir_tensor_rank (a) * sizeof (gint64)) == 0);
}
