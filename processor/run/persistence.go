package run

import "github.com/agentslo/agentslo/processor/convention"

// Persistence says what became of a failed tool call over the run.
type Persistence uint8

const (
	NotFailed    Persistence = iota
	Recovered                // a later same call succeeded
	Intermittent             // an earlier same call had succeeded, no later one did
	Permanent                // no same call succeeded, before or after
)

// String is the label value; "" of a call that did not fail.
func (p Persistence) String() string {
	return [...]string{"", "recovered", "intermittent", "permanent"}[p]
}

// persistence says of each failed call whether it failed for good. The same
// call is one of the same tool with the same arguments, or of the same tool
// where the arguments of either are not captured. Where the arguments were the
// fault, any later success of the tool is its recovery.
func (r *Run) persistence() {
	failed := false
	for i := range r.Tools {
		failed = failed || r.Tools[i].Failed()
	}
	if !failed {
		return
	}
	type key struct {
		tool string
		any  bool // whatever the arguments
		args uint64
	}
	last := map[key]int{} // place of the last call that succeeded
	const hidden = 1      // args of the calls whose arguments are not captured, with any
	for i := range r.Tools {
		t := &r.Tools[i]
		if !t.Succeeded() {
			continue
		}
		last[key{tool: t.Name, any: true}] = i
		if t.HasArgs {
			last[key{tool: t.Name, args: t.ArgsHash}] = i
		} else {
			last[key{tool: t.Name, any: true, args: hidden}] = i
		}
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		if !t.Failed() {
			continue
		}
		whatever, ok := last[key{tool: t.Name, any: true}]
		if !ok {
			t.Persistence = Permanent
			continue
		}
		same := []key{{tool: t.Name, any: true}}
		if t.HasArgs {
			same = []key{{tool: t.Name, args: t.ArgsHash}, {tool: t.Name, any: true, args: hidden}}
		}
		t.Persistence = Permanent
		for _, k := range same {
			switch at, ok := last[k]; {
			case !ok:
			case at > i:
				t.Persistence = Recovered
			case t.Persistence == Permanent:
				t.Persistence, t.doubtful = Intermittent, k.any
			}
		}
		if t.Class == convention.BadArgs && whatever > i {
			t.Persistence = Recovered
		}
		t.doubtful = t.doubtful && t.Persistence == Intermittent
	}
}
