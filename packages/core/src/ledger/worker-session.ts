/**
 * How a worker sets up a connection. Hot statements name rows by arrays of keys, a shape whose generic plan is its good one: planning
 * each call anew costs more than running it, and compiling a plan takes seconds where running it takes milliseconds.
 *
 * Not by reading the table: a plan that is made while a month is empty says to read it from end to end, comparing each row with each
 * key, and is kept until the month is analyzed for the first time; in the first minute of a month that is all that is done. What has
 * no index is read all the same.
 */
export const WORKER_SESSION = 'set plan_cache_mode = force_generic_plan; set jit = off; set enable_seqscan = off';
