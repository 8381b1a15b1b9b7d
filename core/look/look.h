#pragma once

/* How a graph is drawn, as data: what is shown, closed, entered, filtered and coloured. The window
 * and `irscope render` draw by the same function, so their pictures are equal. */

#include "core/look/scale.h"

G_BEGIN_DECLS

typedef enum
{
  IR_SHOW_CONSTANTS = 1 << 0, /* initializers as boxes of their own */
  IR_SHOW_SHAPES = 1 << 1,    /* types beside the lines */
  IR_SHOW_NAMES = 1 << 2,     /* names of nodes */
  IR_SHOW_SCOPES = 1 << 3,    /* frames around scopes */
  IR_SHOW_SIDEWAYS = 1 << 4,  /* from left to right */
  IR_SHOW_COLUMNS = 1 << 5    /* what would be a hairline stands in columns */
} IrShow;

#define IR_SHOW_DEFAULT (IR_SHOW_SHAPES | IR_SHOW_NAMES | IR_SHOW_SCOPES | IR_SHOW_COLUMNS)

/* What a rule does with the nodes that its query names. */
typedef enum
{
  IR_RULE_ONLY, /* the others are not drawn */
  IR_RULE_DIM,  /* the others are pale */
  IR_RULE_COLOUR,
  IR_N_RULE_EFFECTS
} IrRuleEffect;

typedef struct
{
  char *query; /* (owned) as core/query reads it */
  IrRuleEffect effect;
  guint colour; /* 1 … IR_SCALE_CLASSES, of IR_RULE_COLOUR */
} IrLookRule;

/* The settings; plain data that is owned by whoever made it. */
typedef struct
{
  IrShow show;
  GHashTable *folded;    /* set of fold keys: closed by hand */
  GHashTable *automatic; /* set of fold keys: closed unless something in them is to be seen */
  GHashTable *calls;     /* set of fold keys of calls of functions: open */
  GHashTable *beside;    /* set of fold keys of nodes: their graphs stand beside the picture */
  GHashTable *nodes;     /* (nullable) set of node ids: nothing else is drawn */
  char *root;            /* (nullable) the graph that was entered: see ir_scene_graph_root() */
  char *overlay;         /* (nullable) id */
  IrScaleKind scale;
  GArray *rules; /* of IrLookRule */
} IrLook;

IrLook *ir_look_new (void);
IrLook *ir_look_copy (const IrLook *look);
void ir_look_free (IrLook *look);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrLook, ir_look_free)
void ir_look_add_rule (IrLook *look, const char *query, IrRuleEffect effect, guint colour);
gboolean ir_look_remove_rule (IrLook *look, guint index);
const char *ir_rule_effect_name (IrRuleEffect effect);
const char *ir_rule_colour_name (guint colour);
guint ir_rule_colour_find (const char *name);
void ir_look_toggle_call (IrLook *look, const IrModel *model, const char *fold);
guint64 ir_look_shape (const IrLook *look);

/* What is drawn by a look. */
typedef struct
{
  IrModel *model;
  const IrDiff *diff;          /* (nullable) whose later model is @model */
  GHashTable *closed;          /* (nullable) set of fold keys, in place of the look's */
  const IrOverlayFacts *facts; /* (nullable) */
  GPtrArray *problems;         /* (nullable) */
  IrSceneMarks *marks;         /* (nullable) */
  GHashTable *moves;           /* (nullable) key of a box -> IrLayoutPoint */
  const IrScene *previous;     /* (nullable) */
  IrLayoutKeep keep;
  IrSceneMeasure measure; /* (nullable) */
  gpointer measure_data;
} IrLookSubject;

IrScene *ir_look_draw (const IrLook *look,
                       const IrLookSubject *subject,
                       IrScale **scale,
                       GCancellable *cancellable,
                       GError **error);

/* -- large graphs (folds.c) -- */
GHashTable *ir_look_choose_folds (const IrScene *scene);
gboolean ir_look_reveal (GHashTable *folds, const IrDiff *diff, const IrNode *node);

G_END_DECLS
