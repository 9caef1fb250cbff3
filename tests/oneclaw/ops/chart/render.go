// Renders the templates of a chart with Go's own text/template, as Helm does, and with those of Helm's functions that
// the chart uses. Reads {"files": {name: text}, "scope": {…}} from standard input; writes {name: text} as JSON.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"
	"text/template"
)

func isEmpty(value any) bool {
	truth, _ := template.IsTrue(value)
	return !truth
}

func main() {
	var input struct {
		Files map[string]string
		Scope map[string]any
	}
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		fail(err)
	}
	root := template.New("chart").Option("missingkey=zero")
	indent := func(count int, text string) string {
		return strings.Repeat(" ", count) + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", count))
	}
	root.Funcs(template.FuncMap{
		"include": func(name string, scope any) (string, error) {
			var out bytes.Buffer
			err := root.ExecuteTemplate(&out, name, scope)
			return out.String(), err
		},
		"required": func(sentence string, value any) (any, error) {
			if value == nil || value == "" {
				return nil, fmt.Errorf("%s", sentence)
			}
			return value, nil
		},
		"default": func(instead, value any) any {
			if isEmpty(value) {
				return instead
			}
			return value
		},
		"dict": func(pairs ...any) map[string]any {
			made := map[string]any{}
			for i := 0; i+1 < len(pairs); i += 2 {
				made[pairs[i].(string)] = pairs[i+1]
			}
			return made
		},
		"list":       func(items ...any) []any { return items },
		"nindent":    func(count int, text string) string { return "\n" + indent(count, text) },
		"quote":      func(value any) string { return fmt.Sprintf("%q", fmt.Sprint(value)) },
		"toJson":     func(value any) (string, error) { text, err := json.Marshal(value); return string(text), err },
		"trimSuffix": func(suffix, text string) string { return strings.TrimSuffix(text, suffix) },
		"trunc":      func(length int, text string) string { return text[:min(length, len(text))] },
		"int":        func(value float64) int { return int(value) },
	})
	for name, text := range input.Files {
		if _, err := root.New(name).Parse(text); err != nil {
			fail(err)
		}
	}
	rendered := map[string]string{}
	for name := range input.Files {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		var out bytes.Buffer
		if err := root.ExecuteTemplate(&out, name, input.Scope); err != nil {
			fail(err)
		}
		rendered[name] = out.String()
	}
	json.NewEncoder(os.Stdout).Encode(rendered)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
