#include "config.h"

#include "app/cli/tensor-facts.h"

#include "app/cli/model.h"
#include "app/cli/output.h"
#include "core/exec/kernel/element-test.h"
#include "core/io/io.h"
#include "core/ir/tensor-text.h"
#include "core/layout/charts.h"
#include "core/render/render.h"
#include "core/render/tensor-picture.h"

#include <math.h>
#include <string.h>

/* -- places -- */

static void
add_index (cJSON *json, const char *key, const IrTensor *tensor, guint64 at)
{
  const guint rank = ir_tensor_rank (tensor);
  cJSON *array;

  if (at >= ir_tensor_n_elements (tensor))
    return;
  array = cJSON_AddArrayToObject (json, key);
  for (guint i = 0; i < rank; i++)
    {
      guint64 inner = 1;

      for (guint k = i + 1; k < rank; k++)
        inner *= (guint64) ir_tensor_dims (tensor)[k];
      cJSON_AddItemToArray (
          array, cJSON_CreateNumber ((double) (at / inner % (guint64) ir_tensor_dims (tensor)[i])));
    }
}

static void
print_place (const char *what, const IrTensor *tensor, guint64 at)
{
  g_autofree char *index = at < ir_tensor_n_elements (tensor) ? ir_tensor_index_text (tensor, at)
                                                              : NULL;

  if (index != NULL)
    cli_print ("%s at %s  ", what, index);
}

