/* The difference of two points in the history of one model (matched by id), or of two models (matched by what
 * nodes compute, then by names that something speaks for, then by operator and neighbours). */
#pragma once
#include "core/ir/model.h"

typedef enum
{
  IR_DIFF_SAME,
  IR_DIFF_ADDED,
  IR_DIFF_REMOVED,
  IR_DIFF_CHANGED,
  IR_N_DIFF_KINDS
} IrDiffKind;

/* Why two nodes, or two values, are a pair: the first is the surest. */
typedef enum
{
  IR_PAIRED_NOT,
  IR_PAIRED_BY_COMPUTATION, /* the same operator on paired values and equal constants */
  IR_PAIRED_BY_MEANING,     /* by its id or its lineage: to be compared */
  IR_PAIRED_BY_NAME,        /* by its name, or as the output of the graph at that place */
  IR_PAIRED_BY_PLACE,       /* by what takes it, or by the node that makes it */
  IR_PAIRED_BY_CONTENTS,    /* these two alone hold the same */
  IR_N_PAIRED
} IrPaired;

typedef struct
{
  IrDiffKind kind;
  IrPaired how;
  IrNodeId a, b;      /* 0 where it does not exist */
  GPtrArray *changes; /* (nullable) of char *: "attribute axis: 1 -> 2", "input 1: w -> w_folded" */
} IrNodeDiff;

typedef struct
{
  IrDiffKind kind;
  IrValueId a, b;
  GPtrArray *changes; /* (nullable): "type: ... -> ...", "initializer changed" */
} IrValueDiff;

/* Nodes that became others: these 4 became this 1. Nodes that only changed are on both sides. */
typedef struct
{
  GArray *a, *b; /* of IrNodeId */
} IrDescent;

typedef struct
{
  IrModel *a, *b;        /* referenced */
  gboolean same_history; /* equal ids mean the same */
  GArray *nodes;         /* of IrNodeDiff, b's order, removed ones after their predecessors */
  GArray *values;        /* of IrValueDiff: initializers, inputs, outputs and edges that differ */
  guint n_nodes[IR_N_DIFF_KINDS];
  GHashTable *by_a, *by_b; /* node id -> index + 1 into nodes */
  GPtrArray *descents;     /* (nullable) of IrDescent: of several nodes, where lineage is known */
} IrDiff;

/* Differences that say the same of several nodes, or of several values. */
typedef struct
{
  IrDiffKind kind;
  gboolean of_values;
  const char *op;     /* interned by the model; NULL: values, or nodes whose operator differs */
  GPtrArray *changes; /* of char *: what they have in common; names of neighbours left out */
  GArray *items;      /* of guint: places in nodes, or in values; one at least */
} IrDiffGroup;

/* Of all that is not the same, largest first. (transfer full) (element-type IrDiffGroup) */
GPtrArray *ir_diff_groups (const IrDiff *diff);
/* Whether nothing but names differs. */
gboolean ir_diff_is_renamed (IrDiffKind kind, const GPtrArray *changes);
gboolean ir_diff_group_is_renamed (const IrDiff *diff, const IrDiffGroup *group);
guint ir_diff_n_renamed (const IrDiff *diff); /* nodes */

IrDiff *ir_diff_new (IrModel *a, IrModel *b, gboolean same_history);
gboolean ir_diff_is_turned (const IrModel *a, const IrModel *b);
void ir_diff_free (IrDiff *diff);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrDiff, ir_diff_free)
void ir_diff_add_descent (IrDiff *diff, const IrModel *history, guint from, guint to);
char *ir_diff_change_brief (const IrDiff *diff, const IrNodeDiff *row, guint index);
const IrNodeDiff *ir_diff_of_a (const IrDiff *diff, IrNodeId a);
const IrNodeDiff *ir_diff_of_b (const IrDiff *diff, IrNodeId b);
const char *ir_diff_kind_name (IrDiffKind kind);
const char *ir_paired_name (IrPaired how);
