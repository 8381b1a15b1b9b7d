#include "config.h"

#include "core/io/draft.h"

#include <string.h>

#define POLL_ENTITIES 2048 /* between two polls: half a millisecond */

#define META_MODULES "pkg.torch.onnx.name_scopes"

typedef struct
{
  gpointer object;
  GDestroyNotify destroy;
} Owned;

static void
owned_clear (gpointer data)
{
  Owned *owned = data;

  owned->destroy (owned->object);
}

static void
own (IrDraft *draft, gpointer object, GDestroyNotify destroy)
{
  Owned owned = { object, destroy };

  g_array_append_val (draft->arrays, owned);
}

/**
 * ir_draft_new:
 * @context: (transfer none): of the model to come; must outlive the draft
 * @problems: (nullable): gets the findings
 * @cancellable: (nullable): what may stop reading; must outlive the draft
 *
 * Returns: (transfer full): an empty draft
 */
IrDraft *
ir_draft_new (IrContext *context, GPtrArray *problems, GCancellable *cancellable)
{
  IrDraft *draft = g_new0 (IrDraft, 1);

  draft->context = context;
  draft->arena = ir_arena_new ();
  draft->arrays = g_array_new (FALSE, FALSE, sizeof (Owned));
  g_array_set_clear_func (draft->arrays, owned_clear);
  draft->problems = problems != NULL ? g_ptr_array_ref (problems) : ir_problems_new ();
  draft->opsets = ir_draft_array (draft, sizeof (IrOpset));
  draft->metadata = ir_draft_pointers (draft);
  draft->functions = ir_draft_pointers (draft);
  draft->cancellable = cancellable;
  draft->budget = IR_DRAFT_MAX_ENTITIES;
  return draft;
}

/**
 * ir_draft_free:
 * @draft: (transfer full) (nullable): a draft
 *
 * Frees the draft; what is owned by the context stays.
 */
void
ir_draft_free (IrDraft *draft)
{
  if (draft == NULL)
    return;
  g_array_unref (draft->arrays);
  g_ptr_array_unref (draft->problems);
  ir_arena_free (draft->arena);
  g_free (draft);
}

/**
 * ir_draft_spend:
 * @draft: a draft
 *
 * Counts one node, attribute or value.
 *
 * Returns: %FALSE if it is stopped, or if there are too many; that is said once as a problem
 */
gboolean
ir_draft_spend (IrDraft *draft)
{
  if (draft->n_spent++ % POLL_ENTITIES == 0)
    draft->stopped = draft->stopped || g_cancellable_is_cancelled (draft->cancellable);
  if (draft->stopped)
    return FALSE;
  if (draft->budget > 0)
    {
      draft->budget--;
      return TRUE;
    }
  if (!draft->over_budget)
    ir_draft_problem (
        draft, IR_SEVERITY_ERROR, IR_PROBLEM_LIMIT, IR_DRAFT_NOWHERE,
        "The file has more than %d nodes, attributes and values; the rest is left out.",
        IR_DRAFT_MAX_ENTITIES);
  draft->over_budget = TRUE;
  return FALSE;
}

/**
 * ir_draft_array:
 * @draft: owns the array
 * @element_size: bytes of an element
 *
 * Returns: (transfer none): an array that lives as long as the draft
 */
GArray *
ir_draft_array (IrDraft *draft, gsize element_size)
{
  GArray *array = g_array_new (FALSE, TRUE, (guint) element_size);

  own (draft, array, (GDestroyNotify) g_array_unref);
  return array;
}

/**
 * ir_draft_pointers:
 * @draft: owns the array
 *
 * Returns: (transfer none): an array that lives as long as the draft
 */
GPtrArray *
ir_draft_pointers (IrDraft *draft)
{
  GPtrArray *array = g_ptr_array_new ();

  own (draft, array, (GDestroyNotify) g_ptr_array_unref);
  return array;
}

/**
 * ir_draft_graph_new:
 * @draft: owns the graph
 *
 * Returns: (transfer none): an empty graph
 */
IrDraftGraph *
ir_draft_graph_new (IrDraft *draft)
{
  IrDraftGraph *graph = ir_arena_alloc (draft->arena, sizeof *graph);

  graph->name = ir_context_intern (draft->context, "");
  graph->inputs = ir_draft_array (draft, sizeof (IrDraftValue));
  graph->outputs = ir_draft_array (draft, sizeof (IrDraftValue));
  graph->infos = ir_draft_array (draft, sizeof (IrDraftValue));
  graph->initializers = ir_draft_array (draft, sizeof (IrDraftValue));
  graph->nodes = ir_draft_pointers (draft);
  return graph;
}

