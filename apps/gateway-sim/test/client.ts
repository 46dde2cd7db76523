import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { type GatewaySim, type GatewaySimOptions, startGatewaySim } from '../src/index.ts';

/** A simulator for one test. */
export async function simulator(options: Partial<GatewaySimOptions> = {}): Promise<GatewaySim> {
  const sim = await startGatewaySim(options);
  onTestFinished(() => sim.close());
  return sim;
}

export const CREDENTIALS = { userid: 'demo', password: 'demopassword' };

/** The parameters of a send that succeeds, with changes; undefined leaves a parameter out. */
export function sendForm(change: Record<string, string | undefined> = {}): URLSearchParams {
  const parameters: Record<string, string | undefined> = {
    ...CREDENTIALS,
    sendMethod: 'quick',
    mobile: '919999999999',
    msg: 'Your order is ready',
    senderid: 'SMSGAT',
    msgType: 'text',
    output: 'json',
    ...change,
  };
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) form.set(name, value);
  return form;
}

/** One send over HTTP. */
export function post(sim: GatewaySim, change: Record<string, string | undefined> = {}): Promise<Response> {
  return fetch(`${sim.url}/SMSApi/send`, { method: 'POST', body: sendForm(change) });
}

/** One send over HTTP whose answer is JSON. */
export async function send(
  sim: GatewaySim,
  change: Record<string, string | undefined> = {},
): Promise<Record<string, string>> {
  return (await (await post(sim, change)).json()) as Record<string, string>;
}

/** The rows of the report by transaction. */
export async function report(sim: GatewaySim, uuid: string, path = 'report'): Promise<Record<string, string>[]> {
  const query = new URLSearchParams({ ...CREDENTIALS, uuid, output: 'json' });
  const body = (await (await fetch(`${sim.url}/SMSApi/${path}/status?${query}`)).json()) as {
    response: { report_statusList: { status: Record<string, string> }[] };
  };
  return body.response.report_statusList.map((row) => row.status);
}

/** One call of another endpoint by POST, with credentials, as JSON. */
export async function call(
  sim: GatewaySim,
  path: string,
  parameters: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const body = new URLSearchParams({ ...CREDENTIALS, output: 'json', ...parameters });
  return (await (await fetch(`${sim.url}/SMSApi/${path}`, { method: 'POST', body })).json()) as Record<string, unknown>;
}

/** One page of `method=getDlr`. */
export interface DlrPage {
  rows: Record<string, string>[];
  count: number;
  nextCursor: string | undefined;
}

/** Asks for the report of some days; a page of 5000 unless told otherwise. */
export async function dlr(sim: GatewaySim, parameters: Record<string, string>, path = 'report'): Promise<DlrPage> {
  const answer = await call(sim, `${path}/status`, { method: 'getDlr', pageLimit: '5000', ...parameters });
  const { response } = answer as {
    response: { reports_dlrList: Record<string, string>[]; count: number; nextCursor?: string };
  };
  return { rows: response.reports_dlrList, count: response.count, nextCursor: response.nextCursor };
}

/** Asks a `/_sim/` endpoint; with a body by POST. */
export async function control(sim: GatewaySim, path: string, body?: object): Promise<Record<string, unknown>> {
  const answer = await fetch(
    `${sim.url}/_sim/${path}`,
    body === undefined
      ? {}
      : { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } },
  );
  return { httpStatus: answer.status, ...((await answer.json()) as object) };
}

/** A send over a bare socket, so that the way a connection ends can be seen. */
export function rawSend(sim: GatewaySim, change: Record<string, string | undefined> = {}): Socket {
  const body = sendForm(change).toString();
  const socket = connect(sim.port, '127.0.0.1');
  socket.write(
    `POST /SMSApi/send HTTP/1.1\r\nHost: sim\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  return socket;
}

/** What ended the connection: the error's code, or `closed`. */
export function ending(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.resume();
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.once('close', () => resolve('closed'));
  });
}
