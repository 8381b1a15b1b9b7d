/* Writes launches from templates: writer.h. */
#include "config.h"

#include "core/exec/gpu/writer.h"

#include <string.h>

const char gpu_unknown_shape[] = "a shape is not known before the run";
const char gpu_unknown_contents[] = "what another input holds is not known before the run";
const char gpu_no_element[] = "no GPU kernel takes its element type";
const char gpu_too_many[] = "it has more elements than a launch has threads";

void
gpu_writer_init (GpuWriter *w, IrGpuProgram *program, const IrCall *call, const char *family)
{
  *w = (GpuWriter){ .program = program,
                    .call = call,
                    .family = family,
                    .index = "unsigned int",
                    .words = g_ptr_array_new_with_free_func (g_free),
                    .parameters = g_string_new (NULL),
                    .arguments = g_string_new (NULL),
                    .declarations = g_string_new (NULL) };
}

void
gpu_writer_clear (GpuWriter *w)
{
  g_ptr_array_unref (w->words);
  g_string_free (w->parameters, TRUE);
  g_string_free (w->arguments, TRUE);
  g_string_free (w->declarations, TRUE);
}

const char *
gpu_refuse (GpuWriter *w, const char *why)
{
  if (w->why == NULL)
    w->why = why;
  return w->why;
}

/* -- words -- */

void
gpu_put_text (GpuWriter *w, const char *name, char *text)
{
  g_ptr_array_add (w->words, g_strdup (name));
  g_ptr_array_add (w->words, text);
}

void
gpu_put (GpuWriter *w, const char *name, const char *format, ...)
{
  va_list list;

  va_start (list, format);
  gpu_put_text (w, name, g_strdup_vprintf (format, list));
  va_end (list);
}

void
gpu_put_int (GpuWriter *w, const char *name, gint64 value)
{
  gpu_put (w, name, value < 0 ? "(%" G_GINT64_FORMAT ")" : "%" G_GINT64_FORMAT, value);
}

void
gpu_put_number (GpuWriter *w, const char *name, double value, const char *compute)
{
  gpu_put_text (w, name, gpu_number (value, g_str_equal (compute, "double")));
}

void
gpu_put_extent (GpuWriter *w, guint64 n)
{
  if (n > G_MAXINT32)
    w->index = "unsigned long long";
}

void
gpu_put_loop (GpuWriter *w, const char *name, const GpuLoop *loop, const char *index)
{
  GString *text = g_string_new (NULL);

  gpu_loop_print (loop, index, text);
  if (strlen (gpu_index_type (loop)) > strlen (w->index))
    w->index = gpu_index_type (loop);
  gpu_put_text (w, name, g_string_free (text, FALSE));
}

/* -- parameters -- */

static void
put_parameter (GpuWriter *w, const char *name, const char *type, IrGpuArgKind kind, guint slot)
{
  if (w->n_args == IR_GPU_MAX_ARGS)
    {
      gpu_refuse (w, "it has more operands than a kernel has parameters");
      return;
    }
  w->args[w->n_args++] = (IrGpuArg){ kind, slot };
  g_string_append_printf (w->parameters, "%s%s%s *%s", w->parameters->len > 0 ? ", " : "",
                          kind == IR_GPU_INPUT ? "const " : "", type, name);
}

static void
put_of (GpuWriter *w, const char *what, const char *name, const char *text)
{
  g_autofree char *whole = g_strconcat (what, "_", name, NULL);

  gpu_put_text (w, whole, g_strdup (text));
}

static const IrType *
type_of (const GpuWriter *w, IrGpuArgKind kind, guint slot)
{
  return kind == IR_GPU_INPUT ? ir_call_input_type (w->call, slot) : w->call->outputs[slot].type;
}

static const GpuElement *
put_operand (GpuWriter *w, const char *name, IrGpuArgKind kind, guint slot)
{
  const IrType *type = type_of (w, kind, slot);
  const GpuElement *element = type != NULL && ir_type_is_tensor (type) ? gpu_element (type->dtype)
                                                                       : NULL;

  if (element == NULL)
    {
      gpu_refuse (w, gpu_no_element);
      return NULL;
    }
  put_parameter (w, name, element->storage, kind, slot);
  put_of (w, "type", name, element->storage);
  put_of (w, "compute", name, element->compute);
  put_of (w, "load", name, element->load);
  put_of (w, "store", name, element->store);
  return element;
}

void
gpu_put_element (GpuWriter *w, const GpuElement *element)
{
  gpu_put (w, "compute", "%s", element->compute);
  gpu_put (w, "load", "%s", element->load);
  gpu_put (w, "store", "%s", element->store);
  gpu_put (w, "f", "%s", g_str_equal (element->compute, "double") ? "" : "f");
}

