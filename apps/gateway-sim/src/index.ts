import type { AddressInfo, Socket } from 'node:net';
import type { Account } from './account.ts';
import type { Calls } from './calls.ts';
import type { DayReports } from './day-report-faults.ts';
import type { DeliveryScript } from './delivery-script.ts';
import type { Faults } from './faults.ts';
import { ListeningPort } from './listening-port.ts';
import { formatAmount } from './money.ts';
import { DEFAULT_OPTIONS, type GatewaySimOptions } from './options.ts';
import type { Push } from './push.ts';
import type { ScheduleFaults } from './schedule-faults.ts';
import type { Schedules } from './schedules.ts';
import type { SendLog } from './send-log.ts';
import { buildServer } from './server.ts';
import { Simulation } from './simulation.ts';

export type { Account } from './account.ts';
export type { AcceptedMessage, Counts, Duplicate, Transaction } from './books.ts';
export type { Calls } from './calls.ts';
export type { DayReportFaultName, DayReports } from './day-report-faults.ts';
export type { DeliveryScript, Which } from './delivery-script.ts';
export type { FaultName, FaultShares, OutageName } from './fault-names.ts';
export type { Faults } from './faults.ts';
export type { DlrTimes, GatewaySimOptions, Span } from './options.ts';
export type { Push, PushCounts, PushFaults } from './push.ts';
export type { ScheduleFaultName } from './schedule-fault-names.ts';
export type { ScheduleFaults } from './schedule-faults.ts';
export type { Schedule, ScheduleChange, Schedules } from './schedules.ts';
export type { SendLog } from './send-log.ts';

/** A simulator that listens. */
export interface GatewaySim {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly port: number;
  /** What was accepted and charged since the start or the last `reset()`; the same facts as `/_sim/…`. */
  readonly log: SendLog;
  /** Sets and releases faults; the same as `/_sim/faults` and `/_sim/release`. */
  readonly faults: Faults;
  /** What becomes of messages after acceptance: late, stuck, contradictory, reported twice, in unknown words. */
  readonly delivery: Pick<DeliveryScript, 'override' | 'stuck' | 'late' | 'flip' | 'doubleReport' | 'clear'>;
  /** The account's money and credentials; the same as `/_sim/account`. */
  readonly account: Pick<Account, 'setBalance' | 'breakCredentials' | 'balance'>;
  /** Receipts posted to a URL. */
  readonly push: Pick<Push, 'to' | 'faults' | 'counts' | 'settled'>;
  /** Sends for later, and foreign ones planted with `add`; and what goes wrong with the calls that change them. */
  readonly schedules: Pick<Schedules, 'add' | 'find' | 'list' | 'move' | 'cancel' | 'dispatch'> & {
    readonly faults: Pick<ScheduleFaults, 'next' | 'clear'>;
  };
  /** How reports of days are given, and what goes wrong with them; the same as `/_sim/day-reports`. */
  readonly dayReports: Pick<DayReports, 'next' | 'clear' | 'once' | 'asLink'>;
  /** Calls of the provider that arrived, by endpoint, answered or not. */
  calls(): Calls;
  /** Money charged less money given back, four decimals. */
  billed(): string;
  /** Sockets open, send requests being answered, and the most of those at once. */
  activity(): { openConnections: number; inFlight: number; peakInFlight: number };
  /** Forgets everything accepted and everything set at run time. A closed port stays closed. */
  reset(): void;
  /** Closes the port and cuts every connection. May be called twice. */
  close(): Promise<void>;
}

/**
 * Starts the simulated provider on a loopback socket.
 * @throws RangeError for a price, balance, zone, URL or share that makes no sense; the system's error for a taken port.
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
  const listeningPort = new ListeningPort(app.server, { port, host: simulation.options.host }, sockets);
  simulation.faults.usePort(listeningPort);
  return {
    url: `http://${address}:${port}`,
    port,
    get log() {
      return simulation.log;
    },
    faults: simulation.faults,
    delivery: simulation.delivery,
    account: simulation.account,
    push: simulation.push,
    schedules: simulation.schedules,
    dayReports: simulation.dayReports,
    calls: () => simulation.calls.counts(),
    billed: () => formatAmount(simulation.log.billed),
    activity: () => ({
      openConnections: sockets.size,
      inFlight: simulation.inFlight,
      peakInFlight: simulation.peakInFlight,
    }),
    reset: () => simulation.reset(),
    close: async () => {
      simulation.push.close();
      await listeningPort.end();
      await app.close();
    },
  };
}
