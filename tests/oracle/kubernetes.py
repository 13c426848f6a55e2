"""Makes kubernetes.json: what of Kubernetes' API the manifests of `offered kubernetes` are held to.

From the OpenAPI documents of Kubernetes itself (Apache-2.0), version 1.36.3, as its Go module brings them:

    go mod download -json k8s.io/kubernetes@v1.36.3      # says where: "Dir"
    python3 tests/oracle/kubernetes.py DIR > tests/oracle/kubernetes.json

Kept are Job and ConfigMap with all that they refer to, without descriptions and defaults. A field that is not there is refused,
as `kubectl apply` and the API server's strict validation do.
"""

import json
import sys

FOLDER = sys.argv[1] + "/api/openapi-spec/v3/"
KINDS = {"Job": "io.k8s.api.batch.v1.Job", "ConfigMap": "io.k8s.api.core.v1.ConfigMap"}
# Quantities are texts or numbers there by a format that JSON Schema does not know; times are texts.
TELLING = ("$ref", "type", "properties", "items", "required", "additionalProperties", "enum", "allOf", "oneOf", "format")


def plain(schema):
    if isinstance(schema, list):
        return [plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, value in schema.items():
        if key == "properties":
            kept[key] = {name: plain(inner) for name, inner in value.items()}
        elif key == "$ref":
            kept[key] = "#/$defs/" + value.rsplit("/", 1)[1]
        elif key == "allOf" and len(value) == 1:
            kept.update(plain(value[0]))
        elif key in TELLING:
            kept[key] = plain(value)
    if "properties" in kept:
        kept["additionalProperties"] = False
    return kept


known = {}
for name in ("apis__batch__v1_openapi.json", "api__v1_openapi.json"):
    known |= json.load(open(FOLDER + name))["components"]["schemas"]
defs, wanted = {}, list(KINDS.values())
while wanted:
    name = wanted.pop()
    if name not in defs:
        defs[name] = plain(known[name])
        wanted += [ref.split("/")[-1].rstrip('"') for ref in json.dumps(defs[name]).split('"#')[1:] for ref in ["#" + ref.split('"')[0]]]
print(json.dumps({"$defs": dict(sorted(defs.items()))}, separators=(",", ":"), sort_keys=True))
