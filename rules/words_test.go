package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentslo/agentslo/rules"
)

// What alerts and explanations say of an SLO says what its keys ask for.
func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"abandoned_spend: {objective: 99%}":                                      "99% of runs begin no work after the caller went away",
		"abandoned_spend: {objective: 99%, deadline: 60s}":                       "99% of runs begin no work after the caller went away or 1m passed",
		"abandoned_spend: {objective: 99%, deadline: {attribute: app.deadline}}": "99% of runs begin no work after the caller went away or the deadline in app.deadline passed",
		"abstention: {objective: 71%}":                                           "71% of runs are answered rather than declined, handed over or failed",
		"completion: {objective: 99%, provider_faults: exclude}":                 "99% of runs end with an answer, a refusal or a hand-over to a person, its provider's trouble aside",
		"completion: {objective: 99%, provider_faults: blame}":                   "99% of runs end with an answer, a refusal or a hand-over to a person",
	} {
		s := set(t, "service: a\nenvironment: prod\nslos: {"+text+"}\n")
		require.Equal(t, want, rules.Sentence(&s.Files[0].SLOs[0]))
	}
}
