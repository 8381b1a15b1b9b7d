/* Breakpoints.
 *
 *     breakpoint  kind "=" pattern | score comparison number
 *     kind        rule | pass | op | node | verdict
 *     score       nodes | flops | bytes | memory      comparison  > >= < <=
 *     number      50, 1e6, 64KiB, 1.5MiB, 2G: of bytes k, M and G are powers of 1024
 *
 * A pattern is a name in which * stands for any text and ? for any character; a node may be given
 * by #id too. op= and node= stop at steps that are anchored at such a node, make or remove one, or
 * make it from another. A comparison stops where it becomes true: at steps after which it holds
 * and before which it did not, so that it stops once and not at every step that follows. */
#include "config.h"

#include "passes/debug/breakpoint.h"

#include "core/op/op.h"
#include "core/query/condition.h"
#include "passes/pass.h"
#include "passes/rule/rule.h"

#include <math.h>
#include <string.h>

typedef enum
{
  KIND_RULE,
  KIND_PASS,
  KIND_OP,
  KIND_NODE,
  KIND_VERDICT,
  KIND_SCORE
} Kind;

struct _IrBreakpoint
{
  char *text;
  Kind kind;
  GPatternSpec *pattern; /* (nullable) of kinds with a pattern */
  IrNodeId node;         /* NODE: of #id, or 0 */
  IrScore score;
  IrRelation relation;
  double number;
};

static const struct
{
  const char *name;
  Kind kind;
} kinds[] = {
  { "rule", KIND_RULE }, { "pass", KIND_PASS },       { "op", KIND_OP },
  { "node", KIND_NODE }, { "verdict", KIND_VERDICT },
};

static const struct
{
  const char *name;
  IrScore score;
  double kilo; /* what k, M and G count in */
} measures[] = {
  { "nodes", IR_SCORE_NODES, 1000 },
  { "flops", IR_SCORE_FLOPS, 1000 },
  { "bytes", IR_SCORE_BYTES, 1024 },
  { "memory", IR_SCORE_PEAK, 1024 },
};

/**
 * ir_breakpoint_error_quark:
 *
 * Returns: the domain of errors of breakpoints
 */
GQuark
ir_breakpoint_error_quark (void)
{
  return g_quark_from_static_string ("ir-breakpoint-error-quark");
}

/**
 * ir_breakpoint_examples:
 *
 * Returns: (transfer none): pairs of a text and what it means, for help; ends with %NULL
 */
const char *const *
ir_breakpoint_examples (void)
{
  static const char *const examples[] = {
    "rule=fold-conv-*",
    "a rule whose name begins so",
    "pass=fuse-bias",
    "a step of this pass",
    "op=Conv",
    "a step that makes, removes or starts at a Conv",
    "node=conv1",
    "a step that touches this node; #12 is its id",
    "verdict=broken",
    "a step that the proof found broken",
    "nodes<50",
    "the graph gets fewer than 50 nodes",
    "memory>1MiB",
    "the planned peak exceeds 1 MiB; flops and bytes alike",
    NULL,
  };
  return examples;
}

/* -- reading -- */

static gboolean refuse (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);

static gboolean
refuse (GError **error, const char *format, ...)
{
  g_autofree char *message = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, IR_BREAKPOINT_ERROR, IR_BREAKPOINT_ERROR_SYNTAX, message);
  return FALSE;
}

static gboolean
is_verdict (const char *pattern)
{
  for (guint i = 0; i < IR_N_VERDICTS; i++)
    if (g_pattern_match_simple (pattern, ir_verdict_name (i)))
      return TRUE;
  return FALSE;
}

static gboolean
read_pattern (IrBreakpoint *self, const char *text, GError **error)
{
  g_autofree char *pattern = g_strstrip (g_strdup (text));

  if (*pattern == '\0')
    return refuse (error, "a name must follow “=”");
  if (self->kind == KIND_VERDICT && !is_verdict (pattern))
    return refuse (error, "“%s” is no verdict: exact, rounding, broken, skipped or none", pattern);
  if (self->kind == KIND_NODE && *pattern == '#')
    {
      guint64 id;

      if (!g_ascii_string_to_unsigned (pattern + 1, 10, 1, G_MAXUINT32, &id, NULL))
        return refuse (error, "“%s” is no id of a node", pattern);
      self->node = (IrNodeId) id;
    }
  self->pattern = g_pattern_spec_new (pattern);
  return TRUE;
}

static gboolean
read_score (IrBreakpoint *self, const char *name, const char *text, GError **error)
{
  self->kind = KIND_SCORE;
  for (guint i = 0; i < G_N_ELEMENTS (measures); i++)
    if (strcmp (name, measures[i].name) == 0)
      {
        const char *number = ir_relation_read (text, &self->relation);

        self->score = measures[i].score;
        return ir_amount_read (number, measures[i].kilo, FALSE, &self->number) ||
               refuse (error, "a number such as 50 or 64MiB must follow “%s”",
                       ir_relation_text (self->relation));
      }
  return refuse (error, "“%s” is not nodes, flops, bytes or memory", name);
}

