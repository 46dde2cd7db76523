import { describe, expect, test } from 'vitest';
import { type PrepareContext, prepareMessage } from '../../src/domain/prepare-message.ts';
import type { MessageTemplate } from '../../src/domain/template.ts';

const NOW = new Date('2026-03-01T12:00:00Z');

const template: MessageTemplate = {
  id: '1207161234567890123',
  version: '2',
  channel: 'sms',
  messageClass: 'otp',
  body: 'Your code is {{code}}, {{name}}.',
  variables: [{ name: 'code', secret: true, maxLength: 8 }, { name: 'name' }],
  senderId: 'SHOPIN',
  dltEntityId: '0101161234567890123',
  dltTemplateId: '1207161234567890123',
};

const context: PrepareContext = {
  tenant: 'shop',
  now: NOW,
  defaultRegion: (tenant) => (tenant === 'shop' ? 'IN' : undefined),
  template: (id, version) => (id === template.id && (version === undefined || version === 2) ? template : undefined),
};

const good = {
  class: 'transactional',
  to: '+919876543210',
  event: { type: 'order.shipped', id: '08841' },
  body: 'Your order is on its way.',
};
const otp = { class: 'otp', to: '9876543210', event: { type: 'login', id: 'a1' } };

function problems(input: unknown) {
  const prepared = prepareMessage(input, context);
  return prepared.ok ? [] : prepared.problems.map(({ field, reason }) => `${field} ${reason}`);
}

describe('a good message', () => {
  test('becomes one row of text, nulls and counts', () => {
    expect(
      prepareMessage(
        {
          ...good,
          event: { ...good.event, version: 3 },
          key: { step: 'reminder-1' },
          sender: 'SHOPIN',
          dlt: { entityId: '0101161234567890123' },
          scheduledFor: '2026-03-02T10:00:00+05:30',
          scheduledTz: 'Asia/Kolkata',
          submitBy: new Date('2026-03-03T00:00:00Z'),
          route: '3',
          campaign: '0077',
        },
        context,
      ),
    ).toEqual({
      ok: true,
      rows: [
        {
          tenant_id: 'shop',
          channel: 'sms',
          message_class: 'transactional',
          recipient: '919876543210',
          country: 'IN',
          sender_id: 'SHOPIN',
          event_type: 'order.shipped',
          event_id: '08841',
          event_version: '3',
          key_template: null,
          key_version: null,
          key_step: 'reminder-1',
          key_bucket: null,
          body: 'Your order is on its way.',
          encoding: 'GSM7',
          segments: 1,
          ascii_encoding: 'GSM7',
          ascii_segments: 1,
          dlt_entity_id: '0101161234567890123',
          dlt_template_id: null,
          template_id: null,
          template_version: null,
          template_params: null,
          route: '3',
          scheduled_for: '2026-03-02T04:30:00.000Z',
          scheduled_tz: 'Asia/Kolkata',
          held_by: null,
          submit_by: '2026-03-03T00:00:00.000Z',
          campaign_id: '0077',
          on_proven_absent: 'replay',
          fallback: null,
        },
      ],
    });
  });

  test('of several recipients becomes one row each, in order', () => {
    const prepared = prepareMessage({ ...good, to: ['9876543210', '+254712345678'] }, context);
    expect(prepared.rows.map((row) => [row.recipient, row.country])).toEqual([
      ['919876543210', 'IN'],
      ['254712345678', 'KE'],
    ]);
  });

  test('from a template takes its sender and ids, and stores no secret', () => {
    const prepared = prepareMessage(
      { ...otp, template: { id: template.id, params: { code: '123456', name: 'Asha' } } },
      context,
    );
    expect(prepared.rows).toMatchObject([
      {
        body: 'Your code is 123456, Asha.',
        sender_id: 'SHOPIN',
        dlt_template_id: '1207161234567890123',
        template_id: '1207161234567890123',
        template_version: '2',
        template_params: { name: 'Asha' },
        on_proven_absent: 'stop',
      },
    ]);
  });

  test('carries both counts where the rules differ', () => {
    expect(prepareMessage({ ...good, body: `${'a'.repeat(100)}é` }, context).rows).toMatchObject([
      { encoding: 'GSM7', segments: 1, ascii_encoding: 'UCS2', ascii_segments: 2 },
    ]);
  });

  test('outside SMS is one unit, and may be long', () => {
    expect(prepareMessage({ ...good, channel: 'whatsapp', body: '😀'.repeat(4096) }, context).rows).toMatchObject([
      { segments: 1, ascii_segments: 1 },
    ]);
  });

  test.each([
    ['a landline for a transactional text', { to: '+441212345678' }],
    ['a landline for a promotional voice call', { to: '+441212345678', class: 'promotional', channel: 'voice' }],
    ['a schedule in the past is due now', { scheduledFor: '2020-01-01T00:00:00Z' }],
    ['ten segments', { body: 'a'.repeat(1530) }],
    ['an event id of 200 octets', { event: { type: 't', id: 'x'.repeat(200) } }],
    ['a numeric sender of 15 digits', { sender: '1'.repeat(15) }],
    ['a sender with a separator', { sender: 'Shop-Co 2.0' }],
    ['undefined optionals', { sender: undefined, key: undefined, dlt: { entityId: undefined } }],
    ['seconds left out', { scheduledFor: '2026-03-02T10:00Z' }],
    ['held by the provider', { scheduledFor: '2026-03-02T10:00Z', heldBy: 'provider' }],
    ['held by us, and due now', { heldBy: 'us' }],
  ])('%s is accepted', (_name, change) => {
    expect(problems({ ...good, ...change })).toEqual([]);
  });
});

