/* What the parts of explain-gradient share: what is followed, and what is said. */
#pragma once

#include "core/exec/kernel/stats.h"
#include "core/ir/history.h"
#include "passes/debug/explain-gradient.h"

/* What a vjp step notes of one node: its anchor, or a copy of a node in the body of its anchor */
typedef struct
{
  const IrStep *step;
  const IrNode *node;
} IrPassage;

typedef struct
{
  const IrModel *model;
  IrRun *run;
  const IrValue *of, *by, *gradient;
  GHashTable *reach; /* (nullable) set of IrNode and IrValue that @by leads to; NULL: all */
  GArray *passages;  /* of IrPassage: backwards, what is in a body before the call */
  IrGradientReason *reason;
} IrExplain;

void ir_explain_init (IrExplain *s, const IrModel *model, IrRun *run, const IrValue *by);
void ir_explain_clear (IrExplain *s);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrExplain, ir_explain_clear)
GHashTable *ir_explain_reach (const IrValue *by);
const IrValue *ir_explain_came_to (const IrExplain *s, const IrPassage *passage, guint i);
const IrValue *ir_explain_part_at (const IrExplain *s,
                                   const IrStep *step,
                                   guint i,
                                   const IrValue **value);
gboolean ir_explain_is_made_in (const IrExplain *s, const IrStep *step, const IrNode *node);

const IrTensor *ir_explain_tensor_of (const IrExplain *s, const IrValue *value);
gboolean ir_explain_stats_of (const IrExplain *s, const IrValue *value, IrTensorStats *stats);
char *ir_explain_range_of (const IrExplain *s, const IrValue *value);
void ir_explain_say (
    IrExplain *s, IrGradientKind kind, const IrNode *node, double share, const char *format, ...)
    G_GNUC_PRINTF (5, 6);
const IrNode *ir_explain_written_node (const IrExplain *s, const IrNode *node);
IrGradientKind ir_explain_kind_of_block (const IrNode *node);
double ir_explain_operand_at (const IrTensor *out, const IrTensor *operand, gint64 at);
void ir_explain_not_finite (IrExplain *s);
