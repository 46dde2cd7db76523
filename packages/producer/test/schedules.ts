import type { Message } from '@sendledger/core';

/** Times in every form there is, and in the nights on which clocks change. */
export const SCHEDULES: readonly Pick<Message, 'scheduledFor' | 'scheduledTz' | 'submitBy'>[] = [
  { scheduledFor: '2027-01-10T09:00:00+05:30' },
  { scheduledFor: '2027-01-10T09:00:00Z', submitBy: '2027-01-10T09:00:01Z' },
  { scheduledFor: new Date('2027-01-10T09:00:00Z'), scheduledTz: 'Asia/Kolkata' },
  { scheduledFor: '2027-01-10T09:00', scheduledTz: 'Europe/Berlin' },
  { scheduledFor: '2027-01-10T09:00:30.250', scheduledTz: 'Asia/Kathmandu' },
  { scheduledFor: '2027-03-28T02:30', scheduledTz: 'Europe/Berlin', submitBy: '2027-03-28T02:30:00Z' },
  { scheduledFor: '2027-10-31T02:30', scheduledTz: 'Europe/Berlin' },
  { scheduledFor: '2027-03-14T02:15', scheduledTz: 'America/New_York' },
  { scheduledFor: '2027-10-03T02:15', scheduledTz: 'Australia/Lord_Howe' },
];