describe('a refusal', () => {
  const filled = { id: template.id, params: { code: '123456', name: 'Asha' } };
  test.each<[name: string, input: unknown, problem: string]>([
    ['no message', null, 'message wrong_type'],
    ['nothing', undefined, 'message missing'],
    ['no recipients', { ...good, to: [] }, 'to no_recipient'],
    ['empty recipient', { ...good, to: '' }, 'to no_recipient'],
    ['empty in a list', { ...good, to: ['+919876543210', ''] }, 'to[1] empty'],
    ['recipient missing', { ...good, to: undefined }, 'to missing'],
    ['recipient a number', { ...good, to: 919876543210 }, 'to wrong_type'],
    ['recipient a null in a list', { ...good, to: [null] }, 'to wrong_type'],
    ['empty body', { ...good, body: '' }, 'body empty'],
    ['blank body', { ...good, body: ' \n\u00a0' }, 'body empty'],
    ['no body', { ...good, body: undefined }, 'body missing'],
    ['1531 letters', { ...good, body: 'a'.repeat(1531) }, 'body too_many_segments'],
    ['eleven Unicode segments', { ...good, body: 'क'.repeat(671) }, 'body too_many_segments'],
    ['a megabyte', { ...good, body: 'a'.repeat(1_000_000) }, 'body too_many_segments'],
    ['a megabyte elsewhere', { ...good, channel: 'rcs', body: 'a'.repeat(1_000_000) }, 'body too_long'],
    ['4097 characters', { ...good, channel: 'telegram', body: '😀'.repeat(4097) }, 'body too_long'],
    ['NUL in the body', { ...good, body: 'a\0b' }, 'body nul'],
    ['half a character in the body', { ...good, body: 'a\ud83d' }, 'body lone_surrogate'],
    ['NUL in the recipient', { ...good, to: '+91987654\0' }, 'to nul'],
    ['half a character in the recipient', { ...good, to: ['\udc00'] }, 'to[0] lone_surrogate'],
    ['NUL in the event id', { ...good, event: { type: 't', id: 'a\0' } }, 'event.id nul'],
    [
      'half a character in the event type',
      { ...good, event: { type: '\ud800', id: '1' } },
      'event.type lone_surrogate',
    ],
    ['half a character in a key part', { ...good, key: { bucket: '\ud800' } }, 'key.bucket lone_surrogate'],
    ['half a character in the sender', { ...good, sender: 'A\ud800' }, 'sender lone_surrogate'],
    ['half a character in the tenant', { ...good, tenant: '\ud800' }, 'tenant lone_surrogate'],
    ['NUL in the zone', { ...good, scheduledTz: 'UTC\0' }, 'scheduledTz nul'],
    ['NUL in a time', { ...good, submitBy: '2026-03-02T10:00:00Z\0' }, 'submitBy nul'],
    [
      'NUL in a parameter',
      { ...otp, template: { ...filled, params: { code: '1\0', name: 'x' } } },
      'template.params.code nul',
    ],
    [
      'half a character in a parameter name',
      { ...otp, template: { ...filled, params: { '\ud800': 'x' } } },
      'template.params.\ufffd lone_surrogate',
    ],
    ['extension', { ...good, to: '+14155552671 ext 5' }, 'to extension'],
    ['doubled country code', { ...good, to: '+91919876543210' }, 'to doubled_country_code'],
    ['landline for a code', { ...good, class: 'otp', to: '+441212345678' }, 'to landline'],
    ['landline for an ad', { ...good, class: 'promotional', to: '+441212345678' }, 'to landline'],
    ['no region', { ...good, tenant: 'other', to: '0712345678' }, 'to no_region'],
    ['the same number twice', { ...good, to: ['+919876543210', '098765 43210'] }, 'to[1] duplicate_recipient'],
    ['event id of 201 octets', { ...good, event: { type: 't', id: 'é'.repeat(101) } }, 'event.id too_long'],
    ['event id of 10 kB', { ...good, event: { type: 't', id: 'x'.repeat(10_000) } }, 'event.id too_long'],
    ['event id a number', { ...good, event: { type: 't', id: 8841 } }, 'event.id wrong_type'],
    ['event missing', { ...good, event: undefined }, 'event missing'],
    ['event id blank', { ...good, event: { type: 't', id: '  ' } }, 'event.id empty'],
    ['event id 0', { ...good, event: { type: 't', id: '0' } }, 'event.id sentinel'],
    ['event id null', { ...good, event: { type: 't', id: 'null' } }, 'event.id sentinel'],
    ['event id NULL', { ...good, event: { type: 't', id: 'NULL' } }, 'event.id sentinel'],
    ['event id -', { ...good, event: { type: 't', id: '-' } }, 'event.id sentinel'],
    ['event id undefined', { ...good, event: { type: 't', id: 'undefined' } }, 'event.id sentinel'],
    ['campaign 0', { ...good, campaign: '0' }, 'campaign sentinel'],
    ['DLT id empty', { ...good, dlt: { entityId: '' } }, 'dlt.entityId empty'],
    ['DLT id null', { ...good, dlt: { templateId: 'null' } }, 'dlt.templateId sentinel'],
    ['template id -', { ...otp, template: { id: '-' } }, 'template.id sentinel'],
    ['event version a fraction', { ...good, event: { ...good.event, version: 1.5 } }, 'event.version wrong_type'],
    [
      'event version past safe integers',
      { ...good, event: { ...good.event, version: 2 ** 60 } },
      'event.version wrong_type',
    ],
    ['sender of 12', { ...good, sender: 'ABCDEFGHIJKL' }, 'sender sender_shape'],
    ['sender of 16 digits', { ...good, sender: '1'.repeat(16) }, 'sender sender_shape'],
    ['sender empty', { ...good, sender: '' }, 'sender empty'],
    ['sender outside ASCII', { ...good, sender: 'Café' }, 'sender sender_shape'],
    ['time without offset', { ...good, scheduledFor: '2026-03-02T10:00:00' }, 'scheduledFor no_offset'],
    [
      'time without offset or zone, as deadline',
      { ...good, scheduledTz: 'Asia/Kolkata', submitBy: '2026-03-02T10:00:00' },
      'submitBy no_offset',
    ],
    [
      'a wall clock of a zone that is none',
      { ...good, scheduledFor: '2026-03-02T10:00:00', scheduledTz: 'Asia/Atlantis' },
      'scheduledTz unknown_zone',
    ],
    [
      'a wall clock of a day that does not exist',
      { ...good, scheduledFor: '2026-02-30T10:00', scheduledTz: 'Asia/Kolkata' },
      'scheduledFor not_a_time',
    ],
    [
      'a wall clock at 24:00',
      { ...good, scheduledFor: '2026-03-02T24:00', scheduledTz: 'Asia/Kolkata' },
      'scheduledFor not_a_time',
    ],
    ['held by the provider, and due now', { ...good, heldBy: 'provider' }, 'heldBy held_needs_schedule'],
    [
      'a code that is held by the provider',
      { ...otp, scheduledFor: '2026-03-02T10:00Z', heldBy: 'provider', template: filled },
      'heldBy otp_not_scheduled',
    ],
    ['held by nobody', { ...good, heldBy: 'nobody' }, 'heldBy not_allowed'],
    ['a bare date', { ...good, scheduledFor: '2026-03-02' }, 'scheduledFor not_a_time'],
    ['a day that does not exist', { ...good, scheduledFor: '2026-02-30T10:00:00Z' }, 'scheduledFor not_a_time'],
    ['an hour that does not exist', { ...good, scheduledFor: '2026-03-02T24:00:00Z' }, 'scheduledFor not_a_time'],
    [
      'an offset that does not exist',
      { ...good, scheduledFor: '2026-03-02T10:00:00+19:00' },
      'scheduledFor not_a_time',
    ],
    ['an epoch', { ...good, scheduledFor: 1_772_000_000 }, 'scheduledFor wrong_type'],
    ['Invalid Date', { ...good, submitBy: new Date('x') }, 'submitBy not_a_time'],
    ['a year far away', { ...good, submitBy: new Date(8.64e15) }, 'submitBy not_a_time'],
    ['submitBy past', { ...good, submitBy: '2026-03-01T12:00:00Z' }, 'submitBy past'],
    [
      'submitBy not after the schedule',
      { ...good, scheduledFor: '2026-03-02T10:00:00Z', submitBy: '2026-03-02T15:30:00+05:30' },
      'submitBy before_schedule',
    ],
    ['unknown zone', { ...good, scheduledTz: 'Asia/Atlantis' }, 'scheduledTz unknown_zone'],
    ['an offset is no zone', { ...good, scheduledTz: '+05:30' }, 'scheduledTz unknown_zone'],
    ['a code without a template', { ...otp, body: 'Your code is 123456' }, 'template otp_needs_template'],
    ['replay of a code', { ...otp, body: 'x', onProvenAbsent: 'replay' }, 'onProvenAbsent otp_replay'],
    ['body and template', { ...good, template: filled }, 'body body_and_template'],
    ['unknown template', { ...otp, template: { id: '99' } }, 'template.id template_unknown'],
    ['unknown version', { ...otp, template: { ...filled, version: 9 } }, 'template.id template_unknown'],
    ['template of another class', { ...good, body: undefined, template: filled }, 'template.id template_class'],
    ['secret outside OTP', { ...good, body: undefined, template: filled }, 'template.params.code secret_outside_otp'],
    ['template of another channel', { ...otp, channel: 'voice', template: filled }, 'template.id template_channel'],
    [
      'missing variable',
      { ...otp, template: { id: template.id, params: { code: '1' } } },
      'template.params.name missing_variable',
    ],
    [
      'a variable that is a number',
      { ...otp, template: { ...filled, params: { code: 123456 } } },
      'template.params.code wrong_type',
    ],
    [
      'unknown variable',
      { ...otp, template: { ...filled, params: { ...filled.params, x: 'y' } } },
      'template.params.x unknown_variable',
    ],
    [
      'another DLT id than registered',
      { ...otp, template: filled, dlt: { templateId: '1' } },
      'dlt.templateId dlt_mismatch',
    ],
    ['unknown class', { ...good, class: 'urgent' }, 'class not_allowed'],
    ['no class', { ...good, class: undefined }, 'class missing'],
    ['unknown channel', { ...good, channel: 'fax' }, 'channel not_allowed'],
    ['a misspelt field', { ...good, submitby: '2030-01-01T00:00:00Z' }, 'submitby unknown_field'],
    ['a misspelt nested field', { ...good, event: { ...good.event, ver: '1' } }, 'event.ver unknown_field'],
  ])('%s', (_name, input, expected) => {
    expect(problems(input)).toContain(expected);
    const prepared = prepareMessage(input, context);
    for (const row of prepared.rows) expect(row.recipient).not.toBe('');
  });

  test('names everything that is wrong at once, and writes no row for it', () => {
    const prepared = prepareMessage({ ...good, body: '', sender: 'a'.repeat(12), to: ['x', '+919876543210'] }, context);
    expect(problems({ ...good, body: '', sender: 'a'.repeat(12), to: ['x', '+919876543210'] })).toEqual([
      'sender sender_shape',
      'body empty',
      'to[0] not_a_number',
    ]);
    expect(prepared.rows).toEqual([]);
  });

  test('of one recipient leaves the others their rows', () => {
    const prepared = prepareMessage({ ...good, to: ['x', '+919876543210', '9876543210'] }, context);
    expect(prepared).toMatchObject({
      ok: false,
      problems: [
        { to: 0, reason: 'not_a_number' },
        { to: 2, reason: 'duplicate_recipient' },
      ],
    });
    expect(prepared.rows.map((row) => row.recipient)).toEqual(['919876543210']);
  });

  test('carries a sentence and never a value', () => {
    const prepared = prepareMessage({ ...otp, to: 'SECRETNUMBER', body: 'SECRETBODY\0' }, context);
    expect(prepared.ok ? [] : prepared.problems.map((p) => p.message)).toEqual([
      'A one-time password needs a registered template of class otp.',
      'It holds a NUL character, which Postgres cannot store.',
      'It is not a phone number.',
    ]);
    expect(JSON.stringify(prepared)).not.toContain('SECRET');
  });

  test('without any tenant', () => {
    const prepared = prepareMessage(good, { now: NOW, defaultRegion: () => undefined, template: () => undefined });
    expect(prepared).toMatchObject({ ok: false, problems: [{ field: 'tenant', reason: 'missing' }] });
  });

  test('of huge texts is cheap', () => {
    const huge = 'क'.repeat(1_000_000);
    const started = process.cpuUsage();
    for (let i = 0; i < 100; i++) {
      prepareMessage(
        { ...good, body: huge, to: huge, event: { type: huge, id: huge }, sender: huge, submitBy: huge },
        context,
      );
    }
    // Computed, not passed: a busy machine makes nothing dear.
    expect(process.cpuUsage(started).user).toBeLessThan(500_000);
  });
});

