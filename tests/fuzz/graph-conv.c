/* Convolutional graphs as exporters write them: chains with side exits, residuals and concats, in
 * which channels of few and of odd counts are as common as whole blocks of them. */
#include "config.h"

#include "tests/fuzz/graph-parts.h"

#include <math.h>

#define MAX_PALETTE 3

typedef struct
{
  Gen *gen;
  IrDtype dtype;
  guint spatial;
  gint64 palette[MAX_PALETTE]; /* counts of channels; few of them, so that values fit each other */
  guint n_palette;
} Net;

static gint64
random_channels (Gen *gen, guint spatial)
{
  if (gen_one_in (gen, 3))
    return 1 + gen_below (gen, 8);
  if (gen_one_in (gen, 3))
    return 4 * (1 + gen_below (gen, spatial > 2 ? 4 : 12));
  return 1 + gen_below (gen, spatial > 2 ? 24 : gen_one_in (gen, 3) ? 80 : 33);
}

static gint64
choose_channels (Net *net)
{
  return net->palette[gen_below (net->gen, net->n_palette)];
}

static IrValue *
pick (Net *net)
{
  Gen *gen = net->gen;
  IrValue *value = part_pick (gen, net->dtype, (int) net->spatial + 2);
  gint64 dims[5];

  if (value != NULL)
    return value;
  dims[0] = gen_one_in (gen, 4) ? 1 + gen_below (gen, 3) : 1;
  dims[1] = choose_channels (net);
  for (guint i = 0; i < net->spatial; i++)
    dims[2 + i] = part_size (gen, dims[1] > 32 || net->spatial > 2 ? 5 : 10);
  if (gen->edge)
    dims[gen_below (gen, 2)] = gen_one_in (gen, 4) ? 0 : 1;
  return part_input (gen, "x", net->dtype, net->spatial + 2, dims);
}

/* -- convolutions -- */

static gint64
choose_group (Gen *gen, gint64 c)
{
  gint64 group = 1;

  if (gen_one_in (gen, 4))
    return c;
  if (gen_one_in (gen, 5))
    for (gint64 i = 2; i < c; i++)
      if (c % i == 0 && gen_one_in (gen, 2))
        group = i;
  return MAX (group, 1);
}

typedef struct
{
  gint64 kernel[3], strides[3], dilations[3], pads[6];
} Window;

static void
choose_window (Net *net, const IrValue *x, gboolean keeps, Window *window)
{
  Gen *gen = net->gen;
  guint shape = gen_below (gen, 8), stride = !keeps && gen_one_in (gen, 4) ? 2 : 1,
        dilation = gen_one_in (gen, 6) ? 2 : 1;
  gint64 k = shape < 4 ? 3 : shape < 6 ? 1 : shape < 7 ? 2 : 5;

  for (guint i = 0; i < net->spatial; i++)
    {
      gint64 size = part_dim (gen, x, 2 + (int) i);
      window->kernel[i] = gen_one_in (gen, 8) ? 1 + 2 * gen_below (gen, 2) : k;
      if (keeps)
        window->kernel[i] |= 1;
      window->strides[i] = stride;
      window->dilations[i] = dilation;
      gint64 reach = dilation * (window->kernel[i] - 1), total = reach;
      if (!keeps && gen_one_in (gen, 4))
        total = gen_below (gen, (guint) reach + 1);
      total = MAX (total, reach + 1 - size);
      window->pads[i] = total / 2;
      window->pads[net->spatial + i] = total - total / 2;
    }
}

static IrValue *
conv_of (Net *net, IrValue *x, gint64 m, gboolean keeps)
{
  Gen *gen = net->gen;
  gint64 c = part_dim (gen, x, 1), group = MAX (choose_group (gen, c), 1), dims[5];
  guint n = net->spatial;
  Window window;

  if (keeps ? m % group != 0 : group > 1)
    m = keeps ? m : group * MAX (1, m / group);
  if (group > 1 && m % group != 0)
    group = 1;
  choose_window (net, x, keeps, &window);
  dims[0] = m;
  dims[1] = c / group;
  memcpy (dims + 2, window.kernel, n * sizeof *dims);
  gint64 fan = dims[1];
  for (guint i = 0; i < n; i++)
    fan *= window.kernel[i];
  IrValue *w = part_weight (gen, net->dtype, n + 2, dims, sqrt (3.0 / (double) MAX (fan, 1)));
  IrValue *b = gen_one_in (gen, 3) ? NULL : part_weight (gen, net->dtype, 1, &m, 0.5);
  const IrAttr *pads = gen_one_in (gen, 12) && !keeps ? STRING ("auto_pad", "SAME_UPPER")
                                                      : INTS ("pads", window.pads, 2 * n);
  return PART_OR (PART (gen, "Conv",
                        ATTRS (INT ("group", group), pads, INTS ("strides", window.strides, n),
                               INTS ("dilations", window.dilations, n),
                               INTS ("kernel_shape", window.kernel, n)),
                        x, w, b),
                  x);
}

