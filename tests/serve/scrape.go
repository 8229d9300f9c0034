// SPDX-License-Identifier: Apache-2.0

// Scrapes a server as Alloy's pyroscope.scrape and Parca do, with the packages that they use: net/http with its own
// headers, github.com/google/pprof/profile to read what comes.
//
//	scrape TARGETS-URL AGENT PATH COUNT     discovers targets as http_sd does, and scrapes each of them COUNT times,
//	                                        a second after each other
//
// prints for each target, line by line, what it found. It fails where the scrapers would.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

type group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(good bool, format string, args ...interface{}) {
	if !good {
		must(fmt.Errorf(format, args...))
	}
}

// As both fetch: status, body, and in newer Alloys the type.
func fetch(address, agent string) []byte {
	request, err := http.NewRequest("GET", address, nil)
	must(err)
	request.Header.Set("User-Agent", agent)
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Do(request)
	must(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(err)
	check(response.StatusCode == http.StatusOK, "%s: %s: %s", address, response.Status, body)
	check(len(body) > 0, "%s: empty", address)
	check(strings.HasPrefix(response.Header.Get("Content-Type"), "application/octet-stream"), "%s: type %s", address,
		response.Header.Get("Content-Type"))
	return body
}

// http_sd, as Prometheus' own: the type must be JSON, and labels must be valid.
func discover(address string) []group {
	response, err := http.Get(address)
	must(err)
	defer response.Body.Close()
	check(strings.HasPrefix(strings.TrimSpace(response.Header.Get("Content-Type")), "application/json"), "not JSON")
	var groups []group
	must(json.NewDecoder(response.Body).Decode(&groups))
	return groups
}

// Parameters are labels, as both have them.
func target(g group, path string) string {
	parameters := url.Values{}
	for name, value := range g.Labels {
		if strings.HasPrefix(name, "__param_") {
			parameters.Set(strings.TrimPrefix(name, "__param_"), value)
		}
	}
	where := url.URL{Scheme: "http", Host: g.Targets[0], Path: path, RawQuery: parameters.Encode()}
	return where.String()
}

// Parca's normalizer wants ids that are places in their tables.
func checkIds(p *profile.Profile) {
	for i, m := range p.Mapping {
		check(m.ID == uint64(i+1), "mapping %d has id %d", i, m.ID)
	}
	for i, f := range p.Function {
		check(f.ID == uint64(i+1), "function %d has id %d", i, f.ID)
	}
	for i, l := range p.Location {
		check(l.ID == uint64(i+1), "location %d has id %d", i, l.ID)
	}
	for _, s := range p.Sample {
		for key := range s.NumLabel {
			check(key != "", "a label without a key")
		}
	}
}

// Keeps sample types as Parca does for keep_sample_type.
func keep(p *profile.Profile, types ...string) *profile.Profile {
	p = p.Copy()
	var indices []int
	var kept []*profile.ValueType
	for i, t := range p.SampleType {
		for _, name := range types {
			if t.Type == name {
				indices = append(indices, i)
				kept = append(kept, t)
			}
		}
	}
	p.SampleType = kept
	for _, s := range p.Sample {
		values := []int64{}
		for _, i := range indices {
			values = append(values, s.Value[i])
		}
		s.Value = values
	}
	p.DefaultSampleType = ""
	p = p.Compact()
	var written bytes.Buffer
	must(p.Write(&written))
	p, err := profile.ParseData(written.Bytes())
	must(err)
	return p
}

func show(what string, p *profile.Profile) {
	flat := map[string][]int64{}
	for _, s := range p.Sample {
		if len(s.Location) == 0 || len(s.Location[0].Line) == 0 {
			continue
		}
		name := s.Location[0].Line[0].Function.Name
		if flat[name] == nil {
			flat[name] = make([]int64, len(p.SampleType))
		}
		for i, v := range s.Value {
			flat[name][i] += v
		}
	}
	var types []string
	for _, t := range p.SampleType {
		types = append(types, t.Type+"/"+t.Unit)
	}
	fmt.Println(what, strings.Join(types, ","), "keep", flat["keep"], "pass", flat["pass"])
}

func main() {
	count, err := strconv.Atoi(os.Args[4])
	must(err)
	for _, g := range discover(os.Args[1]) {
		address := target(g, os.Args[3])
		fmt.Println("target", g.Labels["service_name"], g.Labels["pid"])
		var before *profile.Profile
		for i := 0; i < count; i++ {
			p, err := profile.ParseData(fetch(address, os.Args[2]))
			must(err)
			must(p.CheckValid())
			checkIds(p)
			check(time.Since(time.Unix(0, p.TimeNanos)) < time.Minute && p.DurationNanos == 0, "its time is %d", p.TimeNanos)
			fmt.Println("profile", p.DefaultSampleType, p.PeriodType.Type+"/"+p.PeriodType.Unit, p.Period)
			show("all", p)
			show("kept", keep(p, "inuse_objects", "inuse_space"))
			if before != nil {
				old := before.Copy()
				old.Scale(-1)
				delta, err := profile.Merge([]*profile.Profile{p, old})
				must(err)
				show("delta", delta)
			}
			before = p
			if i+1 < count {
				fmt.Println("next")
				time.Sleep(time.Second)
			}
		}
	}
}
