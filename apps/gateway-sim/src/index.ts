import type { AddressInfo, Socket } from 'node:net';
import type { Faults } from './faults.ts';
import { DEFAULT_OPTIONS, type GatewaySimOptions } from './options.ts';
import type { SendLog } from './send-log.ts';
import { buildServer } from './server.ts';
import { Simulation } from './simulation.ts';

export type { FaultName, FaultShares, OutageName } from './fault-names.ts';
export type { Faults } from './faults.ts';
export type { GatewaySimOptions, Span } from './options.ts';
export type { AcceptedMessage, Counts, Duplicate, SendLog, Transaction } from './send-log.ts';

/** A simulator that listens. */
export interface GatewaySim {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly port: number;
  /** What was accepted and charged since the start or the last `reset()`; the same facts as `/_sim/…`. */
  readonly log: SendLog;
  /** Sets and releases faults; the same as `/_sim/faults` and `/_sim/release`. */
  readonly faults: Faults;
  /** Sockets open, send requests being answered, and the most of those at once. */
  activity(): { openConnections: number; inFlight: number; peakInFlight: number };
  /** Forgets everything accepted and every fault set at run time. */
  reset(): void;
  /** Closes the port and cuts every connection. May be called twice. */
  close(): Promise<void>;
}

/**
 * Starts the simulated provider on a loopback socket.
 * @throws RangeError for a price, balance or shares of faults that make no sense; the system's error for a taken port.
 */
export async function startGatewaySim(options: Partial<GatewaySimOptions> = {}): Promise<GatewaySim> {
  const simulation = new Simulation({ ...DEFAULT_OPTIONS, ...options });
  const sockets = new Set<Socket>();
  const app = await buildServer(simulation, () => sockets.size);
  app.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await app.listen({ port: simulation.options.port, host: simulation.options.host });
  const { address, port } = app.server.address() as AddressInfo;
  return {
    url: `http://${address}:${port}`,
    port,
    get log() {
      return simulation.log;
    },
    faults: simulation.faults,
    activity: () => ({
      openConnections: sockets.size,
      inFlight: simulation.inFlight,
      peakInFlight: simulation.peakInFlight,
    }),
    reset: () => simulation.reset(),
    close: () => app.close().then(() => undefined),
  };
}
