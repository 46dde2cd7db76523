create type sendledger.message_state as enum (
  'pending', 'claimed', 'retry', 'submitted', 'unknown', 'delivered', 'failed', 'rejected', 'expired', 'cancelled', 'superseded'
);
create type sendledger.message_channel as enum ('sms', 'whatsapp', 'voice', 'rcs', 'telegram');
create type sendledger.message_class as enum ('otp', 'transactional', 'promotional');
create type sendledger.submission_state as enum ('open', 'marked', 'released', 'accepted', 'refused', 'not_sent', 'ambiguous');
create type sendledger.correlation_result as enum ('matched', 'not_found', 'ambiguous');
create type sendledger.cost_source as enum ('quote', 'evidence', 'person', 'imported', 'recovered');
create type sendledger.epoch_status as enum ('ok', 'checking', 'hold');

-- An id that somebody else issued. The provider writes placeholders where it issued none; stored, they would look like ids.
create domain sendledger.foreign_id as text check (value not in ('', '0', 'null', 'NULL', '-'));

create sequence sendledger.message_id_seq cache 200;
create sequence sendledger.submission_id_seq cache 50;
