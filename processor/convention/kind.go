package convention

import (
	"math/bits"
	"strings"
)

// kind finds the span's own vocabulary and what the span is.
func (f *Facts) kind(r *reading, keys *table) {
	if r.mask[slotSpanType] != 0 && r.text(slotSpanType) == "pending_span" {
		f.Kind, f.Convention = Ignore, pydanticAIVocabulary.name
		return
	}
	said := false // a kind word that nobody knows
	for m := r.mask[slotKind]; m != 0; m &= m - 1 {
		id := vocabularyID(bits.TrailingZeros32(m))
		v := vocabularies[id]
		word := r.value[id][slotKind].Str()
		var k Kind
		if v.kind != nil {
			k = v.kind(r, word)
		} else {
			k = keys.kinds[id].find(word)
		}
		if k == Other {
			said = said || id == openInference || id == otelGenAI
			continue
		}
		f.Kind, f.Convention, r.own = k, v.name, 1<<id
		break
	}
	accents := (r.seen | r.scope.emits) & emitters
	if f.Kind == Other {
		// By name, for spans of a vocabulary's scope or with its keys.
		for m := r.seen | r.scope.emits; m != 0; m &= m - 1 {
			id := bits.TrailingZeros32(m)
			v := vocabularies[id]
			if v.named == nil {
				continue
			}
			if k := v.named(r.name, r.scope.emits&(1<<id) != 0); k != Other {
				f.Kind, f.Convention, r.own = k, v.name, 1<<id
				break
			}
		}
	}
	switch {
	case f.Kind != Other:
		// The transport of a model's work is not the work, whatever the
		// application's baggage puts on it.
		if (r.mask[slotHTTPMethod]|r.mask[slotMessaging]) != 0 && !r.scope.known {
			f.Kind, f.Convention = Other, ""
			return
		}
		if accents != 0 {
			f.Convention = vocabularies[bits.TrailingZeros32(accents)].name
		}
	case r.scope.store, r.mask[slotStore] != 0 && vectorStore(r.text(slotStore)):
		if f.Kind = storeKind(r); f.Kind != Other {
			f.Convention, r.own = traceloopVocabulary.name, 1<<traceloop
		}
	case said && strings.EqualFold(r.text(slotKind), "unknown"):
		f.Kind, f.Convention = Step, vocabularies[otelGenAI].name
	case said, r.scope.known:
		f.Kind = Unrecognised
	case r.bare():
		f.Tentative = adkKind(r.name, false)
		if f.Tentative != Other {
			f.TentativeOf = googleADKVocabulary.name
			if f.Tentative == Tool {
				f.ToolName = strings.TrimPrefix(r.name, "execute_tool ")
			}
		}
	}
}

// names reads what any span may say of agent, workflow and run.
func (f *Facts) names(r *reading) {
	f.AgentName = r.text(slotAgentName)
	f.WorkflowName = r.text(slotWorkflowName)
	f.RunID = r.text(slotRunID)
	f.Placeholder = placeholder(f.AgentName) || f.AgentName == "" && placeholder(f.WorkflowName)
	if v, ok := r.get(slotNested); ok && f.Kind == Agent {
		f.Nested = truth(v)
	}
}

// Placeholder says whether a name is what an emitter writes when nobody gave
// the agent one: no name while there is a better one.
func Placeholder(name string) bool { return placeholder(name) }

func placeholder(name string) bool {
	switch len(name) {
	case len("agent"):
		return strings.EqualFold(name, "agent")
	case len("OpenAI Agent"):
		return strings.EqualFold(name, "OpenAI Agent")
	case len("Agent Workflow"):
		return strings.EqualFold(name, "Agent Workflow")
	}
	return false
}
