#include "config.h"

#include "core/io/text/text.h"

#include <string.h>

#define UNDEFINED_NAME "undefined"

static const struct
{
  const char *word;
  IrTypeKind kind;
} containers[] = {
  { "seq", IR_TYPE_SEQUENCE },  { "optional", IR_TYPE_OPTIONAL },
  { "map", IR_TYPE_MAP },       { "sparse_tensor", IR_TYPE_SPARSE_TENSOR },
  { "opaque", IR_TYPE_OPAQUE }, { "closure", IR_TYPE_CLOSURE },
};

static gboolean
word_dtype (const char *text, gsize length, IrDtype *dtype)
{
  char word[32];

  if (length == 0 || length >= sizeof word)
    return FALSE;
  memcpy (word, text, length);
  word[length] = '\0';
  *dtype = ir_dtype_from_name (word);
  return *dtype != IR_DTYPE_UNDEFINED || strcmp (word, UNDEFINED_NAME) == 0;
}

static gboolean
word_container (const char *text, gsize length, IrTypeKind *kind)
{
  for (guint i = 0; i < G_N_ELEMENTS (containers); i++)
    if (length == strlen (containers[i].word) && memcmp (text, containers[i].word, length) == 0)
      {
        *kind = containers[i].kind;
        return TRUE;
      }
  return FALSE;
}

/**
 * ir_text_at_type:
 * @parser: a parser
 *
 * A word that may begin a type does so only before "[", a name, or the brackets of a container: a
 * value may well be called "float".
 *
 * Returns: %TRUE if a type comes next
 */
gboolean
ir_text_at_type (IrTextParser *parser)
{
  gsize length;
  const char *text = ir_text_peek_identifier (&parser->lexer, &length);
  const char *after = text + length;
  IrDtype dtype;
  IrTypeKind kind;

  if (length == 0)
    return FALSE;
  while (after < parser->lexer.end && g_ascii_isspace (*after))
    after++;
  if (word_container (text, length, &kind))
    return after < parser->lexer.end && *after == '(';
  if (!word_dtype (text, length, &dtype) || after == parser->lexer.end)
    return FALSE;
  return strchr (",)=>}", *after) == NULL;
}

static gboolean
read_denotation (IrTextParser *parser, const char **denotation)
{
  *denotation = NULL;
  if (!ir_text_match (&parser->lexer, '@'))
    return TRUE;
  return ir_text_name (&parser->lexer, "a denotation", denotation);
}

static gboolean
read_dim (IrTextParser *parser, IrDim *dim)
{
  IrTextLexer *lexer = &parser->lexer;
  const char *name;

  *dim = IR_DIM_UNKNOWN;
  if (ir_text_match (lexer, '?'))
    return TRUE;
  if (ir_text_at_name (lexer))
    {
      if (!ir_text_name (lexer, "a dimension", &name))
        return FALSE;
      *dim = ir_draft_dim (parser->context, name);
      return TRUE;
    }
  if (!ir_text_int64 (lexer, dim))
    return FALSE;
  if (*dim < 0)
    return ir_text_fail (lexer, "a dimension of at least 0 is needed before this");
  return TRUE;
}

static gboolean
read_dims (IrTextParser *parser, GArray *dims, GPtrArray *denotations, gboolean *denoted)
{
  do
    {
      const char *denotation;
      IrDim dim;

      if (dims->len == IR_MAX_RANK)
        return ir_text_fail (&parser->lexer, "at most %d dimensions are possible", IR_MAX_RANK);
      if (!read_dim (parser, &dim) || !read_denotation (parser, &denotation))
        return FALSE;
      g_array_append_val (dims, dim);
      g_ptr_array_add (denotations, (gpointer) denotation);
      *denoted |= denotation != NULL;
    }
  while (ir_text_match (&parser->lexer, ','));
  return ir_text_expect (&parser->lexer, ']', "a shape");
}

