/* Resize: a thread for each element of the result. Where it lies in the input is found in double, as the
 * reference does, since the nearest neighbour of a place in the middle depends on the last bit. */
#include "config.h"

#include "core/exec/gpu/writer.h"
#include "core/op/infer-resize.h"

#include <math.h>
#include <string.h>

#define I64 "%" G_GINT64_FORMAT

typedef struct
{
  IrResize geometry;
  GpuShape in, out;
  const char *coordinates, *mode;
  gboolean crops,
      shifts; /* tf_crop_and_resize, tf_half_pixel_for_nn: they move what keeps its size */
} Resize;

/* The place in the input of place $d of an axis, by the attribute coordinate_transformation_mode. $s: the
 * scale; $n: elements of the input; $w: those of the output, $o: as many as the scale would have; $a and $e:
 * start and end of the crop. */
static const struct
{
  const char *name, *text;
} coordinates[] = {
  { "half_pixel", "($d + 0.5) / $s - 0.5" },
  { "half_pixel_symmetric", "$n / 2 * (1 - $w / $o) + ($d + 0.5) / $s - 0.5" },
  { "pytorch_half_pixel", "$w > 1 ? ($d + 0.5) / $s - 0.5 : 0" },
  { "align_corners", "$w > 1 ? $d * ($n - 1) / ($o - 1) : 0" },
  { "asymmetric", "$d / $s" },
  { "tf_half_pixel_for_nn", "($d + 0.5) / $s" },
  { "tf_crop_and_resize",
    "$w <= 1 ? 0.5 * ($a + $e) * ($n - 1) : $a * ($n - 1) + $d * ($e - $a) * ($n - 1) / ($o - 1)" },
};

static char *
source_text (const Resize *resize, guint axis)
{
  double in = (double) resize->in.dims[axis], scale = resize->geometry.scale[axis];
  g_autofree char *d = g_strdup_printf ("(double) d%u", axis), *s = gpu_number (scale, TRUE);
  g_autofree char *n = gpu_number (in, TRUE), *o = gpu_number (scale * in, TRUE);
  g_autofree char *w = gpu_number ((double) resize->out.dims[axis], TRUE);
  gboolean chosen = resize->geometry.chosen[axis];
  g_autofree char *a = chosen ? g_strdup_printf ("(double) $load_roi (K_LOAD (roi, %d))",
                                                 resize->geometry.place[axis])
                              : g_strdup ("0.0");
  g_autofree char *e = chosen ? g_strdup_printf ("(double) $load_roi (K_LOAD (roi, %u))",
                                                 (guint) resize->geometry.place[axis] +
                                                     resize->geometry.n_chosen)
                              : g_strdup ("1.0");
  const char *const words[] = { "d", d, "s", s, "n", n, "o", o, "w", w, "a", a, "e", e };
  g_autoptr (GPtrArray) list = g_ptr_array_new ();

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    g_ptr_array_add (list, (gpointer) words[i]);
  return gpu_fill_text (resize->coordinates, list);
}

/* An axis that keeps its size and its place. */
static gboolean
is_identity (const Resize *resize, guint axis)
{
  return resize->out.dims[axis] == resize->in.dims[axis] && resize->geometry.scale[axis] == 1 &&
         !resize->crops && !resize->shifts;
}

static gboolean
read_resize (GpuWriter *w, const IrCall *call, Resize *resize)
{
  const char *name = ir_call_string (call, "coordinate_transformation_mode", "half_pixel");

  resize->coordinates = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (coordinates); i++)
    if (g_str_equal (coordinates[i].name, name))
      resize->coordinates = coordinates[i].text;
  resize->mode = ir_call_string (call, "mode", "nearest");
  resize->crops = g_str_equal (name, "tf_crop_and_resize");
  resize->shifts = g_str_equal (name, "tf_half_pixel_for_nn");
  if (!gpu_shape_of_input (w, 0, &resize->in) || !gpu_shape_of_output (w, 0, &resize->out))
    return FALSE;
  if (resize->coordinates == NULL || !ir_resize_init (&resize->geometry, call, NULL) ||
      (resize->crops && !ir_call_has_input (call, 1)))
    gpu_refuse (w, "no GPU kernel does what its attributes ask for");
  for (guint i = 0; i < resize->in.rank; i++)
    if (!(resize->geometry.scale[i] > 0) && resize->out.n > 0)
      gpu_refuse (w, gpu_unknown_contents);
  return w->why == NULL;
}

