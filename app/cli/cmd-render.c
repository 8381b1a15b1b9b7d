/* irscope render: the pictures that the window shows, as files. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/execution.h"
#include "app/cli/output.h"
#include "app/cli/render-charts.h"
#include "app/cli/why.h"
#include "core/act/act.h"
#include "core/io/io.h"
#include "core/diff/diff.h"
#include "core/layout/charts.h"
#include "core/look/kept.h"
#include "passes/session/session-file.h"
#include "core/look/legend.h"
#include "core/look/look.h"
#include "core/query/query.h"
#include "core/render/render.h"
#include "core/ir/cycles.h"
#include "core/ir/pages.h"
#include "passes/debug/rewrite.h"

#include <stdio.h>
#include <string.h>

typedef struct
{
  CliModelOptions model;
  CliPlanOptions plan;
  char *output, *diff, *why, *view, *tensor, *sides, *of, *wrt, *log;
  gint at, rewrite;
  gboolean dark, high_contrast, constants, flat, left_to_right, wrap, cycle;
  gdouble zoom;
  double scale;
  char **fold, **open, **beside, **only, **highlight, **colour;
  char *enter, *overlay, *overlay_file, *overlay_scale;
  gint kept;
} Options;

static const CliOption render_options[] = {
  { "output", 'o', G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (Options, output),
    "Where to write; the ending says how: .svg, .pdf, .png, .dot", "OUT" },
  { "at", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, at),
    "The graph after this step of the pipeline (as FILE@N)", "N" },
  { "diff", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, diff),
    "What changed from step N to step M, or from the file OTHER to FILE", "N:M|OTHER" },
  { "sides", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, sides),
    "With --diff: overlay (the default: both in one), beside, before, or after", "HOW" },
  { "rewrite", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, rewrite),
    "Step N by itself: the nodes that it was applied to, and what became of them", "N" },
  { "why", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, why),
    "Why RULE did not fire at NODE: what fits its pattern, what does not, what is missing",
    "RULE:NODE" },
  { "view", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, view),
    "graph (default), summary, schedule (as predicted), trace (as measured), timeline (both on one axis, and what "
    "memory holds), memory, tensor, derivation, gradients or training",
    "VIEW" },
  { "tensor", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, tensor),
    "With --view tensor: which value", "NAME" },
  { "of", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, of),
    "With derivatives: what is derived (default: the only floating-point output)", "V" },
  { "wrt", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, wrt),
    "With derivatives: by what: params, inputs, all, or names with commas between", "V" },
  { "log", 0, G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (Options, log),
    "With --view training: what 'irscope train --log' wrote of its steps", "CSV" },
  { "budget", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, plan.budget),
    "With --view memory: compute values again so that all fit, as 'irscope memory' does", "SIZE" },
  { "order", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, plan.order),
    "With --view memory: order of the nodes, file (the default) or memory, which keeps the peak low",
    "ORDER" },
  { "separate", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, plan.separate),
    "With --view memory: give every value bytes of its own, no views, nothing in place", NULL },
  { "parallel", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, plan.parallel),
    "With --view memory, schedule or timeline: the plan of a run with this option: off (the default), on, or "
    "auto, which runs FILE until it is decided",
    "off,on,auto" },
  { "cycle", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, cycle),
    "Only the nodes of the first cycle, which wait for each other", NULL },
  { "dark", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, dark), "Light on dark", NULL },
  { "high-contrast", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, high_contrast),
    "Black and white where it can be, 7 : 1 for all that is read", NULL },
  { "constants", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, constants),
    "Draw constants as boxes of their own", NULL },
  { "flat", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, flat), "No frames for scopes", NULL },
  { "horizontal", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, left_to_right),
    "From left to right", NULL },
  { "wrap", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, wrap),
    "In columns, where it would be much higher than wide", NULL },
  { "fold", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (Options, fold),
    "Draw this scope as one box; or all scopes, repeats (copies of one block), shapes (arithmetic on "
    "shapes) or branches; or auto, as the window opens FILE",
    "SCOPE" },
  { "kept", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, kept),
    "The view of FILE that is kept as N in the window (Ctrl and N keep it): what it draws, and the "
    "part that it looks at",
    "N" },
  { "enter", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, enter),
    "Only the branch or body of NODE (its first; NODE/then_branch: that one), or of the function that "
    "it calls",
    "NODE[/BODY]" },
  { "open", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (Options, open),
    "Draw the body of the function that NODE calls in its place", "NODE" },
  { "beside", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (Options, beside),
    "Draw the branches or the body of NODE beside the picture", "NODE" },
  { "only", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (Options, only),
    "Only nodes that QUERY names, as 'irscope find' reads it", "QUERY" },
  { "highlight", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (Options, highlight),
    "Nodes that QUERY does not name are pale", "QUERY" },
  { "colour", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (Options, colour),
    "Nodes that QUERY names have this colour: blue, orange, green, pink, sky, red, yellow or grey",
    "COLOUR=QUERY" },
  { "overlay", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, overlay),
    "Colour boxes by what nodes cost or are: time, flops, bytes, memory, error, dtype, device, "
    "sparsity, gradient, gradient-zeros, dead-units, verdict or age; with a legend; or values: a small picture of what "
    "each node made. Time, sparsity and values run FILE, error checks the run, gradients derive it",
    "NAME" },
  { "overlay-file", 0, G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (Options, overlay_file),
    "Colour boxes by numbers per node: { \"conv1\": 0.25 }, or with \"title\", \"unit\" and \"nodes\"",
    "F.json" },
  { "overlay-scale", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, overlay_scale),
    "linear or log (default: log where the largest is more than 100 times the smallest)", "SCALE" },
  { "zoom", 0, G_OPTION_ARG_DOUBLE, G_STRUCT_OFFSET (Options, zoom),
    "The picture as the window shows it at this zoom, with the names that can be read there", "Z" },
  { "scale", 0, G_OPTION_ARG_DOUBLE, G_STRUCT_OFFSET (Options, scale),
    "Pixels of a PNG per unit of the picture (default 1)", "S" },
  { 0 },
};

/* What --fold may name besides scopes: all groups whose keys begin so. */
static const struct
{
  const char *name, *prefix;
} kinds_of_folds[] = {
  { "scopes", "scope:" },
  { "repeats", "repeat:" },
  { "shapes", "shape:" },
  { "branches", "node:" },
};

