import { setTimeout as sleep } from 'node:timers/promises';
import { claim, openBreakersOf } from '@sendledger/core/ledger';
import { pick } from './dice.ts';
import { SEND_BUDGET_MS } from './fleet.ts';
import { patiently, rows } from './ledger.ts';
import { ROUTE } from './messages.ts';
import { LOOK_EVERY_MS, type Stage } from './stage.ts';

/**
 * What has to happen first, so that a process comes to the point at all.
 *
 * - `nobody marks`: the submit workers stand still, and a claim's lease runs out.
 * - `a mark is lost`: a submit worker stands still behind its mark, and the lease of its request runs out.
 * - `a reply is lost`: a submit worker is killed when its request is with the provider.
 * - `a request is never made`: a submit worker is killed behind its mark.
 * - `its mark will be lost`: the database is copied behind the claim, and before the mark; see {@link Fleet.keepCopy}.
 *
 * The others are what they say.
 */
export type Prelude =
  | 'nothing'
  | 'nobody marks'
  | 'a mark is lost'
  | 'a reply is lost'
  | 'a request is never made'
  | 'its mark will be lost'
  | 'it is cancelled while it waits'
  | 'a newer code is there'
  | 'a claimer is told to end'
  | 'nobody claims'
  | 'a zone gets other rules'
  | 'the breaker is open'
  | 'the account is empty'
  | 'we are too fast'
  | 'a held request is cancelled'
  | 'a held request is moved'
  | 'receipts are pushed'
  | 'nothing is reported'
  | 'delivery is late'
  | 'a worker starts again';

/** A prelude that was played. */
export interface Played {
  /** Once the order is laid: what makes a process come. */
  begin(): Promise<void>;
  /** Once the process was struck: those that stand still go on, and what would never end is ended. */
  end(): Promise<void>;
}

const nothing = async () => undefined;
const HOUR_MS = 3_600_000;
/** A quarter of an hour is what Kathmandu is ahead of where it was before 1986. */
const QUARTER_MS = 900_000;

