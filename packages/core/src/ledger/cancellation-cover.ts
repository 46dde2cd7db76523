/**
 * SQL condition: some cancellation covers message `m`. Rows created after the cancellation are covered too, up to
 * `covers_until`; a replay that a person asked for after it is not. What the system makes by itself is. One branch per index of the
 * table.
 *
 * A claim reads the facts in the snapshot of its statement, which may be from before the fact. A row that waits all the while
 * is locked by that claim or by the sweep, so one of them sees the other. A row that went through a mark and came back as
 * `retry` is due later than that claim began, and so not for it.
 */
export const COVERED_BY_CANCELLATION = `(
     exists (select from sendledger.cancellation c where c.kind = 'message' and c.message_id = m.id)
  or (m.replaces_id is not null and sendledger.replaced_was_cancelled(m.replaces_id, m.replaces_created_at, m.asked_again_at))
  or exists (select from sendledger.cancellation c where c.kind = 'key' and c.tenant_id = m.tenant_id
       and c.business_key = m.business_key and (m.asked_again_at is null or m.asked_again_at <= c.created_at))
  or exists (select from sendledger.cancellation c where c.kind = 'event' and c.tenant_id = m.tenant_id
       and c.event_id = m.event_id and c.event_type = m.event_type and (m.asked_again_at is null or m.asked_again_at <= c.created_at))
  or (m.campaign_id is not null and exists (select from sendledger.cancellation c where c.kind = 'campaign'
       and c.tenant_id = m.tenant_id and c.campaign_id = m.campaign_id
       and (c.covers_until is null or m.created_at <= c.covers_until) and (m.asked_again_at is null or m.asked_again_at <= c.created_at)))
  or exists (select from sendledger.cancellation c where c.kind = 'tenant' and c.tenant_id = m.tenant_id
       and m.created_at <= c.covers_until and (c.message_class is null or c.message_class = m.message_class)
       and (m.asked_again_at is null or m.asked_again_at <= c.created_at))
)`;
