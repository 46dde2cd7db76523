import { Random } from './random.ts';
import { ANNOUNCEMENTS, NAMES } from './shop-texts.ts';

/** An order somebody places. */
export interface Order {
  readonly id: string;
  readonly phone: string;
  readonly name: string;
  readonly total: string;
  /** The one-time password the customer confirms with; null when none is asked for. */
  readonly code: string | null;
  readonly reminders: number;
}

/** One thing that happens in the shop, in one transaction. */
export type Happening =
  /** Orders that are placed, and told about. */
  | { readonly kind: 'checkout'; readonly orders: readonly Order[] }
  /** Orders whose payment falls through after the enqueue: the transaction rolls back, and nobody may hear of them. */
  | { readonly kind: 'failed-checkout'; readonly orders: readonly Order[] }
  /** The payment provider calls a second time about orders of before: the same events once more. */
  | { readonly kind: 'repeated-call'; readonly orders: readonly Order[] }
  | { readonly kind: 'announcement'; readonly id: string; readonly text: string; readonly phones: readonly string[] };

const CUSTOMERS = 2_000;
/** A mobile series; no message of the demo leaves this machine. */
const phoneOf = (customer: number) => `+9198765${String(10_000 + customer)}`;

export const messagesOf = (order: Order) => 1 + (order.code === null ? 0 : 1) + order.reminders;

/** A day in the shop that makes exactly `messages` messages, repeatable by its seed. Endless when that is infinite. */
export function* shopDay(messages: number, seed: number, prefix: string): Generator<Happening> {
  const random = new Random(seed);
  let left = messages;
  let orders = 0;
  let announcements = 0;

  const placeOrder = (room: number): Order => {
    const code = room >= 2 && random.chance(0.25) ? String(random.between(100_000, 999_999)) : null;
    const rest = room - (code === null ? 1 : 2);
    orders++;
    return {
      id: `${prefix}-${orders}`,
      phone: phoneOf(random.between(0, CUSTOMERS - 1)),
      name: random.pick(NAMES),
      total: `${random.between(99, 9_999)}.${random.pick(['00', '50', '99'])}`,
      code,
      reminders: rest >= 2 && random.chance(0.3) ? random.between(1, 2) : 0,
    };
  };
  const basket = (room: number): Order[] => {
    const count = random.between(1, 4);
    const list: Order[] = [];
    let free = room;
    while (list.length < count && free > 0) {
      const order = placeOrder(free);
      list.push(order);
      free -= messagesOf(order);
    }
    return list;
  };

  while (left > 0) {
    if (random.chance(0.12)) {
      const size = Math.min(left, random.between(10, 60));
      const first = random.between(0, CUSTOMERS - 1);
      announcements++;
      yield {
        kind: 'announcement',
        id: `${prefix}-sale-${announcements}`,
        text: random.pick(ANNOUNCEMENTS),
        phones: Array.from({ length: size }, (_, i) => phoneOf((first + i) % CUSTOMERS)),
      };
      left -= size;
      continue;
    }
    if (random.chance(0.08)) yield { kind: 'failed-checkout', orders: basket(10) };
    const placed = basket(left);
    left -= placed.reduce((sum, order) => sum + messagesOf(order), 0);
    yield { kind: 'checkout', orders: placed };
    if (random.chance(0.08)) yield { kind: 'repeated-call', orders: placed };
  }
}
