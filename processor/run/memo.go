package run

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/agentslo/agentslo/slo"
)

// memo remembers what a function says of names, for the first names that it is
// asked for. Reading takes no lock.
type memo[V any] struct {
	known atomic.Pointer[map[string]V]
	mu    sync.Mutex
}

// maxMemo bounds how many names one memo holds: an attribute of telemetry may
// have any number of values.
const maxMemo = 1000

func (m *memo[V]) get(name string, of func(string) V) V {
	known := m.known.Load()
	if known != nil {
		if v, ok := (*known)[name]; ok {
			return v
		}
		if len(*known) >= maxMemo {
			return of(name)
		}
	}
	v := of(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	next := map[string]V{}
	if known = m.known.Load(); known != nil {
		next = maps.Clone(*known)
	}
	next[strings.Clone(name)] = v
	m.known.Store(&next)
	return v
}

// lists is what one file says of the names of tools and models.
type lists struct {
	file   *slo.File // nil: the built-in lists
	tools  memo[toolKind]
	prices memo[rates]
	agents bool // some SLO counts the work of sub-agents
}

func newLists(files *slo.Set) map[*slo.File]*lists {
	all := map[*slo.File]*lists{nil: {}}
	for _, f := range files.Files {
		all[f] = &lists{file: f, agents: f.HasScope(slo.ScopeAgent)}
	}
	return all
}
