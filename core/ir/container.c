/* Sequences, optionals, maps and closures at run time: tensors whose contents are other tensors, shared by
 * reference and never changed. A container keeps a copy of the type of its items without their
 * dims, so that an empty one has a type too and none depends on a context. */
#include "config.h"

#include "core/ir/tensor-private.h"

#include <string.h>

#define MAX_CLOSURES 1000 /* that hold each other: they are let go one inside of the other */
#define MAX_DEPTH    16   /* of containers in containers: a loop must not nest them without end */

struct _IrClosure
{
  guint depth; /* of closures that it holds, itself included */
  char *function, *type;
};

/* -- types without dims -- */

static void
free_declared (IrType *type)
{
  while (type != NULL)
    {
      IrType *inner = (IrType *) type->element;
      g_free (type);
      type = inner;
    }
}

static IrType *
copy_declared (const IrType *type)
{
  IrType *copy = g_new0 (IrType, 1);

  copy->kind = type->kind;
  copy->dtype = type->dtype;
  copy->rank = IR_RANK_UNKNOWN;
  copy->element = type->element != NULL ? copy_declared (type->element) : NULL;
  return copy;
}

/* What @item is, without its dims. (transfer full) */
static IrType *
declare_item (const IrTensor *item)
{
  IrType *type = g_new0 (IrType, 1);

  type->kind = item->kind;
  type->dtype = item->kind == IR_TYPE_MAP ? item->items[0]->dtype : item->dtype;
  type->rank = IR_RANK_UNKNOWN;
  type->element = item->declared != NULL && item->closure == NULL ? copy_declared (item->declared)
                                                                  : NULL;
  return type;
}

static gboolean
same_declared (const IrType *a, const IrType *b)
{
  if (a == NULL || b == NULL)
    return a == b;
  return a->kind == b->kind && a->dtype == b->dtype && same_declared (a->element, b->element);
}

static guint
depth_of (const IrType *type)
{
  guint depth = 0;

  for (; type != NULL; type = type->element)
    depth++;
  return depth;
}

static const IrType *
intern_declared (IrContext *context, const IrType *type)
{
  const IrType *element = type->element != NULL ? intern_declared (context, type->element) : NULL;

  switch (type->kind)
    {
    case IR_TYPE_SPARSE_TENSOR:
      return ir_type_sparse_tensor (context, type->dtype, IR_RANK_UNKNOWN, NULL);
    case IR_TYPE_SEQUENCE:
      return ir_type_sequence (context, element);
    case IR_TYPE_OPTIONAL:
      return ir_type_optional (context, element);
    case IR_TYPE_MAP:
      return ir_type_map (context, type->dtype, element);
    case IR_TYPE_CLOSURE:
      return ir_type_closure (context, NULL, 0, 0);
    case IR_TYPE_TENSOR:
    case IR_TYPE_OPAQUE:
    case IR_N_TYPE_KINDS:
    default:
      return ir_type_tensor (context, type->dtype, IR_RANK_UNKNOWN, NULL);
    }
}

/* What holds for both: dims that differ are unknown. Kinds and element types agree. */
static const IrType *
join_types (IrContext *context, const IrType *a, const IrType *b)
{
  IrDim dims[IR_MAX_RANK];

  if (a == b || a->kind != b->kind)
    return a;
  switch (a->kind)
    {
    case IR_TYPE_SEQUENCE:
      return ir_type_sequence (context, join_types (context, a->element, b->element));
    case IR_TYPE_OPTIONAL:
      return ir_type_optional (context, join_types (context, a->element, b->element));
    case IR_TYPE_MAP:
      return ir_type_map (context, a->dtype, join_types (context, a->element, b->element));
    case IR_TYPE_CLOSURE:
      return ir_type_closure (context, NULL, 0, 0);
    case IR_TYPE_TENSOR:
    case IR_TYPE_SPARSE_TENSOR:
    case IR_TYPE_OPAQUE:
    case IR_N_TYPE_KINDS:
    default:
      break;
    }
  int rank = a->rank == b->rank ? a->rank : IR_RANK_UNKNOWN;
  for (int i = 0; i < rank; i++)
    dims[i] = a->dims[i] == b->dims[i] ? a->dims[i] : IR_DIM_UNKNOWN;
  return a->kind == IR_TYPE_SPARSE_TENSOR ? ir_type_sparse_tensor (context, a->dtype, rank, dims)
                                          : ir_type_tensor (context, a->dtype, rank, dims);
}