/** Plays what comes first. What it answers with `begin` follows when the order for the cell's own point is laid. */
export const PRELUDES: Readonly<Record<Prelude, (stage: Stage, seed: number) => Promise<Played>>> = {
  nothing: async (stage) => ({ begin: () => stage.enqueueFirst(), end: nothing }),

  'nobody marks': async (stage) => {
    stage.signal('submit', 'SIGSTOP');
    return { begin: () => stage.enqueueFirst(), end: async () => stage.signal('submit', 'SIGCONT') };
  },

  'a mark is lost': async (stage, seed) => {
    const worker = await stage.stopAt('mark: after commit', () => stage.enqueueFirst());
    return {
      begin: nothing,
      end: async () => {
        if (pick(2, seed, stage.cell.id, 'awakes') === 0) await stage.killAndRestart(worker);
        else stage.signalOne(worker, 'SIGCONT');
      },
    };
  },

  'a reply is lost': async (stage) => {
    const worker = await stage.stopAt('request: after its last byte', () => stage.enqueueFirst());
    // The bytes are with the system; the provider has read them when it counts the request.
    while (stage.fleet.sim.log.counts().requests === stage.requestsBefore) await sleep(LOOK_EVERY_MS);
    await stage.killAndRestart(worker);
    return { begin: nothing, end: nothing };
  },

  'a request is never made': async (stage) => {
    const worker = await stage.stopAt('mark: after commit', () => stage.enqueueFirst());
    await stage.killAndRestart(worker);
    return { begin: nothing, end: nothing };
  },

  'its mark will be lost': async (stage) => {
    const { fleet } = stage;
    const [first] = fleet.workersOf('submit');
    stage.signal('submit', 'SIGSTOP');
    stage.signal('claim', 'SIGSTOP');
    await stage.enqueueFirst();
    await claimAll(stage);
    stage.mayEnqueue = false;
    await fleet.keepCopy();
    stage.signal('claim', 'SIGCONT');
    return { begin: async () => first?.signal('SIGCONT'), end: async () => stage.signal('submit', 'SIGCONT') };
  },

  'it is cancelled while it waits': async (stage) => {
    const { pool, producer } = stage.fleet;
    stage.signal('claim', 'SIGSTOP');
    const unwanted = stage.messages.unwanted();
    await stage.enqueue([unwanted]);
    // The fact alone, and whoever wrote it died before the sweep.
    await patiently(() =>
      producer.transaction(pool, (tx) =>
        producer.recordCancellation(tx, { which: { event: unwanted.event }, by: 'asha', why: 'not wanted any more' }),
      ),
    );
    return { begin: async () => stage.signal('claim', 'SIGCONT'), end: () => stage.enqueueFirst() };
  },

  'a newer code is there': async (stage) => {
    const { messages } = stage;
    const [older, newer] = messages.codes();
    const worker = await stage.stopAt('mark: after commit', () => stage.enqueue([older]));
    stage.signal('claim', 'SIGSTOP');
    // Neither may its lease run out: it shall say itself that it did not send.
    stage.signal('reconcile', 'SIGSTOP');
    await stage.enqueue([newer]);
    await sleep(SEND_BUDGET_MS + 100);
    stage.signalOne(worker, 'SIGCONT');
    await stage.until(
      'the older code is not sent',
      `select exists (select from sendledger.outbound_message m where m.recipient like $1 and m.state = 'retry')`,
      [messages.numbersLike],
    );
    return {
      begin: async () => {
        await stage.enqueueFirst();
        stage.signal('reconcile', 'SIGCONT');
      },
      end: async () => stage.signal('claim', 'SIGCONT'),
    };
  },

  'a claimer is told to end': async (stage) => {
    stage.signal('submit', 'SIGSTOP');
    stage.signal('reconcile', 'SIGSTOP');
    return {
      begin: async () => {
        await stage.enqueueFirst();
        await stage.until(
          'something is claimed',
          `select exists (select from sendledger.submission s where s.state = 'open')`,
        );
        for (const worker of stage.fleet.workersOf('claim')) worker.tellToEnd();
        stage.injected += 2;
      },
      end: async () => {
        stage.signal('reconcile', 'SIGCONT');
        stage.signal('submit', 'SIGCONT');
      },
    };
  },

  'nobody claims': async (stage) => {
    stage.signal('claim', 'SIGSTOP');
    return {
      begin: async () => {
        await stage.enqueue([stage.messages.shortLived(1_500)]);
        await stage.enqueueFirst();
      },
      end: async () => stage.signal('claim', 'SIGCONT'),
    };
  },

  'a zone gets other rules': async (stage) => {
    const { fleet, messages } = stage;
    const [worker] = fleet.workersOf('reconcile');
    await stage.enqueue([messages.wallClock(new Date(Date.now() + QUARTER_MS + 6_000), 'Asia/Kathmandu')]);
    // As if its zone had been a quarter of an hour nearer to UTC when the schedule was read: it is meant that much earlier.
    await rows(
      fleet.pool,
      `update sendledger.outbound_message set scheduled_offset_s = scheduled_offset_s - 900 where recipient like $1 and scheduled_for > now()`,
      [messages.numbersLike],
    );
    return {
      begin: async () => {
        await stage.enqueueFirst();
        // Upkeep is what a process begins with.
        stage.injected++;
        if (worker !== undefined) await stage.killAndRestart(worker);
      },
      end: nothing,
    };
  },

  'the breaker is open': async (stage) => {
    await openBreakers(stage);
    return { begin: () => stage.enqueueFirst(), end: () => closeBreakers(stage) };
  },

  'the account is empty': async (stage) => {
    stage.fleet.sim.account.setBalance('0.0000');
    await openBreakers(stage);
    return {
      begin: () => stage.enqueueFirst(),
      end: async () => {
        stage.fleet.sim.account.setBalance(null);
        await closeBreakers(stage);
      },
    };
  },

  'we are too fast': async (stage) => ({
    begin: async () => {
      // As many as the first messages are in requests: whichever is answered first is refused so.
      stage.fleet.sim.faults.next('throttle-429', 5);
      await stage.enqueueFirst();
    },
    end: nothing,
  }),

  'a held request is cancelled': async (stage) => {
    const held = await enqueueHeld(stage);
    return {
      begin: async () => {
        await stage.enqueueFirst();
        await cancel(stage, held);
      },
      end: nothing,
    };
  },

  'a held request is moved': async (stage) => {
    const held = await enqueueHeld(stage);
    const { fleet, messages } = stage;
    return {
      begin: async () => {
        await stage.enqueueFirst();
        const [row] = await rows<{ id: string }>(
          fleet.pool,
          `select m.id from sendledger.outbound_message m where m.recipient like $1 and m.held_by = 'provider'`,
          [messages.numbersLike],
        );
        const to = new Date(Date.now() + 4 * HOUR_MS);
        const { answer } = await patiently(() =>
          fleet.producer.reschedule(fleet.pool, { messageId: row?.id ?? '', to, by: 'asha', why: 'later' }),
        );
        if (answer !== 'asked') throw new Error(`the move was answered ${answer}`);
      },
      end: async () => {
        await stage.until(
          'the request is moved',
          `select m.scheduled_for > now() + interval '3 hours' from sendledger.outbound_message m where m.recipient like $1 and m.held_by = 'provider'`,
          [messages.numbersLike],
        );
        // Or the cell would end in four hours.
        await cancel(stage, held);
      },
    };
  },

  'receipts are pushed': async (stage) => {
    stage.fleet.sim.push.to(stage.fleet.pushUrl);
    return { begin: () => stage.enqueueFirst(), end: nothing };
  },

  'nothing is reported': async (stage) => {
    const { messages, fleet } = stage;
    fleet.sim.delivery.stuck(messages.asideNumbers);
    return {
      begin: async () => {
        await stage.enqueueFirst();
        await stage.enqueue([messages.unreported()]);
      },
      end: nothing,
    };
  },

  'delivery is late': async (stage) => {
    const { messages, fleet } = stage;
    fleet.sim.delivery.late(messages.asideNumbers, 4_000);
    return {
      begin: async () => {
        await stage.enqueueFirst();
        await stage.enqueue([messages.hurried()]);
      },
      end: nothing,
    };
  },

  'a worker starts again': async (stage) => {
    const worker = await stage.stopAt('mark: after commit', () => stage.enqueueFirst());
    return { begin: () => stage.killAndRestart(worker), end: nothing };
  },
};

