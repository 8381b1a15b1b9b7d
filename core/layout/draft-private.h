#pragma once

/* What is to be drawn, before it has sizes: the union of one or two models as
 * items (boxes), groups (frames) and links (lines), with constants folded into
 * their consumers and closed scopes into one item. */

#include "core/layout/scene.h"

G_BEGIN_DECLS

typedef struct
{
  char *name;   /* of the input */
  char *figure; /* shape, or the value itself if it is one number */
} SceneRow;

typedef struct
{
  IrSceneBoxKind kind;
  IrSceneState state;
  const IrNode *a, *b;       /* (nullable) */
  const IrValue *va, *vb;    /* (nullable) of pills */
  const IrSceneGhost *ghost; /* (nullable): then no node and no value */
  gint32 group;              /* or -1 */
  guint64 key;
  char *title;
  char *note;                        /* (nullable) of folds: a second line */
  char *fold;                        /* (nullable) fold key */
  GArray *in, *out;                  /* of guint64: ports by slot, or for folds by what passes */
  GArray *rows;                      /* (nullable) of SceneRow */
  guint n_inside[IR_N_SCENE_STATES]; /* of folds: nodes by state */
  guint64 flops, bytes;              /* of its nodes, of the later model */
  gboolean partial;                  /* sizes that are not known count as 1 in them */
  GPtrArray *nodes; /* (nullable) of IrNode: of folds, where styles are asked for */
} SceneItem;

typedef struct
{
  gint32 parent; /* group, or -1 */
  guint64 key;
  char *title;
  char *fold; /* (nullable) fold key */
  IrSceneState state;
  const IrNode *a, *b; /* (nullable) node that owns the subgraphs */
  guint n_in, n_out;   /* ports of the frame */
} SceneGroup;

/* An end is an item, or IR_LAYOUT_END_GROUP() of a group. */
typedef struct
{
  gint32 from, to;
  guint64 from_port, to_port;
  guint from_slot, to_slot;
  const IrValue *va, *vb; /* (nullable) */
  IrSceneLineKind kind;
  IrSceneState state;
  gboolean captured;
  gboolean back; /* into the next iteration */
} SceneLink;

typedef struct
{
  GArray *items;  /* of SceneItem */
  GArray *groups; /* of SceneGroup, parents first */
  GArray *links;  /* of SceneLink */
  gboolean is_diff;
} SceneDraft;

#define SCENE_STACK 5.0 /* px, the sheets below a closed box */

static inline gboolean
scene_is_pill (const SceneItem *item)
{
  return item->kind == IR_SCENE_INPUT || item->kind == IR_SCENE_OUTPUT ||
         item->kind == IR_SCENE_CONSTANT;
}

SceneDraft *scene_draft_new (const IrDiff *diff, IrModel *model, const IrSceneOptions *options);
SceneDraft *scene_draft_new_empty (void);
void scene_draft_free (SceneDraft *draft);
void scene_item_add_row (SceneItem *item, const IrNode *node, guint slot, const IrValue *value);
IrScene *scene_from_draft (const SceneDraft *draft,
                           IrModel *model,
                           const IrDiff *diff,
                           const IrSceneOptions *options,
                           GCancellable *cancellable,
                           GError **error);
void scene_add_labels (IrScene *scene, const SceneDraft *draft, const IrSceneOptions *options);
guint scene_draft_port (const GArray *ports, guint64 port);
char *scene_attrs_text (const IrNode *node);        /* figures.c: (nullable) */
char *scene_type_text (const IrValue *value);       /* figures.c */
char *scene_constant_figure (const IrValue *value); /* figures.c */

static inline gboolean
scene_holds_graph (const IrAttr *attr)
{
  return attr->kind == IR_ATTR_GRAPH || attr->kind == IR_ATTR_GRAPHS;
}

/* -- what folds are called (fold-keys.c) -- */
#define SCENE_SCOPE_FOLD  "scope:"
#define SCENE_REPEAT_FOLD "repeat:"
#define SCENE_SHAPE_FOLD  "shape:"

guint64 scene_hash_text (const char *text, guint64 seed);
guint64 scene_node_key (const IrDiff *diff, const IrNode *a, const IrNode *b);
IrSceneState scene_find_sides (
    const IrDiff *diff, const IrNode *node, gboolean later, const IrNode **a, const IrNode **b);
guint64 scene_graph_key (const IrDiff *diff, const IrGraph *graph, gboolean later);
char *scene_scope_fold (guint64 graph, const char *scope, gsize length);
char *scene_node_fold (guint64 key);
char *scene_call_fold (guint64 key);

void scene_add_brackets (IrScene *scene, const IrDiff *diff); /* (brackets.c) of its descents */
/* -- parts that are drawn by themselves (regions.c) -- */
typedef struct _SceneRegions SceneRegions;

SceneRegions *scene_regions_new (const IrModel *model, const IrSceneOptions *options);
void scene_regions_free (SceneRegions *self);
const IrGraph *scene_regions_root (const SceneRegions *self); /* (nullable) */
/* The node that owns @graph, or the call where the function is drawn. (nullable) */
const IrNode *scene_graph_owner (const SceneRegions *self, const IrGraph *graph);
gboolean scene_is_call (const SceneRegions *self,
                        const IrNode *node); /* of a function of the model */
gboolean scene_is_open_call (const SceneRegions *self, const IrNode *node);
gboolean scene_is_beside (const SceneRegions *self, const IrNode *owner, guint64 key);
const IrGraph *scene_region_of (const SceneRegions *self,
                                const IrDiff *diff,
                                const IrGraph *graph,
                                gboolean later);
gboolean scene_crosses (const SceneRegions *self,
                        const IrDiff *diff,
                        const IrGraph *from,
                        const IrGraph *reader,
                        gboolean later);
void scene_find_drawn (GHashTable *drawn, const IrModel *model, const IrSceneOptions *options);

void scene_find_fixed (GHashTable *fixed, const IrModel *model); /* (fixed.c) adds IrNode */

/* -- copies of one block, and arithmetic on shapes (repeats.c) -- */
typedef struct
{
  char *title;  /* "layers × 12" */
  char *differ; /* (nullable) "differ: layers.0" */
} SceneRepeat;

char *scene_repeat_fold (guint64 graph, const char *scope, gsize length); /* (nullable) */
GHashTable *scene_repeats_new (const IrDiff *diff, const IrModel *model);
char *scene_shape_fold (IrNodeId root);
GHashTable *scene_shapes_new (const IrDiff *diff, const IrModel *model);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (SceneDraft, scene_draft_free)

G_END_DECLS
