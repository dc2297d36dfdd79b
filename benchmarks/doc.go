// Command benchmarks measures the agent_sli processor beside what else a
// Collector would do with the same spans, in one run on one machine: so the
// ratios can be compared over time and between machines, and the absolute
// numbers only with themselves.
//
// It is a module of its own because its peers are no dependency of agentslo.
package main
