/* Counters of loops: integers that move by a constant in each iteration. */
#include "config.h"

#include "core/ir/counter.h"

#include "core/ir/frames.h"

#define MAX_HOPS 1000 /* a graph that is checked may have cycles */

static gboolean
is_known (const IrCounterScope *scope, const IrValue *value, gint64 *number)
{
  return value != NULL && ir_value_known_integer (scope->origin (value, scope->data), number);
}

/**
 * ir_counter_read:
 * @scope: what the loop does with values
 * @value: (nullable): an integer
 * @offset: (out): what is added to it
 *
 * Looks behind Add and Sub of constants.
 *
 * Returns: (transfer none) (nullable): where @value comes from but for @offset; %NULL: that does not fit into an int64
 */
const IrValue *
ir_counter_read (const IrCounterScope *scope, const IrValue *value, gint64 *offset)
{
  *offset = 0;
  for (guint hops = 0; hops < MAX_HOPS && value != NULL; hops++)
    {
      value = scope->origin (value, scope->data);
      const IrNode *node = value != NULL ? value->producer : NULL;
      const gboolean adds = node != NULL && ir_node_is (node, "Add");
      if ((!adds && (node == NULL || !ir_node_is (node, "Sub"))) || node->n_inputs != 2)
        return value;
      gint64 number;
      const gboolean swapped = adds && is_known (scope, node->inputs[0], &number);
      if ((!swapped && !is_known (scope, node->inputs[1], &number)) ||
          (adds ? __builtin_add_overflow (*offset, number, offset)
                : __builtin_sub_overflow (*offset, number, offset)))
        return NULL;
      value = node->inputs[swapped ? 1 : 0];
    }
  return NULL;
}

/* (nullable) The comparison that alone may end the loop, behind And with what is true, and Not */
static const IrNode *
comparison_of (const IrCounterScope *scope, const IrValue *condition, gboolean *negated)
{
  *negated = FALSE;
  for (guint hops = 0; hops < MAX_HOPS && condition != NULL; hops++)
    {
      const IrValue *value = scope->origin (condition, scope->data);
      const IrNode *node = value != NULL ? value->producer : NULL;
      if (node != NULL && ir_node_is (node, "Not"))
        {
          *negated = !*negated;
          condition = ir_node_input (node, 0);
          continue;
        }
      if (node == NULL || *negated || !ir_node_is (node, "And") || node->n_inputs != 2)
        return node;
      const gboolean first = scope->is_true (node->inputs[0], scope->data);
      if (!first && !scope->is_true (node->inputs[1], scope->data))
        return NULL;
      condition = node->inputs[first ? 1 : 0];
    }
  return NULL;
}

/**
 * ir_comparison_read:
 * @scope: what the loop does with values
 * @condition: (nullable): by which it goes on
 * @comparison: (out): what that compares
 *
 * Returns: whether @condition is true as long as a value compares with a constant so, and nothing else decides
 */
gboolean
ir_comparison_read (const IrCounterScope *scope, const IrValue *condition, IrComparison *comparison)
{
  gboolean negated;
  const IrNode *node = comparison_of (scope, condition, &negated);
  const gboolean less = node != NULL && ir_node_is (node, "Less"),
                 at_most = node != NULL && ir_node_is (node, "LessOrEqual"),
                 more = node != NULL && ir_node_is (node, "Greater"),
                 at_least = node != NULL && ir_node_is (node, "GreaterOrEqual");

  if ((!less && !at_most && !more && !at_least) || node->n_inputs != 2)
    return FALSE;
  const gboolean swapped = is_known (scope, node->inputs[0], &comparison->limit);
  comparison->above = (more || at_least) ^ swapped ^ negated;
  comparison->or_equal = (at_most || at_least) ^ negated;
  comparison->counter = ir_counter_read (scope, node->inputs[swapped ? 1 : 0], &comparison->offset);
  return (swapped || is_known (scope, node->inputs[1], &comparison->limit)) &&
         comparison->counter != NULL;
}

/**
 * ir_comparison_ends:
 * @comparison: a condition
 * @first: what its counter begins with
 * @step: what is added to it in each iteration
 *
 * Returns: the first iteration in which the condition is false, from 0; -1: there is none, or the counter wraps around
 */
gint64
ir_comparison_ends (const IrComparison *comparison, gint64 first, gint64 step)
{
  gint64 begin, distance, speed = step, t = 0, moved, last;

  if (__builtin_add_overflow (first, comparison->offset, &begin) ||
      (comparison->above ? __builtin_sub_overflow (begin, comparison->limit, &distance)
                         : __builtin_sub_overflow (comparison->limit, begin, &distance)) ||
      __builtin_add_overflow (distance, comparison->or_equal, &distance) ||
      (comparison->above && __builtin_sub_overflow (0, step, &speed)) ||
      (distance > 0 && speed <= 0))
    return -1;
  if (distance > 0)
    t = (distance - 1) / speed + 1;
  return __builtin_mul_overflow (step, t, &moved) || __builtin_add_overflow (begin, moved, &last) ||
                 __builtin_add_overflow (first, moved, &last) ||
                 __builtin_add_overflow (last, step, &last) || t == G_MAXINT64
             ? -1
             : t;
}
