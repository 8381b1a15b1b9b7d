/* Saving and replaying a session. The file is
 *
 *   bytes          what
 *   0 .. 7         "irscope" and the version of the format, one byte
 *   8 .. 15        size of the description in bytes, little-endian
 *   16 ..          the description, one GVariant
 *   next 64 n ..   elements of the tensors that the steps made, each at a multiple of 64
 *
 * so that large tensors are neither copied nor looked at when it is read. The description: tables
 * of the immutable payloads that records hold (strings, types, tensors, attributes …), the nodes,
 * values and graphs that steps create, as they are at birth, and the records with only what each
 * one writes.
 *
 * What a record undoes is not stored: replaying it reads that from the model. So whatever the file
 * says, a state that was replayed can be left again; and every record is checked against the model
 * before it is applied. A file for another model is refused by the fingerprint of step 0. */
#include "config.h"

#include "core/ir/dump.h"
#include "core/ir/log-private.h"
#include "core/ir/model-private.h"
#include "core/op/op.h"

#include <gio/gio.h>
#include <string.h>

#define MAGIC        "irscope\1"
#define HEADER_BYTES 16
#define BLOB_ALIGN   64

#define TYPE_STRINGS "aay"
#define TYPE_TYPE                                                                                  \
  "(yinuauasav)" /* kind, dtype, rank, denotation, dim denotations, dims, element                  \
                  */
#define TYPE_TENSOR   "(uyaxttaayau)" /* imported value or 0, dtype, dims, place, strings, sparse */
#define TYPE_ATTR     "(uiuumayv)"
#define TYPE_EXTRA    "(umayma(uu))"
#define TYPE_OPSETS   "a(ux)"
#define TYPE_INFO     "(xuuuxumayma(uu))"
#define TYPE_FUNCTION "(uuuauauu)"
#define TYPE_GRAPH    "(yu)"
#define TYPE_NODE     "(uuuuuuutauau)"
#define TYPE_VALUE    "(uuuuu)"
#define TYPE_RECORD   "(yuut)"
#define TYPE_COST     "(tttu)"
#define TYPE_PROOF    "(iddtduxu)"
#define TYPE_STEP     "(uiuuuuxx" TYPE_COST TYPE_COST "a(uu)a(uu)" TYPE_PROOF ")"
#define TYPE_PASS_RUN "(uuuuux)"
#define TYPE_REFUSAL  "(uuuu)"
#define TYPE_TABLES                                                                                \
  "(" TYPE_STRINGS "a" TYPE_TYPE "a" TYPE_TENSOR "a" TYPE_ATTR "a" TYPE_EXTRA "aau"                \
  "a" TYPE_OPSETS "a(uuu)a" TYPE_INFO "a" TYPE_FUNCTION ")"
#define TYPE_BIRTHS "(uuua" TYPE_GRAPH "a" TYPE_NODE "a" TYPE_VALUE ")"
#define TYPE_LOG    "(ua" TYPE_RECORD "a" TYPE_STEP "a" TYPE_PASS_RUN "a" TYPE_REFUSAL ")"
#define TYPE_FILE   "(t" TYPE_TABLES TYPE_BIRTHS TYPE_LOG ")"

/* Refuses what no session could be, before memory is spent on it. */
#define MAX_TYPE_DEPTH 16
#define MAX_SLOTS      (1u << 20)
#define MAX_OBJECTS    (1u << 28)

typedef enum
{
  TABLE_STRINGS,
  TABLE_TYPES,
  TABLE_TENSORS,
  TABLE_ATTRS,
  TABLE_EXTRAS,
  TABLE_IDS,
  TABLE_OPSETS,
  TABLE_OPS,
  TABLE_INFOS,
  TABLE_FUNCTIONS,
  N_TABLES
} Table;

/* -- saving -- */

typedef struct
{
  IrModel *model;
  GHashTable *places[N_TABLES]; /* payload -> index + 1 */
  GVariantBuilder rows[N_TABLES];
  GHashTable *imported_tensors; /* tensor -> id of an imported value that has it */
  GPtrArray *blobs;             /* of GBytes */
  gsize blobs_end;              /* where the next one goes, from the first */
} Saver;

static guint32
place_of (Saver *saver, Table table, gconstpointer payload)
{
  return GPOINTER_TO_UINT (g_hash_table_lookup (saver->places[table], payload));
}

static guint32
add_row (Saver *saver, Table table, gconstpointer payload, GVariant *row)
{
  guint32 place = g_hash_table_size (saver->places[table]) + 1;

  g_variant_builder_add_value (&saver->rows[table], row);
  g_hash_table_insert (saver->places[table], (gpointer) payload, GUINT_TO_POINTER (place));
  return place;
}

static GVariant *
bytes_variant (GBytes *bytes)
{
  return g_variant_new_from_bytes (G_VARIANT_TYPE_BYTESTRING, bytes, TRUE);
}

static GVariant *
maybe_bytes_variant (GBytes *bytes)
{
  return g_variant_new_maybe (G_VARIANT_TYPE_BYTESTRING,
                              bytes != NULL ? bytes_variant (bytes) : NULL);
}

static guint32
put_string (Saver *saver, const char *string)
{
  guint32 place = string != NULL ? place_of (saver, TABLE_STRINGS, string) : 0;

  if (place == 0 && string != NULL)
    place = add_row (saver, TABLE_STRINGS, string, g_variant_new_bytestring (string));
  return place;
}

static GVariant *
type_variant (Saver *saver, const IrType *type)
{
  GVariantBuilder names, dims, element;

  g_variant_builder_init (&names, G_VARIANT_TYPE ("au"));
  g_variant_builder_init (&dims, G_VARIANT_TYPE ("as"));
  g_variant_builder_init (&element, G_VARIANT_TYPE ("av"));
  for (int i = 0; i < type->rank; i++)
    {
      g_autofree char *text = ir_dim_to_string (saver->model->context, type->dims[i]);
      g_autofree char *valid = g_utf8_make_valid (text, -1);
      g_variant_builder_add (&dims, "s", valid);
      if (type->dim_denotations != NULL)
        g_variant_builder_add (&names, "u", put_string (saver, type->dim_denotations[i]));
    }
  if (type->element != NULL)
    g_variant_builder_add (&element, "v", type_variant (saver, type->element));
  return g_variant_new ("(yinu@au@as@av)", (guchar) type->kind, (gint32) type->dtype,
                        (gint16) type->rank, put_string (saver, type->denotation),
                        g_variant_builder_end (&names), g_variant_builder_end (&dims),
                        g_variant_builder_end (&element));
}

static guint32
put_type (Saver *saver, const IrType *type)
{
  guint32 place = type != NULL ? place_of (saver, TABLE_TYPES, type) : 0;

  if (place == 0 && type != NULL)
    place = add_row (saver, TABLE_TYPES, type, type_variant (saver, type));
  return place;
}

static gsize
align_blob (gsize offset)
{
  return (offset + BLOB_ALIGN - 1) / BLOB_ALIGN * BLOB_ALIGN;
}

static guint64
put_blob (Saver *saver, GBytes *bytes)
{
  gsize place = saver->blobs_end;

  g_ptr_array_add (saver->blobs, g_bytes_ref (bytes));
  saver->blobs_end = align_blob (place + g_bytes_get_size (bytes));
  return place;
}

static guint32 put_tensor (Saver *saver, const IrTensor *tensor);

static GVariant *
tensor_variant (Saver *saver, const IrTensor *tensor)
{
  GVariantBuilder strings, parts;
  GBytes *bytes = ir_tensor_bytes (tensor);
  guint64 place = 0;
  gpointer imported = g_hash_table_lookup (saver->imported_tensors, tensor);

  g_variant_builder_init (&strings, G_VARIANT_TYPE ("aay"));
  g_variant_builder_init (&parts, G_VARIANT_TYPE ("au"));
  if (imported != NULL)
    bytes = NULL;
  else if (ir_tensor_sparse_values (tensor) != NULL)
    {
      g_variant_builder_add (&parts, "u", put_tensor (saver, ir_tensor_sparse_values (tensor)));
      g_variant_builder_add (&parts, "u", put_tensor (saver, ir_tensor_sparse_indices (tensor)));
    }
  else if (ir_tensor_dtype (tensor) == IR_DTYPE_STRING)
    for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
      g_variant_builder_add (&strings, "@ay", bytes_variant (ir_tensor_string (tensor, i)));
  if (bytes != NULL)
    place = put_blob (saver, bytes);
  return g_variant_new ("(uy@axtt@aay@au)", GPOINTER_TO_UINT (imported),
                        (guchar) ir_tensor_dtype (tensor),
                        g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, ir_tensor_dims (tensor),
                                                   ir_tensor_rank (tensor), sizeof (gint64)),
                        place, (guint64) (bytes != NULL ? g_bytes_get_size (bytes) : 0),
                        g_variant_builder_end (&strings), g_variant_builder_end (&parts));
}

static guint32
put_tensor (Saver *saver, const IrTensor *tensor)
{
  guint32 place = tensor != NULL ? place_of (saver, TABLE_TENSORS, tensor) : 0;

  if (place == 0 && tensor != NULL)
    {
      GVariant *row = tensor_variant (saver, tensor); /* adds its parts first */
      place = add_row (saver, TABLE_TENSORS, tensor, row);
    }
  return place;
}

