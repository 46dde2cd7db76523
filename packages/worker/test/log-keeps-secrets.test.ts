import { describe, expect, it } from 'vitest';
import { maskRecipient } from '../src/log.ts';

describe('what a log line shows', () => {
  it.each([
    ['919999999999', '9199******99'],
    ['1234567', '1234******67'],
    ['123456', '***'],
    ['', '***'],
  ])('of the recipient %s: %s', (recipient, shown) => {
    expect(maskRecipient(recipient)).toBe(shown);
  });
});