static IrValue *
batch_norm (Net *net, IrValue *x)
{
  Gen *gen = net->gen;
  gint64 c = part_dim (gen, x, 1);

  return PART_OR (
      PART (gen, "BatchNormalization",
            gen_one_in (gen, 2) ? NULL : ATTRS (FLOAT ("epsilon", 0.001)), x,
            part_positive (gen, net->dtype, 1, &c), part_weight (gen, net->dtype, 1, &c, 0.5),
            part_weight (gen, net->dtype, 1, &c, 0.5), part_positive (gen, net->dtype, 1, &c)),
      x);
}

static void
block_conv (Net *net)
{
  Gen *gen = net->gen;
  IrValue *y = conv_of (net, pick (net), choose_channels (net), FALSE);

  if (gen_one_in (gen, 3))
    y = batch_norm (net, y);
  if (!gen_one_in (gen, 3))
    part_activation (gen, y);
}

static void
block_batch_norm (Net *net)
{
  IrValue *y = batch_norm (net, pick (net));
  if (gen_one_in (net->gen, 2))
    part_activation (net->gen, y);
}

static void
block_keeping (Net *net)
{
  IrValue *x = pick (net);

  if (gen_one_in (net->gen, 2))
    part_activation (net->gen, x);
  else
    part_binary (net->gen, x);
}

static void
block_residual (Net *net)
{
  Gen *gen = net->gen;
  IrValue *x = pick (net), *y = gen_one_in (gen, 3) ? part_beside (gen, x, -1) : NULL;

  if (y == NULL)
    y = conv_of (net, x, part_dim (gen, x, 1), TRUE);
  if (gen_one_in (gen, 3))
    y = batch_norm (net, y);
  y = gen_one_in (gen, 4)   ? gen_one (gen, "Mul", x, gen_one (gen, "Sigmoid", y, NULL, NULL), NULL)
      : gen_one_in (gen, 2) ? gen_one (gen, "Add", x, y, NULL)
                            : gen_one (gen, "Add", y, x, NULL);
  if (gen_one_in (gen, 2))
    part_activation (gen, y);
}

/* -- pooling and sizes -- */

static void
block_pool (Net *net)
{
  Gen *gen = net->gen;
  IrValue *x = pick (net);
  Window window;
  guint n = net->spatial;
  gboolean largest = gen_one_in (gen, 2);

  choose_window (net, x, FALSE, &window);
  for (guint i = 0; i < n; i++)
    {
      window.pads[i] = MIN (window.pads[i], window.kernel[i] - 1);
      window.pads[n + i] = MIN (window.pads[n + i], window.kernel[i] - 1);
      window.dilations[i] = 1;
    }
  PART (gen, largest ? "MaxPool" : "AveragePool",
        ATTRS (INTS ("kernel_shape", window.kernel, n), INTS ("pads", window.pads, 2 * n),
               INTS ("strides", window.strides, n), INT ("ceil_mode", gen_one_in (gen, 4)),
               largest ? NULL : INT ("count_include_pad", gen_one_in (gen, 2))),
        x);
}

