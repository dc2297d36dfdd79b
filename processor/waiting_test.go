package processor

import (
	"testing"
	"time"

	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// What waits comes out in the order in which it is due, whatever the order in
// which it went in, and one run waits once.
func TestWaitingRunsComeOutAsTheyAreDue(t *testing.T) {
	file := &slo.File{SLOs: []slo.Objective{{Name: "soon", Wait: time.Minute}, {Name: "late", Wait: time.Hour}}}
	start := time.Unix(1000, 0)
	of := func(id byte, after time.Duration, pending ...string) *waitingRun {
		return &waitingRun{Run: &run.Run{ID: [16]byte{id}}, Pending: pending, Since: start.Add(after), file: file}
	}
	q := newWaitingRuns()
	q.put(of(1, 0, "late"))
	q.put(of(2, 30*time.Second, "soon"))
	both := of(3, 0, "soon", "late")
	q.put(both)
	q.put(of(2, 10*time.Second, "soon")) // the same run again, over sooner

	if w := q.due(start.Add(59 * time.Second)); w != nil {
		t.Fatalf("run %d is due too soon", w.Run.ID[0])
	}
	if w := q.due(start.Add(time.Minute)); w != both {
		t.Fatalf("due first: %v", w)
	}
	both.Pending = []string{"late"}
	q.put(both)
	var order []byte
	for w := q.first(); w != nil; w = q.first() {
		order = append(order, w.Run.ID[0])
		w.Pending = nil
		q.put(w)
	}
	if len(order) != 3 || order[0] != 2 { // 1 and 3 are due at the same time
		t.Errorf("order %v", order)
	}
	if len(q.runs) != 0 {
		t.Errorf("%d runs left", len(q.runs))
	}
}
