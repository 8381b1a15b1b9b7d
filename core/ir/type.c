/* Types: interned by content, so equality is equality of pointers. */
#include "config.h"

#include "core/ir/context-private.h"
#include "core/ir/scanner.h"
#include "core/ir/type.h"

#include <gio/gio.h>
#include <string.h>

/* A type that is being made: IrType ends in its dims. */
typedef union
{
  IrType type;
  char bytes[sizeof (IrType) + sizeof (IrDim) * IR_MAX_RANK];
} TypeBuffer;

static guint
n_dims (const IrType *type)
{
  return type->rank > 0 ? (guint) type->rank : 0;
}

static gboolean
same_dim_denotations (const IrType *a, const IrType *b)
{
  if (a->dim_denotations == NULL || b->dim_denotations == NULL)
    return a->dim_denotations == b->dim_denotations;
  for (guint i = 0; i < n_dims (a); i++)
    if (a->dim_denotations[i] != b->dim_denotations[i])
      return FALSE;
  return TRUE;
}

static gboolean
same_members (const IrType *a, const IrType *b)
{
  return a->n_params == b->n_params && a->n_members == b->n_members &&
         (a->members == NULL) == (b->members == NULL) &&
         (a->n_members == 0 ||
          memcmp (a->members, b->members, sizeof (IrType *) * a->n_members) == 0);
}

static gboolean
type_equal (gconstpointer entry, gconstpointer key)
{
  const IrType *a = entry, *b = key;
  return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank &&
         a->element == b->element && a->denotation == b->denotation &&
         (n_dims (a) == 0 || memcmp (a->dims, b->dims, sizeof (IrDim) * n_dims (a)) == 0) &&
         same_dim_denotations (a, b) && same_members (a, b);
}

static guint
type_hash (const IrType *type)
{
  guint hash = (guint) type->kind * 31 + (guint) type->dtype;

  hash = ir_hash_mix (hash, (guint64) type->rank);
  hash = ir_hash_mix (hash, (guint64) (guintptr) type->element);
  hash = ir_hash_mix (hash, (guint64) (guintptr) type->denotation);
  for (guint i = 0; i < n_dims (type); i++)
    hash = ir_hash_mix (hash, (guint64) type->dims[i]);
  for (guint i = 0; type->dim_denotations != NULL && i < n_dims (type); i++)
    hash = ir_hash_mix (hash, (guint64) (guintptr) type->dim_denotations[i]);
  for (guint i = 0; i < type->n_members; i++)
    hash = ir_hash_mix (hash, (guint64) (guintptr) type->members[i]);
  return hash;
}

static const IrType *
intern_type (IrContext *context, const IrType *type)
{
  guint hash = type_hash (type);
  IrType *found;

  g_rec_mutex_lock (&context->lock);
  found = ir_intern_table_find (&context->types, hash, type_equal, type);
  if (found == NULL)
    {
      found = ir_arena_dup (context->arena, type, sizeof (IrType) + sizeof (IrDim) * n_dims (type));
      if (type->dim_denotations != NULL)
        found->dim_denotations = ir_arena_dup (context->arena, type->dim_denotations,
                                               sizeof (char *) * n_dims (type));
      if (type->members != NULL)
        found->members = ir_arena_dup (context->arena, type->members,
                                       sizeof (IrType *) * (type->n_members + 1u));
      ir_intern_table_add (&context->types, hash, found);
    }
  g_rec_mutex_unlock (&context->lock);
  return found;
}

static const IrType *
intern_shaped (IrContext *context, IrTypeKind kind, IrDtype dtype, int rank, const IrDim *dims)
{
  TypeBuffer buffer = { .type = { .kind = kind, .dtype = dtype, .rank = IR_RANK_UNKNOWN } };

  if (rank >= 0 && rank <= IR_MAX_RANK)
    {
      buffer.type.rank = (gint8) rank;
      if (rank > 0)
        memcpy (buffer.bytes + G_STRUCT_OFFSET (IrType, dims), dims, sizeof (IrDim) * (gsize) rank);
    }
  return intern_type (context, &buffer.type);
}

/* The type. @rank: number of dims, or %IR_RANK_UNKNOWN; more than %IR_MAX_RANK counts as
 * unknown. */
const IrType *
ir_type_tensor (IrContext *context, IrDtype dtype, int rank, const IrDim *dims)
{
  return intern_shaped (context, IR_TYPE_TENSOR, dtype, rank, dims);
}

