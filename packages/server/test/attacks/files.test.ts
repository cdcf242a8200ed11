/** Uploads that never end or are too many, pictures that are bombs, and downloads that nobody reads. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { UploadTicket } from '@hermod/protocol'
import {
  type Answer,
  Api,
  anyBackend,
  type Backend,
  isFullRun,
  type ServerProcess,
  type Session,
  waitFor,
} from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import {
  Attackers,
  AttackingProcess,
  attackMs,
  closedFor,
  expectUnharmed,
  Honest,
  metric,
  patience,
  sessionsOf,
  startAttacked,
} from '../support/attack.js'
import {
  fetchAs,
  fileTypes,
  formOf,
  pathOf,
  png,
  sendFile,
  ticketFor,
  upload,
  withCredentials,
} from '../support/files/files.js'
import { gif, manyScans, png as pngOf } from '../support/files/pictures.js'

const mebibyte = 1_048_576
/** Loading the service at its start takes some hundred at once. */
const descriptors = 800

/** Of each of many uploads at once. */
const uploadBytes = (isFullRun ? 4 : 1) * mebibyte

/** The default in the full run. */
const unreadBytes = (isFullRun ? 64 : 16) * mebibyte

/** Fewer than calls that a user may have under way. */
const filesOfUser = 25

/** Tickets for files that users send to somebody, so many of each that all of them can come at once. */
async function ticketsFor(server: ServerProcess, toId: number, count: number) {
  const users = Array.from({ length: Math.ceil(count / filesOfUser) }, () =>
    server.api.newSession(),
  )
  const ofUsers: UploadTicket[][] = []
  for (const { api } of await Promise.all(users))
    ofUsers.push(await ticketsOf(api, toId, Math.min(filesOfUser, count - ofUsers.flat().length)))
  return ofUsers.flat()
}

async function ticketsOf(api: Api, toId: number, count: number): Promise<UploadTicket[]> {
  const answers = Array.from({ length: count }, () => ticketFor(api, { to_id: toId }))
  return (await Promise.all(answers)).map(({ data }) => data)
}

/** The request for a file of so many bytes: what comes before them, and after them. */
function uploadOf(ticket: UploadTicket, fillerBytes: number) {
  const { rawBody, headers } = formOf(Buffer.from('#'))
  const [before = '', last = ''] = rawBody.toString().split('#')
  const head = [
    `POST ${pathOf(ticket.upload_url)} HTTP/1.1`,
    'host: hermod',
    `content-type: ${headers['content-type']}`,
    `content-length: ${before.length + fillerBytes + last.length}`,
    '',
    '',
  ]
  return { first: head.join('\r\n') + before, fillerBytes, last, reads: true }
}

/** Files that have begun to come in. */
function unfinished({ dataDir }: ServerProcess): number {
  const folder = join(dataDir, 'files', '.incoming')
  // With PostgreSQL they are in a folder of the node.
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).length
}

