import { SendledgerError } from '../domain/errors.ts';

/**
 * What a failed connection means: nobody answered, or somebody did and refused this login, role or database name. By
 * SQLSTATE: 28 login, 42 rights, 3D name, 22 and 0P role.
 */
export function connectionError(cause: unknown): SendledgerError {
  const { code, message } = cause as { code?: unknown; message?: unknown };
  const refused = typeof code === 'string' && /^(28|42|3D|22|0P)[0-9A-Z]{3}$/.test(code);
  const told = String(message || code || 'no answer').replaceAll(/\s+/g, ' ');
  return new SendledgerError(refused ? 'SENDLEDGER_DATABASE_REFUSED' : 'SENDLEDGER_DATABASE_UNREACHABLE', `(${told})`, {
    cause,
  });
}
