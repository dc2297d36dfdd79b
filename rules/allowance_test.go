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

// What keeps a page after a recovery, worked out by hand for page_slow.
func TestOneAllowedFailureIsNotStillFailing(t *testing.T) {
	for _, x := range []struct {
		target    string
		good, bad float64
		want      bool
	}{
		{"99%", 29, 1, false}, // 3.3%, above 3%; ln 3.33 + 29·ln(0.967/0.99) = 0.52 nats
		{"99%", 4, 1, true},   // ln 20 + 4·ln(0.8/0.99) = 2.1
		{"99%", 0, 1, true},
		{"99%", 100, 3, false}, // 2.9% is below 3%
		{"90%", 1, 1, true},    // ln 5 + ln(0.5/0.9) = 1.02
		{"90%", 2, 1, false},   // ln 3.33 + 2·ln(0.667/0.9) = 0.60
		{"55%", 0, 1, true},    // ln 2.22 = 0.80, all that one failure can say
		{"99%", 0, 0, false},
	} {
		files, err := slo.Parse("slo.yaml", []byte("service: s\nslos: {c: {sli: completion, objective: "+x.target+"}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		o := &files[0].SLOs[0]
		if got := Tiers(files[0], o)[1].StillFailing(o, x.good, x.bad); got != x.want {
			t.Errorf("%s, %g good, %g bad: still failing is %t", x.target, x.good, x.bad, got)
		}
	}
}

// A ticket needs two nats less than a page, and never less than one failure alone.
func TestTicketsNeedLessEvidence(t *testing.T) {
	for target, want := range map[string]string{"95%": "6", "99.9%": "7"} { // ln 1000 = 6.91
		files, err := slo.Parse("slo.yaml", []byte("service: s\nslos: {c: {sli: completion, objective: "+target+"}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		for _, tier := range Tiers(files[0], &files[0].SLOs[0]) {
			if tier.Severity == SeverityTicket && tier.Evidence.String() != want {
				t.Errorf("%s: %s needs %s nats, want %s", target, tier.Name, tier.Evidence, want)
			}
		}
	}
}
