package convention

import (
	"math/bits"
	"strings"
)

// entry is what one attribute key means.
type entry struct {
	key        string
	vocabulary vocabularyID
	slot       slot // noSlot: only a file asks for it
	rank       uint8
	name       int16 // index into Extractor.Names; -1 no file asks for it
	place      int16 // in the table
}

// table finds entries by key: open addressing over a hash of the key's length,
// its last eight bytes and the eight in its middle, since keys of one
// convention share their beginning.
type table struct {
	shift   uint8
	places  []uint16 // place of the entry plus one; 0 free
	entries []entry
	// prefixes by the first byte of the key.
	prefixes [256][]numbered
	kinds    [vocabularyCount]kindTable
}

// kindTable finds a vocabulary's kind words.
type kindTable struct {
	shift  uint8
	places []kindWord // a free place has the empty word
}

type kindWord struct {
	text string
	kind Kind
}

func newKindTable(words map[string]Kind) kindTable {
	if len(words) == 0 {
		return kindTable{}
	}
	size := 1 << bits.Len(uint(len(words)*4))
	t := kindTable{uint8(64 - bits.Len(uint(size-1))), make([]kindWord, size)}
	for text, kind := range words {
		i := hashKey(text) >> t.shift
		for t.places[i].text != "" {
			i = (i + 1) % uint64(size)
		}
		t.places[i] = kindWord{text, kind}
	}
	return t
}

// find is the kind of a word; [Other] if it is none.
func (t *kindTable) find(word string) Kind {
	if word == "" || len(t.places) == 0 {
		return Other
	}
	for i := hashKey(word) >> t.shift; ; i = (i + 1) & uint64(len(t.places)-1) {
		switch t.places[i].text {
		case word:
			return t.places[i].kind
		case "":
			return Other
		}
	}
}

type numbered struct {
	prefix
	vocabulary vocabularyID
}

func hashKey(s string) uint64 {
	n := len(s)
	if n < 8 {
		h := uint64(n)
		for i := 0; i < n; i++ {
			h = h<<8 | uint64(s[i])
		}
		return h * 0x9e3779b97f4a7c15
	}
	a, b := load64(s, n-8), load64(s, (n-8)/2)
	return (a ^ bits.RotateLeft64(b, 29) ^ uint64(n)<<40) * 0x9e3779b97f4a7c15
}

func load64(s string, i int) uint64 {
	s = s[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// find is the entry of a key, or nil.
func (t *table) find(key string) *entry {
	i := hashKey(key) >> t.shift
	for {
		p := t.places[i]
		if p == 0 {
			return nil
		}
		if e := &t.entries[p-1]; e.key == key {
			return e
		}
		if i++; i == uint64(len(t.places)) {
			i = 0
		}
	}
}

// familyOf is the numbered family of a key that has no entry, or nil.
func (t *table) familyOf(key string) *numbered {
	if key == "" {
		return nil
	}
	families := t.prefixes[key[0]]
	for i := range families {
		if strings.HasPrefix(key, families[i].text) {
			return &families[i]
		}
	}
	return nil
}

// newTable has the keys of all vocabularies and the names that files ask for.
func newTable(names []string) *table {
	t := &table{}
	index := map[string]int{}
	add := func(e entry) {
		if i, ok := index[e.key]; ok {
			if e.name >= 0 {
				t.entries[i].name = e.name
			}
			return
		}
		e.place = int16(len(t.entries))
		index[e.key] = len(t.entries)
		t.entries = append(t.entries, e)
	}
	for id, v := range vocabularies {
		t.kinds[id] = newKindTable(v.kinds)
		for _, k := range v.keys {
			add(entry{key: k.name, vocabulary: vocabularyID(id), slot: k.slot, rank: k.rank, name: -1})
		}
		for _, p := range v.prefixes {
			t.prefixes[p.text[0]] = append(t.prefixes[p.text[0]], numbered{p, vocabularyID(id)})
		}
	}
	for i, name := range names {
		if len(t.entries) == 1<<15-1 {
			break // more attributes than any file can ask for
		}
		add(entry{key: name, slot: noSlot, name: int16(i)})
	}
	size := 1 << bits.Len(uint(len(t.entries)*4))
	t.shift = uint8(64 - bits.Len(uint(size-1)))
	t.places = make([]uint16, size)
	for n, e := range t.entries {
		i := hashKey(e.key) >> t.shift
		for t.places[i] != 0 {
			if i++; i == uint64(size) {
				i = 0
			}
		}
		t.places[i] = uint16(n + 1)
	}
	return t
}