/* -- making -- */

/* Dense tensors of one shape; FALSE for what would have to be looked into. */
static gboolean
same_shape (const IrTensor *a, const IrTensor *b)
{
  return a->kind == IR_TYPE_TENSOR && b->kind == IR_TYPE_TENSOR && a->dtype == b->dtype &&
         a->rank == b->rank && memcmp (a->dims, b->dims, sizeof *a->dims * a->rank) == 0;
}

/* @items: (transfer none): its first @n */
static IrItems *
store_new (IrTensor *const *items, guint n, guint capacity)
{
  IrItems *store = g_malloc0 (sizeof *store + sizeof (IrTensor *) * capacity);

  g_atomic_ref_count_init (&store->ref_count);
  store->capacity = capacity;
  for (; store->n_used < n; store->n_used++)
    store->items[store->n_used] = ir_tensor_ref (items[store->n_used]);
  return store;
}

static void
store_unref (IrItems *store)
{
  if (!g_atomic_ref_count_dec (&store->ref_count))
    return;
  for (guint i = 0; i < store->n_used; i++)
    ir_tensor_unref (store->items[i]);
  g_free (store);
}

static void
set_store (IrTensor *tensor, IrItems *store, guint n)
{
  tensor->store = store;
  tensor->items = store->items;
  tensor->n_items = n;
}

/* FALSE: the bytes cannot be counted. */
static gboolean
fill (IrTensor *tensor, IrTensor *const *items, guint n)
{
  set_store (tensor, store_new (items, n, n), n);
  tensor->alike = TRUE;
  for (guint i = 0; i < n; i++)
    {
      const IrTensor *item = items[i];
      if (!g_size_checked_add (&tensor->n_bytes, tensor->n_bytes, item->n_bytes))
        return FALSE;
      tensor->alike = tensor->alike && same_shape (items[0], item);
    }
  return TRUE;
}

/* @declared: (transfer full). NULL if the nesting is too deep, or it could not be filled. */
static IrTensor *
new_container (IrTypeKind kind, IrType *declared, IrTensor *const *items, guint n)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_header (IR_DTYPE_UNDEFINED, 0, NULL, 0, 0);

  tensor->kind = kind;
  tensor->declared = declared;
  return depth_of (declared) < MAX_DEPTH && fill (tensor, items, n) ? g_steal_pointer (&tensor)
                                                                    : NULL;
}

static gboolean
items_agree (const IrType *declared, IrTensor *const *items, guint n)
{
  gboolean agree = TRUE;

  for (guint i = 0; agree && i < n; i++)
    {
      IrType *found = declare_item (items[i]);
      agree = same_declared (declared, found);
      free_declared (found);
    }
  return agree;
}

static IrTensor *
new_checked (IrTypeKind kind, const IrType *element, IrTensor *const *items, guint n_items)
{
  IrType *declared;

  if (element == NULL && n_items == 0)
    return NULL;
  declared = element != NULL ? copy_declared (element) : declare_item (items[0]);
  /* An element type that the model leaves open is that of the items. */
  if (n_items > 0 && declared->kind == items[0]->kind && declared->dtype == IR_DTYPE_UNDEFINED &&
      declared->element == NULL)
    {
      free_declared (declared);
      declared = declare_item (items[0]);
    }
  if (!items_agree (declared, items, n_items))
    {
      free_declared (declared);
      return NULL;
    }
  return new_container (kind, declared, items, n_items);
}