const IrType *
ir_type_sparse_tensor (IrContext *context, IrDtype dtype, int rank, const IrDim *dims)
{
  return intern_shaped (context, IR_TYPE_SPARSE_TENSOR, dtype, rank, dims);
}

static const IrType *
intern_wrapper (IrContext *context, IrTypeKind kind, IrDtype key, const IrType *element)
{
  IrType type = { .kind = kind, .dtype = key, .rank = IR_RANK_UNKNOWN, .element = element };
  return intern_type (context, &type);
}

const IrType *
ir_type_sequence (IrContext *context, const IrType *element)
{
  return intern_wrapper (context, IR_TYPE_SEQUENCE, IR_DTYPE_UNDEFINED, element);
}

const IrType *
ir_type_optional (IrContext *context, const IrType *element)
{
  return intern_wrapper (context, IR_TYPE_OPTIONAL, IR_DTYPE_UNDEFINED, element);
}

const IrType *
ir_type_map (IrContext *context, IrDtype key, const IrType *value)
{
  return intern_wrapper (context, IR_TYPE_MAP, key, value);
}

const IrType *
ir_type_opaque (IrContext *context, const char *denotation)
{
  const char *interned = ir_context_intern (context, denotation);
  IrType type = { .kind = IR_TYPE_OPAQUE, .rank = IR_RANK_UNKNOWN, .denotation = interned };

  return intern_type (context, &type);
}

/* The type of a function of which some inputs are given already. More than %G_MAXUINT16 members count as not
 * known. */
const IrType *
ir_type_closure (IrContext *context, const IrType *const *members, guint n_params, guint n_members)
{
  TypeBuffer buffer = { .type = { .kind = IR_TYPE_CLOSURE, .rank = IR_RANK_UNKNOWN } };
  g_autofree const IrType **own = g_new0 (const IrType *, n_members + 1);

  if (members != NULL && n_members <= G_MAXUINT16)
    {
      memcpy (own, members, sizeof (IrType *) * n_members);
      buffer.type.members = own;
      buffer.type.n_params = (guint16) n_params;
      buffer.type.n_members = (guint16) n_members;
    }
  return intern_type (context, &buffer.type);
}

/* @type with these denotations instead of its own. @dim_denotations: one per dim, entries
 * nullable; only of tensors. */
const IrType *
ir_type_with_denotation (IrContext *context,
                         const IrType *type,
                         const char *denotation,
                         const char *const *dim_denotations)
{
  TypeBuffer buffer;
  const char *interned[IR_MAX_RANK] = { NULL };
  gboolean any = FALSE;

  memcpy (buffer.bytes, type, sizeof (IrType) + sizeof (IrDim) * n_dims (type));
  for (guint i = 0; dim_denotations != NULL && i < n_dims (type); i++)
    if (dim_denotations[i] != NULL)
      {
        interned[i] = ir_context_intern (context, dim_denotations[i]);
        any = TRUE;
      }
  buffer.type.denotation = denotation != NULL ? ir_context_intern (context, denotation) : NULL;
  buffer.type.dim_denotations = any ? interned : NULL;
  return intern_type (context, &buffer.type);
}

/* -- questions -- */

/* Returns TRUE for dense tensors */
gboolean
ir_type_is_tensor (const IrType *type)
{
  return type != NULL && type->kind == IR_TYPE_TENSOR;
}

/* Returns TRUE for sequences, optionals, maps, closures and opaque types: what is no tensor, dense or
 * sparse. */
gboolean
ir_type_is_container (const IrType *type)
{
  return type != NULL && type->kind != IR_TYPE_TENSOR && type->kind != IR_TYPE_SPARSE_TENSOR;
}

/* Returns TRUE for dense tensors whose rank is known */
gboolean
ir_type_has_rank (const IrType *type)
{
  return ir_type_is_tensor (type) && type->rank >= 0;
}

/* Returns TRUE for dense tensors with element type and all dims known */
gboolean
ir_type_is_static (const IrType *type)
{
  if (!ir_type_has_rank (type) || type->dtype == IR_DTYPE_UNDEFINED)
    return FALSE;
  for (guint i = 0; i < n_dims (type); i++)
    if (!ir_dim_is_known (type->dims[i]))
      return FALSE;
  return TRUE;
}

/* Returns FALSE if it is no dense tensor, a dim is not known (unless another is 0), or the
 * product overflows. @n_elements: product of the dims; 1 for a scalar. */