static GVariant *
attr_elements (Saver *saver, const IrAttr *attr)
{
  GVariantBuilder builder;

  switch (attr->kind)
    {
    case IR_ATTR_FLOAT:
    case IR_ATTR_FLOATS: /* as bits: NaN payloads and -0 are kept */
      return g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, attr->floats, attr->n,
                                        sizeof (guint32));
    case IR_ATTR_INT:
    case IR_ATTR_INTS:
      return g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, attr->ints, attr->n, sizeof (gint64));
    case IR_ATTR_GRAPH:
    case IR_ATTR_GRAPHS:
      return g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, attr->graphs, attr->n,
                                        sizeof (guint32));
    case IR_ATTR_STRING:
    case IR_ATTR_STRINGS:
      g_variant_builder_init (&builder, G_VARIANT_TYPE ("aay"));
      for (guint i = 0; i < attr->n; i++)
        g_variant_builder_add_value (
            &builder, g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, attr->strings[i].data,
                                                 attr->strings[i].length, 1));
      return g_variant_builder_end (&builder);
    case IR_ATTR_TENSOR:
    case IR_ATTR_TENSORS:
    case IR_ATTR_SPARSE_TENSOR:
    case IR_ATTR_SPARSE_TENSORS:
    case IR_ATTR_TYPE:
    case IR_ATTR_TYPES:
    case IR_ATTR_UNDEFINED:
    case IR_N_ATTR_KINDS:
    default:
      g_variant_builder_init (&builder, G_VARIANT_TYPE ("au"));
      for (guint i = 0; i < attr->n; i++)
        g_variant_builder_add (&builder, "u",
                               attr->kind == IR_ATTR_TYPE || attr->kind == IR_ATTR_TYPES
                                   ? put_type (saver, attr->types[i])
                                   : put_tensor (saver, attr->tensors[i]));
      return g_variant_builder_end (&builder);
    }
}

static guint32
put_attr (Saver *saver, const IrAttr *attr)
{
  guint32 place = attr != NULL ? place_of (saver, TABLE_ATTRS, attr) : 0;

  if (place == 0 && attr != NULL)
    {
      GVariant *row = g_variant_new (
          "(uiuu@may@v)", put_string (saver, attr->name), (gint32) attr->kind,
          put_string (saver, attr->ref_name), put_string (saver, attr->doc),
          maybe_bytes_variant (attr->unknown), g_variant_new_variant (attr_elements (saver, attr)));
      place = add_row (saver, TABLE_ATTRS, attr, row);
    }
  return place;
}

static GVariant *
props_variant (Saver *saver, const IrProps *props)
{
  GVariantBuilder pairs;

  if (props == NULL)
    return g_variant_new_maybe (G_VARIANT_TYPE ("a(uu)"), NULL);
  g_variant_builder_init (&pairs, G_VARIANT_TYPE ("a(uu)"));
  for (guint i = 0; i < props->n; i++)
    g_variant_builder_add (&pairs, "(uu)", put_string (saver, props->pairs[i].key),
                           put_string (saver, props->pairs[i].value));
  return g_variant_new_maybe (NULL, g_variant_builder_end (&pairs));
}

static guint32
put_extra (Saver *saver, const IrExtra *extra)
{
  guint32 place = extra != NULL ? place_of (saver, TABLE_EXTRAS, extra) : 0;

  if (place == 0 && extra != NULL)
    {
      GVariant *row = g_variant_new ("(u@may@ma(uu))", put_string (saver, extra->doc),
                                     maybe_bytes_variant (extra->unknown),
                                     props_variant (saver, extra->props));
      place = add_row (saver, TABLE_EXTRAS, extra, row);
    }
  return place;
}

static guint32
put_ids (Saver *saver, const IrIdList *list)
{
  guint32 place = list != NULL ? place_of (saver, TABLE_IDS, list) : 0;

  if (place == 0 && list != NULL)
    place = add_row (
        saver, TABLE_IDS, list,
        g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, list->ids, list->n, sizeof (guint32)));
  return place;
}

static guint32
put_opsets (Saver *saver, const IrOpsets *opsets)
{
  guint32 place = opsets != NULL ? place_of (saver, TABLE_OPSETS, opsets) : 0;
  GVariantBuilder builder;

  if (place != 0 || opsets == NULL)
    return place;
  g_variant_builder_init (&builder, G_VARIANT_TYPE (TYPE_OPSETS));
  for (guint i = 0; i < opsets->n; i++)
    g_variant_builder_add (&builder, "(ux)", put_string (saver, opsets->opsets[i].domain),
                           opsets->opsets[i].version);
  return add_row (saver, TABLE_OPSETS, opsets, g_variant_builder_end (&builder));
}

static guint32
put_op (Saver *saver, const IrOpName *name)
{
  guint32 place = place_of (saver, TABLE_OPS, name);

  if (place == 0)
    {
      GVariant *row = g_variant_new ("(uuu)", put_string (saver, name->op_type),
                                     put_string (saver, name->domain),
                                     put_string (saver, name->overload));
      place = add_row (saver, TABLE_OPS, name, row);
    }
  return place;
}

static guint32
put_info (Saver *saver, const IrModelInfo *info)
{
  guint32 place = place_of (saver, TABLE_INFOS, info);

  if (place == 0)
    {
      GVariant *row = g_variant_new (
          "(xuuuxu@may@ma(uu))", info->ir_version, put_string (saver, info->producer_name),
          put_string (saver, info->producer_version), put_string (saver, info->domain),
          info->model_version, put_string (saver, info->extra.doc),
          maybe_bytes_variant (info->extra.unknown), props_variant (saver, info->extra.props));
      place = add_row (saver, TABLE_INFOS, info, row);
    }
  return place;
}

static guint32
put_function (Saver *saver, const IrFunctionInfo *info)
{
  guint32 place = info != NULL ? place_of (saver, TABLE_FUNCTIONS, info) : 0;
  GVariantBuilder names, defaults;
  GVariant *row;

  if (place != 0 || info == NULL)
    return place;
  g_variant_builder_init (&names, G_VARIANT_TYPE ("au"));
  g_variant_builder_init (&defaults, G_VARIANT_TYPE ("au"));
  for (guint i = 0; i < info->n_attr_names; i++)
    g_variant_builder_add (&names, "u", put_string (saver, info->attr_names[i]));
  for (guint i = 0; i < info->n_attr_defaults; i++)
    g_variant_builder_add (&defaults, "u", put_attr (saver, info->attr_defaults[i]));
  row = g_variant_new ("(uuu@au@auu)", put_string (saver, info->domain),
                       put_string (saver, info->name), put_string (saver, info->overload),
                       g_variant_builder_end (&names), g_variant_builder_end (&defaults),
                       put_opsets (saver, info->opsets));
  return add_row (saver, TABLE_FUNCTIONS, info, row);
}

static guint64
put_payload (Saver *saver, IrRecordKind kind, IrSlotValue value)
{
  switch (ir_record_payload (kind))
    {
    case IR_PAYLOAD_NUMBER:
    case IR_PAYLOAD_STATE:
    case IR_PAYLOAD_VALUE:
    case IR_PAYLOAD_GRAPH:
      return value.number;
    case IR_PAYLOAD_STRING:
      return put_string (saver, value.pointer);
    case IR_PAYLOAD_ATTR:
      return put_attr (saver, value.pointer);
    case IR_PAYLOAD_TYPE:
      return put_type (saver, value.pointer);
    case IR_PAYLOAD_TENSOR:
      return put_tensor (saver, value.pointer);
    case IR_PAYLOAD_IDS:
      return put_ids (saver, value.pointer);
    case IR_PAYLOAD_EXTRA:
      return put_extra (saver, value.pointer);
    case IR_PAYLOAD_OP:
      return put_op (saver, value.pointer);
    case IR_PAYLOAD_OPSETS:
      return put_opsets (saver, value.pointer);
    case IR_PAYLOAD_INFO:
      return put_info (saver, value.pointer);
    case IR_PAYLOAD_FUNCTION:
      return put_function (saver, value.pointer);
    default:
      return 0;
    }
}

static GVariant *
links_variant (IrValue *const *values, guint n)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("au"));
  for (guint i = 0; i < n; i++)
    g_variant_builder_add (&builder, "u", values[i] != NULL ? values[i]->id : 0);
  return g_variant_builder_end (&builder);
}

/* What the steps create, as it is before its birth: the model stands at step 0. */
static GVariant *
births_variant (Saver *saver)
{
  const IrModel *model = saver->model;
  const IrLog *log = model->log;
  GVariantBuilder graphs, nodes, values;
  guint first_graph = log->n_imported_graphs > 0 ? log->n_imported_graphs : model->graphs->len;
  guint first_node = log->n_imported_nodes > 0 ? log->n_imported_nodes : model->nodes->len;
  guint first_value = log->n_imported_values > 0 ? log->n_imported_values : model->values->len;

  g_variant_builder_init (&graphs, G_VARIANT_TYPE ("a" TYPE_GRAPH));
  g_variant_builder_init (&nodes, G_VARIANT_TYPE ("a" TYPE_NODE));
  g_variant_builder_init (&values, G_VARIANT_TYPE ("a" TYPE_VALUE));
  for (guint i = first_graph; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      g_variant_builder_add (&graphs, TYPE_GRAPH, (guchar) graph->kind,
                             put_string (saver, graph->name));
    }
  for (guint i = first_node; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      g_variant_builder_add (&nodes, "(uuuuuuut@au@au)", node->graph != NULL ? node->graph->id : 0,
                             put_string (saver, node->op_type), put_string (saver, node->domain),
                             put_string (saver, node->overload), put_string (saver, node->name),
                             put_string (saver, node->scope), put_string (saver, node->device),
                             node->rank, links_variant (node->inputs, node->n_inputs),
                             links_variant (node->outputs, node->n_outputs));
    }
  for (guint i = first_value; i < model->values->len; i++)
    {
      const IrValue *value = model->values->pdata[i];
      g_variant_builder_add (&values, TYPE_VALUE, value->graph != NULL ? value->graph->id : 0,
                             put_string (saver, value->name), put_type (saver, value->type),
                             put_tensor (saver, value->initializer), (guint32) value->flags);
    }
  return g_variant_new ("(uuu@a" TYPE_GRAPH "@a" TYPE_NODE "@a" TYPE_VALUE ")", first_graph,
                        first_node, first_value, g_variant_builder_end (&graphs),
                        g_variant_builder_end (&nodes), g_variant_builder_end (&values));
}

