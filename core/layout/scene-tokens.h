/* Tokens on the lines of a graph, and what became of its nodes: painted above a scene, without making it anew. */
#pragma once

#include "core/exec/run/flow-state.h"
#include "core/layout/scene.h"

#define IR_SCENE_TOKEN_HEIGHT 18.0 /* px */

typedef enum
{
  IR_SCENE_TOKEN_LIVE,
  IR_SCENE_TOKEN_DEAD,
  IR_SCENE_TOKEN_WAITS,
  IR_SCENE_TOKEN_NOTE /* of a box: which input a Merge took, which branch was called */
} IrSceneTokenKind;

typedef struct
{
  IrSceneTokenKind kind;
  gint32 box, line; /* what it lies on; -1: none */
  double x, y;      /* px: its middle */
  double width;     /* px */
  char *text;       /* (owned) */
} IrSceneToken;

/* (transfer full) of IrSceneToken */
GArray *ir_scene_tokens (const IrScene *scene,
                         const IrModel *model,
                         const IrFlowState *state,
                         IrSceneMeasure measure, /* (nullable) */
                         gpointer measure_data);
