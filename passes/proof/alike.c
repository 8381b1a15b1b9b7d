/* What two values hold on the same inputs says more than how they are called: where it is the same up to
 * rounding, and only these two hold it, they are the same value, whatever operators compute it. Values
 * that hold one number everywhere say nothing. Statistics are compared first, so that only what is
 * nearly equal is looked at element by element. */
#include "config.h"

#include "passes/proof/alike.h"

#include "core/exec/check/difference.h"
#include "core/exec/kernel/stats.h"

#include <float.h>
#include <math.h>

#define LEAST_ELEMENTS 4   /* fewer are equal by chance */
#define MANY_EPSILONS  500 /* of float32: 6e-5 of the largest */
#define MOST_PART      0.02
#define MOST_IN_GROUP  400 /* of one type and shape; more are not told apart */

typedef struct
{
  const IrValue *value;
  const IrTensor *tensor; /* of the run */
  gboolean known;
  IrTensorStats stats;
} Held;

/* Values of one element type and shape. */
typedef struct
{
  GPtrArray *of_a, *of_b; /* of Held */
} Group;

struct _IrAlike
{
  GHashTable *groups; /* text of type and shape -> Group */
};

static void
group_free (gpointer data)
{
  g_ptr_array_unref (((Group *) data)->of_a);
  g_ptr_array_unref (((Group *) data)->of_b);
  g_free (data);
}

static char *
key_of (const IrTensor *tensor)
{
  GString *key = g_string_new (NULL);

  g_string_append_printf (key, "%d", (int) ir_tensor_dtype (tensor));
  for (guint i = 0; i < ir_tensor_rank (tensor); i++)
    g_string_append_printf (key, ",%" G_GINT64_FORMAT, ir_tensor_dims (tensor)[i]);
  return g_string_free (key, FALSE);
}

/* (nullable): it holds nothing that tells it from others */
static const IrTensor *
telling (const IrValue *value, IrRun *run)
{
  const IrTensor *tensor = value != NULL && value->producer != NULL &&
                                   ir_value_constant (value) == NULL &&
                                   value->graph->kind == IR_GRAPH_MAIN
                               ? ir_run_value (run, value->id)
                               : NULL;

  return tensor != NULL && !ir_tensor_is_container (tensor) &&
                 ir_tensor_dtype (tensor) != IR_DTYPE_STRING &&
                 ir_tensor_n_elements (tensor) >= LEAST_ELEMENTS
             ? tensor
             : NULL;
}

static void
add_side (IrAlike *self, const IrModel *model, IrRun *run, gboolean of_b)
{
  for (guint id = 1; id < model->values->len; id++)
    {
      const IrValue *value = ir_model_live_value (model, id);
      const IrTensor *tensor = telling (value, run);
      g_autofree char *key = tensor != NULL ? key_of (tensor) : NULL;
      Group *group = key != NULL ? g_hash_table_lookup (self->groups, key) : NULL;
      Held *held;

      if (key == NULL)
        continue;
      if (group == NULL)
        {
          group = g_new (Group, 1);
          *group = (Group){ g_ptr_array_new_with_free_func (g_free),
                            g_ptr_array_new_with_free_func (g_free) };
          g_hash_table_insert (self->groups, g_steal_pointer (&key), group);
        }
      held = g_new0 (Held, 1);
      held->value = value;
      held->tensor = tensor;
      g_ptr_array_add (of_b ? group->of_b : group->of_a, held);
    }
}

/* What both runs have kept; it borrows all of them. (transfer full) */
IrAlike *
ir_alike_new (const IrModel *a, IrRun *run_a, const IrModel *b, IrRun *run_b)
{
  IrAlike *self = g_new (IrAlike, 1);

  self->groups = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, group_free);
  add_side (self, a, run_a, FALSE);
  add_side (self, b, run_b, TRUE);
  return self;
}

void
ir_alike_free (IrAlike *self)
{
  g_hash_table_unref (self->groups);
  g_free (self);
}

/* -- comparing -- */

static const IrTensorStats *
stats_of (Held *held)
{
  if (!held->known)
    ir_tensor_stats (held->tensor, 0, &held->stats);
  held->known = TRUE;
  return &held->stats;
}

/* Of the largest magnitude: what products in another order may differ by, many layers deep. In narrow
 * types that is more than tells values apart, so it ends at a part of them. */
static double
tolerance_of (IrDtype dtype)
{
  return ir_dtype_is_float (dtype)
             ? MIN (MANY_EPSILONS * FLT_EPSILON * ir_tolerance_scale (dtype), MOST_PART)
             : 0;
}

static gboolean
are_alike (Held *x, Held *y)
{
  const IrTensorStats *p = stats_of (x), *q = stats_of (y);
  const double scale = MAX (fabs (p->min), fabs (p->max));
  const double tolerance = tolerance_of (ir_tensor_dtype (x->tensor)) * scale;
  IrComparison result;

  if (p->min == p->max || p->n_nan != q->n_nan || !(fabs (p->min - q->min) <= tolerance) ||
      !(fabs (p->max - q->max) <= tolerance) || !(fabs (p->mean - q->mean) <= tolerance))
    return FALSE;
  return ir_tensors_compare (x->tensor, y->tensor, &result) && !result.non_finite_differs &&
         result.max_abs <= tolerance;
}

/* The only one that is alike. (nullable): none, or several */
static Held *
only_alike (Held *held, const GPtrArray *others)
{
  Held *found = NULL;

  for (guint i = 0; i < others->len; i++)
    {
      if (!are_alike (held, others->pdata[i]))
        continue;
      if (found != NULL)
        return NULL;
      found = others->pdata[i];
    }
  return found;
}

static Held *
find_held (const GPtrArray *held, const IrValue *value)
{
  for (guint i = 0; i < held->len; i++)
    if (((Held *) held->pdata[i])->value == value)
      return held->pdata[i];
  return NULL;
}

static Held *
find_of_b (IrAlike *self, const IrValue *b, Group **group)
{
  GHashTableIter iter;
  Held *held = NULL;

  g_hash_table_iter_init (&iter, self->groups);
  while (held == NULL && g_hash_table_iter_next (&iter, NULL, (gpointer *) group))
    held = find_held ((*group)->of_b, b);
  return held;
}

const IrValue *
ir_alike_find (IrAlike *self, const IrValue *b)
{
  Group *group = NULL;
  Held *held = find_of_b (self, b, &group), *twin;

  if (held == NULL || group->of_a->len > MOST_IN_GROUP || group->of_b->len > MOST_IN_GROUP)
    return NULL;
  twin = only_alike (held, group->of_a);
  return twin != NULL && only_alike (twin, group->of_b) == held ? twin->value : NULL;
}

/* Whether both hold the same, up to rounding; also where others do, too */
gboolean
ir_alike_agree (IrAlike *self, const IrValue *a, const IrValue *b)
{
  Group *group = NULL;
  Held *held = find_of_b (self, b, &group),
       *other = held != NULL ? find_held (group->of_a, a) : NULL;

  return other != NULL && are_alike (other, held);
}
