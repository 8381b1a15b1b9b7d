/* One step by itself: the nodes that it touched, before and after, as a picture, in text, and in a
 * sentence. */
#pragma once

#include "core/ir/history.h"
#include "core/layout/scene.h"

typedef enum
{
  IR_REWRITE_BEFORE,
  IR_REWRITE_AFTER,
  IR_N_REWRITE_SIDES
} IrRewriteSide;

typedef struct
{
  guint step;
  IrModel *models[IR_N_REWRITE_SIDES];  /* referenced */
  GPtrArray *nodes[IR_N_REWRITE_SIDES]; /* of const IrNode: went, were changed, or came */
  GPtrArray *values;                    /* of const IrValue: what stands in for those that went */
} IrRewrite;

/* @before, @after: @history at the step before, and at @step. Linear in the records of the step. */
IrRewrite *ir_rewrite_new (const IrModel *history, guint step, IrModel *before, IrModel *after);
void ir_rewrite_free (IrRewrite *rewrite);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrRewrite, ir_rewrite_free)
gboolean ir_rewrite_is_large (const IrRewrite *rewrite); /* too many nodes to be drawn together */
char *ir_rewrite_sentence (const IrRewrite *rewrite); /* "conv1 (Conv) and bn1 (...) became ..." */
GPtrArray *ir_rewrite_text (const IrRewrite *rewrite, IrRewriteSide side); /* of char *: lines */
/* (nullable): there are no nodes, or too many; or an error. @bare: as IrScenePart has it */
IrScene *ir_rewrite_scene (const IrRewrite *rewrite,
                           IrSceneJoin join,
                           gboolean bare,
                           const IrSceneOptions *options,
                           GCancellable *cancellable,
                           GError **error);
