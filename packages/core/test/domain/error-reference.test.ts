import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ERROR_REFERENCE, errorReference } from '../../src/domain/generate-error-reference.ts';

it('the page of errors is what the catalogue says', () => {
  expect(readFileSync(ERROR_REFERENCE, 'utf8')).toBe(errorReference());
});
