import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DiskFloor } from '../disk-floor.js'
import { Spool } from './spool.js'

let folder: string
let spool: Spool

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'spool-'))
  spool = await Spool.open(folder, new DiskFloor(folder, 0))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

const files = () => readdirSync(folder).length

/** Spools a body that the test writes. @returns its bytes as the store gets them */
function spoolOf(body: PassThrough): Promise<Buffer> {
  return spool.with(body, 10_000_000, async ({ content }) => {
    const whole = content()
    return Buffer.isBuffer(whole) ? Buffer.from(whole) : buffer(whole)
  })
}

describe('the spool of an object store', () => {
  it('keeps a small body in memory and a large one in a file, and removes the file', async () => {
    const [small, large] = [new PassThrough(), new PassThrough()]
    const spooled = [spoolOf(small), spoolOf(large)]
    const bytes = Buffer.alloc(300_000, 'x')
    large.write(bytes.subarray(0, 200_000))
    small.end('abc')
    large.write(bytes.subarray(200_000))
    await vi.waitFor(() => expect(files()).toBe(1), 20_000)
    large.end('end')
    expect(await Promise.all(spooled)).toEqual([
      Buffer.from('abc'),
      Buffer.concat([bytes, Buffer.from('end')]),
    ])
    expect(files()).toBe(0)
  })

  it('bodies that stand still: all together take 32 MiB of memory, and further ones a file each', async () => {
    const bodies = Array.from({ length: 200 }, () => new PassThrough())
    const spooled = bodies.map(spoolOf)
    for (const body of bodies) body.write(Buffer.alloc(250_000))
    await vi.waitFor(() => expect(files()).toBeGreaterThanOrEqual(200 - 134), 20_000)
    for (const body of bodies) body.end()
    const sizes = (await Promise.all(spooled)).map(({ length }) => length)
    expect(new Set(sizes)).toEqual(new Set([250_000]))
    expect(files()).toBe(0)
  })
})
