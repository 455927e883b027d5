// A client on Go's net/http: what the benchmarks hold Fireweed against.
//
// It prints a `Measurement` of FireweedBench as JSON.
//
// Usage: bench-go-client URL COUNT IN-FLIGHT CONNECTIONS CONTENT-LENGTH
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type measurement struct {
	Seconds        float64 `json:"seconds"`
	CPUSeconds     float64 `json:"cpuSeconds"`
	PeakKibibytes  int     `json:"peakKibibytes"`
	ExtraKibibytes int     `json:"extraKibibytes"`
	Count          int     `json:"count"`
	Threads        int     `json:"threads"`
}

func main() {
	if len(os.Args) != 6 {
		log.Fatal("usage: bench-go-client URL COUNT IN-FLIGHT CONNECTIONS CONTENT-LENGTH")
	}
	url, count, window := os.Args[1], number(os.Args[2]), number(os.Args[3])
	connections, contentLength := number(os.Args[4]), number(os.Args[5])
	transport := &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections}
	client := &http.Client{Transport: transport}
	start, cpu, resident := time.Now(), cpuSeconds(), status("VmRSS:")
	ends, share := make(chan error, window), count/window
	for i := 0; i < window; i++ {
		go func() { ends <- get(client, url, share, contentLength) }()
	}
	for i := 0; i < window; i++ {
		if err := <-ends; err != nil {
			log.Fatal(err)
		}
	}
	seconds, used, peak := time.Since(start).Seconds(), cpuSeconds()-cpu, status("VmHWM:")
	err := json.NewEncoder(os.Stdout).Encode(measurement{
		seconds, used, peak, peak - resident, share * window, status("Threads:")})
	if err != nil {
		log.Fatal(err)
	}
}

// get gets the content `count` times, one after the other.
func get(client *http.Client, url string, count, contentLength int) error {
	for i := 0; i < count; i++ {
		response, err := client.Get(url)
		if err != nil {
			return err
		}
		content, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			return err
		}
		if response.StatusCode != 200 || len(content) != contentLength {
			return fmt.Errorf("status %d with %d bytes", response.StatusCode, len(content))
		}
	}
	return nil
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// status is a number of /proc/self/status.
func status(name string) int {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		log.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), name)
	return number(strings.Fields(after)[0])
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		log.Fatal(err)
	}
	return value
}
