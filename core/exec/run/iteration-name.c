/* Names of iterations are read from the end: the value is found first, and says which loops it is in. */
#include "config.h"

#include "core/exec/run/iteration-name.h"

#include "core/exec/kernel/backend.h"
#include "core/exec/run/iterations.h"
#include "core/ir/frames.h"
#include "core/op/op.h"

#include <string.h>

/* A loop around a value. */
typedef struct
{
  char *name;
  IrNodeId node; /* 0: a frame of tokens */
} Loop;

static void
loop_clear (gpointer data)
{
  g_free (((Loop *) data)->name);
}

/* -- the loops around a value -- */

/* From the inside out. */
static void
add_frames (GArray *loops, const IrFrames *frames, guint frame)
{
  for (; frame != 0; frame = g_array_index (frames->frames, IrFrame, frame).parent)
    {
      const Loop loop = { g_strdup (g_array_index (frames->frames, IrFrame, frame).name), 0 };
      g_array_append_val (loops, loop);
    }
}

/* Whether @graph is what @owner runs again and again. */
static gboolean
is_repeated (const IrNode *owner, const IrGraph *graph)
{
  return owner->op != NULL && ir_node_attr_graph (owner, "body") == graph &&
         !ir_op_is (owner, IR_OP_TOKEN_GRAPH);
}

/* (transfer full): of Loop, from the inside out */
static GArray *
loops_of (const IrValue *value)
{
  GArray *loops = g_array_new (FALSE, FALSE, sizeof (Loop));
  const IrGraph *graph = value->graph;
  const IrNode *node = NULL;

  g_array_set_clear_func (loops, loop_clear);
  while (graph != NULL)
    {
      g_autoptr (IrFrames) frames = ir_graph_has_tokens (graph) ? ir_frames_new (graph) : NULL;
      if (frames != NULL)
        add_frames (loops, frames,
                    node == NULL ? ir_frames_value_frame (frames, value)
                                 : frames->frame_of[node->id]);
      node = graph->kind == IR_GRAPH_SUBGRAPH ? ir_model_live_node (graph->model, graph->owner)
                                              : NULL;
      if (node != NULL && is_repeated (node, graph))
        {
          const Loop loop = { ir_loop_name (node), node->id };
          g_array_append_val (loops, loop);
        }
      graph = node != NULL ? node->graph : NULL;
    }
  return loops;
}

/* (transfer full) (nullable) @join: what stands behind each of them but the last */
static char *
loops_text (const IrValue *value, const char *join)
{
  g_autoptr (GArray) loops = loops_of (value);
  GString *text = g_string_new (NULL);

  for (guint i = loops->len; i > 0; i--)
    g_string_append_printf (text, "%s%s", g_array_index (loops, Loop, i - 1).name,
                            i > 1 ? join : "");
  return g_string_free (text, loops->len == 0);
}

/**
 * ir_value_loops:
 * @value: a value
 *
 * Returns: (transfer full) (nullable): the loops that it is computed in, "outer/inner"; %NULL: none
 */
char *
ir_value_loops (const IrValue *value)
{
  return loops_text (value, "/");
}

/**
 * ir_value_loop:
 * @value: a value
 *
 * Returns: (transfer full) (nullable): the innermost loop that it is computed in; %NULL: none
 */
char *
ir_value_loop (const IrValue *value)
{
  g_autoptr (GArray) loops = loops_of (value);

  return loops->len > 0 ? g_strdup (g_array_index (loops, Loop, 0).name) : NULL;
}

static void
add_name (GPtrArray *names, char *name)
{
  if (g_ptr_array_find_with_equal_func (names, name, g_str_equal, NULL))
    g_free (name);
  else
    g_ptr_array_add (names, name);
}

/**
 * ir_model_loop_names:
 * @model: a model
 *
 * Returns: (transfer full) (element-type utf8): the loops of its graphs, bodies and functions, and its frames of
 *   tokens, each by itself and once
 */
GPtrArray *
ir_model_loop_names (const IrModel *model)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      g_autoptr (IrFrames) frames = graph->state == IR_STATE_LIVE && ir_graph_has_tokens (graph)
                                        ? ir_frames_new (graph)
                                        : NULL;

      for (guint k = 1; frames != NULL && k < frames->frames->len; k++)
        add_name (names, g_strdup (g_array_index (frames->frames, IrFrame, k).name));
    }
  for (IrNodeId id = 1; id < model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (model, id);
      const IrGraph *body = node != NULL ? ir_node_attr_graph (node, "body") : NULL;

      if (body != NULL && is_repeated (node, body))
        add_name (names, ir_loop_name (node));
    }
  return names;
}

/* -- reading -- */

/* What follows @name in @text; (nullable): it is not there */
static const char *
behind (const char *text, const char *name)
{
  while (*name != '\0')
    {
      text += *text == '\\' && (text[1] == '/' || text[1] == '@');
      if (*text++ != *name++)
        return NULL;
    }
  return text;
}

