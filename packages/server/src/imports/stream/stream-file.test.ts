import { tmpdir } from 'node:os'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { stageFile } from './stream-file.js'
import { StreamStaging } from './stream-staging.js'

let staging: StreamStaging
beforeEach(() => {
  staging = new StreamStaging(tmpdir())
})
afterEach(() => staging[Symbol.dispose]())

type Item = readonly [string, object]

function stage(items: readonly Item[]) {
  const lines = items.map(([type, data]) => `${JSON.stringify({ type, data })}\n`)
  async function* input() {
    for (const line of lines) yield Buffer.from(line)
  }
  const now = Date.UTC(2026, 0)
  const signal = new AbortController().signal
  const options = { name: 'a', signal, now, maxMessageBytes: 65_536, progress: () => {} }
  return stageFile(staging, { input: input(), ...options })
}

const user = (id: string): Item => ['user', { id }]
const room = { channel_type: 'messaging', channel_id: 'room' }
const pair = { channel_type: 'messaging', channel_member_ids: ['ben', 'ann'] }
const channel: Item = ['channel', { type: 'messaging', id: 'room', created_by: 'ann' }]
const member = (user_id: string, more = {}): Item => ['member', { ...room, user_id, ...more }]
const time = (second: number) => new Date(Date.UTC(2020, 0) + second * 1000).toISOString()
const message = (id: string, second: number, more = {}): Item => [
  'message',
  { ...room, id, user: 'ann', text: id, created_at: time(second), ...more },
]
const reaction = (message_id: string, type: string, user_id: string): Item => [
  'reaction',
  { message_id, type, user_id, created_at: time(1) },
]
const sorted = () => staging.all('select id, conv, original, pinned_at from sorted order by rowid')

describe('a staged file', () => {
  it('has messages by conversation and time, in whatever order the file has them', async () => {
    const { mapped, faults } = await stage([
      message('late', 3, { quoted_message_id: 'early' }),
      reaction('early', 'like', 'ben'),
      message('direct', 2, { ...pair, channel_id: undefined, user: 'ben' }),
      message('early', 1),
      member('ann'),
      ['channel', { type: 'messaging', member_ids: ['ann', 'ben'] }],
      channel,
      user('ben'),
      user('ann'),
    ])
    expect(faults).toBe(0)
    expect(sorted().map(({ id }) => id)).toEqual(['direct', 'early', 'late'])
    expect(mapped).toEqual({
      users: 2,
      groups: 1,
      direct_conversations: 1,
      members: 3,
      messages: 3,
      replies: 1,
      reactions: 1,
      pins: 0,
    })
  })

  it('names what refers to nothing', async () => {
    const { left_out, samples, faults } = await stage([
      user('ann'),
      channel,
      member('ann'),
      member('nobody'),
      ['member', { channel_type: 'a', channel_id: 'b', user_id: 'ann' }],
      message('a', 1, { user: 'nobody' }),
      message('b', 1, { channel_id: 'nowhere' }),
      reaction('none', 'like', 'ann'),
      ['channel', { type: 'messaging', id: 'empty', created_by: 'nobody' }],
    ])
    expect(faults).toBe(6)
    expect(left_out.every(({ is_fault }) => is_fault)).toBe(true)
    expect(samples.map(({ line }) => line).sort()).toEqual([4, 5, 6, 7, 8, 9])
  })

  it('leaves out by rules: repeated items, replies and reactions to what is left out, truncated messages', async () => {
    const { mapped, left_out, faults, notes } = await stage([
      user('ann'),
      user('ann'),
      ['channel', { type: 'messaging', id: 'room', created_by: 'ann', truncated_at: time(5) }],
      message('old', 5),
      message('new', 6, { parent_id: 'old' }),
      message('new', 7),
      message('gone', 8, { type: 'deleted', deleted_at: time(9) }),
      reaction('gone', 'like', 'ann'),
      reaction('new', 'like', 'ann'),
      reaction('new', '👍', 'ann'),
    ])
    expect(faults).toBe(0)
    expect(mapped).toMatchObject({ users: 1, messages: 1, replies: 0, reactions: 1 })
    expect(left_out.reduce((sum, { count }) => sum + count, 0)).toBe(6)
    expect(notes).toContainEqual({
      note: 'a message that replies to none that is imported is no reply',
      count: 1,
    })
  })

  it('bounds reactions and pins as the service does', async () => {
    const users = Array.from({ length: 60 }, (_, index) => `user${index}`)
    const { mapped, faults } = await stage([
      ...['ann', ...users].map(user),
      channel,
      member('ann'),
      message('m', 1),
      ...users.map((id) => reaction('m', `key ${id}`, id)),
      message('n', 2),
      ...users.slice(0, 30).map((id) => reaction('n', `key ${id}`, 'ann')),
      ...users.map((_, index) =>
        message(`pin${index}`, 10 + index, { pinned_at: time(100 + index), pinned_by_id: 'ann' }),
      ),
    ])
    expect(faults).toBe(0)
    expect(mapped).toMatchObject({ reactions: 50 + 20, pins: 50 })
    expect(sorted().find(({ id }) => id === 'pin9')?.pinned_at).toBe(0)
    expect(sorted().find(({ id }) => id === 'pin10')?.pinned_at).not.toBe(0)
  })

  it('channels of the same two users become one conversation in the order of time', async () => {
    const other = {
      channel_type: 'team',
      channel_member_ids: ['ann', 'ben'],
      channel_id: undefined,
    }
    await stage([
      user('ann'),
      user('ben'),
      ['channel', { type: 'messaging', member_ids: ['ann', 'ben'] }],
      ['channel', { type: 'team', member_ids: ['ben', 'ann'] }],
      message('two', 2, other),
      message('one', 1, { ...pair, channel_id: undefined }),
      message('three', 3, { ...pair, channel_id: undefined }),
    ])
    expect(sorted().map(({ id }) => id)).toEqual(['one', 'two', 'three'])
    expect(new Set(sorted().map(({ conv }) => conv)).size).toBe(1)
  })

  it('a group is owned by its owner, else its creator, else a moderator', async () => {
    const owners = () =>
      staging.all('select cid, owner from channels order by cid').map(({ owner }) => owner)
    const group = (id: string): Item => ['channel', { type: 'a', id, created_by: 'ann' }]
    const of = (channel_id: string, user_id: string, more = {}): Item => [
      'member',
      { channel_type: 'a', channel_id, user_id, ...more },
    ]
    await stage([
      ...['ann', 'ben', 'cy'].map(user),
      group('1'),
      of('1', 'ann'),
      of('1', 'ben', { role: 'owner' }),
      group('2'),
      of('2', 'ben', { is_moderator: true }),
      of('2', 'ann'),
      group('3'),
      of('3', 'cy'),
      of('3', 'ben', { is_moderator: true }),
      group('4'),
    ])
    expect(owners()).toEqual(['ben', 'ann', 'ben', 'ann'])
  })
})