static GArray *
sized_array (IrDraft *draft, gsize element_size, guint n)
{
  GArray *array = g_array_sized_new (FALSE, TRUE, (guint) element_size, n);

  own (draft, array, (GDestroyNotify) g_array_unref);
  return array;
}

static void
names_reserve (IrDraft *draft, IrDraftNames *names, guint size)
{
  const char **grown = ir_arena_alloc (draft->arena, sizeof (const char *) * size);

  if (names->n > 0)
    memcpy (grown, names->names, sizeof (const char *) * names->n);
  names->names = grown;
  names->size = size;
}

/**
 * ir_draft_names_add:
 * @draft: owns the list
 * @names: a list, empty when zeroed
 * @name: interned
 *
 * Appends a name.
 */
void
ir_draft_names_add (IrDraft *draft, IrDraftNames *names, const char *name)
{
  if (names->n == names->size)
    names_reserve (draft, names, MAX (2 * names->size, 4));
  names->names[names->n++] = name;
}

/**
 * ir_draft_node_new_sized:
 * @draft: owns the node
 * @n_inputs: how many there will be, or a guess
 * @n_outputs: likewise
 * @n_attrs: likewise; 0 must be true
 *
 * Returns: (transfer none): a node without operator, inputs and outputs
 */
IrDraftNode *
ir_draft_node_new_sized (IrDraft *draft, guint n_inputs, guint n_outputs, guint n_attrs)
{
  IrDraftNode *node = ir_arena_alloc (draft->arena, sizeof *node);
  const char *empty = ir_context_intern (draft->context, "");

  node->op_type = node->domain = node->overload = node->name = node->device = empty;
  names_reserve (draft, &node->inputs, n_inputs);
  names_reserve (draft, &node->outputs, n_outputs);
  if (n_attrs == 0 && draft->no_attrs == NULL)
    draft->no_attrs = sized_array (draft, sizeof (IrDraftAttr), 0);
  node->attrs = n_attrs == 0 ? draft->no_attrs : sized_array (draft, sizeof (IrDraftAttr), n_attrs);
  return node;
}

/**
 * ir_draft_node_new:
 * @draft: owns the node
 *
 * Returns: (transfer none): a node without operator, inputs and outputs
 */
IrDraftNode *
ir_draft_node_new (IrDraft *draft)
{
  return ir_draft_node_new_sized (draft, 2, 1, 1);
}

/**
 * ir_draft_own_tensor:
 * @draft: a draft
 * @tensor: (transfer full) (nullable): a tensor
 *
 * Returns: (transfer none) (nullable): @tensor, owned by the context from now on
 */
IrTensor *
ir_draft_own_tensor (IrDraft *draft, IrTensor *tensor)
{
  if (tensor != NULL)
    ir_context_own (draft->context, tensor, (GDestroyNotify) ir_tensor_unref);
  return tensor;
}

/**
 * ir_draft_own_bytes:
 * @draft: a draft
 * @bytes: (transfer full) (nullable): bytes
 *
 * Returns: (transfer none) (nullable): @bytes, owned by the context from now on
 */
GBytes *
ir_draft_own_bytes (IrDraft *draft, GBytes *bytes)
{
  if (bytes != NULL)
    ir_context_own (draft->context, bytes, (GDestroyNotify) g_bytes_unref);
  return bytes;
}

/**
 * ir_draft_problem:
 * @draft: a draft
 * @severity: how bad
 * @code: what
 * @place: where in the text, %IR_DRAFT_NOWHERE if that is not known
 * @format: printf-style message
 *
 * Adds a finding; from %IR_DRAFT_MAX_PROBLEMS on nothing is added.
 */
void
ir_draft_problem (IrDraft *draft,
                  IrSeverity severity,
                  IrProblemCode code,
                  IrDraftPlace place,
                  const char *format,
                  ...)
{
  g_autofree char *message = NULL;
  IrProblem *problem;
  va_list args;

  if (draft->problems->len >= IR_DRAFT_MAX_PROBLEMS)
    return;
  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  problem = ir_problems_add (draft->problems, severity, code, NULL, NULL, "%s", message);
  problem->line = place.line;
  problem->column = place.column;
}

