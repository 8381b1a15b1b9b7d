/* Breakpoints of runs: words that are tests, in a table, and a question about nodes. A test is a
 * measure of a value, which is compared with a number; alone it has the comparison of its row. Advice
 * names what the test most often comes of, as experience with training and quantizing has it (for
 * example MindSpore's watchpoints and Polygraphy's comparisons say the like). */
#include "config.h"

#include "core/exec/run/breakpoint.h"
#include "core/exec/run/iteration-name.h"
#include "core/exec/run/iterations.h"

#include "core/ir/model.h"
#include "core/query/condition.h"

#include <math.h>
#include <string.h>

#define END_PART 1e-3 /* of the range: what lies so near to an end counts as lying at it */

/* How a measure is told. */
typedef enum
{
  TOLD_COUNT,
  TOLD_SHARE,
  TOLD_NUMBER
} Told;

/* NaN: nothing can be said of this value. @tensor: (nullable) */
typedef double (*MeasureFunc) (const IrTensor *tensor, const IrTensorStats *stats);

typedef struct
{
  const char *name;
  MeasureFunc measure;
  IrRunBreakNeeds needs;
  IrRelation relation; /* of the word alone */
  double number;       /* likewise; NaN: it needs a comparison */
  Told told;
  const char *what; /* "elements are NaN" */
  const char *advice;
} Test;

typedef struct
{
  const Test *test;
  IrRelation relation;
  double number;
} Term;

struct _IrRunBreak
{
  gatomicrefcount ref_count;
  char *text;
  GArray *terms; /* of Term */
  IrRelation memory_relation;
  double memory_bytes;
  char *frame; /* (nullable) any loop, or none */
  gboolean has_iteration;
  gint64 first, last; /* with it: these iterations */
  IrRunBreakNeeds needs;
  IrQuery *query; /* (nullable): any node */
  char *place;    /* (nullable) of its words, what may be the name of a node in an iteration */
  char *asked;    /* the other words of the question */
  char *node;     /* (nullable) what @place turned out to name: a node, or its first output */
};

/* -- measures -- */

static guint64
n_finite (const IrTensorStats *stats)
{
  return stats->n - stats->n_nan - stats->n_pos_inf - stats->n_neg_inf;
}

static double
of_finite (const IrTensorStats *stats, double number)
{
  return n_finite (stats) > 0 ? number : NAN;
}

static double
share (guint64 part, guint64 whole)
{
  return whole > 0 ? (double) part / (double) whole : NAN;
}

static double
count_nan (const IrTensor *tensor, const IrTensorStats *stats)
{
  return (double) stats->n_nan;
}

static double
count_inf (const IrTensor *tensor, const IrTensorStats *stats)
{
  return (double) (stats->n_pos_inf + stats->n_neg_inf);
}

static double
largest (const IrTensor *tensor, const IrTensorStats *stats)
{
  return of_finite (stats, stats->max);
}

static double
least (const IrTensor *tensor, const IrTensorStats *stats)
{
  return of_finite (stats, stats->min);
}

static double
magnitude (const IrTensor *tensor, const IrTensorStats *stats)
{
  return of_finite (stats, MAX (fabs (stats->min), fabs (stats->max)));
}

static double
mean (const IrTensor *tensor, const IrTensorStats *stats)
{
  return of_finite (stats, stats->mean);
}

static double
deviation (const IrTensor *tensor, const IrTensorStats *stats)
{
  return of_finite (stats, stats->std);
}

/* A zero alone is a number like others. */
static double
share_of_zeros (const IrTensor *tensor, const IrTensorStats *stats)
{
  return stats->n < 2 ? NAN : share (stats->n_zero, stats->n);
}

static double
is_constant (const IrTensor *tensor, const IrTensorStats *stats)
{
  return stats->n < 2 ? NAN : stats->min == stats->max && n_finite (stats) == stats->n;
}

/* Units are what axis 1 counts: channels, or features of a batch. One element says nothing of one. */
static double
share_of_dead (const IrTensor *tensor, const IrTensorStats *stats)
{
  const guint rank = tensor != NULL ? ir_tensor_rank (tensor) : 0;
  guint64 n_dead = 0, n_units, inner, n;

  if (rank < 2 || stats->n == 0)
    return NAN;
  n = (guint64) ir_tensor_dims (tensor)[0];
  n_units = (guint64) ir_tensor_dims (tensor)[1];
  inner = stats->n / (n * n_units);
  if (n * inner < 2)
    return NAN;
  for (guint64 unit = 0; unit < n_units; unit++)
    {
      gboolean dead = TRUE;

      for (guint64 i = 0; dead && i < n; i++)
        for (guint64 k = 0; dead && k < inner; k++)
          dead = ir_tensor_get_double (tensor, (i * n_units + unit) * inner + k) == 0;
      n_dead += dead;
    }
  return share (n_dead, n_units);
}

