/* A model as ONNX. Nodes are written in a valid order, elements as raw data by reference. Operators
 * of the domain "irscope" get their function bodies, so that any ONNX runtime runs what is written;
 * functions need IR version 8, overloads 10. */
#include "config.h"

#include "core/io/formats.h"
#include "core/io/onnx/onnx.h"
#include "core/op/op.h"

#include <string.h>

#define IR_DOMAIN        "irscope"
#define FIRST_BODY_OPSET 8

typedef struct
{
  IrWireWriter *out;
  IrModel *model;
  IrContext *context;
  IrDataFile *data_file;          /* (nullable) */
  gboolean all_types;             /* value_info for every value with a type */
  GHashTable *ops;                /* of const IrOp: operators of our domain in use */
  GPtrArray *bodies;              /* of IrModel: a function each */
  const IrOnnxTraining *training; /* (nullable) */
  gint64 body_opset; /* while bodies are written: version of ai.onnx in them; 0: their own */
} Writer;

static void write_graph (Writer *writer, const IrGraph *graph);

static void
put_props (Writer *writer, guint32 id, const IrProps *props)
{
  for (guint i = 0; props != NULL && i < props->n; i++)
    {
      IrWireMark mark = ir_wire_begin (writer->out, id);

      ir_wire_put_string (writer->out, 1, props->pairs[i].key);
      ir_wire_put_string (writer->out, 2, props->pairs[i].value);
      ir_wire_end (writer->out, mark);
    }
}

static void
put_extra (Writer *writer, guint32 doc_id, guint32 props_id, const IrExtra *extra)
{
  if (extra == NULL)
    return;
  ir_wire_put_string (writer->out, doc_id, extra->doc);
  put_props (writer, props_id, extra->props);
  ir_wire_put_raw (writer->out, extra->unknown);
}

static void
write_value_info (Writer *writer, guint32 id, const IrValue *value)
{
  IrWireMark mark = ir_wire_begin (writer->out, id);
  const IrType *type = ir_value_declared_type (value);

  ir_wire_put_string (writer->out, 1, value->name);
  if (type != NULL)
    ir_onnx_write_type (writer->out, 2, writer->context, type);
  put_extra (writer, 3, 4, value->extra);
  ir_wire_end (writer->out, mark);
}

/* -- attributes -- */

static void
write_attr_tensor (Writer *writer, guint32 id, const IrTensor *tensor)
{
  IrWireMark mark = ir_wire_begin (writer->out, id);

  if (ir_tensor_sparse_values (tensor) != NULL)
    ir_onnx_write_sparse_tensor (writer->out, tensor, NULL, writer->data_file);
  else
    ir_onnx_write_tensor (writer->out, tensor, NULL, writer->data_file);
  ir_wire_end (writer->out, mark);
}

static void
write_attr_graph (Writer *writer, guint32 id, guint32 graph_id)
{
  const IrGraph *graph = ir_model_graph (writer->model, graph_id);
  IrWireMark mark = ir_wire_begin (writer->out, id);

  if (graph != NULL)
    write_graph (writer, graph);
  ir_wire_end (writer->out, mark);
}

static void
write_attr_value (Writer *writer, const IrAttr *attr)
{
  static const guint8 field[IR_N_ATTR_KINDS] = {
    [IR_ATTR_STRING] = 4,         [IR_ATTR_TENSOR] = 5,          [IR_ATTR_GRAPH] = 6,
    [IR_ATTR_STRINGS] = 9,        [IR_ATTR_TENSORS] = 10,        [IR_ATTR_GRAPHS] = 11,
    [IR_ATTR_SPARSE_TENSOR] = 22, [IR_ATTR_SPARSE_TENSORS] = 23, [IR_ATTR_TYPE] = 14,
    [IR_ATTR_TYPES] = 15,
  };

  if (attr->kind == IR_ATTR_FLOATS)
    ir_wire_put_packed_floats (writer->out, 7, attr->floats, attr->n);
  else if (attr->kind == IR_ATTR_INTS)
    ir_wire_put_packed (writer->out, 8, attr->ints, attr->n);
  for (guint i = 0; i < attr->n; i++)
    switch (attr->kind)
      {
      case IR_ATTR_FLOAT:
        ir_wire_put_float (writer->out, 2, attr->floats[i]);
        break;
      case IR_ATTR_INT:
        ir_wire_put_varint (writer->out, 3, (guint64) attr->ints[i]);
        break;
      case IR_ATTR_STRING:
      case IR_ATTR_STRINGS:
        ir_wire_put_bytes (writer->out, field[attr->kind], attr->strings[i].data,
                           attr->strings[i].length);
        break;
      case IR_ATTR_TENSOR:
      case IR_ATTR_TENSORS:
      case IR_ATTR_SPARSE_TENSOR:
      case IR_ATTR_SPARSE_TENSORS:
        write_attr_tensor (writer, field[attr->kind], attr->tensors[i]);
        break;
      case IR_ATTR_GRAPH:
      case IR_ATTR_GRAPHS:
        write_attr_graph (writer, field[attr->kind], attr->graphs[i]);
        break;
      case IR_ATTR_TYPE:
      case IR_ATTR_TYPES:
        if (attr->types[i] != NULL)
          ir_onnx_write_type (writer->out, field[attr->kind], writer->context, attr->types[i]);
        break;
      case IR_ATTR_FLOATS:
      case IR_ATTR_INTS:
      case IR_ATTR_UNDEFINED:
      case IR_N_ATTR_KINDS:
        break;
      }
}

