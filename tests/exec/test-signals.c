/* Transforms, Einsum and operators on images against their definitions, written as plain loops, and
 * against values worked out by hand. */
#include "config.h"

#include "core/exec/ref/fft.h"
#include "tests/exec/graphs.h"

#include <math.h>
#include <string.h>

static const IrCall no_call; /* that nobody stops */

/* Runs the only node of a graph that is done; (transfer full). */
static IrTensor *
run_by (const char *backend, Builder *builder, IrNode *node, GHashTable *inputs)
{
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find (backend), .n_threads = 2 };

  g_autoptr (IrRun) run = ir_model_run (builder->model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  IrTensor *tensor = ir_run_value (run, node->outputs[0]->id);
  /* What inference said must hold; it cannot know sizes that are fed at run time. */
  const IrType *said = ir_model_value (run->model, node->outputs[0]->id)->type;
  g_assert_cmpint (said->rank, ==, (int) ir_tensor_rank (tensor));
  g_assert_true (ir_type_at_least (ir_tensor_type (tensor, run->model->context), said));
  return ir_tensor_ref (tensor);
}

/* The same by the reference back end, of a graph that is not done. */
static IrTensor *
run_node (Builder *builder, IrNode *node, GHashTable *inputs)
{
  build_output (builder, node->outputs[0]);
  build_done (builder);
  return run_by ("ref", builder, node, inputs);
}

/* A graph with one input and constants behind it, as type and elements. */
typedef struct
{
  Builder builder;
  GHashTable *inputs;
  IrNode *node;
} Single;

static void
single_init (Single *single, gint64 opset, const char *op, IrTensor *x, ...)
{
  IrValue *values[8];
  guint n = 1;
  va_list args;

  builder_init (&single->builder, opset);
  single->inputs = inputs_new ();
  g_autofree char *type = ir_type_to_string (single->builder.model->context,
                                             ir_tensor_type (x, single->builder.model->context));
  values[0] = build_input (&single->builder, "x", type);
  inputs_add (single->inputs, values[0], x);
  va_start (args, x);
  for (const char *next = va_arg (args, const char *); next != NULL;
       next = va_arg (args, const char *))
    {
      const char *elements = va_arg (args, const char *);
      g_autofree char *name = g_strdup_printf ("constant%u", n);
      values[n++] = *next == '\0'
                        ? NULL
                        : build_constant (&single->builder, name, tensor_of (next, elements));
    }
  va_end (args);
  single->node = ir_edit_add_node (single->builder.edit, single->builder.model->main, op, NULL,
                                   NULL, n, values, 1);
}

static void
single_clear (Single *single)
{
  g_clear_pointer (&single->inputs, g_hash_table_unref);
  builder_clear (&single->builder);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Single, single_clear)

static IrTensor *
single_run (Single *single)
{
  return run_node (&single->builder, single->node, single->inputs);
}

/* -- Fourier -- */

/* The definition, with the angle reduced by k j mod n. */
static void
transform_by_definition (const IrComplex *in, IrComplex *out, guint n)
{
  for (guint k = 0; k < n; k++)
    {
      long double re = 0, im = 0;
      for (guint j = 0; j < n; j++)
        {
          long double angle = -2 * 3.141592653589793238462643L *
                              (long double) ((guint64) k * j % n) / n;
          long double c = cosl (angle), s = sinl (angle);
          re += (long double) in[j].re * c - (long double) in[j].im * s;
          im += (long double) in[j].re * s + (long double) in[j].im * c;
        }
      out[k] = (IrComplex){ (double) re, (double) im };
    }
}

static void
check_length (guint n, GRand *rand)
{
  g_autofree IrComplex *signal = g_new (IrComplex, n), *expected = g_new (IrComplex, n);
  g_autofree IrComplex *values = g_new (IrComplex, n);
  g_autoptr (IrFft) fft = ir_fft_new (&no_call, n);

  g_assert_nonnull (fft);
  for (guint i = 0; i < n; i++)
    signal[i] = (IrComplex){ g_rand_double_range (rand, -1, 1), g_rand_double_range (rand, -1, 1) };
  memcpy (values, signal, sizeof *signal * n);
  transform_by_definition (signal, expected, n);
  ir_fft_run (fft, values, FALSE);
  for (guint i = 0; i < n; i++)
    {
      g_assert_cmpfloat_with_epsilon (values[i].re, expected[i].re, 1e-14 * (n + 10));
      g_assert_cmpfloat_with_epsilon (values[i].im, expected[i].im, 1e-14 * (n + 10));
    }
  ir_fft_run (fft, values, TRUE);
  for (guint i = 0; i < n; i++)
    {
      g_assert_cmpfloat_with_epsilon (values[i].re / n, signal[i].re, 1e-14);
      g_assert_cmpfloat_with_epsilon (values[i].im / n, signal[i].im, 1e-14);
    }
}