static void
ends_of_type (IrDtype dtype, const IrTensorStats *stats, double *low, double *high)
{
  const guint bits = ir_dtype_bits (dtype);
  const gboolean is_signed = ir_dtype_kind (dtype) == IR_DTYPE_KIND_SINT;

  if (!ir_dtype_is_integer (dtype))
    {
      const double near = END_PART * (stats->max - stats->min);

      *low = stats->min + near;
      *high = stats->max - near;
      return;
    }
  *low = is_signed ? -ldexp (1, (int) bits - 1) : 0;
  *high = ldexp (1, (int) bits - is_signed) - 1;
}

/* Exact zeros are left out: they lie at the end of what a ReLU gives, which is no saturation. Wide
 * integers are indices and sizes. */
static double
share_at_ends (const IrTensor *tensor, const IrTensorStats *stats)
{
  double low, high;
  guint64 n = 0;

  if (tensor == NULL || stats->min == stats->max || ir_tensor_dtype (tensor) == IR_DTYPE_BOOL ||
      (ir_dtype_is_integer (ir_tensor_dtype (tensor)) &&
       ir_dtype_bits (ir_tensor_dtype (tensor)) > 16))
    return NAN;
  ends_of_type (ir_tensor_dtype (tensor), stats, &low, &high);
  for (guint64 i = 0; i < stats->n; i++)
    {
      const double x = ir_tensor_get_double (tensor, i);

      n += x != 0 && (x <= low || x >= high);
    }
  return share (n, stats->n);
}

#define BY_STATS    IR_RUN_BREAK_STATS
#define BY_CONTENTS (IR_RUN_BREAK_STATS | IR_RUN_BREAK_CONTENTS)

/* clang-format off */
static const Test tests[] = {
  { "nan", count_nan, BY_STATS, IR_RELATION_GREATER, 0, TOLD_COUNT, "elements are NaN",
    "A NaN comes of 0 / 0, of Inf - Inf or 0 * Inf, of the root or logarithm of what is negative, or of an input that has one." },
  { "inf", count_inf, BY_STATS, IR_RELATION_GREATER, 0, TOLD_COUNT, "elements are infinite",
    "An infinity comes of a division by 0, of Exp or a power of what is large, or of a sum beyond what the type holds (65504 in float16)." },
  { "zeros", share_of_zeros, BY_STATS, IR_RELATION_GREATER_EQUAL, 1, TOLD_SHARE, "of the elements are zero",
    "All zero: a ReLU that no input opens, a mask or scale of 0, a weight that was not loaded, or numbers too small for the type." },
  { "constant", is_constant, BY_STATS, IR_RELATION_GREATER, 0, TOLD_NUMBER, "constant",
    "Every element is the same: what is upstream does not depend on the input, or a Clip or a quantization has taken all of it." },
  { "dead", share_of_dead, BY_CONTENTS, IR_RELATION_GREATER, 0, TOLD_SHARE, "of the units are zero throughout",
    "A unit that is zero for all of its elements gives nothing and learns nothing: its bias is far below zero, its weights are zero, or the rate of learning was too high." },
  { "saturated", share_at_ends, BY_CONTENTS, IR_RELATION_GREATER, 0.5, TOLD_SHARE, "of the elements lie at the ends of the range",
    "What lies at the ends is cut off: scale or zero point of a quantization do not fit, inputs are not normalized, or a Sigmoid or Tanh is driven too far." },
  { "max", largest, BY_STATS, IR_RELATION_GREATER, NAN, TOLD_NUMBER, "max", NULL },
  { "min", least, BY_STATS, IR_RELATION_LESS, NAN, TOLD_NUMBER, "min", NULL },
  { "abs", magnitude, BY_STATS, IR_RELATION_GREATER, NAN, TOLD_NUMBER, "the largest magnitude",
    "What grows from node to node: inputs that are not normalized, a normalization whose statistics are missing, a scale that is used twice." },
  { "mean", mean, BY_STATS, IR_RELATION_GREATER, NAN, TOLD_NUMBER, "mean", NULL },
  { "std", deviation, BY_STATS, IR_RELATION_GREATER, NAN, TOLD_NUMBER, "std", NULL },
};
/* clang-format on */

