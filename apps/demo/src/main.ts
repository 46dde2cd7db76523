import { runDemo } from './demo.ts';
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
    process.exitCode = await runDemo(options, interrupt);
  }
} catch (error) {
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(`demo: ${text}\n${error instanceof UsageError ? 'See --help.\n' : ''}`);
  process.exitCode = 1;
}