/* "float" is a scalar, "float[]" of unknown rank. */
static gboolean
read_tensor_type (IrTextParser *parser, IrTypeKind kind, const IrType **type)
{
  g_autoptr (GArray) dims = g_array_new (FALSE, FALSE, sizeof (IrDim));
  g_autoptr (GPtrArray) denotations = g_ptr_array_new ();
  gboolean denoted = FALSE;
  const IrDim *values;
  gsize length;
  const char *text = ir_text_peek_identifier (&parser->lexer, &length);
  IrDtype dtype;
  int rank = 0;

  if (!word_dtype (text, length, &dtype))
    return ir_text_fail (&parser->lexer, "an element type is needed");
  parser->lexer.next += length;
  if (ir_text_match (&parser->lexer, '['))
    {
      if (ir_text_match (&parser->lexer, ']'))
        rank = IR_RANK_UNKNOWN;
      else if (!read_dims (parser, dims, denotations, &denoted))
        return FALSE;
      else
        rank = (int) dims->len;
    }
  values = (const IrDim *) (gpointer) dims->data;
  *type = kind == IR_TYPE_TENSOR ? ir_type_tensor (parser->context, dtype, rank, values)
                                 : ir_type_sparse_tensor (parser->context, dtype, rank, values);
  if (denoted)
    *type = ir_type_with_denotation (parser->context, *type, NULL,
                                     (const char *const *) denotations->pdata);
  return TRUE;
}

static gboolean
read_map_type (IrTextParser *parser, const IrType **type, guint depth)
{
  const IrType *element = NULL;
  gsize length;
  const char *text = ir_text_peek_identifier (&parser->lexer, &length);
  IrDtype key;

  if (!word_dtype (text, length, &key))
    return ir_text_fail (&parser->lexer, "the element type of the keys is needed");
  parser->lexer.next += length;
  if (!ir_text_expect (&parser->lexer, ',', "a map type") ||
      !ir_text_read_type (parser, &element, depth))
    return FALSE;
  *type = ir_type_map (parser->context, key, element);
  return TRUE;
}

/* opaque (), opaque (name), opaque (domain, name); names may have dots. */
static gboolean
read_opaque_type (IrTextParser *parser, const IrType **type)
{
  g_autoptr (GString) text = g_string_new (NULL);
  gboolean has_domain = FALSE;
  const char *part;

  while (ir_text_at_name (&parser->lexer))
    {
      if (!ir_text_name (&parser->lexer, "a name", &part))
        return FALSE;
      g_string_append (text, part);
      if (ir_text_match (&parser->lexer, '.'))
        g_string_append_c (text, '.');
      else if (!has_domain && ir_text_match (&parser->lexer, ','))
        {
          g_string_append_c (text, '/');
          has_domain = TRUE;
        }
    }
  if (!has_domain)
    g_string_prepend_c (text, '/');
  *type = ir_type_opaque (parser->context, text->str);
  return TRUE;
}

/* closure (?), closure (float[2], ? -> float[2]) */
static gboolean
read_closure_type (IrTextParser *parser, const IrType **type, guint depth)
{
  g_autoptr (GPtrArray) members = g_ptr_array_sized_new (1); /* there, if empty */
  gint n_params = -1;

  for (;;)
    {
      const IrType *member = NULL;
      if (n_params < 0 && ir_text_match (&parser->lexer, '-'))
        {
          if (!ir_text_expect (&parser->lexer, '>', "a closure type"))
            return FALSE;
          n_params = (gint) members->len;
        }
      else if (members->len > 0 && !ir_text_expect (&parser->lexer, ',', "a closure type"))
        return FALSE;
      if (ir_text_peek (&parser->lexer) != ')' && ir_text_peek (&parser->lexer) != '-')
        {
          if (!ir_text_read_type (parser, &member, depth))
            return FALSE;
          g_ptr_array_add (members, (gpointer) member);
        }
      if (ir_text_peek (&parser->lexer) != ')')
        continue;
      /* One "?" and nothing else: what it takes and gives is not known. */
      if (n_params < 0 && (members->len != 1 || member != NULL))
        return ir_text_fail (&parser->lexer, "-> and what the closure gives are needed");
      *type = ir_type_closure (parser->context,
                               n_params < 0 ? NULL : (const IrType *const *) members->pdata,
                               (guint) MAX (n_params, 0), n_params < 0 ? 0 : members->len);
      return TRUE;
    }
}

