/* Where tokens stand: near the heads of their lines, further up where others stand already. */
#include "config.h"

#include "core/layout/scene-tokens.h"

#include "core/layout/scene-private.h"
#include "core/op/op.h"

#include <math.h>

#define PAD     7.0  /* px, at both sides of a text */
#define HEAD    20.0 /* px from the head of a line to the middle of the token that is next to it */
#define STEP    10.0 /* px, that it goes up the line where another one is */
#define MOST    24   /* steps */
#define MARGIN  8.0  /* px, of a note in a frame */
#define MOST_OF 3    /* tokens that are drawn on one line: the others wait behind them */

typedef struct
{
  const IrScene *scene;
  const IrModel *model;
  const IrFlowState *state;
  IrSceneMeasure measure;
  gpointer measure_data;
  GHashTable *lines; /* value -> GArray of gint32 */
  GArray *tokens;
} Placing;

/* -- places -- */

static IrLayoutPoint
before_head (const Placing *p, const IrSceneLine *line, double distance)
{
  const IrLayoutPoint *points = ir_scene_line_points (p->scene, line);

  for (guint i = line->n_points; i-- > 1;)
    {
      const double length = hypot (points[i].x - points[i - 1].x, points[i].y - points[i - 1].y);
      if (distance <= length && length > 0)
        return (IrLayoutPoint){ points[i].x + (points[i - 1].x - points[i].x) * distance / length,
                                points[i].y + (points[i - 1].y - points[i].y) * distance / length };
      distance -= length;
    }
  return points[0];
}

static gboolean
is_free (const Placing *p, IrLayoutPoint at, double width)
{
  for (guint i = 0; i < p->tokens->len; i++)
    {
      const IrSceneToken *other = &g_array_index (p->tokens, IrSceneToken, i);
      if (fabs (other->x - at.x) < (other->width + width) / 2 &&
          fabs (other->y - at.y) < IR_SCENE_TOKEN_HEIGHT)
        return FALSE;
    }
  return TRUE;
}

static double
width_of (const Placing *p, const char *text)
{
  return p->measure (text, IR_SCENE_TEXT_LABEL, p->measure_data) + 2 * PAD;
}

/* @text: (transfer full) */
static void
add (Placing *p, IrSceneTokenKind kind, gint32 box, gint32 line, IrLayoutPoint at, char *text)
{
  const IrSceneToken token = { kind, box, line, at.x, at.y, width_of (p, text), text };

  g_array_append_val (p->tokens, token);
}

/* -- tokens -- */

static char *
token_text (const Placing *p, const IrFlowToken *token)
{
  g_autofree char *value = ir_flow_value_text (ir_flow_state_log (p->state),
                                               ir_model_value (p->model, token->value),
                                               token->frame, token->iteration),
                  *at = *token->frame == '\0' || token->stays
                            ? g_strdup ("")
                            : g_strdup_printf ("@%" G_GINT64_FORMAT " ", token->iteration);

  return g_strdup_printf ("%s%s%s", at,
                          token->state == IR_TOKEN_DEAD    ? "✕"
                          : token->state == IR_TOKEN_WAITS ? "waits "
                                                           : "",
                          token->state == IR_TOKEN_DEAD ? ""
                          : value != NULL               ? value
                                                        : "●");
}

static gboolean
leads_to (const Placing *p, const IrSceneLine *line, IrNodeId reader)
{
  guint n;
  const IrSceneBox *box = line->to >= 0 ? &ir_scene_boxes (p->scene, &n)[line->to] : NULL;

  return box != NULL && line->n_points > 1 &&
         (reader != 0 ? box->node == reader : box->kind == IR_SCENE_OUTPUT);
}

static guint
n_on (const Placing *p, gint32 line)
{
  guint n = 0;

  for (guint i = 0; i < p->tokens->len; i++)
    n += g_array_index (p->tokens, IrSceneToken, i).line == line;
  return n;
}

static void
place_token (Placing *p, const IrFlowToken *token, gint32 index)
{
  guint n;
  const IrSceneLine *line = &ir_scene_lines (p->scene, &n)[index];
  g_autofree char *text = token_text (p, token);
  const double width = width_of (p, text);
  IrLayoutPoint at = before_head (p, line, HEAD);

  for (guint i = 1; i < MOST && !is_free (p, at, width); i++)
    at = before_head (p, line, HEAD + STEP * i);
  add (p,
       token->state == IR_TOKEN_DEAD    ? IR_SCENE_TOKEN_DEAD
       : token->state == IR_TOKEN_WAITS ? IR_SCENE_TOKEN_WAITS
                                        : IR_SCENE_TOKEN_LIVE,
       -1, index, at, g_steal_pointer (&text));
}

static void
place_tokens (Placing *p)
{
  g_autoptr (GArray) tokens = ir_flow_state_tokens (p->state);
  guint n;
  const IrSceneLine *lines = ir_scene_lines (p->scene, &n);

  for (guint i = 0; i < tokens->len; i++)
    {
      const IrFlowToken *token = &g_array_index (tokens, IrFlowToken, i);
      const GArray *of = g_hash_table_lookup (p->lines, GUINT_TO_POINTER (token->value));
      for (guint k = 0; of != NULL && k < of->len; k++)
        if (leads_to (p, &lines[g_array_index (of, gint32, k)], token->reader) &&
            n_on (p, g_array_index (of, gint32, k)) < MOST_OF)
          place_token (p, token, g_array_index (of, gint32, k));
    }
}

