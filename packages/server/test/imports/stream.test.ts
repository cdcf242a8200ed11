/** `hermod import stream`: a file with everything, killed between, compared with what users then read. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Api, Child, isFullRun, testBackends } from '@hermod/testkit'
import { afterAll, describe, expect, it } from 'vitest'
import { callHermod, hermodEnvironment, hermodScript } from '../support/hermod-command.js'
import { ownServer } from '../support/in-process-server.js'
import { keepHistory, Retention } from '../support/messaging/history-retention.js'
import { recall } from '../support/messaging/message-operations.js'
import { history, integrityFaults, unreadCounts } from '../support/messaging/messaging.js'
import { Random } from '../support/random.js'

const start = Date.UTC(2021, 4, 1)
const time = (second: number) => new Date(start + second * 1000).toISOString()
const count = isFullRun ? 8_000 : 1_200
const room = { channel_type: 'messaging', channel_id: 'room' }
const pair = { channel_type: 'messaging', channel_member_ids: ['Ann', 'ben'] }

const of = (type: string, data: object) => ({ type, data })

/** Items of a small installation; `room` has many messages. */
function items(): object[] {
  const text = (id: string, user: string, second: number, more: object) =>
    of('message', { id, user, text: `text of ${id}`, created_at: time(second), ...more })
  return [
    of('user', { id: 'Ann', name: 'Ann', created_at: time(0) }),
    of('user', { id: 'ben', name: 'Ben' }),
    of('user', { id: 'gone@x', deactivated_at: time(9) }),
    of('channel', { ...{ type: 'messaging', id: 'room', name: 'Room' }, created_by: 'Ann' }),
    of('channel', { type: 'messaging', member_ids: ['Ann', 'ben'], created_by: 'Ann' }),
    of('channel_member', { ...room, user_id: 'Ann', channel_role: 'channel_moderator' }),
    of('channel_member', { ...room, user_id: 'ben', last_read: time(count - 10) }),
    of('channel_member', { ...pair, user_id: 'ben', last_read: time(1) }),
    ...Array.from({ length: count }, (_, index) => text(`m${index}`, 'Ann', index + 1, room)),
    text('reply', 'gone@x', count + 1, {
      ...room,
      quoted_message_id: 'm5',
      mentioned_users_ids: ['ben'],
    }),
    text('thread', 'Ann', count + 2, { ...room, type: 'reply', parent_id: 'reply' }),
    text('deleted', 'Ann', count + 3, { ...room, type: 'deleted', deleted_at: time(count + 3) }),
    text('d1', 'Ann', 1, pair),
    text('d2', 'Ann', 2, { ...pair, pinned_at: time(3), pinned_by_id: 'ben', order: 7 }),
    text('d3', 'Ann', 3, {
      ...pair,
      attachments: [{ type: 'image', image_url: 'https://x.org/a.png' }],
    }),
    of('reaction', { message_id: 'd1', type: 'like', user_id: 'ben', created_at: time(4) }),
    of('reaction', { message_id: 'd1', type: 'shipit', user_id: 'Ann', created_at: time(5) }),
    of('device', { id: 'x', user_id: 'Ann', push_provider_type: 'apn' }),
  ]
}

function shuffled<T>(list: T[]): T[] {
  const random = new Random(7)
  for (let at = list.length - 1; at > 0; at--) {
    const other = random.integer(0, at)
    ;[list[at], list[other]] = [list[other] as T, list[at] as T]
  }
  return list
}

