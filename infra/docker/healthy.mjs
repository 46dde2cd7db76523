// Asks the process of this container whether it is ready: the image has no curl. 0 when it is; else 1, and why.
const url = process.argv[2] ?? `http://127.0.0.1:${process.env.SENDLEDGER_HEALTH_PORT}/readyz`;
try {
  const answer = await fetch(url, { signal: AbortSignal.timeout(2_500) });
  if (answer.ok) process.exit(0);
  process.stderr.write(`${url} answered ${answer.status}: ${await answer.text()}\n`);
} catch (error) {
  process.stderr.write(`${url}: ${error instanceof Error ? error.message : error}\n`);
}
process.exit(1);