static GVariant *
pairs_variant (const GArray *pairs)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(uu)"));
  for (guint i = 0; pairs != NULL && i < pairs->len; i++)
    {
      const IrIdPair *pair = &g_array_index (pairs, IrIdPair, i);
      g_variant_builder_add (&builder, "(uu)", pair->before, pair->after);
    }
  return g_variant_builder_end (&builder);
}

static GVariant *
cost_variant (const IrCost *cost)
{
  return g_variant_new (TYPE_COST, cost->flops, cost->bytes, cost->params, cost->n_nodes);
}

static GVariant *
step_variant (Saver *saver, const IrStep *step)
{
  const IrProof *proof = &step->proof;
  GVariant *proof_row = g_variant_new (
      TYPE_PROOF, (gint32) proof->verdict, proof->max_abs, proof->max_rel, proof->max_ulp,
      proof->bound, proof->worst_value, proof->duration_ns, put_string (saver, proof->text));

  return g_variant_new ("(uiuuuuxx@" TYPE_COST "@" TYPE_COST "@a(uu)@a(uu)@" TYPE_PROOF ")",
                        step->pass_run, (gint32) step->step_class, put_string (saver, step->rule),
                        step->anchor, put_string (saver, step->reason), step->n_records,
                        step->started_ns, step->duration_ns, cost_variant (&step->cost_before),
                        cost_variant (&step->cost_after), pairs_variant (step->nodes),
                        pairs_variant (step->values), proof_row);
}

static GVariant *
log_variant (Saver *saver, guint cursor)
{
  const IrLog *log = saver->model->log;
  GVariantBuilder records, steps, runs, refusals;

  g_variant_builder_init (&records, G_VARIANT_TYPE ("a" TYPE_RECORD));
  g_variant_builder_init (&steps, G_VARIANT_TYPE ("a" TYPE_STEP));
  g_variant_builder_init (&runs, G_VARIANT_TYPE ("a" TYPE_PASS_RUN));
  g_variant_builder_init (&refusals, G_VARIANT_TYPE ("a" TYPE_REFUSAL));
  for (guint i = 0; i < log->records->len; i++)
    {
      const IrRecord *record = &g_array_index (log->records, IrRecord, i);
      IrSlotValue after = { .number = record->after.number };
      g_variant_builder_add (&records, TYPE_RECORD, record->kind, record->subject, record->slot,
                             put_payload (saver, record->kind, after));
    }
  for (guint i = 0; i < log->steps->len; i++)
    g_variant_builder_add_value (&steps, step_variant (saver, log->steps->pdata[i]));
  for (guint i = 0; i < log->pass_runs->len; i++)
    {
      const IrPassRun *run = &g_array_index (log->pass_runs, IrPassRun, i);
      g_variant_builder_add (&runs, TYPE_PASS_RUN, put_string (saver, run->pass),
                             put_string (saver, run->pipeline), run->iteration, run->first_step,
                             run->n_steps, run->duration_ns);
    }
  for (guint i = 0; i < log->refusals->len; i++)
    {
      const IrRefusal *refusal = &g_array_index (log->refusals, IrRefusal, i);
      g_variant_builder_add (&refusals, TYPE_REFUSAL, put_string (saver, refusal->rule),
                             refusal->anchor, refusal->pass_run,
                             put_string (saver, refusal->reason));
    }
  return g_variant_new ("(u@a" TYPE_RECORD "@a" TYPE_STEP "@a" TYPE_PASS_RUN "@a" TYPE_REFUSAL ")",
                        cursor, g_variant_builder_end (&records), g_variant_builder_end (&steps),
                        g_variant_builder_end (&runs), g_variant_builder_end (&refusals));
}

static void
saver_init (Saver *saver, IrModel *model)
{
  static const char *const types[N_TABLES] = {
    TYPE_STRINGS, "a" TYPE_TYPE,   "a" TYPE_TENSOR, "a" TYPE_ATTR, "a" TYPE_EXTRA,
    "aau",        "a" TYPE_OPSETS, "a(uuu)",        "a" TYPE_INFO, "a" TYPE_FUNCTION,
  };

  saver->model = model;
  saver->blobs = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  saver->blobs_end = 0;
  saver->imported_tensors = g_hash_table_new (NULL, NULL);
  for (guint i = 0; i < N_TABLES; i++)
    {
      saver->places[i] = g_hash_table_new (NULL, NULL);
      g_variant_builder_init (&saver->rows[i], G_VARIANT_TYPE (types[i]));
    }
  for (guint i = 1; i < model->values->len && i < model->log->n_imported_values; i++)
    {
      const IrValue *value = model->values->pdata[i];
      if (value->initializer != NULL)
        g_hash_table_insert (saver->imported_tensors, value->initializer, GUINT_TO_POINTER (i));
    }
}

static void
saver_clear (Saver *saver)
{
  g_ptr_array_unref (saver->blobs);
  g_hash_table_unref (saver->imported_tensors);
  for (guint i = 0; i < N_TABLES; i++)
    g_hash_table_unref (saver->places[i]);
}

static GBytes *
assemble (const Saver *saver, GVariant *description, GError **error)
{
  gsize size = g_variant_get_size (description), first = align_blob (HEADER_BYTES + size);
  guint64 stored = GUINT64_TO_LE ((guint64) size);
  guint8 *file = g_try_malloc0 (first + saver->blobs_end);
  gsize place = first;

  if (file == NULL)
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_NO_SPACE,
                   "Not enough memory for a saved session of %" G_GSIZE_FORMAT " bytes",
                   first + saver->blobs_end);
      return NULL;
    }
  memcpy (file, MAGIC, 8);
  memcpy (file + 8, &stored, 8);
  g_variant_store (description, file + HEADER_BYTES);
  for (guint i = 0; i < saver->blobs->len; i++)
    {
      gsize n;
      gconstpointer data = g_bytes_get_data (saver->blobs->pdata[i], &n);
      if (n > 0)
        memcpy (file + place, data, n);
      place = align_blob (place + n);
    }
  return g_bytes_new_take (file, first + saver->blobs_end);
}

/**
 * ir_history_save:
 * @model: a model with a history, not being edited
 * @error: return location for an error, or %NULL
 *
 * Fails with %G_IO_ERROR_NOT_SUPPORTED if @model is frozen, with %G_IO_ERROR_NO_SPACE if there is
 * not enough memory.
 *
 * Returns: (transfer full): all steps, pass runs, refusals and the cursor, without the imported
 *   model itself; for ir_history_load() on that model
 */
GBytes *
ir_history_save (IrModel *model, GError **error)
{
  Saver saver;
  guint cursor = ir_history_cursor (model);
  guint64 fingerprint;
  GVariant *births, *log, *tables[N_TABLES];
  g_autoptr (GVariant) description = NULL;
  GBytes *file;

  if (model->log == NULL || model->log->editing)
    {
      g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
                           "The model has no history, or it is being edited");
      return NULL;
    }
  ir_history_goto (model, 0);
  fingerprint = ir_model_fingerprint (model);
  saver_init (&saver, model);
  births = births_variant (&saver);
  log = log_variant (&saver, cursor);
  ir_history_goto (model, cursor);
  for (guint i = 0; i < N_TABLES; i++)
    tables[i] = g_variant_builder_end (&saver.rows[i]);
  description = g_variant_ref_sink (
      g_variant_new ("(t@" TYPE_TABLES "@" TYPE_BIRTHS "@" TYPE_LOG ")", fingerprint,
                     g_variant_new_tuple (tables, N_TABLES), births, log));
  file = assemble (&saver, description, error);
  saver_clear (&saver);
  return file;
}

/* -- loading -- */

typedef struct
{
  IrModel *model;
  GPtrArray *tables[N_TABLES]; /* payloads; index + 1 is what the file refers by */
  GBytes *blobs;               /* elements of tensors */
  guint32 first_value;
  guint64 slots_left; /* that nodes may still grow by; a short file shall not take much memory */
  GError **error;
} Loader;

static gboolean fail (Loader *loader, const char *format, ...) G_GNUC_PRINTF (2, 3);

static gboolean
fail (Loader *loader, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  if (loader->error == NULL || *loader->error != NULL)
    return FALSE;
  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (loader->error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "Saved session: %s", text);
  return FALSE;
}

/* 0 is NULL; other places must be in the part of the table that has been read. */
static gboolean
get_payload (Loader *loader, Table table, guint64 place, gconstpointer *payload)
{
  *payload = NULL;
  if (place == 0)
    return TRUE;
  if (place > loader->tables[table]->len)
    return fail (loader, "refers to entry %" G_GUINT64_FORMAT " of table %u, which has %u", place,
                 table, loader->tables[table]->len);
  *payload = loader->tables[table]->pdata[place - 1];
  return TRUE;
}

