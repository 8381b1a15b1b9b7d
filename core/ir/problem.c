/* Lists of findings about a model. */
#include "config.h"

#include "core/ir/problem.h"

#include <string.h>

/**
 * ir_problem_free:
 * @problem: (transfer full): a finding
 */
void
ir_problem_free (IrProblem *problem)
{
  g_free (problem->message);
  g_free (problem->hint);
  g_free (problem);
}

/**
 * ir_problems_new:
 *
 * Returns: (transfer full) (element-type IrProblem): an empty list that owns its findings
 */
GPtrArray *
ir_problems_new (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify) ir_problem_free);
}

/**
 * ir_problems_add:
 * @problems: (nullable): the list; with %NULL the finding is dropped
 * @severity: how bad
 * @code: what kind; stable, scripts compare it
 * @node: (nullable): the node that it is about
 * @value: (nullable): the value that it is about
 * @format: printf() format of the message: where - what was found, what was needed
 *
 * Returns: (transfer none) (nullable): the finding, for a hint or a place in a text;
 *   %NULL if @problems is
 */
IrProblem *
ir_problems_add (GPtrArray *problems,
                 IrSeverity severity,
                 IrProblemCode code,
                 const IrNode *node,
                 const IrValue *value,
                 const char *format,
                 ...)
{
  IrProblem *problem;
  va_list args;

  if (problems == NULL)
    return NULL;
  problem = g_new0 (IrProblem, 1);
  problem->severity = severity;
  problem->code = code;
  problem->node = node != NULL ? node->id : 0;
  problem->value = value != NULL ? value->id : 0;
  va_start (args, format);
  problem->message = g_strdup_vprintf (format, args);
  va_end (args);
  g_ptr_array_add (problems, problem);
  return problem;
}

static gboolean
same_matter (const IrProblem *a, const IrProblem *b)
{
  return a->code == b->code && a->node == b->node && a->value == b->value;
}

/* Readers and inference may find what the verifier finds, and say it in other words. */
static gboolean
says_the_same (const IrProblem *a, const IrProblem *b)
{
  if (a->code == IR_PROBLEM_UNDEFINED_VALUE)
    return a->code == b->code;
  return same_matter (a, b) && strcmp (a->message, b->message) == 0;
}

static gboolean
is_said (const GPtrArray *known, const IrProblem *problem)
{
  for (guint i = 0; known != NULL && i < known->len; i++)
    if (says_the_same (known->pdata[i], problem))
      return TRUE;
  return FALSE;
}

/* Of errors in a node the verifier says all, where inference stops at the first. */
static void
note_replaced (const GPtrArray *known, const IrProblem *problem, GHashTable *replaced)
{
  for (guint i = 0; known != NULL && i < known->len; i++)
    {
      IrProblem *other = known->pdata[i];
      if (same_matter (other, problem) && other->node != 0 && other->line == 0 &&
          other->severity == IR_SEVERITY_ERROR)
        g_hash_table_add (replaced, other);
    }
}

/**
 * ir_problems_merge:
 * @problems: (element-type IrProblem): what reading and inference have found
 * @more: (element-type IrProblem): what the verifier has found; empty afterwards
 *
 * Puts both lists into the first, each problem once.
 */
void
ir_problems_merge (GPtrArray *problems, GPtrArray *more)
{
  g_autoptr (GHashTable)
      by_node = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_ptr_array_unref);
  g_autoptr (GHashTable) replaced = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < problems->len; i++)
    {
      gpointer key = GUINT_TO_POINTER (((const IrProblem *) problems->pdata[i])->node);
      if (!g_hash_table_contains (by_node, key))
        g_hash_table_insert (by_node, key, g_ptr_array_new ());
      g_ptr_array_add (g_hash_table_lookup (by_node, key), problems->pdata[i]);
    }
  for (guint i = 0; i < more->len; i++)
    {
      IrProblem *problem = g_steal_pointer (&more->pdata[i]);
      const GPtrArray *known = g_hash_table_lookup (by_node, GUINT_TO_POINTER (problem->node));
      if (is_said (known, problem))
        {
          ir_problem_free (problem);
          continue;
        }
      note_replaced (known, problem, replaced);
      g_ptr_array_add (problems, problem);
    }
  g_ptr_array_set_free_func (more, NULL); /* all of it is taken */
  g_ptr_array_set_size (more, 0);
  g_ptr_array_set_free_func (more, (GDestroyNotify) ir_problem_free);
  for (guint i = problems->len; i > 0 && g_hash_table_size (replaced) > 0; i--)
    if (g_hash_table_remove (replaced, problems->pdata[i - 1]))
      g_ptr_array_remove_index (problems, i - 1);
}

/**
 * ir_problem_set_hint:
 * @problem: (nullable): a finding
 * @hint: (nullable): what to do about it
 */
void
ir_problem_set_hint (IrProblem *problem, const char *hint)
{
  if (problem == NULL)
    return;
  g_free (problem->hint);
  problem->hint = g_strdup (hint);
}

/**
 * ir_problem_code_name:
 * @code: a kind of finding
 *
 * Returns: its stable name
 */
const char *
ir_problem_code_name (IrProblemCode code)
{
  static const char *const names[] = {
#define P(ID, CODE) [IR_PROBLEM_##ID] = CODE,
    IR_PROBLEMS (P)
#undef P
  };
  return (guint) code < G_N_ELEMENTS (names) ? names[code] : "unknown";
}

/**
 * ir_severity_name:
 * @severity: a severity
 *
 * Returns: "note", "warning" or "error"
 */
const char *
ir_severity_name (IrSeverity severity)
{
  static const char *const names[] = { "note", "warning", "error" };
  return (guint) severity < G_N_ELEMENTS (names) ? names[severity] : "unknown";
}

/**
 * ir_problems_count:
 * @problems: (nullable): a list
 * @at_least: least severity that counts
 *
 * Returns: how many findings are at least that severe
 */
guint
ir_problems_count (const GPtrArray *problems, IrSeverity at_least)
{
  guint n = 0;
  for (guint i = 0; problems != NULL && i < problems->len; i++)
    n += ((const IrProblem *) problems->pdata[i])->severity >= at_least;
  return n;
}
