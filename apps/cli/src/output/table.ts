/** Columns under their headings, two spaces apart; a column whose cells are all numbers stands to the right. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const numeric = headings.map(
    (_, column) => rows.length > 0 && rows.every((row) => /^-?[\d,.]+$/.test(row[column] ?? '')),
  );
  return [headings, ...rows]
    .map((row) =>
      row
        .map((cell, column) =>
          numeric[column] === true ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
