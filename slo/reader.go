package slo

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	maxFaults = 200    // of one file; a foreign file would have one a line
	maxNodes  = 200000 // visited; only aliases within aliases get there
)

// reader walks the YAML nodes of one file and collects faults. Its methods
// never stop at a fault: they report it and give the zero value.
type reader struct {
	path   string
	source []byte
	faults Faults
	nodes  int
}

func (r *reader) fault(n *yaml.Node, format string, args ...any) {
	r.faultAt(n.Line, n.Column, format, args...)
}

func (r *reader) faultAt(line, column int, format string, args ...any) {
	switch {
	case len(r.faults) < maxFaults:
		r.faults = append(r.faults, Fault{r.path, line, column, fmt.Sprintf(format, args...)})
	case len(r.faults) == maxFaults:
		r.faults = append(r.faults, Fault{r.path, line, column, fmt.Sprintf("more than %d faults; the rest is left out", maxFaults)})
	}
}

// resolve follows an alias to the node it stands for.
func (r *reader) resolve(n *yaml.Node) *yaml.Node {
	if r.nodes++; r.nodes == maxNodes {
		r.fault(n, "the file's aliases multiply to more than %d values", maxNodes)
	}
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// kindOf names what a node is, for messages.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "the boolean " + n.Value
	case "!!int", "!!float":
		return "the number " + clip(n.Value)
	case "!!str":
		return "the text " + fmt.Sprintf("%q", clip(n.Value))
	}
	return clip(n.Value)
}

// clip keeps messages to a line of sensible length.
func clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:57], "") + "…"
	}
	return s
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// entry is one key of a mapping with its value, aliases resolved.
type entry struct {
	key, value *yaml.Node
	merged     bool // came by <<
}

// entries gives the keys of a mapping, merge keys resolved and duplicates
// reported. what names the mapping in messages, example shows its form.
func (r *reader) entries(n *yaml.Node, what, example string) ([]entry, bool) {
	n = r.resolve(n)
	if n.Kind != yaml.MappingNode {
		if isNull(n) {
			r.fault(n, "%s has no value; give it one, such as %s, or leave the key out", what, example)
		} else {
			r.fault(n, "%s is a mapping, such as %s; this is %s", what, example, kindOf(n))
		}
		return nil, false
	}
	return r.collect(n, what, 0), true
}

func (r *reader) collect(n *yaml.Node, what string, depth int) []entry {
	var own, merged []entry
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if r.nodes >= maxNodes {
			break
		}
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			merged = append(merged, r.merge(value, what, depth)...)
			continue
		}
		key = r.resolve(key)
		if key.Kind != yaml.ScalarNode || isNull(key) {
			r.fault(key, "a key of %s is a word; this is %s", what, kindOf(key))
			continue
		}
		if first, ok := seen[key.Value]; ok {
			r.fault(key, "%s stands twice in %s; first in line %d", clip(key.Value), what, first.Line)
			continue
		}
		seen[key.Value] = key
		own = append(own, entry{key: key, value: r.resolve(value)})
	}
	// A mapping's own keys win over merged ones, earlier merged ones over later.
	for _, e := range merged {
		if _, ok := seen[e.key.Value]; !ok {
			seen[e.key.Value] = e.key
			e.merged = true
			own = append(own, e)
		}
	}
	return own
}

func (r *reader) merge(value *yaml.Node, what string, depth int) []entry {
	source := r.resolve(value)
	switch {
	case depth > 8:
		r.fault(value, "merge keys are nested too deeply")
		return nil
	case source.Kind == yaml.MappingNode:
		return r.collect(source, what, depth+1)
	case source.Kind == yaml.SequenceNode:
		var all []entry
		for _, item := range source.Content {
			if m := r.resolve(item); m.Kind == yaml.MappingNode {
				all = append(all, r.collect(m, what, depth+1)...)
			} else {
				r.fault(item, "<< merges mappings; this is %s", kindOf(m))
			}
		}
		return all
	}
	r.fault(value, "<< merges a mapping or a list of mappings; this is %s", kindOf(source))
	return nil
}

// key is one key that a mapping may have.
type key struct {
	name string
	read func(value *yaml.Node, what string)
}

// mapping reads a mapping whose keys are known and gives the keys it found,
// from which the caller tells what is missing; nil when it is no mapping.
func (r *reader) mapping(n *yaml.Node, what, example string, keys []key) map[string]entry {
	entries, ok := r.entries(n, what, example)
	if !ok {
		return nil
	}
	return r.readKeys(entries, what, keys)
}

func (r *reader) readKeys(entries []entry, what string, keys []key) map[string]entry {
	found := make(map[string]entry, len(entries))
	for _, e := range entries {
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == e.key.Value })
		if i < 0 {
			// What a misspelt key means is not missing as well.
			if meant := r.unknownKey(e.key, what, keys); meant != "" {
				if _, ok := found[meant]; !ok {
					found[meant] = e
				}
			}
			continue
		}
		found[e.key.Value] = e
		keys[i].read(e.value, e.key.Value)
	}
	return found
}

