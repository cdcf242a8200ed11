/** What names files, which files go, and what operators see of it, on both databases. */
import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Api, anyBackend, isFullRun, type Session, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { metric } from '../support/attack.js'
import { SmallDisk } from '../support/database/system-faults.js'
import { missesSwift } from '../support/files/blob-stores.js'
import { FileModel } from '../support/files/file-model.js'
import { S3OfServer } from '../support/files/file-stores.js'
import { followed, keepUp, keepUpInSteps, startUpkeep } from '../support/files/file-upkeep.js'
import {
  blobsIn,
  fetchAs,
  fileIdOf,
  pathOf,
  png,
  sendFile,
  ticketFor,
  upload,
} from '../support/files/files.js'
import { sendToGroup } from '../support/groups/group-messaging.js'
import { aGroup, groupCall, types } from '../support/groups/groups.js'
import { callHermod } from '../support/hermod-command.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import { integrityFaults, sendText } from '../support/messaging/messaging.js'
import { Random } from '../support/random.js'
import { WatchedServer } from '../support/watched-server.js'

const password = 'correct horse'
const dayHours = 24
const rounds = isFullRun ? 4 : 2

for (const backend of anyBackend()) {
  describe(`references to files on ${backend.name}`, () => {
    let watched: WatchedServer
    let alice: Session
    let bob: Session

    beforeAll(async () => {
      watched = await WatchedServer.start(backend)
    })

    beforeEach(async () => {
      ;[alice, bob] = [await watched.api.newSession(), await watched.api.newSession()]
    })

    afterAll(async () => {
      await watched?.[Symbol.asyncDispose]()
    })

    const aFile = (content: Uint8Array = png, by = alice) =>
      sendFile(by.api, { to_id: bob.id }, content)
    const anAvatar = async (by: Api) => {
      const { data: ticket } = await by.succeed('GET', '/file/upload/avatar/user')
      await upload(by, ticket, png)
      return { url: ticket.download_url, name: fileIdOf(ticket.download_url) }
    }
    const operator = () => watched.api.as(watched.server.operatorToken)
    const setSystemAvatar = (avatar: string) =>
      operator().succeed('POST', '/operator/v1/app/update', {
        body: { app_id: watched.server.appId, settings: { system_avatar: avatar } },
      })
    const send = (url: string) =>
      sendText(alice.api, bob.id, 'x', { attachment: JSON.stringify({ url }) })

    /** What the operator is told to name the file. */
    async function references(fileId: string): Promise<string[]> {
      await followed(watched.sql)
      const query = { app_id: watched.server.appId, file_id: fileId }
      const { data } = await operator().succeed('GET', '/operator/v1/file/get', { query })
      return data.references
    }

    async function expectAgreement(): Promise<void> {
      await followed(watched.sql)
      expect(await integrityFaults(watched.server)).toEqual([])
    }

    const isThere = async (url: string) =>
      (await fetchAs(watched.api, alice.token, url)) !== answerCode.file_not_found

    describe('are', () => {
      it('messages to users, groups and chatrooms, until they are recalled', async () => {
        const url = await aFile()
        const fileId = fileIdOf(url)
        const group = await aGroup(alice)
        const room = await aGroup(alice, { more: { type: types.chatroom } })
        const attachment = JSON.stringify({ url, other: 'https://example.org/?sign=abc' })
        const direct = await send(url)
        const inGroup = await sendToGroup(alice.api, group, 'x', { attachment })
        const inRoom = await sendToGroup(alice.api, room, 'x', { attachment })
        expect(await references(fileId)).toHaveLength(3)
        for (const id of [direct, inGroup, inRoom])
          expect(await references(fileId)).toContainEqual(expect.stringContaining(`message ${id} `))
        await operate(alice.api, 'append', { peer: bob.id, message: direct, content: 'more' })
        expect(await references(fileId)).toHaveLength(3)
        expect((await recall(alice.api, bob.id, direct)).code).toBe(200)
        expect((await recall(alice.api, group, inGroup)).code).toBe(200)
        expect(await references(fileId)).toEqual([expect.stringContaining(`message ${inRoom} `)])
        await expectAgreement()
      })

      it.each([
        ['a plain address', (url: string) => url],
        [
          'JSON that escapes its signs',
          (url: string) => JSON.stringify({ url }).replaceAll('=', '\\u003d'),
        ],
        ['an encoded address', (url: string) => encodeURIComponent(url)],
        ['an address with credentials', (url: string) => `${url}&access-token=x&app_id=y`],
      ])('found in %s', async (_, write) => {
        const url = await aFile()
        await sendText(alice.api, bob.id, 'x', { attachment: write(url) })
        expect(await references(fileIdOf(url))).toHaveLength(1)
      })

      it('not made of signatures that are none, nor of texts beside attachments', async () => {
        const url = await aFile()
        await sendText(alice.api, bob.id, url, { ext: url })
        for (const attachment of ['sign=', 'sign=%', 'sign=abc', `sign=${'x'.repeat(200)}`])
          await sendText(alice.api, bob.id, 'x', { attachment })
        expect(await references(fileIdOf(url))).toEqual([])
      })

      it('avatars of users and groups, as addresses and names, until they change or go', async () => {
        const [first, second, ofGroup] = [
          await anAvatar(alice.api),
          await anAvatar(alice.api),
          await anAvatar(alice.api),
        ]
        await alice.api.succeed('POST', '/user/avatar', { body: { avatar: first.url } })
        const group = await aGroup(alice, { more: { avatar: ofGroup.name } })
        expect(await references(first.name)).toEqual([`avatar of user ${alice.id}`])
        expect(await references(ofGroup.name)).toEqual([`avatar of group ${group}`])
        await alice.api.succeed('POST', '/user/avatar', { body: { avatar: second.name } })
        await alice.api.succeed('POST', '/group/info/avatar', {
          body: { group_id: group, value: first.url },
        })
        expect(await references(first.name)).toEqual([`avatar of group ${group}`])
        expect(await references(second.name)).toEqual([`avatar of user ${alice.id}`])
        expect(await references(ofGroup.name)).toEqual([])
        await groupCall(alice.api, '/group/destroy', group)
        await alice.api.succeed('POST', '/user/delete', { body: { password } })
        expect(await references(first.name)).toEqual([])
        expect(await references(second.name)).toEqual([])
        await expectAgreement()
      })

      it('the avatar of the system, as address and name, until it is changed or cleared', async () => {
        const ofSystem = ['avatar of the system']
        const [first, second] = [await anAvatar(alice.api), await anAvatar(alice.api)]
        await setSystemAvatar(first.name)
        expect(await references(first.name)).toEqual(ofSystem)
        await alice.api.succeed('POST', '/user/avatar', { body: { avatar: first.name } })
        await setSystemAvatar(second.url)
        expect(await references(first.name)).toEqual([`avatar of user ${alice.id}`])
        expect(await references(second.name)).toEqual(ofSystem)
        const command = (avatar: string) =>
          callHermod(
            ['app', 'update', watched.server.appId, '--set', `system_avatar=${avatar}`],
            watched.settings,
          )
        expect(await command(first.name)).toMatchObject({ code: 0 })
        expect(await references(first.name)).toContain(ofSystem[0])
        expect(await references(second.name)).toEqual([])
        expect(await command('')).toMatchObject({ code: 0 })
        expect(await references(first.name)).not.toContain(ofSystem[0])
        await expectAgreement()
      })

      it('files shared in a group, until they are deleted or the group is dissolved', async () => {
        const url = await aFile()
        const group = await aGroup(alice)
        const share = async () =>
          (await groupCall(alice.api, '/group/file/upload', group, { name: 'f', size: 1, url }))
            .envelope.data.file_id
        const [first, second] = [await share(), await share()]
        expect(await references(fileIdOf(url))).toHaveLength(2)
        await groupCall(alice.api, '/group/file/delete', group, { file_list: [first] })
        expect(await references(fileIdOf(url))).toEqual([`shared file ${second} of group ${group}`])
        await groupCall(alice.api, '/group/destroy', group)
        expect(await references(fileIdOf(url))).toEqual([])
        await expectAgreement()
      })

      it('found again from what is there when the consumer has missed events', async () => {
        const url = await aFile()
        await send(url)
        const avatar = await anAvatar(alice.api)
        await alice.api.succeed('POST', '/user/avatar', { body: { avatar: avatar.name } })
        const system = await anAvatar(alice.api)
        await setSystemAvatar(system.url)
        await followed(watched.sql)
        await watched.crash()
        await watched.sql.run('delete from file_references')
        await watched.sql.run('delete from outbox')
        await watched.sql.run(
          "update outbox_positions set position = position - 1 where consumer = 'files'",
        )
        await watched.startAgain()
        expect(await references(fileIdOf(url))).toHaveLength(1)
        expect(await references(avatar.name)).toHaveLength(1)
        expect(await references(system.name)).toHaveLength(1)
        await watched.sql.run(
          'update outbox_positions set position = (select position from outbox_heads h where h.app_id = outbox_positions.app_id)',
        )
      })
    })

    describe('decide which files go', () => {
      it('once they are a day old, with their thumbnails and what they count for', async () => {
        const [named, unnamed] = [await aFile(), await aFile()]
        const [first, second] = [await anAvatar(alice.api), await anAvatar(alice.api)]
        await setSystemAvatar(first.name)
        await setSystemAvatar(second.name)
        await send(named)
        await fetchAs(watched.api, bob.token, unnamed, { image_type: 2 })
        await followed(watched.sql)
        await keepUp(watched.place, dayHours - 1)
        expect(await isThere(unnamed)).toBe(true)
        await keepUp(watched.place, dayHours + 1)
        expect(await isThere(unnamed)).toBe(false)
        expect(await fetchAs(watched.api, bob.token, named)).toEqual(png)
        expect(await isThere(first.url)).toBe(false)
        expect(await fetchAs(watched.api, bob.token, second.url)).toEqual(png)
        const left = blobsIn(watched.server.dataDir).filter((path) =>
          path.includes(fileIdOf(unnamed)),
        )
        expect(left).toEqual([])
        await expectAgreement()
      })

      it('but not while the consumer has events before it', async () => {
        const url = await aFile()
        const row = () =>
          watched.sql.run(`select file_id from files where file_id = '${fileIdOf(url)}'`)
        await followed(watched.sql)
        await watched.crash()
        await watched.sql.run(
          `update outbox_heads set position = position + 1 where app_id = '${watched.server.appId}'`,
        )
        await keepUp(watched.place, dayHours + 1)
        expect(await row()).toHaveLength(1)
        await watched.sql.run(
          `update outbox_heads set position = position - 1 where app_id = '${watched.server.appId}'`,
        )
        await keepUp(watched.place, dayHours + 1)
        expect(await row()).toEqual([])
        await watched.startAgain()
      })

      it('but not those that a message names after the last look, and nobody has them while they go', async () => {
        const [named, unnamed] = [await aFile(), await aFile()]
        const seen: (Buffer | number)[] = []
        // After a kill the consumer waits for its turn.
        await sendText(alice.api, bob.id, 'x')
        await followed(watched.sql)
        await keepUpInSteps(watched.place, dayHours + 1, async (looks) => {
          if (looks === 0) await send(named)
          else seen.push(await fetchAs(watched.api, bob.token, unnamed))
        })
        expect(seen).toEqual([answerCode.file_not_found])
        expect(await fetchAs(watched.api, bob.token, named)).toEqual(png)
        expect(await isThere(unnamed)).toBe(false)
        await expectAgreement()
      })

      if (isFullRun)
        it('but not those that a message names after the last look, also when nobody follows it', async () => {
          const [named, unnamed] = [await aFile(), await aFile()]
          await followed(watched.sql)
          await keepUpInSteps(watched.place, dayHours + 1, async (looks) => {
            if (looks > 0) return
            await send(named)
            await followed(watched.sql)
            await watched.crash()
            // As if it had been killed before it followed the message.
            await watched.sql.run(
              `delete from file_references where file_id = '${fileIdOf(named)}'`,
            )
            await watched.sql.run(
              "update outbox_positions set position = position - 1 where consumer = 'files'",
            )
          })
          await watched.startAgain()
          const fetched = (url: string) =>
            fetchAs(watched.api, bob.token, watched.api.options.url + pathOf(url))
          for (const url of [named, unnamed]) expect(await fetched(url)).toEqual(png)
          await followed(watched.sql)
          await keepUp(watched.place, dayHours + 1)
          expect(await fetched(named)).toEqual(png)
          expect(await fetched(unnamed)).toBe(answerCode.file_not_found)
          await expectAgreement()
        })

      if (isFullRun)
        it('but not those that were there after they were named, however maintenance is timed or killed', async () => {
          const random = new Random(12)
          const kept: string[] = []
          const nameOne = async (url: string) => {
            await sleep(random.integer(0, 800))
            await send(url)
            if ((await fetchAs(watched.api, bob.token, url)) !== answerCode.file_not_found)
              kept.push(url)
          }
          for (let round = 0; round < rounds; round++) {
            const urls = await Promise.all(Array.from({ length: 30 }, () => aFile()))
            await followed(watched.sql)
            const child = startUpkeep(watched.place, dayHours + 1)
            const ended = new Promise((resolve) => child.once('exit', resolve))
            await new Promise((resolve) => child.stdout?.once('data', resolve))
            const naming = Promise.all(urls.map(nameOne))
            if (round % 2 === 1) {
              await sleep(random.integer(0, 200))
              child.kill('SIGKILL')
            }
            await Promise.all([naming, ended])
          }
          await followed(watched.sql)
          await keepUp(watched.place, dayHours + 1)
          expect(kept.length).toBeGreaterThan(rounds)
          for (const url of kept) expect(await isThere(url)).toBe(true)
          await expectAgreement()
        })

      it('of the store as well, when they belong to no file and are a day old', async () => {
        const url = await aFile()
        await send(url)
        await followed(watched.sql)
        const folder = join(watched.server.dataDir, 'files')
        const [before] = blobsIn(watched.server.dataDir).filter((path) =>
          path.includes(fileIdOf(url)),
        )
        const strays = [
          `${before?.slice(0, -8)}00000000`,
          'app-test/zz/zzzzzzzzzzzzzzzzzzzzzzzzzz.00000000.thumbnail-200x200',
          'incoming/zzzzzzzzzzzzzzzzzzzzzzzzzz',
        ]
        const foreign = 'somebody/else'
        for (const path of [...strays, foreign]) {
          mkdirSync(join(folder, path, '..'), { recursive: true })
          writeFileSync(join(folder, path), 'x')
        }
        await keepUp(watched.place, dayHours - 1)
        for (const path of strays) expect(existsSync(join(folder, path))).toBe(true)
        await keepUp(watched.place, dayHours + 1)
        for (const path of strays) expect(existsSync(join(folder, path))).toBe(false)
        expect(existsSync(join(folder, foreign))).toBe(true)
        expect(existsSync(join(folder, before ?? ''))).toBe(true)
        rmSync(join(folder, 'somebody'), { recursive: true })
      })

      if (isFullRun)
        it('also when the maintenance is killed again and again', async () => {
          const random = new Random(11)
          const kept = await aFile()
          await send(kept)
          for (let count = 0; count < 40; count++) await aFile(Buffer.from(`file ${count}`))
          await followed(watched.sql)
          for (let round = 0; round < rounds; round++) {
            const child = startUpkeep(watched.place, dayHours + 1)
            await new Promise((resolve) => child.stdout?.once('data', resolve))
            await sleep(random.integer(0, 30))
            child.kill('SIGKILL')
          }
          await keepUp(watched.place, dayHours + 1)
          await waitFor(
            async () =>
              (
                await watched.sql.run(
                  "select job_id from jobs where kind = 'blob_removal' and outcome = ''",
                )
              ).length === 0,
            { what: 'the end of the removals', timeoutMs: 40_000 },
          )
          await keepUp(watched.place, dayHours + 1)
          const rows = await watched.sql.run('select file_id, upload_id from files')
          const names = rows.map(({ file_id, upload_id }) => `${file_id}.${upload_id}`)
          expect(names.some((name) => name.startsWith(fileIdOf(kept)))).toBe(true)
          expect(
            blobsIn(watched.server.dataDir)
              .map((path) => path.split('/').at(-1))
              .toSorted(),
          ).toEqual(names.toSorted())
          await expectAgreement()
        })
    })

    describe('and files are checked', () => {
      it('for all that can be wrong with them', async () => {
        const url = await aFile()
        await send(url)
        await expectAgreement()
        const fileId = fileIdOf(url)
        const { dataDir } = watched.server
        const [path = ''] = blobsIn(dataDir).filter((each) => each.includes(fileId))
        const blob = join(dataDir, 'files', path)
        const found = async () =>
          (await integrityFaults(watched.server)).map(({ check, subject }) => [check, subject])
        const stray = 'app-test/zz/zzzzzzzzzzzzzzzzzzzzzzzzzz.00000000'
        mkdirSync(join(dataDir, 'files/app-test/zz'), { recursive: true })
        writeFileSync(join(dataDir, 'files', stray), 'x')
        expect(await found()).toEqual([])
        utimesSync(join(dataDir, 'files', stray), 1, 1)
        expect(await found()).toEqual([['file_row', stray]])
        rmSync(join(dataDir, 'files', stray))
        writeFileSync(blob, 'other')
        expect(await found()).toEqual([['file_size', fileId]])
        rmSync(blob)
        expect(await found()).toEqual([['file_blob', fileId]])
        writeFileSync(blob, png)
        await watched.sql.run('update file_usage set bytes = bytes + 1')
        expect(await found()).toEqual([['file_usage', 'files']])
        await watched.sql.run('update file_usage set bytes = bytes - 1')
        await watched.sql.run(`update file_references set item_id = 1 where file_id = '${fileId}'`)
        expect(await found()).toEqual([
          ['file_reference', fileId],
          ['file_reference', fileId],
        ])
        await watched.sql.run(`delete from file_references where file_id = '${fileId}'`)
        expect(await found()).toEqual([['file_reference', fileId]])
      })

      it('for the avatar of the system too', async () => {
        const { name } = await anAvatar(alice.api)
        await setSystemAvatar(name)
        const found = async () => {
          const faults = await integrityFaults(watched.server)
          return faults.filter(({ subject }) => subject === name)
        }
        await followed(watched.sql)
        expect(await found()).toEqual([])
        await watched.sql.run(`delete from file_references where file_id = '${name}'`)
        expect(await found()).toMatchObject([{ check: 'file_reference' }])
      })
    })

    describe('and files are shown to operators', () => {
      const hermod = (...args: string[]) => callHermod(['file', ...args], watched.settings)

      it('in lists, one by one, and by what they take, for people and for scripts', async () => {
        const { appId } = watched.server
        const url = await sendFile(alice.api, { to_id: bob.id }, png, { name: 'red.png' })
        const fileId = fileIdOf(url)
        await send(url)
        await followed(watched.sql)
        const list = await hermod('list', '--app', appId, '--limit', '1')
        expect(list).toMatchObject({ code: 0 })
        expect(list.out).toContain(fileId)
        expect(list.out).toContain('There are more: --after ')
        const { files, next_cursor } = JSON.parse(
          (await hermod('list', '--app', appId, '--limit', '1', '--json')).out,
        )
        expect(files).toMatchObject([
          {
            file_id: fileId,
            name: 'red.png',
            content_type: 'image/png',
            size: png.length,
            owner_id: alice.id,
            to_id: bob.id,
          },
        ])
        const next = JSON.parse(
          (await hermod('list', '--app', appId, '--after', next_cursor, '--json')).out,
        )
        expect(next.files.length).toBeGreaterThan(0)
        expect(next.files[0].file_id).not.toBe(fileId)
        expect((await hermod('list', '--app', appId, '--after', 'nonsense')).code).toBe(1)
        const shown = await hermod('show', fileId, '--app', appId)
        expect(shown.out).toMatch(/Named by\n {2}message \d+ of conversation/)
        expect(
          JSON.parse((await hermod('show', fileId, '--app', appId, '--json')).out),
        ).toMatchObject({ file_id: fileId, references: [expect.any(String)] })
        const [row] = await watched.sql.run(
          `select count(*) as files, sum(size) as bytes from files where app_id = '${appId}'`,
        )
        expect(JSON.parse((await hermod('usage', '--json')).out)).toEqual([
          { app_id: appId, files: Number(row?.files), bytes: Number(row?.bytes) },
        ])
        expect((await hermod('usage')).out).toContain(appId)
      })

      it('who delete them, whatever names them', async () => {
        const { appId } = watched.server
        const url = await aFile()
        const fileId = fileIdOf(url)
        await send(url)
        const deleted = await hermod('delete', fileId, '--app', appId)
        expect(deleted).toMatchObject({ code: 0, out: `The file ${fileId} is deleted.\n` })
        expect(await fetchAs(watched.api, bob.token, url)).toBe(answerCode.file_not_found)
        await waitFor(
          () => !blobsIn(watched.server.dataDir).some((path) => path.includes(fileId)),
          { what: 'the end of the bytes', timeoutMs: 10_000 },
        )
        const again = await hermod('delete', fileId, '--app', appId, '--json')
        expect(again.code).toBe(1)
        expect(JSON.parse(again.err)).toMatchObject({ code: answerCode.file_not_found })
      })
    })
  })

  if (isFullRun)
    describe.skipIf(missesSwift)(`files in S3 that nothing names on ${backend.name}`, () => {
      it('go with their thumbnails, and so does what belongs to no file', async () => {
        await using store = await S3OfServer.start({ HERMOD_S3_DOWNLOADS: 'stream' })
        await using watched = await WatchedServer.start(backend, { env: store.env })
        const [alice, bob] = [await watched.api.newSession(), await watched.api.newSession()]
        const aFile = () => sendFile(alice.api, { to_id: bob.id }, png)
        const [named, unnamed, deleted] = [await aFile(), await aFile(), await aFile()]
        await sendText(alice.api, bob.id, 'x', { attachment: named })
        for (const url of [named, unnamed])
          await fetchAs(watched.api, bob.token, url, { image_type: 2 })
        const content = { contentType: 'text/plain', maxBytes: 1 }
        const stray = 'app-test/zz/zzzzzzzzzzzzzzzzzzzzzzzzzz.00000000'
        await store.s3.store.put(stray, Readable.from([Buffer.from('x')]), content)
        const args = ['file', 'delete', fileIdOf(deleted), '--app', watched.server.appId]
        expect(await callHermod(args, watched.settings)).toMatchObject({ code: 0 })
        await followed(watched.sql)
        await keepUp(watched.place, dayHours + 1, store.s3.options)
        const isLeft = async (fileId: string) =>
          (await store.keys()).some((key) => key.includes(fileId))
        await waitFor(async () => !(await isLeft(fileIdOf(deleted))), {
          what: 'the end of the bytes',
          timeoutMs: 20_000,
        })
        const keys = await store.keys()
        expect(keys).toHaveLength(2)
        for (const key of keys) expect(key).toContain(fileIdOf(named))
        expect(await integrityFaults(watched.server)).toEqual([])
        await store.s3.store.remove(keys.toSorted().slice(0, 1))
        expect(await integrityFaults(watched.server)).toMatchObject([
          { check: 'file_blob', subject: fileIdOf(named) },
        ])
        store.s3.proxy.fail({ kind: 'down' })
        expect(await integrityFaults(watched.server)).toMatchObject([{ check: 'file_store' }])
      }, 90_000)
    })

  if (isFullRun)
    describe(`files on a full disk on ${backend.name}`, () => {
      it('stay, with what names them, and go on afterwards', async ({ skip }) => {
        const disk = SmallDisk.mount(32)
        if (typeof disk === 'string') return skip(disk)
        using _ = disk
        await using watched = await WatchedServer.start(backend, {
          dataDir: join(disk.path, 'data'),
        })
        const [alice, bob] = [await watched.api.newSession(), await watched.api.newSession()]
        const [named, unnamed] = [
          await sendFile(alice.api, { to_id: bob.id }, png),
          await sendFile(alice.api, { to_id: bob.id }, png),
        ]
        await sendText(alice.api, bob.id, 'x', { attachment: named })
        const { data: ticket } = (await ticketFor(alice.api, { to_id: bob.id })).envelope
        await followed(watched.sql)
        const free = disk.fill()
        const refused = await upload(watched.api, ticket, Buffer.alloc(1_000_000))
        expect([answerCode.file_storage_full, answerCode.storage_failed]).toContain(refused.code)
        expect(await fetchAs(watched.api, bob.token, named)).toEqual(png)
        free()
        await waitFor(async () => (await upload(watched.api, ticket, png)).code === 200, {
          what: 'an upload after the disk was full',
          timeoutMs: 20_000,
          everyMs: 200,
        })
        await sendText(alice.api, bob.id, 'x', { attachment: ticket.download_url })
        await followed(watched.sql)
        await keepUp(watched.place, dayHours + 1)
        expect(await fetchAs(watched.api, bob.token, unnamed)).toBe(answerCode.file_not_found)
        for (const url of [named, ticket.download_url])
          expect(await fetchAs(watched.api, bob.token, url)).toEqual(png)
        expect(await integrityFaults(watched.server)).toEqual([])
      })
    })

  it.runIf(backend.name === 'sqlite')(
    'uploads and thumbnails stop before the disk is full, and messages do not',
    async ({ skip }) => {
      const disk = SmallDisk.mount(64)
      if (typeof disk === 'string') return skip(disk)
      using _ = disk
      await using watched = await WatchedServer.start(backend, {
        dataDir: join(disk.path, 'data'),
      })
      const { api } = watched
      const [alice, bob] = [await api.newSession(), await api.newSession()]
      const url = await sendFile(alice.api, { to_id: bob.id }, png)
      const uploaded = async () => {
        const { data } = (await ticketFor(alice.api, { to_id: bob.id })).envelope
        return upload(api, data, png)
      }
      const floor = await metric(api, 'hermod_disk_floor_bytes')
      const free = await metric(api, 'hermod_disk_free_bytes')
      const filler = join(disk.path, 'filler')
      writeFileSync(filler, Buffer.alloc(free - floor / 2))
      const full = { status: 503, code: answerCode.file_storage_full }
      await waitFor(async () => (await uploaded()).status === 503, {
        what: 'the floor',
        timeoutMs: 20_000,
      })
      const refused = await uploaded()
      expect(refused).toMatchObject(full)
      expect(refused.headers['retry-after']).toBeDefined()
      expect(await fetchAs(api, bob.token, url, { image_type: 2 })).toBe(full.code)
      expect(await fetchAs(api, bob.token, url)).toEqual(png)
      await sendText(alice.api, bob.id, 'x'.repeat(1_000))
      rmSync(filler)
      await waitFor(async () => (await uploaded()).code === 200, {
        what: 'an upload after there was room',
        timeoutMs: 20_000,
      })
      expect(await fetchAs(api, bob.token, url, { image_type: 2 })).toBeInstanceOf(Buffer)
    },
  )

  describe(`files and a model of them on ${backend.name}`, () => {
    it('agree after anything in any order', async () => {
      await using watched = await WatchedServer.start(backend)
      const model = await FileModel.start(
        watched,
        new Random(Number(process.env.HERMOD_TEST_SEED ?? 7)),
      )
      for (let round = 0; round < (isFullRun ? rounds : 1); round++) {
        for (let step = 0; step < (isFullRun ? 30 : 15); step++) await model.step()
        await model.keepUp()
        expect(await model.stored()).toEqual(model.expected())
        expect(await integrityFaults(watched.server)).toEqual([])
      }
    }, 240_000)
  })
}