function suite(backend: Backend): void {
  const name = (what: string) => `${what} (${backend.name})`

  if (isFullRun)
    it('slow uploads on 200 connections that never end: other callers are served and no file is left', async () => {
      await using server = await startAttacked({}, backend)
      const honest = await Honest.on(server)
      const bob = await server.api.newSession()
      const tickets = await ticketsFor(server, bob.id, 200)
      const beginnings = tickets.map((ticket) => uploadOf(ticket, 50 * mebibyte).first)
      using attackers = new Attackers(server.url)
      const figures = await honest.beside(name('200 uploads that never end'), async () => {
        const sockets = await attackers.connect(200)
        for (const [index, socket] of sockets.entries())
          socket.write(`${beginnings[index]}${'x'.repeat(64_000)}`)
        await waitFor(() => unfinished(server) === 200, { what: '200 files', ...patience })
        const endsAt = performance.now() + attackMs
        while (performance.now() < endsAt) {
          for (const socket of sockets) socket.write(Buffer.alloc(1_000))
          await pause(100)
        }
        expect(unfinished(server)).toBe(200)
      })
      expectUnharmed(figures)
      attackers[Symbol.dispose]()
      await waitFor(() => unfinished(server) === 0, { what: 'the end of the files', ...patience })
    })

  if (isFullRun)
    it('uploads that never end until descriptors are short: new callers are served', async () => {
      const wrapper = ['sh', '-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh']
      await using server = await startAttacked({ wrapper }, backend)
      const honest = await Honest.on(server)
      const [alice, bob] = [await server.api.newSession(), await server.api.newSession()]
      const tickets = await ticketsFor(server, bob.id, descriptors)
      using attackers = new Attackers(server.url)
      const visits = () => onNewConnection(server.api)
      const attack = async () => {
        for (const ticket of tickets) {
          const [socket] = await attackers.connect(1)
          socket?.write(`${uploadOf(ticket, 50 * mebibyte).first}${'x'.repeat(64_000)}`)
        }
        const isRefused = async () =>
          (await metric(server, 'hermod_requests_refused_total{reason="files"}')) > 0
        await waitFor(isRefused, { what: 'a refused upload', ...patience })
      }
      expectUnharmed(await honest.beside(name('uploads beyond descriptors'), attack, { visits }))
      attackers[Symbol.dispose]()
      await waitFor(() => unfinished(server) === 0, { what: 'the end of the files', ...patience })
      const small = await sendFile(bob.api, { to_id: alice.id }, png)
      for (let count = 0; count < descriptors; count++)
        expect((await fetchDownload(server.api.admin(), small)).status).toBe(200)
    })

  if (isFullRun)
    it('uploads of one user beyond its calls in progress: each is refused or stored', async () => {
      await using server = await startAttacked({}, backend)
      const [alice, bob] = [await server.api.newSession(), await server.api.newSession()]
      const tickets: UploadTicket[] = []
      while (tickets.length < 4 * filesOfUser)
        tickets.push(...(await ticketsOf(alice.api, bob.id, filesOfUser)))
      const picture = Buffer.concat([png, Buffer.alloc(uploadBytes)])
      const answers = await Promise.all(tickets.map((ticket) => upload(alice.api, ticket, picture)))
      const codes = answers.map(({ code }) => code)
      const stored = codes.filter((code) => code === 200).length
      expect(new Set(codes)).toEqual(new Set([200, answerCode.too_many_requests]))
      const usage = await server.api
        .as(server.operatorToken)
        .succeed('GET', '/operator/v1/file/usage')
      expect(usage.data).toMatchObject([{ files: stored, bytes: stored * picture.length }])
    })

  if (isFullRun)
    it('200 uploads at once: all are stored and other callers are served', async () => {
      await using server = await startAttacked({}, backend)
      const honest = await Honest.on(server)
      const bob = await server.api.newSession()
      const tickets = await ticketsFor(server, bob.id, 200)
      const uploads = tickets.map((ticket) => uploadOf(ticket, uploadBytes))
      const figures = await honest.beside(name('200 uploads at once'), async () => {
        await using attacker = new AttackingProcess(server.url, uploads)
        const statuses = () => attacker.said().filter((line) => /^\d/.test(line))
        await waitFor(() => statuses().length === 200, { what: 'all answers', ...patience })
        expect(new Set(statuses())).toEqual(new Set(['200']))
      })
      expectUnharmed(figures)
      const { data } = await server.api
        .as(server.operatorToken)
        .succeed('GET', '/operator/v1/file/usage')
      expect(data).toMatchObject([{ files: 200, bytes: 200 * uploadBytes }])
    })

  if (isFullRun)
    it('pictures and voices that cost much: are refused or converted in turns, an honest thumbnail comes soon', async () => {
      await using server = await startAttacked({}, backend)
      const honest = await Honest.on(server)
      const { api } = server
      const [alice, bob, carol] = [
        await api.newSession(),
        await api.newSession(),
        await api.newSession(),
      ]
      const send = (from: Session, type: number, content: Buffer) =>
        sendFile(from.api, { to_id: bob.id, file_type: type }, content)
      const silence = Buffer.concat([Buffer.from('#!AMR\n'), Buffer.alloc(2_000_000, 0x7c)])
      const bombs = [
        pngOf(8_000, 8_000),
        pngOf(65_535, 65_535, 1),
        gif(9, 9, 1_001),
        manyScans(4_000),
      ]
      const largest = pngOf(7_000, 7_000)
      const pictures = await Promise.all([
        ...bombs.map((bomb) => send(alice, fileTypes.picture, bomb)),
        ...Array.from({ length: 6 }, () => send(alice, fileTypes.picture, largest)),
      ])
      const voice = await send(alice, fileTypes.voice, silence)
      const photos = await Promise.all(
        Array.from({ length: 25 }, () => send(carol, fileTypes.picture, pngOf(400, 300))),
      )
      const asked = [100, 1_600].flatMap((size) =>
        pictures.map((url) => ({ url, w: size, h: size })),
      )
      let next = 0
      const thumbnails = async () => {
        const url = photos[next++ % photos.length] ?? ''
        return api.call('HEAD', pathOf(withCredentials(api, carol.token, url, { image_type: 2 })))
      }
      const codes = new Set<Buffer | number>()
      const attack = async () => {
        const answers = asked.map(({ url, ...size }) =>
          fetchAs(api, alice.token, url, { image_type: 2, ...size }),
        )
        answers.push(fetchAs(api, alice.token, voice, { format: 'mp3' }))
        for (const answer of await Promise.all(answers))
          codes.add(Buffer.isBuffer(answer) ? 200 : answer)
      }
      expectUnharmed(
        await honest.beside(name('costly pictures and voices'), attack, { thumbnails }),
      )
      expect(codes).toContain(200)
      expect(codes).toContain(answerCode.picture_too_complex)
      const admin = server.api.options.adminToken
      for (const bomb of [...pictures.slice(0, bombs.length), voice])
        expect(
          await fetchAs(api, admin, bomb, bomb === voice ? { format: 'mp3' } : { image_type: 2 }),
        ).toBe(answerCode.picture_too_complex)
    })

  it('downloads that are never read: are bounded, other downloads are served', async () => {
    const env = { HERMOD_UNREAD_BYTES: String(unreadBytes) }
    await using server = await startAttacked({ env }, backend)
    const honest = await Honest.on(server)
    const [alice, bob] = [await server.api.newSession(), await server.api.newSession()]
    const small = await sendFile(bob.api, { to_id: alice.id }, png)
    const url = await anAvatar(bob, Buffer.concat([png, Buffer.alloc(31 * mebibyte)]))
    const users = await sessionsOf(server, 30)
    const requests = users.map(
      ({ api, token }) =>
        `GET ${pathOf(withCredentials(api, token, url))} HTTP/1.1\r\nhost: hermod\r\n\r\n`,
    )
    using attackers = new Attackers(server.url)
    const downloads = () => fetchDownload(alice.api, small)
    let most = 0
    const isClosed = async () => (await closedFor(server, 'unread_bytes')) > 0
    const attack = async () => {
      const endsAt = performance.now() + attackMs
      // A slow machine reaches the bound later.
      while (performance.now() < endsAt || !(await isClosed())) {
        for (const [index, socket] of (await attackers.connect(30)).entries())
          socket.write(requests[index] as string)
        await pause(200)
        most = Math.max(most, await metric(server, 'hermod_unread_answer_bytes'))
      }
    }
    expectUnharmed(
      await honest.beside(name('downloads that are never read'), attack, { downloads }),
    )
    // The bound, a quarter more for clients that read just now, and a margin.
    expect(most).toBeLessThan(1.25 * unreadBytes + 20 * mebibyte)
    attackers[Symbol.dispose]()
    await waitFor(async () => (await metric(server, 'hermod_unread_answer_bytes')) === 0, {
      what: 'the end of the downloads',
      ...patience,
    })
  })
}

/** An avatar, which everybody may see. @returns its address */
async function anAvatar({ api }: Session, content: Buffer): Promise<string> {
  const { data: ticket } = await api.succeed<UploadTicket>('GET', '/file/upload/avatar/user')
  expect((await upload(api, ticket, content)).code).toBe(200)
  return ticket.download_url
}

/** A call of somebody who was not there before. */
async function onNewConnection({ options }: Api): Promise<Answer> {
  const api = new Api(options)
  try {
    return await api.call('GET', '/app/config', { query: { platform: 1 } })
  } finally {
    api.close()
  }
}

/** A file that somebody honest fetches, as an answer of the API. */
function fetchDownload(api: Api, url: string): Promise<Answer> {
  return api.call('GET', pathOf(url))
}

for (const backend of anyBackend())
  describe.skipIf(process.platform !== 'linux')(`files on ${backend.name}`, () => suite(backend))
