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

/* Of a value, or else a node. (transfer full): of Loop, from the inside out */
static GArray *
loops_around (const IrValue *value, const IrNode *node)
{
  GArray *loops = g_array_new (FALSE, FALSE, sizeof (Loop));
  const IrGraph *graph = value != NULL ? value->graph : node->graph;

  g_array_set_clear_func (loops, loop_clear);
  while (graph != NULL)
    {
      g_autoptr (IrFrames) frames = ir_graph_has_tokens (graph) ? ir_frames_new (graph) : NULL;
      if (frames != NULL)
        add_frames (loops, frames,
                    value != NULL && graph == value->graph ? ir_frames_value_frame (frames, value)
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
loops_text (const GArray *loops, const char *join)
{
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
  g_autoptr (GArray) loops = loops_around (value, NULL);

  return loops_text (loops, "/");
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
  g_autoptr (GArray) loops = loops_around (value, NULL);

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

/* Frames of tokens, each by the first node in it. */
static void
add_token_loops (GPtrArray *all, const IrGraph *graph)
{
  g_autoptr (IrFrames) frames = ir_graph_has_tokens (graph) ? ir_frames_new (graph) : NULL;
  g_autofree gboolean *seen = frames != NULL ? g_new0 (gboolean, frames->frames->len) : NULL;
  guint n;
  IrNode *const *nodes = ir_graph_order (graph, &n);

  for (guint i = 0; frames != NULL && i < n; i++)
    {
      const guint frame = frames->frame_of[nodes[i]->id];
      if (frame != 0 && !seen[frame])
        g_ptr_array_add (all, loops_around (NULL, nodes[i]));
      seen[frame] = TRUE;
    }
}

/* (transfer full): of GArray of Loop: each loop of @model, with those around */
static GPtrArray *
all_loops (const IrModel *model)
{
  GPtrArray *all = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);

  for (guint i = 1; i < model->graphs->len; i++)
    if (((IrGraph *) model->graphs->pdata[i])->state == IR_STATE_LIVE)
      add_token_loops (all, model->graphs->pdata[i]);
  for (IrNodeId id = 1; id < model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (model, id);
      const IrGraph *body = node != NULL ? ir_node_attr_graph (node, "body") : NULL;

      if (node == NULL ||
          (!ir_op_is (node, IR_OP_CLOSURE_CALL) && (body == NULL || !is_repeated (node, body))))
        continue; /* a call may begin a loop of calls */
      const Loop own = { ir_loop_name (node), id };
      GArray *loops = loops_around (NULL, node);
      g_array_prepend_val (loops, own);
      g_ptr_array_add (all, loops);
    }
  return all;
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

/* Likewise of what a function computes, which is in the loops that call it: any of @all, in front of its own. They
 * are put behind @n_own of @loops; @text is what has not been read of @path. */
static gboolean
read_calling_loops (const char *path,
                    const char *text,
                    const GPtrArray *all,
                    GArray *loops,
                    guint n_own,
                    IrIterationName *name)
{
  gint64 iteration;

  for (guint i = 0; i < all->len; i++)
    {
      const Loop *loop = &g_array_index ((const GArray *) all->pdata[i], Loop, 0);
      const char *rest = behind_loop (text, loop);
      const Loop copy = { g_strdup (loop->name), loop->node };

      g_array_insert_val (loops, n_own, copy);
      if (rest != NULL && (rest = behind_iteration (rest, &iteration)) != NULL &&
          (read_loops (path, loops, name) ||
           read_calling_loops (path, rest, all, loops, n_own, name)))
        return TRUE;
      g_clear_pointer (&name->frame, g_free);
      g_array_remove_index (loops, n_own);
    }
  return FALSE;
}

/* Whether @graph is, or is in, that of a function that closures name. */
static gboolean
is_called (const IrGraph *graph)
{
  const IrNode *owner = NULL;

  while (graph != NULL && graph->kind == IR_GRAPH_SUBGRAPH)
    {
      owner = ir_model_live_node (graph->model, graph->owner);
      graph = owner != NULL ? owner->graph : NULL;
    }
  return owner != NULL && ir_op_is (owner, IR_OP_FUNCTIONS);
}

/**
 * ir_value_is_called:
 * @value: a value of a model as it runs
 *
 * Returns: whether a function computes it that closures name, so that the loops around it are those that call that
 */
gboolean
ir_value_is_called (const IrValue *value)
{
  return is_called (value->graph);
}

/* (transfer full): as it is, without the escapes */
static char *
plain_name (const char *text)
{
  GString *plain = g_string_new (NULL);

  for (const char *c = text; *c != '\0'; c++)
    {
      c += *c == '\\' && (c[1] == '/' || c[1] == '@');
      g_string_append_c (plain, *c);
    }
  return g_string_free (plain, FALSE);
}

static gboolean
is_id (const char *text, gint64 *id)
{
  return text[0] == '#' && g_ascii_string_to_signed (text + 1, 10, 1, G_MAXINT32, id, NULL);
}

/* What a text may name; both nullable. */
typedef struct
{
  const IrValue *value;
  const IrNode *node;
} Named;

static Named
find_value (const IrModel *model, const char *text)
{
  g_autofree char *plain = plain_name (text);
  Named found = { NULL };
  gint64 id;

  if (is_id (text, &id))
    found.value = ir_model_live_value (model, (IrValueId) id);
  for (guint i = 1; i < model->graphs->len && found.value == NULL; i++)
    if (((IrGraph *) model->graphs->pdata[i])->state == IR_STATE_LIVE)
      found.value = ir_graph_find_value (model->graphs->pdata[i], plain);
  return found;
}

static Named
find_node (const IrModel *model, const char *text)
{
  g_autofree char *plain = plain_name (text);
  Named found = { NULL };
  gint64 id;

  if (is_id (text, &id))
    found.node = ir_model_live_node (model, (IrNodeId) id);
  for (guint i = 1; i < model->graphs->len && found.node == NULL; i++)
    if (((IrGraph *) model->graphs->pdata[i])->state == IR_STATE_LIVE)
      found.node = ir_graph_find_node (model->graphs->pdata[i], plain);
  if (found.node == NULL && text[0] != '#')
    {
      const IrValue *value = find_value (model, text).value;
      found.node = value != NULL ? value->producer : NULL;
    }
  return found;
}

/* The loops that what is nearest to @text is in, where it names others. */
static gboolean
refuse (const char *what, const char *text, Named nearest, GError **error)
{
  const gboolean some = nearest.value != NULL || nearest.node != NULL;
  g_autoptr (GArray) around = some ? loops_around (nearest.value, nearest.node) : NULL;
  g_autofree char *loops = some ? loops_text (around, "/") : NULL,
                  *example = some ? loops_text (around, "@0/") : NULL,
                  *name = nearest.value != NULL  ? g_strdup (nearest.value->name)
                          : nearest.node != NULL ? ir_loop_name (nearest.node)
                                                 : NULL;

  if (!some)
    g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                 "there is no %s '%s'; a %s of an iteration is LOOP@N/NAME", what, text, what);
  else if (is_called (nearest.value != NULL ? nearest.value->graph : nearest.node->graph))
    g_set_error (
        error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
        "%s: %s is computed by a function that closures call; name all of the loops that call it with "
        "their iterations, and its own, as in LOOP@0/%s%s%s",
        text, name, example != NULL ? example : "", example != NULL ? "@0/" : "", name);
  else if (loops == NULL)
    g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                 "%s: %s is computed once, in no loop; leave out what stands in front of it", text,
                 name);
  else
    g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                 "%s: %s is computed in %s; name all of its loops with their iterations, as in "
                 "%s@0/%s",
                 text, name, loops, example, name);
  return FALSE;
}

static gboolean
parse (const IrModel *model,
       const char *text,
       const char *what,
       Named (*find) (const IrModel *, const char *),
       IrIterationName *name,
       GError **error)
{
  g_autoptr (GPtrArray) all = NULL;
  Named nearest = { NULL };

  *name = (IrIterationName){ 0 };
  for (const char *slash = strchr (text, '/'); slash != NULL; slash = strchr (slash + 1, '/'))
    {
      const Named found = slash > text && slash[-1] != '\\' ? find (model, slash + 1)
                                                            : (Named){ NULL };
      if (found.value == NULL && found.node == NULL)
        continue;
      g_autoptr (GArray) loops = loops_around (found.value, found.node);
      g_autofree char *around = g_strndup (text, (gsize) (slash + 1 - text));
      nearest = found;
      name->value = found.value;
      name->node = found.node;
      if (loops->len > 0 && read_loops (around, loops, name))
        return TRUE;
      if (is_called (found.value != NULL ? found.value->graph : found.node->graph))
        {
          all = all != NULL ? all : all_loops (model);
          if (read_calling_loops (around, around, all, loops, loops->len, name))
            return TRUE;
        }
      ir_iteration_name_clear (name);
    }
  return refuse (what, text, nearest, error);
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
  return parse (model, text, "value", find_value, name, error);
}

/**
 * ir_iteration_name_parse_node:
 * @model: a model
 * @text: "outer@3/inner@7/NAME"
 * @name: (out): what it names; cleared where it is nothing
 * @error: return location for an error
 *
 * Returns: %FALSE with %IR_EXEC_ERROR_INPUT if @text is no name of a node in a loop, nor of a value that one gives
 */
gboolean
ir_iteration_name_parse_node (const IrModel *model,
                              const char *text,
                              IrIterationName *name,
                              GError **error)
{
  return parse (model, text, "node", find_node, name, error);
}

/* -- loops by themselves -- */

/* Whether @text is the name of the innermost alone, with an iteration or without; @path: "…/". */
static gboolean
is_innermost (const char *path, const GArray *loops, IrIterationName *name)
{
  const char *rest = behind_loop (path, &g_array_index (loops, Loop, 0));

  if (rest == NULL || (rest = behind_iteration (rest, &name->iteration)) == NULL || *rest != '\0')
    return FALSE;
  name->frame = g_strdup (g_array_index (loops, Loop, 0).name);
  name->outermost = loops->len == 1 ? name->iteration : -1;
  return TRUE;
}

/* Whether @path names @loops of a function, with those that call it in front. */
static gboolean
read_as_called (const IrModel *model,
                const char *path,
                const GPtrArray *all,
                const GArray *loops,
                IrIterationName *name)
{
  const IrNode *outermost = ir_model_live_node (model,
                                                g_array_index (loops, Loop, loops->len - 1).node);

  if (outermost == NULL || !is_called (outermost->graph))
    return FALSE;
  g_autoptr (GArray) with = g_array_new (FALSE, FALSE, sizeof (Loop));
  g_array_set_clear_func (with, loop_clear);
  for (guint i = 0; i < loops->len; i++)
    {
      const Loop *own = &g_array_index (loops, Loop, i);
      const Loop copy = { g_strdup (own->name), own->node };
      g_array_append_val (with, copy);
    }
  return read_calling_loops (path, path, all, with, with->len, name);
}

/**
 * ir_iteration_name_parse_loop:
 * @model: a model
 * @text: "outer@3/inner", "outer@3/inner@7", or the name of a loop alone
 * @name: (out): its frame, and its iteration if one is given; cleared where it is nothing
 * @error: return location for an error
 *
 * A name alone gives a frame that has no loops around, which is that loop wherever it runs.
 *
 * Returns: %FALSE with %IR_EXEC_ERROR_INPUT if @model has no such loop; the error says which it has
 */
gboolean
ir_iteration_name_parse_loop (const IrModel *model,
                              const char *text,
                              IrIterationName *name,
                              GError **error)
{
  g_autoptr (GPtrArray) all = all_loops (model);
  g_autoptr (GPtrArray) names = NULL;
  g_autoptr (GString) list = g_string_new (NULL);
  g_autofree char *path = g_strconcat (text, "/", NULL);

  *name = (IrIterationName){ 0 };
  for (guint i = 0; i < all->len; i++)
    {
      GArray *loops = all->pdata[i];
      if (read_loops (path, loops, name) || is_innermost (path, loops, name) ||
          read_as_called (model, path, all, loops, name))
        return TRUE;
      ir_iteration_name_clear (name);
    }
  names = ir_model_loop_names (model);
  for (guint i = 0; i < names->len; i++)
    g_string_append_printf (list, "%s%s", i > 0 ? ", " : "", (const char *) names->pdata[i]);
  g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT, "the graph has no loop “%s”; %s%s", text,
               list->len > 0 ? "its loops are " : "it has none", list->str);
  return FALSE;
}

/**
 * ir_iteration_frame_is:
 * @frame: as names of iterations have it: "outer@3/inner", with * for iterations that were not given
 * @path: as a run has it: "outer@3/inner"
 *
 * Returns: whether @path is what @frame names
 */
gboolean
ir_iteration_frame_is (const char *frame, const char *path)
{
  while (*frame != '\0' && *path != '\0')
    if (*frame == '*' && frame[1] == '/' && g_ascii_isdigit (*path))
      {
        path += strspn (path, "0123456789");
        frame++;
      }
    else if (*frame++ != *path++)
      return FALSE;
  return *frame == *path;
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
