// Package alertmanager sends alerts of the embedded rule manager to an
// Alertmanager. It knows its HTTP API and nothing of rules or SLOs.
package alertmanager

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/util/strutil"
)

const (
	// maxQueued bounds the alerts that wait for an Alertmanager that does not
	// answer. The rule manager repeats every firing alert each minute, so one
	// that is turned away comes again; only a resolution can be missed, and
	// Alertmanager resolves by itself what is not repeated.
	maxQueued = 10_000
	batchSize = 64
	maxWait   = 30 * time.Second
)

// Client sends alerts until Close. Of each alert only the latest state waits.
type Client struct {
	endpoint string
	external string
	http     *http.Client
	logger   *slog.Logger
	retry    time.Duration // first wait after a failure; doubles up to maxWait

	mu      sync.Mutex
	waiting map[string]message // by label set
	dropped uint64

	wake   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
}

// message is one alert of POST /api/v2/alerts.
type message struct {
	Labels       labels.Labels `json:"labels"`
	Annotations  labels.Labels `json:"annotations"`
	StartsAt     time.Time     `json:"startsAt"`
	EndsAt       time.Time     `json:"endsAt"`
	GeneratorURL string        `json:"generatorURL"`
}

// Dial returns a client of the Alertmanager at a base URL such as
// http://localhost:9093; user and password in it are sent as basic
// authentication. It does not connect yet. external is the address of this
// process, for links from alerts.
func Dial(base, external string, logger *slog.Logger) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no base URL of an Alertmanager; write it like http://localhost:9093", base)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &Client{
		endpoint: u.JoinPath("api", "v2", "alerts").String(),
		external: strings.TrimSuffix(external, "/"),
		http:     &http.Client{Timeout: 10 * time.Second, Transport: http.DefaultTransport.(*http.Transport).Clone()},
		logger:   logger,
		retry:    time.Second,
		waiting:  map[string]message{},
		wake:     make(chan struct{}, 1),
		cancel:   cancel,
		done:     make(chan struct{}),
	}
	go c.run(ctx)
	return c, nil
}

// Notify queues the alerts and returns at once. It is a rules.NotifyFunc.
func (c *Client) Notify(_ context.Context, expr string, alerts ...*rules.Alert) {
	c.mu.Lock()
	for _, a := range alerts {
		m := message{
			Labels: a.Labels, Annotations: a.Annotations, StartsAt: a.FiredAt, EndsAt: a.ValidUntil,
			GeneratorURL: c.external + strutil.GraphLinkForExpression(expr),
		}
		if !a.ResolvedAt.IsZero() {
			m.EndsAt = a.ResolvedAt
		}
		key := a.Labels.String()
		if _, queued := c.waiting[key]; !queued && len(c.waiting) >= maxQueued {
			c.dropped++
			continue
		}
		c.waiting[key] = m
	}
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Close tries once more to send what waits, for at most the context's time.
func (c *Client) Close(ctx context.Context) {
	c.cancel()
	<-c.done
	if err := c.flush(ctx); err != nil {
		c.logger.Warn("alerts were not sent", "err", err)
	}
	c.http.CloseIdleConnections()
}

func (c *Client) run(ctx context.Context) {
	defer close(c.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
		for wait := c.retry; ; wait = min(2*wait, maxWait) {
			err := c.flush(ctx)
			if err == nil || ctx.Err() != nil {
				break
			}
			c.logger.Warn("alerts wait for Alertmanager", "err", err, "retry_in", wait)
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
	}
}

// flush sends everything that waits. What could not be sent waits on, unless
// the alert has a newer state by then.
func (c *Client) flush(ctx context.Context) error {
	for {
		keys, batch := c.take()
		if len(batch) == 0 {
			return nil
		}
		if err := c.post(ctx, batch); err != nil {
			c.mu.Lock()
			for i, key := range keys {
				if _, newer := c.waiting[key]; !newer {
					c.waiting[key] = batch[i]
				}
			}
			c.mu.Unlock()
			return err
		}
	}
}

func (c *Client) take() (keys []string, batch []message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, m := range c.waiting {
		keys, batch = append(keys, key), append(batch, m)
		delete(c.waiting, key)
		if len(batch) == batchSize {
			break
		}
	}
	if c.dropped > 0 {
		c.logger.Warn("alerts were dropped: too many wait for Alertmanager", "dropped", c.dropped)
		c.dropped = 0
	}
	return keys, batch
}

func (c *Client) post(ctx context.Context, batch []message) error {
	body, err := json.Marshal(batch)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode/100 == 2 {
		return nil
	}
	said, _ := io.ReadAll(io.LimitReader(response.Body, 300))
	err = fmt.Errorf("%s: %s", response.Status, bytes.TrimSpace(said))
	if response.StatusCode/100 == 4 && response.StatusCode != http.StatusTooManyRequests {
		// It will never take these: sending them again would hold up the others.
		c.logger.Error("Alertmanager refuses alerts", "err", err, "alerts", len(batch))
		return nil
	}
	return err
}