static void
test_fft_lengths (void)
{
  static const guint longer[] = { 97, 127, 128, 210, 360, 961, 1009, 1024, 1147, 1369 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);

  for (guint n = 1; n <= 64; n++)
    check_length (n, rand);
  for (guint i = 0; i < G_N_ELEMENTS (longer); i++)
    check_length (longer[i], rand);
}

static void
test_fft_exact (void)
{
  g_autoptr (IrFft) fft = ir_fft_new (&no_call, 8);
  IrComplex signal[8] = { { 0, 0 }, { 1, 0 }, { 0, 0 }, { 0, 0 },
                          { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 } };

  /* Roots of unity on the axes have no rounding error. */
  ir_fft_run (fft, signal, FALSE);
  g_assert_true (signal[2].re == 0 && signal[2].im == -1);
  g_assert_true (signal[4].re == -1 && signal[4].im == 0);
  g_assert_true (signal[6].re == 0 && signal[6].im == 1);
  g_assert_cmpfloat_with_epsilon (signal[1].re, G_SQRT2 / 2, 2e-16);
}

static void
check_round_trip (guint n)
{
  g_autofree char *type = g_strdup_printf ("double[2,%u,3,1]", n);
  g_autofree char *length = g_strdup_printf ("%u", n);
  g_autoptr (IrTensor) x = tensor_random (type, n);
  g_auto (Single) forward = { 0 }, back = { 0 };

  single_init (&forward, 20, "DFT", ir_tensor_ref (x), "", "", "int64[]", "1", NULL);
  build_int (&forward.builder, forward.node, "onesided", 1);
  g_autoptr (IrTensor) spectrum = single_run (&forward);
  g_assert_cmpint (ir_tensor_dims (spectrum)[1], ==, n / 2 + 1);
  g_assert_cmpint (ir_tensor_dims (spectrum)[3], ==, 2);
  single_init (&back, 17, "DFT", ir_tensor_ref (spectrum), "int64[]", length, NULL);
  build_int (&back.builder, back.node, "onesided", 1);
  build_int (&back.builder, back.node, "inverse", 1);
  build_int (&back.builder, back.node, "axis", -3);
  g_autoptr (IrTensor) y = single_run (&back);
  g_assert_cmpuint (ir_tensor_n_elements (y), ==, ir_tensor_n_elements (x));
  for (guint64 i = 0; i < ir_tensor_n_elements (x); i++)
    g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (y, i), ir_tensor_get_double (x, i),
                                    1e-14);
}

static void
test_dft_round_trip (void)
{
  for (guint n = 2; n < 20; n++)
    check_round_trip (n);
  check_round_trip (211);
}

/* Eleven lines, more than a group of lanes, of every length that has a kernel or has none. */
static void
check_lanes (guint n, guint parts, gboolean inverse, gboolean onesided)
{
  Single single;
  g_autofree char *type = g_strdup_printf ("float[%u,11,%u]", n, parts);

  single_init (&single, 20, "DFT", tensor_random (type, n), "", "", "int64[]", "0", NULL);
  build_int (&single.builder, single.node, "inverse", inverse);
  build_int (&single.builder, single.node, "onesided", onesided);
  g_autoptr (IrTensor) expected = single_run (&single);
  g_autoptr (IrTensor) y = run_by ("cpu", &single.builder, single.node, single.inputs);
  const float *a = ir_tensor_data (expected), *b = ir_tensor_data (y);
  g_assert_cmpuint (ir_tensor_n_elements (y), ==, ir_tensor_n_elements (expected));
  for (guint64 i = 0; i < ir_tensor_n_elements (y); i++)
    g_assert_cmpfloat_with_epsilon (a[i], b[i], 1e-7 * (fabs (a[i]) + 1));
  single_clear (&single);
}

