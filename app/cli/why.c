#include "config.h"

#include "app/cli/why.h"

#include "app/cli/model.h"

#include <string.h>

/* Asks ir_why(). A rewrite may have given the name on: of all nodes of that name, the one that
 * explains most. Returns TRUE if there is an answer. @best: the answer; clear with
 * ir_why_clear(). */
gboolean
cli_why (IrModel *model,
         const char *rule,
         const char *name,
         IrClass max_class,
         IrWhy *best,
         GError **error)
{
  const IrNode *first = cli_find_node (model, name, error);

  if (first == NULL || !ir_why (model, rule, first->id, max_class, best, error))
    return FALSE;
  for (guint i = 1; i < model->nodes->len && first->name[0] != '\0'; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      IrWhy why;

      if (node == first || strcmp (node->name, name) != 0)
        continue;
      if (!ir_why (model, rule, node->id, max_class, &why, error))
        return FALSE;
      if (why.answer < best->answer)
        {
          IrWhy other = *best;
          *best = why;
          why = other;
        }
      ir_why_clear (&why);
    }
  return TRUE;
}