static gboolean
get_string (Loader *loader, guint32 place, const char **string)
{
  gconstpointer payload;
  gboolean ok = get_payload (loader, TABLE_STRINGS, place, &payload);
  *string = payload;
  return ok;
}

/* As above, but the model needs a string there. */
static gboolean
need_string (Loader *loader, guint32 place, const char **string)
{
  if (!get_string (loader, place, string))
    return FALSE;
  if (*string == NULL)
    *string = ir_context_intern (loader->model->context, "");
  return TRUE;
}

static GBytes *
own_bytes (Loader *loader, GVariant *bytes)
{
  GBytes *copy;

  if (bytes == NULL)
    return NULL;
  copy = g_bytes_new (g_variant_get_data (bytes), g_variant_get_size (bytes));
  ir_context_own (loader->model->context, copy, (GDestroyNotify) g_bytes_unref);
  return copy;
}

/* The child of a maybe. */
static GBytes *
own_maybe_bytes (Loader *loader, GVariant *maybe)
{
  g_autoptr (GVariant) bytes = g_variant_get_maybe (maybe);
  return own_bytes (loader, bytes);
}

static gboolean
read_strings (Loader *loader, GVariant *rows)
{
  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (rows, i);
      const char *string = g_variant_get_bytestring (row);
      g_ptr_array_add (loader->tables[TABLE_STRINGS],
                       (gpointer) ir_context_intern (loader->model->context, string));
    }
  return TRUE;
}

static const IrType *
read_type (Loader *loader, GVariant *row, guint depth)
{
  IrContext *context = loader->model->context;
  g_autoptr (GVariant) names = NULL;
  g_autoptr (GVariant) dims = NULL;
  g_autoptr (GVariant) elements = NULL;
  const char *denotation, *dim_names[IR_MAX_RANK] = { NULL };
  IrDim shape[IR_MAX_RANK];
  const IrType *element = NULL, *type = NULL;
  guchar kind;
  gint32 dtype;
  gint16 rank;
  guint32 denotation_place;

  if (depth > MAX_TYPE_DEPTH || !g_variant_is_of_type (row, G_VARIANT_TYPE (TYPE_TYPE)))
    return fail (loader, "a type is not readable"), NULL;
  g_variant_get (row, "(yinu@au@as@av)", &kind, &dtype, &rank, &denotation_place, &names, &dims,
                 &elements);
  if (rank < IR_RANK_UNKNOWN || rank > IR_MAX_RANK ||
      (rank > 0 && g_variant_n_children (dims) != (gsize) rank) ||
      g_variant_n_children (names) > (gsize) MAX (rank, 0) ||
      (dtype != 0 && !ir_dtype_is_valid (dtype)) ||
      !get_string (loader, denotation_place, &denotation))
    return fail (loader, "a type contradicts itself"), NULL;
  for (int i = 0; i < rank; i++)
    {
      const char *text;
      g_variant_get_child (dims, (gsize) i, "&s", &text);
      shape[i] = ir_dim_parse (context, text);
    }
  for (gsize i = 0; i < g_variant_n_children (names); i++)
    {
      guint32 place;
      g_variant_get_child (names, i, "u", &place);
      if (!get_string (loader, place, &dim_names[i]))
        return NULL;
    }
  if (g_variant_n_children (elements) > 0)
    {
      g_autoptr (GVariant) box = g_variant_get_child_value (elements, 0);
      g_autoptr (GVariant) inner = g_variant_get_variant (box);
      element = read_type (loader, inner, depth + 1);
      if (element == NULL)
        return NULL;
    }
  switch (kind)
    {
    case IR_TYPE_TENSOR:
      type = ir_type_tensor (context, (IrDtype) dtype, rank, shape);
      break;
    case IR_TYPE_SPARSE_TENSOR:
      type = ir_type_sparse_tensor (context, (IrDtype) dtype, rank, shape);
      break;
    case IR_TYPE_SEQUENCE:
      type = ir_type_sequence (context, element);
      break;
    case IR_TYPE_OPTIONAL:
      type = ir_type_optional (context, element);
      break;
    case IR_TYPE_MAP:
      type = ir_type_map (context, (IrDtype) dtype, element);
      break;
    case IR_TYPE_OPAQUE:
      return ir_type_opaque (context, denotation);
    default:
      return fail (loader, "there is no kind %u of types", kind), NULL;
    }
  if (denotation == NULL && g_variant_n_children (names) == 0)
    return type;
  return ir_type_with_denotation (context, type, denotation,
                                  g_variant_n_children (names) > 0 ? dim_names : NULL);
}

static gboolean
read_types (Loader *loader, GVariant *rows)
{
  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (rows, i);
      const IrType *type = read_type (loader, row, 0);
      if (type == NULL)
        return FALSE;
      g_ptr_array_add (loader->tables[TABLE_TYPES], (gpointer) type);
    }
  return TRUE;
}

static IrTensor *
new_string_tensor (guint rank, const gint64 *dims, GVariant *strings)
{
  gsize n = g_variant_n_children (strings);
  g_autoptr (GPtrArray) list = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  guint64 n_elements = 1;

  for (guint i = 0; i < rank; i++)
    if (dims[i] < 0 || !g_uint64_checked_mul (&n_elements, n_elements, (guint64) dims[i]))
      return NULL;
  if (n_elements != n)
    return NULL;
  for (gsize i = 0; i < n; i++)
    {
      g_autoptr (GVariant) string = g_variant_get_child_value (strings, i);
      g_ptr_array_add (list,
                       g_bytes_new (g_variant_get_data (string), g_variant_get_size (string)));
    }
  return ir_tensor_new_strings (rank, dims, (GBytes **) list->pdata);
}

static IrTensor *
new_sparse_tensor (Loader *loader, guint rank, const gint64 *dims, GVariant *parts)
{
  gconstpointer values, indices;
  guint32 value_place, index_place;

  g_variant_get_child (parts, 0, "u", &value_place);
  g_variant_get_child (parts, 1, "u", &index_place);
  if (!get_payload (loader, TABLE_TENSORS, value_place, &values) ||
      !get_payload (loader, TABLE_TENSORS, index_place, &indices) || values == NULL ||
      indices == NULL)
    return NULL;
  return ir_tensor_new_sparse (rank, dims, (IrTensor *) values, (IrTensor *) indices);
}

static IrTensor *
read_tensor (Loader *loader, GVariant *row)
{
  g_autoptr (GVariant) dims = NULL;
  g_autoptr (GVariant) strings = NULL;
  g_autoptr (GVariant) parts = NULL;
  g_autoptr (GBytes) bytes = NULL;
  guint64 place, length;
  const gint64 *shape;
  guint32 imported;
  guchar dtype;
  gsize rank;

  g_variant_get (row, "(uy@axtt@aay@au)", &imported, &dtype, &dims, &place, &length, &strings,
                 &parts);
  shape = g_variant_get_fixed_array (dims, &rank, sizeof (gint64));
  if (imported != 0)
    {
      const IrValue *value = imported < loader->first_value
                                 ? ir_model_value (loader->model, imported)
                                 : NULL;
      return value != NULL && value->initializer != NULL ? ir_tensor_ref (value->initializer)
                                                         : NULL;
    }
  if (rank > IR_MAX_RANK)
    return NULL;
  if (dtype == IR_DTYPE_STRING)
    return new_string_tensor ((guint) rank, shape, strings);
  if (g_variant_n_children (parts) == 2)
    return new_sparse_tensor (loader, (guint) rank, shape, parts);
  if (place > g_bytes_get_size (loader->blobs) || length > g_bytes_get_size (loader->blobs) - place)
    return NULL;
  bytes = g_bytes_new_from_bytes (loader->blobs, place, length);
  return ir_tensor_new ((IrDtype) dtype, (guint) rank, shape, bytes);
}

static gboolean
read_tensors (Loader *loader, GVariant *rows)
{
  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (rows, i);
      IrTensor *tensor = read_tensor (loader, row);
      if (tensor == NULL)
        return fail (loader, "tensor %" G_GSIZE_FORMAT " does not fit its own shape", i);
      ir_context_own (loader->model->context, tensor, (GDestroyNotify) ir_tensor_unref);
      g_ptr_array_add (loader->tables[TABLE_TENSORS], tensor);
    }
  return TRUE;
}

static const IrAttr *
read_strings_attr (Loader *loader, const char *name, IrAttrKind kind, GVariant *elements)
{
  gsize n = g_variant_n_children (elements);
  g_autofree IrString *strings = g_new0 (IrString, n + 1);
  g_autoptr (GPtrArray) kept = g_ptr_array_new_with_free_func ((GDestroyNotify) g_variant_unref);
  const IrAttr *list;

  for (gsize i = 0; i < n; i++)
    {
      GVariant *string = g_variant_get_child_value (elements, i);
      g_ptr_array_add (kept, string);
      strings[i] = (IrString){ g_variant_get_size (string), g_variant_get_data (string) };
    }
  list = ir_attr_strings (loader->model->context, name, strings, (guint) n);
  return ir_attr_annotate (loader->model->context, list, kind, NULL, NULL);
}

