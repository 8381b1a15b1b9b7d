/* Pictures as networks take them: resized, cropped, with channels where they belong, and normalized. */
#include "config.h"

#include "core/exec/eval/picture.h"

#include "core/image/image.h"
#include "core/op/infer.h"

#include <math.h>
#include <string.h>

/* Means and deviations: torchvision's transforms of its classification weights; CLIP's of OpenAI's
 * release; Caffe's means of ILSVRC 2012 in BGR. */
static const IrPicturePreset presets[] = {
  { "imagenet", "ImageNet (torchvision)",
    "fit=crop,crop=0.875,scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225" },
  { "unit", "0 to 1", "scale=1/255" },
  { "signed", "−1 to 1", "scale=1/255,mean=0.5,std=0.5" },
  { "bytes", "0 to 255", "scale=1" },
  { "caffe", "Caffe (BGR, mean)", "fit=crop,channels=bgr,scale=1,mean=103.939:116.779:123.68" },
  { "clip", "CLIP",
    "fit=crop,scale=1/255,mean=0.48145466:0.4578275:0.40821073,"
    "std=0.26862954:0.26130258:0.27577711" },
  { "yolo", "YOLO (with a rim)", "fit=pad,pad=114,scale=1/255" },
};

typedef enum
{
  LAYOUT_BY_TYPE,
  LAYOUT_NCHW,
  LAYOUT_NHWC
} Layout;

typedef enum
{
  CHANNELS_RGB,
  CHANNELS_BGR,
  CHANNELS_GRAY
} Channels;

typedef struct
{
  IrPictureFit fit;
  Layout layout;
  Channels channels;
  double crop, pad, scale, mean[3], std[3];
  gint64 width, height; /* 0: not said */
  gboolean invert, grays;
} Settings;

/**
 * ir_picture_presets:
 * @n: (out): how many
 *
 * Returns: (transfer none) (array length=n): the table
 */
const IrPicturePreset *
ir_picture_presets (guint *n)
{
  *n = G_N_ELEMENTS (presets);
  return presets;
}

static const IrPicturePreset *
find_preset (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (presets); i++)
    if (strcmp (presets[i].name, name) == 0)
      return &presets[i];
  return NULL;
}

static gboolean refuse (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);

static gboolean
refuse (GError **error, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_propagate_error (error, g_error_new_valist (IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT, format, args));
  va_end (args);
  return FALSE;
}

/* -- settings -- */

/* "0.5", "1/255" */
static gboolean
read_number (const char *text, double *number)
{
  char *end = NULL;
  double over;

  *number = g_ascii_strtod (text, &end);
  if (end == text)
    return FALSE;
  if (*end == '/')
    {
      const char *below = end + 1;

      over = g_ascii_strtod (below, &end);
      if (end == below || over == 0)
        return FALSE;
      *number /= over;
    }
  return *end == '\0' && isfinite (*number);
}

/* One for all channels, or three. */
static gboolean
read_numbers (const char *text, double numbers[3])
{
  g_auto (GStrv) parts = g_strsplit (text, ":", -1);
  const guint n = g_strv_length (parts);

  for (guint i = 0; i < 3 && (n == 1 || n == 3); i++)
    if (!read_number (parts[n == 1 ? 0 : i], &numbers[i]))
      return FALSE;
  return n == 1 || n == 3;
}

static gboolean
read_word (const char *text, const char *const *words, int *found)
{
  for (*found = 0; words[*found] != NULL; (*found)++)
    if (strcmp (words[*found], text) == 0)
      return TRUE;
  return FALSE;
}

static gboolean
read_size (const char *text, Settings *settings)
{
  g_auto (GStrv) parts = g_strsplit (text, "x", -1);

  return g_strv_length (parts) == 2 &&
         g_ascii_string_to_signed (parts[0], 10, 1, 1 << 20, &settings->width, NULL) &&
         g_ascii_string_to_signed (parts[1], 10, 1, 1 << 20, &settings->height, NULL);
}

static gboolean
is_between (double number, double low, double high)
{
  return number >= low && number <= high;
}

static gboolean
read_deviations (const char *text, double std[3])
{
  return read_numbers (text, std) && std[0] > 0 && std[1] > 0 && std[2] > 0;
}

static gboolean read_settings (const char *text, Settings *settings, GError **error);

