import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { candidates, hostAddresses, SystemNames, searchRules } from './system-names.js'

/** Addresses of IPv4 by name; a query for a name that begins with `silent` gets no answer. */
const records: Readonly<Record<string, string>> = {
  'hooks.example.com': '8.8.8.8',
  'receiver.default.svc.cluster.local': '10.0.0.1',
  'receiver.shop.svc.cluster.local': '10.0.0.2',
  'receiver.shop': '10.0.0.3',
}

/** A name server. `asked` has the names of the queries for addresses of IPv4. */
async function startNameServer() {
  const asked: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = questionOf(query)
    if (type === 1) asked.push(name)
    if (name.startsWith('silent')) return
    socket.send(
      answerTo(query.subarray(0, end), name in records, type === 1 && records[name]),
      port,
      address,
    )
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { socket, asked, server: `127.0.0.1:${socket.address().port}` }
}

function questionOf(query: Buffer) {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** @param question the header and the question of the query */
function answerTo(question: Buffer, isKnown: boolean, address: string | undefined | false): Buffer {
  const head = Buffer.from(question)
  // A recursive answer; 3: no such name.
  head.writeUInt16BE(isKnown ? 0x8180 : 0x8183, 2)
  head.writeUInt16BE(address ? 1 : 0, 6)
  head.writeUInt32BE(0, 8)
  if (!address) return head
  const record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, ...address.split('.').map(Number)]
  return Buffer.concat([head, Buffer.from(record)])
}

describe('names of the system', () => {
  let folder: string
  let nameServer: { readonly socket: Socket; readonly asked: string[]; readonly server: string }
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'hermod-names-'))
    nameServer = await startNameServer()
  })
  afterAll(() => {
    nameServer.socket.close()
    rmSync(folder, { recursive: true })
  })

  /** Resolves a name, and returns the names that were asked for. */
  async function resolve(name: string, { hosts = '', rules = '' } = {}) {
    const [hostsFile, resolverFile] = [join(folder, 'hosts'), join(folder, 'resolv.conf')]
    writeFileSync(hostsFile, hosts)
    writeFileSync(resolverFile, rules)
    const names = new SystemNames({ hostsFile, resolverFile, servers: [nameServer.server] })
    nameServer.asked.length = 0
    const addresses = await names.resolve(name)
    return { addresses, asked: [...nameServer.asked] }
  }

  const cluster =
    'search default.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n'

  it('a public name: by the name servers', async () => {
    const found = { addresses: ['8.8.8.8'], asked: ['hooks.example.com'] }
    expect(await resolve('hooks.example.com')).toEqual(found)
    expect(await resolve('hooks.example.com.', { rules: cluster })).toEqual(found)
  })

  it('a short name: by the search list', async () => {
    expect(await resolve('receiver', { rules: cluster })).toEqual({
      addresses: ['10.0.0.1'],
      asked: ['receiver.default.svc.cluster.local'],
    })
    expect((await resolve('receiver.shop', { rules: cluster })).addresses).toEqual(['10.0.0.2'])
    const noDots = { rules: cluster.replace('ndots:5', 'ndots:1') }
    expect((await resolve('receiver.shop', noDots)).addresses).toEqual(['10.0.0.3'])
  })

  it('a public name with a search list: is found after it', async () => {
    expect(await resolve('hooks.example.com', { rules: cluster })).toEqual({
      addresses: ['8.8.8.8'],
      asked: [
        'hooks.example.com.default.svc.cluster.local',
        'hooks.example.com.svc.cluster.local',
        'hooks.example.com.cluster.local',
        'hooks.example.com',
      ],
    })
  })

  it('a name of the hosts file: asks no name server', async () => {
    const hosts = '10.0.0.9 hooks.example.com # a receiver\n'
    expect(await resolve('hooks.example.com', { hosts })).toEqual({
      addresses: ['10.0.0.9'],
      asked: [],
    })
  })

  it('a name that does not exist: has no address', async () => {
    expect((await resolve('nothing.example.com')).addresses).toEqual([])
  })

  it('a name without an answer: fails after 2 seconds, whatever the search list', async () => {
    const startedAt = performance.now()
    const failure = resolve('silent', { rules: 'search silent.a silent.b silent.c' })
    await expect(failure).rejects.toThrow()
    expect(performance.now() - startedAt).toBeLessThan(4_000)
  })
})

describe('resolv.conf', () => {
  it.each([
    ['', { search: [], dots: 1 }],
    [
      'nameserver 1.1.1.1\nsearch a.example b.example. ; a note',
      { search: ['a.example', 'b.example'], dots: 1 },
    ],
    ['search a.example\ndomain b.example c.example', { search: ['b.example'], dots: 1 }],
    ['search .\noptions timeout:1 ndots:2\noptions ndots:99', { search: [], dots: 15 }],
    ['# search a.example\n\tsearch\tb.example', { search: ['b.example'], dots: 1 }],
  ])('%j', (text, expected) => {
    expect(searchRules(text)).toEqual(expected)
  })

  it.each([
    ['a', 1, ['a.x', 'a.y', 'a']],
    ['a.b', 1, ['a.b', 'a.b.x', 'a.b.y']],
    ['a.b', 2, ['a.b.x', 'a.b.y', 'a.b']],
    ['a.b.', 2, ['a.b']],
    ['a', 0, ['a', 'a.x', 'a.y']],
  ])('%s with ndots:%i is asked for as %j', (name, dots, expected) => {
    expect(candidates(name, { search: ['x', 'y'], dots })).toEqual(expected)
  })
})

describe('a hosts file', () => {
  const text =
    '127.0.0.1 localhost\n# 1.1.1.1 off\n\t10.0.0.1\tOne one.example\n::2 one\nnonsense two\n'
  it.each([
    ['localhost', ['127.0.0.1']],
    ['one', ['10.0.0.1', '::2']],
    ['one.example.', ['10.0.0.1']],
    ['off', []],
    ['two', []],
    ['a.localhost', ['127.0.0.1', '::1']],
    ['notlocalhost', []],
  ])('%s: %j', (name, expected) => {
    expect(hostAddresses(text, name)).toEqual(expected)
  })
})