/** Under a lease as long as in production, so that the claims are there when the database is restored to where they were not marked. */
async function claimAll({ fleet }: Stage): Promise<void> {
  const lanes = await rows<{ routeId: string; workerId: string }>(
    fleet.pool,
    `select r.id as "routeId", (select max(w.id)::text from sendledger.worker w where w.app = 'claim') as "workerId"
     from sendledger.route r where r.name = $1`,
    [ROUTE],
  );
  for (const lane of lanes)
    for (const messageClass of ['otp', 'transactional'] as const)
      await patiently(() => claim(fleet.pool, { ...lane, messageClass, limit: 100, leaseMs: 20_000 }));
}

/** The account as it is in production, but for pauses that would make a cell last for minutes. */
async function openBreakers({ fleet }: Stage): Promise<void> {
  await rows(fleet.pool, 'update sendledger.route set probe_first_ms = 100, probe_longest_ms = 500');
  await patiently(() => openBreakersOf(fleet.pool, 'smsgatewaycenter', 'default', 'the kill matrix says so'));
}

/** As a success does. */
async function closeBreakers({ fleet }: Stage): Promise<void> {
  await rows(
    fleet.pool,
    `update sendledger.route set breaker_state = 'closed', breaker_failures = 0, breaker_opened_at = null, breaker_closed_at = clock_timestamp(),
       breaker_reason = null, probes = 0, probe_at = null where breaker_state = 'open'`,
  );
}

type Held = ReturnType<Stage['messages']['held']>;

async function enqueueHeld(stage: Stage): Promise<Held> {
  const held = stage.messages.held(new Date(Date.now() + 2 * HOUR_MS));
  await stage.enqueue([held]);
  await stage.until(
    'the provider holds it',
    `select exists (select from sendledger.outbound_message m where m.recipient like $1 and m.held_by = 'provider' and m.state = 'submitted')`,
    [stage.messages.numbersLike],
  );
  return held;
}

async function cancel({ fleet }: Stage, { event }: Held): Promise<void> {
  await patiently(() =>
    fleet.producer.cancel(fleet.pool, { which: { event }, by: 'asha', why: 'not wanted any more' }),
  );
}
