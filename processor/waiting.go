package processor

import (
	"container/heap"
	"math"
	"time"

	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/processor/sli"
	"github.com/agentslo/agentslo/slo"
)

// waitingRun is a completed run some of whose SLOs wait for evaluations.
type waitingRun struct {
	Run      *run.Run
	Pending  []string  // SLO names
	Since    time.Time // when it was completed, by the wall clock
	Pipeline int

	file  *slo.File
	at    int64 // when the first of the pending SLOs has waited long enough, Unix nanoseconds
	place int   // in the queue
}

// due is when the first of the pending SLOs has waited long enough.
func (w *waitingRun) due() time.Time {
	wait := time.Duration(math.MaxInt64)
	for _, name := range w.Pending {
		wait = min(wait, w.file.Objective(name).Wait)
	}
	return w.Since.Add(wait)
}

// judge decides the pending SLOs that can be decided: those whose wait is over
// by now, and those that the evaluations so far decide.
func (w *waitingRun) judge(now time.Time) (Judged, bool) {
	j := Judged{Run: w.Run, File: w.file}
	over := func(o *slo.Objective) bool { return now.Sub(w.Since) >= o.Wait }
	var rest []string
	for _, x := range sli.EvaluateOnly(w.file, w.Run, w.Pending, over) {
		if x.Pending {
			rest = append(rest, x.SLO)
		} else {
			j.Results = append(j.Results, x)
		}
	}
	w.Pending = rest
	return j, len(j.Results) > 0
}

// waitingRuns are waiting runs by id and in the order in which they are due,
// so that looking for what is due costs nothing while nothing is.
type waitingRuns struct {
	runs  map[[16]byte]*waitingRun
	queue waitingQueue
}

func newWaitingRuns() waitingRuns { return waitingRuns{runs: map[[16]byte]*waitingRun{}} }

// put takes w in, moves it to its place, or takes it out when it waits for
// nothing any more. It takes the place of another one with the same id.
func (q *waitingRuns) put(w *waitingRun) {
	old := q.runs[w.Run.ID]
	if old != nil && (old != w || len(w.Pending) == 0) {
		heap.Remove(&q.queue, old.place)
		delete(q.runs, w.Run.ID)
	}
	if len(w.Pending) == 0 {
		return
	}
	w.at = w.due().UnixNano()
	if old == w {
		heap.Fix(&q.queue, w.place)
		return
	}
	q.runs[w.Run.ID] = w
	heap.Push(&q.queue, w)
}

// first is the run that is due first; nil when none waits.
func (q *waitingRuns) first() *waitingRun {
	if len(q.queue) == 0 {
		return nil
	}
	return q.queue[0]
}

// due is the run that is due first, if it is due by now.
func (q *waitingRuns) due(now time.Time) *waitingRun {
	if w := q.first(); w != nil && w.at <= now.UnixNano() {
		return w
	}
	return nil
}

// waitingQueue is a heap by due time.
type waitingQueue []*waitingRun

func (q waitingQueue) Len() int           { return len(q) }
func (q waitingQueue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q waitingQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

func (q *waitingQueue) Push(x any) {
	w := x.(*waitingRun)
	w.place = len(*q)
	*q = append(*q, w)
}

func (q *waitingQueue) Pop() any {
	old := *q
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return w
}