/* Squeeze and excitation. */
static void
block_gate (Net *net)
{
  Gen *gen = net->gen;
  IrValue *x = pick (net), *y;
  gint64 c = part_dim (gen, x, 1), less = MAX (1, c / 4), w1[] = { less, c, 1, 1, 1 },
         w2[] = { c, less, 1, 1, 1 };
  guint rank = net->spatial + 2;

  y = gen_one (gen, gen_one_in (gen, 5) ? "GlobalMaxPool" : "GlobalAveragePool", x, NULL, NULL);
  y = PART_OR (PART (gen, "Conv", NULL, y,
                     part_weight (gen, net->dtype, rank, w1, sqrt (3.0 / (double) MAX (c, 1))),
                     part_weight (gen, net->dtype, 1, &less, 0.5)),
               y);
  y = gen_one (gen, "Relu", y, NULL, NULL);
  y = PART_OR (PART (gen, "Conv", NULL, y,
                     part_weight (gen, net->dtype, rank, w2, sqrt (3.0 / (double) less))),
               y);
  y = gen_one (gen, gen_one_in (gen, 3) ? "HardSigmoid" : "Sigmoid", y, NULL, NULL);
  gen_one (gen, "Mul", x, y, NULL);
}

static void
block_resize (Net *net)
{
  static const char *const modes[] = { "nearest", "linear" };
  static const char *const ways[] = { "asymmetric", "half_pixel", "align_corners" };
  Gen *gen = net->gen;
  IrValue *x = pick (net);
  gint64 sizes[5], dims = net->spatial + 2;

  for (guint i = 0; i < dims; i++)
    sizes[i] = part_dim (gen, x, (int) i) * (i < 2 ? 1 : 2);
  for (guint i = 2; i < dims; i++)
    if (sizes[i] > 12)
      return;
  gboolean whole = gen_one_in (gen, 2);
  g_autoptr (IrTensor) scales = ir_tensor_new_alloc (IR_DTYPE_FLOAT, 1, &dims, NULL);
  for (gint64 i = 0; i < dims; i++)
    ir_dtype_set_double (IR_DTYPE_FLOAT, ir_tensor_data_writable (scales), (gsize) i,
                         i < 2 ? 1 : 2);
  PART (gen, "Resize",
        ATTRS (STRING ("mode", CHOOSE (gen, modes)),
               STRING ("coordinate_transformation_mode", CHOOSE (gen, ways)),
               STRING ("nearest_mode", "floor")),
        x, NULL, whole ? NULL : gen_tensor (gen, scales),
        whole ? part_ints (gen, sizes, (gint) dims) : NULL);
}

static IrValue *
transposed_of (Net *net, IrValue *x, gint64 m)
{
  Gen *gen = net->gen;
  gint64 c = part_dim (gen, x, 1), group = gen_one_in (gen, 4) ? choose_group (gen, c) : 1, dims[5];
  gint64 strides[3], pads[6], extra[3], dilations[3], fan = c;
  guint n = net->spatial;

  dims[0] = c;
  dims[1] = MAX (1, m / MAX (group, 1));
  for (guint i = 0; i < n; i++)
    {
      dims[2 + i] = 1 + gen_below (gen, 4);
      strides[i] = part_dim (gen, x, 2 + (int) i) > 6 ? 1 : 1 + gen_below (gen, 2);
      extra[i] = strides[i] > 1 && gen_one_in (gen, 2);
      dilations[i] = gen_one_in (gen, 8) ? 2 : 1;
      pads[i] = gen_below (gen, (guint) (dims[2 + i] + 1) / 2);
      pads[n + i] = gen_below (gen, (guint) (dims[2 + i] + 1) / 2);
      fan *= dims[2 + i];
    }
  m = dims[1] * group;
  return PART_OR (
      PART (gen, "ConvTranspose",
            ATTRS (INT ("group", group), INTS ("pads", pads, 2 * n), INTS ("strides", strides, n),
                   INTS ("output_padding", extra, n), INTS ("dilations", dilations, n)),
            x, part_weight (gen, net->dtype, n + 2, dims, sqrt (3.0 / (double) MAX (fan, 1))),
            gen_one_in (gen, 3) ? NULL : part_weight (gen, net->dtype, 1, &m, 0.5)),
      x);
}

static void
block_transposed (Net *net)
{
  IrValue *y = transposed_of (net, pick (net), choose_channels (net));
  if (gen_one_in (net->gen, 2))
    part_activation (net->gen, y);
}

/* -- channels put together and taken apart -- */

static void
block_concat (Net *net)
{
  Gen *gen = net->gen;
  IrValue *in[4] = { pick (net) };
  guint n = 1;

  while (n < 4 && (n < 2 || gen_one_in (gen, 3)))
    {
      IrValue *other = part_beside (gen, in[0], 1);
      in[n++] = other != NULL ? other : conv_of (net, in[0], choose_channels (net), TRUE);
    }
  IrValue *y = part_try (
      gen, "Concat", n, in,
      ATTRS (INT ("axis", gen_one_in (gen, 6) ? -(gint64) net->spatial - 1 : 1)));
  if (y != NULL && gen_one_in (gen, 2))
    conv_of (net, y, choose_channels (net), FALSE);
}

