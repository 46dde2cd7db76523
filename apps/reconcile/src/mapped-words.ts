import { rowsOf, type Sql } from '@sendledger/core/ledger';

/** An open review item about a status word that nobody had mapped. */
export interface OpenWord {
  readonly id: string;
  readonly word: string;
}

/** The words of a provider that people were asked about and have not answered in the review. */
export async function openWordsOf(sql: Sql, provider: string): Promise<OpenWord[]> {
  return rowsOf<OpenWord>(
    sql,
    `select v.id, v.evidence->>'status_word' as word from sendledger.review_item v
     where v.kind = 'unmapped_status' and v.resolved_at is null and v.subject = $1 || ' ' || (v.evidence->>'status_word')`,
    [provider],
  );
}

/**
 * Closes the item of a word that is mapped now, unless a receipt still waits because of it (its cause may contradict the word).
 * Hints do not count, as they decide nothing. Answers whether it is closed.
 */
export async function closeWord(sql: Sql, provider: string, { id, word }: OpenWord): Promise<boolean> {
  const waiting = await rowsOf(
    sql,
    `select 1 from sendledger.delivery_receipt r join sendledger.route t on t.id = r.route_id
     where r.applied_at is null and r.status = 'unmapped' and r.status_word = $2 and not r.hint and t.provider = $1 limit 1`,
    [provider, word],
  );
  if (waiting.length > 0) return false;
  await sql.query(
    `update sendledger.review_item v set resolved_at = now(), resolved_by = 'sendledger', resolution = 'word_mapped',
       note = 'the word is mapped, and no receipt waits for it'
     where v.id = $1 and v.resolved_at is null`,
    [id],
  );
  return true;
}