static const IrAttr *
read_listed_attr (Loader *loader, const char *name, IrAttrKind kind, GVariant *elements)
{
  IrContext *context = loader->model->context;
  gboolean types = kind == IR_ATTR_TYPE || kind == IR_ATTR_TYPES;
  gsize n;
  const guint32 *places = g_variant_get_fixed_array (elements, &n, sizeof (guint32));
  g_autofree gconstpointer *list = g_new0 (gconstpointer, n + 1);
  const IrAttr *attr;

  for (gsize i = 0; i < n; i++)
    if (!get_payload (loader, types ? TABLE_TYPES : TABLE_TENSORS, places[i], &list[i]) ||
        list[i] == NULL)
      return NULL;
  if (types)
    return ir_attr_types (context, name, kind, (const IrType *const *) list, (guint) n);
  attr = ir_attr_tensors (context, name, (IrTensor *const *) list, (guint) n);
  return ir_attr_annotate (context, attr, kind, NULL, NULL);
}

static gboolean
is_single (IrAttrKind kind)
{
  return kind == IR_ATTR_FLOAT || kind == IR_ATTR_INT || kind == IR_ATTR_STRING ||
         kind == IR_ATTR_TENSOR || kind == IR_ATTR_GRAPH || kind == IR_ATTR_SPARSE_TENSOR ||
         kind == IR_ATTR_TYPE;
}

static const IrAttr *
read_elements (Loader *loader, const char *name, IrAttrKind kind, GVariant *elements)
{
  static const char *const forms[IR_N_ATTR_KINDS] = {
    [IR_ATTR_UNDEFINED] = "au",      [IR_ATTR_FLOAT] = "au",
    [IR_ATTR_FLOATS] = "au",         [IR_ATTR_INT] = "ax",
    [IR_ATTR_INTS] = "ax",           [IR_ATTR_STRING] = "aay",
    [IR_ATTR_STRINGS] = "aay",       [IR_ATTR_TENSOR] = "au",
    [IR_ATTR_TENSORS] = "au",        [IR_ATTR_SPARSE_TENSOR] = "au",
    [IR_ATTR_GRAPH] = "au",          [IR_ATTR_GRAPHS] = "au",
    [IR_ATTR_SPARSE_TENSORS] = "au", [IR_ATTR_TYPE] = "au",
    [IR_ATTR_TYPES] = "au",
  };
  IrContext *context = loader->model->context;
  const IrAttr *attr;
  gconstpointer fixed;
  gsize n;

  if (!g_variant_is_of_type (elements, G_VARIANT_TYPE (forms[kind])) ||
      g_variant_n_children (elements) > G_MAXINT32 ||
      (is_single (kind) && g_variant_n_children (elements) != 1))
    return NULL;
  switch (kind)
    {
    case IR_ATTR_FLOAT:
    case IR_ATTR_FLOATS:
      fixed = g_variant_get_fixed_array (elements, &n, sizeof (guint32));
      attr = ir_attr_floats (context, name, fixed, (guint) n);
      return ir_attr_annotate (context, attr, kind, NULL, NULL);
    case IR_ATTR_INT:
    case IR_ATTR_INTS:
      fixed = g_variant_get_fixed_array (elements, &n, sizeof (gint64));
      attr = ir_attr_ints (context, name, fixed, (guint) n);
      return ir_attr_annotate (context, attr, kind, NULL, NULL);
    case IR_ATTR_GRAPH:
    case IR_ATTR_GRAPHS:
      fixed = g_variant_get_fixed_array (elements, &n, sizeof (guint32));
      attr = ir_attr_graphs (context, name, fixed, (guint) n);
      return ir_attr_annotate (context, attr, kind, NULL, NULL);
    case IR_ATTR_STRING:
    case IR_ATTR_STRINGS:
      return read_strings_attr (loader, name, kind, elements);
    case IR_ATTR_TENSOR:
    case IR_ATTR_TENSORS:
    case IR_ATTR_SPARSE_TENSOR:
    case IR_ATTR_SPARSE_TENSORS:
    case IR_ATTR_TYPE:
    case IR_ATTR_TYPES:
      return read_listed_attr (loader, name, kind, elements);
    case IR_ATTR_UNDEFINED:
    case IR_N_ATTR_KINDS:
    default:
      return ir_attr_annotate (context, ir_attr_ints (context, name, NULL, 0), kind, NULL, NULL);
    }
}

static const IrAttr *
read_attr (Loader *loader, GVariant *row)
{
  IrContext *context = loader->model->context;
  g_autoptr (GVariant) elements = NULL;
  g_autoptr (GVariant) unknown = NULL;
  const char *name, *ref_name, *doc;
  guint32 name_place, ref_place, doc_place;
  GBytes *bytes;
  const IrAttr *attr;
  gint32 kind;

  g_variant_get (row, "(uiuu@mayv)", &name_place, &kind, &ref_place, &doc_place, &unknown,
                 &elements);
  if (kind < 0 || kind >= IR_N_ATTR_KINDS || !need_string (loader, name_place, &name) ||
      !get_string (loader, ref_place, &ref_name) || !get_string (loader, doc_place, &doc))
    return NULL;
  attr = ref_name != NULL ? ir_attr_ref (context, name, (IrAttrKind) kind, ref_name)
                          : read_elements (loader, name, (IrAttrKind) kind, elements);
  bytes = own_maybe_bytes (loader, unknown);
  if (attr == NULL || (doc == NULL && bytes == NULL))
    return attr;
  return ir_attr_annotate (context, attr, (IrAttrKind) kind, doc, bytes);
}

static gboolean
read_attrs (Loader *loader, GVariant *rows)
{
  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (rows, i);
      const IrAttr *attr = read_attr (loader, row);
      if (attr == NULL)
        return fail (loader, "attribute %" G_GSIZE_FORMAT " is not readable", i);
      g_ptr_array_add (loader->tables[TABLE_ATTRS], (gpointer) attr);
    }
  return TRUE;
}

static gboolean
read_extra_fields (
    Loader *loader, guint32 doc, GVariant *unknown, GVariant *maybe_props, IrExtra *extra)
{
  g_autoptr (GVariant) rows = g_variant_get_maybe (maybe_props);
  gsize n = rows != NULL ? g_variant_n_children (rows) : 0;
  g_autofree const char **keys = g_new0 (const char *, n + 1);
  g_autofree const char **values = g_new0 (const char *, n + 1);

  for (gsize i = 0; i < n; i++)
    {
      guint32 key, value;
      g_variant_get_child (rows, i, "(uu)", &key, &value);
      if (!need_string (loader, key, &keys[i]) || !need_string (loader, value, &values[i]))
        return FALSE;
    }
  extra->props = ir_props_new (loader->model->context, (guint) n, keys, values);
  extra->unknown = own_maybe_bytes (loader, unknown);
  return get_string (loader, doc, &extra->doc);
}

static gboolean
read_extras (Loader *loader, GVariant *rows)
{
  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      IrExtra *extra = ir_context_alloc (loader->model->context, sizeof (IrExtra));
      g_autoptr (GVariant) unknown = NULL;
      g_autoptr (GVariant) props = NULL;
      guint32 doc;

      g_variant_get_child (rows, i, "(u@may@ma(uu))", &doc, &unknown, &props);
      if (!read_extra_fields (loader, doc, unknown, props, extra))
        return FALSE;
      g_ptr_array_add (loader->tables[TABLE_EXTRAS], extra);
    }
  return TRUE;
}

static gboolean
read_ids (Loader *loader, GVariant *rows)
{
  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (rows, i);
      gsize n;
      const guint32 *ids = g_variant_get_fixed_array (row, &n, sizeof (guint32));
      g_ptr_array_add (loader->tables[TABLE_IDS],
                       (gpointer) ir_context_id_list (loader->model->context, ids, (guint) n));
    }
  return TRUE;
}

static gboolean
read_opsets (Loader *loader, GVariant *rows)
{
  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (rows, i);
      gsize n = g_variant_n_children (row);
      IrOpsets *opsets = ir_context_alloc (loader->model->context,
                                           sizeof (IrOpsets) + n * sizeof (IrOpset));

      opsets->n = (guint) n;
      for (gsize k = 0; k < n; k++)
        {
          guint32 domain;
          g_variant_get_child (row, k, "(ux)", &domain, &opsets->opsets[k].version);
          if (!need_string (loader, domain, &opsets->opsets[k].domain))
            return FALSE;
        }
      g_ptr_array_add (loader->tables[TABLE_OPSETS], opsets);
    }
  return TRUE;
}

static gboolean
read_ops (Loader *loader, GVariant *rows)
{
  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      IrOpName *name = ir_context_alloc (loader->model->context, sizeof (IrOpName));
      guint32 op_type, domain, overload;

      g_variant_get_child (rows, i, "(uuu)", &op_type, &domain, &overload);
      if (!need_string (loader, op_type, &name->op_type) ||
          !need_string (loader, domain, &name->domain) ||
          !need_string (loader, overload, &name->overload))
        return FALSE;
      g_ptr_array_add (loader->tables[TABLE_OPS], name);
    }
  return TRUE;
}

static gboolean
read_infos (Loader *loader, GVariant *rows)
{
  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      IrModelInfo *info = ir_context_alloc (loader->model->context, sizeof (IrModelInfo));
      g_autoptr (GVariant) unknown = NULL;
      g_autoptr (GVariant) props = NULL;
      guint32 name, version, domain, doc;

      g_variant_get_child (rows, i, "(xuuuxu@may@ma(uu))", &info->ir_version, &name, &version,
                           &domain, &info->model_version, &doc, &unknown, &props);
      if (!get_string (loader, name, &info->producer_name) ||
          !get_string (loader, version, &info->producer_version) ||
          !get_string (loader, domain, &info->domain) ||
          !read_extra_fields (loader, doc, unknown, props, &info->extra))
        return FALSE;
      g_ptr_array_add (loader->tables[TABLE_INFOS], info);
    }
  return TRUE;
}

