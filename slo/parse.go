package slo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxFileSize is the largest SLO file that is read, in bytes.
const MaxFileSize = 1 << 20

// Parse reads one SLO file, which may hold several YAML documents. name stands
// in the positions of faults. All faults are found in one pass, those between
// the documents included; the error is then a [Faults] and there are no files.
//
// A file that is no YAML gives the fault at which reading ended, beside those
// of the documents before it.
func Parse(name string, data []byte) ([]*File, error) {
	files, faults := parse(name, data)
	faults = append(faults, checkSet(files)...)
	if len(faults) > 0 {
		return nil, faults.sorted()
	}
	return files, nil
}

// Load reads files, and all *.yaml and *.yml files of folders (not of folders
// within them, and none whose name begins with a dot), into one set. A file
// that is named twice is read once. The error is a [Faults] over all files.
func Load(paths ...string) (*Set, error) {
	if len(paths) == 0 {
		return nil, errors.New("no SLO file is named")
	}
	var (
		files  []*File
		faults Faults
		seen   []os.FileInfo
	)
	for _, path := range paths {
		names, err := filesOf(path)
		if err != nil {
			faults = append(faults, Fault{Path: path, Message: err.Error()})
			continue
		}
		for _, name := range names {
			data, info, err := readFile(name)
			if err != nil {
				faults = append(faults, Fault{Path: name, Message: err.Error()})
				continue
			}
			if slices.ContainsFunc(seen, func(other os.FileInfo) bool { return os.SameFile(info, other) }) {
				continue
			}
			seen = append(seen, info)
			parsed, fs := parse(name, data)
			files = append(files, parsed...)
			faults = append(faults, fs...)
		}
	}
	faults = append(faults, checkSet(files)...)
	if len(faults) > 0 {
		return nil, faults.sorted()
	}
	return &Set{Files: files}, nil
}

func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	items, err := os.ReadDir(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	var names []string
	for _, item := range items {
		ext := strings.ToLower(filepath.Ext(item.Name()))
		if strings.HasPrefix(item.Name(), ".") || ext != ".yaml" && ext != ".yml" {
			continue
		}
		name := filepath.Join(path, item.Name())
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			continue
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, errors.New("the folder holds no .yaml or .yml file")
	}
	return names, nil
}

func readFile(name string) ([]byte, os.FileInfo, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, withoutPath(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, withoutPath(err)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	if err != nil {
		return nil, nil, withoutPath(err)
	}
	if len(data) > MaxFileSize {
		size := ""
		if info.Mode().IsRegular() {
			size = fmt.Sprintf(" of %.1f MiB", float64(info.Size())/(1<<20))
		}
		return nil, nil, fmt.Errorf("the file%s is no SLO file: those have at most 1 MiB", size)
	}
	return data, info, nil
}

// withoutPath drops the path that the fault names anyway.
func withoutPath(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

// parse gives every document that is a mapping, faulty ones included, so that
// faults between files come out in the same pass.
func parse(name string, data []byte) ([]*File, Faults) {
	if fault, ok := notText(name, data); ok {
		return nil, Faults{fault}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var (
		files  []*File
		faults Faults
	)
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			faults = append(faults, syntaxFault(name, data, err))
			return files, faults
		}
		if len(document.Content) == 0 || isNull(document.Content[0]) {
			continue
		}
		r := &reader{path: name, source: data}
		if f := r.document(document.Content[0]); f != nil {
			files = append(files, f)
		}
		faults = append(faults, r.faults...)
	}
	if len(files) == 0 && len(faults) == 0 {
		faults = append(faults, Fault{name, 1, 1, "the file is empty; the least that an SLO file holds is\nservice: NAME\nslos: {completion: {objective: 99%}}"})
	}
	return files, faults
}

// notText finds what makes a file no UTF-8 text, before YAML says it in
// stranger words.
func notText(name string, data []byte) (Fault, bool) {
	for _, bom := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(data, []byte(bom)) {
			return Fault{name, 1, 1, "the file is UTF-16; save it as UTF-8"}, true
		}
	}
	line, column := 1, 1
	for rest := bytes.TrimPrefix(data, []byte("\ufeff")); len(rest) > 0; {
		c, size := utf8.DecodeRune(rest)
		switch {
		case c == utf8.RuneError && size <= 1:
			return Fault{name, line, column, fmt.Sprintf("the byte 0x%02x is no UTF-8: the file is no text, or not saved as UTF-8", rest[0])}, true
		case c < ' ' && c != '\t' && c != '\n' && c != '\r', c == 0x7f:
			return Fault{name, line, column, fmt.Sprintf("the control character 0x%02x: the file is no text", c)}, true
		case c == '\n':
			line, column = line+1, 1
		default:
			column++
		}
		rest = rest[size:]
	}
	return Fault{}, false
}