/**
 * ir_tensor_new_sequence:
 * @element: (nullable): type of the items, whose dims do not matter; %NULL: that of the first item
 * @items: (array length=n_items) (transfer none): the items, shared
 * @n_items: how many
 *
 * Returns: (transfer full) (nullable): the sequence; %NULL if the items are not all of the type, or
 *   nest too deeply, or there is neither a type nor an item
 */
IrTensor *
ir_tensor_new_sequence (const IrType *element, IrTensor *const *items, guint n_items)
{
  return new_checked (IR_TYPE_SEQUENCE, element, items, n_items);
}

/**
 * ir_tensor_append:
 * @sequence: (transfer none): a sequence
 * @item: (transfer none): a tensor
 *
 * @sequence stays as it is. The first who appends to it shares its items, so that n appends, each to what the
 * one before gave, copy less than 2 n pointers, and n items are held once.
 *
 * Returns: (transfer full) (nullable): the items of @sequence and @item behind them; %NULL if @item is not of
 *   their type
 */
IrTensor *
ir_tensor_append (const IrTensor *sequence, IrTensor *item)
{
  IrItems *store = sequence->store;
  const guint n = sequence->n_items;
  gsize n_bytes = 0;

  if (sequence->kind != IR_TYPE_SEQUENCE || n > G_MAXUINT / 4 ||
      !items_agree (sequence->declared, &item, 1) ||
      !g_size_checked_add (&n_bytes, sequence->n_bytes, item->n_bytes))
    return NULL;
  IrTensor *tensor = ir_tensor_new_header (IR_DTYPE_UNDEFINED, 0, NULL, 0, n_bytes);
  tensor->kind = IR_TYPE_SEQUENCE;
  tensor->declared = copy_declared (sequence->declared);
  tensor->alike = sequence->alike && same_shape (n > 0 ? sequence->items[0] : item, item);
  if (n < store->capacity && g_atomic_int_compare_and_exchange (&store->n_used, n, n + 1))
    g_atomic_ref_count_inc (&store->ref_count);
  else
    {
      store = store_new (store->items, n, MAX (2 * n, 8));
      store->n_used++;
    }
  store->items[n] = ir_tensor_ref (item);
  set_store (tensor, store, n + 1);
  return tensor;
}

/**
 * ir_tensor_new_optional:
 * @element: (nullable): type of the item; %NULL: that of @item
 * @item: (nullable) (transfer none): the item; %NULL: none
 *
 * Returns: (transfer full) (nullable): the optional; %NULL as in ir_tensor_new_sequence()
 */
IrTensor *
ir_tensor_new_optional (const IrType *element, IrTensor *item)
{
  return new_checked (IR_TYPE_OPTIONAL, element, &item, item != NULL);
}

/**
 * ir_tensor_new_map:
 * @keys: (transfer none): [N], integers or strings
 * @values: (transfer none): a tensor [N] of the values, or a sequence of N tensors
 *
 * Returns: (transfer full) (nullable): the map; %NULL if the sizes do not fit together
 */
IrTensor *
ir_tensor_new_map (IrTensor *keys, IrTensor *values)
{
  IrTensor *items[2] = { keys, values };
  gint64 n = keys->rank == 1 ? keys->dims[0] : -1;

  if (keys->kind != IR_TYPE_TENSOR ||
      !(keys->dtype == IR_DTYPE_STRING || ir_dtype_is_integer (keys->dtype)) ||
      !(values->kind == IR_TYPE_SEQUENCE
            ? (gint64) values->n_items == n
            : values->kind == IR_TYPE_TENSOR && values->rank == 1 && values->dims[0] == n))
    return NULL;
  return new_container (IR_TYPE_MAP,
                        values->kind == IR_TYPE_SEQUENCE ? copy_declared (values->declared)
                                                         : declare_item (values),
                        items, 2);
}