/**
 * ir_run_break_examples:
 *
 * Returns: (transfer none): pairs of a text and what it means, for help; ends with %NULL
 */
const char *const *
ir_run_break_examples (void)
{
  static const char *const examples[] = {
    "nan",
    "a value has a NaN; inf: an infinity",
    "abs>1000",
    "a value has an element so large; max, min, mean and std alike",
    "zeros",
    "a value is zero throughout; zeros>0.9: more than 90 % of it",
    "constant",
    "all elements of a value are the same",
    "dead>0.25",
    "more than a quarter of the channels are zero throughout",
    "saturated",
    "more than half of the elements lie at the ends of the range; saturated>0.9",
    "diverges",
    "a node gives something else than the reference kernel makes of its inputs",
    "diverges:original",
    "a node gives something else than the original graph has there, by more than rounding",
    "memory>100M",
    "values hold more than 100 MiB",
    "op:softmax",
    "before a node of this operator; any question that irscope find knows",
    "nan op:softmax",
    "both: a Softmax gives a NaN",
    "iteration>=3 frame:loop",
    "in the loop of this name, from iteration 3 on; iteration=3: in this alone",
    "loop@3/add",
    "before this node in iteration 3 of loop; loop/add: in each; nan outer@1/inner@3/add: if it gives a NaN",
    NULL,
  };
  return examples;
}

/**
 * ir_run_break_error_quark:
 *
 * Returns: the domain of errors of breakpoints of runs
 */
GQuark
ir_run_break_error_quark (void)
{
  return g_quark_from_static_string ("ir-run-break-error-quark");
}

/* -- reading -- */

static gboolean refuse (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);

static gboolean
refuse (GError **error, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, IR_RUN_BREAK_ERROR, IR_RUN_BREAK_ERROR_SYNTAX, message);
  return FALSE;
}

/* What follows the name in @word; (nullable): the word is not @name and a comparison */
static const char *
behind_name (const char *word, const char *name)
{
  const gsize length = strlen (name);

  return g_ascii_strncasecmp (word, name, length) == 0 &&
                 (word[length] == '\0' || word[length] == '<' || word[length] == '>')
             ? word + length
             : NULL;
}

static gboolean
read_memory (IrRunBreak *self, const char *word, const char *rest, GError **error)
{
  rest = ir_relation_read (rest, &self->memory_relation);
  self->needs |= IR_RUN_BREAK_MEMORY;
  return (ir_amount_read (rest, 1024, FALSE, &self->memory_bytes) && self->memory_bytes >= 1) ||
         refuse (error, "“%s”: needs a size, such as memory>100M", word);
}

static gboolean
read_test (IrRunBreak *self, const Test *test, const char *word, const char *rest, GError **error)
{
  Term term = { test, test->relation, test->number };

  if (*rest != '\0' &&
      !ir_amount_read (ir_relation_read (rest, &term.relation), 1000, TRUE, &term.number))
    return refuse (error, "“%s”: needs a number, such as %s>0.5", word, test->name);
  if (isnan (term.number))
    return refuse (error, "“%s”: needs a comparison, such as %s>6", word, test->name);
  g_array_append_val (self->terms, term);
  self->needs |= test->needs;
  return TRUE;
}

/* "iteration>=3" */
static gboolean
read_iteration (IrRunBreak *self, const char *word, const char *rest, GError **error)
{
  const gboolean is_equal = *rest == '=';
  IrRelation relation = IR_RELATION_GREATER_EQUAL;
  const char *text = is_equal ? rest + 1 : ir_relation_read (rest, &relation);
  gint64 number;

  if (text == rest || !g_ascii_string_to_signed (text, 10, 0, G_MAXINT64 - 1, &number, NULL))
    return refuse (error, "“%s”: needs a number from 0, such as iteration>=3 or iteration=3", word);
  const gint64 first = is_equal || relation == IR_RELATION_GREATER_EQUAL ? number
                       : relation == IR_RELATION_GREATER                 ? number + 1
                                                                         : 0;
  const gint64 last = is_equal || relation == IR_RELATION_LESS_EQUAL ? number
                      : relation == IR_RELATION_LESS                 ? number - 1
                                                                     : G_MAXINT64;
  self->first = self->has_iteration ? MAX (self->first, first) : first;
  self->last = self->has_iteration ? MIN (self->last, last) : last;
  self->has_iteration = TRUE;
  return self->first <= self->last ||
         refuse (error, "“%s”: no iteration is left; bounds have to leave one", word);
}