/* @needs: (out): what would mean something */
static gboolean
read_setting (const char *key, const char *text, Settings *settings, const char **needs)
{
  static const char *const fits[] = { "crop", "stretch", "pad", NULL };
  static const char *const layouts[] = { "auto", "nchw", "nhwc", NULL };
  static const char *const orders[] = { "rgb", "bgr", "gray", NULL };
  static const char *const answers[] = { "no", "yes", NULL };
  int word = 0;
  gboolean can;

  *needs = "numbers above 0, one or three with colons between";
  if (strcmp (key, "std") == 0)
    return read_deviations (text, settings->std);
  *needs = "numbers, one or three with colons between";
  if (strcmp (key, "mean") == 0)
    return read_numbers (text, settings->mean);
  *needs = "a number such as 1/255";
  if (strcmp (key, "scale") == 0)
    return read_number (text, &settings->scale);
  *needs = "a number above 0, at most 1";
  if (strcmp (key, "crop") == 0)
    return read_number (text, &settings->crop) && is_between (settings->crop, 1e-3, 1);
  *needs = "a number from 0 to 255";
  if (strcmp (key, "pad") == 0)
    return read_number (text, &settings->pad) && is_between (settings->pad, 0, 255);
  *needs = "WIDTHxHEIGHT, such as 224x224";
  if (strcmp (key, "size") == 0)
    return read_size (text, settings);
  *needs = "crop, stretch or pad";
  if (strcmp (key, "fit") == 0)
    {
      can = read_word (text, fits, &word);
      settings->fit = (IrPictureFit) word;
      return can;
    }
  *needs = "nchw or nhwc";
  if (strcmp (key, "layout") == 0)
    {
      can = read_word (text, layouts, &word);
      settings->layout = (Layout) word;
      return can;
    }
  *needs = "rgb, bgr or gray";
  if (strcmp (key, "channels") == 0)
    {
      can = read_word (text, orders, &word);
      settings->channels = (Channels) word;
      settings->grays = can && settings->channels == CHANNELS_GRAY;
      return can;
    }
  *needs = "yes or no";
  if (strcmp (key, "invert") == 0)
    {
      can = read_word (text, answers, &word);
      settings->invert = can && word == 1;
      return can;
    }
  *needs = NULL;
  return FALSE;
}

static gboolean
read_preset (const char *name, Settings *settings, GError **error)
{
  const IrPicturePreset *preset = find_preset (name);
  g_autoptr (GString) known = g_string_new (NULL);

  if (preset != NULL)
    return read_settings (preset->settings, settings, error);
  for (guint i = 0; i < G_N_ELEMENTS (presets); i++)
    g_string_append_printf (known, "%s%s", i > 0 ? ", " : "", presets[i].name);
  return refuse (error, "preset=%s: is none of %s", name, known->str);
}

/* @text: "key=value,key=value" */
static gboolean
read_settings (const char *text, Settings *settings, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);

  for (guint i = 0; parts[i] != NULL; i++)
    {
      char *equals = strchr (parts[i], '=');
      const char *needs = NULL;

      if (parts[i][0] == '\0' || g_str_has_prefix (parts[i], "preset="))
        continue;
      if (equals == NULL)
        return refuse (error, "'%s': needs KEY=VALUE", parts[i]);
      *equals = '\0';
      if (read_setting (parts[i], equals + 1, settings, &needs))
        continue;
      if (needs != NULL)
        return refuse (error, "%s=%s: needs %s", parts[i], equals + 1, needs);
      return refuse (error,
                     "%s=: is no setting of pictures; there are preset, fit, crop, pad, size, "
                     "layout, channels, scale, mean, std and invert",
                     parts[i]);
    }
  return TRUE;
}

/* The preset first, whatever its place. */
static gboolean
read_all_settings (const IrValue *input, const char *text, Settings *settings, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);
  const char *preset = ir_picture_preset_for (input)->name;

  *settings = (Settings){ .fit = IR_PICTURE_CROP, .crop = 1, .pad = 0, .scale = 1 };
  for (guint i = 0; i < 3; i++)
    settings->std[i] = 1;
  for (guint i = 0; parts[i] != NULL; i++)
    if (g_str_has_prefix (parts[i], "preset="))
      preset = parts[i] + strlen ("preset=");
  return read_preset (preset, settings, error) && read_settings (text, settings, error);
}

/**
 * ir_picture_path:
 * @text: a path, and settings behind commas
 * @settings: (out) (transfer none): the settings, in @text
 *
 * Paths may have commas: the longest that there is.
 *
 * Returns: (transfer full): the path
 */
char *
ir_picture_path (const char *text, const char **settings)
{
  char *path = g_strdup (text);

  for (char *comma = path + strlen (path); comma != NULL; comma = strrchr (path, ','))
    {
      *comma = '\0';
      if (g_file_test (path, G_FILE_TEST_IS_REGULAR))
        {
          *settings = text + strlen (path) + (text[strlen (path)] == ',');
          return path;
        }
    }
  *settings = strchr (text, ',') != NULL ? strchr (text, ',') + 1 : "";
  return path;
}

