#include "config.h"

#include "core/query/query.h"

#include "core/op/infer.h"
#include "core/op/op.h"

#include <math.h>
#include <string.h>

typedef enum
{
  KEY_WORD,
  KEY_OP,
  KEY_NAME,
  KEY_SCOPE,
  KEY_SHAPE,
  KEY_DTYPE,
  KEY_ATTR,
  KEY_COST,
  KEY_BYTES,
  KEY_HAS,
  N_KEYS
} Key;

static const struct
{
  const char *name;
  gboolean number; /* compared with <, > and = */
} keys[N_KEYS] = {
  [KEY_OP] = { "op" },           [KEY_NAME] = { "name" },         [KEY_SCOPE] = { "scope" },
  [KEY_SHAPE] = { "shape" },     [KEY_DTYPE] = { "dtype" },       [KEY_ATTR] = { "attr" },
  [KEY_COST] = { "cost", TRUE }, [KEY_BYTES] = { "bytes", TRUE }, [KEY_HAS] = { "has" },
};

typedef struct
{
  Key key;
  gboolean negated, exact;
  char *text;        /* in small letters */
  char comparison;   /* '<', '>' or '=' */
  gboolean or_equal; /* of '<' and '>' */
  double number;
  IrNodeId id;            /* not 0: "#12", this node alone */
  IrQueryContent content; /* of KEY_HAS */
} Term;

struct _IrQuery
{
  GArray *terms; /* of Term */
};

/**
 * ir_query_error_quark:
 *
 * Returns: the domain of IR_QUERY_ERROR
 */
GQuark
ir_query_error_quark (void)
{
  return g_quark_from_static_string ("ir-query-error-quark");
}

static void
clear_term (gpointer data)
{
  g_free (((Term *) data)->text);
}

/**
 * ir_query_free:
 * @query: (nullable) (transfer full): a query
 */
void
ir_query_free (IrQuery *query)
{
  if (query == NULL)
    return;
  g_array_unref (query->terms);
  g_free (query);
}

/**
 * ir_query_help:
 *
 * Returns: (transfer none): what can be asked, one example a line
 */
const char *
ir_query_help (void)
{
  return "conv relu\twords of operators, names, scopes and element types\n"
         "\"Conv\"\texactly so\n"
         "#12\tthe node of this number\n"
         "op:conv  name:head  scope:block\tin one of these\n"
         "dtype:float16\telement type of an output\n"
         "shape:1,64,*,*\tshape of an output; shape:64 has such a dim\n"
         "attr:group=32\tan attribute, and what it is\n"
         "cost>1M  bytes>64k\tFLOPs, bytes read and written\n"
         "has:nan  has:inf\tvalues that are known hold such numbers\n"
         "-op:relu\tnot";
}

/* -- reading -- */

/* A word, with blanks where quotes hold it together. @text: moved behind it. */
static char *
next_word (const char **text, gboolean *quoted)
{
  GString *word = g_string_new (NULL);
  gboolean inside = FALSE;

  *quoted = FALSE;
  while (g_ascii_isspace (**text))
    (*text)++;
  for (; **text != '\0' && (inside || !g_ascii_isspace (**text)); (*text)++)
    if (**text == '"')
      {
        inside = !inside;
        *quoted = TRUE;
      }
    else
      g_string_append_c (word, **text);
  return g_string_free (word, FALSE);
}

static gboolean
read_number (const char *text, double *number)
{
  static const char suffixes[] = "kmgtp";
  char *end;
  double value = g_ascii_strtod (text, &end);
  const char *suffix = *end != '\0' ? strchr (suffixes, g_ascii_tolower (*end)) : NULL;

  if (end == text)
    return FALSE;
  if (suffix != NULL)
    {
      value *= pow (1000, (double) (suffix - suffixes) + 1);
      end++;
    }
  *number = value;
  return *end == '\0' && isfinite (value);
}

static gboolean
read_comparison (Term *term, const char *text, GError **error)
{
  const char *at = text;

  term->comparison = *at++;
  if (*at == '=')
    {
      term->or_equal = TRUE;
      at++;
    }
  if (read_number (at, &term->number))
    return TRUE;
  g_set_error (error, IR_QUERY_ERROR, IR_QUERY_ERROR_SYNTAX,
               "“%s%s”: needs a number such as 1000, 64k or 1.5M", keys[term->key].name, text);
  return FALSE;
}

/* The key that @word begins with, and what stands behind it. */
static Key
find_key (const char *word, const char **rest)
{
  for (Key key = KEY_OP; key < N_KEYS; key++)
    {
      const gsize n = strlen (keys[key].name);

      if (g_ascii_strncasecmp (word, keys[key].name, n) != 0)
        continue;
      *rest = word + n;
      if (keys[key].number ? strchr ("<>=", **rest) != NULL && **rest != '\0' : **rest == ':')
        return key;
    }
  *rest = word;
  return KEY_WORD;
}

