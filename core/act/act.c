/* The table of acts, and how one becomes a step. */
#include "config.h"

#include "core/act/act-private.h"
#include "core/io/io.h"
#include "core/ir/reconcile.h"
#include "core/op/infer.h"

#include <string.h>

/**
 * ir_act_error_quark:
 *
 * Returns: the domain of the errors of acts
 */
GQuark
ir_act_error_quark (void)
{
  return g_quark_from_static_string ("ir-act-error-quark");
}

#define ANY G_MAXUINT

/* clang-format off */
static const IrAct rows[] = {
  { "add", "Add Node", "OP [VALUE..] [ATTR=TEXT..] [name=NAME] [in=NODE:ATTR]", 1, ANY,
    "Adds a node that reads the values, '-' for one that is left open; attributes that it needs have defaults.", act_add },
  { "connect", "Connect", "VALUE NODE [INPUT]", 2, 3,
    "Lets an input of the node, by its name or number, read the value; without INPUT the first open one that it fits.", act_connect },
  { "disconnect", "Disconnect", "NODE INPUT", 2, 2,
    "Leaves an input of the node open.", act_disconnect },
  { "replace", "Replace Value", "VALUE OTHER", 2, 2,
    "Lets everything that reads the value read the other one; an output of the graph keeps its name.", act_replace },
  { "insert", "Insert Node", "OP VALUE [at=NODE:INPUT] [ATTR=TEXT..]", 2, ANY,
    "Puts a node behind the value, before all that reads it, or before that input alone.", act_insert },
  { "bypass", "Bypass Node", "NODE..", 1, ANY,
    "Removes the node and lets what read its output read its input.", act_bypass },
  { "delete", "Delete", "NODE..", 1, ANY,
    "Removes nodes, with the constants that nothing else reads; what read them is left open.", act_delete },
  { "rename", "Rename Node", "NODE NAME", 2, 2,
    "Gives the node a name.", act_rename },
  { "duplicate", "Duplicate", "NODE..", 1, ANY,
    "Adds the same nodes again, which read what these read.", act_duplicate },
  { "set", "Set Attribute", "NODE ATTR=TEXT..", 2, ANY,
    "Sets attributes of the node: a number, text, a list as 1,2,3, or a tensor as float[2] {1,2}.", act_set },
  { "unset", "Remove Attribute", "NODE ATTR..", 2, ANY,
    "Removes attributes, which have their defaults then.", act_unset },
  { "gradient", "Mark Gradient", "NODE HOW", 2, 2,
    "Says how the node is derived: stop (its outputs count as constant), straight-through (as the identity) or plain.", act_mark_gradient },
  { "rename-value", "Rename Value", "VALUE NAME", 2, 2,
    "Gives the value a name; of inputs and outputs it is that of the model's interface.", act_rename_value },
  { "type", "Set Type", "VALUE TYPE", 2, 2,
    "Says what the element type and shape of a value are, such as float[batch,3,?].", act_set_type },
  { "dtype", "Change Element Type", "VALUE DTYPE", 2, 2,
    "Changes the element type of an input or a constant, whose elements are converted; behind a computed value a Cast is put.", act_set_dtype },
  { "convert", "Convert Model", "FROM TO", 2, 2,
    "Changes one element type into another in all of the model: inputs, constants, attributes.", act_convert },
  { "constant", "Set Constant", "VALUE CONTENTS", 2, 2,
    "Gives a constant, or an input that becomes one, its contents: a .npy or .pb file, 1,2,3, or float[3] {1,2,3}.", act_set_constant },
  { "weights", "Take Weights", "FILE", 1, 1,
    "Gives the model's constants what those of the same name hold in another file, such as one that was trained.", act_take_weights },
  { "add-constant", "Add Constant", "NAME CONTENTS [in=NODE:ATTR]", 2, 3,
    "Adds a constant: a .npy or .pb file, a number, or float[3] {1,2,3}.", act_add_constant },
  { "input", "Add Input", "NAME TYPE", 2, 2,
    "Adds an input to the graph.", act_add_input },
  { "output", "Make Output", "VALUE [NAME]", 1, 2,
    "Makes the value an output of the graph.", act_add_output },
  { "remove", "Remove Input, Output or Constant", "VALUE", 1, 1,
    "Removes an input or a constant, and leaves open what read it; of a computed value, that it is an output.", act_remove },
  { "dim", "Fix Size", "SYMBOL SIZE", 2, 2,
    "Gives a free size of the inputs a number.", act_fix_size },
  { "opset", "Change Opset", "VERSION [DOMAIN]", 1, 2,
    "Changes the version of the operators, where no node of the model means something else then.", act_set_opset },
  { "wrap", "Wrap as Function", "NAME NODE..", 2, ANY,
    "Makes nodes a function of the model, and puts a call in their place.", act_wrap },
  { "paste", "Paste", "TEXT [in=NODE:ATTR]", 1, 2,
    "Adds the nodes of a graph in ONNX text; its inputs are values of the same name, or become inputs.", act_paste },
};
/* clang-format on */

