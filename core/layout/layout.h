#pragma once

/* A layered (Sugiyama) layout of abstract boxes and edges. It knows nothing of
 * graphs, operators or fonts: sizes go in as px, places come out as px.
 *
 *   cycles -> layers -> trunks -> order -> x -> tracks and y
 *
 * All edges that leave one port are one net: they share a trunk, so that a
 * value with twelve consumers is one line with twelve branches. A net whose
 * trunk would be too long for the budget (see trunks.c) leaves the picture's
 * middle and runs in a lane beside it, so time and memory stay nearly linear
 * in the size of the input however long the edges are.
 *
 * Groups (clusters) are laid out inside out: a group is a box of its parent. */

#include <gio/gio.h>

G_BEGIN_DECLS

typedef struct _IrLayout IrLayout;

#define IR_LAYOUT_ERROR (ir_layout_error_quark ())

typedef enum
{
  IR_LAYOUT_ERROR_BAD_INPUT,
  IR_LAYOUT_ERROR_TOO_BIG,
} IrLayoutError;

typedef enum
{
  IR_LAYOUT_TOP_TO_BOTTOM,
  IR_LAYOUT_LEFT_TO_RIGHT,
} IrLayoutDirection;

typedef enum
{
  IR_LAYOUT_KEEP_NOTHING,
  IR_LAYOUT_KEEP_ORDER,
  IR_LAYOUT_KEEP_PLACES,
} IrLayoutKeep;

typedef struct
{
  double x; /* px */
  double y; /* px */
} IrLayoutPoint;

typedef struct
{
  double x, y;          /* px, top left corner */
  double width, height; /* px */
} IrLayoutRect;

/* A box. Port offsets are px from the left edge (from the top edge when the
 * direction is left to right); NULL spreads the ports evenly. */
typedef struct
{
  guint64 key;          /* stable name of the box between layouts */
  double width, height; /* px at 1:1, > 0 */
  gint32 group;         /* index of its group, or -1 */
  guint n_in, n_out;    /* number of ports */
  const double *in_x;   /* (nullable): n_in offsets */
  const double *out_x;  /* (nullable): n_out offsets */
} IrLayoutBox;

/* An edge. A negative end -1 - g is the frame of group g itself. */
typedef struct
{
  gint32 from, from_port;
  gint32 to, to_port;
  gboolean back; /* closes a loop: it is the one to go against the direction */
} IrLayoutEdge;

#define IR_LAYOUT_END_GROUP(g) (-1 - (gint32) (g))

/* A group. Groups are ordered so that a parent comes before its children. */
typedef struct
{
  guint64 key;                                     /* stable name */
  gint32 parent;                                   /* index < own index, or -1 */
  double pad_left, pad_top, pad_right, pad_bottom; /* px between frame and content */
  double min_width;                                /* px, for the title */
  guint n_in, n_out; /* ports of the frame itself, for edges that end at it */
} IrLayoutGroup;

typedef struct
{
  const IrLayoutBox *boxes;
  guint n_boxes;
  const IrLayoutEdge *edges;
  guint n_edges;
  const IrLayoutGroup *groups;
  guint n_groups;

  IrLayoutDirection direction;
  IrLayoutKeep keep;
  const IrLayout *previous; /* (nullable): what @keep refers to */

  double box_gap;   /* px between boxes of a layer; 0 = 24 */
  double layer_gap; /* px, least distance of layers; 0 = 40 */
  double track_gap; /* px between parallel lines; 0 = 10 */
  double lead;      /* px between a box and the first turn of its lines; 0 = 12 */
} IrLayoutInput;

typedef struct
{
  guint n_layers;    /* of the outermost level, largest component */
  guint n_trunk;     /* sparse vertices made for long edges */
  guint n_lanes;     /* edges that run beside the picture */
  guint64 crossings; /* of trunk segments, between neighbouring layers */
  gint64 time_us;    /* wall time of the whole layout */
} IrLayoutStats;

GQuark ir_layout_error_quark (void);

IrLayout *ir_layout_new (const IrLayoutInput *input, GCancellable *cancellable, GError **error);
IrLayout *ir_layout_ref (IrLayout *layout);
void ir_layout_unref (IrLayout *layout);

guint ir_layout_n_boxes (const IrLayout *layout);
guint ir_layout_n_groups (const IrLayout *layout);
guint ir_layout_n_edges (const IrLayout *layout);
IrLayoutRect ir_layout_box (const IrLayout *layout, guint box);
gint32 ir_layout_box_layer (const IrLayout *layout, guint box);
double ir_layout_box_drop (const IrLayout *layout, guint box);
IrLayoutRect ir_layout_group (const IrLayout *layout, guint group);
const IrLayoutPoint *ir_layout_edge (const IrLayout *layout, guint edge, guint *n_points);
IrLayoutRect ir_layout_bounds (const IrLayout *layout);
const IrLayoutStats *ir_layout_stats (const IrLayout *layout);
char *ir_layout_to_text (const IrLayout *layout);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrLayout, ir_layout_unref)

G_END_DECLS
