package truth

// verdicts is the design's verdict table for examples/support-agent/slo.yaml,
// which expects a tool call always, names the evaluations correctness and
// groundedness (that nobody sends), 30 s, 0.25 USD and 3 repeats. No recording
// is near 30 s or 0.25 USD. Each value may list equally right ones.
func verdicts(outcome string, evidence, repeated bool) map[string]string {
	v := map[string]string{}
	switch outcome {
	case "answered":
		v["completion"] = "good"
		v["correctness"] = "unknown" // no verdict came within the wait
		v["latency"] = "good"
		v["grounding"] = "unknown" // the file expects a tool call always, so there is something to ground
		v["cost"] = "good"
		v["tool_free"] = "bad"
		if evidence {
			v["tool_free"] = "good"
		}
		v["no_progress"] = "good"
	case "error":
		v["completion"], v["correctness"] = "bad", "bad"
		v["latency"] = "excluded" // failing fast is not being fast
		v["grounding"], v["tool_free"] = "excluded", "excluded"
		v["cost"] = "excluded" // an outage's cheap runs must not refill the budget
		v["no_progress"] = "good"
	case "limit_reached":
		v["completion"], v["correctness"] = "bad", "bad"
		v["latency"] = "excluded"
		v["grounding"], v["tool_free"] = "excluded", "excluded"
		v["cost"] = "good"
		v["no_progress"] = "bad"
	case "cancelled":
		for _, name := range SLOs {
			v[name] = "excluded"
		}
	case "escalated", "abstained":
		v["completion"] = "good"
		v["correctness"] = "excluded"
		v["latency"] = "excluded" // no answer
		v["grounding"], v["tool_free"] = "excluded", "excluded"
		v["cost"] = "good"
		v["no_progress"] = "good"
	case "lost":
		v["completion"], v["correctness"] = "bad", "bad"
		v["latency"] = "unknown" // no root, and not past the threshold
		v["grounding"], v["tool_free"] = "excluded", "excluded|unknown"
		v["cost"] = "good|unknown"
		v["no_progress"] = "good"
	case "unknown":
		for _, name := range SLOs {
			v[name] = "unknown"
		}
		v["latency"] = "unknown|excluded" // no answer is seen
		v["grounding"] = "unknown|excluded"
		v["no_progress"] = "good|unknown" // a limit may have ended it
	}
	if repeated {
		v["no_progress"] = "bad" // also if the caller then left
	}
	return v
}

// judged adds what a judge's scores make of an answered run, by the least
// scores that the file asks for.
func judged(verdicts map[string]string, scores map[string]float64) {
	for slo, e := range map[string]struct {
		name  string
		least float64
	}{"correctness": {"correctness", 0.7}, "grounding": {"groundedness", 0.8}} {
		score, judged := scores[e.name]
		switch {
		case judged && score >= e.least:
			verdicts[slo] = "good"
		case judged:
			verdicts[slo] = "bad"
		}
	}
}

// SLOs are the names in examples/support-agent/slo.yaml.
var SLOs = []string{"completion", "correctness", "latency", "grounding", "cost", "tool_free", "no_progress"}