static void
add_folds_of_kind (GHashTable *folded, const IrScene *open, const char *prefix)
{
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (open, &n);

  for (guint i = 0; i < n; i++)
    if (boxes[i].fold != NULL && g_str_has_prefix (boxes[i].fold, prefix))
      g_hash_table_add (folded, g_strdup (boxes[i].fold));
}

/* @open: the picture with all open; adds what is to be one box */
static void
add_fold (GHashTable *folded, const IrScene *open, const char *text)
{
  for (guint i = 0; i < G_N_ELEMENTS (kinds_of_folds); i++)
    {
      if (strcmp (text, kinds_of_folds[i].name) == 0)
        add_folds_of_kind (folded, open, kinds_of_folds[i].prefix);
      if (strcmp (text, kinds_of_folds[i].name) == 0 ||
          g_str_has_prefix (text, kinds_of_folds[i].prefix))
        {
          g_hash_table_add (folded, g_strdup (text));
          return;
        }
    }
  g_hash_table_add (folded, g_strconcat ("scope:", text, NULL));
}

static gboolean
parse_range (const char *text, guint n_steps, guint *from, guint *to, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (text, ":", 2);
  guint64 a, b;

  if (g_strv_length (parts) == 2 &&
      g_ascii_string_to_unsigned (parts[0], 10, 0, n_steps, &a, NULL) &&
      g_ascii_string_to_unsigned (parts[1], 10, 0, n_steps, &b, NULL))
    {
      *from = a;
      *to = b;
      return TRUE;
    }
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "--diff %s: needs N:M with steps from 0 to %u, or another file", text, n_steps);
  return FALSE;
}

/* -- how the graph is drawn -- */

/* "NODE", "NODE/then_branch" or "NODE/branches.1". */
static char *
root_of (const IrModel *model, const char *text, GError **error)
{
  const IrNode *node = cli_find_node (model, text, NULL);
  const char *slash = strrchr (text, '/');
  g_autofree char *name = slash != NULL ? g_strndup (text, (gsize) (slash - text)) : NULL;
  g_autofree char *root = NULL;
  const IrGraph *graph;

  if (node == NULL && name != NULL)
    node = cli_find_node (model, name, NULL);
  else
    slash = NULL;
  if (node == NULL)
    {
      cli_find_node (model, text, error); /* says what there is instead */
      return NULL;
    }
  for (guint i = 0; (graph = ir_scene_node_body (node, i)) != NULL; i++)
    {
      g_free (root);
      root = ir_scene_graph_root (graph);
      if (root != NULL && (slash == NULL || g_str_has_suffix (root, slash)))
        return g_steal_pointer (&root);
    }
  g_set_error (
      error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
      "--enter %s: %s has no %s: needs a node with branches or a body, or one that calls a "
      "function of the model",
      text, node->name[0] != '\0' ? node->name : node->op_type,
      slash != NULL ? slash + 1 : "graph of its own");
  return NULL;
}

