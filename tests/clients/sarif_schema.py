"""Validates SARIF logs against the standard's JSON schema.

Usage: sarif_schema.py SCHEMA LOG...
"""

import json
import sys

from jsonschema import validators

schema = json.load(open(sys.argv[1], encoding="utf-8"))
assert "2.1.0" in json.dumps(schema.get("$id", schema.get("id", ""))) or "2.1.0" in schema["title"], "not SARIF 2.1.0"
validator = validators.validator_for(schema)
validator.check_schema(schema)
results = 0
for path in sys.argv[2:]:
    log = json.load(open(path, encoding="utf-8"))
    errors = [f"{path}: {list(error.absolute_path)}: {error.message[:300]}" for error in validator(schema).iter_errors(log)]
    assert not errors, "\n".join(errors)
    results += len(log["runs"][0]["results"])
print(f"{len(sys.argv) - 2} logs with {results} results are SARIF 2.1.0")
