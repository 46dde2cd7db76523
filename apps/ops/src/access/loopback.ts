import { BlockList, isIPv4, isIPv6 } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether only this machine can reach it. A name other than `localhost` may lead anywhere, and counts as elsewhere. */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true;
  if (isIPv4(host)) return LOOPBACK.check(host, 'ipv4');
  return isIPv6(host) && LOOPBACK.check(host, 'ipv6');
}

/** `localhost` may be answered by a resolver with another machine's address: it is not asked. */
export function listenAddress(host: string): string {
  return host.toLowerCase() === 'localhost' ? '127.0.0.1' : host;
}