static void
test_dft_lanes (void)
{
  for (guint n = 1; n <= 40; n++)
    for (guint parts = 1; parts <= 2; parts++)
      for (guint way = 0; way < 2; way++)
        {
          check_lanes (n, parts, way == 1, FALSE);
          if (parts == way + 1 && n > way) /* real forwards, complex backwards */
            check_lanes (n, parts, way == 1, TRUE);
        }
  check_lanes (400, 1, FALSE, TRUE);
  check_lanes (1024, 1, FALSE, TRUE);
  check_lanes (1001, 2, TRUE, FALSE);
}

static void
test_dft_length (void)
{
  g_auto (Single) longer = { 0 }, shorter = { 0 };

  /* 1 + 2 w + 0 w^2 + 0 w^3 at w = 1, -i, -1, i */
  single_init (&longer, 20, "DFT", tensor_of ("float[1,2,1]", "1 2"), "int64[]", "4", NULL);
  g_autoptr (IrTensor) more = single_run (&longer);
  assert_tensor (more, "float[1,4,2]", "3 0 1 -2 -1 0 1 2", 0);
  single_init (&shorter, 20, "DFT", tensor_of ("float[1,4,1]", "1 2 3 4"), "int32[1]", "2", NULL);
  g_autoptr (IrTensor) less = single_run (&shorter);
  assert_tensor (less, "float[1,2,2]", "3 0 -1 0", 0);
}

static void
test_dft_default_axis (void)
{
  g_auto (Single) old = { 0 }, new = { 0 };

  single_init (&old, 17, "DFT", tensor_of ("float[2,2,1,1]", "1 2 3 4"), NULL);
  g_autoptr (IrTensor) along_1 = single_run (&old);
  assert_tensor (along_1, "float[2,2,1,2]", "3 0 -1 0 7 0 -1 0", 0);
  single_init (&new, 20, "DFT", tensor_of ("float[2,2,1,1]", "1 2 3 4"), NULL);
  g_autoptr (IrTensor) along_2 = single_run (&new);
  assert_tensor (along_2, "float[2,2,1,2]", "1 0 2 0 3 0 4 0", 0);
}

/* Of a real signal the last axis may be left out. */
static void
check_stft (const char *signal)
{
  g_auto (Single) single = { 0 };
  g_autoptr (IrTensor) x = tensor_random (signal, 5);
  static const double window[4] = { 0.5, 1, 2, -1 };

  single_init (&single, 17, "STFT", ir_tensor_ref (x), "int64[]", "3", "double[4]", "0.5 1 2 -1",
               NULL);
  g_autoptr (IrTensor) y = single_run (&single);
  const gint64 *dims = ir_tensor_dims (y);
  g_assert_true (dims[0] == 2 && dims[1] == 3 && dims[2] == 3 && dims[3] == 2);
  for (guint64 batch = 0; batch < 2; batch++)
    for (guint64 frame = 0; frame < 3; frame++)
      {
        IrComplex in[4], out[4];
        for (guint k = 0; k < 4; k++)
          in[k] = (IrComplex){ window[k] * ir_tensor_get_double (x, batch * 11 + frame * 3 + k),
                               0 };
        transform_by_definition (in, out, 4);
        for (guint64 k = 0; k < 3; k++)
          {
            guint64 at = ((batch * 3 + frame) * 3 + k) * 2;
            g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (y, at), out[k].re, 1e-14);
            g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (y, at + 1), out[k].im, 1e-14);
          }
      }
}

static void
test_stft (void)
{
  check_stft ("double[2,11,1]");
  check_stft ("double[2,11]");
}

static void
test_mel (void)
{
  g_auto (Single) single = { 0 };

  /* mel (700 · 999) = 7785: with one band corners are thirds of it, 700 (10^(k / 3 · 3) - 1) =
   * 0, 6300, 69300 Hz, in bins of 16 · f / 100000 rounded down: 0, 1, 11, which the spectrum of 8
   * bins cuts off. */
  single_init (&single, 17, "MelWeightMatrix", tensor_of ("int64[]", "1"), "int64[]", "15",
               "int64[]", "100000", "double[]", "0", "double[]", "699300", NULL);
  g_autoptr (IrTensor) y = single_run (&single);
  assert_tensor (y, "float[8,1]", "0 1 0.9 0.8 0.7 0.6 0.5 0.4", 1e-7);
}

/* -- Einsum -- */

#define MAX_TERMS 3

