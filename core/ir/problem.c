/* Lists of findings about a model. */
#include "config.h"

#include "core/ir/problem.h"

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
