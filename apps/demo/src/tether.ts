// Loaded into a child before its program (--import). The demo holds the other end of the child's standard input; when that
// closes, be it by `kill -9`, the child ends itself in good order, so that nothing outlives the demo.
process.stdin.once('close', () => process.kill(process.pid, 'SIGTERM'));
process.stdin.on('error', () => undefined);
process.stdin.resume();
// Alone it must not keep a program alive that has nothing more to do.
(process.stdin as { unref?: () => void }).unref?.();
