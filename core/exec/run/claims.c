/* Claims: types that the file declares and that inference does not come to. Nothing relies on them, so
 * a run goes on where one is wrong, and says so. Only values about which something is claimed are
 * looked at; of the others it is known. */
#include "config.h"

#include "core/exec/run/claims.h"

struct _IrClaims
{
  IrRun *run;
  GHashTable *values;  /* set of IrValueId: those that are to be looked at */
  GHashTable *symbols; /* interned name -> gint64 *: the size that it had first */
};

static gboolean
is_told (const IrRun *run, const IrValue *value)
{
  for (guint i = 0; run->claims != NULL && i < run->claims->len; i++)
    if (g_array_index (run->claims, IrWrongClaim, i).value == value->id)
      return TRUE;
  return FALSE;
}

static void
wrong_claim_clear (gpointer data)
{
  g_free (((IrWrongClaim *) data)->text);
}

/* @why: (nullable): what the sentence ends with. */
static void
tell (IrClaims *claims, const IrValue *value, const IrType *found, const char *why)
{
  IrRun *run = claims->run;
  IrContext *context = run->model->context;
  /* The node whose output @value is, or the one that gives it to its body. */
  const IrNode *node = value->producer == NULL
                           ? ir_model_live_node (run->model, value->graph->owner)
                           : value->producer;

  if (is_told (run, value))
    return;
  g_autofree char *label = node != NULL ? ir_node_label (node) : g_strdup ("Graph");
  g_autofree char *is = ir_type_to_string (context, found);
  g_autofree char *declared = ir_type_to_string (context, value->claim);
  IrWrongClaim wrong = { value->id, node != NULL ? node->id : 0, value->claim, found, NULL };
  const char *what = value->producer != NULL            ? "output"
                     : value->graph == run->model->main ? "input"
                                                        : "input of the body";
  wrong.text = g_strdup_printf ("%s: %s %s is %s, the file declares %s%s", label, what, value->name,
                                is, declared, why != NULL ? why : "");
  if (run->claims == NULL)
    {
      run->claims = g_array_new (FALSE, FALSE, sizeof (IrWrongClaim));
      g_array_set_clear_func (run->claims, wrong_claim_clear);
    }
  g_array_append_val (run->claims, wrong);
}

/* What is known of values of the main graph and contradicts the claims is told at once. Returns
 * what ir_claims_check() needs; NULL: nothing is claimed. */
IrClaims *
ir_claims_new (IrRun *run, const GArray *claimed)
{
  IrClaims *claims;

  if (claimed == NULL)
    return NULL;
  claims = g_new0 (IrClaims, 1);
  claims->run = run;
  claims->values = g_hash_table_new (NULL, NULL);
  claims->symbols = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  for (guint i = 0; i < claimed->len; i++)
    {
      const IrValue *value = ir_model_value (run->model, g_array_index (claimed, IrValueId, i));
      if (value->graph == run->model->main && value->type != NULL &&
          ir_type_is_static (value->type) &&
          ir_type_merge (run->model->context, value->claim, value->type) == NULL)
        tell (claims, value, value->type, NULL);
      else
        g_hash_table_add (claims->values, GUINT_TO_POINTER (value->id));
    }
  return claims;
}

void
ir_claims_free (IrClaims *claims)
{
  if (claims == NULL)
    return;
  g_hash_table_unref (claims->values);
  g_hash_table_unref (claims->symbols);
  g_free (claims);
}

/* One symbol is one size: the first that it had. In bodies, which run more than once, it may be
 * another one each time. */
static void
check_symbols (IrClaims *claims, const IrValue *value, const IrType *found)
{
  IrContext *context = claims->run->model->context;

  for (int i = 0; i < found->rank; i++)
    {
      const char *name = ir_dim_symbol_name (context, value->claim->dims[i]);
      if (name == NULL || strcmp (name, "?") == 0)
        continue;
      gint64 size = found->dims[i], *first = g_hash_table_lookup (claims->symbols, name);
      if (first == NULL)
        g_hash_table_insert (claims->symbols, (gpointer) name, g_memdup2 (&size, sizeof size));
      else if (*first != size)
        {
          g_autofree char *why = g_strdup_printf (", where %s was %" G_GINT64_FORMAT " before",
                                                  name, *first);
          tell (claims, value, found, why);
          return;
        }
    }
}

/* Whether a dense tensor contradicts nothing of the claim, without a type made of it: bodies ask in each iteration. */
static gboolean
is_plainly_as (const IrTensor *tensor, const IrType *claim)
{
  if (claim->kind != IR_TYPE_TENSOR || ir_tensor_is_container (tensor) ||
      ir_tensor_sparse_values (tensor) != NULL || claim->dtype != ir_tensor_dtype (tensor) ||
      claim->rank < 0 || (guint) claim->rank != ir_tensor_rank (tensor))
    return FALSE;
  for (int i = 0; i < claim->rank; i++)
    if (ir_dim_is_known (claim->dims[i]) && claim->dims[i] != ir_tensor_dims (tensor)[i])
      return FALSE;
  return TRUE;
}

/* Tells the run once for each value that is not what the file declares */
void
ir_claims_check (IrClaims *claims, const IrValue *value, const IrTensor *tensor)
{
  const IrModel *model = claims->run->model;

  if (!g_hash_table_contains (claims->values, GUINT_TO_POINTER (value->id)))
    return;
  if (value->graph != model->main && is_plainly_as (tensor, value->claim))
    return;
  const IrType *found = ir_tensor_type (tensor, model->context);
  if (ir_type_merge (model->context, value->claim, found) == NULL)
    tell (claims, value, found, NULL);
  else if (value->graph == model->main && ir_type_is_tensor (found) &&
           ir_type_has_rank (value->claim))
    check_symbols (claims, value, found);
}
