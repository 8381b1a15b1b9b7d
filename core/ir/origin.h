/* Lineage by name, for files: which nodes and values of the graph that was optimized the nodes of
 * the result stand for, and the rules that made them. A history knows it by id; a file that is
 * written carries it in its metadata, so that it can be asked without the history. */
#pragma once

#include "core/ir/model.h"

/* What a node stands for. */
typedef struct
{
  GPtrArray *nodes;  /* of char *: original nodes; one without a name by its first output */
  GPtrArray *values; /* of char *, "" = none: per output the original value it stands for */
  GPtrArray *rules;  /* of char *: "pass/rule", in the order in which they were applied */
} IrOrigin;

/* An original node that no node stands for. */
typedef struct
{
  GPtrArray *into; /* of char *: values that hold what it computed, or the nearest ones behind it */
  char *rule;      /* "pass/rule" that took it away, or "" */
} IrGone;

typedef struct _IrOrigins IrOrigins;

IrOrigins *ir_origins_read (const IrModel *model); /* (nullable): the file says nothing */
void ir_origins_free (IrOrigins *origins);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrOrigins, ir_origins_free)
const IrOrigin *ir_origins_of (const IrOrigins *origins, IrNodeId node);
const char *ir_origins_of_constant (const IrOrigins *origins, const char *name);
const IrGone *ir_origins_gone (const IrOrigins *origins, const char *name); /* (nullable) */
const char *ir_origins_name (const IrOrigins *origins, const IrNode *node);
/* A copy of @model, with its lineage in the metadata, to be saved. (transfer full) */
IrModel *ir_model_with_origins (IrModel *model);
