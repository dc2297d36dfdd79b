package interchange

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// reader walks the documents of one file and collects notices.
type reader struct {
	path    string
	notices *Notices
}

func (r reader) notice(isError bool, at *yaml.Node, key, format string, args ...any) {
	n := Notice{Path: r.path, Key: key, Error: isError, Message: fmt.Sprintf(format, args...)}
	if at != nil {
		n.Line, n.Column = at.Line, at.Column
	}
	*r.notices = append(*r.notices, n)
}

// field is one value of a document, or the place where one is missing.
type field struct {
	reader
	key  string     // from the document's root, such as spec.indicator
	name *yaml.Node // the key's node; the value's in a list
	node *yaml.Node // nil when it is missing or null
}

// fail says that the SLO cannot be carried, warn that it is carried without this.
func (f field) fail(format string, args ...any) { f.notice(true, f.at(), f.key, format, args...) }
func (f field) warn(format string, args ...any) { f.notice(false, f.at(), f.key, format, args...) }

func (f field) at() *yaml.Node {
	if f.name != nil {
		return f.name
	}
	return f.node
}

func (f field) present() bool { return f.node != nil }

// object is a mapping whose keys are asked for one by one; those nobody asked
// for are told by [object.rest].
type object struct {
	field
	keys   []*yaml.Node
	values map[string]*yaml.Node
	asked  map[string]bool
	merges int
}

// maxMerges bounds the mappings that are merged into one: merge keys within
// merge keys multiply.
const maxMerges = 1000

func resolve(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return nil
	}
	return n
}

// object reads a mapping; anything else is an error, nothing is an empty one.
func (f field) object() object {
	o := object{field: f, values: map[string]*yaml.Node{}, asked: map[string]bool{}}
	if !f.present() {
		return o
	}
	if f.node.Kind != yaml.MappingNode {
		f.fail("this must be a mapping")
		return o
	}
	o.add(f.node)
	return o
}

func (o *object) add(n *yaml.Node) {
	if o.merges++; o.merges >= maxMerges {
		if o.merges == maxMerges {
			o.fail("more than %d mappings are merged here", maxMerges)
		}
		return
	}
	var merged []*yaml.Node
	own := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if key = resolve(key); key == nil || key.Kind != yaml.ScalarNode {
			o.notice(true, n.Content[i], o.key, "a key must be a word")
			continue
		}
		if own[key.Value] {
			o.notice(true, key, join(o.key, key.Value), "the key stands twice")
			continue
		}
		own[key.Value] = true
		if _, ok := o.values[key.Value]; !ok {
			o.keys = append(o.keys, key)
			o.values[key.Value] = resolve(value)
		}
	}
	for _, m := range merged {
		m = resolve(m)
		switch {
		case m == nil:
		case m.Kind == yaml.MappingNode:
			o.add(m)
		case m.Kind == yaml.SequenceNode:
			for _, item := range m.Content {
				if item = resolve(item); item != nil && item.Kind == yaml.MappingNode {
					o.add(item)
				}
			}
		}
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// get is the value of a key.
func (o object) get(name string) field {
	o.asked[name] = true
	f := field{reader: o.reader, key: join(o.key, name), node: o.values[name]}
	for _, k := range o.keys {
		if k.Value == name {
			f.name = k
		}
	}
	if f.name == nil { // its place is where it is missed
		f.name = o.at()
	}
	return f
}

// names lists the keys in the order of the file.
func (o object) names() []string {
	names := make([]string, len(o.keys))
	for i, k := range o.keys {
		names[i] = k.Value
	}
	return names
}

// has says whether the key is there with a value.
func (o object) has(name string) bool { return o.values[name] != nil }

// rest warns of the keys that nobody asked for.
func (o object) rest(format string) {
	for _, k := range o.keys {
		if !o.asked[k.Value] {
			o.notice(false, k, join(o.key, k.Value), "not carried: %s has no such key here", format)
		}
	}
}

// lost warns of keys that the format has and agentslo has no place for.
func (o object) lost(why string, names ...string) {
	for _, name := range names {
		if f := o.get(name); f.present() {
			f.warn("not carried: %s", why)
		}
	}
}

// list reads a list's items; anything else is an error.
func (f field) list() []field {
	if !f.present() {
		return nil
	}
	if f.node.Kind != yaml.SequenceNode {
		f.fail("this must be a list")
		return nil
	}
	items := make([]field, 0, len(f.node.Content))
	for i, item := range f.node.Content {
		items = append(items, field{reader: f.reader, key: fmt.Sprintf("%s[%d]", f.key, i), name: item, node: resolve(item)})
	}
	return items
}

// text reads a scalar as it is written, "" when it is missing.
func (f field) text() string {
	if !f.present() {
		return ""
	}
	if f.node.Kind != yaml.ScalarNode {
		f.fail("this must be a text")
		return ""
	}
	return strings.TrimSpace(f.node.Value)
}

// required is a text that must be there.
func (f field) required() (string, bool) {
	if s := f.text(); s != "" {
		return s, true
	}
	if !f.present() || f.node.Kind == yaml.ScalarNode {
		f.fail("this is missing")
	}
	return "", false
}

// boolean reads true or false; otherwise is what a missing one means.
func (f field) boolean(otherwise bool) bool {
	if !f.present() {
		return otherwise
	}
	b, err := strconv.ParseBool(f.text())
	if err != nil {
		f.fail("this must be true or false")
	}
	return b
}

// pairs reads a mapping of texts in the order of the file.
func (f field) pairs() []field {
	var pairs []field
	o := f.object()
	for _, name := range o.names() {
		pairs = append(pairs, o.get(name))
	}
	return pairs
}

// label is the last part of a field's key, whatever it holds.
func (f field) label() string { return f.name.Value }

var syntaxLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxNotice places an error of the YAML scanner.
func syntaxNotice(path string, err error) Notice {
	message, line := err.Error(), 1
	if m := syntaxLine.FindStringSubmatch(strings.ReplaceAll(message, "\n", " ")); m != nil {
		message = m[2]
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n
		}
	}
	return Notice{Path: path, Line: max(line, 1), Column: 1, Error: true, Message: "this is no YAML: " + message}
}