static gboolean
open_calls (IrLook *look, const IrModel *model, char *const *names, GError **error)
{
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      const IrNode *node = cli_find_node (model, names[i], error);
      g_autofree char *fold = NULL;

      if (node == NULL)
        return FALSE;
      if (node->op != NULL || ir_scene_node_body (node, 0) == NULL)
        {
          g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                       "--open %s: needs a node that calls a function of the model", names[i]);
          return FALSE;
        }
      fold = g_strdup_printf (IR_SCENE_CALL_FOLD "node:%u", node->id);
      if (!g_hash_table_contains (look->calls, fold))
        ir_look_toggle_call (look, model, fold);
    }
  return TRUE;
}

static gboolean
add_beside (IrLook *look, const IrModel *model, char *const *names, GError **error)
{
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      const IrNode *node = cli_find_node (model, names[i], error);

      if (node == NULL)
        return FALSE;
      if (ir_scene_node_body (node, 0) == NULL)
        {
          g_set_error (
              error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
              "--beside %s: needs a node with branches or a body, or one that calls a function of "
              "the model",
              names[i]);
          return FALSE;
        }
      g_hash_table_add (look->beside, g_strdup_printf ("node:%u", node->id));
    }
  return TRUE;
}

static gboolean
add_rule (IrLook *look,
          const char *option,
          const char *query,
          IrRuleEffect effect,
          guint colour,
          GError **error)
{
  g_autoptr (IrQuery) read = ir_query_new (query, error);

  if (read == NULL)
    {
      if (error != NULL && *error != NULL)
        g_prefix_error (error, "%s %s: ", option, query);
      return FALSE;
    }
  ir_look_add_rule (look, query, effect, colour);
  return TRUE;
}

