// Package series holds what agent_slo counts: counters and histograms with
// the time of their birth, caps on their labels, and the collector that shows
// them to Prometheus. It knows summaries, and nothing of the Collector.
package series