/* $offsets: place d0, d1 .. of element i; $places: where the axes lie in the input, x0, x1 .., and whether
 * that is outside of a crop. */
static void
put_places (GpuWriter *w, const Resize *resize)
{
  GString *places = g_string_new (NULL);
  GpuLoop loop;

  gpu_loop_init (&loop, &resize->out);
  gpu_put_loop (w, "offsets", &loop, "i");
  for (guint i = 0; i < resize->in.rank; i++)
    {
      g_autofree char *source = source_text (resize, i);
      g_string_append_printf (places, "  double x%u = %s;\n", i, source);
      if (resize->crops)
        g_string_append_printf (places, "  outside = outside || !(x%u >= 0 && x%u <= " I64 ");\n",
                                i, i, resize->in.dims[i] - 1);
    }
  gpu_put_text (w, "places", g_string_free (places, FALSE));
}

/* -- the nearest neighbour -- */

/* Around the place. */
static const struct
{
  const char *name, *before, *behind;
} roundings[] = { { "round_prefer_floor", "ceil (", " - 0.5)" },
                  { "round_prefer_ceil", "floor (", " + 0.5)" },
                  { "floor", "floor (", ")" },
                  { "ceil", "ceil (", ")" } };

static const char *
write_nearest (GpuWriter *w, const Resize *resize)
{
  const char *mode = ir_call_string (w->call, "nearest_mode", "round_prefer_floor");
  guint k = 0;
  GString *picked = g_string_new ("  k_i64 o = 0;\n");
  gint64 own[IR_MAX_RANK];

  while (k + 1 < G_N_ELEMENTS (roundings) && !g_str_equal (roundings[k].name, mode))
    k++;
  gpu_contiguous_strides (&resize->in, own);
  for (guint i = 0; i < resize->in.rank; i++)
    g_string_append_printf (picked, "  o += c_$name (%sx%u%s, " I64 ") * " I64 ";\n",
                            roundings[k].before, i, roundings[k].behind, resize->in.dims[i],
                            own[i]);
  gpu_put_text (w, "picked", g_string_free (picked, FALSE));
  gpu_put (w, "weight", "0");
  gpu_put (w, "value", "K_LOAD (x, o)");
  return gpu_write_each (w, "resize", resize->out.n);
}

/* -- between neighbours -- */

/* Loops over the neighbours along one axis, of @n from f on; with antialiasing as many as an element of the
 * output stands for. The weights of all make 1. */
static void
print_axis (GString *before, GString *loops, const Resize *resize, const IrCall *call, guint axis)
{
  double stretch = ir_call_int (call, "antialias", 0) != 0 ? MIN (resize->geometry.scale[axis], 1)
                                                           : 1;
  gint64 first = (gint64) floor (-(g_str_equal (resize->mode, "linear") ? 1 : 2) / stretch) + 1;
  gint64 n = 2 - 2 * first, in = resize->in.dims[axis];
  g_autofree char *stretch_text = gpu_number (stretch, TRUE);
  g_autofree char *inside = ir_call_int (call, "exclude_outside", 0) != 0
                                ? g_strdup_printf ("p%u < 0 || p%u >= " I64 " ? 0 : ", axis, axis,
                                                   in)
                                : g_strdup ("");

  g_string_append_printf (before,
                          "  k_i64 f%u = (k_i64) floor (x%u) + (" I64 ");\n  double t%u = 0;\n"
                          "  for (k_i64 p%u = f%u; p%u < f%u + " I64 "; p%u++)\n"
                          "    t%u += %sw_$name (((double) p%u - x%u) * %s);\n",
                          axis, axis, first, axis, axis, axis, axis, axis, n, axis, axis, inside,
                          axis, axis, stretch_text);
  g_string_append_printf (loops,
                          "  for (k_i64 p%u = f%u; p%u < f%u + " I64 "; p%u++)\n    {\n"
                          "      double v%u = (%sw_$name (((double) p%u - x%u) * %s)) / t%u;\n"
                          "      k_i64 c%u = p%u < 0 ? 0 : p%u >= " I64 " ? " I64 " : p%u;\n",
                          axis, axis, axis, axis, n, axis, axis, inside, axis, axis, stretch_text,
                          axis, axis, axis, axis, in, in - 1, axis);
}

