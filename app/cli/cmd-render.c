/* irscope render: the pictures that the window shows, as files. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/render.h"
#include "core/act/act.h"
#include "core/io/io.h"
#include "core/ir/cycles.h"
#include "core/ir/pages.h"
#include "core/layout/scene-tokens.h"
#include "core/look/legend.h"

#include <string.h>

static const CliOption render_options[] = {
  { "output", 'o', G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (CliRender, output),
    "Where to write; the ending says how: .svg, .pdf, .png, .dot", "OUT" },
  { "at", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (CliRender, at),
    "The graph after this step of the pipeline (as FILE@N)", "N" },
  { "diff", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRender, diff),
    "What changed from step N to step M, or from the file OTHER to FILE", "N:M|OTHER" },
  { "sides", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRender, sides),
    "With --diff: overlay (the default: both in one), beside, before, or after", "HOW" },
  { "rewrite", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (CliRender, rewrite),
    "Step N by itself: the nodes that it was applied to, and what became of them", "N" },
  { "why", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRender, why),
    "Why RULE did not fire at NODE: what fits its pattern, what does not, what is missing",
    "RULE:NODE" },
  { "view", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRender, view),
    "graph (default), summary, schedule (as predicted), trace (as measured), timeline (both on one axis, and what "
    "memory holds), memory, tensor, derivation, gradients, training, scoreboard (what the steps cost), flow (loops as lanes, iterations as columns), or unrolled (a loop beside some of its iterations)",
    "VIEW" },
  { "tensor", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRender, tensor),
    "With --view tensor: which value, also LOOP@3/NAME, or CALL/NAME in the body of a function",
    "NAME" },
  { "loop", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRender, loop),
    "With --view unrolled: which loop (default: the first that runs), also OUTER@3/INNER", "NAME" },
  { "iterations", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRender, iterations),
    "With --view unrolled: which of them, from 0 (default 0..3)", "I..J" },
  { "of", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRender, of),
    "With derivatives: what is derived (default: the only floating-point output)", "V" },
  { "wrt", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRender, wrt),
    "With derivatives: by what: params, inputs, all, or names with commas between", "V" },
  { "log", 0, G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (CliRender, log),
    "With --view training or overlays of updates: what 'irscope train --log' wrote of its steps",
    "CSV" },
  { "budget", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRender, plan.budget),
    "With --view memory: compute values again so that all fit, as 'irscope memory' does", "SIZE" },
  { "order", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRender, plan.order),
    "With --view memory: order of the nodes, file (the default) or memory, which keeps the peak low",
    "ORDER" },
  { "separate", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (CliRender, plan.separate),
    "With --view memory: give every value bytes of its own, no views, nothing in place", NULL },
  { "parallel", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRender, plan.parallel),
    "With --view memory, schedule or timeline: the plan of a run with this option: off (the default), on, or "
    "auto, which runs FILE until it is decided",
    "off,on,auto" },
  { "cycle", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (CliRender, cycle),
    "Only the nodes of the first cycle, which wait for each other", NULL },
  { "dark", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (CliRender, dark), "Light on dark", NULL },
  { "high-contrast", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (CliRender, high_contrast),
    "Black and white where it can be, 7 : 1 for all that is read", NULL },
  { "constants", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (CliRender, constants),
    "Draw constants as boxes of their own", NULL },
  { "flat", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (CliRender, flat), "No frames for scopes", NULL },
  { "horizontal", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (CliRender, left_to_right),
    "From left to right", NULL },
  { "wrap", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (CliRender, wrap),
    "In columns, where it would be much higher than wide", NULL },
  { "fold", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (CliRender, fold),
    "Draw this scope as one box; or all scopes, repeats (copies of one block), shapes (arithmetic on "
    "shapes) or branches; or auto, as the window opens FILE",
    "SCOPE" },
  { "kept", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (CliRender, kept),
    "The view of FILE that is kept as N in the window (Ctrl and N keep it): what it draws, and the "
    "part that it looks at",
    "N" },
  { "enter", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRender, enter),
    "Only the branch or body of NODE (its first; NODE/then_branch: that one), or of the function that "
    "it calls",
    "NODE[/BODY]" },
  { "open", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (CliRender, open),
    "Draw the body of the function that NODE calls in its place", "NODE" },
  { "beside", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (CliRender, beside),
    "Draw the branches or the body of NODE beside the picture", "NODE" },
  { "only", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (CliRender, only),
    "Only nodes that QUERY names, as 'irscope find' reads it", "QUERY" },
  { "highlight", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (CliRender, highlight),
    "Nodes that QUERY does not name are pale", "QUERY" },
  { "colour", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (CliRender, colour),
    "Nodes that QUERY names have this colour: blue, orange, green, pink, sky, red, yellow or grey",
    "COLOUR=QUERY" },
  { "overlay", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRender, overlay),
    "Colour boxes by what nodes cost or are: time, flops, bytes, memory, error, dtype, device, "
    "sparsity, gradient, gradient-zeros, gradient-nan, gradient-weight, dead-units, verdict or age; with a legend; or values: a small picture of what "
    "each node made. Time, device, sparsity and values run FILE, error checks the run, verdict proves the steps, gradients derive it",
    "NAME" },
  { "overlay-file", 0, G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (CliRender, overlay_file),
    "Colour boxes by numbers per node: { \"conv1\": 0.25 }, or with \"title\", \"unit\" and \"nodes\"",
    "F.json" },
  { "overlay-scale", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRender, overlay_scale),
    "linear or log (default: log where the largest is more than 100 times the smallest)", "SCALE" },
  { "event", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRender, event),
    "Run FILE and draw its tokens as they are behind this event, as 'irscope play' numbers them: on the edges, "
    "live or dead, with what they hold, and what became of nodes",
    "N|last" },
  { "zoom", 0, G_OPTION_ARG_DOUBLE, G_STRUCT_OFFSET (CliRender, zoom),
    "The picture as the window shows it at this zoom, with the names that can be read there", "Z" },
  { "scale", 0, G_OPTION_ARG_DOUBLE, G_STRUCT_OFFSET (CliRender, scale),
    "Pixels of a PNG per unit of the picture (default 1)", "S" },
  { 0 },
};

/* CliRender of plans with another picture would say nothing. */
static gboolean
check_plan_options (const CliRender *options, const char *view, GError **error)
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

