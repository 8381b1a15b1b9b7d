#pragma once

/* The picture in plain C: boxes, texts and lines in px at 1:1, in painting
 * order. `irscope render` writes it, the canvas paints it, tests print it; all
 * show the same because every size, place, text and ellipsis is decided here.
 *
 * A scene is immutable once it is finished, and may be read from any thread. */

#include "core/diff/diff.h"
#include "core/ir/model.h"
#include "core/layout/layout.h"

G_BEGIN_DECLS

#define IR_SCENE_MARGIN 32.0 /* px between the content and the picture's rim */
#define IR_SCENE_RADIUS 6.0  /* px, corners of boxes */
#define IR_SCENE_BEND   8.0  /* px, most for the corners of lines */

/* Before the fold key of a node: its graphs stand beside the picture. */
#define IR_SCENE_BESIDE_FOLD "beside:"

/* Before that of a node that calls a function of the model: its body stands in its place. A function has
 * one body, which is drawn once: in one of its calls. */
#define IR_SCENE_CALL_FOLD "call:"

typedef struct _IrScene IrScene;

typedef enum
{
  IR_SCENE_SAME,
  IR_SCENE_NEW,
  IR_SCENE_REMOVED,
  IR_SCENE_CHANGED,
  IR_SCENE_MATCHED, /* fits a rule's pattern; these three only with IrSceneMarks */
  IR_SCENE_MISFIT,  /* stands where the pattern ends to fit */
  IR_SCENE_MISSING, /* a ghost: what the pattern needs there */
  IR_N_SCENE_STATES
} IrSceneState;

typedef enum
{
  IR_SCENE_NODE,
  IR_SCENE_INPUT,    /* pill: input of a graph */
  IR_SCENE_OUTPUT,   /* pill: output of a graph */
  IR_SCENE_CONSTANT, /* pill: initializer, where constants are shown */
  IR_SCENE_FOLD,     /* a scope, or a node with subgraphs, closed */
  IR_SCENE_CLUSTER,  /* an open scope, node with subgraphs, or subgraph: a frame */
  IR_SCENE_PLAIN,    /* a bar of a schedule or histogram */
  IR_N_SCENE_BOX_KINDS
} IrSceneBoxKind;

/* Colour classes: the op families in their order, then these. */
enum
{
  IR_SCENE_COLOUR_INPUT = 12,
  IR_SCENE_COLOUR_OUTPUT,
  IR_SCENE_COLOUR_CONSTANT,
  IR_SCENE_COLOUR_UNKNOWN, /* operators that the op table does not have */
  IR_SCENE_COLOUR_FOLD,
  IR_SCENE_COLOUR_CLUSTER,
  IR_N_SCENE_COLOURS
};

typedef enum
{
  IR_SCENE_TEXT_TITLE,    /* operator, on the header */
  IR_SCENE_TEXT_SUBTITLE, /* name, attributes */
  IR_SCENE_TEXT_ROW,      /* name of a folded constant */
  IR_SCENE_TEXT_NUMBER,   /* shape of a folded constant, figures */
  IR_SCENE_TEXT_LABEL,    /* type, beside a line */
  IR_SCENE_TEXT_CLUSTER,  /* title of a frame */
  IR_SCENE_TEXT_PILL,     /* name of an input or output */
  IR_SCENE_TEXT_CAPTION,  /* axes, legends, brackets */
  IR_N_SCENE_TEXT_STYLES
} IrSceneTextStyle;

typedef struct
{
  const char *name;   /* CSS class in SVG */
  double size;        /* px */
  double line_height; /* px */
  gboolean bold;
  gboolean muted; /* the palette's second text colour */
  double average; /* width of a mean character / size, for measuring without a font */
} IrSceneTextLook;

typedef enum
{
  IR_SCENE_ALIGN_START,
  IR_SCENE_ALIGN_MIDDLE,
  IR_SCENE_ALIGN_END,
} IrSceneAlign;

#define IR_SCENE_THUMB_GAP (-2.0F) /* a cell that stands for nothing */

/* What a value holds, small enough for a box. Immutable. */
typedef struct
{
  gatomicrefcount refs;
  guint width, height; /* cells */
  gboolean
      diverging; /* cells are -1 … 1 around zero, else 0 … 1; what is not finite stays as it is */
  float cells[]; /* row by row */
} IrSceneThumb;