/* A context array of the payloads that @places name. */
static gboolean
read_list (Loader *loader, Table table, GVariant *places, guint *n, gconstpointer *list)
{
  gsize count;
  const guint32 *ids = g_variant_get_fixed_array (places, &count, sizeof (guint32));
  gconstpointer *copies = ir_context_alloc (loader->model->context,
                                            sizeof (gconstpointer) * (count + 1));

  for (gsize i = 0; i < count; i++)
    if (!get_payload (loader, table, ids[i], &copies[i]) || copies[i] == NULL)
      return fail (loader, "a function lacks an attribute");
  *n = (guint) count;
  *list = copies;
  return TRUE;
}

static gboolean
read_functions (Loader *loader, GVariant *rows)
{
  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      IrFunctionInfo *info = ir_context_alloc (loader->model->context, sizeof (IrFunctionInfo));
      g_autoptr (GVariant) names = NULL;
      g_autoptr (GVariant) defaults = NULL;
      gconstpointer opsets = NULL, name_list = NULL, default_list = NULL;
      guint32 domain, name, overload, opsets_place;

      g_variant_get_child (rows, i, "(uuu@au@auu)", &domain, &name, &overload, &names, &defaults,
                           &opsets_place);
      if (!need_string (loader, domain, &info->domain) ||
          !need_string (loader, name, &info->name) ||
          !need_string (loader, overload, &info->overload) ||
          !read_list (loader, TABLE_STRINGS, names, &info->n_attr_names, &name_list) ||
          !read_list (loader, TABLE_ATTRS, defaults, &info->n_attr_defaults, &default_list) ||
          !get_payload (loader, TABLE_OPSETS, opsets_place, &opsets))
        return FALSE;
      info->attr_names = (const char *const *) name_list;
      info->attr_defaults = (const IrAttr *const *) default_list;
      info->opsets = opsets;
      g_ptr_array_add (loader->tables[TABLE_FUNCTIONS], info);
    }
  return TRUE;
}

static gboolean
read_tables (Loader *loader, GVariant *tables)
{
  typedef gboolean (*ReadFunc) (Loader * loader, GVariant * rows);
  static const ReadFunc readers[N_TABLES] = {
    read_strings, read_types,  read_tensors, read_attrs, read_extras,
    read_ids,     read_opsets, read_ops,     read_infos, read_functions,
  };

  for (guint i = 0; i < N_TABLES; i++)
    {
      g_autoptr (GVariant) rows = g_variant_get_child_value (tables, i);
      if (!readers[i](loader, rows))
        return FALSE;
    }
  return TRUE;
}

/* -- births -- */

/* Makes sure that the ids from @first on exist and are unborn; a copy of the model may have them.
 */
static gboolean
check_unborn (Loader *loader, guint first_graph, guint first_node, guint first_value)
{
  const IrModel *model = loader->model;

  for (guint i = first_graph; i < model->graphs->len; i++)
    if (((IrGraph *) model->graphs->pdata[i])->state != IR_STATE_UNBORN)
      return fail (loader, "it belongs to another model: graph %u is in the way", i);
  for (guint i = first_node; i < model->nodes->len; i++)
    if (((IrNode *) model->nodes->pdata[i])->state != IR_STATE_UNBORN)
      return fail (loader, "it belongs to another model: node %u is in the way", i);
  for (guint i = first_value; i < model->values->len; i++)
    if (((IrValue *) model->values->pdata[i])->state != IR_STATE_UNBORN)
      return fail (loader, "it belongs to another model: value %u is in the way", i);
  return TRUE;
}

static gboolean
read_graph (Loader *loader, GVariant *row, IrGraph *graph)
{
  guchar kind;
  guint32 name;

  g_variant_get (row, TYPE_GRAPH, &kind, &name);
  if (kind > IR_GRAPH_FUNCTION)
    return fail (loader, "there is no kind %u of graphs", kind);
  graph->kind = (IrGraphKind) kind;
  return need_string (loader, name, &graph->name);
}

static gboolean
read_graph_link (Loader *loader, guint32 id, IrGraph **graph)
{
  *graph = id != 0 ? ir_model_graph (loader->model, id) : NULL;
  return *graph != NULL || id == 0 ? TRUE : fail (loader, "there is no graph %u", id);
}

static gboolean
read_value (Loader *loader, GVariant *row, IrValue *value)
{
  guint32 graph, name, type, tensor, flags;
  gconstpointer type_payload, tensor_payload;

  g_variant_get (row, TYPE_VALUE, &graph, &name, &type, &tensor, &flags);
  if (!read_graph_link (loader, graph, &value->graph) ||
      !need_string (loader, name, &value->name) ||
      !get_payload (loader, TABLE_TYPES, type, &type_payload) ||
      !get_payload (loader, TABLE_TENSORS, tensor, &tensor_payload))
    return FALSE;
  if (value->graph == NULL)
    value->graph = loader->model->main;
  value->type = type_payload;
  value->initializer = (IrTensor *) tensor_payload;
  value->flags = (IrValueFlags) flags;
  value->producer = NULL;
  value->output_slot = 0;
  return TRUE;
}

static gboolean
read_links (Loader *loader, GVariant *ids, IrValue ***links, guint *n)
{
  IrModel *model = loader->model;
  gsize count;
  const guint32 *list = g_variant_get_fixed_array (ids, &count, sizeof (guint32));

  if (count > MAX_SLOTS)
    return fail (loader, "a node has %" G_GSIZE_FORMAT " slots", count);
  *links = ir_model_resize_array (model, NULL, 0, (guint) count, sizeof (IrValue *));
  *n = (guint) count;
  for (gsize i = 0; i < count; i++)
    {
      if (list[i] >= model->values->len)
        return fail (loader, "there is no value %u", list[i]);
      (*links)[i] = model->values->pdata[list[i]]; /* [0] is NULL */
    }
  return TRUE;
}

static gboolean
read_node (Loader *loader, GVariant *row, IrNode *node)
{
  g_autoptr (GVariant) inputs = NULL;
  g_autoptr (GVariant) outputs = NULL;
  guint32 graph, op_type, domain, overload, name, scope, device;

  g_variant_get (row, "(uuuuuuut@au@au)", &graph, &op_type, &domain, &overload, &name, &scope,
                 &device, &node->rank, &inputs, &outputs);
  if (!read_graph_link (loader, graph, &node->graph) ||
      !need_string (loader, op_type, &node->op_type) ||
      !need_string (loader, domain, &node->domain) ||
      !need_string (loader, overload, &node->overload) ||
      !need_string (loader, name, &node->name) || !need_string (loader, scope, &node->scope) ||
      !need_string (loader, device, &node->device) ||
      !read_links (loader, inputs, &node->inputs, &node->n_inputs) ||
      !read_links (loader, outputs, &node->outputs, &node->n_outputs))
    return FALSE;
  node->op = ir_op_find (node->domain, node->op_type);
  for (guint i = 0; i < node->n_outputs; i++)
    {
      IrValue *value = node->outputs[i];
      if (value == NULL)
        continue;
      /* Only values that come with it: an imported one is attached by a record. */
      if (value->state != IR_STATE_UNBORN || value->producer != NULL)
        return fail (loader, "value %u is made by two nodes", value->id);
      value->producer = node;
      value->output_slot = i;
    }
  return TRUE;
}

static gboolean
read_births (Loader *loader, GVariant *births)
{
  IrModel *model = loader->model;
  g_autoptr (GVariant) graphs = NULL;
  g_autoptr (GVariant) nodes = NULL;
  g_autoptr (GVariant) values = NULL;
  guint32 first_graph, first_node, first_value;
  gsize n_graphs, n_nodes, n_values;

  g_variant_get (births, "(uuu@a" TYPE_GRAPH "@a" TYPE_NODE "@a" TYPE_VALUE ")", &first_graph,
                 &first_node, &first_value, &graphs, &nodes, &values);
  n_graphs = g_variant_n_children (graphs);
  n_nodes = g_variant_n_children (nodes);
  n_values = g_variant_n_children (values);
  if (MAX (n_graphs, MAX (n_nodes, n_values)) > MAX_OBJECTS)
    return fail (loader, "it creates too many nodes");
  while (model->graphs->len < first_graph + n_graphs)
    ir_model_new_graph (model);
  while (model->nodes->len < first_node + n_nodes)
    ir_model_new_node (model);
  while (model->values->len < first_value + n_values)
    ir_model_new_value (model);
  for (gsize i = 0; i < n_graphs; i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (graphs, i);
      if (!read_graph (loader, row, model->graphs->pdata[first_graph + i]))
        return FALSE;
    }
  for (gsize i = 0; i < n_values; i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (values, i);
      if (!read_value (loader, row, model->values->pdata[first_value + i]))
        return FALSE;
    }
  for (gsize i = 0; i < n_nodes; i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (nodes, i);
      if (!read_node (loader, row, model->nodes->pdata[first_node + i]))
        return FALSE;
    }
  model->log->n_imported_graphs = first_graph;
  model->log->n_imported_nodes = first_node;
  model->log->n_imported_values = first_value;
  return TRUE;
}