/* -- the input -- */

enum
{
  BATCH,
  CHANNEL,
  HEIGHT,
  WIDTH,
  N_PARTS
};

typedef struct
{
  gint64 sizes[N_PARTS]; /* 0: open */
  int axes[N_PARTS];     /* -1: none */
} Place;

static gboolean
is_channel_count (IrDim dim)
{
  return dim == 1 || dim == 3;
}

/* Where the type leaves it open. */
static Layout
layout_of (const IrType *type, Layout asked)
{
  const int first = type->rank == 4 ? 1 : 0, last = type->rank - 1;

  const IrDim front = type->dims[first], back = type->dims[last];

  if (asked != LAYOUT_BY_TYPE)
    return asked;
  if (front == 3 || back == 3) /* sides of so few pixels are rare */
    return front == 3 ? LAYOUT_NCHW : LAYOUT_NHWC;
  if (front == 1 || back == 1)
    return front == 1 ? LAYOUT_NCHW : LAYOUT_NHWC;
  return ir_dim_is_known (front) && !ir_dim_is_known (back) ? LAYOUT_NHWC : LAYOUT_NCHW;
}

static gboolean
find_place (const IrValue *input, const Settings *settings, Place *place, GError **error)
{
  const IrType *type = input->type;
  g_autofree char *text = type != NULL ? ir_type_to_string (input->graph->model->context, type)
                                       : g_strdup ("of no known type");

  if (type == NULL || !ir_type_is_tensor (type) || type->rank < 2 || type->rank > 4 ||
      !(ir_dtype_is_float (type->dtype) || ir_dtype_is_integer (type->dtype)))
    return refuse (error,
                   "input %s is %s; a picture needs a tensor of numbers with 2 to 4 dimensions",
                   input->name, text);
  const gboolean last = type->rank > 2 && layout_of (type, settings->layout) == LAYOUT_NHWC;
  const int at = type->rank == 4 ? 1 : 0;

  place->axes[BATCH] = type->rank == 4 ? 0 : -1;
  place->axes[CHANNEL] = type->rank == 2 ? -1 : last ? type->rank - 1 : at;
  place->axes[HEIGHT] = type->rank == 2 ? 0 : last ? at : at + 1;
  place->axes[WIDTH] = place->axes[HEIGHT] + 1;
  for (guint i = 0; i < N_PARTS; i++)
    {
      const IrDim dim = place->axes[i] >= 0 ? type->dims[place->axes[i]] : 1;

      place->sizes[i] = ir_dim_is_known (dim) ? dim : 0;
      if (dim == 0)
        return refuse (error, "input %s is %s, which has no elements", input->name, text);
    }
  if (place->sizes[CHANNEL] == 0)
    place->sizes[CHANNEL] = settings->grays ? 1 : 3;
  return is_channel_count (place->sizes[CHANNEL]) ||
         refuse (error,
                 "input %s is %s, with %" G_GINT64_FORMAT
                 " channels; a picture has 1 or 3, and layout= says where they are",
                 input->name, text, place->sizes[CHANNEL]);
}

/* A size that was asked for, or that nodes need; 0: none of these */
static gint64
free_size (const IrValue *input, int axis, GHashTable *bindings)
{
  g_autoptr (GArray) dims = ir_free_dims (input->graph->model, bindings);
  const IrDim dim = input->type->dims[axis];
  g_autofree char *name = dim == IR_DIM_UNKNOWN
                              ? ir_infer_dim_name (input, (guint) axis)
                              : ir_dim_to_string (input->graph->model->context, dim);

  for (guint i = 0; i < dims->len; i++)
    {
      const IrFreeDim *found = &g_array_index (dims, IrFreeDim, i);

      if (strcmp (found->name, name) == 0)
        return found->given || found->node != 0 ? found->size : 0;
    }
  return 0;
}