describe('FC-44 a time without an offset', () => {
  const zoned = { ...good, scheduledTz: 'Europe/Berlin' };
  test.each([
    ['2027-03-28T02:30', '2027-03-28T02:30:00.000'],
    ['2027-03-28T02:30:07', '2027-03-28T02:30:07.000'],
    ['2027-03-28T02:30:07.5', '2027-03-28T02:30:07.500'],
    ['2027-03-28T02:30:07.123456789', '2027-03-28T02:30:07.123'],
  ])('%s beside a zone goes to the database as it is meant', (scheduledFor, local) => {
    const prepared = prepareMessage({ ...zoned, scheduledFor, submitBy: '2026-03-01T12:00:01Z' }, context);
    // Whether the deadline lies after it is for the database to say.
    expect(prepared).toMatchObject({ ok: true, rows: [{ scheduled_for: local, scheduled_tz: 'Europe/Berlin' }] });
  });

  test('with an offset, or as a Date, it is an instant whatever the zone', () => {
    for (const scheduledFor of ['2027-03-28T02:30+05:30', new Date('2027-03-27T21:00Z')])
      expect(prepareMessage({ ...zoned, scheduledFor }, context).rows).toMatchObject([
        { scheduled_for: '2027-03-27T21:00:00.000Z', scheduled_tz: 'Europe/Berlin' },
      ]);
  });

  test('is refused without a zone, and says what would do', () => {
    expect(prepareMessage({ ...good, scheduledFor: '2027-03-28T02:30' }, context)).toMatchObject({
      ok: false,
      problems: [{ field: 'scheduledFor', reason: 'no_offset', message: expect.stringContaining('scheduledTz') }],
    });
  });
});