/* How many closures hold each other below @tensor, itself included */
static guint
closures_of (const IrTensor *tensor)
{
  guint depth = 0;

  if (tensor->closure != NULL)
    return tensor->closure->depth;
  for (guint i = 0; i < (tensor->alike ? 0 : tensor->n_items); i++)
    depth = MAX (depth, closures_of (tensor->items[i]));
  return depth;
}

/**
 * ir_tensor_new_closure:
 * @function: which function, as ir_function_key() names it
 * @type: what it takes besides @items, and gives, as ir_type_to_string() prints it
 * @items: (array length=n_items) (transfer none): the first of its inputs, shared
 * @n_items: how many
 *
 * Returns: (transfer full) (nullable): the closure; %NULL if closures hold each other more than 1,000 deep in it
 */
IrTensor *
ir_tensor_new_closure (const char *function,
                       const char *type,
                       IrTensor *const *items,
                       guint n_items)
{
  guint depth = 1;
  IrType *declared;

  for (guint i = 0; i < n_items; i++)
    depth = MAX (depth, closures_of (items[i]) + 1);
  if (depth > MAX_CLOSURES)
    return NULL;
  declared = g_new0 (IrType, 1); /* items are of any type */
  declared->rank = IR_RANK_UNKNOWN;
  IrTensor *tensor = new_container (IR_TYPE_CLOSURE, declared, items, n_items);
  if (tensor == NULL)
    return NULL;
  gsize length = strlen (function) + 1;
  tensor->closure = g_malloc (sizeof *tensor->closure + length + strlen (type) + 1);
  tensor->closure->depth = depth;
  tensor->closure->function = (char *) (tensor->closure + 1);
  tensor->closure->type = tensor->closure->function + length;
  strcpy (tensor->closure->function, function);
  strcpy (tensor->closure->type, type);
  return tensor;
}

/**
 * ir_tensor_closure_function:
 * @tensor: a tensor or container
 *
 * Returns: (transfer none) (nullable): the function of a closure, as ir_function_key() names it
 */
const char *
ir_tensor_closure_function (const IrTensor *tensor)
{
  return tensor->closure != NULL ? tensor->closure->function : NULL;
}

/**
 * ir_tensor_entry:
 * @tensor: a dense tensor
 * @index: flat index
 *
 * Returns: (transfer full) (nullable): that element as a scalar; %NULL if there is none
 */
IrTensor *
ir_tensor_entry (const IrTensor *tensor, guint64 index)
{
  gsize size = ir_dtype_bits (tensor->dtype) / 8;

  if (tensor->kind != IR_TYPE_TENSOR || index >= tensor->n_elements)
    return NULL;
  if (tensor->dtype == IR_DTYPE_STRING)
    {
      GBytes *string = ir_tensor_string (tensor, index);
      return ir_tensor_new_strings (0, NULL, &string);
    }
  IrTensor *entry = ir_tensor_new_alloc (tensor->dtype, 0, NULL, NULL);
  if (entry != NULL && ir_dtype_bits (tensor->dtype) % 8 == 0)
    memcpy (ir_tensor_data_writable (entry),
            (const guint8 *) ir_tensor_data (tensor) + index * size, size);
  else if (entry != NULL)
    ir_dtype_set_code (tensor->dtype, ir_tensor_data_writable (entry), 0,
                       ir_dtype_get_code (tensor->dtype, ir_tensor_data (tensor), index));
  return entry;
}

/**
 * ir_tensor_with_items:
 * @container: a container
 * @items: (transfer none): as many as it has, of the same types
 *
 * Returns: (transfer full): a container of the same kind with @items in place of its own
 */
IrTensor *
ir_tensor_with_items (const IrTensor *container, IrTensor *const *items)
{
  if (container->closure != NULL)
    return ir_tensor_new_closure (container->closure->function, container->closure->type, items,
                                  container->n_items);
  return new_container (container->kind, copy_declared (container->declared), items,
                        container->n_items);
}

void
ir_container_clear (IrTensor *tensor)
{
  g_clear_pointer (&tensor->store, store_unref);
  g_clear_pointer (&tensor->declared, free_declared);
  g_clear_pointer (&tensor->closure, g_free);
}