const folder = mkdtempSync(join(tmpdir(), 'hermod-stream-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe.each(testBackends())('hermod import stream on $name', (backend) => {
  const server = ownServer(backend)
  const hermod = (...args: readonly string[]) => callHermod(['import', ...args], server.settings)
  const operator = () => server.api.as(server.operatorToken)
  const file = join(folder, `${backend.name}.jsonl`)
  const args = [file, '--app', server.appId, '--issuer', 'app', '--json']

  async function apiOf(subject: string): Promise<{ readonly id: number; readonly api: Api }> {
    const { data } = await server.api.as(server.adminToken).succeed('POST', '/token/issue', {
      body: { issuer: 'app', subject },
    })
    return { id: data.user_id, api: server.api.as(data.token) }
  }

  async function stored(source = 'stream'): Promise<number> {
    const { data } = await operator().succeed('POST', '/operator/v1/import/status', {
      body: { app_id: server.appId },
    })
    const found = data.sources.find((each: { source: string }) => each.source === source)
    return Number(found?.messages ?? 0)
  }

  it('imports a shuffled file that is killed between, and users read what the file has', {
    timeout: isFullRun ? 600_000 : 120_000,
  }, async () => {
    const lines = shuffled(items().map((item) => `${JSON.stringify(item)}\n`))
    writeFileSync(file, lines.join(''))
    const temporary = join(folder, `${backend.name}-temporary`)
    mkdirSync(temporary)
    const command = ['import', 'stream', ...args, '--temporary', temporary]
    const child = new Child([process.execPath, hermodScript, ...command], {
      env: hermodEnvironment(server.settings),
    })
    await expect.poll(() => stored(), { timeout: 30_000, interval: 10 }).toBeGreaterThan(0)
    child.killTree()
    await child.exited
    expect(readdirSync(temporary)).toEqual([])
    const second = await hermod('stream', ...args)
    expect(second).toMatchObject({ code: 0, err: '' })
    const report = JSON.parse(second.out.trim().split('\n').at(-1) ?? '')
    const { messages } = report.imported
    expect(messages.stored + messages.known).toBe(count + 5)
    expect(messages.known).toBeGreaterThan(0)
    expect(report.compared).toEqual({
      ...{ compared: 1_000, removed: 0, different: 0, differences: [] },
    })
    expect(report.left_out.map(({ type }: { type: string }) => type).sort()).toEqual([
      'device',
      'message',
    ])
    const third = await hermod('stream', ...args)
    expect(JSON.parse(third.out.trim().split('\n').at(-1) ?? '').imported.messages).toEqual({
      ...{ stored: 0, known: count + 5, failed: 0 },
    })

    const [ann, ben] = [await apiOf('Ann'), await apiOf('ben')]
    const direct = (await history(ben.api, ann.id)).reverse()
    expect(direct).toMatchObject([
      {
        content: 'text of d1',
        timestamp: start + 1000,
        reactions: [
          { key: '👍', count: 1 },
          { key: 'shipit', count: 1 },
        ],
      },
      { pinned: { by: ben.id, at: start + 3000 }, ext: '{"stream":{"custom":{"order":7}}}' },
      { ext: expect.stringContaining('https://x.org/a.png') },
    ])
    const { data: groups } = await ben.api.succeed('GET', '/group/user_joined')
    const [group] = groups as number[]
    const newest = (await history(ben.api, Number(group))).slice(0, 3)
    expect(newest.map(({ content }) => content)).toEqual([
      'text of thread',
      'text of reply',
      `text of m${count - 1}`,
    ])
    expect(newest[0]?.reply_to?.msg_id).toBe(newest[1]?.msg_id)
    expect(newest[1]?.config).toBe(JSON.stringify({ mentionList: [ben.id] }))
    // Up to `last_read`: m0 was sent in second 1.
    expect(await unreadCounts(ben.api)).toEqual({ [ann.id]: 2, [String(group)]: 12 })
    expect(await unreadCounts(ann.api)).toEqual({})
    expect(await integrityFaults(server)).toEqual([])
  })

  it('finish forgets the IDs, and the source takes nothing more', async () => {
    const finished = await hermod('finish', '--app', server.appId, '--source', 'stream', '--json')
    expect(finished).toMatchObject({ code: 0, err: '' })
    expect(JSON.parse(finished.out)).toMatchObject({ groups: 1, messages: count + 5 })
    const again = await hermod('stream', ...args)
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining('finished') })
  })

  it('a file with bad items imports nothing, or the rest with --skip-faults', async () => {
    const bad = join(folder, 'bad.jsonl')
    const message = { id: 'x', user: 'nobody', text: 'x', created_at: time(1), ...pair }
    writeFileSync(
      bad,
      [
        ...items().slice(0, 5),
        { type: 'message', data: message },
        { type: 'message', data: { ...message, id: 'y', user: 'ben', created_at: time(count) } },
      ]
        .map((item) => JSON.stringify(item))
        .join('\n'),
    )
    const run = [bad, '--app', server.appId, '--issuer', 'app', '--source', 'bad', '--json']
    const refused = await hermod('stream', ...run)
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringContaining('names a user whom the file does not have'),
    })
    const { code, out } = await hermod('stream', ...run, '--skip-faults')
    expect(code).toBe(0)
    expect(JSON.parse(out.trim().split('\n').at(-1) ?? '')).toMatchObject({
      faults: 1,
      imported: { messages: { stored: 1, failed: 0 } },
    })
    await server.sql.run(`update messages set content = 'changed' where content = 'x'`)
    const differs = await hermod('stream', ...run, '--skip-faults')
    expect(differs).toMatchObject({
      code: 1,
      err: expect.stringContaining('1 message differs from the file (compared: 1)'),
    })
    expect(JSON.parse(differs.out.trim().split('\n').at(-1) ?? '').compared.differences).toEqual([
      { external_id: 'y', line: 7, differs: ['content'] },
    ])
  })

  const write = (name: string, list: readonly object[]) => {
    const path = join(folder, `${backend.name}-${name}.jsonl`)
    writeFileSync(path, list.map((item) => JSON.stringify(item)).join('\n'))
    return path
  }
  const run = async (path: string, name: string, ...more: readonly string[]) => {
    const common = ['--app', server.appId, '--issuer', 'app', '--source', name, '--json']
    const { code, out, err } = await hermod('stream', path, ...common, ...more)
    return { code, err, report: JSON.parse(out.trim().split('\n').at(-1) || '{}') }
  }

  it('a user who is refused ends the import before its messages, and --skip-faults leaves both out', async () => {
    await operator().succeed('POST', '/operator/v1/user/import', {
      body: { app_id: server.appId, users: [{ username: 'taken' }] },
    })
    const ofBen = { channel_type: 'team', channel_id: 'of-ben' }
    const ofTaken = { channel_type: 'team', channel_id: 'of-taken' }
    const text = (id: string, user: string, place: object) =>
      of('message', { id, user, text: id, created_at: time(1), ...place })
    const path = write('refused', [
      of('user', { id: 'taken' }),
      of('user', { id: 'ben' }),
      of('channel', { type: 'team', id: 'of-ben', created_by: 'ben' }),
      of('channel', { type: 'team', id: 'of-taken', created_by: 'taken' }),
      of('member', { ...ofBen, user_id: 'taken' }),
      of('member', { ...ofBen, user_id: 'ben' }),
      text('a', 'ben', ofBen),
      text('b', 'taken', ofBen),
      text('c', 'ben', ofTaken),
    ])
    const refused = await run(path, 'refused')
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringMatching(/no message was; the first: user of line 1: /),
    })
    expect(await stored('refused')).toBe(0)
    const { code, report } = await run(path, 'refused', '--skip-faults')
    expect(code).toBe(1)
    expect(report.imported).toEqual({
      users: { stored: 0, known: 1, failed: 1 },
      groups: { stored: 1, known: 0, failed: 0 },
      messages: { stored: 1, known: 0, failed: 0 },
      members: { stored: 0, known: 1, failed: 0 },
    })
    const reason = 'its user or group could not be imported'
    expect(report.left_out).toMatchObject([
      { type: 'message', reason, count: 2 },
      { type: 'channel', reason, count: 1 },
      { type: 'member', reason, count: 1 },
      { type: 'user', count: 1 },
    ])
    expect(await stored('refused')).toBe(1)
  })

  it('--check bounds messages as HERMOD_MAX_MESSAGE_BYTES does', async () => {
    const text = { id: 'x', user: 'ben', text: 'x'.repeat(1025), created_at: time(1), ...pair }
    const path = write('long', [...items().slice(0, 5), of('message', text)])
    const check = (HERMOD_MAX_MESSAGE_BYTES: string) =>
      callHermod(['import', 'stream', path, '--check'], {
        ...server.settings,
        HERMOD_MAX_MESSAGE_BYTES,
      })
    expect(await check('1024')).toMatchObject({
      code: 1,
      out: expect.stringContaining('text is longer than 1024 bytes'),
    })
    expect(await check('1025')).toMatchObject({ code: 0 })
  })

  it('a repeat counts recalled messages and those beyond history_days, and they are no difference', async () => {
    const place = { channel_type: 'messaging', channel_member_ids: ['cy', 'dee'] }
    const text = (id: string, user: string, second: number, more = {}) =>
      of('message', { id, user, text: id, created_at: time(second), ...place, ...more })
    const path = write('removed', [
      of('user', { id: 'cy' }),
      of('user', { id: 'dee' }),
      of('channel', { type: 'messaging', member_ids: ['cy', 'dee'] }),
      text('r1', 'cy', 1),
      text('r2', 'dee', 2, { quoted_message_id: 'r1' }),
      text('r3', 'cy', 3),
    ])
    const compared = async () => {
      const { code, err, report } = await run(path, 'removed')
      expect({ code, err }).toEqual({ code: 0, err: '' })
      const { differences, ...counts } = report.compared
      expect(differences).toEqual([])
      return counts
    }
    expect(await compared()).toEqual({ compared: 3, removed: 0, different: 0 })
    const [cy, dee] = [await apiOf('cy'), await apiOf('dee')]
    const first = (await history(cy.api, dee.id)).at(-1)
    expect(first?.content).toBe('r1')
    const administrator = server.api.admin({ userId: cy.id })
    expect((await recall(administrator, dee.id, first?.msg_id ?? 0)).code).toBe(200)
    expect(await compared()).toEqual({ compared: 2, removed: 1, different: 0 })
    await keepHistory(operator(), server.appId, 30)
    await using retention = new Retention(server.place)
    await retention.run(server.appId, Date.now())
    expect(await compared()).toEqual({ compared: 0, removed: 3, different: 0 })
    expect(await integrityFaults(server)).toEqual([])
  })
})
