import { randomUUID } from 'node:crypto';
import type { Message } from '@sendledger/core';

/** A good transactional message of an event that no other test has. */
export function message(change: Partial<Message> = {}): Message {
  return {
    class: 'transactional',
    to: '+919876543210',
    event: { type: 'order.shipped', id: randomUUID() },
    body: 'Your order is on its way.',
    ...change,
  };
}