static gboolean
add_rules (IrLook *look, const Options *options, GError **error)
{
  for (guint i = 0; options->only != NULL && options->only[i] != NULL; i++)
    if (!add_rule (look, "--only", options->only[i], IR_RULE_ONLY, 0, error))
      return FALSE;
  for (guint i = 0; options->highlight != NULL && options->highlight[i] != NULL; i++)
    if (!add_rule (look, "--highlight", options->highlight[i], IR_RULE_DIM, 0, error))
      return FALSE;
  for (guint i = 0; options->colour != NULL && options->colour[i] != NULL; i++)
    {
      g_auto (GStrv) parts = g_strsplit (options->colour[i], "=", 2);
      const guint colour = ir_rule_colour_find (parts[0]);

      if (colour == 0 || parts[1] == NULL)
        {
          g_set_error (
              error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
              "--colour %s: needs COLOUR=QUERY, such as orange=op:conv, with blue, orange, "
              "green, pink, sky, red, yellow or grey",
              options->colour[i]);
          return FALSE;
        }
      if (!add_rule (look, "--colour", parts[1], IR_RULE_COLOUR, colour, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
choose_overlay (IrLook *look, const Options *options, GError **error)
{
  static const char *const scales[] = { "auto", "linear", "log" };
  const char *id = options->overlay_file != NULL ? "file" : options->overlay;
  g_autofree char *ids = ir_overlay_ids ();

  if (id != NULL &&
      (ir_overlay_find (id) == NULL || (strcmp (id, "file") == 0 && options->overlay_file == NULL)))
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "--overlay %s: needs %s%s", id,
                   ids, strcmp (id, "file") == 0 ? "; numbers of a file with --overlay-file" : "");
      return FALSE;
    }
  look->overlay = g_strdup (id);
  for (guint i = 0; options->overlay_scale != NULL && i < G_N_ELEMENTS (scales); i++)
    if (strcmp (options->overlay_scale, scales[i]) == 0)
      {
        look->scale = (IrScaleKind) i;
        return TRUE;
      }
  if (options->overlay_scale == NULL)
    return TRUE;
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "--overlay-scale %s: needs auto, linear or log", options->overlay_scale);
  return FALSE;
}

static IrLook *
look_of (const Options *options, const IrModel *model, GError **error)
{
  g_autoptr (IrLook) look = ir_look_new ();

  look->show = IR_SHOW_SHAPES | IR_SHOW_NAMES | (options->constants ? IR_SHOW_CONSTANTS : 0) |
               (options->flat ? 0 : IR_SHOW_SCOPES) |
               (options->left_to_right ? IR_SHOW_SIDEWAYS : 0) |
               (options->wrap ? IR_SHOW_COLUMNS : 0);
  if (options->enter != NULL && (look->root = root_of (model, options->enter, error)) == NULL)
    return NULL;
  if (!open_calls (look, model, options->open, error) ||
      !add_beside (look, model, options->beside, error) || !add_rules (look, options, error) ||
      !choose_overlay (look, options, error))
    return NULL;
  return g_steal_pointer (&look);
}

/* -- the picture -- */

typedef struct
{
  Cli *cli;
  const Options *options;
  CliModel *opened;
  IrTextMeasure *measure;
  IrLook *look;
  IrOverlayFacts *facts; /* (nullable) */
  IrScale *scale;        /* (out) (nullable) */
  IrKeptView *kept;      /* (nullable) */
  char *note;            /* (out) (nullable) */
} Picture;

static void
picture_clear (Picture *picture)
{
  g_clear_pointer (&picture->look, ir_look_free);
  g_clear_pointer (&picture->facts, ir_overlay_facts_unref);
  g_clear_pointer (&picture->scale, ir_scale_unref);
  g_clear_pointer (&picture->kept, ir_kept_view_free);
  g_free (picture->note);
}

static CliChartSource
source_of (const Options *options)
{
  return (CliChartSource){ .model = &options->model,
                           .plan = &options->plan,
                           .tensor = options->tensor,
                           .log = options->log,
                           .of = options->of,
                           .wrt = options->wrt };
}

/* What the overlay needs to know: a run, a check of it, a derivation, the steps, a file. */
static IrOverlayFacts *
facts_of (Picture *picture, guint step, GError **error)
{
  const Options *options = picture->options;
  CliModel *opened = picture->opened;
  const IrOverlay *overlay = ir_overlay_find (picture->look->overlay);
  const char *file = picture->kept != NULL ? picture->kept->numbers : options->overlay_file;
  g_autoptr (IrOverlayFacts) facts = ir_overlay_facts_new ();
  g_autoptr (IrNumbers) numbers = NULL;
  const gboolean values = overlay != NULL && (overlay->needs & IR_OVERLAY_NEEDS_VALUES) != 0;
  const gboolean contents = overlay != NULL && (overlay->needs & IR_OVERLAY_NEEDS_CONTENTS) != 0;

  if (overlay == NULL)
    return g_steal_pointer (&facts);
  if (file != NULL && strcmp (overlay->id, "file") == 0)
    {
      numbers = ir_numbers_load (file, error);
      if (numbers == NULL || !ir_numbers_check (numbers, opened->model, &picture->note, error))
        return NULL;
      ir_overlay_facts_add_numbers (facts, numbers);
    }
  if (overlay->needs & IR_OVERLAY_NEEDS_RUN)
    {
      g_autoptr (IrRun) run = cli_run (picture->cli, &options->model, opened->model,
                                       contents ? IR_CAPTURE_ALL
                                       : values ? IR_CAPTURE_STATS
                                                : IR_CAPTURE_NONE,
                                       NULL, NULL, error);

      if (run == NULL)
        return NULL;
      ir_overlay_facts_add_run (facts, run);
      if (values)
        ir_overlay_facts_add_zeros (facts, run);
      if (contents)
        ir_overlay_facts_add_thumbs (facts, run, picture->cli->cancellable);
    }
  if (overlay->needs & IR_OVERLAY_NEEDS_CHECK)
    {
      g_autoptr (GHashTable)
          errors = cli_node_errors (picture->cli, &options->model, opened->model, error);

      if (errors == NULL)
        return NULL;
      ir_overlay_facts_add_errors (facts, errors);
    }
  if (overlay->needs & IR_OVERLAY_NEEDS_GRADIENTS)
    {
      const CliChartSource source = source_of (options);
      g_autoptr (IrGradients)
          gradients = cli_gradients (picture->cli, &source, opened->model, error);
      g_autoptr (GHashTable) by_node = NULL;

      if (gradients == NULL)
        return NULL;
      by_node = ir_gradients_by_node (gradients);
      ir_overlay_facts_add_gradients (facts, by_node);
    }
  ir_overlay_facts_add_history (facts, opened->model, step);
  return g_steal_pointer (&facts);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Picture, picture_clear)

static IrScene *
draw (Picture *picture, IrModel *model, const IrDiff *diff, IrSceneMarks *marks, GError **error)
{
  const IrLookSubject subject = { .model = model,
                                  .diff = diff,
                                  .marks = marks,
                                  .facts = picture->facts,
                                  .problems = picture->opened->problems,
                                  .moves = picture->kept != NULL ? picture->kept->moves : NULL,
                                  .measure = ir_text_measure_width,
                                  .measure_data = picture->measure };

  g_clear_pointer (&picture->scale, ir_scale_unref);
  return ir_look_draw (picture->look, &subject, &picture->scale, picture->cli->cancellable, error);
}

/* The graph at the step where the pattern was compared, with the answer drawn on it. */
static IrScene *
why_scene (Picture *picture, GError **error)
{
  const Options *options = picture->options;
  g_auto (GStrv) parts = g_strsplit (options->why, ":", 2);
  g_auto (IrWhy) why = { 0 };
  g_autoptr (IrSceneMarks) marks = NULL;
  g_autoptr (IrModel) then = NULL;
  IrClass max_class;

  if (g_strv_length (parts) != 2)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "--why %s: needs RULE:NODE, such as fold-conv-bn:/bn1", options->why);
      return NULL;
    }
  if (!cli_class (&options->model, &max_class, error) ||
      !cli_why (picture->opened->model, parts[0], parts[1], max_class, &why, error))
    return NULL;
  marks = ir_why_marks (&why);
  if (marks == NULL)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "--why %s: there is no pattern to draw: %s; \"irscope why\" says more",
                   options->why, ir_why_answer_name (why.answer));
      return NULL;
    }
  then = ir_history_snapshot (picture->opened->model, why.at_step);
  return draw (picture, then, NULL, marks, error);
}

