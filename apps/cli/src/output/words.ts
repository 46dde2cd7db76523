/** `1234567` → `1,234,567`. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `3 lines`, `1 line`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
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