static void
write_attr (Writer *writer, guint32 id, const IrAttr *attr)
{
  IrWireMark mark = ir_wire_begin (writer->out, id);

  ir_wire_put_string (writer->out, 1, attr->name);
  if (attr->ref_name == NULL)
    write_attr_value (writer, attr);
  ir_wire_put_string (writer->out, 13, attr->doc);
  ir_wire_put_varint (writer->out, 20, attr->kind);
  ir_wire_put_string (writer->out, 21, attr->ref_name);
  ir_wire_put_raw (writer->out, attr->unknown);
  ir_wire_end (writer->out, mark);
}

/* -- nodes and graphs -- */

static void
put_names (Writer *writer, guint32 id, guint n, IrValue *const *values)
{
  for (guint i = 0; i < n; i++)
    {
      const char *name = values[i] != NULL ? values[i]->name : "";

      ir_wire_put_bytes (writer->out, id, name, strlen (name));
    }
}

static void
write_node (Writer *writer, guint32 id, const IrNode *node)
{
  IrWireMark mark = ir_wire_begin (writer->out, id);

  put_names (writer, 1, node->n_inputs, node->inputs);
  put_names (writer, 2, node->n_outputs, node->outputs);
  ir_wire_put_string (writer->out, 3, node->name);
  ir_wire_put_string (writer->out, 4, node->op_type);
  for (guint i = 0; i < node->n_attrs; i++)
    write_attr (writer, 5, node->attrs[i]);
  ir_wire_put_string (writer->out, 7, node->domain);
  ir_wire_put_string (writer->out, 8, node->overload);
  put_extra (writer, 6, 9, ir_node_extra_to_write (node));
  ir_wire_end (writer->out, mark);
}

/* In training it holds something else than in the beginning. */
static const IrTensor *
contents_of (const Writer *writer, const IrValue *value)
{
  const IrTensor *now = writer->training != NULL
                            ? g_hash_table_lookup (writer->training->tensors, value->name)
                            : NULL;

  return now != NULL ? now : value->initializer;
}

static void
write_initializer (Writer *writer, const IrValue *value)
{
  const IrTensor *tensor = contents_of (writer, value);
  gboolean sparse = ir_tensor_sparse_values (tensor) != NULL;
  IrWireMark mark = ir_wire_begin (writer->out, sparse ? 15 : 5);

  if (sparse)
    ir_onnx_write_sparse_tensor (writer->out, tensor, value->name, writer->data_file);
  else
    ir_onnx_write_tensor (writer->out, tensor, value->name, writer->data_file);
  ir_wire_end (writer->out, mark);
}

static gboolean
is_listed_value (Writer *writer, const IrValue *value)
{
  if (ir_value_is_graph_input (value) || ir_value_is_graph_output (value))
    return FALSE;
  if ((value->flags & IR_VALUE_DECLARED) != 0 || value->extra != NULL)
    return TRUE;
  return writer->all_types && ir_value_declared_type (value) != NULL && value->producer != NULL;
}

static void
write_graph_values (Writer *writer, const IrGraph *graph)
{
  guint n;
  IrValue *const *values = ir_graph_values (graph, &n);

  for (guint i = 0; i < n; i++)
    if (values[i]->initializer != NULL)
      write_initializer (writer, values[i]);
  for (guint i = 0; i < n; i++)
    if (is_listed_value (writer, values[i]))
      write_value_info (writer, 13, values[i]);
}

static gint64 version_to_write (const Writer *writer);

