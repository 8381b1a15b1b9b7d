/* docs/OPS.md out of the op table. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/op.h"
#include <string.h>

/* clang-format off */
static const struct
{
  IrOpId op;
  gboolean ref; /* there is a reference kernel */
} rows[IR_N_OPS] = { [IR_OP_NONE] = { .op = IR_OP_NONE
#define IR_OP(ID, NAME, ...) }, [IR_OP_##ID] = { .op = IR_OP_##ID
#define REF(kernel) , .ref = TRUE
#include "core/op/ops.def"
} };
/* clang-format on */

static void
append_title (GString *text, const char *name)
{
  g_string_append_printf (text, "\n## %c%s\n\n", g_ascii_toupper (name[0]), name + 1);
}

/* "X W B?" as a list in code style. */
static void
append_names (GString *text, const char *label, const char *names)
{
  g_auto (GStrv) words = g_strsplit (names != NULL ? names : "", " ", -1);
  g_string_append_printf (text, "- %s: ", label);
  if (words[0] == NULL)
    g_string_append (text, "none");
  for (guint i = 0; words[i] != NULL; i++)
    {
      char *mark = strpbrk (words[i], "?*");
      const char *note = mark == NULL ? "" : *mark == '?' ? " (optional)" : " (any number)";
      if (mark != NULL)
        *mark = '\0';
      g_string_append_printf (text, "%s`%s`%s", i > 0 ? ", " : "", words[i], note);
    }
  g_string_append_c (text, '\n');
}

static void
append_attrs (GString *text, const IrOp *op)
{
  for (const IrAttrSpec *spec = op->attrs; spec != NULL && spec->name != NULL; spec++)
    {
      g_string_append_printf (text, "- Attribute `%s` (%s", spec->name,
                              ir_attr_kind_name (spec->kind));
      if (spec->required)
        g_string_append (text, ", required");
      else if (spec->fallback != NULL)
        g_string_append_printf (text, ", default %s", spec->fallback);
      g_string_append_printf (text, "): %s\n", spec->doc);
    }
}

static void
append_facts (GString *text, const IrOp *op)
{
  static const struct
  {
    IrOpFlags flag;
    const char *text;
  } facts[] = {
    { IR_OP_COMMUTES, "its first two inputs may be swapped" },
    { IR_OP_ELEMENTWISE, "works element by element" },
    { IR_OP_VIEW, "moves no data" },
    { IR_OP_INPLACE, "may write over its first input" },
    { IR_OP_RANDOM, "is random" },
    { IR_OP_SUBGRAPHS, "owns graphs" },
    { IR_OP_IDEMPOTENT, "changes nothing when applied again" },
    { IR_OP_INVOLUTION, "undoes itself when applied again" },
    { IR_OP_TOTAL, "never fails on contents" },
    { IR_OP_TOTAL_FLOAT, "never fails on floating-point contents" },
  };
  GString *list = g_string_new (NULL);
  for (guint i = 0; i < G_N_ELEMENTS (facts); i++)
    if ((op->flags & facts[i].flag) != 0)
      g_string_append_printf (list, "%s%s", list->len > 0 ? "; " : "", facts[i].text);
  if (!rows[op->id].ref)
    g_string_append_printf (list, "%shas no reference kernel", list->len > 0 ? "; " : "");
  if (list->len > 0)
    g_string_append_printf (text, "- Facts: %s\n", list->str);
  g_string_free (list, TRUE);
}

static guint
count_families (void)
{
  gboolean seen[IR_N_FAMILIES] = { FALSE };
  guint n = 0;
  for (guint id = 1; id < ir_op_n (); id++)
    {
      IrOpFamily family = ir_op_by_id ((IrOpId) id)->family;
      n += !seen[family];
      seen[family] = TRUE;
    }
  return n;
}

static void
append_op (GString *text, const IrOp *op)
{
  g_string_append_printf (text, "### %s%s%s\n\n%s\n\n", op->domain != NULL ? op->domain : "",
                          op->domain != NULL ? "." : "", op->name, op->doc);
  g_string_append_printf (text, "- Since opset %" G_GINT64_FORMAT, op->since);
  if (op->until != 0)
    g_string_append_printf (text, ", until %" G_GINT64_FORMAT, op->until);
  g_string_append_c (text, '\n');
  append_names (text, "Inputs", op->in_names);
  append_names (text, "Outputs", op->out_names);
  append_attrs (text, op);
  append_facts (text, op);
  g_string_append_c (text, '\n');
}

/**
 * ir_ops_markdown:
 *
 * Writes the documentation of all operators, by family and in the order of the table.
 *
 * Returns: (transfer full): Markdown text; the same for the same table
 */
char *
ir_ops_markdown (void)
{
  GString *text = g_string_new (
      "# Operators\n\n"
      "Generated from `core/op/*.def` by `irscope ops --markdown`; edit the "
      "rows there.\n");
  g_string_append_printf (text,
                          "%u operators in %u families. Models of older opsets are adapted to "
                          "the forms described here.\n",
                          ir_op_n () - 1, count_families ());
  for (int family = 0; family < IR_N_FAMILIES; family++)
    {
      gboolean titled = FALSE;
      for (guint id = 1; id < ir_op_n (); id++)
        {
          const IrOp *op = ir_op_by_id ((IrOpId) id);
          if ((int) op->family != family)
            continue;
          if (!titled)
            {
              append_title (text, ir_op_family_name ((IrOpFamily) family));
              g_string_append_printf (text, "%s.\n\n", ir_op_family_doc ((IrOpFamily) family));
              titled = TRUE;
            }
          append_op (text, op);
        }
    }
  g_string_truncate (text, text->len - 1); /* the empty line behind the last one */
  return g_string_free (text, FALSE);
}