/**
 * ir_acts:
 * @n: (out): how many
 *
 * Returns: (array length=n) (transfer none): the table
 */
const IrAct *
ir_acts (guint *n)
{
  *n = G_N_ELEMENTS (rows);
  return rows;
}

/**
 * ir_act_find:
 * @name: name of an act
 *
 * Returns: (transfer none) (nullable): its row
 */
const IrAct *
ir_act_find (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (strcmp (rows[i].name, name) == 0)
      return &rows[i];
  return NULL;
}

/**
 * ir_act_done_clear:
 * @done: what an act has done
 *
 * Frees what is in it.
 */
void
ir_act_done_clear (IrActDone *done)
{
  g_clear_pointer (&done->nodes, g_array_unref);
}

/* -- messages -- */

gboolean
act_refuse (GError **error, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  if (error != NULL && *error == NULL)
    *error = g_error_new_valist (IR_ACT_ERROR, IR_ACT_ERROR_REFUSED, format, args);
  va_end (args);
  return FALSE;
}

gboolean
act_misread (GError **error, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  if (error != NULL && *error == NULL)
    *error = g_error_new_valist (IR_ACT_ERROR, IR_ACT_ERROR_USAGE, format, args);
  va_end (args);
  return FALSE;
}

char *
act_value_label (const IrValue *value)
{
  const IrType *type = ir_value_shown_type (value);
  g_autofree char *text = type != NULL ? ir_type_to_string (value->graph->model->context, type)
                                       : NULL;

  return text != NULL ? g_strdup_printf ("%s (%s)", value->name, text) : g_strdup (value->name);
}

/* -- finding -- */

static gboolean
parse_id (const char *word, guint32 *id)
{
  gint64 n;

  if (word[0] != '#' || !g_ascii_string_to_signed (word + 1, 10, 1, G_MAXINT32, &n, NULL))
    return FALSE;
  *id = (guint32) n;
  return TRUE;
}

static IrValue *
find_value (const IrModel *model, const char *word)
{
  guint32 id;
  IrValue *found = parse_id (word, &id) ? ir_model_live_value (model, id) : NULL;

  for (guint i = 1; i < model->graphs->len && found == NULL; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];

      if (graph->state == IR_STATE_LIVE)
        found = ir_graph_find_value (graph, word);
    }
  return found;
}

static IrNode *
find_node (const IrModel *model, const char *word)
{
  guint32 id;
  IrNode *found = parse_id (word, &id) ? ir_model_live_node (model, id) : NULL;

  for (guint i = 1; i < model->graphs->len && found == NULL && word[0] != '\0'; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];

      if (graph->state == IR_STATE_LIVE)
        found = ir_graph_find_node (graph, word);
    }
  return found;
}

/* A node by its name, by "#N" for its id, or by the name of a value that it computes. */
IrNode *
act_node (const IrModel *model, const char *word, GError **error)
{
  IrNode *found = find_node (model, word);
  const IrValue *value;

  if (found != NULL)
    return found;
  value = word[0] != '#' ? find_value (model, word) : NULL;
  if (value != NULL && value->producer != NULL)
    return value->producer;
  g_set_error (error, IR_ACT_ERROR, IR_ACT_ERROR_NOT_FOUND,
               "there is no node '%s'; give a node's name, #N for its id, or the name of what it "
               "computes",
               word);
  return NULL;
}

IrValue *
act_value (const IrModel *model, const char *word, GError **error)
{
  IrValue *found = find_value (model, word);
  const IrNode *node = found == NULL && word[0] != '#' ? find_node (model, word) : NULL;

  if (node != NULL)
    found = ir_node_output (node, 0);
  if (found == NULL)
    g_set_error (error, IR_ACT_ERROR, IR_ACT_ERROR_NOT_FOUND,
                 "there is no value '%s'; give a value's name, #N for its id, or the name of the "
                 "node that computes it",
                 word);
  return found;
}

/* A branch or body: "NODE:ATTR"; "" is the main graph. */
IrGraph *
act_graph (const IrModel *model, const char *word, GError **error)
{
  const char *colon = strrchr (word, ':');
  g_autofree char *name = NULL;
  IrNode *node;
  IrGraph *graph;

  if (word[0] == '\0')
    return model->main;
  if (colon == NULL)
    {
      act_misread (error, "in=%s: needs NODE:ATTR, such as if_1:then_branch", word);
      return NULL;
    }
  name = g_strndup (word, (gsize) (colon - word));
  node = act_node (model, name, error);
  if (node == NULL)
    return NULL;
  graph = ir_node_attr_graph (node, colon + 1);
  if (graph == NULL)
    {
      g_autofree char *label = ir_node_label (node);

      g_set_error (error, IR_ACT_ERROR, IR_ACT_ERROR_NOT_FOUND, "%s: has no graph '%s'", label,
                   colon + 1);
    }
  return graph;
}

