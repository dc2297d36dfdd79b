package backtest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAlertQuality measures the table of ALERT_QUALITY.md. It takes minutes to
// hours: AGENTSLO_ALERT_QUALITY is the number of repetitions per cell,
// AGENTSLO_ALERT_QUALITY_CELLS "all" or cells such as "99% 4,95% 10".
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
	began := time.Now()
	o.Done = func(own, workbook Quality) {
		fmt.Fprintf(os.Stderr, "%s %s\n", time.Since(began).Round(time.Second), QualityRow(own, workbook))
	}
	all, err := MeasureQuality(context.Background(), o)
	require.NoError(t, err)
	var table strings.Builder
	require.NoError(t, WriteQuality(&table, all))
	fmt.Printf("\n%d repetitions of %d days a cell, in %s. Workbook rules → generated rules; 95%% confidence intervals.\n\n%s\n",
		seeds, cmp.Or(o.Days, 30), time.Since(began).Round(time.Second), table.String())
}
