#pragma once

/* One flat (ungrouped) layout problem and its five stages. Everything is an
 * index into an array; vertices 0 .. n_real-1 come from the caller, the trunk
 * vertices of long edges follow. */

#include "core/layout/layout.h"

G_BEGIN_DECLS

typedef enum
{
  IR_FLAT_BOX,
  IR_FLAT_IN_PORT,  /* an opening in the top frame of a group, layer 0 */
  IR_FLAT_OUT_PORT, /* an opening in the bottom frame, last layer */
  IR_FLAT_TRUNK,    /* where a long edge passes a layer */
} IrFlatKind;

typedef struct
{
  guint64 key;     /* stable name, for the seed */
  double width;    /* px, even and whole */
  double height;   /* px, whole */
  double x;        /* px, centre */
  double y;        /* px, top */
  double seed_x;   /* px, previous centre */
  double seed_top; /* px, previous top of the layer */
  gint32 seed_layer;
  gint32 layer;
  gint32 pos;    /* index within the layer */
  gint32 net;    /* of a trunk vertex, or -1 */
  guint8 kind;   /* IrFlatKind */
  guint8 seeded; /* has a previous place */
} IrFlatVertex;

/* All edges from one port. */
typedef struct
{
  guint64 key;  /* stable name */
  gint32 src;   /* vertex */
  double dx;    /* px from the centre of src */
  gint32 first; /* its edges are edges[first .. first + n) */
  gint32 n;
  gint32 trunk; /* first trunk vertex, in layer (src) + 1 */
  gint32 n_trunk;
  gint32 wire;      /* first wire: channel below src, then one per trunk vertex */
  gint32 lane_down; /* lane of the edges that are too long, or -1 */
  gint32 lane_up;   /* lane of the edges that close a cycle, or -1 */
} IrFlatNet;

typedef enum
{
  IR_FLAT_NEAR, /* by trunk */
  IR_FLAT_FAR,  /* by a lane beside the picture */
  IR_FLAT_BACK, /* against the direction, by a lane */
} IrFlatRoute;

typedef struct
{
  gint32 net;
  gint32 dst;
  double dx;    /* px from the centre of dst */
  gint32 wire;  /* the wire that reaches dst, when by lane */
  guint8 route; /* IrFlatRoute */
  guint first_point, n_points;
} IrFlatEdge;

/* Part of a net between neighbouring layers. */
typedef struct
{
  gint32 u, v;
  double udx, vdx; /* px from the centres */
  guint8 inner;    /* both ends are trunk vertices */
  guint8 conflict; /* crosses an inner segment: never straightened */
} IrFlatSeg;

typedef struct
{
  IrFlatVertex *v;
  gint32 n_real, n_vertices;
  IrFlatNet *nets;
  gint32 n_nets;
  IrFlatEdge *edges;
  gint32 n_edges;

  /* options, px */
  double box_gap, layer_gap, track_gap, lead;
  IrLayoutKeep keep;
  GHashTable *seed_trunks; /* (nullable): net key -> IrFlatSeedTrunk */

  /* layers */
  gint32 n_layers;
  gint32 *layer_start; /* n_layers + 1 offsets into order */
  gint32 *order;       /* vertices by layer, left to right */

  /* segments, and per vertex those above (by vdx) and below (by udx) */
  IrFlatSeg *segs;
  gint32 n_segs;
  gint32 *up_start, *up;
  gint32 *down_start, *down;

  GArray *points;   /* of IrLayoutPoint; edges hold ranges of it */
  IrLayoutRect box; /* of everything, after routing */
  guint64 crossings;
  guint n_lanes;
} IrFlat;

/* Where the trunk of a net ran in the previous layout, layer by layer. */
typedef struct
{
  const double *x;
  guint n;
} IrFlatSeedTrunk;

IrFlat *ir_flat_new (gint32 n_vertices, gint32 n_nets, gint32 n_edges);
void ir_flat_free (IrFlat *flat);
gboolean ir_flat_run (IrFlat *flat, GCancellable *cancellable, GError **error);

gboolean ir_flat_assign_layers (IrFlat *flat, GCancellable *cancellable, GError **error);
void ir_flat_make_trunks (IrFlat *flat);
gboolean ir_flat_order (IrFlat *flat, GCancellable *cancellable, GError **error);
gboolean ir_flat_place (IrFlat *flat, GCancellable *cancellable, GError **error);
gboolean ir_flat_route (IrFlat *flat, GCancellable *cancellable, GError **error);

double ir_flat_gap (const IrFlat *flat, const IrFlatVertex *a, const IrFlatVertex *b);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrFlat, ir_flat_free)

G_END_DECLS
