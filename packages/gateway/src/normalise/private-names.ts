/** Names whose values are a message's text, a code or a credential, in letters and digits only, lower case. */
const PRIVATE_NAMES: ReadonlySet<string> = new Set([
  'msg',
  'sms',
  'message',
  'apikey',
  'key',
  'sig',
  'signature',
  'authkey',
  'authorization',
  'token',
  'userid',
  'username',
  'user',
  'pwd',
  'pass',
  'pin',
]);

const PRIVATE_PARTS = /text|body|content|password|passwd|secret|credential|otp/;

/** Whether a field of this name may hold message text, a code or a credential. Errs towards yes. */
export function isPrivateName(name: string): boolean {
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '');
  return PRIVATE_NAMES.has(plain) || PRIVATE_PARTS.test(plain);
}
