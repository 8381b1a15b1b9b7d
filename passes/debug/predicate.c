/* Predicates: the language of --fail.
 *
 *     expression  either { ("or" | "||") either }         either   both { ("and" | "&&") both }
 *     both        ("not" | "!") both | "(" expression ")" | test
 *     test        measure [ "(" argument ")" ] [ operator number ] | "cmd:" command
 *     operator    > >= < <= == !=                          number   1e-3, 64MiB, 2GB
 *
 * An argument is the name of a value of the original graph, #N for its id, or * for all outputs;
 * quotes ('...' or "...") take any name; loop@2/NAME is what a value is in one iteration, and
 * loop/NAME in each (core/exec/run/iteration-name.h). A command is quoted, or goes on to the end of the text. It
 * is started without a shell; {} in it, or else its end, becomes the path of the graph after the
 * step, written as ONNX; exit status 0 is good, anything else is a failure. What it prints goes to
 * stderr.
 *
 * A value is compared with the original's through the lineage: the value after the step that stands
 * for it. A graph that does not run any more after a step fails, whatever the measure. Tests are
 * made from left to right, and only as far as the answer needs. */
#include "config.h"

#include "passes/debug/predicate-private.h"

#include "core/exec/run/iteration-name.h"
#include "core/ir/scanner.h"
#include "core/op/call.h"

#include <math.h>
#include <string.h>

#define MEASURES_IN_WORDS                                                                          \
  "max_abs(x), rel(x), has_nan(x), peak_memory, nodes, nodes(Op), flops, cmd:"
#define MAX_DEPTH 100 /* of parentheses and nots */

/**
 * ir_predicate_error_quark:
 *
 * Returns: the domain of errors of predicates
 */
GQuark
ir_predicate_error_quark (void)
{
  return g_quark_from_static_string ("ir-predicate-error-quark");
}

/* -- comparisons -- */

static const struct
{
  const char *text;
  gboolean below, equal, above; /* whether it holds there */
} comparisons[] = {
  /* longer ones first: the parser takes the first that fits */
  { ">=", FALSE, TRUE, TRUE }, { "<=", TRUE, TRUE, FALSE }, { "==", FALSE, TRUE, FALSE },
  { "!=", TRUE, FALSE, TRUE }, { ">", FALSE, FALSE, TRUE }, { "<", TRUE, FALSE, FALSE },
};

static gboolean
holds (guint comparison, double value, double number)
{
  if (value < number)
    return comparisons[comparison].below;
  return value > number ? comparisons[comparison].above : comparisons[comparison].equal;
}

static gboolean
evaluate (IrMeasuring *work, const IrTerm *term, gboolean *answer, GError **error)
{
  if (term->kind == IR_TERM_TEST)
    {
      if (!term->measure->measure (work, term, &work->value, error))
        return FALSE;
      work->decided = term;
      *answer = term->measure->is_truth ? work->value != 0
                                        : holds (term->comparison, work->value, term->number);
      return TRUE;
    }
  if (!evaluate (work, term->a, answer, error))
    return FALSE;
  if (term->kind == IR_TERM_NOT)
    *answer = !*answer;
  else if (*answer == (term->kind == IR_TERM_AND))
    return evaluate (work, term->b, answer, error);
  return TRUE;
}

/* -- parsing -- */

typedef struct
{
  const char *text, *at;
  guint depth;
  GError *error; /* (nullable) the first one */
} Parser;

static IrTerm *parse_or (Parser *p);

static void
term_free (IrTerm *term)
{
  if (term == NULL)
    return;
  term_free (term->a);
  term_free (term->b);
  g_clear_pointer (&term->values, g_array_unref);
  g_clear_pointer (&term->picks, g_array_unref);
  g_free (term->argument);
  g_free (term);
}

static guint
column_of (const Parser *p, const char *at)
{
  return g_utf8_pointer_to_offset (p->text, at) + 1;
}

static void G_GNUC_PRINTF (3, 4) fail_at (Parser *p, const char *at, const char *format, ...)
{
  g_autofree char *message = NULL;
  va_list args;

  if (p->error != NULL)
    return;
  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  p->error = g_error_new (IR_PREDICATE_ERROR, IR_PREDICATE_ERROR_SYNTAX, "column %u: %s",
                          column_of (p, at), message);
}

static char *
found_here (Parser *p)
{
  const char *end = p->at;

  if (*end == '\0')
    return g_strdup ("the end");
  if (g_ascii_isalnum (*end))
    while (g_ascii_isalnum (*end) || *end == '_')
      end++;
  else
    end = g_utf8_next_char (end);
  return g_strdup_printf ("'%.*s'", (int) (end - p->at), p->at);
}

