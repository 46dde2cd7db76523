import { ConfigurationError, readConfiguration } from './configuration.ts';
import { startGatewaySim } from './index.ts';

try {
  const sim = await startGatewaySim(readConfiguration(process.argv.slice(2), process.env));
  process.stdout.write(`gateway-sim listening on ${sim.url}\n`);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      void sim.close().then(() => process.exit(0));
    });
  }
} catch (error) {
  const text = error instanceof ConfigurationError || error instanceof Error ? error.message : String(error);
  process.stderr.write(`gateway-sim cannot start:\n${text}\n`);
  process.exitCode = 1;
}