/* What --fold names, of the picture with all open. */
static gboolean
close_folds (Picture *picture, GError **error)
{
  g_autoptr (IrScene) open = NULL;
  char **fold = picture->options->fold;

  if (fold == NULL)
    return TRUE;
  open = draw (picture, picture->opened->model, NULL, NULL, error);
  for (guint i = 0; open != NULL && fold[i] != NULL; i++)
    if (strcmp (fold[i], "auto") == 0)
      {
        GHashTable *chosen = ir_look_choose_folds (open);

        if (chosen != NULL)
          {
            g_hash_table_unref (picture->look->automatic);
            picture->look->automatic = chosen;
          }
      }
    else
      add_fold (picture->look->folded, open, fold[i]);
  return open != NULL;
}

static const char *const sides[] = { "overlay", "beside", "before", "after", NULL };

/* What of the picture of both is wanted. (transfer full) */
static IrScene *
choose_sides (IrScene *both, const char *wanted)
{
  g_autoptr (IrScene) before = NULL, after = NULL;

  if (wanted == NULL || strcmp (wanted, "overlay") == 0)
    return both;
  if (strcmp (wanted, "after") != 0)
    before = ir_scene_new_for_side (both, IR_SCENE_BEFORE);
  if (strcmp (wanted, "before") != 0)
    after = ir_scene_new_for_side (both, IR_SCENE_AFTER);
  ir_scene_unref (both);
  if (before != NULL && after != NULL)
    return ir_scene_new_joined (before, after, IR_SCENE_JOIN_SIDES);
  return before != NULL ? g_steal_pointer (&before) : g_steal_pointer (&after);
}

/* What --diff names: two steps, or another file, from which FILE is what came of it. */
static IrDiff *
wanted_diff (Cli *cli, const Options *options, IrModel *history, GError **error)
{
  g_autoptr (IrModel) a = NULL, b = NULL;
  guint from, to;
  IrDiff *diff;

  if (g_file_test (options->diff, G_FILE_TEST_IS_REGULAR))
    {
      g_autoptr (GPtrArray) problems = ir_problems_new ();

      a = ir_model_load (options->diff, problems, cli->cancellable, error);
      return a != NULL ? ir_diff_new (a, history, FALSE) : NULL;
    }
  if (!parse_range (options->diff, ir_history_n_steps (history), &from, &to, error))
    return NULL;
  a = ir_history_snapshot (history, from);
  b = ir_history_snapshot (history, to);
  diff = ir_diff_new (a, b, TRUE);
  ir_diff_add_descent (diff, history, from, to);
  return diff;
}