typedef struct
{
  IrSceneBoxKind kind;
  IrSceneState state;
  guint8 colour;          /* IrOpFamily or IR_SCENE_COLOUR_… */
  guint8 problem;         /* 0 none, else 1 + IrSeverity of the worst problem */
  gint32 parent;          /* cluster it lies in, or -1 */
  double x, y;            /* px */
  double width;           /* px */
  double height;          /* px */
  double header;          /* px, height of the coloured strip; == height: all of the box */
  gboolean has_tint;      /* @tint is meant */
  double tint;            /* overlay, 0 … 1 */
  double amount;          /* that the tint stands for; NAN: none */
  const char *class_name; /* (nullable) instead of an amount */
  guint8 accent;          /* 1 …: a colour of its own, of the palette */
  gboolean dimmed;        /* not what was asked for: pale */
  guint64 flops, bytes;   /* of its nodes: arithmetic; read and written */
  gboolean partial;       /* sizes that are not known count as 1 in both */
  guint n_nodes;          /* of a closed scope */
  double heat;            /* part of the picture's arithmetic, its root: 0 … 1 of the largest */
  const char *brief;      /* (nullable) a short name: "BN" */
  double brief_width;     /* px, as a title */
  IrNodeId node;          /* in the later model, or 0 */
  IrNodeId before;        /* in the earlier model of a diff, or 0 */
  IrValueId value;        /* of pills */
  guint64 key;            /* stable between scenes of one history */
  const char *fold; /* (nullable): key of ir_scene_options_set_folded() that opens or closes it */
  const char *id;   /* unique, XML-safe: "n12" */
  const char *tip;  /* one or more lines: what a tooltip and a screen reader say */
  IrSceneThumb *thumb;     /* (nullable) */
  IrLayoutRect thumb_rect; /* px from the corner of the box */
  guint first_text, n_texts;
} IrSceneBox;

/* Whether it is a group, or a call, that can be opened. */
static inline gboolean
ir_scene_box_is_closed (const IrSceneBox *box)
{
  return box->fold != NULL && box->kind != IR_SCENE_CLUSTER;
}

typedef struct
{
  IrSceneTextStyle style;
  IrSceneAlign align;
  gint32 box;         /* box it belongs to, or -1: drawn above the lines */
  IrSceneState state; /* of what it is written beside, where that is no box */
  gboolean on_header;
  double x, y;  /* px, y is the baseline */
  double width; /* px, as measured */
  const char *text;
} IrSceneText;

typedef enum
{
  IR_SCENE_LINE_DATA,
  IR_SCENE_LINE_CONTROL, /* control dependency */
  IR_SCENE_LINE_PLAIN,   /* an axis or a grid line; no arrow */
  IR_SCENE_LINE_BRACKET, /* around boxes that became others; no arrow */
} IrSceneLineKind;

typedef struct
{
  IrSceneLineKind kind;
  IrSceneState state;
  gboolean captured; /* by a branch or body, from outside: dashed */
  gboolean dimmed;   /* at a box that is */
  guint8 accent;     /* 1 …: a curve, in a colour of the palette: its bends are sharp */
  gint32 from, to;   /* boxes, or -1 */
  guint from_slot, to_slot;
  IrValueId value;  /* in the later model, or 0 */
  IrValueId before; /* in the earlier model, or 0 */
  guint first_point, n_points;
  const char *tip; /* (nullable) */
} IrSceneLine;

typedef double (*IrSceneMeasure) (const char *text, IrSceneTextStyle style, gpointer data);

/* What is said of a box beyond what it is. */
typedef struct
{
  double amount;          /* NAN: nothing to say */
  const char *class_name; /* (nullable) lives as long as the options */
  char *label;            /* (owned) (nullable) a short figure, written in the box */
  guint8 accent;
  gboolean dimmed;
  IrSceneThumb *thumb; /* (owned) (nullable) */
} IrSceneStyle;

/* Of one node, or of those of a closed group. @style: begins with nothing said. */
typedef void (*IrSceneStyleFunc) (const IrNode *const *nodes,
                                  guint n,
                                  IrSceneStyle *style,
                                  gpointer data);
typedef gboolean (*IrSceneNodeFunc) (const IrNode *node, gpointer data);
/* (transfer full) (nullable) What is said beside the lines of a value, behind its type. */
typedef char *(*IrSceneNoteFunc) (const IrValue *value, gpointer data);

