/* A draft is a model as a file writes it: graphs with named values, nodes that mention names. All
 * readers (ONNX, text, JSON, DOT) fill one, and one function makes a model of it: scopes, captured
 * and forward references, duplicates and everything that is undefined are dealt with there, once.
 * Strings are interned in the model's context; the rest lives in the draft's arena. */
#pragma once

#include "core/ir/arena.h"
#include "core/ir/edit.h"
#include "core/ir/problem.h"
#include <gio/gio.h>

typedef struct _IrDraftGraph IrDraftGraph;

/* More nodes, attributes and values than this are refused: each costs a few bytes in a file and
 * some hundred in memory. */
#define IR_DRAFT_MAX_ENTITIES (6 * 1000 * 1000)
#define IR_DRAFT_MAX_DEPTH    48 /* graphs within graphs; types within types */

typedef struct
{
  guint line, column; /* 0: not known */
} IrDraftPlace;

#define IR_DRAFT_NOWHERE ((IrDraftPlace){ 0, 0 })

/* More findings than this say no more. */
#define IR_DRAFT_MAX_PROBLEMS 1000

typedef struct
{
  const char *name;   /* interned, "" if left out */
  const IrType *type; /* (nullable) */
  const IrExtra *extra;
  IrTensor *tensor; /* (nullable) initializers, (owned by the context) */
  gboolean omitted; /* initializers: the contents could not be read; the type is still known */
  IrDraftPlace place;
} IrDraftValue;

typedef struct
{
  const IrAttr *attr; /* graph attributes: made when the graphs are, see @graphs */
  GPtrArray *graphs;  /* (nullable) of IrDraftGraph: GRAPH, GRAPHS */
  const char *name;   /* graph attributes only, interned */
  IrAttrKind kind;    /* graph attributes only */
  const char *doc;    /* graph attributes only, (nullable) */
  GBytes *unknown;    /* graph attributes only, (nullable), (owned by the context) */
} IrDraftAttr;

/* A list in the draft's arena: most are short, and there are two per node. */
typedef struct
{
  const char **names; /* interned, "" = left out */
  guint n, size;
} IrDraftNames;

typedef struct
{
  const char *op_type, *domain, *overload, *name, *device; /* interned */
  const char *scope;                                       /* (nullable) NULL: from the name */
  IrDraftNames inputs, outputs;
  GArray *attrs;            /* of IrDraftAttr */
  const char *const *after; /* (nullable) NULL-terminated: first outputs of nodes to wait for */
  const IrExtra *extra;
  guint64 rank; /* 0: by place */
  IrDraftPlace place;
} IrDraftNode;

struct _IrDraftGraph
{
  const char *name;
  GArray *inputs, *outputs, *infos, *initializers; /* of IrDraftValue */
  GPtrArray *nodes;                                /* of IrDraftNode */
  const IrExtra *extra;
  const IrFunctionInfo *function; /* (nullable) */
  IrDraftPlace place;
};

typedef struct
{
  IrContext *context;
  IrArena *arena;
  GArray *arrays;   /* everything that is not in the arena, with its destroy function */
  GArray *no_attrs; /* (nullable) of all nodes that have none */
  GPtrArray *problems;
  IrModelInfo info;
  GArray *opsets;       /* of IrOpset */
  GPtrArray *metadata;  /* of const char *: key, value, key, value… */
  IrDraftGraph *main;   /* (nullable) */
  GPtrArray *functions; /* of IrDraftGraph */
  GCancellable *cancellable; /* (nullable) */
  guint n_spent;             /* nodes, attributes and values */
  gboolean stopped;     /* nobody wants the model any more: nothing is added */
  guint budget;         /* entities that may still be made */
  gboolean over_budget;
} IrDraft;

IrDraft *ir_draft_new (IrContext *context, GPtrArray *problems, GCancellable *cancellable);
void ir_draft_free (IrDraft *draft);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrDraft, ir_draft_free)
gboolean ir_draft_spend (IrDraft *draft);
GArray *ir_draft_array (IrDraft *draft, gsize element_size);
GPtrArray *ir_draft_pointers (IrDraft *draft);
IrDraftGraph *ir_draft_graph_new (IrDraft *draft);
IrDraftNode *ir_draft_node_new (IrDraft *draft);
IrDraftNode *ir_draft_node_new_sized (IrDraft *draft,
                                      guint n_inputs,
                                      guint n_outputs,
                                      guint n_attrs);
void ir_draft_names_add (IrDraft *draft, IrDraftNames *names, const char *name);
IrTensor *ir_draft_own_tensor (IrDraft *draft, IrTensor *tensor);
GBytes *ir_draft_own_bytes (IrDraft *draft, GBytes *bytes);
void ir_draft_problem (IrDraft *draft,
                       IrSeverity severity,
                       IrProblemCode code,
                       IrDraftPlace place,
                       const char *format,
                       ...) G_GNUC_PRINTF (5, 6);
/* @attrs: of IrDraftAttr, defaults; @opsets: of IrOpset */
const IrFunctionInfo *ir_draft_function_info (IrDraft *draft,
                                              const char *domain,
                                              const char *name,
                                              const char *overload,
                                              const IrDraftNames *names,
                                              const GArray *attrs,
                                              const GArray *opsets);
IrDim ir_draft_dim (IrContext *context, const char *text);
void ir_draft_build (IrDraft *draft, IrModel *model);

/* What ONNX has no field for is kept in metadata of nodes under these keys. */
#define IR_META_SCOPE  "irscope.scope"
#define IR_META_DEVICE "irscope.device"
#define IR_META_AFTER  "irscope.after"

const char *ir_draft_scope_of_name (IrContext *context, const char *node_name);
void ir_draft_node_take_metadata (IrDraft *draft, IrDraftNode *node);
const IrExtra *ir_node_extra_to_write (const IrNode *node);