typedef struct
{
  char terms[MAX_TERMS][5], output[5];
  guint n_terms;
} Equation;

static gint64
size_of (char letter)
{
  return 2 + letter % 3; /* a to e: 3, 4, 2, 3, 4 */
}

static void
random_equation (GRand *rand, Equation *equation)
{
  GString *used = g_string_new (NULL);

  equation->n_terms = (guint) g_rand_int_range (rand, 1, MAX_TERMS + 1);
  for (guint t = 0; t < equation->n_terms; t++)
    {
      guint n = (guint) g_rand_int_range (rand, 0, 4);
      for (guint i = 0; i < n; i++)
        {
          equation->terms[t][i] = (char) g_rand_int_range (rand, 'a', 'f');
          if (strchr (used->str, equation->terms[t][i]) == NULL)
            g_string_append_c (used, equation->terms[t][i]);
        }
      equation->terms[t][n] = '\0';
    }
  guint n = 0;
  while (used->len > 0 && n < 4)
    {
      gsize at = (gsize) g_rand_int_range (rand, 0, (gint32) used->len);
      if (g_rand_boolean (rand))
        equation->output[n++] = used->str[at];
      g_string_erase (used, (gssize) at, 1);
    }
  equation->output[n] = '\0';
  g_string_free (used, TRUE);
}

static guint64
place_of (const char *letters, const gint64 *values)
{
  guint64 place = 0;

  for (; *letters != '\0'; letters++)
    place = place * (guint64) size_of (*letters) + (guint64) values[*letters - 'a'];
  return place;
}

/* Every value of every index once: the definition. Indices that nobody names have one value. */
static void
sum_by_definition (const Equation *equation, IrTensor *const *inputs, gint64 *sums)
{
  gint64 values[5] = { 0 }, sizes[5];

  for (guint i = 0; i < 5; i++)
    {
      sizes[i] = 1;
      for (guint t = 0; t < equation->n_terms; t++)
        if (strchr (equation->terms[t], (int) ('a' + i)) != NULL)
          sizes[i] = size_of ((char) ('a' + i));
    }
  for (gboolean more = TRUE; more;)
    {
      gint64 product = 1;
      for (guint t = 0; t < equation->n_terms; t++)
        product *= ir_tensor_get_int64 (inputs[t], place_of (equation->terms[t], values));
      sums[place_of (equation->output, values)] += product;
      more = FALSE;
      for (guint i = 0; i < 5 && !more; i++)
        {
          more = ++values[i] < sizes[i];
          if (!more)
            values[i] = 0;
        }
    }
}

static void
check_equation (GRand *rand, const Equation *equation, const char *element)
{
  g_auto (Builder) b = { 0 };
  builder_init (&b, 12);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *values[MAX_TERMS];
  IrTensor *tensors[MAX_TERMS];
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint t = 0; t < equation->n_terms; t++)
    {
      g_autoptr (GString) type = g_string_new (element);
      g_autofree char *name = g_strdup_printf ("x%u", t);
      for (const char *c = equation->terms[t]; *c != '\0'; c++)
        g_string_append_printf (type, "%c%d", c == equation->terms[t] ? '[' : ',',
                                (int) size_of (*c));
      g_string_append (type, equation->terms[t][0] == '\0' ? "[]" : "]");
      values[t] = build_input (&b, name, type->str);
      tensors[t] = tensor_of (type->str, "0");
      for (guint64 i = 0; i < ir_tensor_n_elements (tensors[t]); i++)
        ir_dtype_set_double (ir_tensor_dtype (tensors[t]), ir_tensor_data_writable (tensors[t]), i,
                             g_rand_int_range (rand, -3, 4));
      inputs_add (inputs, values[t], tensors[t]);
      g_string_append_printf (text, "%s%s", t > 0 ? ", " : "", equation->terms[t]);
    }
  g_string_append_printf (text, " -> %s", equation->output);
  IrNode *node = ir_edit_add_node (b.edit, b.model->main, "Einsum", NULL, NULL, equation->n_terms,
                                   values, 1);
  build_string (&b, node, "equation", text->str);
  gint64 sums[256] = { 0 };
  sum_by_definition (equation, tensors, sums);
  g_autoptr (IrTensor) y = run_node (&b, node, inputs);
  for (guint64 i = 0; i < ir_tensor_n_elements (y); i++)
    if (ir_tensor_get_double (y, i) != (double) sums[i])
      g_error ("%s: element %u is %g, not %d", text->str, (guint) i, ir_tensor_get_double (y, i),
               (int) sums[i]);
}