static IrScene *
diff_scene (Picture *picture, IrModel *history, GError **error)
{
  g_autoptr (IrDiff) diff = wanted_diff (picture->cli, picture->options, history, error);
  IrScene *both = diff != NULL ? draw (picture, (IrModel *) diff->b, diff, NULL, error) : NULL;

  return both != NULL ? choose_sides (both, picture->options->sides) : NULL;
}

static IrScene *
rewrite_scene (Picture *picture, IrModel *history, GError **error)
{
  const Options *options = picture->options;
  const IrSceneOptions scene_options = { .measure = ir_text_measure_width,
                                         .measure_data = picture->measure,
                                         .show_constants = options->constants,
                                         .flat = options->flat };
  const guint n = ir_history_n_steps (history), step = (guint) options->rewrite;
  g_autoptr (IrModel) before = NULL, after = NULL;
  g_autoptr (IrRewrite) rewrite = NULL;
  IrScene *scene;

  if (options->rewrite < 1 || step > n)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "--rewrite %d: needs a step from 1 to %u", options->rewrite, n);
      return NULL;
    }
  before = ir_history_snapshot (history, step - 1);
  after = ir_history_snapshot (history, step);
  rewrite = ir_rewrite_new (history, step, before, after);
  scene = ir_rewrite_scene (rewrite, IR_SCENE_JOIN_RIGHT, FALSE, &scene_options,
                            picture->cli->cancellable, error);
  if (scene == NULL && (error == NULL || *error == NULL))
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                 "--rewrite %u: the step touched %s; --diff %u:%u draws it in the graph", step,
                 ir_rewrite_is_large (rewrite) ? "too many nodes to be drawn by themselves"
                                               : "no nodes",
                 step - 1, step);
  return scene;
}

static gboolean
check_sides (const Options *options, GError **error)
{
  if (options->sides == NULL)
    return TRUE;
  if (options->diff == NULL)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "--sides: needs --diff");
  else if (!g_strv_contains (sides, options->sides))
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                 "--sides %s: needs overlay, beside, before or after", options->sides);
  else
    return TRUE;
  return FALSE;
}

/* Of the session that is open, else of the model's path in the user's data. */
static IrKeptView *
kept_view (const Picture *picture, const IrModel *model, GError **error)
{
  const guint number = (guint) MAX (picture->options->kept, 0);
  const IrSessionFile *session = picture->cli->session;
  g_autofree char *file = ir_kept_file ();
  const char *text = session != NULL && number >= 1 && number <= IR_N_SESSION_VIEWS
                         ? session->views[number - 1]
                         : NULL;

  if (session == NULL)
    return ir_kept_find (file, model, picture->opened->path, number, error);
  if (text == NULL)
    g_set_error (error, IR_KEPT_ERROR, IR_KEPT_ERROR_NONE, "%s keeps no view %u", session->file,
                 number);
  return text != NULL ? ir_kept_view_parse (text, model) : NULL;
}

static IrScene *
graph_scene (Picture *picture, GError **error)
{
  IrModel *model = picture->opened->model;
  const Options *options = picture->options;
  const gboolean of_steps = options->diff != NULL &&
                            !g_file_test (options->diff, G_FILE_TEST_IS_REGULAR);
  guint from = 0, to = ir_history_cursor (model);

  if (!check_sides (options, error) ||
      (of_steps && !parse_range (options->diff, ir_history_n_steps (model), &from, &to, error)))
    return NULL;
  if (options->kept != 0)
    {
      picture->kept = kept_view (picture, model, error);
      picture->look = picture->kept != NULL ? ir_look_copy (picture->kept->look) : NULL;
    }
  else
    picture->look = look_of (options, model, error);
  if (picture->look == NULL)
    return NULL;
  picture->facts = facts_of (picture, to, error);
  if (picture->facts == NULL || !close_folds (picture, error))
    return NULL;
  if (options->why != NULL)
    return why_scene (picture, error);
  if (options->rewrite != 0)
    return rewrite_scene (picture, model, error);
  return options->diff != NULL ? diff_scene (picture, model, error)
                               : draw (picture, model, NULL, NULL, error);
}

/* Options of plans with another picture would say nothing. */
static gboolean
check_plan_options (const Options *options, const char *view, GError **error)
{
  const CliPlanOptions *plan = &options->plan;
  const gboolean of_memory = strcmp (view, "memory") == 0;
  const gboolean of_times = strcmp (view, "schedule") == 0 || strcmp (view, "timeline") == 0;
  const char *option = of_memory                             ? NULL
                       : plan->order != NULL                 ? "--order"
                       : plan->separate                      ? "--separate"
                       : plan->budget != NULL                ? "--budget"
                       : plan->parallel != NULL && !of_times ? "--parallel"
                                                             : NULL;

  if (option != NULL)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s: needs --view memory%s",
                 option, strcmp (option, "--parallel") == 0 ? ", schedule or timeline" : "");
  return option == NULL;
}

