/** Data goes to standard output, talk to standard error; nothing else in the house writes. */
export function data(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function json(value: unknown): void {
  data(JSON.stringify(value, null, 2));
}

export function talk(text: string): void {
  process.stderr.write(`${text}\n`);
}