static void
test_einsum_random (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);

  for (guint i = 0; i < 400; i++)
    {
      Equation equation = { 0 };
      random_equation (rand, &equation);
      check_equation (rand, &equation, i % 2 == 0 ? "double" : "int32");
    }
}

static void
test_einsum_implicit (void)
{
  g_auto (Single) single = { 0 };

  /* "ba" without an output is a transpose: indices in the order of ASCII */
  single_init (&single, 12, "Einsum", tensor_of ("int64[2,3]", "1 2 3 4 5 6"), NULL);
  build_string (&single.builder, single.node, "equation", "ba");
  g_autoptr (IrTensor) y = single_run (&single);
  assert_tensor (y, "int64[3,2]", "1 4 2 5 3 6", 0);
}

static void
test_einsum_ellipsis (void)
{
  g_auto (Single) product = { 0 }, diagonal = { 0 };

  /* The batch of 2 and that of 1 broadcast. */
  single_init (&product, 12, "Einsum", tensor_of ("float[2,1,2]", "1 2 3 4"), "float[1,2,2]",
               "1 10 100 1000", NULL);
  build_string (&product.builder, product.node, "equation", "...ij,...jk");
  g_autoptr (IrTensor) y = single_run (&product);
  assert_tensor (y, "float[2,1,2]", "201 2010 403 4030", 0);
  single_init (&diagonal, 12, "Einsum", tensor_of ("float[2,2,2]", "1 2 3 4 5 6 7 8"), NULL);
  build_string (&diagonal.builder, diagonal.node, "equation", "...ii->i...");
  g_autoptr (IrTensor) d = single_run (&diagonal);
  assert_tensor (d, "float[2,2]", "1 5 4 8", 0);
}

static void
test_einsum_refuses (void)
{
  static const char *const equations[] = { "ij->ik", "ij->ii", "i", "ij,j->i", "i1->i", "i..j" };

  for (guint i = 0; i < G_N_ELEMENTS (equations); i++)
    {
      g_auto (Single) single = { 0 };
      g_autoptr (GError) error = NULL;
      IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
      single_init (&single, 12, "Einsum", tensor_of ("float[2,3]", "1"), NULL);
      build_string (&single.builder, single.node, "equation", equations[i]);
      build_output (&single.builder, single.node->outputs[0]);
      build_done (&single.builder);
      g_autoptr (IrRun)
          run = ir_model_run (single.builder.model, single.inputs, &options, NULL, &error);
      g_assert_null (run);
      g_assert_nonnull (error);
    }
}

/* -- sums and products along an axis -- */

static void
test_cum_prod (void)
{
  g_auto (Single) plain = { 0 }, turned = { 0 };

  single_init (&plain, 26, "CumProd", tensor_of ("int32[2,3]", "1 2 3 4 5 6"), "int64[]", "1",
               NULL);
  g_autoptr (IrTensor) y = single_run (&plain);
  assert_tensor (y, "int32[2,3]", "1 2 6 4 20 120", 0);
  single_init (&turned, 26, "CumProd", tensor_of ("float[2,3]", "1 2 3 4 5 6"), "int32[]", "-1",
               NULL);
  build_int (&turned.builder, turned.node, "exclusive", 1);
  build_int (&turned.builder, turned.node, "reverse", 1);
  g_autoptr (IrTensor) z = single_run (&turned);
  assert_tensor (z, "float[2,3]", "6 3 1 30 6 1", 0);
}

/* -- images -- */

static void
test_col2im (void)
{
  g_auto (Single) single = { 0 };

  /* Every element counts the blocks of 2 x 2 that it is in. */
  single_init (&single, 18, "Col2Im", tensor_of ("int8[1,4,4]", "1"), "int64[2]", "3 3", "int64[2]",
               "2 2", NULL);
  g_autoptr (IrTensor) y = single_run (&single);
  assert_tensor (y, "int8[1,1,3,3]", "1 2 1 2 4 2 1 2 1", 0);
}

