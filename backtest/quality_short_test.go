package backtest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentslo/agentslo/rules"
)

// A small version of the table, with fixed seeds: workbook rules page several
// times a week at 99% and 4 runs an hour, the generated ones do not, and notice
// an outage within the bar.
func TestAlertQualityInShort(t *testing.T) {
	c := cells("99% 4")[0]
	o := QualityOptions{Seeds: 4, Days: 4, Incidents: 20}
	ctx := context.Background()
	standard, _, err := o.alarms(ctx, c, workbookRules, Scenario{ErrorRatio: c.budget()}, false)
	require.NoError(t, err)
	assert.Greater(t, standard.Low, 8.0, "rules made for web traffic: about 23 false pages a month")
	own, _, err := o.alarms(ctx, c, agentsloRules, Scenario{ErrorRatio: c.budget()}, false)
	require.NoError(t, err)
	assert.LessOrEqual(t, own.Alerts, 1, "at 0.3 a month, two or more in half a month happen once in a hundred")
	d, err := o.detection(ctx, c, agentsloRules, rules.SeverityPage, 1)
	require.NoError(t, err)
	assert.Zero(t, d.Missed)
	assert.LessOrEqual(t, d.Median, c.Bar(1))
	// Three failures are the least that can page, and their mean is 45 minutes.
	assert.Greater(t, d.Median, 15*time.Minute)
}

// By hand: at 99% and 4 runs an hour a failure brings ln 100 = 4.605 nats, and
// 0.1 false alarms in 2880 runs ask for ln 28800 = 10.268: 2.23 failures, 33.4
// minutes. 2% of the budget is 8.64 minutes of outage. The bar is 1.3 times
// that, half a minute, one minute, and 15 between runs.
func TestTheory(t *testing.T) {
	c := cells("99% 4")[0]
	assert.InDelta(t, 33.44, c.Theory(1).Minutes(), 0.01)
	assert.InDelta(t, 59.98, c.Bar(1).Minutes(), 0.02)
	// At 60 an hour the budget decides: 0.02 · 720 h · 1% = 8.64 minutes, twice that at half.
	c = cells("99% 60")[0]
	assert.InDelta(t, 8.64, c.Theory(1).Minutes(), 0.01)
	assert.InDelta(t, 17.28, c.Theory(0.5).Minutes(), 0.01)
	// At 90% 2% of it would be 86 minutes of outage: half an hour is enough.
	assert.InDelta(t, 30, cells("90% 1000")[0].Theory(1).Minutes(), 0.01)
}