/* "#12"; 0: @word is no number of a node */
static IrNodeId
read_id (const char *word)
{
  gint64 id;

  return word[0] == '#' && g_ascii_string_to_signed (word + 1, 10, 1, G_MAXINT32, &id, NULL)
             ? (IrNodeId) id
             : 0;
}

static gboolean
read_term (Term *term, const char *word, gboolean quoted, GError **error)
{
  const char *rest;

  term->negated = word[0] == '-' && word[1] != '\0';
  word += term->negated;
  term->key = find_key (word, &rest);
  term->exact = quoted;
  if (keys[term->key].number)
    return read_comparison (term, rest, error);
  term->id = term->key == KEY_WORD && !quoted ? read_id (rest) : 0;
  term->text = g_utf8_strdown (term->key == KEY_WORD ? rest : rest + 1, -1);
  if (term->key != KEY_HAS)
    return TRUE;
  if (strcmp (term->text, "nan") != 0 && strcmp (term->text, "inf") != 0)
    {
      g_set_error (error, IR_QUERY_ERROR, IR_QUERY_ERROR_SYNTAX,
                   "“%s”: values can be asked for has:nan and has:inf", word);
      return FALSE;
    }
  term->content = strcmp (term->text, "nan") == 0 ? IR_QUERY_NAN : IR_QUERY_INF;
  return TRUE;
}

/**
 * ir_query_new:
 * @text: what is asked
 * @error: return location for an error, or %NULL
 *
 * Fails with %IR_QUERY_ERROR_SYNTAX where a number or a kind of contents is none.
 *
 * Returns: (transfer full) (nullable): the query
 */
IrQuery *
ir_query_new (const char *text, GError **error)
{
  g_autoptr (IrQuery) query = g_new0 (IrQuery, 1);

  query->terms = g_array_new (FALSE, TRUE, sizeof (Term));
  g_array_set_clear_func (query->terms, clear_term);
  for (;;)
    {
      gboolean quoted;
      g_autofree char *word = next_word (&text, &quoted);
      Term term = { 0 };

      if (word[0] == '\0' && *text == '\0')
        break;
      if (word[0] == '\0')
        continue;
      if (!read_term (&term, word, quoted, error))
        {
          clear_term (&term);
          return NULL;
        }
      if (term.key != KEY_WORD && term.text != NULL && term.text[0] == '\0')
        clear_term (&term); /* somebody is still typing */
      else
        g_array_append_val (query->terms, term);
    }
  return g_steal_pointer (&query);
}

/**
 * ir_query_is_empty:
 * @query: a query
 *
 * Returns: whether it asks nothing, so that all matches
 */
gboolean
ir_query_is_empty (const IrQuery *query)
{
  return query->terms->len == 0;
}

/**
 * ir_query_asks_contents:
 * @query: a query
 *
 * Returns: whether what values hold matters, which only a run knows
 */
gboolean
ir_query_asks_contents (const IrQuery *query)
{
  for (guint i = 0; i < query->terms->len; i++)
    if (g_array_index (query->terms, Term, i).key == KEY_HAS)
      return TRUE;
  return FALSE;
}

/* -- comparing -- */

static gboolean
has_text (const Term *term, const char *text)
{
  g_autofree char *lower = text != NULL ? g_utf8_strdown (text, -1) : NULL;

  if (lower == NULL)
    return FALSE;
  return term->exact ? strcmp (lower, term->text) == 0 : strstr (lower, term->text) != NULL;
}

static gboolean
dim_is (IrContext *context, IrDim dim, const char *text)
{
  g_autofree char *shown = dim == IR_DIM_UNKNOWN ? g_strdup ("?") : ir_dim_to_string (context, dim);
  g_autofree char *lower = g_utf8_strdown (shown, -1);

  return strcmp (text, "*") == 0 || strcmp (lower, text) == 0;
}

/* All dims in order where commas (or ×, x) part them; else one of them. */
static gboolean
has_shape (const Term *term, const IrValue *value)
{
  const IrType *type = ir_value_shown_type (value);
  g_auto (GStrv) dims = NULL;
  g_autofree char *plain = g_strdup (term->text);
  guint n;

  if (type == NULL || !ir_type_is_tensor (type) || type->rank < 0)
    return FALSE;
  g_strdelimit (plain, "[]", ' ');
  dims = g_strsplit (g_strstrip (plain), ",", -1);
  n = g_strv_length (dims);
  if (n > 1 && n != (guint) type->rank)
    return FALSE;
  for (guint i = 0; i < (guint) type->rank; i++)
    {
      const gboolean is = dim_is (value->graph->model->context, type->dims[i],
                                  g_strstrip (dims[n > 1 ? i : 0]));

      if (n > 1 && !is)
        return FALSE;
      if (n == 1 && is)
        return TRUE;
    }
  return n > 1;
}

