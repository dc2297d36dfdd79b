// Package gate reads error budgets from any Prometheus HTTP API and decides
// whether a release may go ahead.
//
// It knows the names of the exporter's counters and their PromQL, and needs no
// rules to be loaded: counts are whole numbers as the exporter published them,
// never extrapolated. It knows nothing of spans, runs or alerting.
//
// # Counting
//
// A counter's increase over a window is its last value less the one at the
// window's start, with what resets took away added up. A series without a
// sample in the week before the window was born inside it, at 0; [Read] tells
// apart the two cases where it was not: the server does not keep samples as
// old as that, or the series goes on from another that is gone, as when a
// Collector is restored from its checkpoint under another name. Series of
// several replicas are summed, and one that is gone still counts what it
// counted.
//
// # Deciding
//
// A budget blocks when less than policy.freeze_below of it is left, or nothing;
// it passes from policy.resume_above on. In between, the side that it came from
// counts: history says which of the two it crossed last, so the gate keeps no
// state, and two gates that ask at one time agree.
//
// A budget is an account of what happened, and needs no interval to be spent.
// But few runs say little about the release that is to come. So nothing passes
// on fewer runs than it takes, all of them good, to show the objective with 95%
// confidence (299 at 99%), and so few block only when their error ratio is
// above the tolerated one with the same confidence (the one-sided
// Clopper-Pearson bound). What is neither is insufficient evidence; so are
// unknown and excluded runs above max_excluded, unless what is known blocks
// even if each unknown run was good, and an exporter that is silent.
//
// What cannot be read is an error. There is no way from an error to a pass.
package gate
