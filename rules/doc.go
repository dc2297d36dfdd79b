// Package rules turns SLO files into Prometheus rules: exact event counts,
// error ratios, burn rates, evidence and budgets as recorded series, and the
// alerts over them.
//
// It and package gate are the only places that write PromQL. It knows nothing
// of spans, runs or how a verdict comes about: its input is the exporter's
// counter agentslo_events_total, its output are rule groups, their unit tests,
// and query builders for dashboards and pages.
//
// # How events are counted
//
// increase() and rate() extrapolate and cannot see a counter's first sample;
// at ten runs an hour that is an error of several percent. So every SLO has
// one recorded state, [State], with two kinds of series, told apart by the
// label agentslo_part:
//
//   - seen: per exporter series, the value that was last counted. Its integer
//     part is the value; its fraction counts the evaluations since the series
//     was last there (1/16384 each), so that a replica that is gone for good is
//     forgotten after [ForgetAfter] evaluations.
//   - total: per verdict, everything counted so far.
//
// At each evaluation total grows by the difference between each exporter
// series and what was seen of it, or by the whole value after a reset. Both
// kinds are the output of one rule: Prometheus commits a rule's output as a
// whole, so an evaluation either counts and remembers or does neither, and the
// next one makes up for it. The state before is always read one millisecond
// back, so neither the order nor concurrency of rules can matter.
//
// The increase over a window is total now less total at the window's start:
// one sample each, whatever the window. Behind them stand coarse looks back
// for holes in the recording, a fixed number of samples again. README.md of
// this package has the list of what is exact, what heals and what is lost.
package rules