const char *
act_option (const char *word, const char *key)
{
  const gsize length = strlen (key);

  return strncmp (word, key, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

void
act_show_node (IrActing *acting, const IrNode *node)
{
  g_array_append_val (acting->done->nodes, node->id);
}

/* -- doing -- */

static gboolean
check_words (const IrAct *act, guint n, GError **error)
{
  if (n >= act->least && n <= act->most)
    return TRUE;
  return act_misread (error, "%s: has %u words; needs %s %s", act->name, n, act->name, act->words);
}

#define MAX_REASON 120 /* characters: a pasted text is longer */

/* A node or value by its id, as people know it; other words as they are. (transfer full) */
static char *
readable_word (const IrModel *model, const char *word, const char *meaning)
{
  const IrNode *node;
  const IrValue *value;
  guint32 id;

  if (strpbrk (word, "\n\r") != NULL)
    return g_strdup ("a text");
  if (!parse_id (word, &id))
    return g_strdup (word);
  node = strstr (meaning, "NODE") != NULL ? ir_model_live_node (model, id) : NULL;
  value = node == NULL && strstr (meaning, "VALUE") != NULL ? ir_model_live_value (model, id)
                                                            : NULL;
  return node != NULL    ? ir_node_label (node)
         : value != NULL ? g_strdup (value->name)
                         : g_strdup (word);
}

/* As it was asked for. */
static void
explain (IrActing *acting, const IrAct *act)
{
  g_auto (GStrv) meanings = g_strsplit (act->words, " ", -1);
  g_autoptr (GString) text = g_string_new (act->name);
  g_autofree char *reason = NULL;

  for (guint i = 0; i < acting->n_words; i++)
    {
      const guint last = g_strv_length (meanings) - 1;
      const gboolean known = i <= last && meanings[MIN (i, last)][0] != '[';
      g_autofree char *word = readable_word (acting->model, acting->words[i],
                                             known ? meanings[i] : act->words);

      g_string_append_printf (text, " %s", word);
    }
  if (g_utf8_validate (text->str, -1, NULL))
    reason = g_utf8_substring (text->str, 0, MIN (g_utf8_strlen (text->str, -1), MAX_REASON));
  ir_edit_step_reason (acting->edit, "%s", reason != NULL ? reason : act->name);
}

/**
 * ir_act_do:
 * @edit: an edit that records, inside of a pass run
 * @words: (array zero-terminated=1): the name of an act, and its arguments
 * @done: (out): what it has made or changed; freed by ir_act_done_clear()
 * @problems: (nullable): list that findings about types are added to
 * @error: return location for an error
 *
 * Does the act as one step whose rule is its name, and infers types anew behind what it changed. If
 * it fails nothing has changed.
 *
 * Returns: whether it was done
 */
gboolean
ir_act_do (
    IrEdit *edit, const char *const *words, IrActDone *done, GPtrArray *problems, GError **error)
{
  IrActing acting = { .edit = edit, .model = ir_edit_model (edit), .done = done };
  const IrAct *act = words[0] != NULL ? ir_act_find (words[0]) : NULL;
  gboolean ok;

  *done = (IrActDone){ g_array_new (FALSE, FALSE, sizeof (IrNodeId)), 0 };
  if (act == NULL)
    {
      g_set_error (error, IR_ACT_ERROR, IR_ACT_ERROR_NOT_FOUND,
                   "there is no act '%s'; 'irscope edit --acts' lists them",
                   words[0] != NULL ? words[0] : "");
      return FALSE;
    }
  acting.words = words + 1;
  acting.n_words = g_strv_length ((char **) acting.words);
  if (!check_words (act, acting.n_words, error))
    return FALSE;
  ir_edit_begin_step (edit, act->name, IR_CLASS_EDIT, 0);
  explain (&acting, act);
  ok = act->run (&acting, error);
  if (ok)
    {
      ir_reconcile_forget_types (edit);
      ir_infer_model (edit, IR_INFER_DEFAULT, problems);
    }
  if (ok)
    ir_edit_end_step (edit);
  else
    ir_edit_abort_step (edit);
  return ok;
}

/**
 * ir_act_new_model:
 *
 * Returns: (transfer full): an empty graph, to be built
 */
IrModel *
ir_act_new_model (void)
{
  static const char empty[] = "<ir_version: 8, opset_import: [\"\": 17]>\n"
                              "new_graph () => () {\n}\n";
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  IrModel *model = ir_text_read (empty, -1, problems, NULL);

  return model != NULL ? model : ir_model_new ();
}

/**
 * ir_act_apply_text:
 * @edit: of the graph whose text was edited
 * @target: what the text says, as ir_text_read_over() reads it
 * @problems: (element-type IrProblem): gets what types have wrong
 *
 * Makes one step, which keeps the ids of what is the same.
 */
void
ir_act_apply_text (IrEdit *edit, IrModel *target, GPtrArray *problems)
{
  ir_edit_begin_step (edit, "apply-text", IR_CLASS_EDIT, 0);
  ir_edit_step_reason (edit, "The text was edited.");
  ir_reconcile (edit, target);
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  ir_edit_end_step (edit);
}