static void
find_lines (Placing *p)
{
  guint n;
  const IrSceneLine *lines = ir_scene_lines (p->scene, &n);

  for (gint32 i = 0; i < (gint32) n; i++)
    {
      GArray *of = g_hash_table_lookup (p->lines, GUINT_TO_POINTER (lines[i].value));
      if (lines[i].value == 0)
        continue;
      if (of == NULL)
        g_hash_table_insert (p->lines, GUINT_TO_POINTER (lines[i].value),
                             of = g_array_new (FALSE, FALSE, sizeof (gint32)));
      g_array_append_val (of, i);
    }
}

/* -- notes -- */

static char *
final_text (const Placing *p, const IrNode *node)
{
  const IrValue *value = node->n_outputs > 0 ? node->outputs[0] : NULL;
  g_autofree char *text = value != NULL
                              ? ir_flow_value_text (ir_flow_state_log (p->state), value, "", 0)
                              : NULL;

  return text != NULL ? g_strdup_printf ("final: %s", text) : g_strdup ("final");
}

static char *
turn_text (const Placing *p, const IrNode *node, const IrFlowEvent *event)
{
  if (ir_node_tokens (node) == IR_TOKENS_EXIT)
    return final_text (p, node);
  if (ir_node_attr_graph (node, "body") == NULL)
    return NULL;
  return event->kind == IR_FLOW_EXITED
             ? g_strdup_printf ("ended after %" G_GINT64_FORMAT, event->iteration + 1)
             : g_strdup_printf ("iteration %" G_GINT64_FORMAT, event->iteration);
}

/* (transfer full) (nullable) */
static char *
note_text (const Placing *p, const IrNode *node, const IrFlowNote *note)
{
  if (note->is_passed_by)
    return g_strdup ("not taken");
  if (note->event == NULL)
    return NULL;
  switch (note->event->kind)
    {
    case IR_FLOW_DEAD:
      return g_strdup ("dead");
    case IR_FLOW_DEFERRED:
      return g_strdup ("waits");
    case IR_FLOW_MERGED:
      return g_strdup_printf ("took input %d", note->event->slot);
    case IR_FLOW_CALLED:
      return note->event->slot < 0 ? NULL : g_strdup (note->event->slot > 0 ? "then" : "else");
    case IR_FLOW_ENTERED:
    case IR_FLOW_NEXT:
    case IR_FLOW_EXITED:
      return turn_text (p, node, note->event);
    case IR_FLOW_FIRED:
      return note->event->slot < 0 ? NULL : g_strdup (note->event->slot > 0 ? "true" : "false");
    case IR_FLOW_RETURNED:
    case IR_N_FLOW_KINDS:
    default:
      return NULL;
    }
}

/* Of a frame beside its title, of a box at its corner. */
static void
place_note (Placing *p, gint32 index, char *text)
{
  guint n;
  const IrSceneBox *box = &ir_scene_boxes (p->scene, &n)[index];
  const double width = width_of (p, text);

  add (p, IR_SCENE_TOKEN_NOTE, index, -1,
       box->kind == IR_SCENE_CLUSTER
           ? (IrLayoutPoint){ box->x + box->width - width / 2 - MARGIN, box->y + 14 }
           : (IrLayoutPoint){ box->x + box->width - MARGIN + width / 2,
                              box->y + box->height - MARGIN / 2 },
       text);
}

static void
place_notes (Placing *p)
{
  const IrFlowEvent *now = ir_flow_state_event (p->state);
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (p->scene, &n);

  for (gint32 i = 0; i < (gint32) n; i++)
    {
      const IrNode *node = boxes[i].node != 0 ? ir_model_live_node (p->model, boxes[i].node) : NULL;
      const IrFlowNote *note = node != NULL ? ir_flow_state_note (p->state, node->id) : NULL;
      g_autofree char *text = note != NULL ? note_text (p, node, note) : NULL;

      if (now != NULL && node != NULL && now->node == node->id)
        place_note (p, i,
                    g_strdup_printf ("▶ %s", text != NULL ? text : ir_flow_kind_name (now->kind)));
      else if (text != NULL)
        place_note (p, i, g_steal_pointer (&text));
    }
}

static void
token_clear (gpointer data)
{
  g_free (((IrSceneToken *) data)->text);
}

/**
 * ir_scene_tokens:
 * @scene: a graph
 * @model: whose graph it is; that of the events, or one with its ids
 * @state: where the tokens are
 * @measure: (nullable): measures texts, as in IrSceneOptions
 * @measure_data: passed to it
 *
 * What lies in closed groups, and what has no line, as folded constants have none, is left out.
 *
 * Returns: (transfer full) (element-type IrSceneToken): what is painted above @scene, in that order
 */
GArray *
ir_scene_tokens (const IrScene *scene,
                 const IrModel *model,
                 const IrFlowState *state,
                 IrSceneMeasure measure,
                 gpointer measure_data)
{
  Placing p = { .scene = scene,
                .model = model,
                .state = state,
                .measure = measure != NULL ? measure : ir_scene_average_width,
                .measure_data = measure_data,
                .lines = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_array_unref),
                .tokens = g_array_new (FALSE, FALSE, sizeof (IrSceneToken)) };

  g_array_set_clear_func (p.tokens, token_clear);
  find_lines (&p);
  place_notes (&p);
  place_tokens (&p);
  g_hash_table_unref (p.lines);
  return p.tokens;
}