static void
add_word (GString *text, const char *word)
{
  g_string_append_printf (text, "%s%s", text->len > 0 ? " " : "", word);
}

/* Only a graph says whether loop@3/NAME is a name or a name in an iteration. */
static void
note_place (IrRunBreak *self, const char *word)
{
  g_autoptr (GString) asked = g_string_new (self->asked);
  g_auto (GStrv) parts = NULL;
  const char *name = g_ascii_strncasecmp (word, "name:", 5) == 0 ? word + 5 : word;

  if (self->place == NULL && strchr (name, '/') != NULL && *word != '-')
    {
      parts = g_strsplit (name, "\"", -1);
      self->place = g_strjoinv (NULL, parts);
      return;
    }
  add_word (asked, word);
  g_free (self->asked);
  self->asked = g_string_free (g_steal_pointer (&asked), FALSE);
}

/* @asked: gets words that are no tests */
static gboolean
read_word (IrRunBreak *self, const char *word, GString *asked, GError **error)
{
  const char *rest = behind_name (word, "memory");

  if (g_ascii_strncasecmp (word, "iteration", 9) == 0 && !g_ascii_isalnum (word[9]))
    return read_iteration (self, word, word + 9, error);
  if (g_ascii_strncasecmp (word, "frame:", 6) == 0)
    {
      g_auto (GStrv) parts = g_strsplit (word + 6, "\"", -1);
      g_free (self->frame);
      self->frame = g_strjoinv (NULL, parts);
      return *self->frame != '\0' || refuse (error, "frame: needs the name of a loop behind it");
    }

  if (rest != NULL)
    return read_memory (self, word, rest, error);
  if (g_ascii_strcasecmp (word, "diverges") == 0)
    {
      self->needs |= IR_RUN_BREAK_REF;
      return TRUE;
    }
  if (g_ascii_strcasecmp (word, "diverges:original") == 0)
    {
      self->needs |= IR_RUN_BREAK_ORIGINAL;
      return TRUE;
    }
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    {
      rest = behind_name (word, tests[i].name);
      if (rest != NULL)
        return read_test (self, &tests[i], word, rest, error);
    }
  add_word (asked, word);
  note_place (self, word);
  return TRUE;
}

/* The next word of @text, with what stands between quotation marks; (transfer full) (nullable) */
static char *
next_word (const char **text)
{
  const char *start;
  gboolean quoted = FALSE;

  while (g_ascii_isspace (**text))
    (*text)++;
  start = *text;
  for (; **text != '\0' && (quoted || !g_ascii_isspace (**text)); (*text)++)
    quoted ^= **text == '"';
  return *text > start ? g_strndup (start, (gsize) (*text - start)) : NULL;
}

static gboolean
read_break (IrRunBreak *self, GError **error)
{
  g_autoptr (GString) asked = g_string_new (NULL);
  const char *text = self->text;

  for (;;)
    {
      g_autofree char *word = next_word (&text);

      if (word == NULL)
        break;
      if (!read_word (self, word, asked, error))
        return FALSE;
    }
  if (asked->len == 0)
    return self->needs != 0 || ir_run_break_has_place (self) ||
           refuse (error, "nothing is asked for; nan, max>6 and op:conv are "
                          "examples");
  self->query = ir_query_new (asked->str, error);
  if (self->query == NULL)
    return FALSE;
  return !ir_query_asks_contents (self->query) ||
         refuse (error, "“%s”: a run is asked by nan and inf for what values hold", asked->str);
}

/**
 * ir_run_break_parse:
 * @text: such as "nan op:softmax"
 * @error: return location for %IR_RUN_BREAK_ERROR or %IR_QUERY_ERROR
 *
 * Returns: (transfer full) (nullable): the breakpoint
 */
IrRunBreak *
ir_run_break_parse (const char *text, GError **error)
{
  g_autoptr (IrRunBreak) self = g_new0 (IrRunBreak, 1);

  g_atomic_ref_count_init (&self->ref_count);
  self->text = g_strstrip (g_strdup (text));
  self->terms = g_array_new (FALSE, FALSE, sizeof (Term));
  return read_break (self, error) ? g_steal_pointer (&self) : NULL;
}

/**
 * ir_run_break_ref:
 * @self: a breakpoint
 *
 * Returns: (transfer full): @self
 */