static gboolean
read_breakpoint (IrBreakpoint *self, GError **error)
{
  const gsize length = strcspn (self->text, "=<>");
  g_autofree char *name = g_strstrip (g_strndup (self->text, length));
  const char *rest = self->text + length;

  if (*rest == '\0')
    return refuse (error, "needs one of = < > : such as rule=fold-conv-bn or nodes<50");
  if (*rest != '=')
    return read_score (self, name, rest, error);
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (strcmp (name, kinds[i].name) == 0)
      {
        self->kind = kinds[i].kind;
        return read_pattern (self, rest + 1, error);
      }
  return refuse (error, "“%s” is not rule, pass, op, node or verdict", name);
}

/**
 * ir_breakpoint_parse:
 * @text: such as "op=Conv" or "memory>1MiB"
 * @error: return location for %IR_BREAKPOINT_ERROR
 *
 * Returns: (transfer full): the breakpoint, or %NULL if the text cannot be read
 */
IrBreakpoint *
ir_breakpoint_parse (const char *text, GError **error)
{
  g_autoptr (IrBreakpoint) self = g_new0 (IrBreakpoint, 1);

  self->text = g_strstrip (g_strdup (text));
  return read_breakpoint (self, error) ? g_steal_pointer (&self) : NULL;
}

/* -- whether there is what it names -- */

static gboolean node_matches (const IrBreakpoint *self, const IrModel *model, IrNodeId id);

static gboolean
has_rule (const IrBreakpoint *self, const IrRule *rules)
{
  for (const IrRule *rule = rules; rule != NULL && rule->name != NULL; rule++)
    if (g_pattern_spec_match_string (self->pattern, rule->name))
      return TRUE;
  return FALSE;
}

static gboolean
is_rule_or_pass (const IrBreakpoint *self)
{
  guint n;
  const IrPass *const *passes = ir_passes (&n);

  for (guint i = 0; i < n; i++)
    {
      if (self->kind == KIND_PASS
              ? g_pattern_spec_match_string (self->pattern, passes[i]->name)
              : has_rule (self, passes[i]->rules) || has_rule (self, passes[i]->documented_rules))
        return TRUE;
    }
  return FALSE;
}

/* What steps there are may have other names: of edits, and of passes that are no rules. */
static gboolean
is_in_history (const IrBreakpoint *self, const IrModel *model)
{
  for (guint step = 1; step <= ir_history_n_steps (model); step++)
    if (g_pattern_spec_match_string (self->pattern, self->kind == KIND_RULE
                                                        ? ir_history_step (model, step)->rule
                                                        : ir_history_pass_of (model, step)))
      return TRUE;
  return FALSE;
}

static gboolean
is_op (const IrBreakpoint *self)
{
  for (guint id = 1; id < ir_op_n (); id++)
    if (g_pattern_spec_match_string (self->pattern, ir_op_by_id (id)->name))
      return TRUE;
  return FALSE;
}

static gboolean
is_in_model (const IrBreakpoint *self, const IrModel *model)
{
  for (IrNodeId id = 1; id < model->nodes->len; id++)
    if (node_matches (self, model, id))
      return TRUE;
  return FALSE;
}

/**
 * ir_breakpoint_check:
 * @breakpoint: a breakpoint
 * @model: a model with a history
 * @error: return location for %IR_BREAKPOINT_ERROR
 *
 * A name that nothing has would never stop, and is most likely misspelled.
 *
 * Returns: whether there is a rule, pass, operator or node that @breakpoint names
 */
gboolean
ir_breakpoint_check (const IrBreakpoint *breakpoint, const IrModel *model, GError **error)
{
  const char *name = strchr (breakpoint->text, '=');

  name = name != NULL ? name + 1 : "";
  switch (breakpoint->kind)
    {
    case KIND_RULE:
      return is_rule_or_pass (breakpoint) || is_in_history (breakpoint, model) ||
             refuse (error, "there is no rule “%s”; “irscope rules” lists them", name);
    case KIND_PASS:
      return is_rule_or_pass (breakpoint) || is_in_history (breakpoint, model) ||
             refuse (error, "there is no pass “%s”; “irscope passes” lists them", name);
    case KIND_OP:
      return is_op (breakpoint) || is_in_model (breakpoint, model) ||
             refuse (error, "there is no operator “%s”", name);
    case KIND_NODE:
      return is_in_model (breakpoint, model) ||
             refuse (error, "no node of this graph is called “%s”", name);
    case KIND_VERDICT:
    case KIND_SCORE:
    default:
      return TRUE;
    }
}

/**
 * ir_breakpoint_free:
 * @breakpoint: (transfer full): a breakpoint
 */
void
ir_breakpoint_free (IrBreakpoint *breakpoint)
{
  g_clear_pointer (&breakpoint->pattern, g_pattern_spec_free);
  g_free (breakpoint->text);
  g_free (breakpoint);
}