static const char *
behind_loop (const char *text, const Loop *loop)
{
  g_autofree char *id = g_strdup_printf ("#%u", loop->node);
  const char *rest = behind (text, loop->name);

  return rest != NULL ? rest : loop->node != 0 ? behind (text, id) : NULL;
}

/* "@7/", "/" or the end; @iteration: -1 where none is given */
static const char *
behind_iteration (const char *text, gint64 *iteration)
{
  char *end = (char *) text;

  *iteration = -1;
  if (*text == '@' && g_ascii_isdigit (text[1]))
    *iteration = g_ascii_strtoll (text + 1, &end, 10);
  return *end == '/' ? end + 1 : NULL;
}

/* Whether @text, which ends with a slash, names all of @loops. */
static gboolean
read_loops (const char *text, const GArray *loops, IrIterationName *name)
{
  g_autoptr (GString) frame = g_string_new (NULL);
  gint64 before = -1;

  for (guint i = loops->len; i > 0; i--)
    {
      const Loop *loop = &g_array_index (loops, Loop, i - 1);
      text = behind_loop (text, loop);
      if (i < loops->len && before >= 0)
        g_string_append_printf (frame, "@%" G_GINT64_FORMAT "/", before);
      else if (i < loops->len)
        g_string_append (frame, "@*/");
      g_string_append (frame, loop->name);
      if (text == NULL || (text = behind_iteration (text, &before)) == NULL)
        return FALSE;
      if (i == loops->len)
        {
          name->loop = loop->node;
          name->outermost = before;
        }
    }
  name->iteration = before;
  name->frame = g_string_free (g_steal_pointer (&frame), FALSE);
  return *text == '\0';
}

static IrValue *
find_value (const IrModel *model, const char *text)
{
  g_autoptr (GString) plain = g_string_new (NULL);
  IrValue *found = NULL;
  gint64 id;

  for (const char *c = text; *c != '\0'; c++)
    {
      c += *c == '\\' && (c[1] == '/' || c[1] == '@');
      g_string_append_c (plain, *c);
    }
  if (text[0] == '#' && g_ascii_string_to_signed (text + 1, 10, 1, G_MAXINT32, &id, NULL))
    found = ir_model_live_value (model, (IrValueId) id);
  for (guint i = 1; i < model->graphs->len && found == NULL; i++)
    if (((IrGraph *) model->graphs->pdata[i])->state == IR_STATE_LIVE)
      found = ir_graph_find_value (model->graphs->pdata[i], plain->str);
  return found;
}

/* The loops that @value is in, where @text names others. */
static gboolean
refuse (const char *text, const IrValue *value, GError **error)
{
  g_autofree char *loops = value != NULL ? ir_value_loops (value) : NULL;
  g_autofree char *example = value != NULL ? loops_text (value, "@0/") : NULL;

  if (value == NULL)
    g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                 "there is no value '%s'; a value of an iteration is LOOP@N/NAME", text);
  else if (loops == NULL)
    g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                 "%s: %s is computed once, in no loop; leave out what stands in front of it", text,
                 value->name);
  else
    g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                 "%s: %s is computed in %s; name all of its loops with their iterations, as in "
                 "%s@0/%s",
                 text, value->name, loops, example, value->name);
  return FALSE;
}

/**
 * ir_iteration_name_parse:
 * @model: a model
 * @text: "outer@3/inner@7/NAME"
 * @name: (out): what it names; cleared where it is nothing
 * @error: return location for an error
 *
 * Returns: %FALSE with %IR_EXEC_ERROR_INPUT if @text is no name of a value in a loop
 */
gboolean
ir_iteration_name_parse (const IrModel *model,
                         const char *text,
                         IrIterationName *name,
                         GError **error)
{
  const IrValue *nearest = NULL;

  *name = (IrIterationName){ 0 };
  for (const char *slash = strchr (text, '/'); slash != NULL; slash = strchr (slash + 1, '/'))
    {
      const IrValue *value = slash > text && slash[-1] != '\\' ? find_value (model, slash + 1)
                                                               : NULL;
      g_autoptr (GArray) loops = value != NULL ? loops_of (value) : NULL;
      g_autofree char *around = g_strndup (text, (gsize) (slash + 1 - text));
      if (value == NULL)
        continue;
      nearest = value;
      name->value = value;
      if (loops->len > 0 && read_loops (around, loops, name))
        return TRUE;
      ir_iteration_name_clear (name);
    }
  return refuse (text, nearest, error);
}

/**
 * ir_iteration_name_clear:
 * @name: what ir_iteration_name_parse() has filled in
 */
void
ir_iteration_name_clear (IrIterationName *name)
{
  g_free (name->frame);
  *name = (IrIterationName){ 0 };
}
