package frameworks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentslo/agentslo/truth"
)

const folder = "e2e/frameworks/testdata"

// Update records the named agents anew, all without names, and writes what
// differs in more than times. It needs node, npm and go, and installs the
// frameworks as their lock files say.
func Update(ctx context.Context, root string, names []string, progress io.Writer) error {
	index, err := readIndex(filepath.Join(root, folder))
	if err != nil {
		return err
	}
	for i := range Agents {
		a := &Agents[i]
		if len(names) > 0 && !slices.Contains(names, a.Name) {
			continue
		}
		if !a.Installed(root) {
			if err := a.Install(ctx, root); err != nil {
				return err
			}
		}
		recordings, err := a.RecordAll(ctx, root)
		if err != nil {
			return err
		}
		kept := map[string]truth.Entry{}
		index = slices.DeleteFunc(index, func(e truth.Entry) bool {
			if e.Framework == a.Name {
				kept[e.Variant] = e
			}
			return e.Framework == a.Name
		})
		files := map[string]bool{}
		for _, r := range recordings {
			entry, changed, err := write(root, r, kept[r.Entry.Variant])
			if err != nil {
				return err
			}
			if changed {
				fmt.Fprintf(progress, "record: %s is different\n", *r.Entry.File)
			}
			index = append(index, entry)
			for _, f := range []*string{entry.File, entry.LogsFile} {
				if f != nil {
					files[*f] = true
				}
			}
		}
		if err := prune(filepath.Join(root, folder), a.Name, files); err != nil {
			return err
		}
		fmt.Fprintf(progress, "record: %s: %d runs\n", a.Name, len(recordings))
	}
	slices.SortStableFunc(index, func(a, b truth.Entry) int { return place(a.Framework) - place(b.Framework) })
	return writeIndex(filepath.Join(root, folder), index)
}

func place(name string) int {
	return slices.IndexFunc(Agents, func(a Agent) bool { return a.Name == name })
}

// Installed says whether the framework is there as the lock file has it.
func (a *Agent) Installed(root string) bool {
	if a.Command[0] != "node" {
		return false // building again costs nothing
	}
	in := filepath.Join(root, "e2e/frameworks/agents", a.Name)
	lock, err := os.Stat(filepath.Join(in, "package-lock.json"))
	if err != nil {
		return false
	}
	there, err := os.Stat(filepath.Join(in, "node_modules/.package-lock.json"))
	return err == nil && there.ModTime().After(lock.ModTime())
}

// Install brings the agent's framework, at the versions of its lock file.
func (a *Agent) Install(ctx context.Context, root string) error {
	install := []string{"npm", "ci", "--no-audit", "--no-fund"}
	if a.Command[0] != "node" {
		install = []string{"go", "build", "."}
	}
	c := exec.CommandContext(ctx, install[0], install[1:]...)
	c.Dir = filepath.Join(root, "e2e/frameworks/agents", a.Name)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %s: %w\n%s", a.Name, strings.Join(install, " "), err, out)
	}
	return nil
}

// RecordAll runs all scenarios of the agent, two at a time.
func (a *Agent) RecordAll(ctx context.Context, root string) ([]*Recording, error) {
	scenarios := a.scenarios()
	recordings := make([]*Recording, len(scenarios))
	faults := make([]error, len(scenarios))
	var wait sync.WaitGroup
	free := make(chan struct{}, 2)
	for i := range scenarios {
		free <- struct{}{}
		wait.Go(func() {
			recordings[i], faults[i] = a.Record(ctx, root, &scenarios[i])
			<-free
		})
	}
	wait.Wait()
	for _, err := range faults {
		if err != nil {
			return nil, err
		}
	}
	return recordings, nil
}

// write keeps a recording, unless the one that is there says the same.
func write(root string, r *Recording, old truth.Entry) (entry truth.Entry, changed bool, err error) {
	if !r.Differs(root) && jsonText(untimed(r.Entry)) == jsonText(untimed(old)) {
		return old, false, nil
	}
	for file, text := range map[*string]string{r.Entry.File: r.Traces, r.Entry.LogsFile: r.Logs} {
		if file == nil {
			continue
		}
		path := filepath.Join(root, folder, *file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return entry, true, err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return entry, true, err
		}
	}
	return r.Entry, true, nil
}

// untimed is an entry without what the clock said.
func untimed(e truth.Entry) truth.Entry {
	e.Runs = slices.Clone(e.Runs)
	for i := range e.Runs {
		e.Runs[i].Millis, e.Runs[i].ServedMillis = 0, 0
	}
	return e
}

var timestamp = regexp.MustCompile(`"\w*imeUnixNano":"\d+"`)

// Differs says whether the recording is another than the one in testdata, in
// more than times.
func (r *Recording) Differs(root string) bool {
	a := &Agents[place(r.Entry.Framework)]
	for file, text := range map[*string]string{r.Entry.File: r.Traces, r.Entry.LogsFile: r.Logs} {
		if file == nil {
			continue
		}
		committed, err := os.ReadFile(filepath.Join(root, folder, *file))
		if err != nil || a.mask(string(committed)) != a.mask(text) {
			return true
		}
	}
	return false
}

// mask takes out of a recording what differs between two recordings of the
// same program: its times.
func (a *Agent) mask(text string) string {
	text = timestamp.ReplaceAllString(text, "")
	for _, key := range a.Volatile {
		value := regexp.MustCompile(`"key":"` + regexp.QuoteMeta(key) + `","value":\{[^}]*\}`)
		text = value.ReplaceAllString(text, "")
	}
	return text
}

// prune removes recordings of scenarios that the agent runs no more.
func prune(into, agent string, keep map[string]bool) error {
	files, err := os.ReadDir(filepath.Join(into, agent))
	if err != nil {
		return err
	}
	for _, f := range files {
		if name := agent + "/" + f.Name(); !keep[name] {
			if err := os.Remove(filepath.Join(into, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func readIndex(in string) ([]truth.Entry, error) {
	file, err := os.Open(filepath.Join(in, "index.json"))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return truth.ReadIndex(file)
}

// writeIndex writes a line a run.
func writeIndex(into string, index []truth.Entry) error {
	var out bytes.Buffer
	out.WriteString("[\n")
	for i := range index {
		line, err := json.Marshal(&index[i])
		if err != nil {
			return err
		}
		out.Write(line)
		if i < len(index)-1 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
	}
	out.WriteString("]\n")
	return os.WriteFile(filepath.Join(into, "index.json"), out.Bytes(), 0o644)
}
