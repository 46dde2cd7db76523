/** Facts of the Postgres cluster that decide whether it may be trusted and which dataset it is. */
export interface ServerFacts {
  readonly version: string;
  /** e.g. 180004 */
  readonly versionNumber: number;
  readonly encoding: string;
  readonly fsync: boolean;
  readonly fullPageWrites: boolean;
  /** pg_control_system(): a new cluster has a new one, a restored copy keeps it. */
  readonly systemIdentifier: string;
  /** From the name of the current WAL file: it changes with a promotion at once. */
  readonly timeline: string;
}

interface Queries {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}

export async function readServerFacts(db: Queries): Promise<ServerFacts> {
  const { rows } = await db.query(`
    select current_setting('server_version') as version, current_setting('server_version_num') as number,
           current_setting('server_encoding') as encoding, current_setting('fsync') = 'on' as fsync, current_setting('full_page_writes') = 'on' as full_page_writes,
           (select system_identifier::text from pg_control_system()) as system_identifier,
           case when pg_is_in_recovery() then 'recovery' else substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end as timeline`);
  const row = rows[0] ?? {};
  return {
    version: String(row.version),
    versionNumber: Number(row.number),
    encoding: String(row.encoding),
    fsync: row.fsync === true,
    fullPageWrites: row.full_page_writes === true,
    systemIdentifier: String(row.system_identifier),
    timeline: String(row.timeline),
  };
}
