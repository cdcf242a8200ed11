/** Uploads in tiny chunks, and stalled uploads. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { UploadTicket } from '@hermod/protocol'
import { isFullRun, type ServerProcess, waitFor } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import {
  AttackingProcess,
  expectUnharmed,
  Honest,
  patience,
  startAttacked,
} from '../support/attack.js'
import { formOf, pathOf, ticketFor } from '../support/files/files.js'

/** Fewer than the calls that a user may run at once. */
const uploadsOfUser = 25

/** The begin of a chunked upload for each of a number of files, up to the first byte of the file. */
async function beginnings(server: ServerProcess, count: number): Promise<string[]> {
  const recipient = await server.api.newSession()
  const begun: string[] = []
  while (begun.length < count) {
    const { api } = await server.api.newSession()
    const length = Math.min(uploadsOfUser, count - begun.length)
    const tickets = Array.from({ length }, () => ticketFor(api, { to_id: recipient.id }))
    for (const { data } of await Promise.all(tickets)) begun.push(beginningOf(data))
  }
  return begun
}

function beginningOf(ticket: UploadTicket): string {
  const { rawBody, headers } = formOf(Buffer.from('#'))
  const [beforeFile = ''] = rawBody.toString().split('#')
  const head = [
    `POST ${pathOf(ticket.upload_url)} HTTP/1.1`,
    'host: hermod',
    `content-type: ${headers['content-type']}`,
    'transfer-encoding: chunked',
  ]
  return `${head.join('\r\n')}\r\n\r\n${chunk(beforeFile)}`
}

function chunk(bytes: string): string {
  return `${bytes.length.toString(16)}\r\n${bytes}\r\n`
}

/** The sizes of the files that have begun to arrive. */
function sizesOnDisk({ dataDir }: ServerProcess): number[] {
  const folder = join(dataDir, 'files', '.incoming')
  return readdirSync(folder).map(
    (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0,
  )
}

describe.skipIf(process.platform !== 'linux')('uploads in chunks', () => {
  if (isFullRun)
    it('96 uploads in chunks of one byte: the server keeps no buffer for each chunk and cuts each one off', async () => {
      await using server = await startAttacked()
      const honest = await Honest.on(server)
      const count = 96
      const file = chunk('x').repeat(1_990)
      const uploads = (await beginnings(server, count)).map((begun) => ({
        first: begun + file,
        reads: true,
      }))
      const figures = await honest.beside(`${count} uploads in chunks of one byte`, async () => {
        await using attacker = new AttackingProcess(server.url, uploads)
        const cutOff = () => attacker.said().filter((line) => line === 'closed')
        await waitFor(() => cutOff().length === count, {
          what: 'the end of all uploads',
          ...patience,
        })
      })
      expectUnharmed(figures)
    })

  it('uploads that stand still: what has arrived is on disk and takes no memory', async () => {
    await using server = await startAttacked()
    const honest = await Honest.on(server)
    const count = isFullRun ? 992 : 40
    const bytes = 500_000
    const begun = await beginnings(server, count)
    const uploads = begun.map((first) => ({
      first: `${first}4000000\r\n`,
      fillerBytes: bytes,
      reads: true,
    }))
    const figures = await honest.beside(`${count} uploads that stand still`, async () => {
      await using attacker = new AttackingProcess(server.url, uploads)
      const isOnDisk = () => {
        const refused = attacker.said().filter((line) => line === '503').length
        const sizes = sizesOnDisk(server)
        return sizes.length + refused === count && sizes.every((size) => size > bytes - 100)
      }
      await waitFor(isOnDisk, { what: 'all bytes on disk', ...patience, timeoutMs: 15_000 })
      expect(sizesOnDisk(server).length).toBeGreaterThan(count / 2)
    })
    expectUnharmed(figures)
  })
})
