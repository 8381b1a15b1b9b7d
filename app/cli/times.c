#include "config.h"

#include "app/cli/times.h"

/* Adds null where nothing was measured */
void
cli_json_add_times (cJSON *object, const char *key, const IrTimes *times)
{
  if (times->n == 0)
    {
      cJSON_AddNullToObject (object, key);
      return;
    }
  cJSON *added = cJSON_AddObjectToObject (object, key);
  cJSON_AddNumberToObject (added, "median", times->median);
  cJSON_AddNumberToObject (added, "min", times->min);
  cJSON_AddNumberToObject (added, "q1", times->q1);
  cJSON_AddNumberToObject (added, "q3", times->q3);
  cJSON_AddNumberToObject (added, "max", times->max);
  cJSON_AddNumberToObject (added, "runs", times->n);
}
