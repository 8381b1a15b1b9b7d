#pragma once

#include "core/layout/scene.h"

G_BEGIN_DECLS

struct _IrScene
{
  gatomicrefcount refs;
  GStringChunk *strings;
  GArray *boxes;     /* of IrSceneBox, clusters before what lies in them */
  GArray *texts;     /* of IrSceneText */
  GArray *lines;     /* of IrSceneLine */
  GArray *points;    /* of IrLayoutPoint */
  GPtrArray *thumbs; /* of IrSceneThumb: references that boxes have */
  IrLayoutRect bounds;
  IrLayout *layout; /* (nullable) */
  gboolean is_diff;
  gboolean finished;
  gboolean has_heat;
  guint n_nodes[IR_N_SCENE_STATES]; /* drawn ones, and those in closed groups */
  GArray *cuts; /* (nullable) of double: where it was cut into columns, in px of the layout */
  IrSceneMeasure measure;
  gpointer measure_data;

  GHashTable *by_node;  /* node id -> box + 1 */
  GHashTable *by_value; /* value id -> line + 1 */

  /* Uniform grid over the bounds; an item is a box × 2 or a line × 2 + 1. */
  double cell; /* px */
  gint32 n_columns, n_rows;
  gsize *cell_start; /* cells + 1 offsets */
  guint32 *cell_items;
};

void ir_scene_wrap (IrScene *scene, const IrScene *before); /* (nullable) */
double ir_scene_measure (const IrScene *scene, const char *text, IrSceneTextStyle style);
char *ir_scene_ellipsize (const IrScene *scene,
                          const char *text,
                          IrSceneTextStyle style,
                          double max_width);

G_END_DECLS