static gboolean
check_model (Loader *loader, GVariant *births, guint64 fingerprint)
{
  const IrModel *model = loader->model;
  guint32 first_graph, first_node, first_value;

  g_variant_get_child (births, 0, "u", &first_graph);
  g_variant_get_child (births, 1, "u", &first_node);
  g_variant_get_child (births, 2, "u", &first_value);
  loader->first_value = first_value;
  if (first_graph < 2 || first_node < 1 || first_value < 1 || first_graph > model->graphs->len ||
      first_node > model->nodes->len || first_value > model->values->len ||
      ir_model_fingerprint (model) != fingerprint)
    return fail (loader, "it belongs to another model, or the file of the model has changed");
  return check_unborn (loader, first_graph, first_node, first_value);
}

/* -- records -- */

static gboolean
all_values_exist (const IrModel *model, const IrIdList *list)
{
  for (guint i = 0; list != NULL && i < list->n; i++)
    if (list->ids[i] == 0 || list->ids[i] >= model->values->len)
      return FALSE;
  return list != NULL;
}

static gboolean
none_from (IrValue *const *links, guint from, guint n)
{
  for (guint i = from; i < n; i++)
    if (links[i] != NULL)
      return FALSE;
  return TRUE;
}

/* Owners must lead outwards to an end: everything that climbs through them relies on it. A change
 * closes a circle only through the graph that it changes. */
static gboolean
owners_end (const IrModel *model, const IrGraph *graph)
{
  for (guint depth = 0; graph != NULL && graph->owner != 0; depth++)
    {
      const IrNode *owner = ir_model_node (model, graph->owner);
      if (depth > model->graphs->len)
        return FALSE;
      graph = owner != NULL ? owner->graph : NULL;
    }
  return TRUE;
}

static gboolean
attr_fits (const IrModel *model, const IrNode *node, guint32 slot, const IrAttr *attr)
{
  if (attr == NULL)
    return slot < node->n_attrs;
  if (attr->kind == IR_ATTR_GRAPH || attr->kind == IR_ATTR_GRAPHS)
    for (guint i = 0; i < attr->n; i++)
      if (attr->graphs[i] == 0 || attr->graphs[i] >= model->graphs->len)
        return FALSE;
  return slot <= node->n_attrs &&
         (slot == 0 || strcmp (node->attrs[slot - 1]->name, attr->name) < 0) &&
         (slot == node->n_attrs || strcmp (node->attrs[slot]->name, attr->name) >= 0);
}

static gboolean
node_record_fits (const IrModel *model, IrRecordKind kind, guint32 id, guint32 slot, IrSlotValue v)
{
  const IrNode *node = ir_model_node (model, id);
  const IrValue *value;

  if (node == NULL || node->graph == NULL)
    return FALSE;
  switch ((guint) kind)
    {
    case IR_RECORD_NODE_STATE:
      return v.number == (node->state == IR_STATE_UNBORN ? IR_STATE_LIVE : IR_STATE_REMOVED) &&
             node->state != IR_STATE_REMOVED;
    case IR_RECORD_NODE_INPUT:
      return slot < node->n_inputs && v.number < model->values->len;
    case IR_RECORD_NODE_N_INPUTS:
      return v.number <= MAX_SLOTS && none_from (node->inputs, (guint) v.number, node->n_inputs);
    case IR_RECORD_NODE_OUTPUT:
      value = ir_model_value (model, (guint32) v.number);
      return slot < node->n_outputs && v.number < model->values->len &&
             (value == NULL || (value->producer == NULL && value->state == node->state));
    case IR_RECORD_NODE_N_OUTPUTS:
      return v.number <= MAX_SLOTS && none_from (node->outputs, (guint) v.number, node->n_outputs);
    case IR_RECORD_NODE_ATTR:
      return attr_fits (model, node, slot, v.pointer);
    case IR_RECORD_NODE_GRAPH:
      return v.number > 0 && v.number < model->graphs->len;
    case IR_RECORD_NODE_OP:
      return v.pointer != NULL;
    default:
      return TRUE;
    }
}

static gboolean
value_record_fits (const IrModel *model, IrRecordKind kind, guint32 id, IrSlotValue v)
{
  const IrValue *value = ir_model_value (model, id);

  if (value == NULL || value->graph == NULL)
    return FALSE;
  if (kind == IR_RECORD_VALUE_STATE)
    return value->producer == NULL && /* else its state is that of the node */
           (v.number == IR_STATE_LIVE || v.number == IR_STATE_REMOVED);
  return kind != IR_RECORD_VALUE_GRAPH || (v.number > 0 && v.number < model->graphs->len);
}

static gboolean
record_fits (Loader *loader, IrRecordKind kind, guint32 id, guint32 slot, IrSlotValue v)
{
  const IrModel *model = loader->model;
  const IrGraph *graph = ir_model_graph (model, id);

  if (ir_record_payload (kind) == IR_PAYLOAD_STRING && v.pointer == NULL)
    return FALSE;
  switch (ir_record_subject (kind))
    {
    case IR_SUBJECT_NODE:
      return node_record_fits (model, kind, id, slot, v);
    case IR_SUBJECT_VALUE:
      return value_record_fits (model, kind, id, v);
    case IR_SUBJECT_GRAPH:
      if (graph == NULL)
        return FALSE;
      if (kind == IR_RECORD_GRAPH_STATE)
        return graph != model->main && (v.number == IR_STATE_LIVE || v.number == IR_STATE_REMOVED);
      if (kind == IR_RECORD_GRAPH_OWNER)
        return v.number < model->nodes->len;
      return (kind != IR_RECORD_GRAPH_INPUTS && kind != IR_RECORD_GRAPH_OUTPUTS) ||
             all_values_exist (model, v.pointer);
    case IR_SUBJECT_MODEL:
    default:
      return v.pointer != NULL;
    }
}

static gboolean
read_slot_value (Loader *loader, IrRecordKind kind, guint64 stored, IrSlotValue *value)
{
  static const guint8 tables[] = {
    [IR_PAYLOAD_STRING] = TABLE_STRINGS, [IR_PAYLOAD_ATTR] = TABLE_ATTRS,
    [IR_PAYLOAD_TYPE] = TABLE_TYPES,     [IR_PAYLOAD_TENSOR] = TABLE_TENSORS,
    [IR_PAYLOAD_IDS] = TABLE_IDS,        [IR_PAYLOAD_EXTRA] = TABLE_EXTRAS,
    [IR_PAYLOAD_OP] = TABLE_OPS,         [IR_PAYLOAD_OPSETS] = TABLE_OPSETS,
    [IR_PAYLOAD_INFO] = TABLE_INFOS,     [IR_PAYLOAD_FUNCTION] = TABLE_FUNCTIONS,
  };
  IrPayload payload = ir_record_payload (kind);
  gconstpointer pointer;

  value->number = stored;
  if (payload == IR_PAYLOAD_NUMBER || payload == IR_PAYLOAD_STATE || payload == IR_PAYLOAD_VALUE ||
      payload == IR_PAYLOAD_GRAPH)
    return TRUE;
  if (!get_payload (loader, (Table) tables[payload], stored, &pointer))
    return FALSE;
  value->pointer = pointer;
  return TRUE;
}

static gboolean
replay_record (Loader *loader, GVariant *records, gsize index)
{
  IrModel *model = loader->model;
  IrRecord record = { 0 };
  IrSlotValue before, after;
  guint64 stored;
  guchar kind;

  g_variant_get_child (records, index, TYPE_RECORD, &kind, &record.subject, &record.slot, &stored);
  if (kind >= IR_N_RECORD_KINDS || !read_slot_value (loader, (IrRecordKind) kind, stored, &after) ||
      !record_fits (loader, (IrRecordKind) kind, record.subject, record.slot, after))
    return fail (loader, "record %" G_GSIZE_FORMAT " does not fit the model", index);
  record.kind = kind;
  before = ir_record_get (model, (IrRecordKind) kind, record.subject, record.slot);
  /* In a place where another attribute stands this one is inserted: nothing was there before. */
  if (kind == IR_RECORD_NODE_ATTR && after.pointer != NULL && before.pointer != NULL &&
      strcmp (((const IrAttr *) before.pointer)->name, ((const IrAttr *) after.pointer)->name) != 0)
    before.pointer = NULL;
  record.before.number = before.number;
  record.after.number = after.number;
  g_array_append_val (model->log->records, record);
  ir_record_apply (model, &record, TRUE);
  if (!owners_end (model, kind == IR_RECORD_GRAPH_OWNER ? ir_model_graph (model, record.subject)
                          : kind == IR_RECORD_NODE_GRAPH
                              ? ir_model_node (model, record.subject)->graph
                              : NULL))
    return fail (loader, "record %" G_GSIZE_FORMAT " puts a graph into itself", index);
  return TRUE;
}

/* -- spans -- */

static GArray *
read_pairs (GVariant *rows)
{
  GArray *pairs = NULL;

  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      IrIdPair pair;
      g_variant_get_child (rows, i, "(uu)", &pair.before, &pair.after);
      if (pairs == NULL)
        pairs = g_array_new (FALSE, FALSE, sizeof (IrIdPair));
      g_array_append_val (pairs, pair);
    }
  return pairs;
}

static void
read_cost (GVariant *row, IrCost *cost)
{
  guint32 n_nodes;
  g_variant_get (row, TYPE_COST, &cost->flops, &cost->bytes, &cost->params, &n_nodes);
  cost->n_nodes = n_nodes;
}