/* -- reading -- */

/**
 * ir_tensor_kind:
 * @tensor: a tensor or container
 *
 * Returns: %IR_TYPE_TENSOR, %IR_TYPE_SPARSE_TENSOR, %IR_TYPE_SEQUENCE, %IR_TYPE_OPTIONAL,
 *   %IR_TYPE_MAP or %IR_TYPE_CLOSURE
 */
IrTypeKind
ir_tensor_kind (const IrTensor *tensor)
{
  return tensor->kind;
}

/**
 * ir_tensor_is_container:
 * @tensor: a tensor or container
 *
 * Returns: whether it is a sequence, an optional, a map or a closure: it has no elements of its own
 */
gboolean
ir_tensor_is_container (const IrTensor *tensor)
{
  return tensor->declared != NULL;
}

/**
 * ir_tensor_n_items:
 * @tensor: a tensor or container
 *
 * Returns: sequences: their length; optionals: 0 or 1; maps: 2, the keys and the values; closures: the
 *   inputs that they have; else 0
 */
guint
ir_tensor_n_items (const IrTensor *tensor)
{
  return tensor->n_items;
}

/**
 * ir_tensor_item:
 * @tensor: a tensor or container
 * @index: from 0
 *
 * Returns: (transfer none) (nullable): the item; of maps 0 the keys, 1 the values; %NULL if there
 *   is none
 */
IrTensor *
ir_tensor_item (const IrTensor *tensor, guint index)
{
  return index < tensor->n_items ? tensor->items[index] : NULL;
}

/**
 * ir_tensor_item_store:
 * @tensor: a tensor or container
 *
 * Returns: (transfer none) (nullable): what the items lie in, to be compared alone; sequences that have it in
 *   common hold the items of the longest of them; %NULL: no container
 */
gconstpointer
ir_tensor_item_store (const IrTensor *tensor)
{
  return tensor->store;
}

/**
 * ir_tensor_stored_item:
 * @tensor: a container
 * @index: of an item that a container with the same store has
 *
 * Returns: (transfer none) (nullable): that item
 */
IrTensor *
ir_tensor_stored_item (const IrTensor *tensor, guint index)
{
  return tensor->store != NULL && index < (guint) g_atomic_int_get (&tensor->store->n_used)
             ? tensor->store->items[index]
             : NULL;
}

/* Whether @item says nothing new; FALSE for what would have to be looked into. */
static gboolean
fits (const IrType *type, const IrTensor *item)
{
  if (type->kind != IR_TYPE_TENSOR || item->kind != IR_TYPE_TENSOR)
    return FALSE;
  gboolean fits = type->rank == IR_RANK_UNKNOWN || type->rank == (int) item->rank;
  for (int i = 0; fits && i < type->rank; i++)
    fits = type->dims[i] == IR_DIM_UNKNOWN || type->dims[i] == item->dims[i];
  return fits;
}

/**
 * ir_tensor_item_type:
 * @tensor: a container
 * @context: where the type lives
 *
 * Returns: (transfer none) (nullable): type of its items, of maps of their values; with the dims
 *   that all of them have; %NULL if @tensor is no container
 */
const IrType *
ir_tensor_item_type (const IrTensor *tensor, IrContext *context)
{
  const IrType *type = NULL;

  if (tensor->kind == IR_TYPE_MAP)
    return tensor->items[1]->kind == IR_TYPE_SEQUENCE
               ? ir_tensor_item_type (tensor->items[1], context)
               : ir_type_tensor (context, tensor->items[1]->dtype, 0, NULL);
  for (guint i = 0; i < (tensor->alike ? MIN (tensor->n_items, 1) : tensor->n_items); i++)
    {
      if (type != NULL && fits (type, tensor->items[i]))
        continue;
      const IrType *item = ir_tensor_type (tensor->items[i], context);
      type = type != NULL ? join_types (context, type, item) : item;
    }
  return type != NULL || tensor->declared == NULL ? type
                                                  : intern_declared (context, tensor->declared);
}

