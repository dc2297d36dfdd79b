package sli

import "github.com/agentslo/agentslo/processor/run"

// Signal is something that happened in runs and is counted, whether an SLO asks
// for it or not.
type Signal struct {
	Name string
	Doc  string
	of   func(*run.Checks) int
}

// Signals lists every signal. Names are label values: add some, never rename one.
var Signals = []Signal{
	{"guardrail_passed", "a guardrail let something pass", func(c *run.Checks) int { return c.Guardrails - c.GuardrailBlocks }},
	{"guardrail_blocked", "a guardrail refused", func(c *run.Checks) int { return c.GuardrailBlocks }},
	{"judge", "an evaluator span within the run", func(c *run.Checks) int { return c.Judges }},
	{"schema_failure", "an answer had not the form that was asked for", func(c *run.Checks) int { return c.SchemaFailures }},
	{"schema_given_up", "… and the run did not answer in the end; one a run", func(c *run.Checks) int {
		if c.SchemaGivenUp {
			return 1
		}
		return 0
	}},
	{"same_correction", "… and the complaint was that of the failure before", func(c *run.Checks) int { return c.SameCorrections }},
	{"schema_retry_clean", "the model call after such a failure was given no more than the one before it", func(c *run.Checks) int { return c.CleanRetries }},
	{"schema_retry_same_window", "it was given what the one before it was given, and its reply", func(c *run.Checks) int { return c.SameWindowRetries }},
	{"schema_retry_unknown", "its tokens do not tell", func(c *run.Checks) int { return c.OtherRetries }},
	{"resumed_from_checkpoint", "the run was taken up again from a checkpoint", func(c *run.Checks) int { return c.ConfirmedResumes }},
	{"resumed_unconfirmed", "… and nothing names one", func(c *run.Checks) int { return c.Resumes - c.ConfirmedResumes }},
}

// Count is how often the run shows the signal.
func (s *Signal) Count(r *run.Run) int { return max(s.of(&r.Checks), 0) }