/* A node or value that is not there but would have to be. */
typedef struct
{
  char *title;   /* (owned) "Conv", "a constant" */
  char *detail;  /* (owned) (nullable): a second line */
  IrNodeId user; /* whose input it would be; 0: that of the ghost @feeds */
  gint32 feeds;  /* ghost before this one, or -1 */
  guint slot;    /* input of the user */
} IrSceneGhost;

/* A pattern drawn on the graph: which nodes have which part in it, and what it lacks. */
typedef struct
{
  gatomicrefcount refs;
  GHashTable *states; /* node id -> IrSceneState */
  GArray *ghosts;     /* of IrSceneGhost */
  IrValueId misfit;   /* the value that stands where a ghost should, or 0 */
} IrSceneMarks;

IrSceneMarks *ir_scene_marks_new (void);
IrSceneMarks *ir_scene_marks_ref (IrSceneMarks *marks);
void ir_scene_marks_unref (IrSceneMarks *marks);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrSceneMarks, ir_scene_marks_unref)

/* All zero is a good default. */
typedef struct
{
  IrSceneMeasure measure; /* (nullable): character widths of a usual sans-serif font */
  gpointer measure_data;
  gboolean show_constants; /* initializers and Constant nodes as boxes of their own */
  gboolean hide_shapes;    /* no types beside the lines */
  gboolean hide_names;     /* no node names */
  gboolean flat;           /* no frames for scopes */
  gboolean wrapped;        /* what would be a hairline stands in columns; from top to bottom only */
  IrLayoutDirection direction;
  GHashTable *folded; /* (nullable): set of fold keys that are closed */
  GHashTable *calls;  /* (nullable): set of fold keys of calls that are open */
  GHashTable *beside; /* (nullable): set of fold keys of nodes whose graphs stand beside */
  const char *root;   /* (nullable): the graph that is drawn, as ir_scene_graph_root() calls it */
  IrSceneNodeFunc is_drawn; /* (nullable): other nodes are left out */
  IrSceneStyleFunc style;   /* (nullable) */
  IrSceneNoteFunc note;     /* (nullable) */
  gpointer style_data;      /* of all three */
  GPtrArray *problems;      /* (nullable): of IrProblem, of the later model */
  IrSceneMarks *marks;      /* (nullable): of the later model */
  const IrScene *previous;  /* (nullable): whose places are kept as @keep says */
  IrLayoutKeep keep;
} IrSceneOptions;

/* What is at a place. */
typedef struct
{
  gint32 box;  /* or -1 */
  gint32 line; /* or -1 */
} IrSceneHit;

/* How much a picture says. */
typedef enum
{
  IR_SCENE_DETAIL_ALL,
  IR_SCENE_DETAIL_NAMES,  /* of operators, and titles of groups */
  IR_SCENE_DETAIL_GROUPS, /* titles of groups */
  IR_SCENE_DETAIL_HEAT    /* these, and colours by cost */
} IrSceneDetail;

/* What a box says where its texts cannot be read. */
typedef struct
{
  const char *text;
  double size;        /* px on screen, of bold letters */
  double width;       /* px on screen */
  double x, y;        /* px: the middle of the text, its baseline */
  IrLayoutRect patch; /* px: the box, grown as far as the text needs; of a frame, below its title */
} IrSceneName;

typedef void (*IrSceneFunc) (IrSceneHit hit, gpointer data);

/* -- from a model -- */
IrScene *ir_scene_new_for_model (IrModel *model,
                                 const IrSceneOptions *options,
                                 GCancellable *cancellable,
                                 GError **error);
IrScene *ir_scene_new_for_diff (const IrDiff *diff,
                                const IrSceneOptions *options,
                                GCancellable *cancellable,
                                GError **error);
/* Some nodes of a model by themselves, with what they take and what they give (scene-part.c). */
typedef struct
{
  GPtrArray *nodes;   /* of const IrNode */
  GPtrArray *values;  /* of const IrValue: further ones */
  GHashTable *states; /* (nullable): node id -> IrSceneState */
  gboolean earlier;   /* their ids are those of the earlier model */
  gboolean bare;      /* without what they take and give: where there is little room */
} IrScenePart;

IrScene *ir_scene_new_for_part (const IrScenePart *part,
                                const IrSceneOptions *options,
                                GCancellable *cancellable,
                                GError **error);
