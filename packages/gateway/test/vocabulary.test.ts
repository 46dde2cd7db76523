import { describe, expect, it } from 'vitest';
import { causeClassOf, recordStatusOf } from '../src/smsgatewaycenter/vocabulary.ts';

describe('the words of a delivery report', () => {
  it.each([
    [['Submitted', 'Pending', 'SENT', 'ACCEPTED', 'PROCESSING', 'queued'], 'open'],
    [['DELIVERED', ' delivrd ', 'Success'], 'delivered'],
    [
      [
        'FAILED',
        'EXPIRED',
        'REJECTED',
        'REJECTD',
        'UNDELIV',
        'Undeliverable',
        'BLACKLISTED',
        'Template  Mismatch',
        'DND',
      ],
      'failed',
    ],
    [['', 'DELIVERING', 'OK', '-', '0'], 'unmapped'],
  ] as const)('%j are %s', (words, status) => {
    for (const word of words) expect(recordStatusOf(word, null)).toBe(status);
  });

  it('leave the row as it is when word and cause contradict each other, or there is no word', () => {
    expect(recordStatusOf('Success', 'Pending')).toBe('unmapped');
    expect(recordStatusOf('DELIVERED', 'Absent Subscriber')).toBe('unmapped');
    expect(recordStatusOf('FAILED', 'Delivered')).toBe('unmapped');
    expect(recordStatusOf(null, 'Delivered')).toBe('unmapped');
    expect(recordStatusOf('FAILED', 'never seen')).toBe('failed');
  });

  it.each([
    ['Absent subscriber', 'absent_subscriber'],
    [' TEMPLATE MISMATCH ', 'template_mismatch'],
    ['User has blacklisted sender ID', 'sender_blacklisted'],
    ['never seen', 'unknown'],
    [null, 'none'],
  ])('the cause %j is of class %s', (cause, causeClass) => {
    expect(causeClassOf(cause)).toBe(causeClass);
  });
});