static gboolean
take_word (Parser *p, const char *word)
{
  gsize length = strlen (word);

  ir_skip_space (&p->at);
  if (strncmp (p->at, word, length) != 0 || g_ascii_isalnum (p->at[length]) || p->at[length] == '_')
    return FALSE;
  p->at += length;
  return TRUE;
}

/* 'text' or "text", nothing is escaped; NULL if there is no quote here. */
static char *
take_quoted (Parser *p)
{
  const char *start, *end;

  ir_skip_space (&p->at);
  if (*p->at != '"' && *p->at != '\'')
    return NULL;
  start = p->at + 1;
  end = strchr (start, *p->at);
  if (end == NULL)
    {
      fail_at (p, p->at, "the quote is not closed");
      return g_strdup ("");
    }
  p->at = end + 1;
  return g_strndup (start, end - start);
}

static void
parse_parenthesis (Parser *p, IrTerm *term)
{
  const char *open = p->at;

  if (!ir_accept (&p->at, "("))
    {
      g_autofree char *found = found_here (p);
      if (term->measure->argument == IR_ARGUMENT_VALUE)
        fail_at (p, p->at, "%s needs the name of a value in parentheses, found %s",
                 term->measure->name, found);
      return;
    }
  ir_skip_space (&p->at);
  term->column = column_of (p, p->at);
  term->argument = take_quoted (p);
  if (term->argument == NULL)
    {
      const char *end = strchr (p->at, ')');

      if (end != NULL)
        {
          term->argument = g_strchomp (g_strndup (p->at, end - p->at));
          p->at = end;
        }
    }
  if (term->argument == NULL || !ir_accept (&p->at, ")"))
    fail_at (p, open, "the parenthesis is not closed");
  else if (term->argument[0] == '\0')
    fail_at (p, open, "%s needs %s in its parentheses", term->measure->name,
             term->measure->argument == IR_ARGUMENT_VALUE ? "the name of a value" : "an operator");
}

static void
parse_command (Parser *p, IrTerm *term)
{
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) words = NULL;
  const char *start;

  if (!ir_accept (&p->at, ":"))
    {
      fail_at (p, p->at, "cmd needs a colon and a command: cmd: ./check.sh");
      return;
    }
  ir_skip_space (&p->at);
  start = p->at;
  term->argument = take_quoted (p);
  if (term->argument == NULL)
    {
      term->argument = g_strdup (p->at);
      p->at += strlen (p->at);
    }
  if (p->error == NULL && !g_shell_parse_argv (term->argument, NULL, &words, &error))
    fail_at (p, start, "%s",
             g_error_matches (error, G_SHELL_ERROR, G_SHELL_ERROR_EMPTY_STRING)
                 ? "cmd: needs a command"
                 : error->message);
}

