package frameworks

import (
	"bytes"
	"encoding/json"
	"slices"
)

// lists of an export request whose elements stand on a line each, so that a
// difference between two recordings shows the attribute and its span.
var lists = []string{"resourceSpans", "scopeSpans", "spans", "resourceLogs", "scopeLogs", "logRecords", "attributes", "events", "links"}

// layout is an export request as JSON with a line for each attribute and each
// field of a span. What holds no list stays on one line.
func layout(request []byte) ([]byte, error) {
	var out bytes.Buffer
	if err := lay(&out, request, ""); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

type member struct {
	key   string
	value json.RawMessage
}

func lay(out *bytes.Buffer, value json.RawMessage, indent string) error {
	members, err := membersOf(value)
	if err != nil {
		return err
	}
	broken := slices.ContainsFunc(members, func(m member) bool { return slices.Contains(lists, m.key) })
	if !broken {
		return json.Compact(out, value)
	}
	out.WriteString("{")
	for i, m := range members {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n" + indent + " ")
		key, _ := json.Marshal(m.key)
		out.Write(key)
		out.WriteByte(':')
		if !slices.Contains(lists, m.key) {
			if err := lay(out, m.value, indent+" "); err != nil {
				return err
			}
			continue
		}
		var elements []json.RawMessage
		if err := json.Unmarshal(m.value, &elements); err != nil {
			return err
		}
		out.WriteByte('[')
		for i, e := range elements {
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString("\n" + indent + "  ")
			if err := lay(out, e, indent+"  "); err != nil {
				return err
			}
		}
		out.WriteByte(']')
	}
	out.WriteByte('}')
	return nil
}

// membersOf lists an object's members in their order; nil for any other value.
func membersOf(value json.RawMessage) ([]member, error) {
	decoder := json.NewDecoder(bytes.NewReader(value))
	token, err := decoder.Token()
	if err != nil || token != json.Delim('{') {
		return nil, err
	}
	var members []member
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		var m member
		m.key = key.(string)
		if err := decoder.Decode(&m.value); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return members, nil
}