/* Before IR version 4 every initializer is an input too, and constant all the same; from then on
 * one that is an input may be overridden. So where a file gets a newer version than its model has,
 * its initializers stop being inputs, and where it stays old, new ones must become inputs. */
static void
write_inputs (Writer *writer, const IrGraph *graph)
{
  gboolean was_old = graph->kind == IR_GRAPH_MAIN && writer->model->info->ir_version < 4;
  gboolean is_old = graph->kind == IR_GRAPH_MAIN && version_to_write (writer) < 4;
  IrValue *const *values;
  guint n;

  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    {
      const IrValue *input = ir_graph_input (graph, i);

      if (!was_old || is_old || input->initializer == NULL)
        write_value_info (writer, 11, input);
    }
  values = ir_graph_values (graph, &n);
  for (guint i = 0; i < n && is_old; i++)
    if (values[i]->initializer != NULL && !ir_graph_has_input (graph, values[i]))
      write_value_info (writer, 11, values[i]);
}

static void
write_graph (Writer *writer, const IrGraph *graph)
{
  guint n;
  IrNode *const *order = ir_graph_order (graph, &n);

  for (guint i = 0; i < n; i++)
    write_node (writer, 1, order[i]);
  ir_wire_put_string (writer->out, 2, graph->name);
  write_graph_values (writer, graph);
  write_inputs (writer, graph);
  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    write_value_info (writer, 12, ir_graph_output (graph, i));
  put_extra (writer, 10, 16, graph->extra);
}

/* -- functions and model -- */

static void
write_opset (Writer *writer, guint32 id, const char *domain, gint64 version)
{
  IrWireMark mark = ir_wire_begin (writer->out, id);

  ir_wire_put_bytes (writer->out, 1, domain, strlen (domain));
  ir_wire_put_varint (writer->out, 2, (guint64) version);
  ir_wire_end (writer->out, mark);
}

static void
put_value_names (Writer *writer, guint32 id, const IrGraph *graph, const IrIdList *ids)
{
  for (guint i = 0; ids != NULL && i < ids->n; i++)
    {
      const IrValue *value = ir_model_value (graph->model, ids->ids[i]);

      ir_wire_put_bytes (writer->out, id, value->name, strlen (value->name));
    }
}

static void
write_function_values (Writer *writer, const IrGraph *graph)
{
  guint n;
  IrValue *const *values = ir_graph_values (graph, &n);

  for (guint i = 0; i < n; i++)
    if ((values[i]->flags & IR_VALUE_DECLARED) != 0 || values[i]->extra != NULL ||
        (writer->all_types && ir_value_declared_type (values[i]) != NULL))
      write_value_info (writer, 12, values[i]);
}

static void
write_function (Writer *writer, const IrGraph *graph)
{
  const IrFunctionInfo *info = graph->function;
  IrWireMark mark = ir_wire_begin (writer->out, 25);
  IrNode *const *order;
  guint n;

  ir_wire_put_string (writer->out, 1, info->name);
  put_value_names (writer, 4, graph, graph->inputs);
  put_value_names (writer, 5, graph, graph->outputs);
  for (guint i = 0; i < info->n_attr_names; i++)
    ir_wire_put_string (writer->out, 6, info->attr_names[i]);
  order = ir_graph_order (graph, &n);
  for (guint i = 0; i < n; i++)
    write_node (writer, 7, order[i]);
  for (guint i = 0; info->opsets != NULL && i < info->opsets->n; i++)
    {
      const IrOpset *opset = &info->opsets->opsets[i];
      gboolean adapt = writer->body_opset != 0 && opset->domain[0] == '\0';

      write_opset (writer, 9, opset->domain, adapt ? writer->body_opset : opset->version);
    }
  ir_wire_put_string (writer->out, 10, info->domain);
  for (guint i = 0; i < info->n_attr_defaults; i++)
    write_attr (writer, 11, info->attr_defaults[i]);
  write_function_values (writer, graph);
  ir_wire_put_string (writer->out, 13, info->overload);
  put_extra (writer, 8, 14, graph->extra);
  ir_wire_end (writer->out, mark);
}

/* -- bodies of our own operators -- */

static gboolean
add_body (Writer *writer, const IrOp *op, GError **error)
{
  IrModel *body;

  if (!g_hash_table_add (writer->ops, (gpointer) op) ||
      ir_model_find_function (writer->model, IR_DOMAIN, op->name, "") != NULL)
    return TRUE;
  body = ir_function_from_text (op->body, op->domain, op->name, error);
  if (body == NULL)
    return FALSE;
  g_ptr_array_add (writer->bodies, body);
  return TRUE;
}

