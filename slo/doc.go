// Package slo knows the SLO file: its types, strict YAML parsing with
// positions, validation, the CEL environment of its expressions, model prices,
// tool lists, and the arithmetic of budgets and evidence.
//
// It is the root of the import graph: it imports no other package of this
// module and knows nothing of telemetry attributes, PromQL or Grafana.
package slo
