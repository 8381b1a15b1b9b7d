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
  IrRunSides sides;
  GHashTable *groups;   /* text of type and shape -> Group */
  GHashTable *group_of; /* IrValue -> Group that it is in */
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
add_side (IrAlike *self, gboolean of_b)
{
  const IrModel *model = of_b ? self->sides.b : self->sides.a;
  IrRun *run = of_b ? self->sides.run_b : self->sides.run_a;

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
      g_hash_table_insert (self->group_of, (gpointer) value, group);
    }
}

/* It borrows what @sides names. (transfer full) */
IrAlike *
ir_alike_new (const IrRunSides *sides)
{
  IrAlike *self = g_new (IrAlike, 1);

  self->sides = *sides;
  self->groups = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, group_free);
  self->group_of = g_hash_table_new (NULL, NULL);
  add_side (self, FALSE);
  add_side (self, TRUE);
  return self;
}

void
ir_alike_free (IrAlike *self)
{
  g_hash_table_unref (self->group_of);
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
  const double scale = MAX (MAX (fabs (p->min), fabs (p->max)), MAX (fabs (q->min), fabs (q->max)));
  const double tolerance = tolerance_of (ir_tensor_dtype (x->tensor)) * scale;
  IrComparison result;

  if (p->min == p->max || q->min == q->max || p->n_nan != q->n_nan ||
      !(fabs (p->min - q->min) <= tolerance) || !(fabs (p->max - q->max) <= tolerance) ||
      !(fabs (p->mean - q->mean) <= tolerance))
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

/* -- evidence -- */

static gboolean
is_of_b (const IrAlike *self, const IrValue *value)
{
  return value->graph->model == self->sides.b;
}

static const IrTensor *
content (const IrAlike *self, const IrValue *value)
{
  return ir_run_value (is_of_b (self, value) ? self->sides.run_b : self->sides.run_a, value->id);
}

static const GPtrArray *
side_of (const Group *group, gboolean of_b)
{
  return of_b ? group->of_b : group->of_a;
}

static gboolean
is_held (const IrValue *value, gpointer data)
{
  return content (data, value) != NULL;
}

static const IrTensor *
given_to (const IrAlike *self, const IrValue *input)
{
  return g_hash_table_lookup (is_of_b (self, input) ? self->sides.inputs_b : self->sides.inputs_a,
                              GUINT_TO_POINTER (input->id));
}

static gboolean
is_same_input (const IrValue *x, const IrValue *y, gpointer data)
{
  const IrTensor *one = given_to (data, x), *other = given_to (data, y);

  return one != NULL && other != NULL && ir_tensor_equal (one, other);
}

static gboolean
can_be_same (const IrValue *x, const IrValue *y, gpointer data)
{
  const IrTensor *one = content (data, x), *other = content (data, y);
  IrComparison result;

  return one != NULL && other != NULL && ir_tensors_compare (one, other, &result);
}

/* Whether both hold the same, up to rounding; also where others do, too */
static gboolean
agree (const IrValue *x, const IrValue *y, gpointer data)
{
  const IrAlike *self = data;
  const Group *group = g_hash_table_lookup (self->group_of, x);
  Held *held, *other;

  if (group == NULL || g_hash_table_lookup (self->group_of, y) != group)
    return FALSE;
  held = find_held (side_of (group, is_of_b (self, x)), x);
  other = find_held (side_of (group, is_of_b (self, y)), y);
  return held != NULL && other != NULL && are_alike (held, other);
}

/* The one value of the other side that holds what @value holds, up to rounding, where no other one of its own side
 * holds that. (nullable) */
static const IrValue *
find (const IrValue *value, gpointer data)
{
  const IrAlike *self = data;
  const Group *group = g_hash_table_lookup (self->group_of, value);
  const gboolean of_b = is_of_b (self, value);
  Held *held, *twin;

  if (group == NULL || group->of_a->len > MOST_IN_GROUP || group->of_b->len > MOST_IN_GROUP)
    return NULL;
  held = find_held (side_of (group, of_b), value);
  twin = only_alike (held, side_of (group, !of_b));
  return twin != NULL && only_alike (twin, side_of (group, of_b)) == held ? twin->value : NULL;
}

/* It borrows @self */
IrMatchEvidence
ir_alike_evidence (IrAlike *self)
{
  return (IrMatchEvidence){ is_held, is_same_input, can_be_same, agree, find, self };
}