static gboolean
read_container_type (IrTextParser *parser, IrTypeKind kind, const IrType **type, guint depth)
{
  const IrType *element = NULL;
  gboolean ok;

  if (!ir_text_expect (&parser->lexer, '(', "a type"))
    return FALSE;
  if (kind == IR_TYPE_SPARSE_TENSOR)
    ok = read_tensor_type (parser, kind, type);
  else if (kind == IR_TYPE_MAP)
    ok = read_map_type (parser, type, depth + 1);
  else if (kind == IR_TYPE_OPAQUE)
    ok = read_opaque_type (parser, type);
  else if (kind == IR_TYPE_CLOSURE)
    ok = read_closure_type (parser, type, depth + 1);
  else
    {
      ok = ir_text_read_type (parser, &element, depth + 1);
      if (ok)
        *type = kind == IR_TYPE_SEQUENCE ? ir_type_sequence (parser->context, element)
                                         : ir_type_optional (parser->context, element);
    }
  return ok && ir_text_expect (&parser->lexer, ')', "a type");
}

/**
 * ir_text_read_type:
 * @parser: a parser
 * @type: (out) (nullable): the type; %NULL for "?"
 * @depth: types around this one
 */
gboolean
ir_text_read_type (IrTextParser *parser, const IrType **type, guint depth)
{
  gsize length;
  const char *text, *denotation;
  IrTypeKind kind;

  *type = NULL;
  if (depth > IR_DRAFT_MAX_DEPTH)
    return ir_text_fail (&parser->lexer, "types are nested too deep");
  if (ir_text_match (&parser->lexer, '?'))
    return TRUE;
  text = ir_text_peek_identifier (&parser->lexer, &length);
  if (word_container (text, length, &kind))
    {
      parser->lexer.next += length;
      if (!read_container_type (parser, kind, type, depth))
        return FALSE;
    }
  else if (!read_tensor_type (parser, IR_TYPE_TENSOR, type))
    return FALSE;
  if (!read_denotation (parser, &denotation))
    return FALSE;
  if (denotation != NULL && (*type)->kind != IR_TYPE_OPAQUE)
    *type = ir_type_with_denotation (parser->context, *type, denotation, (*type)->dim_denotations);
  return TRUE;
}

/**
 * ir_text_parse_type:
 * @draft: gets the mistakes
 * @text: a type and nothing else
 *
 * Returns: (nullable): the type; %NULL for "?" and for what is no type
 */
const IrType *
ir_text_parse_type (IrDraft *draft, const char *text)
{
  IrTextParser parser = { .draft = draft, .context = draft->context };
  const IrType *type = NULL;

  ir_text_lexer_init (&parser.lexer, draft, text, strlen (text));
  if (!ir_text_read_type (&parser, &type, 0))
    type = NULL;
  else if (ir_text_peek (&parser.lexer) != '\0')
    ir_text_fail (&parser.lexer, "a type ends before this");
  ir_text_lexer_clear (&parser.lexer);
  return type;
}

/* -- writing -- */

static gboolean
is_identifier (const char *name)
{
  if (!g_ascii_isalpha (name[0]) && name[0] != '_')
    return FALSE;
  for (const char *p = name; *p != '\0'; p++)
    if (!g_ascii_isalnum (*p) && *p != '_')
      return FALSE;
  return TRUE;
}

/**
 * ir_text_write_string:
 * @out: appended to
 * @string: (array length=length): text
 * @length: its bytes
 *
 * Writes a quoted string; a backslash stands before quotes and backslashes.
 */
void
ir_text_write_string (GString *out, const char *string, gsize length)
{
  g_string_append_c (out, '"');
  for (gsize i = 0; i < length; i++)
    {
      if (string[i] == '"' || string[i] == '\\')
        g_string_append_c (out, '\\');
      g_string_append_c (out, string[i]);
    }
  g_string_append_c (out, '"');
}

/**
 * ir_text_write_name:
 * @out: appended to
 * @name: a name
 *
 * Writes a name, in quotes if it is no identifier. Words that begin a type are quoted too, so
 * that a name is never taken for one.
 */
void
ir_text_write_name (GString *out, const char *name)
{
  IrDtype dtype;
  IrTypeKind kind;
  gsize length = strlen (name);

  if (is_identifier (name) && !word_dtype (name, length, &dtype) &&
      !word_container (name, length, &kind))
    g_string_append (out, name);
  else
    ir_text_write_string (out, name, length);
}

/**
 * ir_text_write_part:
 * @out: appended to
 * @name: a name that stands where no type can, as in front of a dot
 *
 * Writes a name, in quotes if it is no identifier.
 */