const IrType *
ir_container_type (const IrTensor *tensor, IrContext *context)
{
  const IrType *type = tensor->closure != NULL
                           ? ir_type_parse (context, tensor->closure->type, NULL)
                           : NULL;

  if (tensor->closure != NULL)
    return type != NULL ? type : ir_type_closure (context, NULL, 0, 0);
  const IrType *item = ir_tensor_item_type (tensor, context);
  if (tensor->kind == IR_TYPE_MAP)
    return ir_type_map (context, tensor->items[0]->dtype, item);
  return tensor->kind == IR_TYPE_OPTIONAL ? ir_type_optional (context, item)
                                          : ir_type_sequence (context, item);
}

gboolean
ir_container_equal (const IrTensor *a, const IrTensor *b)
{
  gboolean equal = a->n_items == b->n_items && same_declared (a->declared, b->declared) &&
                   g_strcmp0 (ir_tensor_closure_function (a), ir_tensor_closure_function (b)) == 0;

  for (guint i = 0; equal && i < a->n_items; i++)
    equal = ir_tensor_equal (a->items[i], b->items[i]);
  return equal;
}

guint64
ir_container_hash (const IrTensor *tensor, guint64 seed)
{
  guint64 hash = seed * 31 + (guint64) tensor->kind;

  if (tensor->closure != NULL)
    hash = hash * 31 + g_str_hash (tensor->closure->function);

  for (guint i = 0; i < tensor->n_items; i++)
    hash = hash * G_GUINT64_CONSTANT (0x9fb21c651e98df25) + ir_tensor_hash (tensor->items[i]);
  return hash;
}

/* -- text -- */

static void
append_item (GString *text, const IrTensor *item, guint max_elements)
{
  g_autofree char *item_text = ir_tensor_to_string (item, max_elements);

  g_string_append (text, item_text);
}

static void
append_entry (GString *text, const IrTensor *entries, guint index)
{
  g_autoptr (IrTensor) entry = ir_tensor_entry (entries, index);

  if (entry != NULL)
    append_item (text, entry, 1);
}

static char *
map_to_string (const IrTensor *tensor, guint max_elements)
{
  g_autoptr (GString) text = g_string_new ("{");
  const IrTensor *keys = tensor->items[0], *values = tensor->items[1];
  guint n = (guint) MIN (keys->n_elements, max_elements);

  for (guint i = 0; i < n; i++)
    {
      g_string_append (text, i > 0 ? ", " : "");
      append_entry (text, keys, i);
      g_string_append (text, ": ");
      if (values->kind == IR_TYPE_SEQUENCE)
        append_item (text, values->items[i], max_elements / n);
      else
        append_entry (text, values, i);
    }
  g_string_append (text, n == keys->n_elements ? "}" : n > 0 ? ", ...}" : "...}");
  return g_strdup (text->str);
}

char *
ir_container_to_string (const IrTensor *tensor, guint max_elements)
{
  g_autoptr (GString) text = g_string_new (NULL);
  guint n = MIN (tensor->n_items, max_elements);

  if (tensor->kind == IR_TYPE_MAP)
    return map_to_string (tensor, max_elements);
  if (tensor->kind == IR_TYPE_OPTIONAL)
    return tensor->n_items > 0 ? ir_tensor_to_string (tensor->items[0], max_elements)
                               : g_strdup ("none");
  if (tensor->closure != NULL)
    g_string_append (text, tensor->closure->function);
  g_string_append_c (text, '(');
  for (guint i = 0; i < n; i++)
    {
      g_string_append (text, i > 0 ? ", " : "");
      append_item (text, tensor->items[i], MAX (max_elements / n, 1));
    }
  g_string_append (text, n == tensor->n_items ? ")" : n > 0 ? ", ...)" : "...)");
  return g_strdup (text->str);
}
