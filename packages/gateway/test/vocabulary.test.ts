import { describe, expect, it } from 'vitest';
import { causeClassOf, recordStatusOf, statusWordsOf } from '../src/smsgatewaycenter/vocabulary.ts';

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

  it('are read as people have mapped them since, whatever their case, words and causes alike', () => {
    const extra = statusWordsOf({ 'Dlvrd  late': 'delivered', 'Handset off': 'failed', submitted: 'failed' });
    expect(recordStatusOf(' DLVRD LATE ', null, extra)).toBe('delivered');
    expect(recordStatusOf('handset off', null, extra)).toBe('failed');
    // What people have mapped comes before what is known.
    expect(recordStatusOf('Submitted', null, extra)).toBe('failed');
    expect(recordStatusOf('DELIVERED', 'Handset off', extra)).toBe('unmapped');
    expect(recordStatusOf('FAILED', 'Handset off', extra)).toBe('failed');
    expect(recordStatusOf('never seen', null, extra)).toBe('unmapped');
    expect(causeClassOf('HANDSET OFF', extra)).toBe('handset_off');
    expect(causeClassOf('never seen', extra)).toBe('unknown');
  });
});
