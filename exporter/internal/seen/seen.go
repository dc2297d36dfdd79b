// Package seen remembers which span ids were counted, in bounded memory.
package seen

import (
	"encoding/binary"
	"errors"
	"iter"
)

// Set is a bounded set of span ids. It remembers at least the newest half of
// its capacity, and at most all of it: when one generation of half the
// capacity is full, the one before it is forgotten as a whole. It takes about
// 20 bytes an id, and only for ids that came. It is not safe for concurrent
// use.
type Set struct {
	half              int
	current, previous map[uint64]struct{}
}

// New returns a set for that many ids, at least two.
func New(capacity int) *Set {
	return &Set{half: max(capacity/2, 1), current: map[uint64]struct{}{}}
}

// Add adds the id and reports whether it was not there.
func (s *Set) Add(id uint64) bool {
	if _, ok := s.current[id]; ok {
		return false
	}
	if _, ok := s.previous[id]; ok {
		return false
	}
	if len(s.current) >= s.half {
		s.previous, s.current = s.current, make(map[uint64]struct{}, s.half)
	}
	s.current[id] = struct{}{}
	return true
}

// Has reports whether the id is there.
func (s *Set) Has(id uint64) bool {
	_, current := s.current[id]
	_, previous := s.previous[id]
	return current || previous
}

// Len is the number of ids that are remembered.
func (s *Set) Len() int { return len(s.current) + len(s.previous) }

// Encode gives the ids, the older generation first, 8 bytes each.
func (s *Set) Encode() []byte {
	data := make([]byte, 0, 8*s.Len())
	for id := range s.All() {
		data = binary.BigEndian.AppendUint64(data, id)
	}
	return data
}

// All gives the ids, the older generation first.
func (s *Set) All() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for _, generation := range []map[uint64]struct{}{s.previous, s.current} {
			for id := range generation {
				if !yield(id) {
					return
				}
			}
		}
	}
}

// Decode adds what Encode gave; a smaller set keeps the newer ids.
func (s *Set) Decode(data []byte) error {
	if len(data)%8 != 0 {
		return errors.New("span ids are cut short")
	}
	for ; len(data) > 0; data = data[8:] {
		s.Add(binary.BigEndian.Uint64(data))
	}
	return nil
}
