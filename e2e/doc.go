// Package e2e runs the built programs as their users do: the command line, the
// Collector distribution and the example agents, with Debian's Prometheus and
// Alertmanager, and agents on real frameworks (package frameworks). Its tests
// have the build tag e2e.
package e2e
