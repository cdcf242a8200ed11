/** The erasure of a person, its certificate, and the search for what is left (decision 080). */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ErasureCertificate } from '@hermod/protocol'
import {
  GatewayClient,
  type Json,
  type Session,
  TempFolder,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { readErasures } from '../../dist/domain/erasure/erasure-log.js'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { fetchAs, png } from '../support/files/files.js'
import { sendToGroup } from '../support/groups/group-messaging.js'
import { aGroup } from '../support/groups/groups.js'
import { callHermod } from '../support/hermod-command.js'
import { ownServer } from '../support/in-process-server.js'
import { endOfJob } from '../support/long-jobs.js'
import {
  contents,
  history,
  integrityFaults,
  sendText,
  sessions,
  unreadCounts,
} from '../support/messaging/messaging.js'
import { itOnce } from '../support/once.js'
import { ownedTables, PersonalSample } from '../support/personal-sample.js'

type Mode = ErasureCertificate['messages']
const patience = { what: 'the end of the job', timeoutMs: 20_000 }
const reason = 'asked for by the user'

for (const backend of testBackends())
  describe(`erasure of a person on ${backend.name}`, () => {
    const once = itOnce(backend)
    const server = ownServer(backend)
    const sample = new PersonalSample(server)
    let alice: Session
    let bob: Session
    let carol: Session

    beforeEach(async () => {
      ;[alice, bob, carol] = await sessions(server, 3)
    })

    const operator = () => server.api.as(server.operatorToken)
    const aMarker = ({ id }: Session) => `zq${id.toString(36)}qz`

    /** Sends messages of alice to bob, many at a time. */
    const sendMany = (count: number, text: string) =>
      Promise.all(
        Array.from({ length: count }, (_, index) => sendText(alice.api, bob.id, `${text}${index}`)),
      )

    function order(user: Session, messages: Mode, more: object = {}) {
      const body = { app_id: server.appId, user_id: user.id, messages, reason, ...more }
      return operator().call('POST', '/operator/v1/user/erase', { body })
    }

    async function erase(user: Session, messages: Mode): Promise<ErasureCertificate> {
      const { code, data, envelope } = await order(user, messages)
      expect([code, envelope.message]).toEqual([200, null])
      const job = await endOfJob(server, data.job_id)
      expect([job.state, job.error]).toEqual(['done', ''])
      return job.result
    }

    async function find(user: Session, texts: readonly string[] = []): Promise<Json[]> {
      const body = { app_id: server.appId, user_id: user.id, texts }
      const { data } = await operator().succeed('POST', '/operator/v1/user/check_erased', { body })
      expect(data.checked).toBeGreaterThan(0)
      return data.faults
    }

    const isThere = async (url: string) => {
      const found = await fetchAs(server.http, bob.token, url)
      return typeof found !== 'number' && found.equals(png)
    }

    /** Columns that still say the marker after an erasure of each mode. */
    const left: Record<Mode, readonly string[]> = {
      keep: [
        'files.name',
        'messages.attachment',
        'messages.config',
        'messages.content',
        'messages.ext',
      ],
      anonymise: ['messages.content'],
      // What others have written.
      delete: ['messages.content'],
    }
    const leftTables: Record<Mode, readonly string[]> = {
      keep: ['messages', 'own_notifications', 'receipt_requests', 'files'],
      anonymise: ['messages', 'own_notifications'],
      delete: [],
    }

    it.each(['keep', 'anonymise', 'delete'] as const)(
      'messages %s: no row, text or file of the person is left but what the mode says',
      async (mode) => {
        const marker = aMarker(alice)
        const [sent = '', avatar = ''] = await sample.fillMore(alice, { bob, carol }, marker)
        await sample.fill(alice, { bob, carol }, marker)
        for (const table of ownedTables)
          expect([table, (await sample.rowsOf(table, alice.id)).length > 0]).toEqual([table, true])
        expect(await isThere(sent)).toBe(true)
        expect(await find(alice)).not.toEqual([])

        const certificate = await erase(alice, mode)
        expect(certificate).toMatchObject({
          app_id: server.appId,
          user_id: alice.id,
          messages: mode,
          reason,
          files: mode === 'keep' ? 1 : 2,
          is_scrubbed: backend.name === 'sqlite',
        })
        const counted = ownedTables.filter((table) => !leftTables[mode].includes(table))
        expect(Object.keys(certificate.counts)).toEqual(expect.arrayContaining(counted))
        expect(JSON.stringify(certificate)).not.toContain(marker)
        for (const table of ownedTables)
          if (!leftTables[mode].includes(table))
            expect([table, await sample.rowsOf(table, alice.id)]).toEqual([table, []])
        expect(await sample.columnsThatSay(marker)).toEqual(left[mode])
        expect(await find(alice)).toEqual([])
        for (const [url, isGone] of [
          [sent, mode !== 'keep'],
          [avatar, true],
        ] as const)
          expect([url, await isThere(url)]).toEqual([url, !isGone])
        await server.sql.run('delete from webhook_attempts')
        await waitFor(async () => (await integrityFaults(server)).length === 0, patience)
        const said = (await history(bob.api, alice.id)).map(({ content }) => content)
        expect(said.includes(`${marker} was here`)).toBe(mode !== 'delete')
        expect(said).toContain(`dear ${marker}`)

        const again = await erase(alice, mode)
        expect(again).toMatchObject({ counts: {}, files: 0 })
        const { data } = await operator().succeed('GET', '/operator/v1/user/erasures', {
          query: { app_id: server.appId, user_id: alice.id },
        })
        expect(data.erasures).toEqual(
          [again, certificate].map(({ unlisted: _, ...rest }: Json) => rest),
        )
        const { erasures } = await readErasures(server.dataDir)
        expect(erasures.at(-1)).toEqual({
          app_id: server.appId,
          user_id: alice.id,
          at: again.finished_at,
          messages: mode,
          reason,
        })
      },
    )

    it('readers get a tombstone of each message, with exact unread counts, also in a group that the person has left', async () => {
      const group = await aGroup(bob, { members: [alice, carol] })
      using device = await GatewayClient.connect(server.url)
      await device.open({ appId: server.appId, accessToken: bob.token })
      await sendToGroup(alice.api, group, '0')
      await Promise.all(
        Array.from({ length: 59 }, (_, index) => sendToGroup(alice.api, group, `${index + 1}`)),
      )
      await sendMany(60, '')
      const stays = await sendToGroup(carol.api, group, 'stays')
      await sendToGroup(carol.api, group, 'quotes', {
        reply_to: (await history(bob.api, group)).at(-1)?.msg_id,
      })
      await alice.api.succeed('POST', '/group/leave', { body: { group_id: group } })
      expect(await unreadCounts(bob.api)).toMatchObject({ [alice.id]: 60, [group]: 62 })
      await erase(alice, 'delete')
      const counts = await unreadCounts(bob.api)
      expect([counts[alice.id] ?? 0, counts[group]]).toEqual([0, 2])
      expect(await contents(bob.api, alice.id)).toEqual([])
      expect((await history(bob.api, group)).map(({ msg_id }) => msg_id)).toContain(stays)
      const recalls = await waitFor(() => {
        const found = device.events.filter(({ event }) => event === 'message.recalled')
        return found.length === 120 && found
      }, patience)
      expect(recalls.every(({ data }) => (data as Json).sender_id === alice.id)).toBe(true)
      const quote = (await history(bob.api, group)).find(
        ({ content }) => content === 'quotes',
      ) as Json
      expect(JSON.stringify(quote)).not.toContain('"0"')
      expect(await integrityFaults(server)).toEqual([])
    })

    it('a user who is deleted already is erased by the ID, and an unknown user is refused', async () => {
      const marker = aMarker(alice)
      await sendText(alice.api, bob.id, marker)
      await server.api.admin({ userId: alice.id }).succeed('POST', '/user/delete', { body: {} })
      await erase(alice, 'delete')
      expect(await find(alice, [marker])).toEqual([])
      expect((await order({ ...alice, id: 1 }, 'delete')).code).toBe(answerCode.user_not_found)
      await expectCode(order(alice, 'delete', { app_id: 'nowhere' }), 'app_not_found')
    })

    it('sends of the person beside the erasure succeed before it or are refused, and nothing of them stays', async () => {
      const marker = aMarker(alice)
      const sends = Array.from({ length: 40 }, (_, index) =>
        server.api.as(alice.token).call('POST', '/message/send', {
          body: { type: 1, content_type: 0, targets: [bob.id], content: `${marker} ${index}` },
        }),
      )
      await erase(alice, 'delete')
      for (const { code } of await Promise.all(sends))
        expect([200, answerCode.user_deleted, answerCode.token_expired]).toContain(code)
      expect(await find(alice, [marker])).toEqual([])
      expect(await integrityFaults(server)).toEqual([])
    })

    once(
      'a hold of the user, or of a conversation of the user, is named and stops the erasure until it is released',
      async () => {
        const group = await aGroup(bob, { members: [alice] })
        await sendToGroup(alice.api, group, 'evidence')
        const app_id = server.appId
        const hold = (name: string, body: object) =>
          operator().call('POST', '/operator/v1/hold/set', {
            body: { app_id, name, reason, ...body },
          })
        const release = (name: string) =>
          operator().call('POST', '/operator/v1/hold/release', { body: { app_id, name } })
        for (const held of [
          { user_id: alice.id },
          { conversation: [group] },
          { conversation: [bob.id, alice.id] },
        ]) {
          expect(await hold('case-1', held)).toMatchObject({ code: 200 })
          expect(await hold('case-1', held)).toMatchObject({ code: 200 })
          const refused = await order(alice, 'delete')
          expect(refused.code).toBe(answerCode.erasure_held)
          expect(refused.envelope.message).toContain('case-1')
          const { data } = await operator().succeed('GET', '/operator/v1/hold/list', {
            query: { app_id },
          })
          expect(data.holds).toHaveLength(1)
          expect(await release('case-1')).toMatchObject({ code: 200 })
        }
        await expectCode(release('case-1'), 'hold_not_found')
        await expectCode(hold('case-1', {}), 'invalid_parameter')
        await expectCode(hold('case-1', { user_id: group }), 'user_not_found')
        await expectCode(hold('case-1', { conversation: [bob.id] }), 'conversation_not_found')
        await erase(alice, 'delete')
      },
    )

    it.each([
      ['an announcement', '/group/announcement/edit', { title: 'evidence', content: 'evidence' }],
      ['a shared file', '/group/file/upload', { name: 'evidence', size: 1, url: '/evidence' }],
    ])(
      'a hold of a group stops the erasure of a person who has left it and has only %s there',
      async (_, path, body) => {
        const group = await aGroup(bob, { members: [alice], admins: [alice] })
        await alice.api.succeed('POST', path, { body: { group_id: group, ...body } })
        await alice.api.succeed('POST', '/group/leave', { body: { group_id: group } })
        await operator().succeed('POST', '/operator/v1/hold/set', {
          body: { app_id: server.appId, name: 'case-3', reason, conversation: [group] },
        })
        const refused = await order(alice, 'delete')
        expect(refused.code).toBe(answerCode.erasure_held)
        expect(refused.envelope.message).toContain('case-3')
        await operator().succeed('POST', '/operator/v1/hold/release', {
          body: { app_id: server.appId, name: 'case-3' },
        })
      },
    )

    it('a hold that is set while an erasure runs stops it, and the messages that are left stay', async () => {
      const app_id = server.appId
      await sendMany(400, 'evidence ')
      const { data } = await order(alice, 'delete')
      await waitFor(
        async () => (await server.sql.run('select 1 from recalled_messages limit 1')).length > 0,
        { ...patience, everyMs: 1 },
      )
      await operator().succeed('POST', '/operator/v1/hold/set', {
        body: { app_id, name: 'case-2', reason, conversation: [alice.id, bob.id] },
      })
      const count = async () => {
        const [row] = await server.sql.run(
          `select count(*) as count from messages where sender_id = ${alice.id}`,
        )
        return Number(row?.count)
      }
      const job = await endOfJob(server, data.job_id)
      expect(job).toMatchObject({ state: 'failed', error: expect.stringContaining('case-2') })
      expect(await count()).toBeGreaterThan(0)
      await operator().succeed('POST', '/operator/v1/hold/release', {
        body: { app_id, name: 'case-2' },
      })
      await erase(alice, 'delete')
      expect(await count()).toBe(0)
    })

    once('the folders of backups list the erasure too, and one that is gone is named', async () => {
      using target = new TempFolder('target')
      const gone = join(target.path, 'gone')
      const known = join(server.dataDir, 'backup-targets.json')
      writeFileSync(known, JSON.stringify([target.path, gone]))
      try {
        const certificate = await erase(alice, 'keep')
        expect(certificate).toMatchObject({ unlisted: [gone] })
        const [line] = (await readErasures(target.path)).erasures
        expect(line).toEqual((await readErasures(server.dataDir)).erasures.at(-1))
        expect(line).toMatchObject({ user_id: alice.id, at: certificate.finished_at })
      } finally {
        rmSync(known)
      }
    })

    it('an unfinished erasure of another mode is refused', async () => {
      await server.sql.run(`insert into erasures (app_id, user_id, begun_at, messages, reason, counts)
        values ('${server.appId}', ${alice.id}, 1, 'keep', 'x', '{}')`)
      await expectCode(order(alice, 'delete'), 'erasure_unfinished')
      expect((await find(alice)).map(({ subject }) => subject)).toContain('erasures')
      expect(await erase(alice, 'keep')).toMatchObject({ begun_at: 1, counts: {} })
    })

    once('the commands erase, list and check', async () => {
      await server.stop()
      try {
        const hermod = (args: readonly string[], input = '') =>
          callHermod(args, server.settings, input)
        const erased = await hermod([
          ...['user', 'erase', server.appId, String(alice.id)],
          ...['--messages', 'delete', '--reason', reason],
        ])
        expect([erased.code, erased.err]).toEqual([0, ''])
        expect(erased.out).toContain(reason)
        const listed = await hermod(['user', 'erasures', server.appId, '--user', String(alice.id)])
        expect(listed.out).toContain('delete')
        const check = (texts: string) =>
          hermod(
            ['check', '--erased', String(alice.id), '--app', server.appId, '--texts-file', '-'],
            texts,
          )
        expect(await check(aMarker(alice))).toMatchObject({ code: 0 })
        expect(await check(reason)).toMatchObject({ code: 1 })
        if (backend.name !== 'sqlite') return
        const copy = join(server.dataDir, 'hermod.db.before-9.9.9')
        writeFileSync(copy, aMarker(alice))
        const found = await check(aMarker(alice))
        expect(found).toMatchObject({ code: 1, out: expect.stringContaining('before-9.9.9') })
        rmSync(copy)
      } finally {
        await server.startAgain()
      }
    })
  })