static gboolean
read_proof (Loader *loader, GVariant *row, IrProof *proof)
{
  gint32 verdict;
  guint32 worst, text;

  g_variant_get (row, TYPE_PROOF, &verdict, &proof->max_abs, &proof->max_rel, &proof->max_ulp,
                 &proof->bound, &worst, &proof->duration_ns, &text);
  if (verdict < 0 || verdict >= IR_N_VERDICTS)
    return fail (loader, "there is no verdict %d", verdict);
  proof->verdict = (IrVerdict) verdict;
  proof->worst_value = worst;
  return get_string (loader, text, &proof->text);
}

static void
count_occurrence (IrLog *log, IrStep *step)
{
  g_autofree char *key = g_strdup_printf ("%s@%u", step->rule, step->anchor);
  step->occurrence = GPOINTER_TO_UINT (g_hash_table_lookup (log->occurrences, key));
  g_hash_table_replace (log->occurrences, g_steal_pointer (&key),
                        GUINT_TO_POINTER (step->occurrence + 1));
}

static gboolean
replay_step (Loader *loader, GVariant *row, GVariant *records)
{
  IrLog *log = loader->model->log;
  IrStep *step = g_new0 (IrStep, 1);
  g_autoptr (GVariant) before = NULL;
  g_autoptr (GVariant) after = NULL;
  g_autoptr (GVariant) nodes = NULL;
  g_autoptr (GVariant) values = NULL;
  g_autoptr (GVariant) proof = NULL;
  guint32 pass_run, rule, reason, n_records;
  gint32 step_class;
  gsize first = log->records->len;

  /* The step goes into the log before its records are applied, so that a failure can undo it. */
  g_ptr_array_add (log->steps, step);
  log->cursor = log->steps->len;
  g_variant_get (row, "(uiuuuuxx@" TYPE_COST "@" TYPE_COST "@a(uu)@a(uu)@" TYPE_PROOF ")",
                 &pass_run, &step_class, &rule, &step->anchor, &reason, &n_records,
                 &step->started_ns, &step->duration_ns, &before, &after, &nodes, &values, &proof);
  step->index = log->steps->len;
  step->first_record = first;
  step->rule = ir_context_intern (loader->model->context, "");
  if (step_class < 0 || step_class >= IR_N_CLASSES || pass_run >= log->pass_runs->len ||
      n_records > g_variant_n_children (records) - first)
    return fail (loader, "step %u is not readable", step->index);
  step->pass_run = pass_run;
  step->step_class = (IrClass) step_class;
  step->nodes = read_pairs (nodes);
  step->values = read_pairs (values);
  read_cost (before, &step->cost_before);
  read_cost (after, &step->cost_after);
  if (!need_string (loader, rule, &step->rule) || !get_string (loader, reason, &step->reason) ||
      !read_proof (loader, proof, &step->proof))
    return FALSE;
  count_occurrence (log, step);
  for (guint32 i = 0; i < n_records; i++)
    {
      gboolean ok = replay_record (loader, records, first + i);
      step->n_records = (guint) (log->records->len - first);
      if (!ok)
        return FALSE;
    }
  return TRUE;
}

static gboolean
read_pass_runs (Loader *loader, GVariant *rows, gsize n_steps)
{
  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      IrPassRun run;
      guint32 pass, pipeline, iteration, first, n;

      g_variant_get_child (rows, i, TYPE_PASS_RUN, &pass, &pipeline, &iteration, &first, &n,
                           &run.duration_ns);
      if (!need_string (loader, pass, &run.pass) || !get_string (loader, pipeline, &run.pipeline) ||
          first < 1 || first > n_steps + 1 || n > n_steps + 1 - first)
        return fail (loader, "pass run %" G_GSIZE_FORMAT " is not readable", i);
      run.iteration = iteration;
      run.first_step = first;
      run.n_steps = n;
      g_array_append_val (loader->model->log->pass_runs, run);
    }
  return TRUE;
}

static gboolean
read_refusals (Loader *loader, GVariant *rows)
{
  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      IrRefusal refusal;
      guint32 rule, reason, run;

      g_variant_get_child (rows, i, TYPE_REFUSAL, &rule, &refusal.anchor, &run, &reason);
      if (!need_string (loader, rule, &refusal.rule) ||
          !need_string (loader, reason, &refusal.reason))
        return FALSE;
      refusal.pass_run = MIN (run, MAX (loader->model->log->pass_runs->len, 1) - 1);
      g_array_append_val (loader->model->log->refusals, refusal);
    }
  return TRUE;
}

static gboolean
replay_log (Loader *loader, GVariant *log, guint *cursor)
{
  g_autoptr (GVariant) records = NULL;
  g_autoptr (GVariant) steps = NULL;
  g_autoptr (GVariant) runs = NULL;
  g_autoptr (GVariant) refusals = NULL;
  guint32 saved;
  gsize n_steps;

  g_variant_get (log, "(u@a" TYPE_RECORD "@a" TYPE_STEP "@a" TYPE_PASS_RUN "@a" TYPE_REFUSAL ")",
                 &saved, &records, &steps, &runs, &refusals);
  n_steps = g_variant_n_children (steps);
  *cursor = saved;
  if (n_steps > G_MAXINT32 || saved > n_steps)
    return fail (loader, "its cursor stands behind its end");
  if (!read_pass_runs (loader, runs, n_steps) || !read_refusals (loader, refusals))
    return FALSE;
  for (gsize i = 0; i < n_steps; i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (steps, i);
      if (!replay_step (loader, row, records))
        return FALSE;
    }
  return TRUE;
}

/* Back to step 0 with an empty log. */
static void
take_back (IrModel *model)
{
  IrLog *log = model->log;

  ir_history_goto (model, 0);
  ir_log_cut (log, 0);
  g_array_set_size (log->records, 0);
  g_array_set_size (log->pass_runs, 0);
  g_array_set_size (log->refusals, 0);
  g_hash_table_remove_all (log->occurrences);
}

static gboolean
load_description (Loader *loader, GVariant *file)
{
  g_autoptr (GVariant) tables = NULL;
  g_autoptr (GVariant) births = NULL;
  g_autoptr (GVariant) log = NULL;
  guint64 fingerprint;
  guint cursor;

  g_variant_get (file, "(t@" TYPE_TABLES "@" TYPE_BIRTHS "@" TYPE_LOG ")", &fingerprint, &tables,
                 &births, &log);
  if (!check_model (loader, births, fingerprint) || !read_tables (loader, tables) ||
      !read_births (loader, births))
    return FALSE;
  if (!replay_log (loader, log, &cursor))
    {
      take_back (loader->model);
      return FALSE;
    }
  ir_history_goto (loader->model, cursor);
  return TRUE;
}

static gboolean
load_file (Loader *loader, GBytes *data)
{
  g_autoptr (GVariant) file = NULL;
  g_autoptr (GBytes) description = NULL;
  g_autoptr (GBytes) blobs = NULL;
  gsize n, first;
  const guint8 *bytes = g_bytes_get_data (data, &n);
  guint64 size;

  if (n < HEADER_BYTES || memcmp (bytes, MAGIC, 7) != 0)
    return fail (loader, "this is no saved session of irscope");
  if (bytes[7] != (guint8) MAGIC[7])
    return fail (loader, "its format is version %u, this program reads version %u", bytes[7],
                 (guint) MAGIC[7]);
  memcpy (&size, bytes + 8, 8);
  size = GUINT64_FROM_LE (size);
  if (size > n - HEADER_BYTES)
    return fail (loader, "the file ends early");
  first = MIN (align_blob (HEADER_BYTES + size), n);
  description = g_bytes_new_from_bytes (data, HEADER_BYTES, size);
  blobs = g_bytes_new_from_bytes (data, first, n - first);
  loader->blobs = blobs;
  file = g_variant_ref_sink (
      g_variant_new_from_bytes (G_VARIANT_TYPE (TYPE_FILE), description, FALSE));
  return g_variant_is_normal_form (file) ? load_description (loader, file)
                                         : fail (loader, "the file is damaged");
}

/**
 * ir_history_load:
 * @model: the model that the session was recorded on, as imported: without steps, not being edited
 * @data: what ir_history_save() gave; may come from anywhere
 * @error: return location for an error, or %NULL
 *
 * Replays all steps and goes to the cursor of the session. Fails with %G_IO_ERROR_INVALID_DATA if
 * @data is not readable, belongs to another model, or does not fit it; the model is then at step 0.
 *
 * Returns: %TRUE if the session was replayed
 */
gboolean
ir_history_load (IrModel *model, GBytes *data, GError **error)
{
  g_autoptr (GError) failure = NULL;
  Loader loader = { .model = model,
                    .slots_left = g_bytes_get_size (data) + (1u << 20),
                    .error = &failure };
  gboolean ok;

  if (model->log == NULL || model->log->editing || model->log->steps->len > 0)
    {
      g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
                           "A session can be replayed only on a model without steps");
      return FALSE;
    }
  for (guint i = 0; i < N_TABLES; i++)
    loader.tables[i] = g_ptr_array_new ();
  ok = load_file (&loader, data);
  for (guint i = 0; i < N_TABLES; i++)
    g_ptr_array_unref (loader.tables[i]);
  model->stamp++;
  if (!ok && failure == NULL)
    fail (&loader, "the file is not readable");
  if (!ok)
    g_propagate_error (error, g_steal_pointer (&failure));
  return ok;
}