const GpuElement *
gpu_put_input (GpuWriter *w, const char *name, guint slot)
{
  return put_operand (w, name, IR_GPU_INPUT, slot);
}

const GpuElement *
gpu_put_output (GpuWriter *w, const char *name, guint slot)
{
  return put_operand (w, name, IR_GPU_OUTPUT, slot);
}

gboolean
gpu_put_moved (GpuWriter *w, const char *name, IrGpuArgKind kind, guint slot)
{
  const IrType *type = type_of (w, kind, slot);
  const char *word = type != NULL && ir_type_is_tensor (type) ? gpu_word (type->dtype) : NULL;

  if (word == NULL)
    {
      gpu_refuse (w, gpu_no_element);
      return FALSE;
    }
  put_parameter (w, name, word, kind, slot);
  put_of (w, "type", name, word);
  return TRUE;
}

void
gpu_put_fault (GpuWriter *w)
{
  put_parameter (w, "fault", "unsigned int", IR_GPU_FAULT, 0);
}

/* -- shapes -- */

static gboolean
shape_of (GpuWriter *w, const IrType *type, GpuShape *shape)
{
  if (!gpu_shape (type, shape))
    {
      gpu_refuse (w, gpu_unknown_shape);
      return FALSE;
    }
  gpu_put_extent (w, shape->n);
  return TRUE;
}

gboolean
gpu_shape_of_input (GpuWriter *w, guint slot, GpuShape *shape)
{
  return shape_of (w, ir_call_input_type (w->call, slot), shape);
}

gboolean
gpu_shape_of_output (GpuWriter *w, guint slot, GpuShape *shape)
{
  return shape_of (w, w->call->outputs[slot].type, shape);
}

/* -- launches -- */

void
gpu_put_part (GpuWriter *w, const char *name, const char *template_name)
{
  g_return_if_fail (w->n_parts < G_N_ELEMENTS (w->parts));
  w->parts[w->n_parts][0] = name;
  w->parts[w->n_parts++][1] = template_name;
}

void
gpu_put_expression (GpuWriter *w, const char *name, const char *compute, const char *expression)
{
  gpu_put_text (w, name, gpu_expression (w->call, compute, 0, expression));
}

#define DEPTH 3 /* of words in texts of words */

static void
fill_words (GpuWriter *w)
{
  for (guint depth = 0; depth < DEPTH; depth++)
    for (guint i = 1; i < w->words->len; i += 2)
      if (strchr (w->words->pdata[i], '$') != NULL)
        {
          char *filled = gpu_fill_text (w->words->pdata[i], w->words);
          g_free (w->words->pdata[i]);
          w->words->pdata[i] = filled;
        }
  for (guint i = 0; i < w->n_parts; i++)
    gpu_put_text (w, w->parts[i][0], gpu_fill_words (w->parts[i][1], w->words));
}

const char *
gpu_write (GpuWriter *w, const char *template_name, guint64 blocks, guint threads)
{
  IrGpuLaunch *launch;

  if (w->why != NULL || blocks == 0)
    return w->why;
  if (blocks > G_MAXINT32)
    return gpu_refuse (w, "it has more rows than a launch has blocks");
  gpu_put (w, "parameters", "%s", w->parameters->str);
  gpu_put (w, "arguments", "%s", w->arguments->str);
  gpu_put (w, "declarations", "%s", w->declarations->str);
  gpu_put (w, "index", "%s", w->index);
  gpu_put (w, "threads", "%uu", threads);
  gpu_put (w, "warps", "%uu", threads / 32);
  gpu_put_part (w, "each", "each");
  fill_words (w);
  launch = gpu_launch (w->program, w->family, gpu_fill_words (template_name, w->words), blocks,
                       threads);
  for (guint i = 0; i < w->n_args; i++)
    gpu_launch_arg (launch, w->args[i].kind, w->args[i].slot);
  return NULL;
}

const char *
gpu_write_each (GpuWriter *w, const char *template_name, guint64 n)
{
  guint64 blocks = gpu_blocks (n, GPU_THREADS);

  gpu_put_extent (w, n);
  gpu_put (w, "n", "%" G_GUINT64_FORMAT, n);
  return n > 0 && blocks == 0 ? gpu_refuse (w, gpu_too_many)
                              : gpu_write (w, template_name, blocks, GPU_THREADS);
}

const char *
gpu_write_rows (GpuWriter *w, const char *template_name, guint64 n_rows, guint64 n)
{
  gpu_put (w, "n", "%" G_GUINT64_FORMAT, n);
  return gpu_write (w, template_name, n_rows, (guint) CLAMP ((n + 31) / 32 * 32, 32, GPU_THREADS));
}