static const char *
write_interpolated (GpuWriter *w, const Resize *resize)
{
  GString *before = g_string_new (NULL), *loops = g_string_new (NULL), *place = g_string_new ("0"),
          *weight = g_string_new ("1"), *closings = g_string_new (NULL);
  double a = ir_call_float (w->call, "cubic_coeff_a", -0.75);
  g_autofree char *coefficient = gpu_number (a, TRUE);
  gint64 own[IR_MAX_RANK];

  gpu_contiguous_strides (&resize->in, own);
  for (guint i = 0; i < resize->in.rank; i++)
    {
      gboolean identity = is_identity (resize, i);
      g_string_append_printf (place, " + %c%u * " I64, identity ? 'd' : 'c', i, own[i]);
      if (identity)
        continue;
      print_axis (before, loops, resize, w->call, i);
      g_string_append_printf (weight, " * v%u", i);
      g_string_append (closings, "    }\n");
    }
  gpu_put (
      w, "picked",
      "  $compute_x sum = 0;\n%s%s      sum += ($compute_x) (%s) * $load_x (K_LOAD (x, %s));\n%s",
      before->str, loops->str, weight->str, place->str, closings->str);
  if (g_str_equal (resize->mode, "linear"))
    gpu_put (w, "weight", "d < 1 ? 1 - d : 0");
  else
    gpu_put (
        w, "weight",
        "d <= 1 ? ((%s + 2) * d - (%s + 3)) * d * d + 1 : d < 2 ? ((%s * d - 5 * %s) * d + 8 * %s) * d - 4 * %s : 0",
        coefficient, coefficient, coefficient, coefficient, coefficient, coefficient);
  gpu_put (w, "value", "$store_y (sum)");
  g_string_free (before, TRUE);
  g_string_free (loops, TRUE);
  g_string_free (place, TRUE);
  g_string_free (weight, TRUE);
  g_string_free (closings, TRUE);
  return gpu_write_each (w, "resize", resize->out.n);
}

static const char *
emit_resize (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  Resize resize;

  gpu_writer_init (&w, program, call, "resize");
  if (!read_resize (&w, call, &resize) || resize.out.n == 0)
    return w.why;
  gboolean nearest = g_str_equal (resize.mode, "nearest");
  const GpuElement *e = gpu_put_input (&w, "x", 0);
  gpu_put_output (&w, "y", 0);
  if (e == NULL || (!nearest && !gpu_is_real (e->compute)))
    return gpu_refuse (&w, gpu_no_element);
  if (resize.in.n == 0)
    return gpu_refuse (&w, "there is nothing to take elements from");
  if (resize.crops)
    gpu_put_input (&w, "roi", 1);
  gpu_put (&w, "outer", "%.9g", ir_call_float (call, "extrapolation_value", 0));
  gpu_put (&w, "fill", "$store_y (($compute_y) ($outer))");
  put_places (&w, &resize);
  return nearest ? write_nearest (&w, &resize) : write_interpolated (&w, &resize);
}

const IrGpuKernel gpu_resize = { "resize", emit_resize };
