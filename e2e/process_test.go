//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// root of the repository, from this folder.
const root = ".."

// programs that are built once for all tests.
var programs struct{ sloctl, agent string }

func TestMain(m *testing.M) {
	os.Exit(func() int {
		folder, err := os.MkdirTemp("", "agentslo-e2e")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		defer os.RemoveAll(folder)
		programs.sloctl = filepath.Join(folder, "sloctl")
		programs.agent = filepath.Join(folder, "agent")
		for binary, source := range map[string]string{programs.sloctl: "./cmd/sloctl", programs.agent: "./examples/support-agent/go"} {
			build := exec.Command("go", "build", "-o", binary, source)
			build.Dir = root
			if output, err := build.CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "building %s: %v\n%s", source, err, output)
				return 2
			}
		}
		return m.Run()
	}())
}

// process is a started program whose output is kept.
type process struct {
	name   string
	cmd    *exec.Cmd
	output *log
	done   chan struct{}
	err    error // after done
}

// start runs a program until the test ends, and shows its output if the test failed.
func start(t *testing.T, env []string, name string, arguments ...string) *process {
	t.Helper()
	p := &process{name: filepath.Base(name), cmd: exec.Command(name, arguments...), output: &log{}, done: make(chan struct{})}
	p.cmd.Dir = root
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		select {
		case <-p.done:
		default:
			p.cmd.Process.Kill()
			<-p.done
		}
		if t.Failed() {
			t.Logf("%s %s\n%s", p.name, strings.Join(arguments, " "), p.output.tail(8000))
		}
	})
	return p
}

// stop sends a signal and waits for the program's end.
func (p *process) stop(t *testing.T, signal os.Signal, within time.Duration) {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	p.ends(t, within)
}

// ends waits for the program to end by itself, with exit code 0.
func (p *process) ends(t *testing.T, within time.Duration) {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(within):
		t.Fatalf("%s did not end within %v", p.name, within)
	}
	if p.err != nil {
		t.Fatalf("%s: %v\n%s", p.name, p.err, p.output.tail(4000))
	}
}

// says waits until the program's output contains text.
func (p *process) says(t *testing.T, text string, within time.Duration) {
	t.Helper()
	eventually(t, within, func() error {
		if strings.Contains(p.output.String(), text) {
			return nil
		}
		select {
		case <-p.done:
			return permanent{fmt.Errorf("%s ended (%v) without saying %q\n%s", p.name, p.err, text, p.output.tail(4000))}
		default:
			return fmt.Errorf("%s does not say %q", p.name, text)
		}
	})
}

// log keeps what a program prints.
type log struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.String()
}

func (l *log) tail(n int) string {
	text := l.String()
	return text[max(0, len(text)-n):]
}

// output runs a program to its end and returns what it printed on stdout, and
// its exit code.
func output(t *testing.T, name string, arguments ...string) (string, string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.Dir = root
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", name, err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// succeeds runs a program that must exit with 0 and returns its stdout.
func succeeds(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	stdout, stderr, code := output(t, name, arguments...)
	if code != 0 {
		t.Fatalf("%s %s: exit %d\n%s%s", filepath.Base(name), strings.Join(arguments, " "), code, stdout, stderr)
	}
	return stdout
}

// installed is the path of a Debian program; in CI it must be there.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is not installed", name)
		}
		t.Skipf("%s is not installed", name)
	}
	return path
}

// port that is free now, and was not given to anybody before: a port that was
// asked for and closed may come up again at once.
func port(t *testing.T) string {
	t.Helper()
	given.Lock()
	defer given.Unlock()
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		l.Close()
		if !given.ports[address] {
			given.ports[address] = true
			return address
		}
	}
}

var given = struct {
	sync.Mutex
	ports map[string]bool
}{ports: map[string]bool{}}

// permanent is an error that waiting does not mend.
type permanent struct{ error }

// eventually calls f until it returns nil.
func eventually(t *testing.T, within time.Duration, f func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		err := f()
		if err == nil {
			return
		}
		var end permanent
		if errors.As(err, &end) || time.Now().After(deadline) {
			t.Fatalf("after %v: %v", within, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// get returns a page that answers 200.
func get(address string) (string, error) {
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get(address)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.300s", address, response.Status, body)
	}
	return string(body), err
}

// prometheusAPI is the address of a server with Prometheus's query API.
type prometheusAPI string

// query evaluates an expression now, as a map from the series' labels in order
// of their names, values only, joined by a blank.
func (p prometheusAPI) query(expression string, labels ...string) (map[string]string, error) {
	body, err := get(string(p) + "/api/v1/query?query=" + url.QueryEscape(expression))
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, series := range answer.Data.Result {
		var key []string
		for _, label := range labels {
			key = append(key, series.Metric[label])
		}
		values[strings.Join(key, " ")] = series.Value[1].(string)
	}
	return values, nil
}

var terminate = syscall.SIGTERM
