package seen

import (
	"math/rand/v2"
	"testing"
)

func TestRemembersTheNewest(t *testing.T) {
	s := New(100)
	for id := range uint64(10_000) {
		if !s.Add(id) {
			t.Fatalf("%d was there before it came", id)
		}
		for _, back := range []uint64{0, 1, 49} { // half the capacity is promised
			if id >= back && s.Add(id-back) {
				t.Fatalf("%d was forgotten %d ids later", id-back, back)
			}
		}
		if s.Len() > 100 {
			t.Fatalf("%d ids are held", s.Len())
		}
	}
	if s.Has(9_000) {
		t.Error("an id from 1000 ids ago is still held")
	}
}

func TestEncodeDecode(t *testing.T) {
	s := New(1000)
	r := rand.New(rand.NewPCG(1, 1))
	var ids []uint64
	for range 700 {
		id := r.Uint64()
		ids = append(ids, id)
		s.Add(id)
	}
	again := New(1000)
	if err := again.Decode(s.Encode()); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if !again.Has(id) {
			t.Fatalf("%d was lost", id)
		}
	}
	smaller := New(100)
	if err := smaller.Decode(s.Encode()); err != nil {
		t.Fatal(err)
	}
	if smaller.Len() > 100 {
		t.Errorf("a set of 100 holds %d", smaller.Len())
	}
	if err := New(10).Decode(make([]byte, 9)); err == nil {
		t.Error("nine bytes were taken for ids")
	}
}