gboolean
ir_type_n_elements (const IrType *type, guint64 *n_elements)
{
  guint64 n = 1;
  gboolean known = ir_type_has_rank (type);

  *n_elements = 0;
  for (guint i = 0; type != NULL && i < n_dims (type); i++)
    if (known && type->dims[i] == 0)
      return TRUE;
  for (guint i = 0; known && i < n_dims (type); i++)
    known = ir_dim_is_known (type->dims[i]) &&
            g_uint64_checked_mul (&n, n, (guint64) type->dims[i]);
  *n_elements = known ? n : 0;
  return known;
}

/* Returns FALSE if it is not known or the elements have no fixed size */
gboolean
ir_type_n_bytes (const IrType *type, gsize *bytes)
{
  guint64 n;

  *bytes = 0;
  return ir_type_n_elements (type, &n) && ir_dtype_storage_bytes (type->dtype, n, bytes);
}

/* -- merging -- */

static gboolean
merge_dim (IrContext *context, IrDim a, IrDim b, IrDim *merged)
{
  gint64 lower, upper;

  *merged = a;
  if (a == b || b == IR_DIM_UNKNOWN)
    return TRUE;
  if (a == IR_DIM_UNKNOWN || (ir_dim_is_known (b) && !ir_dim_is_known (a)))
    *merged = b;
  if (ir_dim_is_known (a) && ir_dim_is_known (b))
    return FALSE;
  if (ir_dim_is_known (*merged))
    {
      ir_dim_bounds (context, *merged == a ? b : a, &lower, &upper);
      return *merged >= lower && *merged <= upper;
    }
  return TRUE;
}

static gboolean
merge_shape (IrContext *context, const IrType *a, const IrType *b, TypeBuffer *buffer)
{
  IrDim *dims = (IrDim *) (void *) (buffer->bytes + G_STRUCT_OFFSET (IrType, dims));

  if (a->rank >= 0 && b->rank >= 0 && a->rank != b->rank)
    return FALSE;
  buffer->type.rank = MAX (a->rank, b->rank);
  for (guint i = 0; i < n_dims (&buffer->type); i++)
    if (!merge_dim (context, a->rank >= 0 ? a->dims[i] : IR_DIM_UNKNOWN,
                    b->rank >= 0 ? b->dims[i] : IR_DIM_UNKNOWN, &dims[i]))
      return FALSE;
  return TRUE;
}

/* Signatures that say both, in @merged; FALSE if they contradict each other. */
static gboolean
merge_members (IrContext *context, const IrType *a, const IrType *b, const IrType **merged)
{
  gboolean good = a->members == NULL || b->members == NULL ||
                  (a->n_params == b->n_params && a->n_members == b->n_members);

  for (guint i = 0; good && i < MAX (a->n_members, b->n_members); i++)
    {
      const IrType *own = a->members != NULL ? a->members[i] : NULL;
      const IrType *other = b->members != NULL ? b->members[i] : NULL;
      merged[i] = ir_type_merge (context, own, other);
      good = merged[i] != NULL || (own == NULL && other == NULL);
    }
  return good;
}

static const IrType *
merge_closures (IrContext *context, const IrType *a, const IrType *b)
{
  const IrType *known = a->members != NULL ? a : b;
  g_autofree const IrType **merged = g_new0 (const IrType *, known->n_members + 1u);

  if (!merge_members (context, a, b, merged))
    return NULL;
  return ir_type_closure (context, known->members != NULL ? merged : NULL, known->n_params,
                          known->n_members);
}

/* What both say together; NULL if they contradict each other, or if both are NULL. @a: a type;
 * its denotations and its symbols win. */
const IrType *
ir_type_merge (IrContext *context, const IrType *a, const IrType *b)
{
  TypeBuffer buffer = { .type = { .rank = IR_RANK_UNKNOWN } };

  if (a == NULL || b == NULL || a == b)
    return a != NULL ? a : b;
  if (a->kind != b->kind)
    return NULL;
  if (a->kind == IR_TYPE_CLOSURE)
    return merge_closures (context, a, b);
  buffer.type.kind = a->kind;
  if (a->dtype != b->dtype && a->dtype != IR_DTYPE_UNDEFINED && b->dtype != IR_DTYPE_UNDEFINED)
    return NULL;
  buffer.type.dtype = a->dtype != IR_DTYPE_UNDEFINED ? a->dtype : b->dtype;
  if (!merge_shape (context, a, b, &buffer))
    return NULL;
  buffer.type.element = ir_type_merge (context, a->element, b->element);
  if (buffer.type.element == NULL && (a->element != NULL || b->element != NULL))
    return NULL;
  if (a->kind == IR_TYPE_OPAQUE && a->denotation != b->denotation)
    return NULL;
  buffer.type.denotation = a->denotation != NULL ? a->denotation : b->denotation;
  buffer.type.dim_denotations = a->dim_denotations != NULL ? a->dim_denotations
                                                           : b->dim_denotations;
  return intern_type (context, &buffer.type);
}