static double
unit_here (Parser *p)
{
  static const struct
  {
    const char *name;
    double factor;
  } units[] = {
    { "KiB", 0x1p10 }, { "MiB", 0x1p20 }, { "GiB", 0x1p30 },
    { "kB", 1e3 },     { "MB", 1e6 },     { "GB", 1e9 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (units); i++)
    if (take_word (p, units[i].name))
      return units[i].factor;
  return 1;
}

static void
parse_comparison (Parser *p, IrTerm *term)
{
  char *end;

  for (term->comparison = 0; term->comparison < G_N_ELEMENTS (comparisons); term->comparison++)
    if (ir_accept (&p->at, comparisons[term->comparison].text))
      break;
  if (term->comparison == G_N_ELEMENTS (comparisons))
    {
      g_autofree char *found = found_here (p);
      fail_at (p, p->at, "%s needs a comparison (> >= < <= == !=) with a number, found %s",
               term->measure->name, found);
      return;
    }
  ir_skip_space (&p->at);
  term->number = g_ascii_strtod (p->at, &end);
  if (end == p->at || isnan (term->number))
    {
      g_autofree char *found = found_here (p);
      fail_at (p, p->at, "%s needs a number, found %s", comparisons[term->comparison].text, found);
      return;
    }
  p->at = end;
  term->number *= unit_here (p);
}

static IrTerm *
parse_test (Parser *p)
{
  IrTerm *term = g_new0 (IrTerm, 1);

  term->kind = IR_TERM_TEST;
  for (guint i = 0; ir_measure_at (i) != NULL && term->measure == NULL; i++)
    if (take_word (p, ir_measure_at (i)->name))
      term->measure = ir_measure_at (i);
  if (term->measure == NULL)
    {
      g_autofree char *found = found_here (p);
      fail_at (p, p->at, "needs one of %s; found %s", MEASURES_IN_WORDS, found);
      return term;
    }
  if (term->measure->argument == IR_ARGUMENT_COMMAND)
    parse_command (p, term);
  else if (term->measure->argument != IR_ARGUMENT_NONE)
    parse_parenthesis (p, term);
  if (p->error == NULL && !term->measure->is_truth)
    parse_comparison (p, term);
  return term;
}

static IrTerm *
parse_not (Parser *p)
{
  IrTerm *term = NULL;
  const char *start;

  ir_skip_space (&p->at);
  start = p->at;
  if (++p->depth > MAX_DEPTH)
    fail_at (p, p->at, "more than %d levels of parentheses and nots", MAX_DEPTH);
  else if (take_word (p, "not") || ir_accept (&p->at, "!"))
    {
      term = g_new0 (IrTerm, 1);
      term->kind = IR_TERM_NOT;
      term->a = parse_not (p);
    }
  else if (ir_accept (&p->at, "("))
    {
      term = parse_or (p);
      if (!ir_accept (&p->at, ")"))
        fail_at (p, start, "the parenthesis is not closed");
    }
  else
    term = parse_test (p);
  p->depth--;
  return term;
}

static IrTerm *
join (IrTermKind kind, IrTerm *a, IrTerm *b)
{
  IrTerm *term = g_new0 (IrTerm, 1);

  term->kind = kind;
  term->a = a;
  term->b = b;
  return term;
}

static IrTerm *
parse_and (Parser *p)
{
  IrTerm *term = parse_not (p);

  while (p->error == NULL && (take_word (p, "and") || ir_accept (&p->at, "&&")))
    term = join (IR_TERM_AND, term, parse_not (p));
  return term;
}

static IrTerm *
parse_or (Parser *p)
{
  IrTerm *term = parse_and (p);

  while (p->error == NULL && (take_word (p, "or") || ir_accept (&p->at, "||")))
    term = join (IR_TERM_OR, term, parse_and (p));
  return term;
}

/**
 * ir_predicate_parse:
 * @text: an expression as --fail takes it
 * @error: return location for an error
 *
 * Fails with %IR_PREDICATE_ERROR_SYNTAX; the message begins with the column, counted from 1.
 *
 * Returns: (transfer full): the predicate, not yet bound to a model
 */
IrPredicate *
ir_predicate_parse (const char *text, GError **error)
{
  g_autoptr (IrPredicate) predicate = g_new0 (IrPredicate, 1);
  Parser p = { .text = text, .at = text };

  if (!g_utf8_validate (text, -1, NULL))
    {
      g_set_error (error, IR_PREDICATE_ERROR, IR_PREDICATE_ERROR_SYNTAX,
                   "column 1: the expression is not UTF-8");
      return NULL;
    }
  predicate->root = parse_or (&p);
  ir_skip_space (&p.at);
  if (*p.at != '\0')
    {
      g_autofree char *found = found_here (&p);
      fail_at (&p, p.at, "needs and, or, or the end; found %s", found);
    }
  if (p.error != NULL)
    {
      g_propagate_error (error, p.error);
      return NULL;
    }
  return g_steal_pointer (&predicate);
}

/**
 * ir_predicate_free:
 * @predicate: (transfer full): a predicate
 */
void
ir_predicate_free (IrPredicate *predicate)
{
  term_free (predicate->root);
  g_free (predicate);
}

/* -- binding to a model -- */

static const IrValue *
find_value (const IrModel *original, const char *name)
{
  guint64 id;

  if (name[0] == '#' && g_ascii_string_to_unsigned (name + 1, 10, 1, G_MAXUINT32, &id, NULL))
    return ir_model_live_value (original, id);
  return ir_graph_find_value (original->main, name);
}

/* (nullable) Of a value in iterations, by a name with the loop in it. */
static const IrValue *
find_in_iterations (IrTerm *term, const IrModel *original, GError **error)
{
  g_auto (IrIterationName) name = { 0 };

  if (!ir_iteration_name_parse (original, term->argument, &name, error))
    return NULL;
  const IrIterationPick pick = { name.value->id, g_strdup (name.frame), name.iteration };
  term->picks = ir_iteration_picks_new ();
  g_array_append_val (term->picks, pick);
  return name.value;
}

static gboolean
bind_term (IrTerm *term, const IrModel *original, GError **error)
{
  const IrValue *value;

  if (term == NULL)
    return TRUE;
  if (!bind_term (term->a, original, error) || !bind_term (term->b, original, error))
    return FALSE;
  if (term->kind != IR_TERM_TEST || term->measure->argument != IR_ARGUMENT_VALUE)
    return TRUE;
  g_clear_pointer (&term->values, g_array_unref);
  g_clear_pointer (&term->picks, g_array_unref);
  term->values = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  for (guint i = 0; strcmp (term->argument, "*") == 0 && i < ir_graph_n_outputs (original->main);
       i++)
    if ((value = ir_graph_output (original->main, i)) != NULL)
      g_array_append_val (term->values, value->id);
  if (term->values->len > 0)
    return TRUE;
  value = find_value (original, term->argument);
  if (value == NULL && strchr (term->argument, '/') != NULL)
    {
      value = find_in_iterations (term, original, error);
      if (value == NULL)
        {
          g_prefix_error (error, "column %u: ", term->column);
          return FALSE;
        }
    }
  if (value == NULL)
    {
      g_set_error (error, IR_PREDICATE_ERROR, IR_PREDICATE_ERROR_VALUE,
                   "column %u: the original graph has no value '%s'", term->column, term->argument);
      return FALSE;
    }
  g_array_append_val (term->values, value->id);
  return TRUE;
}

/**
 * ir_predicate_bind:
 * @predicate: a predicate
 * @trial: what it will be checked on
 * @error: return location for an error
 *
 * Finds the values that the predicate names in the original graph; needed before it is checked.
 *
 * Returns: %FALSE with %IR_PREDICATE_ERROR_VALUE if there is no value of some name
 */
gboolean
ir_predicate_bind (IrPredicate *predicate, IrTrial *trial, GError **error)
{
  g_autoptr (IrModel) original = ir_history_snapshot (ir_trial_history (trial), 0);

  return bind_term (predicate->root, original, error);
}

/**
 * ir_predicate_is_there:
 * @predicate: a bound predicate
 * @trial: what it is checked on
 * @step: 0 .. number of steps
 *
 * Returns: whether every value that the predicate names has one that stands for it at @step
 */
gboolean
ir_predicate_is_there (const IrPredicate *predicate, IrTrial *trial, guint step)
{
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (IrValueId));

  ir_term_collect (predicate->root, TRUE, ids);
  for (guint i = 0; i < ids->len; i++)
    if (ir_lineage_current_value (ir_trial_history (trial), g_array_index (ids, IrValueId, i),
                                  step) == 0)
      return FALSE;
  return TRUE;
}