/**
 * ir_breakpoint_text:
 * @breakpoint: a breakpoint
 *
 * Returns: (transfer none): what it was read from, without space around it
 */
const char *
ir_breakpoint_text (const IrBreakpoint *breakpoint)
{
  return breakpoint->text;
}

/**
 * ir_breakpoint_needs_scores:
 * @breakpoint: a breakpoint
 *
 * Returns: %TRUE if it stops only where a scoreboard is given
 */
gboolean
ir_breakpoint_needs_scores (const IrBreakpoint *breakpoint)
{
  return breakpoint->kind == KIND_SCORE;
}

/**
 * ir_breakpoint_needs_proof:
 * @breakpoint: a breakpoint
 *
 * Returns: %TRUE if it stops only at steps that were proved
 */
gboolean
ir_breakpoint_needs_proof (const IrBreakpoint *breakpoint)
{
  return breakpoint->kind == KIND_VERDICT;
}

/* -- hitting -- */

static gboolean
node_matches (const IrBreakpoint *self, const IrModel *model, IrNodeId id)
{
  const IrNode *node = id != 0 ? ir_model_node (model, id) : NULL;

  if (node == NULL)
    return FALSE;
  if (self->kind == KIND_OP)
    return g_pattern_spec_match_string (self->pattern, node->op_type);
  return self->node != 0 ? id == self->node
                         : g_pattern_spec_match_string (self->pattern, node->name);
}

static gboolean
touches (const IrBreakpoint *self, const IrModel *model, const IrStep *step)
{
  if (node_matches (self, model, step->anchor))
    return TRUE;
  for (guint i = 0; i < step->n_records; i++)
    {
      const IrRecord *record = ir_history_record (model, step->first_record + i);

      if (record->kind == IR_RECORD_NODE_STATE && node_matches (self, model, record->subject))
        return TRUE;
    }
  for (guint i = 0; step->nodes != NULL && i < step->nodes->len; i++)
    {
      const IrIdPair pair = g_array_index (step->nodes, IrIdPair, i);

      if (node_matches (self, model, pair.before) || node_matches (self, model, pair.after))
        return TRUE;
    }
  return FALSE;
}

static gboolean
becomes_true (const IrBreakpoint *self, const IrScoreboard *board, guint step)
{
  double before, after;

  if (board == NULL || step > board->n_steps)
    return FALSE;
  before = ir_scoreboard_value (board, self->score, step - 1);
  after = ir_scoreboard_value (board, self->score, step);
  return ir_relation_holds (self->relation, after, self->number) &&
         !ir_relation_holds (self->relation, before, self->number);
}

/**
 * ir_breakpoint_hits:
 * @breakpoint: a breakpoint
 * @model: a model with a history
 * @board: (nullable): its scores, for those that need them
 * @step: 1 .. n_steps
 *
 * Returns: %TRUE if going through the steps stops after @step
 */
gboolean
ir_breakpoint_hits (const IrBreakpoint *breakpoint,
                    const IrModel *model,
                    const IrScoreboard *board,
                    guint step)
{
  const IrStep *at = ir_history_step (model, step);

  switch (breakpoint->kind)
    {
    case KIND_RULE:
      return g_pattern_spec_match_string (breakpoint->pattern, at->rule);
    case KIND_PASS:
      return g_pattern_spec_match_string (breakpoint->pattern, ir_history_pass_of (model, step));
    case KIND_VERDICT:
      return g_pattern_spec_match_string (breakpoint->pattern, ir_verdict_name (at->proof.verdict));
    case KIND_SCORE:
      return becomes_true (breakpoint, board, step);
    case KIND_OP:
    case KIND_NODE:
    default:
      return touches (breakpoint, model, at);
    }
}

/**
 * ir_breakpoints_run:
 * @breakpoints: (element-type IrBreakpoint): any of them stops
 * @model: a model with a history
 * @board: (nullable): its scores
 * @from: the step to go on from
 * @forward: %FALSE goes back
 * @hit: (out) (optional) (nullable) (transfer none): the one that stopped; %NULL at the end
 *
 * Returns: the step where it stops: the nearest that a breakpoint hits, else the last step or 0
 */
guint
ir_breakpoints_run (const GPtrArray *breakpoints,
                    const IrModel *model,
                    const IrScoreboard *board,
                    guint from,
                    gboolean forward,
                    const IrBreakpoint **hit)
{
  const guint n = ir_history_n_steps (model);

  if (hit != NULL)
    *hit = NULL;
  for (guint step = forward ? from + 1 : from - 1; step >= 1 && step <= n;
       step = forward ? step + 1 : step - 1)
    for (guint i = 0; i < breakpoints->len; i++)
      if (ir_breakpoint_hits (breakpoints->pdata[i], model, board, step))
        {
          if (hit != NULL)
            *hit = breakpoints->pdata[i];
          return step;
        }
  return forward ? n : 0;
}
