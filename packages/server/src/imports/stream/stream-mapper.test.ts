import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../lib/json.js'
import { mapItem } from './stream-mapper.js'

const now = Date.UTC(2026, 0) * 1000
const map = (type: string, data: JsonObject, maxMessageBytes = 65_536) =>
  mapItem({ type, data }, { now, maxMessageBytes })
const at = '2020-01-01T00:00:00Z'
const micros = Date.UTC(2020, 0) * 1000
const inRoom = { channel_type: 'messaging', channel_id: 'room' }
const message = { id: 'm', user: 'ann', ...inRoom, text: 'Hello', created_at: at }

describe('items of Stream', () => {
  const rows: readonly [string, string, JsonObject, object][] = [
    [
      'a user',
      'user',
      { id: 'ann', name: 'Ann' },
      { subject: 'ann', username: 'ann', nick_name: 'Ann', status: 0, at: 0 },
    ],
    [
      'a name that changes the direction',
      'user',
      { id: 'a', name: 'A\u202eb\nc' },
      { nick_name: 'Ab c' },
    ],
    [
      'an address that runs code',
      'user',
      { id: 'a', image: 'javascript:alert(1)' },
      { avatar: '' },
    ],
    ['a banned user', 'user', { id: 'a', banned: true }, { status: 1 }],
    [
      'a deleted user',
      'user',
      { id: 'a', name: 'A', deleted_at: at },
      { status: 1, nick_name: '' },
    ],
    ['the zero time of Go', 'user', { id: 'a', deleted_at: '0001-01-01T00:00:00Z' }, { status: 0 }],
    [
      'a channel',
      'channel',
      { type: 'messaging', id: 'room', created_by: { id: 'ann' } },
      { cid: 'messaging:room', creator: 'ann', is_distinct: 0 },
    ],
    [
      'a channel of the first client',
      'channel',
      { type: 't', id: '!members-x' },
      { is_distinct: 1 },
    ],
    [
      'a member',
      'member',
      { ...inRoom, user_id: 'ann', last_read: at },
      { cid: 'messaging:room', role: 0, last_read: micros },
    ],
    [
      'a moderator',
      'channel_member',
      { ...inRoom, user: { id: 'ann' }, channel_role: 'channel_moderator' },
      { subject: 'ann', role: 1 },
    ],
    [
      'a moderator of older files',
      'member',
      { ...inRoom, user_id: 'ann', is_moderator: true },
      { role: 1 },
    ],
    ['an owner', 'member', { cid: 'a:b', user_id: 'ann', role: 'owner' }, { cid: 'a:b', role: 2 }],
    [
      'a message',
      'message',
      message,
      { id: 'm', sender: 'ann', content: 'Hello', ext: '', original: '', at: micros },
    ],
    [
      'microseconds',
      'message',
      { ...message, created_at: '2020-01-01T01:00:00.000123+01:00' },
      { at: micros + 123 },
    ],
    [
      'a quote',
      'message',
      { ...message, quoted_message_id: 'q', parent_id: 'p' },
      { original: 'q' },
    ],
    [
      'a message of a thread',
      'message',
      { ...message, type: 'reply', parent_id: 'p' },
      { original: 'p', content: 'Hello' },
    ],
    ['an empty parent', 'message', { ...message, parent_id: '' }, { original: '' }],
    [
      'a pin',
      'message',
      { ...message, pinned_at: at, pinned_by_id: 'ben' },
      { pinned_at: micros, pinned_by: 'ben' },
    ],
    [
      'a pin that has ended',
      'message',
      { ...message, pinned_at: at, pin_expires: at },
      { pinned_at: 0 },
    ],
    [
      'mentions',
      'message',
      { ...message, mentioned_users_ids: ['b', 'b'], mentioned_channel: true },
      { mentions: '["*","b"]' },
    ],
    [
      'half a character',
      'message',
      { ...message, text: 'a\ud800\u0000' },
      { content: 'a\ufffd\ufffd' },
    ],
    [
      'an attachment',
      'message',
      { ...message, attachments: [{ type: 'file', asset_url: 'https://x/a', fields: [1] }] },
      { ext: '{"stream":{"attachments":[{"type":"file","asset_url":"https://x/a"}]}}' },
    ],
    [
      'an attachment alone',
      'message',
      { ...message, text: '', attachments: [{ image_url: 'https://x/a' }] },
      { content: 'https://x/a' },
    ],
    [
      'custom fields',
      'message',
      { ...message, order: { no: 1 }, html: '<p>' },
      { ext: '{"stream":{"custom":{"order":{"no":1}}}}' },
    ],
    [
      'a reaction',
      'reaction',
      { message_id: 'm', type: 'love', user_id: 'ann' },
      { message: 'm', key: '❤️' },
    ],
    [
      'a reaction of another type',
      'reaction',
      { message_id: 'm', type: 'shipit', user: { id: 'a' } },
      { key: 'shipit' },
    ],
  ]
  it.each(rows)('%s', (_, type, data, row) => {
    expect(map(type, data)).toMatchObject({ row })
  })

  const left: readonly [string, JsonObject, string][] = [
    ['device', { id: 'd' }, 'push tokens'],
    ['message', { ...message, type: 'deleted', deleted_at: at }, 'deleted'],
    ['message', { ...message, type: 'system' }, 'system'],
    ['message', { ...message, type: 'ephemeral' }, 'only Stream has'],
    ['message', { ...message, restricted_visibility: ['a'] }, 'only some readers'],
    ['message', { ...message, shadowed: true }, 'only some readers'],
    ['message', { ...message, text: '', attachments: [{}] }, 'without a text'],
    ['member', { ...inRoom, user_id: 'a', invited: true }, 'not accepted'],
  ]
  it.each(left)('a %s is left out by a rule: %j', (type, data, reason) => {
    expect(map(type, data)).toMatchObject({ leftOut: expect.stringContaining(reason) })
  })

  const bad: readonly [string, JsonObject, string][] = [
    ['user', {}, 'id is missing'],
    ['user', { id: 1 }, 'id must be'],
    ['user', { id: 'a\u0000' }, 'id must be'],
    ['user', { id: 'x'.repeat(256) }, 'id must be'],
    ['channel', { type: 'a' }, 'either id or member_ids'],
    ['channel', { type: 'a', id: 'b', member_ids: ['a'] }, 'either id or member_ids'],
    ['member', { user_id: 'a' }, 'must name its channel'],
    ['member', { ...inRoom }, 'user_id is missing'],
    ['message', { ...message, created_at: undefined }, 'created_at is missing'],
    ['message', { ...message, created_at: '2020-02-30T00:00:00Z' }, 'created_at must be a time'],
    ['message', { ...message, created_at: 'yesterday' }, 'created_at must be a time'],
    ['message', { ...message, created_at: '2999-01-01T00:00:00Z' }, 'in the future'],
    ['message', { ...message, text: 'x'.repeat(65_537) }, 'longer than 65536 bytes'],
    [
      'message',
      { ...message, text: 'x'.repeat(65_536), mentioned_users_ids: ['ben'] },
      'longer than 65498 bytes',
    ],
    ['message', { ...message, attachments: 'none' }, 'attachments must be'],
    ['reaction', { message_id: 'm', type: 'x'.repeat(65), user_id: 'a' }, 'at most 64 bytes'],
    ['nothing', {}, 'unknown type'],
    ['__proto__', {}, 'unknown type'],
    ['constructor', {}, 'unknown type'],
  ]
  it.each(bad)('a bad %s names what is wrong: %j', (type, data, fault) => {
    expect(map(type, data)).toMatchObject({ fault: expect.stringContaining(fault) })
  })

  it('a message is bounded by the limit of the service, and by what fits into a body', () => {
    const fault = (text: string, limit: number, mentions: number) => {
      const mentioned_users_ids = Array.from({ length: mentions }, (_, index) => `user${index}`)
      const mapped = map('message', { ...message, text, mentioned_users_ids }, limit)
      return 'fault' in mapped ? mapped.fault : null
    }
    expect(fault('x'.repeat(1024), 1024, 0)).toBe(null)
    expect(fault('x'.repeat(1025), 1024, 0)).toBe('text is longer than 1024 bytes')
    expect(fault('x', 1024, 60)).toBe('its 60 mentions are too many for a message')
    expect(fault('x'.repeat(131_072), 1_000_000, 0)).toBe(null)
    expect(fault('x'.repeat(131_073), 1_000_000, 0)).toBe('text is longer than 131072 bytes')
  })

  it('custom fields that do not fit are left out, and the text stays', () => {
    const mapped = map('message', { ...message, blob: 'x'.repeat(70_000) })
    expect(mapped).toMatchObject({
      row: { content: 'Hello', ext: '' },
      notes: ['custom of a message are too large: left out'],
    })
  })

  it('IDs that are no usernames get different ones', () => {
    const names = ['Ann', 'ann', 'a-b', 'a_b', '4711', '@', 'ann@example.org'].map((id) => {
      const mapped = map('user', { id })
      return mapped.type === 'user' && 'row' in mapped
        ? (mapped.row as { username: string }).username
        : ''
    })
    expect(new Set(names).size).toBe(names.length)
    for (const name of names) expect(name).toMatch(/^(?!\d+$)[a-z0-9_]{1,64}$/)
  })

  it('members that are named __proto__ change nothing', () => {
    const mapped = map(
      'message',
      JSON.parse(JSON.stringify(message).replace('"m"', '"m","__proto__":{"text":"no"}')),
    )
    expect(mapped).toMatchObject({ row: { content: 'Hello' } })
  })
})