/* The number of blocks does not fit into 63 bits, so inference cannot compare it. */
static void
test_col2im_refuses (void)
{
  g_auto (Single) single = { 0 };
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };

  single_init (&single, 18, "Col2Im", tensor_of ("float[1,1,1]", "1"), "int64[2]", "1 1",
               "int64[2]", "1 1", NULL);
  build_ints (&single.builder, single.node, "pads", 4, G_MAXINT32, G_MAXINT32, G_MAXINT32,
              G_MAXINT32);
  build_output (&single.builder, single.node->outputs[0]);
  build_done (&single.builder);
  g_autoptr (IrRun)
      run = ir_model_run (single.builder.model, single.inputs, &options, NULL, &error);
  g_assert_null (run);
  g_assert_nonnull (error);
}

static void
test_affine_grid (void)
{
  g_auto (Single) edges = { 0 }, centres = { 0 };

  single_init (&edges, 20, "AffineGrid", tensor_of ("float[1,2,3]", "1 0 0 0 1 10"), "int64[4]",
               "1 5 2 3", NULL);
  g_autoptr (IrTensor) y = single_run (&edges);
  assert_tensor (y, "float[1,2,3,2]",
                 "-0.6666667 9.5 0 9.5 0.6666667 9.5 -0.6666667 10.5 0 10.5 0.6666667 10.5", 1e-6);
  single_init (&centres, 20, "AffineGrid", tensor_of ("double[1,2,3]", "0 1 0 1 0 0"), "int64[4]",
               "1 5 2 3", NULL);
  build_int (&centres.builder, centres.node, "align_corners", 1);
  g_autoptr (IrTensor) z = single_run (&centres);
  assert_tensor (z, "double[1,2,3,2]", "-1 -1 -1 0 -1 1 1 -1 1 0 1 1", 0);
}

static void
test_center_crop_pad (void)
{
  g_auto (Single) single = { 0 };

  /* Rows 1 and 2 of 5, and one zero before and two behind the columns. */
  single_init (&single, 18, "CenterCropPad", tensor_of ("uint8[5,2]", "1 2 3 4 5 6 7 8 9 10"),
               "int64[2]", "2 5", NULL);
  g_autoptr (IrTensor) y = single_run (&single);
  assert_tensor (y, "uint8[2,5]", "0 3 4 0 0 0 5 6 0 0", 0);
}

static void
test_max_unpool (void)
{
  g_auto (Single) plain = { 0 }, larger = { 0 };

  single_init (&plain, 11, "MaxUnpool", tensor_of ("float[1,2,2]", "7 8 -1 9"), "int64[1,2,2]",
               "1 2 4 7", NULL);
  build_ints (&plain.builder, plain.node, "kernel_shape", 1, 2);
  build_ints (&plain.builder, plain.node, "strides", 1, 2);
  g_autoptr (IrTensor) y = single_run (&plain);
  assert_tensor (y, "float[1,2,4]", "0 7 8 0 -1 0 0 9", 0);
  single_init (&larger, 11, "MaxUnpool", tensor_of ("float[1,2,2]", "7 8 -1 9"), "int64[1,2,2]",
               "1 2 4 7", "int64[3]", "1 2 6", NULL);
  build_ints (&larger.builder, larger.node, "kernel_shape", 1, 2);
  build_ints (&larger.builder, larger.node, "strides", 1, 2);
  g_autoptr (IrTensor) z = single_run (&larger);
  assert_tensor (z, "float[1,2,6]", "0 7 8 0 0 0 -1 0 0 9 0 0", 0);
}

