// Package backtest runs the generated rules, unchanged, on the Prometheus
// engine in simulated time: over synthetic traffic, recorded counts, or the
// history of a Prometheus. It says when they would have alerted, how much of
// the budget was gone by then, and which pages nobody should have had.
//
// It knows rules only as what package rules writes, and traffic only as the
// series that the exporter shows to a scraper.
//
// # How it is fast
//
// Evaluating every rule at every minute of a month costs minutes. But what a
// rule yields at an instant depends only on samples up to it, so a rule that
// reads neither its own output nor that of a later rule may be evaluated over
// a stretch of time by one range query, once those before it have been. Only
// rules with a memory are stepped minute by minute. Recording and stale markers
// follow the rule manager's ways, and alerts run through its own AlertingRule;
// a test holds that both ways record the same samples and alerts.
package backtest
