import { Interrupt } from './interrupt.ts';
import { readOptions, USAGE, UsageError } from './options.ts';

// A reader who leaves (`| head`) must not take the clean-up with him.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

try {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') process.stdout.write(USAGE);
  else {
    const interrupt = new Interrupt();
    interrupt.listen();
    // Each loaded by itself: an image that joins a fleet has no servers of its own to start.
    process.exitCode = options.join
      ? await (await import('./join.ts')).joinFleet(options, interrupt)
      : await (await import('./demo.ts')).runDemo(options, interrupt);
  }
} catch (error) {
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(`demo: ${text}\n${error instanceof UsageError ? 'See --help.\n' : ''}`);
  process.exitCode = 1;
}
