package backtest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAlertQuality measures the table of ALERT_QUALITY.md. It takes minutes to
// hours: AGENTSLO_ALERT_QUALITY is the number of repetitions per cell,
// AGENTSLO_ALERT_QUALITY_CELLS "all" or cells such as "99% 4,95% 10",
// AGENTSLO_ALERT_QUALITY_INCIDENTS the number of incidents per cell,
// AGENTSLO_ALERT_QUALITY_WRITE the page that keeps the result.
func TestAlertQuality(t *testing.T) {
	seeds, err := strconv.Atoi(os.Getenv("AGENTSLO_ALERT_QUALITY"))
	if err != nil {
		t.Skip("set AGENTSLO_ALERT_QUALITY to the number of repetitions per cell")
	}
	o := QualityOptions{Cells: Cells, Seeds: seeds}
	switch text := os.Getenv("AGENTSLO_ALERT_QUALITY_CELLS"); text {
	case "":
	case "all":
		o.Cells = AllCells
	default:
		o.Cells = cells(strings.Split(text, ",")...)
	}
	if text := os.Getenv("AGENTSLO_ALERT_QUALITY_DAYS"); text != "" {
		o.Days, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	if text := os.Getenv("AGENTSLO_ALERT_QUALITY_INCIDENTS"); text != "" {
		o.Incidents, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	began := time.Now()
	o.Done = func(own, workbook Quality) {
		fmt.Fprintf(os.Stderr, "%s %s\n%s\n", time.Since(began).Round(time.Second), QualityRow(own, workbook), TicketRow(own))
	}
	all, err := MeasureQuality(context.Background(), o)
	require.NoError(t, err)
	var text strings.Builder
	fmt.Fprintf(&text, "%d repetitions of %d days a cell and %d incidents, in %s on %d CPUs. Workbook rules → generated rules, with 95%% confidence intervals.\n\n",
		seeds, cmp.Or(o.Days, 30), cmp.Or(o.Incidents, 100), time.Since(began).Round(time.Second), runtime.NumCPU())
	require.NoError(t, WriteQuality(&text, all))
	fmt.Println("\n" + text.String())
	if path := os.Getenv("AGENTSLO_ALERT_QUALITY_WRITE"); path != "" {
		page, err := os.ReadFile(path)
		require.NoError(t, err)
		head, _, ok := strings.Cut(string(page), "## Measured")
		require.True(t, ok, "the page has a section for it")
		require.NoError(t, os.WriteFile(path, []byte(head+"## Measured on "+time.Now().UTC().Format(time.DateOnly)+"\n\n"+text.String()), 0o644))
	}
}

// TestAlertConditions measures what the alerts do when runs are neither
// independent nor even. AGENTSLO_ALERT_QUALITY is the number of repetitions.
func TestAlertConditions(t *testing.T) {
	seeds, err := strconv.Atoi(os.Getenv("AGENTSLO_ALERT_QUALITY"))
	if err != nil {
		t.Skip("set AGENTSLO_ALERT_QUALITY to the number of repetitions")
	}
	all, err := MeasureConditions(context.Background(), QualityOptions{Seeds: seeds})
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, WriteConditions(&text, all))
	fmt.Printf("\n%d repetitions of 30 days.\n\n%s\n", seeds, text.String())
}