// unknownKey reports a key and gives the one that it most likely means, or "".
func (r *reader) unknownKey(k *yaml.Node, what string, keys []key) string {
	if len(r.faults) > maxFaults { // spares a foreign file the search for names
		return ""
	}
	allowed := make([]string, len(keys))
	for i := range keys {
		allowed[i] = keys[i].name
	}
	meant := nearest(k.Value, allowed)
	hint := ""
	if place, ok := keyPlaces[k.Value]; ok {
		hint, meant = "; it belongs under "+place, ""
	} else if meant != "" {
		hint = "; did you mean " + meant + "?"
	}
	r.fault(k, "unknown key %s in %s%s (allowed: %s)", clip(k.Value), what, hint, strings.Join(allowed, ", "))
	return meant
}

// keyPlaces says where a key belongs that people put a level too high or low.
var keyPlaces = map[string]string{
	"root": "runs", "key": "runs", "quiet_period": "runs", "idle_timeout": "runs", "max_age": "runs", "max_spans": "runs",
	"expect": "tools", "evidence": "tools", "required": "tools", "answer": "tools", "not_counted": "tools", "retrieval": "tools", "write": "tools",
	"runbook": "alerting", "dashboard": "alerting", "page": "alerting", "ticket": "alerting", "false_pages": "alerting", "expected_every": "alerting", "dispersion": "alerting",
	"freeze_below": "policy", "resume_above": "policy", "calendar": "window", "timezone": "window",
	"window": "the top level of the file", "environment": "the top level of the file", "dimensions": "the top level of the file",
	"exclude": "the top level of the file", "prices": "the top level of the file", "labels": "the top level of the file, or alerting.page and alerting.ticket",
	"objective": "an SLO in slos", "evaluations": "an SLO in slos", "judge": "an SLO in slos", "sensitivity": "judge of an SLO in slos", "specificity": "judge of an SLO in slos", "threshold": "an SLO in slos", "max_usd": "an SLO in slos",
	"bad": "events of an SLO of kind ratio", "total": "events of an SLO of kind ratio",
}

// text reads a string that is not empty.
func (r *reader) text(n *yaml.Node, what string) (string, bool) {
	n = r.resolve(n)
	switch {
	case n.Kind != yaml.ScalarNode:
		r.fault(n, "%s is a text; this is %s", what, kindOf(n))
	case isNull(n):
		r.fault(n, "%s has no value; give it one or leave the key out", what)
	case n.ShortTag() != "!!str":
		r.fault(n, "%s is a text; this is %s: put it in quotes if it is meant, %q", what, kindOf(n), clip(n.Value))
	case strings.TrimSpace(n.Value) == "":
		r.fault(n, "%s is empty", what)
	default:
		return n.Value, true
	}
	return "", false
}

// scalar reads the source text of a number-like value: 30s, 95%, 0.25.
func (r *reader) scalar(n *yaml.Node, what, example string) (string, bool) {
	n = r.resolve(n)
	switch {
	case n.Kind != yaml.ScalarNode:
		r.fault(n, "%s is %s; this is %s", what, example, kindOf(n))
	case isNull(n):
		r.fault(n, "%s has no value; give it one or leave the key out", what)
	case n.ShortTag() == "!!bool":
		r.fault(n, "%s is %s; this is %s", what, example, kindOf(n))
	default:
		return strings.TrimSpace(n.Value), true
	}
	return "", false
}

// word reads one of a few known words.
func (r *reader) word(n *yaml.Node, what string, allowed ...string) (string, bool) {
	s, ok := r.text(n, what)
	if !ok {
		return "", false
	}
	if !slices.Contains(allowed, s) {
		r.fault(r.resolve(n), "%s is %s, not %q%s", what, oneOf(allowed), clip(s), didYouMean(s, allowed))
		return "", false
	}
	return s, true
}

// list reads a list and calls read for each item.
func (r *reader) list(n *yaml.Node, what, example string, read func(item *yaml.Node)) bool {
	n = r.resolve(n)
	if n.Kind != yaml.SequenceNode {
		switch {
		case isNull(n):
			r.fault(n, "%s has no value; give it a list, such as %s, or leave the key out", what, example)
		case n.Kind == yaml.ScalarNode:
			r.fault(n, "%s is a list, such as %s; this is %s: write [%s]", what, example, kindOf(n), clip(n.Value))
		default:
			r.fault(n, "%s is a list, such as %s; this is %s", what, example, kindOf(n))
		}
		return false
	}
	for _, item := range n.Content {
		if r.nodes >= maxNodes {
			return false
		}
		read(r.resolve(item))
	}
	return true
}

// texts reads a list of strings, each of which check may refuse, and refuses
// repetitions.
func (r *reader) texts(n *yaml.Node, what, example string, check func(string) error) ([]string, bool) {
	values, good := []string{}, true
	good = r.list(n, what, example, func(item *yaml.Node) {
		s, ok := r.text(item, "an item of "+what)
		if ok && slices.Contains(values, s) {
			r.fault(item, "%s stands twice in %s", clip(s), what)
			ok = false
		}
		if ok && check != nil {
			if err := check(s); err != nil {
				r.fault(item, "%s: %q: %s", what, clip(s), err)
				ok = false
			}
		}
		if good = good && ok; ok {
			values = append(values, s)
		}
	}) && good
	return values, good
}

func (r *reader) globs(n *yaml.Node, what, example string) ([]string, bool) {
	return r.texts(n, what, example, checkGlob)
}
