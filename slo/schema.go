package slo

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var jsonSchema []byte

// JSONSchema is the JSON Schema (draft 2020-12) of an SLO file, for editors. It
// knows every key and the form of every value; what needs more than that, such
// as whether a CEL expression compiles, only [Parse] says.
func JSONSchema() []byte { return slices.Clone(jsonSchema) }