static gboolean
add_bodies_of (Writer *writer, const IrModel *model, GError **error)
{
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];

      if (node != NULL && node->state == IR_STATE_LIVE && node->op != NULL &&
          node->op->body != NULL && strcmp (node->domain, IR_DOMAIN) == 0 &&
          !add_body (writer, node->op, error))
        return FALSE;
    }
  return TRUE;
}

/* Bodies may use each other, so the list grows while it is walked. */
static gboolean
collect_bodies (Writer *writer, GError **error)
{
  if (!add_bodies_of (writer, writer->model, error))
    return FALSE;
  for (guint i = 0; i < writer->bodies->len; i++)
    if (!add_bodies_of (writer, writer->bodies->pdata[i], error))
      return FALSE;
  return TRUE;
}

static gint64
version_to_write (const Writer *writer)
{
  gint64 version = writer->model->info->ir_version;

  if (writer->bodies->len > 0)
    version = MAX (version, 8);
  for (guint i = 1; i < writer->model->graphs->len; i++)
    {
      const IrGraph *graph = writer->model->graphs->pdata[i];

      if (graph != NULL && graph->state == IR_STATE_LIVE && graph->kind == IR_GRAPH_FUNCTION)
        version = MAX (version,
                       graph->function != NULL && graph->function->overload[0] != '\0' ? 10 : 8);
    }
  return version;
}

static void
write_head (Writer *writer)
{
  const IrModelInfo *info = writer->model->info;
  const IrOpsets *opsets = writer->model->opsets;

  ir_wire_put_varint (writer->out, 1, (guint64) version_to_write (writer));
  ir_wire_put_string (writer->out, 2, info->producer_name);
  ir_wire_put_string (writer->out, 3, info->producer_version);
  ir_wire_put_string (writer->out, 4, info->domain);
  if (info->model_version != 0)
    ir_wire_put_varint (writer->out, 5, (guint64) info->model_version);
  for (guint i = 0; i < opsets->n; i++)
    write_opset (writer, 8, opsets->opsets[i].domain, opsets->opsets[i].version);
  if (writer->bodies->len > 0 && ir_model_opset (writer->model, IR_DOMAIN) == 0)
    write_opset (writer, 8, IR_DOMAIN, 1);
  put_extra (writer, 6, 14, &info->extra);
}

static void
write_functions (Writer *writer, IrModel *model)
{
  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];

      if (graph != NULL && graph->state == IR_STATE_LIVE && graph->kind == IR_GRAPH_FUNCTION &&
          graph->function != NULL)
        write_function (writer, graph);
    }
}

/* TrainingInfoProto: algorithm 2, update_binding 4. */
static void
write_training (Writer *writer)
{
  const IrOnnxTraining *training = writer->training;
  IrModel *model = writer->model;
  IrWireMark info, mark;

  if (training == NULL)
    return;
  info = ir_wire_begin (writer->out, 20);
  mark = ir_wire_begin (writer->out, 2);
  writer->model = training->algorithm;
  writer->context = writer->model->context;
  write_graph (writer, writer->model->main);
  writer->model = model;
  writer->context = model->context;
  ir_wire_end (writer->out, mark);
  for (guint i = 0; i < training->n_bindings; i++)
    {
      mark = ir_wire_begin (writer->out, 4);
      ir_wire_put_string (writer->out, 1, training->bindings[2 * i]);
      ir_wire_put_string (writer->out, 2, training->bindings[2 * i + 1]);
      ir_wire_end (writer->out, mark);
    }
  ir_wire_end (writer->out, info);
}

static void
write_model (Writer *writer)
{
  IrWireMark mark;

  write_head (writer);
  mark = ir_wire_begin (writer->out, 7);
  write_graph (writer, writer->model->main);
  ir_wire_end (writer->out, mark);
  write_training (writer);
  write_functions (writer, writer->model);
  /* Runtimes want one version of ai.onnx in model and functions. The operators that bodies use mean
     the same from 8 on: Max and Min broadcast since then. */
  if (ir_model_opset (writer->model, "") >= FIRST_BODY_OPSET)
    writer->body_opset = ir_model_opset (writer->model, "");
  for (guint i = 0; i < writer->bodies->len; i++)
    {
      IrModel *model = writer->model;

      writer->model = writer->bodies->pdata[i];
      writer->context = writer->model->context;
      write_functions (writer, writer->model);
      writer->model = model;
      writer->context = model->context;
    }
}