/* CliRender of how a graph is drawn say nothing of a chart. */
static gboolean
check_look_options (const CliRender *options, const char *view, GError **error)
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
                       : options->event != NULL        ? "--event"
                                                       : NULL;

  if (option != NULL)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s: needs --view graph", option);
  return option == NULL;
}

static gboolean
check_unrolled_options (const CliRender *options, const char *view, GError **error)
{
  const char *option = options->loop != NULL         ? "--loop"
                       : options->iterations != NULL ? "--iterations"
                                                     : NULL;

  if (option == NULL || strcmp (view, "unrolled") == 0)
    return TRUE;
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s: needs --view unrolled",
               option);
  return FALSE;
}

/* What is derived says nothing where nothing is. */
static gboolean
check_derived_options (const CliRender *options, const char *view, GError **error)
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
make_scene (CliPicture *picture, GError **error)
{
  const char *view = picture->options->view != NULL ? picture->options->view : "graph";
  const IrChartOptions chart = { .measure = ir_text_measure_width,
                                 .measure_data = picture->measure };
  CliChartSource source = cli_render_source (picture->options);

  source.opened = picture->opened;
  if (!check_plan_options (picture->options, view, error) ||
      !check_look_options (picture->options, view, error) ||
      !check_derived_options (picture->options, view, error) ||
      !check_unrolled_options (picture->options, view, error))
    return NULL;
  if (strcmp (view, "graph") == 0)
    return cli_render_graph (picture, error);
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

static gboolean
is_dot (const char *path)
{
  return g_str_has_suffix (path, ".dot") || g_str_has_suffix (path, ".gv");
}

/* More than the graph itself, which is written so that it can be read back. */
static gboolean
shows_more (const CliRender *options)
{
  return options->diff != NULL || options->why != NULL || options->rewrite != 0 ||
         options->view != NULL || options->event != NULL || options->fold != NULL ||
         options->constants || options->flat;
}

/* Which of @n events is meant. */
static gboolean
parse_event (const CliRender *options, const char *path, guint n, guint *event, GError **error)
{
  guint64 number = n - 1;
  const gboolean good = n > 0 &&
                        (strcmp (options->event, "last") == 0 ||
                         g_ascii_string_to_unsigned (options->event, 10, 0, n - 1, &number, NULL));

  if (!good)
    g_set_error (
        error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
        "--event %s: needs the number of one of the %u events of %s, which 'irscope play' lists, "
        "or last",
        options->event, n, path);
  *event = (guint) number;
  return good;
}

/* (transfer full) (nullable) of IrSceneToken; %NULL and no error: none are asked for */
static GArray *
draw_tokens (CliPicture *picture, const IrScene *scene, GError **error)
{
  IrModel *model = picture->opened->model;
  const CliRender *options = picture->options;
  CliChartSource source = cli_render_source (options);
  guint event;

  if (options->event == NULL)
    return NULL;
  if (options->diff != NULL || options->why != NULL || options->rewrite != 0 ||
      is_dot (options->output))
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "--event: needs the graph as it is, in SVG, PDF or PNG");
      return NULL;
    }
  source.opened = picture->opened;
  g_autoptr (IrFlowLog) log = cli_flow_log (picture->cli, &source, model, error);
  if (log == NULL ||
      !parse_event (options, picture->opened->path, ir_flow_log_events (log)->len, &event, error))
    return NULL;
  g_autoptr (IrFlowState) state = ir_flow_state_new (log);
  ir_flow_state_go (state, event);
  return ir_scene_tokens (scene, model, state, ir_text_measure_width, picture->measure);
}

static gboolean
write_picture (Cli *cli,
               const CliRender *options,
               CliModel *opened,
               IrLayoutRect *bounds,
               char **note,
               IrScale **scale,
               GError **error)
{
  g_autoptr (IrTextMeasure) measure = NULL;
  g_autoptr (IrScene) scene = NULL, legend = NULL;
  g_autoptr (GArray) tokens = NULL;
  g_autoptr (GError) failed = NULL;
  g_auto (CliPicture) picture = { .cli = cli, .options = options, .opened = opened };
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
  render.tokens = tokens = draw_tokens (&picture, scene, &failed);
  if (failed != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&failed));
      return FALSE;
    }
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
  CliRender *options = cli->options;
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
                       cli_render_is_step_range (options->diff) || options->why != NULL ||
                           options->rewrite != 0 || g_strcmp0 (options->view, "scoreboard") == 0,
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
  .options_size = sizeof (CliRender),
  .run = run,
};
