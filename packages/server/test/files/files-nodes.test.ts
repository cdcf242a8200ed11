/** The files of nodes that share a database. */
import { cpSync, readdirSync } from 'node:fs'
import { type ClientRequest, request } from 'node:http'
import { join } from 'node:path'
import {
  anyBackend,
  isFullRun,
  type ServerProcess,
  startServer,
  TempFolder,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { SmallDisk } from '../support/database/system-faults.js'
import {
  fetchBytes,
  formOf,
  sendFile,
  ticketFor,
  upload,
  withCredentials,
} from '../support/files/files.js'
import { callHermod } from '../support/hermod-command.js'
import { integrityFaults, sendText, sessions } from '../support/messaging/messaging.js'
import { sharedKey, sharedTokens } from '../support/shared-settings.js'

const content = 'the content of a file'
const isElsewhere = { status: 503, code: answerCode.files_on_other_node }

/** Fetches the file of an address from a node. */
async function fetchFrom({ api }: ServerProcess, token: string, address: string) {
  const { pathname, search } = new URL(withCredentials(api, token, address))
  return fetchBytes(`${api.options.url}${pathname}${search}`)
}

describe.each(testBackends().filter(({ name }) => name === 'postgres'))(
  'files of several nodes',
  (backend) => {
    it('another folder: its node answers files with 503, says why, and takes over with a copy', async () => {
      await using database = await backend.createDatabase()
      const options = { ...sharedTokens, databaseUrl: database.url as string, env: sharedKey }
      await using first = await startServer(options)
      const [alice, bob] = await sessions(first, 2)
      const address = await sendFile(alice.api, { to_id: bob.id }, Buffer.from(content))
      using folder = new TempFolder('second')
      const startSecond = () => startServer({ ...options, dataDir: folder.path })
      {
        await using second = await startSecond()
        const remedy = 'HERMOD_FILES_SHARED=on'
        const ticket = await ticketFor(second.api.as(alice.token), { to_id: bob.id })
        expect(ticket).toMatchObject(isElsewhere)
        expect(ticket.envelope.message).toContain(remedy)
        const { status, headers, body } = await fetchFrom(second, bob.token, address)
        expect({ status, body: String(body) }).toMatchObject({
          status: 503,
          body: expect.stringContaining(remedy),
        })
        expect(headers).toHaveProperty('retry-after')
        const readiness = await fetch(`${second.url}/readyz`)
        expect(await readiness.json()).toEqual({ status: 'ready', degraded: ['files'] })
        expect(second.output()).toContain(
          `the files are in another folder than ${join(folder.path, 'files')}`,
        )
        expect(await integrityFaults(second)).toEqual([
          expect.objectContaining({ check: 'file_store', detail: expect.stringContaining(remedy) }),
        ])
        expect(String((await fetchFrom(first, bob.token, address)).body)).toBe(content)
        expect(await integrityFaults(first)).toEqual([])
        await first.stop()
        const afterwards = await ticketFor(second.api.as(alice.token), { to_id: bob.id })
        expect(afterwards).toMatchObject(isElsewhere)
      }
      if (isFullRun) {
        // The first one is gone, and its files are not here.
        await using second = await startSecond()
        expect(await ticketFor(second.api.as(alice.token), { to_id: bob.id })).toMatchObject(
          isElsewhere,
        )
      }
      cpSync(join(first.dataDir, 'files'), join(folder.path, 'files'), { recursive: true })
      await using second = await startSecond()
      expect(String((await fetchFrom(second, bob.token, address)).body)).toBe(content)
      await sendFile(second.api.as(alice.token), { to_id: bob.id }, Buffer.from(content))
    })

    it('a command in another data folder before the first start: does not make its folder that of the files', async () => {
      await using database = await backend.createDatabase()
      using folder = new TempFolder('command')
      const databaseUrl = database.url as string
      const env = { ...sharedKey, HERMOD_DATA_DIR: folder.path, HERMOD_DATABASE_URL: databaseUrl }
      const { code, err } = await callHermod(['app', 'create', '--id', 'early'], env)
      expect({ code, err }).toMatchObject({ code: 0 })
      await using server = await startServer({ ...sharedTokens, databaseUrl, env: sharedKey })
      const [alice, bob] = await sessions(server, 2)
      await sendFile(alice.api, { to_id: bob.id }, Buffer.from(content))
    })

    it('a shared folder: each node serves the files of all, also when one is killed in an upload', async () => {
      await using database = await backend.createDatabase()
      using folder = new TempFolder('shared')
      const env = { ...sharedKey, HERMOD_FILES_DIR: folder.path, HERMOD_FILES_SHARED: 'on' }
      const options = { ...sharedTokens, databaseUrl: database.url as string, env }
      const started = await Promise.all([startServer(options), startServer(options)])
      await using first = started[0]
      await using second = started[1]
      const [alice, bob] = await sessions(first, 2)
      const address = await sendFile(alice.api, { to_id: bob.id }, Buffer.from(content))
      expect(String((await fetchFrom(second, bob.token, address)).body)).toBe(content)
      const incoming = join(folder.path, '.incoming')
      const left = () => readdirSync(incoming, { recursive: true }).filter((name) => isUpload(name))
      expect(left()).toEqual([])
      const { data: ticket } = (await ticketFor(alice.api, { to_id: bob.id })).envelope
      using _ = beginUpload(ticket.upload_url)
      await waitFor(() => left().length === 1, {
        what: 'the file of the upload',
        timeoutMs: 10_000,
      })
      first.signal('SIGKILL')
      await first.exited
      await sendFile(second.api.as(alice.token), { to_id: bob.id }, Buffer.from(content))
      expect(left()).toHaveLength(1)
      await using again = await first.startAgain()
      expect(left()).toEqual([])
      expect((await upload(second.api, ticket, Buffer.from(content))).code).toBe(200)
      expect(String((await fetchFrom(again, bob.token, ticket.download_url)).body)).toBe(content)
      for (const node of [again, second]) expect(await integrityFaults(node)).toEqual([])
    })

    it('a full disk under a shared folder and a data folder: uploads stop on every node, starts and the rest do not', async ({
      skip,
    }) => {
      const disk = SmallDisk.mount(64)
      if (typeof disk === 'string') return skip(disk)
      using _ = disk
      await using database = await backend.createDatabase()
      const filesDir = join(disk.path, 'files')
      const env = { ...sharedKey, HERMOD_FILES_DIR: filesDir, HERMOD_FILES_SHARED: 'on' }
      const options = { ...sharedTokens, databaseUrl: database.url as string, env }
      await using first = await startServer(options)
      const [alice, bob] = await sessions(first, 2)
      const address = await sendFile(alice.api, { to_id: bob.id }, Buffer.from(content))
      const second = { ...options, dataDir: join(disk.path, 'data') }
      await (await startServer(second))[Symbol.asyncDispose]()
      const makeRoom = disk.fill()
      await using restarted = await startServer(second)
      // One whose own folder is on another disk.
      await using third = isFullRun ? await startServer(options) : null
      const nodes = [first, restarted, ...(third ? [third] : [])]
      const uploadTo = async ({ api }: ServerProcess) => {
        const { data } = (await ticketFor(api.as(alice.token), { to_id: bob.id })).envelope
        return upload(api, data, Buffer.from(content))
      }
      for (const node of nodes) {
        expect(await uploadTo(node)).toMatchObject({
          status: 503,
          code: answerCode.file_storage_full,
        })
        expect(String((await fetchFrom(node, bob.token, address)).body)).toBe(content)
        await sendText(node.api.as(alice.token), bob.id, 'continues')
      }
      makeRoom()
      for (const node of nodes)
        await waitFor(async () => (await uploadTo(node)).code === 200, {
          what: 'an upload after there was room',
          timeoutMs: 10_000,
        })
    })

    // Each waits for heartbeats.
    if (isFullRun) {
      it('a folder that nodes have without HERMOD_FILES_SHARED: one of them serves files', async () => {
        await using database = await backend.createDatabase()
        using folder = new TempFolder('unshared')
        const env = { ...sharedKey, HERMOD_FILES_DIR: folder.path }
        const options = { ...sharedTokens, databaseUrl: database.url as string, env }
        await using first = await startServer(options)
        const [alice, bob] = await sessions(first, 2)
        const sendTo = ({ api }: ServerProcess) =>
          sendFile(api.as(alice.token), { to_id: bob.id }, Buffer.from(content))
        const refusedBy = async ({ api }: ServerProcess) =>
          expect(await ticketFor(api.as(alice.token), { to_id: bob.id })).toMatchObject(isElsewhere)
        await using second = await startServer(options)
        await refusedBy(second)
        expect(second.output()).toContain('has the files in a folder of its own')
        await first.stop()
        await second.stop()
        await using again = await second.startAgain()
        await sendTo(again)
        // A node that shares the folder serves it, and then no node has it as its own.
        const shared = { ...env, HERMOD_FILES_SHARED: 'on' }
        await using third = await startServer({ ...options, env: shared })
        await sendTo(third)
        await again.stop()
        await using last = await again.startAgain()
        await refusedBy(last)
        expect(last.output()).toContain('other nodes share the folder that has the files')
      })

      it('the folder of a killed node: the next one waits until it is certain, and serves the files', async () => {
        await using database = await backend.createDatabase()
        using folder = new TempFolder('killed')
        const env = { ...sharedKey, HERMOD_FILES_DIR: folder.path }
        const options = { ...sharedTokens, databaseUrl: database.url as string, env }
        await using first = await startServer(options)
        const [alice, bob] = await sessions(first, 2)
        const address = await sendFile(alice.api, { to_id: bob.id }, Buffer.from(content))
        first.signal('SIGKILL')
        await first.exited
        await using second = await startServer(options)
        expect(String((await fetchFrom(second, bob.token, address)).body)).toBe(content)
      })
    }
  },
)

/** Tells a file from the folders of nodes. */
function isUpload(name: string | Buffer): boolean {
  return String(name).includes('/')
}

/** Sends the first half of a file. */
function beginUpload(url: string): Disposable {
  const half = formOf(Buffer.alloc(1024 * 1024, 'x'))
  const headers = { ...half.headers, 'content-length': 2 * half.rawBody.length }
  const sent: ClientRequest = request(url, { method: 'POST', agent: false, headers })
  sent.on('error', () => {})
  sent.write(half.rawBody)
  return { [Symbol.dispose]: () => void sent.destroy() }
}

for (const backend of anyBackend())
  describe(`HERMOD_FILES_DIR on ${backend.name}`, () => {
    it('the folder of another database: serves no files', async () => {
      using folder = new TempFolder('files')
      const env = { ...sharedKey, HERMOD_FILES_DIR: folder.path }
      {
        await using before = await backend.startServer({ env })
        const [alice, bob] = await sessions(before, 2)
        await sendFile(alice.api, { to_id: bob.id }, Buffer.from(content))
      }
      await using server = await backend.startServer({ env })
      const [alice, bob] = await sessions(server, 2)
      expect(await ticketFor(alice.api, { to_id: bob.id })).toMatchObject(isElsewhere)
      expect(server.output()).toContain(`${folder.path} has the files of another database`)
    })
  })
