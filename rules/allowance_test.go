package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentslo/agentslo/slo"
)

// The allowance of false pages is the file's. Worked out by hand: 8 nats were
// measured for 0.3 pages an SLO, and a share e times smaller takes one more.
func TestFalsePagesAreSharedByTheFilesSLOs(t *testing.T) {
	for _, x := range []struct {
		slos     int
		alerting string
		target   string
		want     string
	}{
		{1, "", "95%", "8"},
		{7, "", "95%", "9.9"},                                   // ln 7 = 1.95
		{60, "", "95%", "12.1"},                                 // ln 60 = 4.09
		{1, "alerting: {false_pages: 3}\n", "95%", "5.7"},       // ln 0.1 = -2.30
		{1, "alerting: {false_pages: 1000}\n", "95%", "3"},      // bounded
		{1, "alerting: {false_pages: 1000}\n", "99.9%", "7"},    // ln 1000 = 6.91: never one failure alone
		{1, "alerting: {false_pages: 0.03}\n", "99.9%", "10.3"}, // ln 10 = 2.30
	} {
		var text strings.Builder
		text.WriteString("service: s\n" + x.alerting + "slos:\n")
		for i := range x.slos {
			fmt.Fprintf(&text, "  c%d: {sli: completion, objective: %s}\n", i, x.target)
		}
		// One that may not page takes no share.
		text.WriteString("  quiet: {sli: completion, objective: 90%, alert: ticket}\n")
		files, err := slo.Parse("slo.yaml", []byte(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		if got := Tiers(files[0], &files[0].SLOs[0])[0].Evidence.String(); got != x.want {
			t.Errorf("%d SLOs of %s, %q: evidence %s, want %s", x.slos, x.target, x.alerting, got, x.want)
		}
	}
}
