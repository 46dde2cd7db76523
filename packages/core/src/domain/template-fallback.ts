import { z } from 'zod';

/** Those that reach the same number: a step goes to whom the message went to. */
export const FALLBACK_CHANNELS = ['sms', 'whatsapp', 'voice', 'rcs'] as const;

/** A longer chain is a mistake: each step is paid for. */
export const MAX_FALLBACK_STEPS = 5;

/** Seven digits, as the database takes it: almost four months. */
export const MAX_AFTER_SECONDS = 9_999_999;

const step = z
  .strictObject({
    template: z.strictObject({
      id: z.string().regex(/\S/, 'must not be blank'),
      /** Default: the highest registered one, at the time of the message. */
      version: z.int().positive().optional(),
    }),
    channel: z.enum(FALLBACK_CHANNELS).optional(),
    route: z.string().regex(/\S/, 'must not be blank').optional(),
    afterSeconds: z.int().min(1).max(MAX_AFTER_SECONDS).optional(),
    mayDuplicate: z.boolean().optional(),
  })
  .refine(({ afterSeconds, mayDuplicate }) => afterSeconds === undefined || mayDuplicate === true, {
    path: ['mayDuplicate'],
    error: 'what may yet arrive is followed by another only where a duplicate is acceptable',
  });

/** What a message of a template falls back to unless it says otherwise, as it stands in `message_template.fallback`. */
export const templateFallback = z.array(step).max(MAX_FALLBACK_STEPS);
