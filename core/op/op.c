/* The rows of ops.def as a constant table, and the few questions that one asks of it. */
#include "config.h"

#include "core/op/check.h"

#include "core/op/rows.h"
#include <string.h>

/* clang-format off */
static const IrOp ops[IR_N_OPS] = { [IR_OP_NONE] = { .id = IR_OP_NONE
#define IR_OP(ID, NAME, ...) }, [IR_OP_##ID] = { .id = IR_OP_##ID, .name = NAME, __VA_ARGS__
#define SHORT(name) , .brief = name
#define INFER(function) , .infer = function
#define COST(function) , .cost = function
#define BYTES(function) , .bytes = function
#define SUBGRAPH_INPUT(function) , .subgraph_input = function
#define CARRIED(function) , .carried = function
#define COMPOSE(function) , .compose = function
#define TOKENS(rule) , .tokens = IR_TOKENS_##rule
#define ADAPT(below, function) , .adapt = { { below, function } }
#define ADAPT_2(u1, f1, u2, f2) , .adapt = { { u1, f1 }, { u2, f2 } }
#define ADAPT_3(u1, f1, u2, f2, u3, f3) , .adapt = { { u1, f1 }, { u2, f2 }, { u3, f3 } }
#include "core/op/ops.def"
} };

/* Row ids by ascending name: made by sort-names.c from the same table. */
static const guint16 by_name[] = {
#include "core/op/op-index.inc"
};

static const struct
{
  const char *name, *doc;
} families[IR_N_FAMILIES] = {
#define F(ID, NAME, DOC) [IR_FAMILY_##ID] = { NAME, DOC },
  IR_OP_FAMILIES (F)
#undef F
};
/* clang-format on */

static const char *
op_domain (const IrOp *op)
{
  return op->domain != NULL ? op->domain : "";
}

/* "ai.onnx" is another spelling of the default domain. */
static const char *
canonical_domain (const char *domain)
{
  return domain == NULL || strcmp (domain, "ai.onnx") == 0 ? "" : domain;
}

/**
 * ir_op_find:
 * @domain: (nullable): operator domain; %NULL, "" and "ai.onnx" are the same
 * @name: operator type, e.g. "MatMul"
 *
 * Looks up the row of an operator. Complexity: O(log rows).
 *
 * Returns: (transfer none) (nullable): the row, or %NULL if the operator is not known
 */
const IrOp *
ir_op_find (const char *domain, const char *name)
{
  g_return_val_if_fail (name != NULL, NULL);

  /* First row whose name is not below @name; rows of other domains may share it. */
  gsize low = 0, high = G_N_ELEMENTS (by_name);
  while (low < high)
    {
      gsize middle = low + (high - low) / 2;
      if (strcmp (ops[by_name[middle]].name, name) < 0)
        low = middle + 1;
      else
        high = middle;
    }
  domain = canonical_domain (domain);
  for (; low < G_N_ELEMENTS (by_name); low++)
    {
      const IrOp *op = &ops[by_name[low]];
      if (strcmp (op->name, name) != 0)
        return NULL;
      if (strcmp (op_domain (op), domain) == 0)
        return op;
    }
  return NULL;
}

/**
 * ir_op_by_id:
 * @id: a row's id
 *
 * Returns: (transfer none) (nullable): the row; %NULL for %IR_OP_NONE and what is out of range
 */
const IrOp *
ir_op_by_id (IrOpId id)
{
  return (guint) id > 0 && (guint) id < IR_N_OPS ? &ops[id] : NULL;
}

/**
 * ir_op_n:
 *
 * Returns: one more than the largest id of a row
 */
guint
ir_op_n (void)
{
  return IR_N_OPS;
}

/**
 * ir_op_family_name:
 * @family: a family
 *
 * Returns: (transfer none): its name in lower case, for style classes and JSON
 */
const char *
ir_op_family_name (IrOpFamily family)
{
  return (guint) family < IR_N_FAMILIES ? families[family].name : "other";
}

