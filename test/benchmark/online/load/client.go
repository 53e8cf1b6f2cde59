package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

type spec struct {
	Target  string  `json:"target"`
	Model   string  `json:"model"`
	Mode    string  `json:"mode"`
	Seconds float64 `json:"seconds"`
	Callers int     `json:"callers"`
	Out     string  `json:"out"`
}

// ask is a unary client in a compiled language with threads: about the least that this machine lets any client see. It reads
// stamps and writes times as clients/measure.mjs does.
func ask(args []string) error {
	var s spec
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &s) != nil {
		return fmt.Errorf("client takes SPEC as JSON")
	}
	connection, err := grpc.NewClient(s.Target, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{})))
	if err != nil {
		return err
	}
	defer connection.Close()
	var failed error
	call := func(index int) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		request := query(s.Model, fmt.Sprintf("how do I rotate the signing keys of cluster number %d safely", index))
		var answer []byte
		if err := connection.Invoke(ctx, service+"ModelInfer", &request, &answer); err != nil {
			failed = err
		}
	}
	for index := range 100 {
		call(index)
	}
	fmt.Println("ready")
	var lock sync.Mutex
	var times []uint32
	one := func(index int, fromNs int64) {
		call(index)
		took := uint32((monotonicNs() - fromNs) / 1000)
		lock.Lock()
		times = append(times, took)
		lock.Unlock()
	}
	startedNs, cpuUs := monotonicNs(), usedUs()
	if s.Mode == "open" {
		startedNs, cpuUs, err = openLoop(one)
	} else {
		closedLoop(one, startedNs+int64(s.Seconds*1e9), s.Callers)
	}
	if err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	elapsedS := float64(monotonicNs()-startedNs) / 1e9
	bytes := make([]byte, 0, 4*len(times))
	for _, took := range times {
		bytes = binary.LittleEndian.AppendUint32(bytes, took)
	}
	if err := os.WriteFile(s.Out+".embed", bytes, 0o600); err != nil {
		return err
	}
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"calls": len(times), "errors": map[string]int{}, "names": []string{"embed"},
		"elapsedS": elapsedS, "cpuUs": usedUs() - cpuUs, "maxRssMb": usage.Maxrss / 1024,
	})
}

func openLoop(one func(int, int64)) (startedNs, cpuUs int64, err error) {
	stamps := bufio.NewReader(os.Stdin)
	stamp := make([]byte, 8)
	var running sync.WaitGroup
	for index := 0; ; index++ {
		if _, err = io.ReadFull(stamps, stamp); err == io.EOF {
			running.Wait()
			return startedNs, cpuUs, nil
		} else if err != nil {
			return startedNs, cpuUs, err
		}
		if index == 0 {
			startedNs, cpuUs = monotonicNs(), usedUs()
		}
		fromNs := int64(binary.LittleEndian.Uint64(stamp))
		running.Go(func() { one(index, fromNs) })
	}
}

func closedLoop(one func(int, int64), endNs int64, callers int) {
	var running sync.WaitGroup
	for range callers {
		running.Go(func() {
			for at, index := monotonicNs(), 0; at < endNs; at, index = monotonicNs(), index+1 {
				one(index, at)
			}
		})
	}
	running.Wait()
}

func query(model, text string) []byte {
	var input []byte
	input = appendBytes(input, inputName, []byte("TEXT"))
	input = appendBytes(input, inputDatatype, []byte("BYTES"))
	input = appendBytes(input, inputShape, []byte{1, 1})
	var request []byte
	request = appendBytes(request, requestModel, []byte(model))
	request = appendBytes(request, requestInputs, input)
	request = appendBytes(request, requestOutputs, appendBytes(nil, outputName, []byte("EMBEDDING")))
	element := append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
	return appendBytes(request, requestRaw, element)
}

func monotonicNs() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano()
}

func usedUs() int64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return (usage.Utime.Nano() + usage.Stime.Nano()) / 1000
}