/**
 * ir_draft_function_info:
 * @draft: a draft
 * @domain: interned, as @name and @overload
 * @name: of the function
 * @overload: "" if it has none
 * @names: of const char *: required attributes
 * @attrs: of IrDraftAttr: attributes with defaults; graphs are no defaults
 * @opsets: of IrOpset: the function's own imports
 *
 * Returns: (transfer none): in the context
 */
const IrFunctionInfo *
ir_draft_function_info (IrDraft *draft,
                        const char *domain,
                        const char *name,
                        const char *overload,
                        const IrDraftNames *names,
                        const GArray *attrs,
                        const GArray *opsets)
{
  IrContext *context = draft->context;
  IrFunctionInfo *info = ir_context_alloc (context, sizeof *info);
  IrOpsets *imports = ir_context_alloc (context, sizeof *imports + opsets->len * sizeof (IrOpset));
  const IrAttr **defaults = ir_context_alloc (context, sizeof (gpointer) * (attrs->len + 1));

  for (guint i = 0; i < attrs->len; i++)
    if (g_array_index (attrs, IrDraftAttr, i).attr != NULL)
      defaults[info->n_attr_defaults++] = g_array_index (attrs, IrDraftAttr, i).attr;
  imports->n = opsets->len;
  if (opsets->len > 0)
    memcpy (imports->opsets, opsets->data, opsets->len * sizeof (IrOpset));
  info->domain = domain;
  info->name = name;
  info->overload = overload;
  info->attr_defaults = defaults;
  info->n_attr_names = names->n;
  info->attr_names = ir_context_dup (context, names->names, sizeof (char *) * names->n);
  info->opsets = imports;
  return info;
}

/* What exporters write where they know no name; two such dims have nothing to do with each other.
 */
static gboolean
is_no_name (const char *text)
{
  static const char *const fillers[] = { "", "?", "-1", "None", NULL };
  g_autofree char *stripped = g_strstrip (g_strdup (text));

  return g_strv_contains (fillers, stripped);
}

/**
 * ir_draft_dim:
 * @context: a context
 * @text: name of a dimension in a file
 *
 * A name is a symbol of its own, even "batch-size". Only what has the look of arithmetic, as
 * irscope and PyTorch write it ("2*n + 1", "floordiv(n, 2)"), is taken apart; "?" is no name.
 *
 * Returns: the dimension
 */
IrDim
ir_draft_dim (IrContext *context, const char *text)
{
  IrDim dim = IR_DIM_UNKNOWN;

  if (is_no_name (text))
    return IR_DIM_UNKNOWN;
  if (strpbrk (text, " *()") != NULL)
    dim = ir_dim_parse (context, text);
  return dim != IR_DIM_UNKNOWN ? dim : ir_dim_symbol (context, text);
}

/**
 * ir_draft_scope_of_name:
 * @context: a context
 * @node_name: name of a node
 *
 * The module path in an exporter's node name: of "/encoder/layer.0/attention/MatMul" it is
 * "encoder/layer.0/attention".
 *
 * Returns: (transfer none): interned, "" if the name has no path
 */
const char *
ir_draft_scope_of_name (IrContext *context, const char *node_name)
{
  const char *start = node_name, *last = strrchr (node_name, '/');

  while (*start == '/')
    start++;
  while (last != NULL && last > start && last[-1] == '/')
    last--;
  if (last == NULL || last <= start)
    return ir_context_intern (context, "");
  return ir_context_intern_len (context, start, last - start);
}

static const char *const *
split_after (IrDraft *draft, const char *text)
{
  g_auto (GStrv) parts = g_strsplit (text, "\n", -1);
  guint n = g_strv_length (parts);
  const char **after = ir_arena_alloc (draft->arena, sizeof (char *) * (n + 1));

  for (guint i = 0; i < n; i++)
    after[i] = ir_context_intern (draft->context, parts[i]);
  return after;
}

/* PyTorch's exporter lists the modules around a node, outermost first, and then the node itself:
 * "['', 'encoder', 'encoder.layer.0', 'add_3']". */
static const char *
scope_of_modules (IrContext *context, const char *list)
{
  g_auto (GStrv) parts = g_strsplit (list, "'", -1);
  const char *found = "";
  g_autofree char *path = NULL;
  guint n = g_strv_length (parts);

  /* Between quotes are the odd parts; the last of them is the node. */
  for (guint i = 1; i + 2 < n; i += 2)
    if (i + 2 < n - 1 && parts[i][0] != '\0')
      found = parts[i];
  path = g_strdup (found);
  return ir_context_intern (context, g_strdelimit (path, ".", '/'));
}

