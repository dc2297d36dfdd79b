// Package exporter is the Collector exporter agent_slo: it counts the summary
// spans of agent_sli and publishes good, bad, unknown and excluded events as
// Prometheus counters.
//
// Counting is synchronous and in memory: there is no queue and no retry, and
// every summary span is counted once, however often it is sent.
package exporter