IrRunBreak *
ir_run_break_ref (IrRunBreak *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

/**
 * ir_run_break_unref:
 * @self: (transfer full) (nullable): a breakpoint
 */
void
ir_run_break_unref (IrRunBreak *self)
{
  if (self == NULL || !g_atomic_ref_count_dec (&self->ref_count))
    return;
  g_clear_pointer (&self->query, ir_query_free);
  g_array_unref (self->terms);
  g_free (self->frame);
  g_free (self->place);
  g_free (self->asked);
  g_free (self->node);
  g_free (self->text);
  g_free (self);
}

/**
 * ir_run_break_text:
 * @self: a breakpoint
 *
 * Returns: (transfer none): what it was read from, without space around it
 */
const char *
ir_run_break_text (const IrRunBreak *self)
{
  return self->text;
}

/**
 * ir_run_break_needs:
 * @self: a breakpoint
 *
 * Returns: what it looks at; 0: the node alone, so that a run stops before it
 */
IrRunBreakNeeds
ir_run_break_needs (const IrRunBreak *self)
{
  return self->needs;
}

/* -- holding -- */

static gboolean
is_called (const IrNode *node, const char *name)
{
  gboolean is = strcmp (node->name, name) == 0;

  for (guint i = 0; i < node->n_outputs && !is; i++)
    is = node->outputs[i] != NULL && strcmp (node->outputs[i]->name, name) == 0;
  return is;
}

/**
 * ir_run_break_matches:
 * @self: a breakpoint
 * @node: a node
 *
 * Returns: whether it is about @node, whatever its tests find
 */
gboolean
ir_run_break_matches (const IrRunBreak *self, const IrNode *node)
{
  static const IrQueryFacts nothing = { 0 };

  if (self->node != NULL && !is_called (node, self->node))
    return FALSE;
  return self->query == NULL || ir_query_matches_node (self->query, node, &nothing);
}

/**
 * ir_run_break_has_place:
 * @self: a breakpoint
 *
 * Returns: whether it asks in which iteration, or in which loop
 */
gboolean
ir_run_break_has_place (const IrRunBreak *self)
{
  return self->has_iteration || self->frame != NULL;
}

/**
 * ir_run_break_is_in:
 * @self: a breakpoint
 * @frame: (nullable): the loops that a node runs in, "outer@3/inner"; %NULL: none
 * @name: (nullable): of the innermost alone
 * @iteration: of the innermost
 *
 * Returns: whether it is about what runs there; one that asks for no loop is about all of them
 */
gboolean
ir_run_break_is_in (const IrRunBreak *self, const char *frame, const char *name, gint64 iteration)
{
  if (!ir_run_break_has_place (self))
    return TRUE;
  return frame != NULL &&
         (self->frame == NULL || ir_iteration_frame_is (self->frame, frame) ||
          g_strcmp0 (self->frame, name) == 0) &&
         (!self->has_iteration || (iteration >= self->first && iteration <= self->last));
}

/**
 * ir_run_break_is_of_any:
 * @self: a breakpoint
 *
 * Returns: whether it asks nothing of nodes, so that it is about inputs of the graph, too
 */
gboolean
ir_run_break_is_of_any (const IrRunBreak *self)
{
  return self->query == NULL && !ir_run_break_has_place (self);
}

static gboolean
finds_some (const IrRunBreak *self, const IrModel *model)
{
  for (IrNodeId id = 1; id < model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (model, id);

      if (node != NULL && ir_run_break_matches (self, node))
        return TRUE;
    }
  return FALSE;
}

static void
take_frame (IrRunBreak *self, const IrIterationName *name)
{
  g_free (self->frame);
  self->frame = g_strdup (name->frame);
  if (name->iteration < 0)
    return;
  self->has_iteration = TRUE;
  self->first = self->last = name->iteration;
}

/* A question that no node answers may name one in an iteration. */
static gboolean
take_place (IrRunBreak *self, const IrModel *model, GError **error)
{
  g_auto (IrIterationName) name = { 0 };

  if (!ir_iteration_name_parse_node (model, self->place, &name, error))
    return FALSE;
  take_frame (self, &name);
  self->node = ir_loop_name (name.node);
  g_clear_pointer (&self->query, ir_query_free);
  if (self->asked != NULL)
    self->query = ir_query_new (self->asked, error);
  return self->asked == NULL || self->query != NULL;
}

/* "nan, inf, ..." */
static char *
list_tests (void)
{
  GString *names = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    g_string_append_printf (names, "%s%s", i > 0 ? ", " : "", tests[i].name);
  return g_string_free (names, FALSE);
}

/**
 * ir_run_break_check:
 * @self: a breakpoint, that was not checked before
 * @model: a model
 * @error: return location for %IR_RUN_BREAK_ERROR or %IR_EXEC_ERROR_INPUT
 *
 * What asks for a node or a loop that is not there would never stop, and is most likely misspelled.
 *
 * Returns: whether @model has a node that it is about, and its loop
 */
gboolean
ir_run_break_check (IrRunBreak *self, const IrModel *model, GError **error)
{
  g_auto (IrIterationName) loop = { 0 };

  if (self->frame != NULL && !ir_iteration_name_parse_loop (model, self->frame, &loop, error))
    {
      g_prefix_error (error, "“%s”: ", self->text);
      return FALSE;
    }
  if (self->frame != NULL)
    take_frame (self, &loop);
  if (!finds_some (self, model) && self->place != NULL && !take_place (self, model, error))
    {
      g_prefix_error (error, "“%s”: ", self->text);
      return FALSE;
    }
  if (finds_some (self, model))
    return TRUE;
  g_autofree char *names = list_tests ();
  g_set_error (error, IR_RUN_BREAK_ERROR, IR_RUN_BREAK_ERROR_NOTHING,
               "“%s”: the graph has no such node; tests of values are %s; irscope find says what a "
               "question finds",
               self->text, names);
  return FALSE;
}

static char *
tell (const Test *test, double measured, guint64 n)
{
  if (test->told == TOLD_COUNT)
    return g_strdup_printf ("%.0f of %" G_GUINT64_FORMAT " %s", measured, n, test->what);
  if (test->told == TOLD_SHARE)
    return g_strdup_printf ("%.4g %% %s", measured * 100, test->what);
  if (test->measure == is_constant)
    return g_strdup ("all elements are the same");
  return g_strdup_printf ("%s is %.6g", test->what, measured);
}

/**
 * ir_run_finding_clear:
 * @finding: what was found
 */
void
ir_run_finding_clear (IrRunFinding *finding)
{
  g_free (finding->text);
  *finding = (IrRunFinding){ 0 };
}

/**
 * ir_run_break_holds:
 * @self: a breakpoint with tests of values
 * @tensor: (nullable): contents in the layout of the graph; %NULL: only @stats is known of them
 * @stats: their statistics
 * @finding: (out caller-allocates): what was found, where it holds
 *
 * Returns: whether all tests hold; what cannot be judged does not
 */
gboolean
ir_run_break_holds (const IrRunBreak *self,
                    const IrTensor *tensor,
                    const IrTensorStats *stats,
                    IrRunFinding *finding)
{
  g_autoptr (GString) text = g_string_new (NULL);

  *finding = (IrRunFinding){ 0 };
  for (guint i = 0; i < self->terms->len; i++)
    {
      const Term *term = &g_array_index (self->terms, Term, i);
      const double measured = term->test->measure (tensor, stats);

      if (isnan (measured) || !ir_relation_holds (term->relation, measured, term->number))
        return FALSE;
      g_autofree char *told = tell (term->test, measured, stats->n);
      g_string_append_printf (text, "%s%s", i > 0 ? ", " : "", told);
      /* Sizes and indices are large without anything being wrong. */
      if (finding->advice == NULL &&
          (tensor == NULL || !ir_dtype_is_integer (ir_tensor_dtype (tensor))))
        finding->advice = term->test->advice;
    }
  finding->text = g_string_free (g_steal_pointer (&text), FALSE);
  return self->terms->len > 0;
}

/**
 * ir_run_break_exceeded:
 * @self: a breakpoint
 * @bytes: that values hold
 * @finding: (out caller-allocates): what was found, where it holds
 *
 * Returns: whether it is of memory, and that is so
 */
gboolean
ir_run_break_exceeded (const IrRunBreak *self, guint64 bytes, IrRunFinding *finding)
{
  *finding = (IrRunFinding){ 0 };
  if (!(self->needs & IR_RUN_BREAK_MEMORY) ||
      !ir_relation_holds (self->memory_relation, (double) bytes, self->memory_bytes))
    return FALSE;
  g_autofree char *size = g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS);
  finding->text = g_strdup_printf ("values hold %s", size);
  finding->advice = "What is read late keeps its memory until then; irscope memory says what lives "
                    "at the peak, and for what other order of the nodes it would be less.";
  return TRUE;
}