/**
 * ir_draft_node_take_metadata:
 * @draft: a draft
 * @node: its extra is set
 *
 * Moves what irscope itself has put into the metadata back into the fields of the node.
 */
void
ir_draft_node_take_metadata (IrDraft *draft, IrDraftNode *node)
{
  const IrProps *props = node->extra != NULL ? node->extra->props : NULL;

  if (props == NULL)
    return;
  g_autoptr (GPtrArray) keys = g_ptr_array_new ();
  g_autoptr (GPtrArray) values = g_ptr_array_new ();

  for (guint i = 0; i < props->n; i++)
    {
      const char *key = props->pairs[i].key, *value = props->pairs[i].value;

      if (strcmp (key, IR_META_SCOPE) == 0)
        node->scope = ir_context_intern (draft->context, value);
      else if (strcmp (key, IR_META_DEVICE) == 0)
        node->device = ir_context_intern (draft->context, value);
      else if (strcmp (key, IR_META_AFTER) == 0)
        node->after = split_after (draft, value);
      else
        {
          g_ptr_array_add (keys, (gpointer) key);
          g_ptr_array_add (values, (gpointer) value);
        }
    }
  if (node->scope == NULL && strchr (node->name, '/') == NULL &&
      ir_props_get (props, META_MODULES) != NULL)
    node->scope = scope_of_modules (draft->context, ir_props_get (props, META_MODULES));
  if (keys->len == props->n)
    return;
  props = keys->len == 0
              ? NULL
              : ir_props_new (draft->context, keys->len, (const char *const *) keys->pdata,
                              (const char *const *) values->pdata);
  node->extra = ir_extra_new (draft->context, node->extra->doc, props, node->extra->unknown);
}

static char *
join_after (const IrNode *node)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < node->controls->n; i++)
    {
      const IrNode *before = ir_model_node (node->graph->model, node->controls->ids[i]);
      const IrValue *output = NULL;

      for (guint o = 0; before != NULL && o < before->n_outputs && output == NULL; o++)
        output = before->outputs[o];
      const char *name = output != NULL ? output->name : before != NULL ? before->name : "";
      if (*name != '\0')
        g_string_append_printf (text, "%s%s", text->len > 0 ? "\n" : "", name);
    }
  return g_string_free (text, FALSE);
}

/**
 * ir_node_extra_to_write:
 * @node: a node
 *
 * What a file must say beside the node: its documentation and metadata, and with them scope, device
 * and control edges, for which ONNX has no field.
 *
 * Returns: (transfer none) (nullable): in the model's context
 */
const IrExtra *
ir_node_extra_to_write (const IrNode *node)
{
  IrContext *context = node->graph->model->context;
  const IrExtra *extra = node->extra;
  g_autoptr (GPtrArray) keys = g_ptr_array_new ();
  g_autoptr (GPtrArray) values = g_ptr_array_new ();
  g_autofree char *after = NULL;

  if (strcmp (node->scope, ir_draft_scope_of_name (context, node->name)) != 0)
    {
      g_ptr_array_add (keys, (gpointer) IR_META_SCOPE);
      g_ptr_array_add (values, (gpointer) node->scope);
    }
  if (node->device[0] != '\0')
    {
      g_ptr_array_add (keys, (gpointer) IR_META_DEVICE);
      g_ptr_array_add (values, (gpointer) node->device);
    }
  if (node->controls != NULL && node->controls->n > 0)
    {
      after = join_after (node);
      g_ptr_array_add (keys, (gpointer) IR_META_AFTER);
      g_ptr_array_add (values, after);
    }
  if (keys->len == 0)
    return extra;
  for (guint i = 0; extra != NULL && extra->props != NULL && i < extra->props->n; i++)
    {
      g_ptr_array_insert (keys, (gint) i, (gpointer) extra->props->pairs[i].key);
      g_ptr_array_insert (values, (gint) i, (gpointer) extra->props->pairs[i].value);
    }
  return ir_extra_new (context, extra != NULL ? extra->doc : NULL,
                       ir_props_new (context, keys->len, (const char *const *) keys->pdata,
                                     (const char *const *) values->pdata),
                       extra != NULL ? extra->unknown : NULL);
}