/* What the input leaves open is as asked for, else as the picture is. */
static gboolean
choose_sizes (const IrValue *input,
              GHashTable *sizes,
              const Settings *settings,
              const IrImage *image,
              Place *place,
              GError **error)
{
  const struct
  {
    const char *name;
    gint64 asked, own, *size;
    int axis;
  } sides[] = {
    { "wide", settings->width, image->width, &place->sizes[WIDTH], place->axes[WIDTH] },
    { "high", settings->height, image->height, &place->sizes[HEIGHT], place->axes[HEIGHT] },
  };

  for (guint i = 0; i < G_N_ELEMENTS (sides); i++)
    {
      gint64 *size = sides[i].size;

      if (*size > 0 && sides[i].asked > 0 && sides[i].asked != *size)
        return refuse (error,
                       "size=%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT
                       ": input %s takes pictures that are %" G_GINT64_FORMAT " %s",
                       settings->width, settings->height, input->name, *size, sides[i].name);
      if (*size == 0)
        *size = sides[i].asked;
      if (*size == 0)
        *size = free_size (input, sides[i].axis, sizes);
      if (*size == 0)
        *size = sides[i].own;
    }
  if (place->sizes[BATCH] == 0)
    place->sizes[BATCH] = MAX (free_size (input, place->axes[BATCH], sizes), 1);
  return TRUE;
}

/* -- pixels -- */

static gboolean
decode (const char *path, IrImage *image, GError **error)
{
  g_autofree char *data = NULL;
  gsize length;
  const char *format = NULL;
  g_autoptr (GError) why = NULL;

  *image = (IrImage){ 0 };
  if (!g_file_get_contents (path, &data, &length, &why))
    return g_error_matches (why, G_FILE_ERROR, G_FILE_ERROR_NOENT)
               ? refuse (error, "there is no file '%s'", path)
               : refuse (error, "%s", why->message);
  switch (ir_image_decode (data, length, ir_exec_default_memory_limit (), image, &format))
    {
    case IR_IMAGE_DECODED:
      break;
    case IR_IMAGE_ABSENT:
      return refuse (error, "%s is %s, which this build of irscope has no library for", path,
                     format);
    case IR_IMAGE_LARGE:
      return refuse (error, "%s: the picture does not fit into memory", path);
    case IR_IMAGE_DAMAGED:
    default:
      return refuse (error,
                     "%s: is no picture that can be read: BMP, JPEG, PNG, PNM, TIFF and WebP can",
                     path);
    }
  return ir_image_turn_upright (image) ||
         refuse (error, "%s: the picture does not fit into memory", path);
}

/* The part of the picture that @inner, a part of the input, shows. */
static void
find_boxes (const IrImage *image,
            const Settings *settings,
            const Place *place,
            IrImageBox *box,
            IrImageBox *inner)
{
  const double width = (double) place->sizes[WIDTH], height = (double) place->sizes[HEIGHT];
  const double by_width = width / (double) image->width;
  const double by_height = height / (double) image->height;
  const double cover = MAX (by_width, by_height) / settings->crop;
  const double contain = MIN (by_width, by_height);

  *inner = (IrImageBox){ 0, 0, width, height };
  *box = (IrImageBox){ 0, 0, (double) image->width, (double) image->height };
  if (settings->fit == IR_PICTURE_CROP)
    {
      box->width = width / cover;
      box->height = height / cover;
      box->x = ((double) image->width - box->width) / 2;
      box->y = ((double) image->height - box->height) / 2;
    }
  else if (settings->fit == IR_PICTURE_PAD)
    {
      inner->width = CLAMP (round ((double) image->width * contain), 1, width);
      inner->height = CLAMP (round ((double) image->height * contain), 1, height);
      inner->x = floor ((width - inner->width) / 2);
      inner->y = floor ((height - inner->height) / 2);
    }
}

/* [height, width, 3], 0 to 255, as large as the input. (transfer full) (nullable): no memory */
static float *
fit_picture (const IrImage *image, const Settings *settings, const Place *place)
{
  IrImageBox box, inner;
  float *pixels;

  find_boxes (image, settings, place, &box, &inner);
  const gsize width = (gsize) inner.width, height = (gsize) inner.height;
  g_autofree float *part = g_try_new (float, width *height * 3);
  if (part == NULL || !ir_image_resample (image, &box, (gint64) width, (gint64) height, part))
    return NULL;
  if (settings->fit != IR_PICTURE_PAD)
    return g_steal_pointer (&part);
  pixels = g_try_new (float, (gsize) (place->sizes[WIDTH] * place->sizes[HEIGHT] * 3));
  for (gsize i = 0; pixels != NULL && i < (gsize) (place->sizes[WIDTH] * place->sizes[HEIGHT] * 3);
       i++)
    pixels[i] = (float) settings->pad;
  for (gsize y = 0; pixels != NULL && y < height; y++)
    memcpy (pixels + (((gsize) inner.y + y) * (gsize) place->sizes[WIDTH] + (gsize) inner.x) * 3,
            part + y * width * 3, width * 3 * sizeof (float));
  return pixels;
}

