"""The part of JSON Schema that the schemas of data/schema use, and that no time is below 0."""

import re

TYPES = {'object': dict, 'array': list, 'string': str, 'boolean': bool, 'null': type(None),
         'number': (int, float), 'integer': int}
TIME = re.compile(r'(^|_)(ns|us|ms|seconds)$')


def is_of_type(value, name):
    if isinstance(value, bool):
        return name == 'boolean'
    return isinstance(value, TYPES[name])


def violations(value, schema, place='$'):
    """What of value does not fit, a line each."""
    if 'enum' in schema and value not in schema['enum']:
        yield f'{place}: {value!r} is none of {schema["enum"]}'
    types = schema.get('type', [])
    types = types if isinstance(types, list) else [types]
    if types and not any(is_of_type(value, t) for t in types):
        yield f'{place}: {value!r} is no {" or ".join(types)}'
        return
    if isinstance(value, dict):
        known = schema.get('properties', {})
        for key in schema.get('required', []):
            if key not in value:
                yield f'{place}: {key} is missing'
        for key, inner in value.items():
            if TIME.search(key) and is_of_type(inner, 'number') and inner < 0:
                yield f'{place}.{key}: {inner} is before it began'
            if key in known:
                yield from violations(inner, known[key], f'{place}.{key}')
            elif isinstance(schema.get('additionalProperties'), dict):
                yield from violations(inner, schema['additionalProperties'], f'{place}.{key}')
            elif known:
                yield f'{place}: {key} is in no schema'
    if isinstance(value, list) and 'items' in schema:
        for i, inner in enumerate(value):
            yield from violations(inner, schema['items'], f'{place}[{i}]')
