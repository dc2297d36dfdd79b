// Package gate reads error budgets from any Prometheus HTTP API and decides
// whether a release may go ahead.
//
// It knows the names of the exporter's counters and their PromQL, and needs no
// rules to be loaded: counts are whole numbers as the exporter published them,
// never extrapolated. It knows nothing of spans, runs or alerting.
package gate
