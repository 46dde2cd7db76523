/** `1234567` → `1,234,567`. */
export function count(value: number | bigint): string {
  return value.toLocaleString('en-US');
}

/** An age in the two largest units that matter: `4 s`, `12 min`, `3 h 20 min`, `2 d 4 h`. */
export function age(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 120) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** A short time, with the digits that matter: `0.042 s`, `1.8 s`, `95 s`. */
export function seconds(value: number): string {
  if (value < 1) return `${value.toFixed(3)} s`;
  return value < 10 ? `${value.toFixed(1)} s` : age(value);
}

/** A part of one: `0.4 %`. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** `2026-03-01 04:30:00.123 UTC`. */
export function instant(at: Date): string {
  return at.toISOString().replace('T', ' ').replace('Z', ' UTC');
}