describe('a fallback', () => {
  const offer: MessageTemplate = {
    ...template,
    id: 'offer',
    version: '1',
    messageClass: 'transactional',
    body: '{{name}}, your order {{order}} is ready.',
    variables: [{ name: 'name' }, { name: 'order' }],
    senderId: null,
    fallback: [{ template: { id: 'call' }, channel: 'voice', route: 'calls', afterSeconds: 600, mayDuplicate: true }],
  };
  const call: MessageTemplate = {
    ...offer,
    id: 'call',
    channel: 'voice',
    body: 'This is for {{name}}.',
    variables: [{ name: 'name' }],
    senderId: '918000000000',
    dltEntityId: null,
    dltTemplateId: null,
    fallback: [{ template: { id: 'never-followed' } }],
  };
  const voiceCode: MessageTemplate = { ...template, id: 'voice-code', channel: 'voice', fallback: [] };
  const known = [template, offer, call, voiceCode];
  const withTemplates: PrepareContext = { ...context, template: (id) => known.find((t) => t.id === id) };
  const prepare = (input: unknown) => prepareMessage(input, withTemplates);
  const said = (input: unknown) => {
    const prepared = prepare(input);
    return prepared.ok ? [] : prepared.problems.map(({ field, reason }) => `${field} ${reason}`);
  };
  const from = { ...good, body: undefined, template: { id: 'offer', params: { name: 'Asha', order: '7' } } };

  test('of a template becomes steps that are rendered with the parameters they declare, and is not followed further', () => {
    expect(prepare(from).rows).toMatchObject([
      {
        body: 'Asha, your order 7 is ready.',
        fallback: [
          {
            channel: 'voice',
            route: 'calls',
            sender_id: '918000000000',
            body: 'This is for Asha.',
            segments: 1,
            ascii_segments: 1,
            template_id: 'call',
            template_version: '1',
            template_params: { name: 'Asha' },
            dlt_entity_id: null,
            after_s: 600,
            may_duplicate: true,
          },
        ],
      },
    ]);
  });

  test('of a template is switched off by an empty list, and replaced by another', () => {
    expect(prepare({ ...from, fallback: [] }).rows).toMatchObject([{ fallback: null }]);
    expect(
      prepare({ ...from, fallback: [{ body: `${'x'.repeat(160)}é`, route: 'backup', sender: 'SHOP' }] }).rows,
    ).toMatchObject([
      {
        fallback: [
          {
            channel: 'sms',
            route: 'backup',
            sender_id: 'SHOP',
            encoding: 'GSM7',
            segments: 2,
            ascii_encoding: 'UCS2',
            ascii_segments: 3,
            template_id: null,
            template_params: null,
            after_s: null,
            may_duplicate: false,
          },
        ],
      },
    ]);
  });

  test('of a code stores no secret either', () => {
    const code = {
      ...otp,
      template: { id: template.id, params: { code: '123456', name: 'Asha' } },
      fallback: [{ channel: 'voice', template: { id: 'voice-code' } }],
    };
    expect(prepare(code).rows).toMatchObject([
      { fallback: [{ body: 'Your code is 123456, Asha.', template_params: { name: 'Asha' } }] },
    ]);
  });

  const step = (...steps: unknown[]) => ({ ...from, fallback: steps });
  test.each<[name: string, input: unknown, problem: string]>([
    ['no list', { ...from, fallback: 'sms' }, 'fallback wrong_type'],
    ['six steps', step(...Array.from({ length: 6 }, () => ({ body: 'x' }))), 'fallback too_many_steps'],
    ['no text', step({ body: 'x' }, {}), 'fallback[1].body missing'],
    ['body and template', step({ body: 'x', template: { id: 'call' } }), 'fallback[0].body body_and_template'],
    ['an empty body', step({ body: ' ' }), 'fallback[0].body empty'],
    ['eleven segments', step({ body: 'x'.repeat(1531) }), 'fallback[0].body too_many_segments'],
    ['a misspelt field', step({ boddy: 'x' }), 'fallback[0].boddy unknown_field'],
    ['a channel without numbers', step({ body: 'x', channel: 'telegram' }), 'fallback[0].channel not_allowed'],
    ['a long sender', step({ body: 'x', sender: 'ABCDEFGHIJKL' }), 'fallback[0].sender sender_shape'],
    ['a route that is none', step({ body: 'x', route: '0' }), 'fallback[0].route sentinel'],
    ['a DLT id that is none', step({ body: 'x', dlt: { entityId: '' } }), 'fallback[0].dlt.entityId empty'],
    ['a template id that is none', step({ template: { id: '-' } }), 'fallback[0].template.id sentinel'],
    ['an unknown template', step({ template: { id: 'nope' } }), 'fallback[0].template.id template_unknown'],
    ['a template of another channel', step({ template: { id: 'call' } }), 'fallback[0].template.id template_channel'],
    [
      'a template of another class',
      step({ channel: 'voice', template: { id: 'voice-code', params: {} } }),
      'fallback[0].template.id template_class',
    ],
    [
      'a missing parameter',
      step({ body: 'x' }, { channel: 'voice', template: { id: 'call', params: {} } }),
      'fallback[1].template.params.name missing_variable',
    ],
    [
      'NUL in a parameter',
      step({ channel: 'voice', template: { id: 'call', params: { name: 'a\0' } } }),
      'fallback[0].template.params.name nul',
    ],
    [
      'a wait without consent',
      step({ body: 'x', afterSeconds: 60 }),
      'fallback[0].mayDuplicate duplicate_not_accepted',
    ],
    [
      'half a second',
      step({ body: 'x', afterSeconds: 0.5, mayDuplicate: true }),
      'fallback[0].afterSeconds not_seconds',
    ],
    ['no wait', step({ body: 'x', afterSeconds: 0, mayDuplicate: true }), 'fallback[0].afterSeconds not_seconds'],
    [
      'a wait of years',
      step({ body: 'x', afterSeconds: 1e7, mayDuplicate: true }),
      'fallback[0].afterSeconds not_seconds',
    ],
    [
      'a code without a template',
      { ...otp, fallback: [{ body: '123456' }] },
      'fallback[0].template otp_needs_template',
    ],
    ['after Telegram', { ...good, channel: 'telegram', fallback: [{ body: 'x' }] }, 'fallback step_needs_number'],
  ])('%s is refused', (_name, input, expected) => {
    expect(said(input)).toContain(expected);
    expect(prepare(input).rows).toEqual([]);
  });

  test('is refused with a sentence and never a value', () => {
    const prepared = prepare(step({ body: 'SECRET\0' }, { body: 'x', sender: 'SECRETSENDER' }));
    expect(prepared).toMatchObject({ ok: false, problems: [{ reason: 'nul' }, { reason: 'sender_shape' }] });
    expect(JSON.stringify(prepared)).not.toContain('SECRET');
  });
});