static gboolean
runs_graph (const IrTerm *term)
{
  if (term == NULL)
    return FALSE;
  return runs_graph (term->a) || runs_graph (term->b) ||
         (term->kind == IR_TERM_TEST && term->measure->runs_graph);
}

/**
 * ir_predicate_runs_graph:
 * @predicate: a predicate
 *
 * Returns: whether checking it computes values
 */
gboolean
ir_predicate_runs_graph (const IrPredicate *predicate)
{
  return runs_graph (predicate->root);
}

/* -- checking -- */

/* An error that says something about the graph, not about this machine or the caller. */
static gboolean
blames_the_graph (const GError *error)
{
  if (error->domain == IR_EXEC_ERROR)
    return error->code == IR_EXEC_ERROR_KERNEL || error->code == IR_EXEC_ERROR_INPUT;
  return error->domain == IR_OP_ERROR && error->code != IR_OP_ERROR_LIMIT &&
         error->code != IR_OP_ERROR_CANCELLED;
}

/**
 * ir_predicate_check:
 * @predicate: a bound predicate
 * @trial: what to check it on
 * @step: 0 .. number of steps
 * @check: (out caller-allocates): what was found; clear with ir_check_clear()
 * @error: return location for an error
 *
 * A graph that runs at step 0 and not at @step fails, and so does one that does not run by a plan.
 * If the predicate computes values, it costs the nodes that no check before has run on the same
 * contents (the first check: one run), else nothing.
 *
 * Returns: %FALSE if it could not be told: cancelled, out of memory, no kernel, no such command
 */
gboolean
ir_predicate_check (
    const IrPredicate *predicate, IrTrial *trial, guint step, IrCheck *check, GError **error)
{
  IrMeasuring work = { .predicate = predicate, .trial = trial, .step = step };
  GCancellable *cancellable = ir_trial_cancellable (trial);
  g_autoptr (GError) local = NULL;
  gboolean done;

  memset (check, 0, sizeof *check);
  if (cancellable != NULL && g_cancellable_set_error_if_cancelled (cancellable, error))
    return FALSE;
  done = evaluate (&work, predicate->root, &check->fails, &local);
  g_clear_pointer (&work.values, g_hash_table_unref);
  check->value = work.value;
  if (done)
    {
      check->finding = work.decided->measure->describe (work.decided, work.value);
      return TRUE;
    }
  if ((step == 0 && !ir_trial_follows_plans (trial)) || !blames_the_graph (local))
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  check->fails = check->broken = TRUE;
  check->value = NAN;
  check->problem = g_strdup (local->message);
  return TRUE;
}

/**
 * ir_check_clear:
 * @check: what ir_predicate_check() filled
 */
void
ir_check_clear (IrCheck *check)
{
  g_clear_pointer (&check->finding, g_free);
  g_clear_pointer (&check->problem, g_free);
}