/* @training: (nullable) */
static gboolean
write_with (IrModel *model,
            const IrOnnxTraining *training,
            IrWireWriter *out,
            IrDataFile *data_file,
            gboolean all_types,
            GError **error)
{
  g_autoptr (GHashTable) ops = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) bodies = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_model_unref);
  Writer writer = { .out = out,
                    .model = model,
                    .context = model->context,
                    .data_file = data_file,
                    .all_types = all_types,
                    .ops = ops,
                    .bodies = bodies,
                    .training = training };

  if (!collect_bodies (&writer, error))
    return FALSE;
  write_model (&writer);
  return TRUE;
}

/**
 * ir_onnx_write:
 * @model: a model
 * @out: an empty writer
 * @data_file: (nullable): takes the bytes of large tensors
 * @all_types: declare the type of every value, also of those that the file did not
 * @error: return location for an error
 *
 * Writes @model as a ModelProto that means the same.
 *
 * Returns: %TRUE if it is written
 */
gboolean
ir_onnx_write (
    IrModel *model, IrWireWriter *out, IrDataFile *data_file, gboolean all_types, GError **error)
{
  return write_with (model, NULL, out, data_file, all_types, error);
}

/**
 * ir_onnx_write_bytes:
 * @model: a model
 * @error: return location for an error
 *
 * Fails with %IR_IO_ERROR_LIMIT if the message would be longer than the 2 GiB that protobuf allows.
 *
 * Returns: (transfer full) (nullable): a ModelProto with all of its tensors
 */
GBytes *
ir_onnx_write_bytes (IrModel *model, GError **error)
{
  IrWireWriter writer;

  ir_wire_writer_init (&writer);
  if (!ir_onnx_write (model, &writer, NULL, FALSE, error))
    {
      ir_wire_writer_clear (&writer);
      return NULL;
    }
  if (!ir_wire_writer_fits (&writer, "The model",
                            "save it to a file, which puts its weights beside it", error))
    {
      ir_wire_writer_clear (&writer);
      return NULL;
    }
  return ir_wire_writer_steal_bytes (&writer);
}

static gboolean
stream_model (GOutputStream *stream, gpointer user_data, GError **error)
{
  return ir_wire_writer_to_stream (user_data, stream, error);
}

/* Too large for one message: the weights go into a file beside. The first time the model is written
 * to know the name of that file, which is that of its contents. */
static gboolean
write_again (IrModel *model,
             const IrOnnxTraining *training,
             IrWireWriter *writer,
             IrDataFile *data_file,
             GError **error)
{
  for (guint i = 0; i < 2; i++)
    {
      ir_data_file_name (data_file);
      ir_wire_writer_clear (writer);
      ir_wire_writer_init (writer);
      if (!write_with (model, training, writer, data_file, FALSE, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
save (IrModel *model, const IrOnnxTraining *training, const char *path, GError **error)
{
  IrDataFile data_file;
  IrWireWriter writer;
  gboolean ok;

  ir_data_file_init (&data_file, path);
  ir_wire_writer_init (&writer);
  ok = write_with (model, training, &writer, NULL, FALSE, error);
  if (ok && !ir_wire_writer_fits (&writer, "", "", NULL))
    ok = write_again (model, training, &writer, &data_file, error) &&
         ir_wire_writer_fits (&writer, "The model without its weights",
                              "save it as JSON or as ONNX text", error);
  ok = ok && ir_data_file_save (&data_file, path, stream_model, &writer, error);
  ir_wire_writer_clear (&writer);
  ir_data_file_clear (&data_file);
  return ok;
}

/**
 * ir_onnx_write_file:
 * @model: a model
 * @path: where to
 * @cancellable: (nullable): not polled: a file takes a tenth of a second
 * @error: return location for an error
 *
 * Writes the file atomically, weights straight from the mapped file that they came from. Models of
 * more than 2 GiB get their weights in a file beside (ir_data_file_save()).
 *
 * Returns: %TRUE if it is written
 */
gboolean
ir_onnx_write_file (IrModel *model, const char *path, GCancellable *cancellable, GError **error)
{
  return save (model, NULL, path, error);
}

/**
 * ir_onnx_save_training:
 * @model: the network, as it is used
 * @training: how it is trained, and the states of that
 * @path: where to
 * @error: return location for an error
 *
 * Writes both as one file, atomically: a plain model with a TrainingInfoProto, which runtimes pass
 * over. What is said of large models in ir_onnx_write_file() holds for the states too.
 *
 * Returns: %TRUE if it is written
 */
gboolean
ir_onnx_save_training (IrModel *model,
                       const IrOnnxTraining *training,
                       const char *path,
                       GError **error)
{
  return save (model, training, path, error);
}
