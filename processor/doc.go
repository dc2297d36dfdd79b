// Package processor is the Collector processor agent_sli: spans and
// evaluations of agents in, the same spans out at once and unchanged, and one
// summary span a completed run with its verdicts.
//
// Its rooms are convention (span → facts), run (facts → run), sli (run →
// verdict) and summary (verdicts ⇄ span). [Engine] joins them without the
// Collector.
package processor
