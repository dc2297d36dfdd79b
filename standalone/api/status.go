package api

import (
	"net/http"
	"runtime"
	"time"
)

func (a *API) buildInfo(*http.Request) (*reply, *failure) {
	return &reply{data: map[string]any{
		"version":   a.options.Version,
		"revision":  "embedded",
		"branch":    "",
		"buildUser": "",
		"buildDate": "",
		"goVersion": runtime.Version(),
	}}, nil
}

func (a *API) runtimeInfo(*http.Request) (*reply, *failure) {
	return &reply{data: map[string]any{
		"startTime":           a.options.Started.UTC(),
		"CWD":                 "",
		"reloadConfigSuccess": true,
		"lastConfigTime":      a.options.Started.UTC(),
		"corruptionCount":     0,
		"goroutineCount":      runtime.NumGoroutine(),
		"GOMAXPROCS":          runtime.GOMAXPROCS(0),
		"storageRetention":    a.options.Flags["storage.tsdb.retention.time"],
		"serverTime":          time.Now().UTC(),
	}}, nil
}

func (a *API) config(*http.Request) (*reply, *failure) {
	return &reply{data: map[string]string{"yaml": a.options.Config}}, nil
}

func (a *API) flags(*http.Request) (*reply, *failure) {
	return &reply{data: a.options.Flags}, nil
}
