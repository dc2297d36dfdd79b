package slo

import (
	"os"
	"strings"
	"testing"
)

// README.md lists the built-in names of the ticket's fields and of idempotency keys.
func TestReadmeListsBuiltInArguments(t *testing.T) {
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, f := range defaultFields {
		if row := "| `" + f.Name + "` | " + strings.Join(f.Arguments, ", ") + " |"; !strings.Contains(text, row) {
			t.Errorf("README.md lacks the row\n%s", row)
		}
	}
	for _, key := range defaultIdempotencyKeys {
		if !strings.Contains(text, "`"+key+"`") {
			t.Errorf("README.md does not name the idempotency key %s", key)
		}
	}
}