void
ir_text_write_part (GString *out, const char *name)
{
  if (is_identifier (name))
    g_string_append (out, name);
  else
    ir_text_write_string (out, name, strlen (name));
}

static void
write_dims (GString *out, IrContext *context, const IrType *type)
{
  if (type->rank == 0)
    return;
  g_string_append_c (out, '[');
  for (int i = 0; i < type->rank; i++)
    {
      IrDim dim = type->dims[i];

      if (i > 0)
        g_string_append_c (out, ',');
      if (ir_dim_is_known (dim))
        g_string_append_printf (out, "%" G_GINT64_FORMAT, dim);
      else if (dim == IR_DIM_UNKNOWN)
        g_string_append_c (out, '?');
      else
        {
          g_autofree char *text = ir_dim_to_string (context, dim);

          ir_text_write_name (out, text);
        }
      if (type->dim_denotations != NULL && type->dim_denotations[i] != NULL)
        {
          g_string_append (out, " @");
          ir_text_write_string (out, type->dim_denotations[i], strlen (type->dim_denotations[i]));
        }
    }
  g_string_append_c (out, ']');
}

static void
write_opaque (GString *out, const char *denotation)
{
  const char *slash = denotation != NULL ? strchr (denotation, '/') : NULL;

  g_string_append (out, "opaque(");
  if (slash != NULL && slash > denotation)
    {
      ir_text_write_string (out, denotation, (gsize) (slash - denotation));
      g_string_append_c (out, ',');
    }
  if (slash != NULL && slash[1] != '\0')
    ir_text_write_string (out, slash + 1, strlen (slash + 1));
  g_string_append_c (out, ')');
}

static void
write_closure_type (GString *out, IrContext *context, const IrType *type)
{
  g_string_append (out, "closure(");
  if (type->members == NULL)
    g_string_append_c (out, '?');
  for (guint i = 0; i <= type->n_members && type->members != NULL; i++)
    {
      if (i == type->n_params)
        g_string_append (out, i > 0 ? " ->" : "->");
      if (i == type->n_members)
        break;
      g_string_append (out, i == type->n_params ? " " : i > 0 ? ", " : "");
      ir_text_write_type (out, context, type->members[i]);
    }
  g_string_append_c (out, ')');
}

static void
write_tensor_type (GString *out, IrContext *context, const IrType *type)
{
  g_string_append (out, type->dtype == IR_DTYPE_UNDEFINED ? UNDEFINED_NAME
                                                          : ir_dtype_name (type->dtype));
  write_dims (out, context, type);
}

/**
 * ir_text_write_type:
 * @out: appended to
 * @context: of the type
 * @type: (nullable): a type; "?" if there is none
 */
void
ir_text_write_type (GString *out, IrContext *context, const IrType *type)
{
  if (type == NULL)
    {
      g_string_append_c (out, '?');
      return;
    }
  switch (type->kind)
    {
    case IR_TYPE_TENSOR:
      write_tensor_type (out, context, type);
      break;
    case IR_TYPE_SPARSE_TENSOR:
      g_string_append (out, "sparse_tensor(");
      write_tensor_type (out, context, type);
      g_string_append_c (out, ')');
      break;
    case IR_TYPE_SEQUENCE:
    case IR_TYPE_OPTIONAL:
      g_string_append (out, type->kind == IR_TYPE_SEQUENCE ? "seq(" : "optional(");
      ir_text_write_type (out, context, type->element);
      g_string_append_c (out, ')');
      break;
    case IR_TYPE_MAP:
      g_string_append_printf (out, "map(%s, ",
                              type->dtype == IR_DTYPE_UNDEFINED ? UNDEFINED_NAME
                                                                : ir_dtype_name (type->dtype));
      ir_text_write_type (out, context, type->element);
      g_string_append_c (out, ')');
      break;
    case IR_TYPE_OPAQUE:
      write_opaque (out, type->denotation);
      return;
    case IR_TYPE_CLOSURE:
      write_closure_type (out, context, type);
      break;
    case IR_N_TYPE_KINDS:
      break;
    }
  if (type->denotation != NULL)
    {
      g_string_append (out, " @");
      ir_text_write_string (out, type->denotation, strlen (type->denotation));
    }
}
