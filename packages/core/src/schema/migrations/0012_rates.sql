-- What a route may send, and until when it was told to wait.

alter table sendledger.route
  -- Tokens a second over all workers; null: no limit; 0: nothing leaves.
  add column rate_per_second numeric(12,4) check (rate_per_second >= 0),
  -- What the provider counts.
  add column rate_unit text not null default 'requests' check (rate_unit in ('requests', 'recipients')),
  -- What the provider takes at once over its rate, as so many seconds of it. Half of it is what the bucket holds; the other half
  -- is for the way from the token to the provider, which is not always equally long.
  add column burst_seconds numeric(12,4) not null default 1 check (burst_seconds > 0),
  -- The share of the burst that only one-time passwords may use.
  add column otp_reserve numeric(12,4) not null default 0.25 check (otp_reserve >= 0 and otp_reserve < 1),
  add column throttled_until timestamptz;

-- Which bucket a process takes its tokens from: the one in Redis, or its own share. The others reckon with it.
alter table sendledger.worker add column limiter text check (limiter in ('redis', 'own'));

grant update (throttled_until) on sendledger.route to sendledger_submit;
grant update (limiter) on sendledger.worker to sendledger_submit;