var yamlLine = regexp.MustCompile(`line (\d+):`)

var yamlError = regexp.MustCompile(`^yaml: (?:line \d+: )?(.*)$`)

// syntaxFault places an error of the YAML scanner. Where the scanner names a
// line it is the one where the broken part begins, often the first of the file;
// the line that breaks it is the one after the longest beginning of the file
// that can be read.
func syntaxFault(name string, data []byte, err error) Fault {
	message := strings.ReplaceAll(err.Error(), "\n", " ")
	if m := yamlError.FindStringSubmatch(message); m != nil {
		message = m[1]
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	line := 1
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = min(max(n, 1), len(lines))
		}
	}
	for n, read := len(lines)-1, 0; n > 0 && read < maxReread; n-- {
		start := bytes.Join(lines[:n], nil)
		read += len(start)
		if readable(start) {
			line = n + 1
			break
		}
	}
	text := string(lines[line-1])
	indent := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
	column := utf8.RuneCountInString(indent) + 1
	if tab := strings.IndexByte(indent, '\t'); tab >= 0 {
		return Fault{name, line, tab + 1, "a tab cannot indent YAML; use spaces"}
	}
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		if i := strings.Index(text, "*"+m[1]); i >= 0 {
			column = utf8.RuneCountInString(text[:i]) + 1
		}
	}
	return Fault{name, line, column, "this is no YAML: " + message}
}

// maxReread bounds the search for the line that breaks a file, in bytes.
const maxReread = 4 << 20

var unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)

func readable(data []byte) bool {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// positions are where a file's parts stand, for faults between files.
type positions struct {
	line, column             int // of the document
	agentsLine, agentsColumn int
	runsLine, runsColumn     int
	badAgents, badRuns       bool // faulty themselves: not compared
	badMatch                 bool
	keys                     map[string][2]int // see [File.Position]
}

const keySeparator = "\x00" // in no key

func (p *positions) note(e entry, keys ...string) {
	if p.keys == nil {
		p.keys = map[string][2]int{}
	}
	p.keys[strings.Join(keys, keySeparator)] = [2]int{e.key.Line, e.key.Column}
}

const apiVersion, fileKind = "agentslo/v1", "AgentSLO"

func defaults() *File {
	return &File{
		APIVersion:  apiVersion,
		Kind:        fileKind,
		Agents:      []string{"*"},
		Window:      Window{Rolling: 30 * day, Name: "30d"},
		Sampling:    SamplingNone,
		Runs:        DefaultRuns(),
		MaxExcluded: ratioOf(20, 100),
		Tools:       Tools{Expect: ExpectAlways, Evidence: []string{"*"}},
		Alerting:    Alerting{FalsePages: ratioOf(3, 10), Dispersion: one},
		Policy:      Policy{ResumeAbove: ratioOf(10, 100)},
	}
}

// DefaultRuns is what a file without runs means.
func DefaultRuns() Runs {
	return Runs{Root: RootAgent, QuietPeriod: 10 * time.Second, IdleTimeout: time.Hour, MaxAge: day, MaxSpans: 100000}
}
