package interchange

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentslo/agentslo/slo"
)

// MaxSourceSize is the largest file that is read, in bytes.
const MaxSourceSize = 16 << 20

// Source is one file of another format; it may hold several documents, of
// either format.
type Source struct {
	Path string // stands in notices
	Data []byte
}

// ImportOptions fill in what a format does not say.
type ImportOptions struct {
	// Window is the error budget's, for SLOs that name none, as an agentslo file
	// writes it; "" is 30d.
	Window string
}

// File is one agentslo file: the documents of one service.
type File struct {
	Name string // service.yaml
	Data []byte
}

// Import reads specifications of other tools as agentslo files, one for each
// service. What refers to each other may stand in several sources.
//
// SLOs that cannot be carried are left out and have an error among the notices,
// so files are whole only where [Notices.Errors] is 0. What Import returns
// passes [slo.Parse].
func Import(sources []Source, options ImportOptions) ([]File, Notices) {
	var notices Notices
	if options.Window == "" {
		options.Window = "30d"
	}
	i := importer{options: options, notices: &notices, objects: map[string]map[string]*openSLOObject{}}
	for _, s := range sources {
		i.read(s)
	}
	i.openSLO()
	files := i.files(documents(i.objectives))
	return files, notices.sorted()
}

type importer struct {
	options    ImportOptions
	notices    *Notices
	objectives []*objective

	objects map[string]map[string]*openSLOObject // by kind and name
	order   []*openSLOObject                     // in the order of the sources
}

// read takes the documents of one source.
func (i *importer) read(s Source) {
	r := reader{path: s.Path, notices: i.notices}
	if len(s.Data) > MaxSourceSize {
		r.notice(true, nil, "", "the file is larger than %d MiB", MaxSourceSize>>20)
		return
	}
	found := false
	for d := yaml.NewDecoder(bytes.NewReader(s.Data)); ; {
		var n yaml.Node
		err := d.Decode(&n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			*i.notices = append(*i.notices, syntaxNotice(s.Path, err))
			return
		}
		if len(n.Content) == 0 || resolve(n.Content[0]) == nil {
			continue
		}
		found = true
		i.document(field{reader: r, node: resolve(n.Content[0])})
	}
	if !found {
		r.notice(true, nil, "", "the file holds no document")
	}
}

// document tells what format a document is of.
func (i *importer) document(f field) {
	if f.present() && f.node.Kind == yaml.SequenceNode && len(f.node.Content) > 0 && f.key == "" {
		for _, item := range f.list() { // OpenSLO's own examples are lists of objects
			i.document(item)
		}
		return
	}
	if !f.present() || f.node.Kind != yaml.MappingNode {
		f.fail("a specification is a mapping")
		return
	}
	o := f.object()
	version, apiVersion := o.get("version"), o.get("apiVersion")
	switch v := apiVersion.text(); {
	case version.text() == slothVersion:
		i.sloth(o, slothKeys)
	case v == slothObjectVersion:
		i.slothObject(o)
	case v == openSLOVersion:
		i.openSLODocument(o)
	case strings.HasPrefix(v, "openslo"):
		apiVersion.fail("%s is not read, only %s", v, openSLOVersion)
	case strings.HasPrefix(v, "agentslo/"):
		apiVersion.fail("this is an agentslo file already")
	default:
		f.fail("this is neither OpenSLO (apiVersion: %s) nor Sloth (version: %s)", openSLOVersion, slothVersion)
	}
}

// files writes documents, those of one service into one file, and reads them
// back: a file that would not be accepted is an error here.
func (i *importer) files(documents []*document) []File {
	var files []File
	at := map[string]int{}
	for _, d := range documents {
		text, err := encode(d.yaml())
		if err != nil {
			d.objectives[0].fail("%s", err)
			continue
		}
		if _, err := slo.Parse(d.service, text); err != nil {
			var faults slo.Faults
			if errors.As(err, &faults) {
				for _, fault := range faults {
					d.blame(fault).fail("%s", fault.Message)
				}
			}
			continue
		}
		name := d.service + ".yaml"
		n, ok := at[name]
		if !ok {
			n = len(files)
			at[name] = n
			files = append(files, File{Name: name, Data: []byte(header(d))})
		} else {
			files[n].Data = append(files[n].Data, "---\n"...)
		}
		files[n].Data = append(files[n].Data, text...)
	}
	return files
}

// blame is the objective that a fault's message names, or the first.
func (d *document) blame(f slo.Fault) *objective {
	for _, o := range d.objectives {
		if strings.Contains(f.Message, "SLO "+o.name) {
			return o
		}
	}
	return d.objectives[0]
}

func header(d *document) string {
	return fmt.Sprintf("# Imported from %s.\n", d.objectives[0].path)
}

func encode(n *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return nil, err
	}
	return out.Bytes(), e.Close()
}
