/* Names of what a plan decides by itself, and of the checks of a run that follows it. */
#include "config.h"

#include "core/exec/plan/options.h"
#include "core/exec/kernel/backend.h"

#include <string.h>

typedef struct
{
  const char *name, *doc;
} Flag;

/* By bit. */
static const Flag decisions[] = {
  { "blocks", "values in NCHWc layout" },
  { "sharing", "values that share bytes: in place, views, slices of one tensor" },
  { "chains", "chains of elementwise nodes that run tile by tile" },
  { "spans", "nodes that run concurrently" },
  { "prepack", "constants that are kept in the layout that their kernel reads" },
};
G_STATIC_ASSERT (G_N_ELEMENTS (decisions) == IR_N_DECISIONS);

static const Flag checks[] = {
  { "plan", "what lies at every node is what its kernel declares and the plan says" },
  { "ref", "what every node gives is what the reference kernels make of its inputs" },
};
G_STATIC_ASSERT (G_N_ELEMENTS (checks) == IR_N_RUN_CHECKS);

/* Sets the bits of the names in @text; FALSE with @error, which lists them, on any other. */
static gboolean
parse_flags (const Flag *table, guint n, const char *text, guint *flags, GError **error)
{
  g_auto (GStrv) names = g_strsplit (text, ",", -1);
  g_autoptr (GString) known = g_string_new (NULL);

  for (guint i = 0; names[i] != NULL; i++)
    {
      guint bit = 0;
      while (bit < n && strcmp (table[bit].name, names[i]) != 0)
        bit++;
      if (bit < n)
        *flags |= 1u << bit;
      else if (strcmp (names[i], "all") == 0)
        *flags |= (1u << n) - 1;
      else
        {
          for (guint k = 0; k < n; k++)
            g_string_append_printf (known, "%s, ", table[k].name);
          g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT, "%s: needs one of %sall",
                       names[i], known->str);
          return FALSE;
        }
    }
  return TRUE;
}

/**
 * ir_decisions_parse:
 * @text: names, with commas between; "all" is every one
 * @decisions_: (inout): gets those as well
 * @error: return location for an error
 *
 * Returns: %FALSE with %IR_EXEC_ERROR_INPUT on a name that no decision has
 */
gboolean
ir_decisions_parse (const char *text, IrDecisions *decisions_, GError **error)
{
  guint flags = *decisions_;
  gboolean done = parse_flags (decisions, IR_N_DECISIONS, text, &flags, error);

  *decisions_ = (IrDecisions) flags;
  return done;
}

/**
 * ir_decision_name:
 * @index: a bit of #IrDecisions, below %IR_N_DECISIONS
 *
 * Returns: (transfer none): its name, as ir_decisions_parse() takes it
 */
const char *
ir_decision_name (guint index)
{
  return decisions[index].name;
}

/**
 * ir_decision_doc:
 * @index: a bit of #IrDecisions, below %IR_N_DECISIONS
 *
 * Returns: (transfer none): what it is, in words
 */
const char *
ir_decision_doc (guint index)
{
  return decisions[index].doc;
}

/**
 * ir_plan_is_excepted:
 * @except: (nullable): for which values decisions are not to be taken
 * @decision: one of them
 * @value: id of a value
 *
 * Returns: whether a plan is not to take @decision for @value
 */
gboolean
ir_plan_is_excepted (const IrPlanExceptions *except, IrDecisions decision, IrValueId value)
{
  return except != NULL && (except->decisions & decision) != 0 && value < except->n_values &&
         except->values[value] != 0;
}

/**
 * ir_run_checks_parse:
 * @text: names, with commas between; "all" is every one
 * @checks_: (inout): gets those as well
 * @error: return location for an error
 *
 * Returns: %FALSE with %IR_EXEC_ERROR_INPUT on a name that no check has
 */
gboolean
ir_run_checks_parse (const char *text, IrRunChecks *checks_, GError **error)
{
  guint flags = *checks_;
  gboolean done = parse_flags (checks, IR_N_RUN_CHECKS, text, &flags, error);

  *checks_ = (IrRunChecks) flags;
  return done;
}

/**
 * ir_run_options_limit:
 * @options: how to run
 * @limits: (nullable): limits; %NULL: the defaults
 *
 * Gives @options the limits.
 */
void
ir_run_options_limit (IrRunOptions *options, const IrRunLimits *limits)
{
  const IrRunLimits none = { 0 };

  limits = limits != NULL ? limits : &none;
  options->memory_limit = limits->memory_limit;
  options->output_limit = limits->output_limit;
  options->iteration_limit = limits->iteration_limit;
  options->time_limit_ms = limits->time_limit_ms;
}

/**
 * ir_run_limits_deadline:
 * @limits: limits of what begins now
 *
 * Returns: when it has to end, as g_get_monotonic_time() counts; 0: never
 */
gint64
ir_run_limits_deadline (const IrRunLimits *limits)
{
  guint ms = limits->time_limit_ms > 0 ? limits->time_limit_ms : IR_RUN_DEFAULT_TIME_MS;

  return ms != G_MAXUINT ? g_get_monotonic_time () + (gint64) ms * 1000 : 0;
}

/* -- iterations -- */

/* "a..b" */
static gboolean
read_range (const char *text, IrIterations *iterations)
{
  g_auto (GStrv) ends = g_strsplit (text, "..", 2);

  iterations->kind = IR_ITERATIONS_RANGE;
  return ends[0] != NULL &&
         g_ascii_string_to_signed (ends[0], 10, 0, G_MAXINT64, &iterations->first, NULL) &&
         g_ascii_string_to_signed (ends[1] != NULL ? ends[1] : ends[0], 10, iterations->first,
                                   G_MAXINT64, &iterations->last, NULL);
}

static void
pick_clear (gpointer data)
{
  g_free (((IrIterationPick *) data)->frame);
}

/**
 * ir_iteration_picks_new:
 *
 * Returns: (transfer full) (element-type IrIterationPick): none so far; owns the frames of those that are added
 */
GArray *
ir_iteration_picks_new (void)
{
  GArray *picks = g_array_new (FALSE, FALSE, sizeof (IrIterationPick));

  g_array_set_clear_func (picks, pick_clear);
  return picks;
}

/**
 * ir_iterations_parse:
 * @text: "0..99", "7", "every:100", "last:10" or "checkpoints"
 * @iterations: (out): the same
 * @error: return location for an error
 *
 * Returns: %FALSE with %IR_EXEC_ERROR_INPUT on anything else
 */
gboolean
ir_iterations_parse (const char *text, IrIterations *iterations, GError **error)
{
  const char *number;

  *iterations = (IrIterations){ .kind = IR_ITERATIONS_CHECKPOINTS };
  if (strcmp (text, "checkpoints") == 0)
    return TRUE;
  if (g_str_has_prefix (text, "every:"))
    iterations->kind = IR_ITERATIONS_EVERY;
  else if (g_str_has_prefix (text, "last:"))
    iterations->kind = IR_ITERATIONS_LAST;
  number = iterations->kind != IR_ITERATIONS_CHECKPOINTS ? strchr (text, ':') + 1 : NULL;
  if (number != NULL
          ? g_ascii_string_to_signed (number, 10, 1, G_MAXINT32, &iterations->first, NULL)
          : read_range (text, iterations))
    return TRUE;
  g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
               "%s: needs iterations, from 0: a..b (both included), every:N, last:N or checkpoints",
               text);
  return FALSE;
}