/* "32" of an int, "3,3" of ints, the text of a string. */
static gboolean
attr_is (const IrAttr *attr, const char *wanted)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < attr->n && i < 64; i++)
    {
      if (i > 0)
        g_string_append_c (text, ',');
      if (attr->kind == IR_ATTR_INT || attr->kind == IR_ATTR_INTS)
        g_string_append_printf (text, "%" G_GINT64_FORMAT, attr->ints[i]);
      else if (attr->kind == IR_ATTR_FLOAT || attr->kind == IR_ATTR_FLOATS)
        g_string_append_printf (text, "%g", (double) attr->floats[i]);
      else if (attr->kind == IR_ATTR_STRING || attr->kind == IR_ATTR_STRINGS)
        g_string_append_len (text, attr->strings[i].data, (gssize) attr->strings[i].length);
    }
  g_autofree char *valid = g_utf8_make_valid (text->str, -1);
  g_autofree char *lower = g_utf8_strdown (valid, -1);
  return strcmp (lower, wanted) == 0;
}

static gboolean
has_attr (const Term *term, const IrNode *node)
{
  g_auto (GStrv) parts = g_strsplit (term->text, "=", 2);

  for (guint i = 0; i < node->n_attrs; i++)
    {
      g_autofree char *name = g_utf8_strdown (node->attrs[i]->name, -1);

      if (parts[1] != NULL ? strcmp (name, parts[0]) == 0 && attr_is (node->attrs[i], parts[1])
                           : strstr (name, parts[0]) != NULL)
        return TRUE;
    }
  return FALSE;
}

static gboolean
compare (const Term *term, double value)
{
  if (term->or_equal && value == term->number)
    return TRUE;
  return term->comparison == '<'   ? value < term->number
         : term->comparison == '>' ? value > term->number
                                   : value == term->number;
}

static gboolean
value_matches (const Term *term, const IrValue *value, const IrQueryFacts *facts)
{
  const char *dtype = ir_dtype_name (ir_value_dtype (value));

  if (term->key == KEY_WORD)
    return has_text (term, value->name) || has_text (term, dtype);
  if (term->key == KEY_NAME)
    return has_text (term, value->name);
  if (term->key == KEY_DTYPE)
    return has_text (term, dtype);
  if (term->key == KEY_SHAPE)
    return has_shape (term, value);
  return term->key == KEY_HAS && facts->holds != NULL &&
         facts->holds (value, term->content, facts->data);
}

static gboolean
outputs_match (const Term *term, const IrNode *node, const IrQueryFacts *facts)
{
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && value_matches (term, node->outputs[i], facts))
      return TRUE;
  if (term->key != KEY_HAS) /* weights may hold what no output shows */
    return FALSE;
  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && ir_value_constant (node->inputs[i]) != NULL &&
        value_matches (term, node->inputs[i], facts))
      return TRUE;
  return FALSE;
}

static gboolean
node_matches (const Term *term, const IrNode *node, const IrQueryFacts *facts)
{
  gboolean partial;

  if (term->id != 0)
    return node->id == term->id;
  if (term->key == KEY_COST)
    return compare (term, (double) ir_cost_node_flops (node, &partial));
  if (term->key == KEY_BYTES)
    return compare (term, (double) ir_cost_node_bytes (node, &partial));
  if (term->key == KEY_ATTR)
    return has_attr (term, node);
  if (term->key == KEY_OP)
    return has_text (term, node->op_type);
  if (term->key == KEY_SCOPE)
    return has_text (term, node->scope);
  if (term->key == KEY_NAME)
    return has_text (term, node->name) || has_text (term, node->scope) ||
           outputs_match (term, node, facts);
  if (term->key == KEY_WORD && (has_text (term, node->op_type) || has_text (term, node->name) ||
                                has_text (term, node->scope) || has_text (term, facts->also)))
    return TRUE;
  return outputs_match (term, node, facts);
}

/**
 * ir_query_matches_node:
 * @query: a query
 * @node: a node
 * @facts: (nullable): what the graph does not say
 *
 * Returns: whether all terms hold of @node
 */
gboolean
ir_query_matches_node (const IrQuery *query, const IrNode *node, const IrQueryFacts *facts)
{
  static const IrQueryFacts none = { 0 };

  for (guint i = 0; i < query->terms->len; i++)
    {
      const Term *term = &g_array_index (query->terms, Term, i);

      if (node_matches (term, node, facts != NULL ? facts : &none) == term->negated)
        return FALSE;
    }
  return TRUE;
}

/**
 * ir_query_matches_value:
 * @query: a query
 * @value: an input of a graph, or a constant
 * @facts: (nullable): what the graph does not say
 *
 * Returns: whether all terms hold of @value, which has no operator, attributes and cost
 */
gboolean
ir_query_matches_value (const IrQuery *query, const IrValue *value, const IrQueryFacts *facts)
{
  static const IrQueryFacts none = { 0 };
  const IrQueryFacts *known = facts != NULL ? facts : &none;

  for (guint i = 0; i < query->terms->len; i++)
    {
      const Term *term = &g_array_index (query->terms, Term, i);
      const gboolean is = term->id == 0 &&
                          (value_matches (term, value, known) ||
                           (term->key == KEY_WORD && has_text (term, known->also)));

      if (is == term->negated)
        return FALSE;
    }
  return TRUE;
}
