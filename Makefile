# Conveniences: what they do is what their one line says.
GO ?= go
REPETITIONS ?= 10
INCIDENTS ?= 40
FUZZ_TIME ?= 10m

.PHONY: build test race lint e2e faults alert-quality alert-quality-all bench truth record record-frameworks fuzz

build: ## the command line, into bin/
	$(GO) build -o bin/ ./cmd/sloctl

test: ## everything that needs Go only
	$(GO) test ./...

race: ## the same under the race detector
	$(GO) test -race ./...

lint: ## vet, format, static analysis
	$(GO) vet ./...
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) tool staticcheck ./...

e2e: ## the built programs with real Prometheus, Alertmanager and agents
	$(GO) test -tags e2e -count=1 -timeout 30m ./e2e/...

faults: ## programs that are killed, stopped and restarted in the middle of runs
	$(GO) test -tags e2e -count=1 -v -timeout 30m -run 'Stop|Kill|Restart|Fault' ./e2e/...

alert-quality: ## what the alerts do on synthetic traffic, on the real engine, workbook rules beside: seven cells
	AGENTSLO_ALERT_QUALITY=$(REPETITIONS) AGENTSLO_ALERT_QUALITY_INCIDENTS=$(INCIDENTS) $(GO) test -count=1 -v -timeout 2h -run 'TestAlertQuality$$|TestAlertConditions' ./backtest

alert-quality-all: ## the same for every objective and volume, into backtest/ALERT_QUALITY.md: an hour or more
	AGENTSLO_ALERT_QUALITY=$(REPETITIONS) AGENTSLO_ALERT_QUALITY_INCIDENTS=$(INCIDENTS) AGENTSLO_ALERT_QUALITY_CELLS=all AGENTSLO_ALERT_QUALITY_WRITE=ALERT_QUALITY.md \
		$(GO) test -count=1 -v -timeout 8h -run 'TestAlertQuality$$' ./backtest

bench: ## cost of a span beside unmarshalling and other processors
	cd benchmarks && $(GO) run .

truth: ## right, unknown and wrong of everything that is read from recordings
	$(GO) test -count=1 -v -run 'Recorded|Public|Examples|More' ./truth

record: record-frameworks ## record the example agents and the frameworks of the end-to-end tests anew
	sh examples/record.sh

record-frameworks: ## the frameworks alone; one in which nothing but times differs stays as it is
	$(GO) run ./e2e/frameworks/record

fuzz: ## raw OTLP bytes all the way to counters, then made spans in any order: FUZZ_TIME each
	$(GO) test -run '^$$' -fuzz FuzzConsume -fuzztime $(FUZZ_TIME) -fuzzminimizetime 10x ./processor
	$(GO) test -run '^$$' -fuzz FuzzSpans -fuzztime $(FUZZ_TIME) -fuzzminimizetime 10x ./processor