/* Which of the two that a difference is of is to be seen (scene-join.c). */
typedef enum
{
  IR_SCENE_BOTH_SIDES,
  IR_SCENE_BEFORE,
  IR_SCENE_AFTER
} IrSceneSides;

gboolean ir_scene_shows_box (IrSceneSides sides, const IrSceneBox *box);
gboolean ir_scene_shows_line (IrSceneSides sides, const IrSceneLine *line);
gboolean ir_scene_shows_text (IrSceneSides sides, const IrSceneText *text); /* of no box */
/* How two pictures are put together (scene-join.c). */
typedef enum
{
  IR_SCENE_JOIN_SIDES, /* beside each other: two sides of one picture, in which all keep their height */
  IR_SCENE_JOIN_RIGHT, /* beside each other, with an arrow to the second */
  IR_SCENE_JOIN_DOWN   /* the second below the first, with an arrow to it */
} IrSceneJoin;

IrScene *ir_scene_new_for_side (const IrScene *scene, IrSceneSides side);
IrScene *ir_scene_new_joined (const IrScene *first, const IrScene *second, IrSceneJoin join);
/* Innermost first. (transfer full) */
GPtrArray *ir_scene_fold_keys (const IrDiff *diff, const IrNode *node);

/* Graphs that can be entered. */
char *ir_scene_graph_root (const IrGraph *graph);
const IrGraph *ir_scene_find_root (const IrModel *model, const char *root);
const IrGraph *ir_scene_node_body (const IrNode *node, guint index);

/* -- pictures in boxes -- */
IrSceneThumb *ir_scene_thumb_new (guint width, guint height); /* zeros, to be filled in */
IrSceneThumb *ir_scene_thumb_ref (IrSceneThumb *thumb);
void ir_scene_thumb_unref (IrSceneThumb *thumb);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrSceneThumb, ir_scene_thumb_unref)

/* -- by hand: add, then finish -- */
IrScene *ir_scene_new (IrSceneMeasure measure, gpointer measure_data);
gint32 ir_scene_add_box (IrScene *scene, const IrSceneBox *box);
gint32 ir_scene_add_text (IrScene *scene, const IrSceneText *text, double max_width);
gint32 ir_scene_add_line (IrScene *scene,
                          const IrSceneLine *line,
                          const IrLayoutPoint *points,
                          guint n);
void ir_scene_finish (IrScene *scene);
/* Before others read it: key of a box -> IrLayoutPoint. */
void ir_scene_move (IrScene *scene, GHashTable *moves);

IrScene *ir_scene_ref (IrScene *scene);
void ir_scene_unref (IrScene *scene);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrScene, ir_scene_unref)

/* -- read -- */
IrLayoutRect ir_scene_bounds (const IrScene *scene);
const IrSceneBox *ir_scene_boxes (const IrScene *scene, guint *n);
const IrSceneText *ir_scene_texts (const IrScene *scene, guint *n);
const IrSceneLine *ir_scene_lines (const IrScene *scene, guint *n);
const IrLayoutPoint *ir_scene_line_points (const IrScene *scene, const IrSceneLine *line);
const IrLayout *ir_scene_layout (const IrScene *scene);
gboolean ir_scene_is_diff (const IrScene *scene);
guint ir_scene_n_nodes (const IrScene *scene, IrSceneState state);
gboolean ir_scene_is_wrapped (const IrScene *scene);
gint32 ir_scene_find_node (const IrScene *scene, IrNodeId node);
gint32 ir_scene_find_value (const IrScene *scene, IrValueId value);
IrSceneHit ir_scene_pick (const IrScene *scene, double x, double y, double reach);
void ir_scene_foreach_in_rect (const IrScene *scene,
                               const IrLayoutRect *rect,
                               IrSceneFunc func,
                               gpointer data);
char *ir_scene_to_text (const IrScene *scene);

/* -- at a scale -- */
IrSceneDetail ir_scene_detail (double zoom);
gboolean ir_scene_name (const IrScene *scene, gint32 index, double zoom, IrSceneName *name);
gboolean ir_scene_shows_heat (const IrScene *scene, double zoom);

const IrSceneTextLook *ir_scene_text_look (IrSceneTextStyle style);
double ir_scene_average_width (const char *text, IrSceneTextStyle style, gpointer data);
const char *ir_scene_state_name (IrSceneState state);
const char *ir_scene_state_glyph (IrSceneState state);
const double *ir_scene_state_dash (IrSceneState state, guint *n);

G_END_DECLS
