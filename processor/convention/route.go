package convention

import "strings"

// route finds entries by what came before: an emitter writes the attributes of
// one kind of span in the same order every time, so that the key which followed
// the last time is mostly the one that follows now. One comparison is less work
// than a hash, and also tells the keys that nobody asks for.
type route struct {
	table  *table
	steps  []step           // the first one is a span's beginning
	known  []int32          // step of each entry of the table; 0 none yet
	others map[string]int32 // steps of keys without an entry
}

// step is one key on the way.
type step struct {
	key    string
	next   [2]int32  // what followed last, and what did before that
	entry  *entry    // nil: no vocabulary has the key, and no file asks for it
	family *numbered // that the key belongs to, when it has no entry
}

// Bounds on what is learnt, so that keys which never come again cost no memory.
const (
	maxSteps   = 1024
	maxStepKey = 128 // bytes
)

func (r *route) reset(t *table) {
	*r = route{table: t, steps: make([]step, 1, 64), known: make([]int32, len(t.entries)), others: map[string]int32{}}
}

// after is the step of the key that follows the step at.
func (r *route) after(at int32, key string) int32 {
	next := r.steps[at].next
	if r.steps[next[0]].key == key {
		return next[0]
	}
	if r.steps[next[1]].key == key {
		return next[1]
	}
	n := r.step(key)
	r.steps[at].next = [2]int32{n, next[0]}
	return n
}

// step is the key's own step: 0 for one that is not learnt.
func (r *route) step(key string) int32 {
	e := r.table.find(key)
	if e != nil {
		if n := r.known[e.place]; n != 0 {
			return n
		}
	} else if n := r.others[key]; n != 0 {
		return n
	}
	n := int32(len(r.steps))
	s := step{entry: e}
	if e != nil {
		s.key = e.key
		r.known[e.place] = n
	} else {
		if n >= maxSteps || len(key) > maxStepKey {
			return 0
		}
		s.key = strings.Clone(key)
		s.family = r.table.familyOf(key)
		r.others[s.key] = n
	}
	r.steps = append(r.steps, s)
	return n
}
