import type { MessageTemplate } from '@sendledger/core';

// Shaped like Indian DLT ids (19 digits), and invented.
const DLT_ENTITY = '1101000000000000001';

export const ORDER_PLACED = 'order-placed';
export const ORDER_CODE = 'order-code';
export const ORDER_REMINDER = 'order-reminder';

const word = (name: string, maxLength: number) => ({ name, maxLength });

/** The texts the operator has had approved. */
export const TEMPLATES: readonly MessageTemplate[] = [
  {
    id: ORDER_PLACED,
    version: '1',
    channel: 'sms',
    messageClass: 'transactional',
    body: 'Thank you, {{name}}. Your order {{order}} for Rs {{total}} is confirmed and leaves our store tomorrow.',
    variables: [word('name', 30), word('order', 20), { name: 'total', pattern: '\\d+\\.\\d{2}' }],
    senderId: null,
    dltEntityId: DLT_ENTITY,
    dltTemplateId: '1107000000000000001',
  },
  {
    id: ORDER_CODE,
    version: '1',
    channel: 'sms',
    messageClass: 'otp',
    body: '{{code}} is your code for order {{order}}. It is valid for 10 minutes. Do not share it.',
    variables: [{ name: 'code', pattern: '\\d{6}', secret: true }, word('order', 20)],
    senderId: null,
    dltEntityId: DLT_ENTITY,
    dltTemplateId: '1107000000000000002',
  },
  {
    id: ORDER_REMINDER,
    version: '1',
    channel: 'sms',
    messageClass: 'transactional',
    body: 'Your order {{order}} is waiting for you at the counter. This is reminder {{step}} of 2.',
    variables: [word('order', 20), { name: 'step', pattern: '[12]' }],
    senderId: null,
    dltEntityId: DLT_ENTITY,
    dltTemplateId: '1107000000000000003',
  },
];

/** What everybody is told alike: rows of equal text share a request. One is long, one is not ASCII: both cost more segments. */
export const ANNOUNCEMENTS: readonly [string, ...string[]] = [
  'Monsoon sale: 20 percent off all rain wear until Sunday, in the app and in the store.',
  'Our store in Indiranagar is open until midnight this week.',
  'Festival week: order before Thursday and we deliver free of charge. Gift wrapping is on us, returns are free for 30 days, and every order over Rs 2000 comes with a box of sweets from our kitchen. See the app for details.',
  'मानसून सेल: रविवार तक सभी रेनकोट पर बीस प्रतिशत की छूट।',
];

export const NAMES: readonly [string, ...string[]] = [
  'Asha',
  'Ravi',
  'Meera',
  'Kabir',
  'Nandini',
  'Arjun',
  'Leela',
  'Vikram',
];
