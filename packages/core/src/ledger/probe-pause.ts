/** When the next probe may leave, after one that leaves now: the pause doubles, up to the longest. SQL over route `r`; `mark_next` says the same. */
export const NEXT_PROBE_AT = `clock_timestamp() + least(r.probe_first_ms * power(2, least(r.probes + 1, 20)), r.probe_longest_ms) * interval '1 ms'`;