/* Options of how a graph is drawn say nothing of a chart. */
static gboolean
check_look_options (const Options *options, const char *view, GError **error)
{
  const char *option = strcmp (view, "graph") == 0     ? NULL
                       : options->enter != NULL        ? "--enter"
                       : options->open != NULL         ? "--open"
                       : options->beside != NULL       ? "--beside"
                       : options->only != NULL         ? "--only"
                       : options->highlight != NULL    ? "--highlight"
                       : options->colour != NULL       ? "--colour"
                       : options->overlay != NULL      ? "--overlay"
                       : options->overlay_file != NULL ? "--overlay-file"
                                                       : NULL;

  if (option != NULL)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s: needs --view graph", option);
  return option == NULL;
}

/* What is derived says nothing where nothing is. */
static gboolean
check_derived_options (const Options *options, const char *view, GError **error)
{
  const IrOverlay *overlay = ir_overlay_find (options->overlay);
  const char *option = options->of != NULL ? "--of" : options->wrt != NULL ? "--wrt" : NULL;

  if (option == NULL || strcmp (view, "derivation") == 0 || strcmp (view, "gradients") == 0 ||
      (overlay != NULL && (overlay->needs & IR_OVERLAY_NEEDS_GRADIENTS) != 0))
    return TRUE;
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "%s: needs --view derivation or gradients, or an overlay of gradients", option);
  return FALSE;
}

static IrScene *
make_scene (Picture *picture, GError **error)
{
  const char *view = picture->options->view != NULL ? picture->options->view : "graph";
  const IrChartOptions chart = { .measure = ir_text_measure_width,
                                 .measure_data = picture->measure };
  const CliChartSource source = source_of (picture->options);

  if (!check_plan_options (picture->options, view, error) ||
      !check_look_options (picture->options, view, error) ||
      !check_derived_options (picture->options, view, error))
    return NULL;
  if (strcmp (view, "graph") == 0)
    return graph_scene (picture, error);
  return cli_chart (picture->cli, view, &source, picture->opened->model, &chart, error);
}

/* The part that was seen, at the zoom at which it was. */
static void
look_where_it_did (IrRenderOptions *render, const IrKeptView *kept, IrLayoutRect *bounds)
{
  if (render->zoom <= 0)
    render->zoom = kept->zoom;
  if (kept->width <= 0 || kept->height <= 0)
    return;
  *bounds = (IrLayoutRect){ kept->x - kept->width / 2, kept->y - kept->height / 2, kept->width,
                            kept->height };
  render->clip = bounds;
}

static gboolean
keep_cycle (CliModel *opened, GError **error)
{
  g_autoptr (GPtrArray) cycles = ir_model_cycles (opened->model);
  const GArray *cycle = cycles->len > 0 ? cycles->pdata[0] : NULL;
  g_autoptr (GArray) nodes = g_array_new (FALSE, FALSE, sizeof (IrNodeId));

  for (guint i = 0; cycle != NULL && i < cycle->len; i++)
    g_array_append_val (nodes, g_array_index (cycle, IrCycleStep, i).node);
  if (cycle == NULL)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "--cycle: %s has none",
                 opened->path);
  IrModel *part = cycle != NULL
                      ? ir_act_copy (opened->model, (const IrNodeId *) (const void *) nodes->data,
                                     nodes->len, error)
                      : NULL;
  if (part == NULL)
    return FALSE;
  ir_model_unref (opened->model);
  opened->model = part;
  return TRUE;
}

/* Steps are those of a pipeline, which need not run for another file. */
static gboolean
is_step_range (const char *diff)
{
  return diff != NULL && !g_file_test (diff, G_FILE_TEST_IS_REGULAR);
}

static gboolean
is_dot (const char *path)
{
  return g_str_has_suffix (path, ".dot") || g_str_has_suffix (path, ".gv");
}

/* More than the graph itself, which is written so that it can be read back. */
static gboolean
shows_more (const Options *options)
{
  return options->diff != NULL || options->why != NULL || options->rewrite != 0 ||
         options->view != NULL || options->fold != NULL || options->constants || options->flat;
}