static gboolean
dim_at_least (IrDim specific, IrDim general)
{
  return specific == general || general == IR_DIM_UNKNOWN ||
         (ir_dim_is_symbolic (general) && ir_dim_is_known (specific));
}

static gboolean
members_at_least (const IrType *specific, const IrType *general)
{
  if (general->members == NULL)
    return TRUE;
  gboolean good = specific->members != NULL && specific->n_params == general->n_params &&
                  specific->n_members == general->n_members;
  for (guint i = 0; good && i < general->n_members; i++)
    good = ir_type_at_least (specific->members[i], general->members[i]);
  return good;
}

/* Returns TRUE if @specific says everything that @general says, denotations aside. */
gboolean
ir_type_at_least (const IrType *specific, const IrType *general)
{
  if (general == NULL || specific == general)
    return TRUE;
  if (specific == NULL || specific->kind != general->kind)
    return FALSE;
  if (general->dtype != IR_DTYPE_UNDEFINED && specific->dtype != general->dtype)
    return FALSE;
  if (specific->kind == IR_TYPE_OPAQUE)
    return specific->denotation == general->denotation;
  if (general->rank >= 0 && specific->rank != general->rank)
    return FALSE;
  for (guint i = 0; i < n_dims (general); i++)
    if (!dim_at_least (specific->dims[i], general->dims[i]))
      return FALSE;
  return ir_type_at_least (specific->element, general->element) &&
         members_at_least (specific, general);
}

static const IrType *
substitute_members (IrContext *context, const IrType *type, GHashTable *bindings)
{
  g_autofree const IrType **members = g_new0 (const IrType *, type->n_members + 1u);

  for (guint i = 0; i < type->n_members; i++)
    members[i] = ir_type_substitute (context, type->members[i], bindings);
  return ir_type_closure (context, members, type->n_params, type->n_members);
}

/* @type with the numbers in its dims */
const IrType *
ir_type_substitute (IrContext *context, const IrType *type, GHashTable *bindings)
{
  TypeBuffer buffer;
  IrDim *dims = (IrDim *) (void *) (buffer.bytes + G_STRUCT_OFFSET (IrType, dims));

  if (type == NULL)
    return NULL;
  if (type->members != NULL)
    return substitute_members (context, type, bindings);
  memcpy (buffer.bytes, type, sizeof (IrType) + sizeof (IrDim) * n_dims (type));
  for (guint i = 0; i < n_dims (type); i++)
    dims[i] = ir_dim_substitute (context, type->dims[i], bindings);
  buffer.type.element = ir_type_substitute (context, type->element, bindings);
  return intern_type (context, &buffer.type);
}

/* -- text -- */

static const char *const kind_names[] = {
  [IR_TYPE_TENSOR] = "",         [IR_TYPE_SPARSE_TENSOR] = "sparse_tensor",
  [IR_TYPE_SEQUENCE] = "seq",    [IR_TYPE_OPTIONAL] = "optional",
  [IR_TYPE_MAP] = "map",         [IR_TYPE_OPAQUE] = "opaque",
  [IR_TYPE_CLOSURE] = "closure",
};

static void
append_dim (GString *text, IrContext *context, IrDim dim)
{
  g_autofree char *string = ir_dim_to_string (context, dim);
  /* A name with these in it could not be read back. */
  gboolean quote = ir_dim_symbol_name (context, dim) != NULL && strpbrk (string, ",[]()'") != NULL;

  g_string_append_printf (text, quote ? "'%s'" : "%s", string);
}

static void
append_shaped (GString *text, IrContext *context, const IrType *type)
{
  g_string_append (text, ir_dtype_name (type->dtype));
  g_string_append_c (text, '[');
  if (type->rank < 0)
    g_string_append (text, "...");
  for (guint i = 0; i < n_dims (type); i++)
    {
      if (i > 0)
        g_string_append_c (text, ',');
      append_dim (text, context, type->dims[i]);
    }
  g_string_append_c (text, ']');
}

