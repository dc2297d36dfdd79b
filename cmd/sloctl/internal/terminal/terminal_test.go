package terminal_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/cmd/sloctl/internal/terminal"
)

func TestTable(t *testing.T) {
	table := terminal.Table{
		Header: []string{"SLO", "GOOD", "STATUS", "NOTE"},
		Right:  map[int]bool{1: true},
		Rows: [][]terminal.Cell{
			{{Text: "é"}, {Text: "1,000"}, {Text: "ok", Colour: terminal.Green}, {Text: ""}},
			{{Text: "latency"}, {Text: ""}, {Text: "exhausted", Colour: terminal.Red}, {Text: "x"}},
		},
	}
	var out bytes.Buffer
	if err := table.Write(&out, false); err != nil {
		t.Fatal(err)
	}
	want := "SLO       GOOD  STATUS     NOTE\n" +
		"é        1,000  ok\n" +
		"latency         exhausted  x\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	out.Reset()
	if err := table.Write(&out, true); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out.Bytes(), []byte("\x1b[31mexhausted\x1b[0m  x\n")) {
		t.Errorf("colour must not move columns: %q", out.String())
	}
}

func TestColours(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if terminal.Colours(f) || terminal.Colours(&bytes.Buffer{}) {
		t.Error("a file and a buffer want no colour")
	}
}

func TestNumbersForPeople(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "5": "5", "14.4": "14.4", "14.44": "14.4", "144.44": "144", "1234567.8": "1,234,568", "-1400": "-1,400",
		"5.263158": "5.26", "0.05": "0.05", "0.1": "0.1", "0.0012345": "0.00123", "0.00000001": "0", "99.99": "100", "-0.5": "-0.5",
	} {
		if got := terminal.Decimal(decimal.RequireFromString(in)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"1": "100%", "0.9999": "99.99%", "0.99996": "99.996%", "-0.99999": "-100%", "0": "0%", "0.00000001": "0.000001%", "0.15": "15%", "-14": "-1,400%", "0.004975": "0.498%",
	} {
		if got := terminal.Percent(decimal.RequireFromString(in)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	for in, want := range map[int64]string{0: "0s", 59: "59s", 60: "1m", 61: "1m 1s", 3600: "1h", 3660: "1h 1m", 86400 * 12: "12d", 90000: "1d 1h", 36000 + 60: "10h"} {
		if got := terminal.Seconds(in); got != want {
			t.Errorf("%d: %s, want %s", in, got, want)
		}
	}
}