/* Of the channel @c of the input, normalized. */
static double
pixel_value (const float *rgb, const Settings *settings, const Place *place, guint c)
{
  double pixel = settings->channels == CHANNELS_BGR ? rgb[2 - c] : rgb[c];

  if (place->sizes[CHANNEL] == 1) /* ITU-R BT.601 */
    pixel = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
  if (settings->invert)
    pixel = 255 - pixel;
  return (pixel * settings->scale - settings->mean[c]) / settings->std[c];
}

/* Integers are rounded, and clamped to what their type holds. */
static void
put_value (IrTensor *tensor, guint64 at, double value)
{
  const IrDtype dtype = ir_tensor_dtype (tensor);
  void *data = ir_tensor_data_writable (tensor);
  const int bits = ir_dtype_bits (dtype);
  const gboolean is_signed = ir_dtype_kind (dtype) == IR_DTYPE_KIND_SINT;
  const double most = ldexp (1, MIN (bits - is_signed, 53)) - 1;

  if (ir_dtype_is_float (dtype))
    ir_dtype_set_double (dtype, data, at, value);
  else
    ir_dtype_set_int64 (dtype, data, at,
                        (gint64) CLAMP (rint (value), is_signed ? -most - 1 : 0, most));
}

static void
put_pixels (IrTensor *tensor, const float *pixels, const Settings *settings, const Place *place)
{
  const gboolean last = place->axes[CHANNEL] > place->axes[HEIGHT];
  const guint64 n = (guint64) (place->sizes[WIDTH] * place->sizes[HEIGHT]);
  const guint64 n_channels = (guint64) place->sizes[CHANNEL];

  for (guint64 b = 0; b < (guint64) place->sizes[BATCH]; b++)
    for (guint64 i = 0; i < n; i++)
      for (guint64 c = 0; c < n_channels; c++)
        put_value (tensor, b * n * n_channels + (last ? i * n_channels + c : c * n + i),
                   pixel_value (pixels + i * 3, settings, place, (guint) c));
}

/**
 * ir_picture_preset_for:
 * @input: an input
 *
 * Returns: (transfer none): what pictures for such an input usually are: bytes for integers, ImageNet's
 *   normalization for three channels of floating-point numbers, else 0 to 1
 */
const IrPicturePreset *
ir_picture_preset_for (const IrValue *input)
{
  const IrType *type = input->type;
  const gboolean is_float = type == NULL || ir_dtype_is_float (ir_value_dtype (input));
  const int rank = type != NULL && ir_type_is_tensor (type) ? type->rank : 0;
  const gboolean has_three = rank >= 3 &&
                             (type->dims[rank == 4 ? 1 : 0] == 3 || type->dims[rank - 1] == 3);

  return find_preset (!is_float ? "bytes" : has_three ? "imagenet" : "unit");
}

/**
 * ir_picture_tensor:
 * @input: an input of 2 to 4 dims
 * @sizes: (nullable): name -> #gint64 *: sizes of free dims that are asked for
 * @text: a path, and settings behind commas
 * @error: return location for an error
 *
 * The picture as @input takes it: [N,C,H,W], [N,H,W,C] or the like, C being 1 or 3. Height and width
 * that the input leaves open are those asked for, else the picture's own; it is repeated in a batch.
 *
 * Fails with %IR_EXEC_ERROR_INPUT.
 *
 * Returns: (transfer full) (nullable): the contents
 */
IrTensor *
ir_picture_tensor (const IrValue *input, GHashTable *sizes, const char *text, GError **error)
{
  const char *words;
  g_autofree char *path = ir_picture_path (text, &words);
  g_autofree float *pixels = NULL;
  g_autoptr (IrTensor) tensor = NULL;
  IrImage image = { 0 };
  Settings settings;
  Place place = { 0 };
  gint64 dims[IR_MAX_RANK];

  if (!read_all_settings (input, words, &settings, error) ||
      !find_place (input, &settings, &place, error) || !decode (path, &image, error))
    return NULL;
  g_autofree guint8 *rgb = image.rgb;
  if (!choose_sizes (input, sizes, &settings, &image, &place, error))
    return NULL;
  for (guint i = 0; i < N_PARTS; i++)
    if (place.axes[i] >= 0)
      dims[place.axes[i]] = place.sizes[i];
  tensor = ir_tensor_new_alloc (ir_value_dtype (input), (guint) input->type->rank, dims, error);
  if (tensor == NULL)
    return NULL;
  pixels = fit_picture (&image, &settings, &place);
  if (pixels == NULL)
    {
      refuse (error, "%s: the picture does not fit into memory", path);
      return NULL;
    }
  put_pixels (tensor, pixels, &settings, &place);
  return g_steal_pointer (&tensor);
}
