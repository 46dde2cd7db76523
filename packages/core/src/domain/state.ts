/** The states of a message, in the order they are declared in the database enum. */
export const MESSAGE_STATES = [
  'pending',
  'claimed',
  'retry',
  'submitted',
  'unknown',
  'delivered',
  'failed',
  'rejected',
  'expired',
  'cancelled',
  'superseded',
] as const;
export type MessageState = (typeof MESSAGE_STATES)[number];

/**
 * What the submission of a claimed message must say for the message to leave `claimed`. Absent: the pair needs no look at
 * the submission.
 */
export type SubmissionState = (typeof SUBMISSION_STATES)[number];
export const SUBMISSION_STATES = [
  'open',
  'marked',
  'released',
  'accepted',
  'refused',
  'not_sent',
  'ambiguous',
] as const;

export interface Transition {
  readonly from: MessageState;
  readonly to: MessageState;
  /** States of the row's submission under which the move is legal. */
  readonly under?: readonly SubmissionState[];
  /** The move needs a stored `state_reason`. */
  readonly needsReason?: boolean;
}

/**
 * The state machine, once. The trigger in the database is generated from this table and a test walks all pairs against a
 * real Postgres. What is not here does not happen; above all there is no way back from `unknown` to the queue.
 */
export const TRANSITIONS: readonly Transition[] = [
  { from: 'pending', to: 'claimed', under: ['open'] },
  { from: 'pending', to: 'expired' },
  { from: 'pending', to: 'cancelled' },
  { from: 'claimed', to: 'pending', under: ['released'] },
  { from: 'claimed', to: 'retry', under: ['refused', 'not_sent'] },
  { from: 'claimed', to: 'submitted', under: ['accepted'] },
  { from: 'claimed', to: 'rejected', under: ['accepted', 'refused'] },
  { from: 'claimed', to: 'unknown', under: ['accepted', 'ambiguous'] },
  { from: 'retry', to: 'claimed', under: ['open'] },
  { from: 'retry', to: 'expired' },
  { from: 'retry', to: 'cancelled' },
  { from: 'submitted', to: 'delivered' },
  { from: 'submitted', to: 'failed' },
  { from: 'submitted', to: 'expired' },
  { from: 'unknown', to: 'submitted' },
  { from: 'unknown', to: 'failed', needsReason: true },
];

export const FINAL_STATES = ['delivered', 'failed', 'rejected', 'expired', 'cancelled', 'superseded'] as const;

export function isFinal(state: MessageState): boolean {
  return (FINAL_STATES as readonly string[]).includes(state);
}

export function transition(from: MessageState, to: MessageState): Transition | undefined {
  return TRANSITIONS.find((t) => t.from === from && t.to === to);
}

/** States that are inserted and never reached by a move: import of historic duplicates. */
export const INSERTED_ONLY: readonly MessageState[] = ['superseded'];

export const MESSAGE_CHANNELS = ['sms', 'whatsapp', 'voice', 'rcs', 'telegram'] as const;
export type MessageChannel = (typeof MESSAGE_CHANNELS)[number];

/** In the order in which lanes are served. */
export const MESSAGE_CLASSES = ['otp', 'transactional', 'promotional'] as const;
export type MessageClass = (typeof MESSAGE_CLASSES)[number];