static void append_type (GString *text, IrContext *context, const IrType *type);

static void
append_members (GString *text, IrContext *context, const IrType *type)
{
  if (type->members == NULL)
    g_string_append_c (text, '?');
  for (guint i = 0; i <= type->n_members && type->members != NULL; i++)
    {
      if (i == type->n_params)
        g_string_append (text, i > 0 ? " ->" : "->");
      if (i == type->n_members)
        break;
      g_string_append (text, i == type->n_params ? " " : i > 0 ? ", " : "");
      append_type (text, context, type->members[i]);
    }
}

static void
append_type (GString *text, IrContext *context, const IrType *type)
{
  if (type == NULL)
    {
      g_string_append_c (text, '?');
      return;
    }
  if (type->kind == IR_TYPE_TENSOR)
    {
      append_shaped (text, context, type);
      return;
    }
  g_string_append (text, kind_names[type->kind]);
  g_string_append_c (text, '(');
  if (type->kind == IR_TYPE_SPARSE_TENSOR)
    append_shaped (text, context, type);
  else if (type->kind == IR_TYPE_OPAQUE)
    g_string_append (text, type->denotation);
  else if (type->kind == IR_TYPE_CLOSURE)
    append_members (text, context, type);
  else
    {
      if (type->kind == IR_TYPE_MAP)
        g_string_append_printf (text, "%s, ", ir_dtype_name (type->dtype));
      append_type (text, context, type->element);
    }
  g_string_append_c (text, ')');
}

/* "float[batch,3,?,224]", "int64[]" for a scalar, "float[...]" if the rank is not known,
 * "seq(float[2])", "map(int64, float[...])", "closure(float[2], ? -> float[2])", "?" for NULL; without
 * denotations. */
char *
ir_type_to_string (IrContext *context, const IrType *type)
{
  g_autoptr (GString) text = g_string_new (NULL);
  append_type (text, context, type);
  return g_strdup (text->str);
}

typedef struct
{
  IrContext *context;
  const char *text, *at;
  guint depth;
  GError **error;
} Parser;

#define MAX_TYPE_DEPTH 16

static const IrType *parse_type (Parser *parser);

static gpointer
fail (Parser *parser, const char *wanted)
{
  if (parser->error != NULL && *parser->error == NULL)
    g_set_error (parser->error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
                 "Type \"%.80s\": found \"%.20s\" at character %d, needed %s", parser->text,
                 parser->at, (int) (parser->at - parser->text) + 1, wanted);
  return NULL;
}

static IrDtype
parse_dtype (Parser *parser)
{
  const char *start;
  g_autofree char *name = NULL;
  IrDtype dtype;

  ir_skip_space (&parser->at);
  for (start = parser->at; g_ascii_isalnum (*parser->at); parser->at++)
    ;
  name = g_strndup (start, (gsize) (parser->at - start));
  dtype = ir_dtype_from_name (name);
  if (dtype == IR_DTYPE_UNDEFINED && strcmp (name, "undefined") != 0)
    {
      parser->at = start;
      fail (parser, "an element type such as float or int64");
    }
  return dtype;
}

/* One dim: up to a comma or bracket that is in no parentheses or quotes. */
static IrDim
parse_dim (Parser *parser)
{
  const char *start = parser->at;
  guint depth = 0;
  gboolean quoted = FALSE;
  g_autofree char *text = NULL;

  for (; *parser->at != '\0'; parser->at++)
    {
      char c = *parser->at;
      if (c == '\'')
        quoted = !quoted;
      else if (!quoted && depth == 0 && (c == ',' || c == ']' || c == '['))
        break;
      else if (!quoted && c == '(')
        depth++;
      else if (!quoted && c == ')' && depth > 0)
        depth--;
    }
  text = g_strstrip (g_strndup (start, (gsize) (parser->at - start)));
  return ir_dim_parse (parser->context, text);
}

static const IrType *
parse_shaped (Parser *parser, IrTypeKind kind)
{
  IrDim dims[IR_MAX_RANK];
  int rank = 0;
  IrDtype dtype = parse_dtype (parser);

  if (parser->error != NULL && *parser->error != NULL)
    return NULL;
  if (!ir_accept (&parser->at, "["))
    return fail (parser, "\"[\" and the dimensions");
  if (ir_accept (&parser->at, "..."))
    rank = IR_RANK_UNKNOWN;
  else
    while (!ir_accept (&parser->at, "]"))
      {
        if (rank == IR_MAX_RANK)
          return fail (parser, "at most 64 dimensions");
        if (rank > 0 && !ir_accept (&parser->at, ","))
          return fail (parser, "\",\" or \"]\"");
        dims[rank++] = parse_dim (parser);
      }
  if (rank == IR_RANK_UNKNOWN && !ir_accept (&parser->at, "]"))
    return fail (parser, "\"]\"");
  return intern_shaped (parser->context, kind, dtype, rank, dims);
}

