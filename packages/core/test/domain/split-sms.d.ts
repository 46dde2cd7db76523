declare module 'split-sms' {
  interface Split {
    readonly characterSet: 'GSM' | 'Unicode';
    readonly parts: readonly unknown[];
    /** Septets for GSM, octets for Unicode. */
    readonly bytes: number;
  }
  const splitSms: { split(message: string, options?: { summary: boolean }): Split };
  export default splitSms;
}
