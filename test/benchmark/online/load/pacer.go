package main

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Begins this long after its start, so that the reader is there.
const leadNs = 100 * int64(time.Millisecond)

// pace writes the intended send times of a Poisson process to standard output, each when it is due: little-endian unsigned
// 64-bit nanoseconds of CLOCK_MONOTONIC, the clock of process.hrtime and of Python's time.monotonic_ns. It sleeps by
// absolute times: the runtime's own timers are late by up to a millisecond.
func pace(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("pacer takes RATE SECONDS SEED")
	}
	rate, err := strconv.ParseFloat(args[0], 64)
	if err != nil || rate <= 0 {
		return fmt.Errorf("RATE must be > 0 a second")
	}
	seconds, err := strconv.ParseFloat(args[1], 64)
	if err != nil || seconds <= 0 {
		return fmt.Errorf("SECONDS must be > 0")
	}
	seed, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return fmt.Errorf("SEED must be whole")
	}
	random := rand.New(rand.NewSource(seed))
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return err
	}
	due := float64(now.Nano() + leadNs)
	end := due + seconds*1e9
	stamp := make([]byte, 8)
	for {
		due += random.ExpFloat64() * 1e9 / rate
		if due >= end {
			return nil
		}
		until := unix.NsecToTimespec(int64(due))
		for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil) != nil {
		}
		binary.LittleEndian.PutUint64(stamp, uint64(due))
		if _, err := os.Stdout.Write(stamp); err != nil {
			return err
		}
	}
}