static gboolean
write_picture (Cli *cli,
               const Options *options,
               CliModel *opened,
               IrLayoutRect *bounds,
               char **note,
               IrScale **scale,
               GError **error)
{
  g_autoptr (IrTextMeasure) measure = NULL;
  g_autoptr (IrScene) scene = NULL, legend = NULL;
  g_auto (Picture) picture = { .cli = cli, .options = options, .opened = opened };
  IrRenderOptions render = { .colours = (options->dark ? IR_PALETTE_DARK : IR_PALETTE_LIGHT) |
                                        (options->high_contrast ? IR_PALETTE_HIGH_CONTRAST : 0),
                             .scale = options->scale,
                             .zoom = options->zoom };

  if (is_dot (options->output) && !shows_more (options))
    return ir_model_save (opened->model, options->output, "dot", NULL, error);
  picture.measure = measure = ir_text_measure_new ();
  scene = make_scene (&picture, error);
  if (scene == NULL)
    return FALSE;
  *bounds = ir_scene_bounds (scene);
  if (picture.kept != NULL)
    look_where_it_did (&render, picture.kept, bounds);
  if (picture.scale != NULL)
    render.legend = legend = ir_legend_draw (picture.scale, ir_text_measure_width, measure);
  if (!ir_render_file (scene, options->output, &render, error))
    return FALSE;
  *scale = g_steal_pointer (&picture.scale);
  *note = render.note != NULL ? render.note : g_steal_pointer (&picture.note);
  return TRUE;
}

/* What the colours mean. */
static cJSON *
scale_json (const IrScale *scale)
{
  cJSON *json = cJSON_CreateObject (), *classes;

  cJSON_AddStringToObject (json, "title", scale->title);
  cJSON_AddNumberToObject (json, "boxes", scale->n);
  if (!scale->is_class)
    {
      cJSON_AddStringToObject (json, "unit", scale->unit);
      cJSON_AddNumberToObject (json, "low", scale->low);
      cJSON_AddNumberToObject (json, "high", scale->high);
      cJSON_AddBoolToObject (json, "logarithmic", scale->is_log);
      return json;
    }
  classes = cJSON_AddObjectToObject (json, "classes");
  for (guint i = 0; i < scale->n_classes; i++)
    cJSON_AddNumberToObject (classes, scale->classes[i], scale->n_in_class[i]);
  return json;
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_autofree char *with_step = NULL;
  const char *file = cli_file_at (cli, options->at, &with_step);
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GError) error = NULL;
  g_autofree char *note = NULL;
  g_autoptr (IrScale) scale = NULL;
  IrLayoutRect bounds = { 0 };
  CliStatus status;
  cJSON *json;

  if (options->output == NULL)
    {
      cli_printerr ("irscope render: needs -o OUT.svg, .pdf, .png or .dot\n");
      return CLI_BAD;
    }
  options->model.record_refusals = options->why != NULL;
  if (!cli_model_open (cli, &options->model, file,
                       is_step_range (options->diff) || options->why != NULL ||
                           options->rewrite != 0,
                       &opened, &status))
    return status;
  if (options->cycle && !keep_cycle (&opened, &error))
    return cli_fail (CLI_BAD, error);
  if (!write_picture (cli, options, &opened, &bounds, &note, &scale, &error))
    return cli_fail (cli_status_of (error), error);
  if (note != NULL)
    cli_printerr ("irscope render: %s\n", note);
  if (cli->json)
    {
      json = cJSON_CreateObject ();
      cJSON_AddStringToObject (json, "file", options->output);
      cJSON_AddNumberToObject (json, "width", bounds.width);
      cJSON_AddNumberToObject (json, "height", bounds.height);
      if (note != NULL)
        cJSON_AddStringToObject (json, "note", note);
      if (scale != NULL)
        cJSON_AddItemToObject (json, "overlay", scale_json (scale));
      cli_json_print (json);
    }
  return CLI_OK;
}

const CliCommand cli_command_render = {
  .name = "render",
  .arguments = "FILE[@N]",
  .takes_model = TRUE,
  .summary = "Write the picture that the window shows: SVG, PDF, PNG or DOT",
  .doc =
      "A diff shows new nodes with +, removed ones with -, changed ones with ~; in DOT they have these\n"
      "badges, the colours of the picture, and a style of line each. An answer of --why\n"
      "shows what fits with a check mark, what does not with a cross, and what is missing as a\n"
      "dashed box. DOT of the graph alone can be read back.",
  .min_args = 1,
  .max_args = 1,
  .options = render_options,
  .model_options = cli_limited_options,
  .options_size = sizeof (Options),
  .run = run,
};