/**
 * ir_op_family_doc:
 * @family: a family
 *
 * Returns: (transfer none): what its operators have in common, without a final period
 */
const char *
ir_op_family_doc (IrOpFamily family)
{
  return (guint) family < IR_N_FAMILIES ? families[family].doc : "";
}

/**
 * ir_op_attr:
 * @op: a row
 * @name: name of an attribute
 *
 * Returns: (transfer none) (nullable): what the row says about the attribute
 */
const IrAttrSpec *
ir_op_attr (const IrOp *op, const char *name)
{
  g_return_val_if_fail (op != NULL, NULL);
  for (const IrAttrSpec *spec = op->attrs; spec != NULL && spec->name != NULL; spec++)
    if (strcmp (spec->name, name) == 0)
      return spec;
  return NULL;
}

/* The word for @slot out of "X W B?"; a word with '*' stands for all that follow. */
static char *
slot_name (const char *names, guint slot, const char *what)
{
  g_auto (GStrv) words = g_strsplit (names != NULL ? names : "", " ", -1);
  guint n = g_strv_length (words);
  gboolean variadic = n > 0 && g_str_has_suffix (words[n - 1], "*");
  if (variadic && slot >= n - 1)
    {
      g_autofree char *stem = g_strndup (words[n - 1], strlen (words[n - 1]) - 1);
      return g_strdup_printf ("%s %u", stem, slot - (n - 1));
    }
  if (slot >= n)
    return g_strdup_printf ("%s %u", what, slot);
  if (g_str_has_suffix (words[slot], "?"))
    words[slot][strlen (words[slot]) - 1] = '\0';
  return g_strdup (words[slot]);
}

/**
 * ir_op_input_name:
 * @op: a row
 * @slot: input slot, 0-based
 *
 * Returns: (transfer full): the formal name, "data_0 2" for the third of a variadic input, or
 *   "input 7" beyond what the row names
 */
char *
ir_op_input_name (const IrOp *op, guint slot)
{
  g_return_val_if_fail (op != NULL, NULL);
  return slot_name (op->in_names, slot, "input");
}

/**
 * ir_op_input_is_optional:
 * @op: a row
 * @slot: input slot, 0-based
 *
 * Returns: whether the row's word for the input says that it may be left out, wherever it stands;
 *   those of a variadic input may not
 */
gboolean
ir_op_input_is_optional (const IrOp *op, guint slot)
{
  const char *word = op->in_names != NULL ? op->in_names : "";

  for (guint i = 0; i < slot; i++)
    {
      const char *end = strchr (word, ' ');
      if (end == NULL)
        return FALSE;
      word = end + 1;
    }
  gsize length = strcspn (word, " ");
  return length > 0 && word[length - 1] == '?';
}

/**
 * ir_op_least_inputs:
 * @op: a row
 *
 * Returns: how many inputs a node must have, where optional ones at the end of those that the row
 *   asks for may as well not stand there: Loop (n) is Loop (n, "")
 */
guint
ir_op_least_inputs (const IrOp *op)
{
  guint n = (guint) MAX (op->in.min, 0);

  while (n > 0 && ir_op_input_is_optional (op, n - 1))
    n--;
  return n;
}

/**
 * ir_op_output_name:
 * @op: a row
 * @slot: output slot, 0-based
 *
 * Returns: (transfer full): the formal name, as ir_op_input_name()
 */
char *
ir_op_output_name (const IrOp *op, guint slot)
{
  g_return_val_if_fail (op != NULL, NULL);
  return slot_name (op->out_names, slot, "output");
}

/**
 * ir_op_is:
 * @node: a node
 * @id: a row's id
 *
 * Returns: whether @node is an application of that row's operator, and fits the row
 */
gboolean
ir_op_is (const IrNode *node, IrOpId id)
{
  return node->op != NULL && node->op->id == id && ir_node_is_valid (node);
}