void
cli_tensor_places (const IrTensor *tensor, const IrTensorStats *stats, cJSON *json)
{
  IrTensorPlaces places;

  if (ir_tensor_is_container (tensor) || ir_tensor_dtype (tensor) == IR_DTYPE_STRING ||
      stats->n == 0)
    return;
  ir_tensor_places (tensor, stats, &places);
  const struct
  {
    const char *key, *what;
    guint64 at;
  } rows[] = { { "min_at", "least", places.min },
               { "max_at", "largest", places.max },
               { "nan_at", "first NaN", places.nan },
               { "inf_at", "first Inf", places.inf } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (json != NULL)
      add_index (json, rows[i].key, tensor, rows[i].at);
    else
      print_place (rows[i].what, tensor, rows[i].at);
  if (json == NULL)
    cli_print ("\n");
}

/* -- differences -- */

/* Only floating-point types have units in the last place; zeros have no angle, and what is constant no range. */
static void
print_ratios (const IrTensor *tensor, const IrTensorMetrics *metrics)
{
  cli_print ("  max rel %.6g", metrics->max_rel);
  if (ir_dtype_kind (ir_tensor_dtype (tensor)) == IR_DTYPE_KIND_FLOAT)
    cli_print ("  ULP %" G_GUINT64_FORMAT, metrics->max_ulp);
  if (!isnan (metrics->cosine))
    cli_print ("  cosine %.9g", metrics->cosine);
  cli_print ("  SNR %.4g dB", metrics->snr_db);
  if (!isnan (metrics->psnr_db))
    cli_print ("  PSNR %.4g dB", metrics->psnr_db);
  cli_print ("\n");
}

void
cli_tensor_metrics (const IrTensor *tensor,
                    const IrTensorMetrics *metrics,
                    const char *against,
                    cJSON *json)
{
  if (json == NULL)
    {
      g_autofree char *first = ir_tensor_index_text (tensor, metrics->first),
                      *worst = ir_tensor_index_text (tensor, metrics->worst);
      cli_print ("against %s: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " elements differ\n",
                 against, metrics->n_different, metrics->n);
      if (metrics->n_different == 0)
        return;
      const gboolean is_finite = metrics->n_non_finite == 0;

      cli_print ("  max abs %.6g%s%s  first at %s  mean abs %.6g  RMS %.6g\n", metrics->max_abs,
                 is_finite ? " at " : "", is_finite ? worst : "", first, metrics->mean_abs,
                 metrics->rms);
      print_ratios (tensor, metrics);
      if (!is_finite)
        cli_print ("  NaN or infinite on one side only: %" G_GUINT64_FORMAT ", first at %s\n",
                   metrics->n_non_finite, worst);
      cli_print ("  least tolerance that would pass: atol = rtol = %.6g\n", metrics->tolerance);
      return;
    }
  cJSON *object = cJSON_AddObjectToObject (json, "difference");
  cJSON_AddStringToObject (object, "against", against);
  cli_json_add_uint (object, "elements", metrics->n);
  cli_json_add_uint (object, "different", metrics->n_different);
  cli_json_add_uint (object, "non_finite", metrics->n_non_finite);
  add_index (object, "first_at", tensor, metrics->first);
  add_index (object, "worst_at", tensor, metrics->worst);
  cli_json_add_double (object, "max_abs", metrics->max_abs);
  cli_json_add_double (object, "mean_abs", metrics->mean_abs);
  cli_json_add_double (object, "max_rel", metrics->max_rel);
  cli_json_add_double (object, "rms", metrics->rms);
  cli_json_add_uint (object, "ulp", metrics->max_ulp);
  cli_json_add_double (object, "cosine", metrics->cosine);
  cli_json_add_double (object, "snr_db", metrics->snr_db);
  cli_json_add_double (object, "psnr_db", metrics->psnr_db);
  cli_json_add_double (object, "tolerance", metrics->tolerance);
}

/* -- search -- */

static void
print_element (const IrTensor *tensor, guint64 index, IrNumberFormat format)
{
  g_autofree char *place = ir_tensor_index_text (tensor, index),
                  *text = ir_tensor_element_format (tensor, index, format);

  cli_print ("  %s = %s\n", place, text);
}

void
cli_tensor_list (const IrTensor *tensor, guint most, IrNumberFormat format)
{
  const guint64 n = ir_tensor_n_elements (tensor);

  for (guint64 i = 0; i < MIN (n, most); i++)
    print_element (tensor, i, format);
  if (n > most)
    cli_print ("  and %" G_GUINT64_FORMAT " more\n", n - most);
}

gboolean
cli_tensor_find (const IrTensor *tensor,
                 const char *text,
                 guint most,
                 IrNumberFormat format,
                 cJSON *json,
                 GError **error)
{
  cJSON *found = json != NULL ? cJSON_AddArrayToObject (json, "found") : NULL;
  guint64 at = 0, n = 0;
  IrElementTest test;

  if (!ir_element_test_parse (text, &test))
    {
      g_set_error (error, CLI_ERROR, 0,
                   "--find %s: needs a number or a condition: 3, >6, abs>=1e3, !=0, nan or inf",
                   text);
      return FALSE;
    }
  for (;; at++, n++)
    {
      at = ir_tensor_find_element (tensor, &test, at, NULL);
      if (at >= ir_tensor_n_elements (tensor))
        break;
      if (n >= most)
        continue;
      if (json == NULL)
        print_element (tensor, at, format);
      else
        {
          cJSON *object = cJSON_CreateObject ();

          add_index (object, "at", tensor, at);
          cli_json_add_double (object, "value", ir_tensor_get_double (tensor, at));
          cJSON_AddItemToArray (found, object);
        }
    }
  if (json == NULL)
    cli_print ("%" G_GUINT64_FORMAT " %s %s\n", n, n == 1 ? "element is" : "elements are", text);
  else
    cli_json_add_uint (json, "n_found", n);
  return TRUE;
}

/* -- pictures -- */

static gboolean
read_colours (const char *text, IrTensorColours *colours, GError **error)
{
  static const char *const names[] = { [IR_TENSOR_COLOURS_AUTO] = "auto",
                                       [IR_TENSOR_COLOURS_DIVERGING] = "diverging",
                                       [IR_TENSOR_COLOURS_ONE_SIDED] = "one-sided" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (text == NULL || strcmp (names[i], text) == 0)
      {
        *colours = (IrTensorColours) i;
        return TRUE;
      }
  g_set_error (error, CLI_ERROR, 0, "--colours %s: needs auto, diverging or one-sided", text);
  return FALSE;
}

/* As a chart: lines, or one against the other. (transfer full) (nullable) */
static IrScene *
make_chart (const IrTensorLayout *layout,
            const IrTensor *tensor,
            const IrTensor *other,
            IrTextMeasure *measure)
{
  const IrChartOptions chart = { .measure = ir_text_measure_width,
                                 .measure_data = measure,
                                 .height = layout->line ? 0 : 480 };
  static const char *const names[] = { "value", "against" };
  const IrTensor *tensors[] = { tensor, other };
  IrTensorCurve *curves[2];
  IrScene *scene;

  if (!layout->line)
    {
      g_autofree IrTensorScatter *scatter = ir_tensor_scatter_new (other, tensor, NULL);
      return ir_chart_scatter (scatter, names[1], names[0], &chart, NULL);
    }
  const guint n = other != NULL ? 2 : 1;
  g_autofree char *title = ir_tensor_layout_text (layout, tensor);
  for (guint i = 0; i < n; i++)
    curves[i] = ir_tensor_layout_curve (layout, tensors[i], NULL, NULL);
  scene = ir_chart_curves ((const IrTensorCurve *const *) curves, names, n, title, &chart, NULL);
  for (guint i = 0; i < n; i++)
    g_free (curves[i]);
  return scene;
}

static gboolean
write_chart (const CliTensorPicture *wanted,
             const IrTensorLayout *layout,
             const IrTensor *tensor,
             const IrTensor *other,
             GError **error)
{
  g_autoptr (IrTextMeasure) measure = ir_text_measure_new ();
  g_autoptr (IrScene) scene = make_chart (layout, tensor, other, measure);

  return ir_render_file (scene, wanted->path, NULL, error);
}

gboolean
cli_tensor_picture (const CliTensorPicture *wanted,
                    const IrTensor *tensor,
                    const IrTensor *minus,
                    const IrTensorStats *stats,
                    GError **error)
{
  g_autoptr (IrTensorPicture) picture = NULL;
  g_autoptr (GBytes) bytes = NULL;
  const gboolean scatter = g_strcmp0 (wanted->as, "scatter") == 0;
  const char *as = scatter || (wanted->as == NULL && wanted->axes != NULL) ? "heat"
                   : wanted->as != NULL                                    ? wanted->as
                                                                           : "auto";
  IrTensorLayout layout;
  IrTensorColours colours;

  if (scatter && minus == NULL)
    {
      g_set_error_literal (error, CLI_ERROR, 0,
                           "--as scatter: needs --against, what the value is drawn over");
      return FALSE;
    }
  if (!read_colours (wanted->colours, &colours, error) ||
      !ir_tensor_layout_init (&layout, tensor, as, error) ||
      (wanted->axes != NULL && !ir_tensor_layout_set_axes (&layout, tensor, wanted->axes, error)))
    {
      g_prefix_error (error, "--picture: ");
      return FALSE;
    }
  if (scatter || layout.line)
    return write_chart (wanted, &layout, tensor, minus, error);
  layout.colours = colours;
  picture = ir_tensor_picture_new (tensor, minus, stats, &layout, IR_PALETTE_LIGHT, NULL);
  if (g_str_has_suffix (wanted->path, ".svg"))
    bytes = ir_tensor_picture_svg (picture, IR_PALETTE_LIGHT);
  else if (g_str_has_suffix (wanted->path, ".png"))
    bytes = ir_tensor_picture_png (picture, IR_PALETTE_LIGHT, error);
  else
    g_set_error (error, CLI_ERROR, 0, "--picture %s: the name must end in .svg or .png",
                 wanted->path);
  if (bytes == NULL)
    return FALSE;
  if (picture->sampled)
    cli_printerr (
        "irscope tensor: the picture is smaller than the tensor: of the elements of a pixel "
        "the one of the largest magnitude is drawn\n");
  return ir_file_write_atomic (wanted->path, bytes, error);
}