static void
block_split (Net *net)
{
  Gen *gen = net->gen;
  IrValue *x = pick (net), *y;
  gint64 c = part_dim (gen, x, 1), first = c > 1 ? 1 + gen_below (gen, (guint) c - 1) : 0;

  if (c < 2)
    return;
  if (gen_one_in (gen, 2))
    {
      part_slice (gen, x, 1, 0, first);
      part_slice (gen, x, 1, first, gen_one_in (gen, 2) ? G_MAXINT64 : c);
      return;
    }
  IrNode *node = gen_emit (
      gen, "Split", "", 2,
      (IrValue *const[]){ x, part_ints (gen, (gint64[]){ first, c - first }, 2) }, 2,
      ATTRS (INT ("axis", 1)));
  if (node == NULL || gen_one_in (gen, 2))
    return;
  y = conv_of (net, node->outputs[1], part_dim (gen, node->outputs[1], 1), TRUE);
  PART (gen, "Concat", ATTRS (INT ("axis", 1)), node->outputs[0], y);
}

static void
block_shuffle (Net *net)
{
  Gen *gen = net->gen;
  IrValue *x = pick (net), *y;
  guint rank = net->spatial + 2;
  gint64 c = part_dim (gen, x, 1), group = c % 3 == 0 && gen_one_in (gen, 2) ? 3 : 2;
  gint64 dims[6], order[6] = { 0, 2, 1, 3, 4, 5 }, back[6];

  if (c % group != 0)
    return;
  for (guint i = 0; i < rank; i++)
    {
      back[i] = i == 0 && gen->free > 0 ? -1 : part_dim (gen, x, (int) i);
      dims[i + (i > 1)] = i == 1 ? group : back[i];
    }
  dims[2] = c / group;
  y = part_reshape (gen, x, rank + 1, dims);
  if (part_rank (gen, y) != rank + 1)
    return;
  y = part_transpose (gen, y, order);
  part_reshape (gen, y, rank, back);
}

static void
block_norm (Net *net)
{
  Gen *gen = net->gen;
  IrValue *x = pick (net);
  gint64 c = part_dim (gen, x, 1), group = c % 4 == 0 ? 4 : c % 2 == 0 ? 2 : 1;
  gint64 per = ir_graph_opset (gen->graph, "") >= 21 ? c : group;

  if (gen_one_in (gen, 3))
    PART (gen, "LRN", ATTRS (INT ("size", 3)), x);
  else if (gen_one_in (gen, 2))
    PART (gen, "InstanceNormalization", ATTRS (FLOAT ("epsilon", 0.01)), x,
          part_positive (gen, net->dtype, 1, &c), part_weight (gen, net->dtype, 1, &c, 0.5));
  else
    PART (gen, "GroupNormalization", ATTRS (INT ("num_groups", group), FLOAT ("epsilon", 0.01)), x,
          part_positive (gen, net->dtype, 1, &per), part_weight (gen, net->dtype, 1, &per, 0.5));
}

/* Channels last, for something that wants them there. */
static void
block_last (Net *net)
{
  static const gint64 there[3][5] = { { 0, 2, 1 }, { 0, 2, 3, 1 }, { 0, 2, 3, 4, 1 } };
  static const gint64 back[3][5] = { { 0, 2, 1 }, { 0, 3, 1, 2 }, { 0, 4, 1, 2, 3 } };
  Gen *gen = net->gen;
  IrValue *y = part_transpose (gen, pick (net), there[net->spatial - 1]);

  y = gen_one_in (gen, 2) ? part_normalization (gen, y)
                          : part_linear (gen, y, choose_channels (net));
  if (gen_one_in (gen, 2))
    y = part_activation (gen, y);
  part_transpose (gen, y, back[net->spatial - 1]);
}