static const IrType *
parse_opaque (Parser *parser)
{
  const char *end = strchr (parser->at, ')');
  g_autofree char *name = NULL;

  if (end == NULL)
    return fail (parser, "\")\"");
  name = g_strndup (parser->at, (gsize) (end - parser->at));
  parser->at = end;
  return ir_type_opaque (parser->context, name);
}

/* "?", or what it takes, "->", and what it gives */
static const IrType *
parse_closure (Parser *parser)
{
  g_autoptr (GPtrArray) members = g_ptr_array_sized_new (1); /* there, if empty */
  const char *start = parser->at;
  gint n_params = -1;

  if (ir_accept (&parser->at, "?"))
    {
      ir_skip_space (&parser->at);
      if (*parser->at == ')')
        return ir_type_closure (parser->context, NULL, 0, 0);
      parser->at = start;
    }
  for (;;)
    {
      ir_skip_space (&parser->at);
      if (n_params < 0 && ir_accept (&parser->at, "->"))
        {
          n_params = (gint) members->len;
          continue;
        }
      if (*parser->at == ')' && n_params >= 0)
        return ir_type_closure (parser->context, (const IrType *const *) members->pdata,
                                (guint) n_params, members->len);
      if (members->len > 0 && n_params != (gint) members->len && !ir_accept (&parser->at, ","))
        return fail (parser, "\",\", \"->\" or \")\"");
      const IrType *member = NULL;
      if (!ir_accept (&parser->at, "?") && (member = parse_type (parser)) == NULL)
        return NULL;
      g_ptr_array_add (members, (gpointer) member);
    }
}

static const IrType *
parse_wrapper (Parser *parser, IrTypeKind kind)
{
  IrDtype key = IR_DTYPE_UNDEFINED;
  const IrType *element = NULL;

  if (kind == IR_TYPE_SPARSE_TENSOR)
    return parse_shaped (parser, kind);
  if (kind == IR_TYPE_OPAQUE)
    return parse_opaque (parser);
  if (kind == IR_TYPE_CLOSURE)
    return parse_closure (parser);
  if (kind == IR_TYPE_MAP)
    {
      key = parse_dtype (parser);
      if (!ir_accept (&parser->at, ","))
        return fail (parser, "\",\" and the type of the values");
    }
  if (!ir_accept (&parser->at, "?"))
    {
      element = parse_type (parser);
      if (element == NULL)
        return NULL;
    }
  return intern_wrapper (parser->context, kind, key, element);
}

static const IrType *
parse_type (Parser *parser)
{
  const IrType *type = NULL;

  if (parser->depth++ == MAX_TYPE_DEPTH)
    return fail (parser, "fewer types inside each other");
  ir_skip_space (&parser->at);
  for (guint kind = IR_TYPE_SPARSE_TENSOR; kind < IR_N_TYPE_KINDS; kind++)
    {
      gsize length = strlen (kind_names[kind]);
      if (strncmp (parser->at, kind_names[kind], length) == 0 && parser->at[length] == '(')
        {
          parser->at += length + 1;
          type = parse_wrapper (parser, (IrTypeKind) kind);
          if (type != NULL && !ir_accept (&parser->at, ")"))
            type = fail (parser, "\")\"");
          parser->depth--;
          return type;
        }
    }
  type = parse_shaped (parser, IR_TYPE_TENSOR);
  parser->depth--;
  return type;
}

/* Fails with %G_IO_ERROR_INVALID_DATA; the message says where. Returns the type. @text: a type
 * as ir_type_to_string() prints it; spaces do not matter. */
const IrType *
ir_type_parse (IrContext *context, const char *text, GError **error)
{
  g_autoptr (GError) failure = NULL;
  Parser parser = { context, text, text, 0, &failure };
  const IrType *type = parse_type (&parser);

  ir_skip_space (&parser.at);
  if (type != NULL && *parser.at != '\0')
    type = fail (&parser, "the end");
  if (failure != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&failure));
      return NULL;
    }
  return type;
}
