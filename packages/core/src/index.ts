export { ERRORS, type ErrorCode, SendledgerError } from './domain/errors.ts';
export { laneName, WAKE_PREFIX, WAKE_QUEUES, type WakeJob, type WakeQueue, wakeJobOptions } from './domain/wakeup.ts';
