package slo

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// README.md names every key of the schema and every fact of the expressions.
func TestReadmeIsWhole(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range RunFields {
		if row := readmeRow(f); !strings.Contains(string(text), row) {
			t.Errorf("README.md lacks the row\n%s", row)
		}
	}
	var schema any
	if err := json.Unmarshal(JSONSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	var collect func(any)
	collect = func(n any) {
		switch n := n.(type) {
		case map[string]any:
			if properties, ok := n["properties"].(map[string]any); ok {
				for key := range properties {
					keys[key] = true
				}
			}
			for _, child := range n {
				collect(child)
			}
		case []any:
			for _, child := range n {
				collect(child)
			}
		}
	}
	collect(schema)
	if len(keys) < 60 {
		t.Fatalf("only %d keys found in the schema", len(keys))
	}
	for key := range keys {
		if !strings.Contains(string(text), key) {
			t.Errorf("README.md does not name %s", key)
		}
	}
}

func readmeRow(f RunField) string { return fmt.Sprintf("| `%s` | %s | %s |", f.Name, f.Type, f.Doc) }