static void
test_max_roi_pool (void)
{
  g_auto (Single) single = { 0 };

  /* The whole image, its middle at half scale, and a region outside of it. */
  single_init (&single, 1, "MaxRoiPool",
               tensor_of ("float[1,1,4,4]", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"), "float[3,5]",
               "0 0 0 6 6  0 2 2 4 4  0 20 20 30 30", NULL);
  build_ints (&single.builder, single.node, "pooled_shape", 2, 2, 2);
  build_float (&single.builder, single.node, "spatial_scale", 0.5f);
  g_autoptr (IrTensor) y = single_run (&single);
  assert_tensor (y, "float[3,1,2,2]", "6 8 14 16  6 7 10 11  0 0 0 0", 0);
}

static IrTensor *
run_deform (const char *offset_type, const char *offsets, gboolean deformed)
{
  g_auto (Builder) b = { 0 };
  builder_init (&b, 19);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *x = build_input (&b, "x", "double[2,4,6,5]");
  IrValue *w = build_constant (&b, "w", tensor_random ("double[6,2,3,2]", 2));
  IrValue *bias = build_constant (&b, "b", tensor_of ("double[6]", "1 2 3 4 5 6"));
  inputs_add (inputs, x, tensor_random ("double[2,4,6,5]", 1));
  IrNode *node;
  if (deformed)
    {
      IrValue *offset = build_constant (&b, "offset", tensor_of (offset_type, offsets));
      node = build_node (&b, NULL, "DeformConv", 1, x, w, offset, bias, END);
      build_int (&b, node, "offset_group", 2);
    }
  else
    node = build_node (&b, NULL, "Conv", 1, x, w, bias, END);
  build_int (&b, node, "group", 2);
  build_ints (&b, node, "strides", 2, 2, 1);
  build_ints (&b, node, "dilations", 2, 1, 2);
  build_ints (&b, node, "pads", 4, 1, 0, 1, 1);
  return run_node (&b, node, inputs);
}

static void
test_deform_conv_without_offset (void)
{
  g_autoptr (IrTensor) plain = run_deform (NULL, NULL, FALSE);
  const gint64 *dims = ir_tensor_dims (plain);
  g_autofree char *type = g_strdup_printf ("double[2,24,%d,%d]", (int) dims[2], (int) dims[3]);
  g_autoptr (IrTensor) deformed = run_deform (type, "0", TRUE);

  g_assert_cmpuint (ir_tensor_n_elements (plain), ==, ir_tensor_n_elements (deformed));
  for (guint64 i = 0; i < ir_tensor_n_elements (plain); i++)
    g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (plain, i),
                                    ir_tensor_get_double (deformed, i), 1e-13);
}

static void
test_deform_conv_by_hand (void)
{
  g_auto (Single) single = { 0 };

  /* One element of kernel, moved by (0.5, 0), (0, -0.25), (1, 1), (-1.5, 0) from where it stands;
   * what lies outside of X is zero: (1 + 3) / 2, 0.25 · 1 + 0.75 · 2, nothing, 4 · 0 / 2 + 2 / 2,
   * each doubled and by its mask. */
  single_init (&single, 19, "DeformConv", tensor_of ("float[1,1,2,2]", "1 2 3 4"), "float[1,1,1,1]",
               "2", "float[1,2,2,2]", "0.5 0 1 -1.5  0 -0.25 1 0", "float[1]", "10",
               "float[1,1,2,2]", "1 2 1 0.5", NULL);
  g_autoptr (IrTensor) y = single_run (&single);
  assert_tensor (y, "float[1,1,2,2]", "14 17 10 11", 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/signals/transforms of every length up to 64 by definition", test_fft_lengths);
  g_test_add_func ("/signals/factors on the axes are exact", test_fft_exact);
  g_test_add_func ("/signals/half a spectrum leads back to the signal", test_dft_round_trip);
  g_test_add_func ("/signals/lines in lanes are those of the reference", test_dft_lanes);
  g_test_add_func ("/signals/dft_length cuts and fills up", test_dft_length);
  g_test_add_func ("/signals/the default axis of dft depends on the opset", test_dft_default_axis);
  g_test_add_func ("/signals/stft by definition", test_stft);
  g_test_add_func ("/signals/mel weights by hand", test_mel);
  g_test_add_func ("/einsum/random equations by definition", test_einsum_random);
  g_test_add_func ("/einsum/implicit output is sorted", test_einsum_implicit);
  g_test_add_func ("/einsum/ellipsis broadcasts", test_einsum_ellipsis);
  g_test_add_func ("/einsum/equations that do not fit are refused", test_einsum_refuses);
  g_test_add_func ("/images/running products", test_cum_prod);
  g_test_add_func ("/images/col2im counts blocks", test_col2im);
  g_test_add_func ("/images/more blocks than there are columns are refused", test_col2im_refuses);
  g_test_add_func ("/images/affine grids by hand", test_affine_grid);
  g_test_add_func ("/images/an odd element counts for the end", test_center_crop_pad);
  g_test_add_func ("/images/unpooling puts elements back", test_max_unpool);
  g_test_add_func ("/images/largest elements of regions", test_max_roi_pool);
  g_test_add_func ("/images/deformable convolution without offset is a convolution",
                   test_deform_conv_without_offset);
  g_test_add_func ("/images/deformable convolution by hand", test_deform_conv_by_hand);
  return g_test_run ();
}
