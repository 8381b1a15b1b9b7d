/* What irscope render was asked for, and how it draws a graph. */
#pragma once

#include "app/cli/render-charts.h"
#include "core/look/kept.h"
#include "core/look/look.h"
#include "core/render/render.h"

typedef struct
{
  CliModelOptions model;
  CliPlanOptions plan;
  char *output, *diff, *why, *view, *tensor, *sides, *of, *wrt, *log, *loop, *iterations;
  gint at, rewrite;
  gboolean dark, high_contrast, constants, flat, left_to_right, wrap, cycle;
  gdouble zoom;
  double scale;
  char **fold, **open, **beside, **only, **highlight, **colour;
  char *enter, *overlay, *overlay_file, *overlay_scale;
  gint kept;
  char *event;
} CliRender;

/* -- render-look.c: what is drawn of the graph, and how -- */
IrLook *cli_render_look (const CliRender *options, const IrModel *model, GError **error);
/* @open: the picture with all open; adds what is to be one box */
void cli_render_add_fold (GHashTable *folded, const IrScene *open, const char *text);

/* -- render-graph.c: the graph, a difference, a step, an answer of why -- */
typedef struct
{
  Cli *cli;
  const CliRender *options;
  CliModel *opened;
  IrTextMeasure *measure;
  IrLook *look;
  IrOverlayFacts *facts; /* (nullable) */
  IrScale *scale;        /* (out) (nullable) */
  IrKeptView *kept;      /* (nullable) */
  char *note;            /* (out) (nullable) */
} CliPicture;
void cli_picture_clear (CliPicture *picture);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CliPicture, cli_picture_clear)
IrScene *cli_render_graph (CliPicture *picture, GError **error);
CliChartSource cli_render_source (const CliRender *options);
gboolean cli_render_is_step_range (const char *diff);
