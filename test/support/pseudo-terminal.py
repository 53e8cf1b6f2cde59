"""Runs a command in a pseudo-terminal of its own: pseudo-terminal.py ROWS COLUMNS COMMAND…

What it writes goes to standard output as it is. Lines on standard input: `resize ROWS COLUMNS`, and `type TEXT` with
escapes, so `type \\x03` is Ctrl-C; `signal SIGTERM`. Ends with the command's exit code; a signal as 128 + its number.
"""
import fcntl, os, pty, select, signal, struct, sys, termios

rows, columns, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
child, master = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    os.execvp(command[0], command)

asked = b""
inputs = [master, 0]
while True:
    ready, _, _ = select.select(inputs, [], [])
    if 0 in ready:
        data = os.read(0, 4096)
        if not data:
            inputs.remove(0)
        asked += data
        while b"\n" in asked:
            line, asked = asked.split(b"\n", 1)
            word, _, rest = line.decode().partition(" ")
            if word == "resize":
                size = [int(one) for one in rest.split()]
                fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
            if word == "signal":
                os.kill(child, signal.Signals[rest])
            if word == "type":
                os.write(master, rest.encode().decode("unicode_escape").encode("latin1"))
    if master in ready:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        os.write(1, data)
_, status = os.waitpid(child, 0)
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