static void
block_pad (Net *net)
{
  Gen *gen = net->gen;
  static const char *const modes[] = { "constant", "edge", "reflect" };
  IrValue *x = pick (net);
  gint64 pads[10] = { 0 };
  guint rank = net->spatial + 2;

  for (guint i = 2; i < rank; i++)
    {
      pads[i] = gen_below (gen, 2);
      pads[rank + i] = gen_below (gen, 2);
    }
  if (gen_one_in (gen, 5))
    pads[1] = 1;
  PART (gen, "Pad", ATTRS (STRING ("mode", CHOOSE (gen, modes))), x,
        part_ints (gen, pads, 2 * (gint) rank));
}

static void
block_space (Net *net)
{
  Gen *gen = net->gen;
  IrValue *x = pick (net);

  if (part_dim (gen, x, 1) % 4 == 0 && part_dim (gen, x, -1) < 6)
    PART (gen, "DepthToSpace",
          ATTRS (INT ("blocksize", 2), STRING ("mode", gen_one_in (gen, 2) ? "DCR" : "CRD")), x);
  else if (part_dim (gen, x, 1) < 12)
    PART (gen, "SpaceToDepth", ATTRS (INT ("blocksize", 2)), x);
}

/* What a classifier ends in. */
static void
end_in_classes (Net *net)
{
  Gen *gen = net->gen;
  IrValue *y = gen_one (gen, "GlobalAveragePool", pick (net), NULL, NULL);

  y = gen_one_in (gen, 2) ? PART_OR (PART (gen, "Flatten", ATTRS (INT ("axis", 1)), y), y)
                          : part_reshape (gen, y, 2, (gint64[]){ 0, -1 });
  y = part_linear (gen, y, 1 + gen_below (gen, 10));
  if (gen_one_in (gen, 2))
    PART (gen, "Softmax", ATTRS (INT ("axis", -1)), y);
}

static void
grow (Net *net, guint n)
{
  static void (*const blocks[]) (Net *) = {
    block_conv,     block_conv,       block_conv,    block_conv,    block_conv,      block_residual,
    block_residual, block_batch_norm, block_keeping, block_keeping, block_pool,      block_pool,
    block_concat,   block_concat,     block_split,   block_shuffle, block_gate,      block_resize,
    block_norm,     block_last,       block_pad,     block_space,   block_transposed
  };

  for (guint i = 0; i < n; i++)
    {
      if (net->spatial != 2 && gen_one_in (net->gen, 4))
        block_conv (net);
      else
        CHOOSE (net->gen, blocks) (net);
    }
  if (gen_one_in (net->gen, 4))
    end_in_classes (net);
}

static void
net_init (Net *net, Gen *gen, guint spatial, IrDtype dtype)
{
  *net = (Net){ .gen = gen, .dtype = dtype, .spatial = spatial };
  net->n_palette = 1 + gen_below (gen, MAX_PALETTE);
  for (guint i = 0; i < net->n_palette; i++)
    net->palette[i] = random_channels (gen, spatial);
}

void
graph_conv (Gen *gen, guint spatial, IrDtype dtype)
{
  Net net;

  net_init (&net, gen, spatial, dtype);
  grow (&net, 2 + gen_below (gen, 7));
}

void
graph_conv_2d (Gen *gen)
{
  graph_conv (gen, 2, IR_DTYPE_FLOAT);
}

/* Fields of two channels, pictures and latents: less than a block between whole ones. */
void
graph_conv_few (Gen *gen)
{
  Net net;

  net_init (&net, gen, 2, IR_DTYPE_FLOAT);
  net.palette[0] = 1 + gen_below (gen, 4);
  net.palette[1] = gen_one_in (gen, 2) ? 8 * (1 + gen_below (gen, 4)) : 1 + gen_below (gen, 32);
  net.n_palette = 2 + gen_one_in (gen, 3);
  if (net.n_palette > 2)
    net.palette[2] = random_channels (gen, 2);
  grow (&net, 3 + gen_below (gen, 7));
}

void
graph_conv_1d (Gen *gen)
{
  graph_conv (gen, 1, IR_DTYPE_FLOAT);
}

void
graph_conv_3d (Gen *gen)
{
  graph_conv (gen, 3, IR_DTYPE_FLOAT);
}

void
graph_conv_transposed (Gen *gen)
{
  Net net;

  net_init (&net, gen, 1 + gen_below (gen, gen_one_in (gen, 5) ? 3 : 2), IR_DTYPE_FLOAT);
  block_transposed (&net);
  grow (&net, gen_below (gen, 3));
  block_transposed (&net);
  grow (&net, gen_below (gen, 3));
}
