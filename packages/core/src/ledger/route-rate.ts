/** Tokens of a route's bucket `r`: half of what the provider takes at once, since requests do not all reach it equally fast. */
export const BUCKET = 'greatest(1, r.rate_per_second * r.burst_seconds / 2)';

/**
 * Recipients of the largest request of a route whose rate counts them: what the bucket has for a class that leaves the reserve of
 * one-time passwords in it. A larger one would never find so many tokens.
 */
export const LARGEST_REQUEST = `greatest(1, floor(${BUCKET} * (1 - r.otp_reserve)))`;

/** Rows on the wire that a class which leaves the reserve of one-time passwords may have. */
export const BULK_ROWS = 'greatest(1, r.max_in_flight_rows - floor(r.max_in_flight_rows * r.otp_reserve))';
